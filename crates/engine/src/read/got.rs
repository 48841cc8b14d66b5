//! What became of looking for a block.

/// Why a block did not come from its own column.
pub(crate) enum Miss {
    /// The column's member is out of service.
    Absent,
    /// The member gave wrong data: the block deserves a new home.
    Bad,
    /// The member gave an error: likewise.
    Unread,
}

/// What became of looking for a block.
pub(crate) enum Got {
    /// It is there; what was the matter with its own column, if anything was.
    Right(Option<Miss>),
    /// It is elsewhere by now.
    Changed,
    /// It is nowhere.
    Nothing,
}
