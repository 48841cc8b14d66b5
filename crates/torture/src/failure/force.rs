//! What can be wrong with an opening by force, and with the check that foretells it.

use std::sync::Arc;

use cygnus_engine::{ArrayError, Readmitted, VolumeAfter};
use cygnus_types::Lba;

use super::excuse::Inexcusable;
use super::kind::FailureKind;
use crate::oracle::Violation;
use crate::target::RequestError;

/// Blocks that a message names.
const NAMED: usize = 8;

/// An opening by force, or the check that foretells it, says or leaves what is not so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ForceFault {
    /// The refusal does not offer force.
    #[error("the array cannot be opened, and not by force either: {0}")]
    NotOffered(Arc<ArrayError>),
    /// Force does not help.
    #[error("the array cannot be opened by force: {0}")]
    NotOpened(Arc<ArrayError>),
    /// The check failed.
    #[error("the check before an opening by force: {0}")]
    NotChecked(Arc<ArrayError>),
    /// The check does not say what would come of it.
    #[error("the check before an opening by force: the check says nothing of it")]
    NotForetold,
    /// The check has changed something.
    #[error("the check before an opening by force has written to the devices")]
    CheckWrote,
    /// The check does not say what a volume would have.
    #[error("by force: the check says nothing of volume {0}")]
    NoVolume(String),
    /// A read brought what its block may not hold.
    #[error("by force: {0}")]
    Read(Violation),
    /// A read failed otherwise than one of a block that is gone.
    #[error("by force: volume {volume}: block {block}: {error:?}")]
    Request {
        /// Name.
        volume: String,
        /// Of the volume.
        block: u64,
        /// The answer.
        error: RequestError,
    },
    /// A block is unreadable, and its volume is not said to be in doubt.
    #[error("by force: volume {volume} is not in doubt, {why}")]
    NotInDoubt {
        /// Name.
        volume: String,
        /// Why the block can be had.
        why: Inexcusable,
    },
    /// Other blocks are unreadable than the check foretold.
    #[error(
        "by force: of volume {volume} {readable} blocks can be read and {unreadable} cannot; the check foretold {foretold:?}; \
         these make the difference: {:?}", .differ.iter().take(NAMED).collect::<Vec<_>>()
    )]
    OtherBlocks {
        /// Name.
        volume: String,
        /// Blocks that can be read.
        readable: u64,
        /// Blocks that cannot be read.
        unreadable: u64,
        /// What the check said.
        foretold: Box<VolumeAfter>,
        /// Blocks that only one of both lists has.
        differ: Vec<u64>,
    },
    /// The opening does not say what the check foretold.
    #[error(
        "by force: the check foretold {}; the opening says {}; these make the difference: {:?}",
        .foretold.lines().join("; "), .said.lines().join("; "), differing(.foretold, .said)
    )]
    SaysOther {
        /// What the check said.
        foretold: Box<Readmitted>,
        /// What the opening says.
        said: Box<Readmitted>,
    },
    /// The power went meanwhile, and then more is lost than at first.
    #[error(
        "by force, cut short, and once more: now it loses more: {block:?} {volume:?}; at first the check foretold {}",
        .foretold.lines().join("; ")
    )]
    LosesMore {
        /// A block that was there at first: volume and number.
        block: Option<(String, Lba)>,
        /// A volume that had more at first, or was not in doubt.
        volume: Option<Box<VolumeAfter>>,
        /// What the check said at first.
        foretold: Box<Readmitted>,
    },
}

/// The first of the blocks of which one says that they are gone, and not the other.
fn differing<'a>(one: &'a Readmitted, other: &'a Readmitted) -> Vec<&'a (String, Lba)> {
    let is_in = |blocks: &[(String, Lba)], block: &(String, Lba)| blocks.contains(block);
    let of_one = one.blocks.iter().filter(|block| !is_in(&other.blocks, block));
    let of_other = other.blocks.iter().filter(|block| !is_in(&one.blocks, block));
    let mut differ: Vec<_> = of_one.chain(of_other).collect();
    differ.sort();
    differ.truncate(NAMED);
    differ
}

impl ForceFault {
    /// Of which kind it is.
    pub fn kind(&self) -> FailureKind {
        match self {
            Self::NotOffered(error) | Self::NotOpened(error) => FailureKind::of_refusal(error),
            Self::CheckWrote => FailureKind::WroteThough,
            Self::Read(violation) => violation.shown.into(),
            _ => FailureKind::Force,
        }
    }
}
