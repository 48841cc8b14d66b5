//! What becomes of an array's R-groups and of its members' devices in a story.

/// A change of the R-groups or of a member's device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Regroup {
    /// The devices of this set are added as a group, which gets the lowest number and the lowest addresses that are free.
    Add(u16),
    /// This one is to leave.
    Retire(u16),
    /// The devices of the second are added, and the first one is to leave; when it has, others take its number.
    Refresh(u16, u16),
    /// The device that is in this member's place now, a new one or its own, takes its part.
    Replace(usize),
    /// This one of the spare devices becomes a spare.
    Spare(usize),
    /// A spare is to take over from this member.
    Drain(usize),
}
