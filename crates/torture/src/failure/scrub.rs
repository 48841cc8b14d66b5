//! What can be wrong with a scrub.

use cygnus_engine::ScrubReport;

use super::excuse::Inexcusable;

/// A scrub says or leaves what is not so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScrubFault {
    /// It did not go on to its end.
    #[error("the scrub ended before it was done, though the array goes on")]
    EndedEarly,
    /// It should have had nothing to find.
    #[error("a second scrub finds what the first should have mended: {again:?} after {first:?}")]
    FoundAgain {
        /// What the first one found.
        first: Box<ScrubReport>,
        /// What the second one found.
        again: Box<ScrubReport>,
    },
    /// A block that was lost before is not in its list.
    #[error("the scrub says nothing of block {block} of {volume}, which was lost before")]
    Unlisted {
        /// Name.
        volume: String,
        /// Of the volume.
        block: u64,
    },
    /// It lists a block as lost that can be had.
    #[error("the scrub gave up block {block} of {volume} {why}")]
    GaveUp {
        /// Name.
        volume: String,
        /// Of the volume.
        block: u64,
        /// Why it can be had.
        why: Inexcusable,
    },
    /// Something on which a block depends is not as it was written.
    #[error("after a whole scrub, block {block} of {volume}: {unsound}")]
    NotWhole {
        /// Name.
        volume: String,
        /// Of the volume.
        block: u64,
        /// What that is.
        unsound: Unsound,
    },
}

/// What is wrong with something that a block depends on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsound {
    /// A recovery would not find it.
    #[error("no header describes it")]
    NoHeader,
    /// A device holds something else than was written there.
    #[error("{what} is not as it was written at byte {offset} of d{member}")]
    NotAsWritten {
        /// The header of its stripe, or its row.
        what: &'static str,
        /// Where on the device.
        offset: u64,
        /// Which member.
        member: usize,
    },
}
