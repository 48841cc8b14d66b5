//! What can be wrong with a run: a type for each, of a kind that campaigns count and shrinking keeps.

mod excuse;
mod force;
mod kind;
mod salvage;
mod scrub;
mod step;

use std::ops::Range;
use std::sync::Arc;

use cygnus_engine::{ArrayError, Broken, FindingKind, VolumeAdminError};
use cygnus_format::MemberState;
use cygnus_runtime::Halt;
use cygnus_sim::DiskId;
use cygnus_types::Nanos;

use crate::contention::ContentionFault;
use crate::oracle::Violation;
use crate::target::RequestError;

pub use excuse::Inexcusable;
pub use force::ForceFault;
pub use kind::FailureKind;
pub use salvage::SalvageFault;
pub use scrub::{ScrubFault, Unsound};
pub use step::Step;

/// What is wrong with a run, in words for people and in fields for programs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunFailure {
    /// A read brought what its block may not hold.
    #[error(transparent)]
    Read(#[from] Violation),
    /// A request failed, and had no reason to.
    #[error(transparent)]
    Request(Box<FailedRequest>),
    /// All was discarded, and still there is no room for a write.
    #[error("writes are refused for want of room, though everything was discarded")]
    NoRoomAgain,
    /// A request took longer than all trouble lasted.
    #[error("no end after {patience}: {request} was not answered at {at}")]
    Unanswered {
        /// How long it was waited for.
        patience: Nanos,
        /// The request, as stories write it.
        request: String,
        /// When it was given up.
        at: Nanos,
    },
    /// Nothing was answered any more, and the run went on.
    #[error("no end after {patience}: a request was never answered")]
    NoEnd {
        /// How long it was waited for.
        patience: Nanos,
    },
    /// Nothing is under way, and somebody waits.
    #[error("a stall: requests wait and nothing will ever happen")]
    Stall,
    /// Trouble is over, and requests wait still.
    #[error("it does not serve again {after} after the trouble: it waits for {waits_for}")]
    StillSuspended {
        /// How long after the end of all trouble.
        after: Nanos,
        /// The members, as the engine says it.
        waits_for: String,
    },
    /// Trouble is over, and a member does not take part again.
    #[error("it does not serve again as before: {member} is {state:?}")]
    StillAway {
        /// Its device.
        member: String,
        /// What it is instead of online.
        state: MemberState,
    },
    /// The array could not be made.
    #[error("making the array: {0}")]
    NotMade(Arc<ArrayError>),
    /// The array was not opened, and should have been.
    #[error("the array cannot be opened: {0}")]
    NotOpened(Arc<ArrayError>),
    /// The array was not closed, and should have been.
    #[error("closing the array: {0}")]
    NotClosed(Arc<ArrayError>),
    /// An opening that changes nothing has changed something.
    #[error("the opening was refused and has written to the devices: {refusal}{}", words_of(.again))]
    WroteThough {
        /// Why it was refused.
        refusal: Arc<ArrayError>,
        /// What was wrong when it was done once more, if it may have written what a killed server had left.
        again: Option<OnceMore>,
    },
    /// A volume was not changed as it should have been.
    #[error("{change}: {error}")]
    VolumeChange {
        /// What was asked.
        change: String,
        /// Why not.
        error: Arc<VolumeAdminError>,
    },
    /// An R-group, spare or member was not changed as it should have been.
    #[error("{change}: {error}")]
    MemberChange {
        /// What was asked, as stories write it.
        change: String,
        /// Why not.
        error: Arc<ArrayError>,
    },
    /// A job of the engine has failed and should not have.
    #[error("{change}: {why}")]
    Job {
        /// What was asked, as stories write it.
        change: String,
        /// As the job says it.
        why: String,
    },
    /// Not those volumes are there that should be, or not as large.
    #[error("volumes are {found:?} and should be {known:?}")]
    Volumes {
        /// Names and bytes, as the array says.
        found: Vec<(String, u64)>,
        /// Names and bytes, as they should be.
        known: Vec<(String, u64)>,
    },
    /// A reactor does not know a volume.
    #[error("volume {volume} is not there on reactor {reactor}")]
    NoVolume {
        /// Name.
        volume: String,
        /// Number.
        reactor: usize,
    },
    /// What always holds in the engine does not.
    #[error("an invariant of the engine does not hold: {0}")]
    Invariant(#[from] Broken),
    /// The stopped array was checked, and is not as it should be.
    #[error("the check of the stopped array finds damage ({}): {text}", kind.name())]
    Finding {
        /// What it is about.
        kind: FindingKind,
        /// As the check says it.
        text: String,
    },
    /// The stopped array could not be checked.
    #[error("checking the array: {0}")]
    NotChecked(Arc<ArrayError>),
    /// A scrub says or leaves what is not so.
    #[error(transparent)]
    Scrub(#[from] ScrubFault),
    /// A salvage says or brings what is not so.
    #[error(transparent)]
    Salvage(#[from] SalvageFault),
    /// An opening by force, or the check that foretells it, says or leaves what is not so.
    #[error(transparent)]
    Force(#[from] ForceFault),
    /// Data has moved out of the way of contention, and should not have.
    #[error(transparent)]
    Contention(#[from] ContentionFault),
    /// A zone was not written in order.
    #[error("d{device} refused {refused} writes that did not go on where their zone does")]
    OutOfOrder {
        /// Its number.
        device: usize,
        /// Writes.
        refused: u64,
    },
    /// A power cut that no story had planned: the run itself is wrong.
    #[error("the power went unplanned")]
    UnplannedPowerCut,
    /// The engine, or the run, has panicked.
    #[error("a panic, which is always a bug:\n{0}")]
    Panic(String),
    /// Any of these, in a step that says more.
    #[error("{step}: {failure}")]
    During {
        /// What was being done.
        step: Step,
        /// What is wrong.
        failure: Box<RunFailure>,
    },
}

/// A request of a client that failed, and had no reason to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("volume {volume}: {what} of bytes {bytes:?} failed at {at}: {error:?}{}", .why.as_ref().map_or_else(String::new, |why| format!(" {why}")))]
pub struct FailedRequest {
    /// The oracle's number of the volume.
    pub volume: u32,
    /// What was asked.
    pub what: &'static str,
    /// Bytes of the volume.
    pub bytes: Range<u64>,
    /// When the answer came.
    pub at: Nanos,
    /// The answer.
    pub error: RequestError,
    /// Why it is not accepted, if it would be accepted elsewhere.
    pub why: Option<Inexcusable>,
}

/// What is wrong with an opening that had written though it was refused, when it was done once more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OnceMore {
    /// There was another reason.
    #[error("; once more it was refused differently: {0}")]
    RefusedDifferently(Arc<ArrayError>),
    /// There was no reason.
    #[error("; once more it was not refused")]
    NotRefused,
    /// It did not come to an end.
    #[error("; once more it did not end: {0}")]
    NotEnded(Box<RunFailure>),
    /// It wrote, and not the same.
    #[error("; once more it wrote something else to {0:?}")]
    WroteElse(DiskId),
}

/// Words that are there if something is.
fn words_of(part: &Option<impl ToString>) -> String {
    part.as_ref().map_or_else(String::new, ToString::to_string)
}

/// Why a step of a run did not come to its end: the power went, which may be as planned, or something is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    PowerCut,
    Failure(RunFailure),
}

impl From<Halt> for Trouble {
    fn from(halt: Halt) -> Self {
        match halt {
            Halt::PowerCut => Self::PowerCut,
            Halt::Stalled => Self::Failure(RunFailure::Stall),
        }
    }
}

impl From<RunFailure> for Trouble {
    fn from(failure: RunFailure) -> Self {
        Self::Failure(failure)
    }
}

impl From<FailedRequest> for RunFailure {
    fn from(request: FailedRequest) -> Self {
        Self::Request(Box::new(request))
    }
}

/// Where no power cut was planned.
impl From<Trouble> for RunFailure {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::PowerCut => Self::UnplannedPowerCut,
            Trouble::Failure(failure) => failure,
        }
    }
}

impl RunFailure {
    /// The same, in a step that says more.
    pub(crate) fn during(self, step: Step) -> Self {
        Self::During { step, failure: Box::new(self) }
    }

    /// Of which kind it is.
    pub fn kind(&self) -> FailureKind {
        match self {
            Self::Read(violation) => violation.shown.into(),
            Self::Request(request) => match request.error {
                RequestError::Unreadable(_) => FailureKind::Unreadable,
                RequestError::NoSpace | RequestError::Clogged => FailureKind::NoRoom,
                RequestError::Suspended | RequestError::Lost | RequestError::Other(_) => FailureKind::RequestFailed,
            },
            Self::NoRoomAgain => FailureKind::NoRoom,
            Self::Unanswered { .. } | Self::NoEnd { .. } => FailureKind::Unanswered,
            Self::Stall => FailureKind::Stall,
            Self::StillSuspended { .. } | Self::StillAway { .. } => FailureKind::NotServing,
            Self::NotMade(_) => FailureKind::NotMade,
            Self::NotOpened(error) => FailureKind::of_refusal(error),
            Self::NotClosed(_) => FailureKind::NotClosed,
            Self::WroteThough { .. } => FailureKind::WroteThough,
            Self::VolumeChange { .. } | Self::MemberChange { .. } | Self::Job { .. } => FailureKind::NotChanged,
            Self::Volumes { .. } | Self::NoVolume { .. } => FailureKind::Volumes,
            Self::Invariant(_) => FailureKind::Invariant,
            Self::Finding { .. } | Self::NotChecked(_) => FailureKind::Check,
            Self::Scrub(_) => FailureKind::Scrub,
            Self::Salvage(_) => FailureKind::Salvage,
            Self::Force(fault) => fault.kind(),
            Self::Contention(_) => FailureKind::Contention,
            Self::OutOfOrder { .. } => FailureKind::OutOfOrder,
            Self::UnplannedPowerCut => FailureKind::UnplannedPowerCut,
            Self::Panic(_) => FailureKind::Panic,
            Self::During { failure, .. } => failure.kind(),
        }
    }
}
