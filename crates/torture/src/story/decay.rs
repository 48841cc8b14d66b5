//! What rots, and how.

/// What rots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// A copy of a superblock; of each slot of a device always the same copy.
    Superblock,
    /// A stripe's header; in each group always those of one column.
    Header,
    /// A page of the newest checkpoint, where there is no parity; always the first copy.
    Page,
}

/// How a block rots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decay {
    Flipped,
    Unreadable,
    Zeroed,
}

/// Before an opening something rots on several devices.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Beyond {
    pub(crate) part: Part,
    pub(crate) decay: Decay,
    /// Which of all there are, and which bits.
    pub(crate) nth: u64,
    /// On which devices.
    pub(crate) members: Vec<usize>,
    /// Power cuts while the array is opened by force, if it has to be: after so many steps each.
    pub(crate) cuts: Vec<u64>,
}
