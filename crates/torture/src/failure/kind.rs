//! The kinds of what can be wrong with a run.

use std::fmt;

use cygnus_engine::ArrayError;

use crate::oracle::Shown;

/// A kind of failure. Two failures of one kind may have one cause; of two kinds, they are told apart when failures are counted and
/// when a story is made shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FailureKind {
    /// A read brought an earlier state of a block, zeros among them: what was acknowledged since is lost.
    OlderData,
    /// A read brought bytes that were never written there.
    WrongBytes,
    /// A block cannot be read, and not enough has happened to it.
    Unreadable,
    /// A request was refused for want of room, and there should be some.
    NoRoom,
    /// A request failed for another reason, or told of a loss that there was not.
    RequestFailed,
    /// Something took longer than anything may.
    Unanswered,
    /// Something waits, and nothing is under way.
    Stall,
    /// Trouble is over, and the array does not serve as before.
    NotServing,
    /// The array could not be made.
    NotMade,
    /// An opening was refused since too few members are there or believed, and enough should be.
    TooFewMembers,
    /// An opening was refused since what describes the data is lost, and should not be.
    LostState,
    /// An opening was refused for another reason, and should not have been.
    NotOpened,
    /// The array could not be closed.
    NotClosed,
    /// What should only have looked has written to the devices.
    WroteThough,
    /// A change of volumes, R-groups or members failed that should not have.
    NotChanged,
    /// Volumes are missing, or have another size.
    Volumes,
    /// An invariant of the engine does not hold.
    Invariant,
    /// The check of the stopped array finds damage that should not be there, or fails.
    Check,
    /// A scrub says or leaves what is not so.
    Scrub,
    /// A salvage says or brings what is not so.
    Salvage,
    /// An opening by force says or leaves other than was foretold.
    Force,
    /// Data has moved out of the way of contention against the rule.
    Contention,
    /// A zone was not written in order.
    OutOfOrder,
    /// The power was cut where no story had planned it: the run itself is wrong.
    UnplannedPowerCut,
    /// A panic.
    Panic,
}

impl FailureKind {
    /// Of an array that was not opened for this reason.
    pub(super) fn of_refusal(error: &ArrayError) -> Self {
        match error {
            ArrayError::TooManyMissing { .. } | ArrayError::NoArray(_) => Self::TooFewMembers,
            ArrayError::Lost { .. }
            | ArrayError::LostCheckpoint { .. }
            | ArrayError::LostSuperblock { .. }
            | ArrayError::NoCheckpoint(_) => Self::LostState,
            _ => Self::NotOpened,
        }
    }

    /// The name in `--json` and in summaries.
    pub fn name(self) -> &'static str {
        match self {
            Self::OlderData => "older-data",
            Self::WrongBytes => "wrong-bytes",
            Self::Unreadable => "unreadable",
            Self::NoRoom => "no-room",
            Self::RequestFailed => "request-failed",
            Self::Unanswered => "unanswered",
            Self::Stall => "stall",
            Self::NotServing => "not-serving",
            Self::NotMade => "not-made",
            Self::TooFewMembers => "too-few-members",
            Self::LostState => "lost-state",
            Self::NotOpened => "not-opened",
            Self::NotClosed => "not-closed",
            Self::WroteThough => "wrote-though-refused",
            Self::NotChanged => "not-changed",
            Self::Volumes => "volumes",
            Self::Invariant => "invariant",
            Self::Check => "check",
            Self::Scrub => "scrub",
            Self::Salvage => "salvage",
            Self::Force => "force",
            Self::Contention => "contention",
            Self::OutOfOrder => "out-of-order",
            Self::UnplannedPowerCut => "unplanned-power-cut",
            Self::Panic => "panic",
        }
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl From<Shown> for FailureKind {
    fn from(shown: Shown) -> Self {
        match shown {
            Shown::Earlier => Self::OlderData,
            Shown::Foreign => Self::WrongBytes,
        }
    }
}
