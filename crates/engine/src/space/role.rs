//! What an R-group is there for just now.

/// What a group is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupRole {
    /// Takes the writes of clients.
    FrontEnd,
    /// Is being cleaned.
    Cleaning,
    /// Serves reads.
    BackEnd,
}
