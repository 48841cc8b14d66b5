use crate::volumes::Shrink;
use cygnus_control::client::ClientError;
use cygnus_control::protocol::ErrorKind;
use cygnus_engine::{ArrayError, GroupError, MemberError, VolumeAdminError};
use cygnus_host::HostError;
use cygnus_host::state::StateError;
use cygnus_target::ListenError;
use cygnus_types::{ByteSize, Nanos, PagingError, counted};
use cygnus_uring::{OpenError, StartError};
use std::io;
use thiserror::Error;

/// Why an array is not served, or was not stopped as it should be.
#[derive(Debug, Error)]
pub enum ServeError {
    /// An array that updates in place has one reactor.
    #[error("{array} is {level}, updated in place, and has one reactor: leave out --reactors")]
    OneReactor {
        /// Name of the array.
        array: String,
        /// Its RAID level, as `raid5`.
        level: String,
    },
    /// In an array that updates in place data has its place.
    #[error("{array} is {level}, updated in place, and its data cannot move: leave out --autonomics and --link")]
    StaysInPlace {
        /// Name of the array.
        array: String,
        /// Its RAID level, as `raid5`.
        level: String,
    },
    /// The memory that it may take is too little for any server.
    #[error("--memory {asked}: a server with {reactors} reactors takes {least} at least")]
    TooLittleMemory {
        /// Memory that `--memory` asked for.
        asked: ByteSize,
        /// Reactors of the server.
        reactors: usize,
        /// The least that such a server takes.
        least: ByteSize,
    },
    /// The memory that it may take is too little for this array.
    #[error("{error}: --memory {needed} at least; it has {has} now")]
    ArrayTooLarge {
        /// What the array says.
        error: Box<ArrayError>,
        /// Memory that the array needs, in a unit that needs no rounding.
        needed: String,
        /// Memory that the server may take now.
        has: ByteSize,
    },
    /// Another server has the array.
    #[error("{0} is being served by another 'cygnus serve': stop that one first to serve it")]
    Served(String),
    /// Whether another server has the array cannot be found out.
    #[error(transparent)]
    Control(#[from] ClientError),
    /// The state directory is of no use.
    #[error(transparent)]
    State(#[from] StateError),
    /// Members are not to be had.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The server cannot listen at an address.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The array does not open, or does not close.
    #[error(transparent)]
    Array(#[from] ArrayError),
    /// A volume that is to be recorded is not there.
    #[error("{array} has no volume '{volume}' to record: it has {known}")]
    NothingToRecord {
        /// Name of the array.
        array: String,
        /// Name of the volume that is missing.
        volume: String,
        /// Those that it has.
        known: String,
    },
    /// A recording's file is there already.
    #[error("{0} exists: record to another file, or remove it first")]
    RecordingExists(String),
    /// A descriptor that is to be told was not opened by whoever started the server.
    #[error(
        "--ready-fd {0}: whoever starts the server has to open this descriptor and hand it over, as a shell does with '{0}>FILE'"
    )]
    NotInherited(i32),
    /// The system refuses something.
    #[error("{what}: {source}")]
    Io {
        /// What the system was asked for, in words.
        what: String,
        /// What the system said.
        source: io::Error,
    },
}

impl ServeError {
    /// As of [`ServeError::Io`].
    pub(crate) fn io(what: impl ToString) -> impl FnOnce(io::Error) -> Self {
        let what = what.to_string();
        move |source| Self::Io { what, source }
    }
}

/// Whether it is the array's own state that keeps it from doing what was asked.
pub fn is_unavailable(error: &ArrayError) -> bool {
    use ArrayError::{
        Faulted, Io, Lost, LostCheckpoint, LostSuperblock, NoArray, NoCheckpoint, PartedWays, Remains, TooManyMissing,
    };
    let lost = matches!(error, Lost { .. } | LostCheckpoint { .. } | LostSuperblock { .. } | NoCheckpoint(_));
    let out_of_reach = matches!(error, NoArray(_) | TooManyMissing { .. } | PartedWays { .. } | Remains { .. });
    lost || out_of_reach || matches!(error, Faulted(_) | Io { .. })
}

/// Why a request was not carried out.
#[derive(Debug, Error)]
pub(crate) enum RequestError {
    /// A device is not to be had.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A device cannot be used beside the others.
    #[error(transparent)]
    Add(#[from] StartError),
    /// What is at a path cannot be told.
    #[error("{path}: {source}")]
    Path { path: String, source: io::Error },
    /// It gives no answer.
    #[error("{path} gives no answer for {patience}: see to the device, or give another one")]
    Silent { path: String, patience: Nanos },
    /// Nobody can look.
    #[error("{path}: no thread to open it: {source}")]
    NoThread { path: String, source: io::Error },
    /// Each reactor numbers its devices, all in one order; now they do not.
    #[error("{0}: reactors disagree on its number: restart 'cygnus serve'")]
    Disagree(String),
    /// There are fewer members.
    #[error("there is no member {number}: the array has {members}, counted from 0")]
    NoSuchMember { number: u16, members: usize },
    /// No member was ever seen at that path.
    #[error("{0} is no member: see 'cygnus array status'")]
    NoMember(String),
    /// The array refuses, concerning members.
    #[error(transparent)]
    Member(#[from] MemberError),
    /// A volume cannot be mapped like that.
    #[error(transparent)]
    Paging(#[from] PagingError),
    /// The array refuses, concerning R-groups.
    #[error(transparent)]
    Group(#[from] GroupError),
    /// The array refuses, concerning volumes.
    #[error(transparent)]
    Volume(#[from] VolumeAdminError),
    /// Data would be lost that no operator gave up.
    #[error(transparent)]
    Shrink(#[from] Shrink),
    /// Clients use the volume.
    #[error("{} connected to {volume}: disconnect them, or add --force", counted(*clients, "client is").or("clients are"))]
    InUse { volume: String, clients: u32 },
    /// There is no such job.
    #[error("there is no job {0}; see 'cygnus array status'")]
    NoJob(u64),
    /// There is nothing to cancel.
    #[error("no job {0} is running")]
    NotRunning(u64),
    /// Arrays of this kind do not do that; the words say why, and what does.
    #[error("{0}")]
    NotOfThisKind(String),
}

impl RequestError {
    /// Of what sort it is, for the control protocol.
    pub(crate) fn kind(&self) -> ErrorKind {
        match self {
            Self::NoJob(_) | Self::NotRunning(_) => ErrorKind::NotFound,
            Self::InUse { .. } => ErrorKind::Busy,
            Self::Shrink(_) | Self::NotOfThisKind(_) | Self::Paging(_) => ErrorKind::Invalid,
            Self::Volume(error) => kind_of(error),
            _ => ErrorKind::Failed,
        }
    }
}

fn kind_of(error: &VolumeAdminError) -> ErrorKind {
    match error {
        VolumeAdminError::Unknown(_) => ErrorKind::NotFound,
        VolumeAdminError::Exists(_) => ErrorKind::Exists,
        VolumeAdminError::BadName(_)
        | VolumeAdminError::BadSize { .. }
        | VolumeAdminError::OnlyWritten(_)
        | VolumeAdminError::NoSuchMedium { .. }
        | VolumeAdminError::NotHybrid { .. }
        | VolumeAdminError::PartOfPage { .. }
        | VolumeAdminError::PageBeyondChunk { .. }
        | VolumeAdminError::PageBeyondSegment { .. }
        | VolumeAdminError::NoPages
        | VolumeAdminError::NoMedia => ErrorKind::Invalid,
        VolumeAdminError::TooMany(_) => ErrorKind::NoSpace,
        VolumeAdminError::Array(error) if is_unavailable(error) => ErrorKind::Unavailable,
        VolumeAdminError::Array(_) => ErrorKind::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The exit status of `serve` tells it from a wrong command: somebody has to look after the array.
    #[test]
    fn an_array_that_cannot_take_what_a_killed_server_left_is_unavailable() {
        let remains = ArrayError::Remains { place: "/dev/shm/x".into(), why: "too few members take it".into() };
        assert!(is_unavailable(&remains));
        assert!(!is_unavailable(&ArrayError::Invalid("a chunk of 0".into())));
    }
}
