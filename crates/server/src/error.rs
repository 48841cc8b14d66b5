use cygnus_control::client::ClientError;
use cygnus_engine::ArrayError;
use cygnus_host::HostError;
use cygnus_host::state::StateError;
use cygnus_target::ListenError;
use cygnus_types::ByteSize;
use std::io;
use thiserror::Error;

/// Why an array is not served, or was not stopped as it should be.
#[derive(Debug, Error)]
pub enum ServeError {
    /// An array that updates in place has one reactor.
    #[error("{array} is {level}, updated in place, and has one reactor: leave out --reactors")]
    OneReactor {
        /// The array.
        array: String,
        /// Its level.
        level: String,
    },
    /// The memory that it may take is too little for any server.
    #[error("--memory {asked}: a server with {reactors} reactors takes {least} at least")]
    TooLittleMemory {
        /// What was asked for.
        asked: ByteSize,
        /// Of how many reactors.
        reactors: usize,
        /// What there must be.
        least: ByteSize,
    },
    /// It is too little for this array.
    #[error("{error}: --memory {needed} at least; it has {has} now")]
    ArrayTooLarge {
        /// What the array says.
        error: Box<ArrayError>,
        /// What there must be, in a unit that needs no rounding.
        needed: String,
        /// What there is.
        has: ByteSize,
    },
    /// Another server has the array.
    #[error("{0} is being served by another 'cygnus serve': stop that one first to serve it")]
    Served(String),
    /// Nobody knows whether another server has the array.
    #[error(transparent)]
    Control(#[from] ClientError),
    /// The state directory is of no use.
    #[error(transparent)]
    State(#[from] StateError),
    /// Members are not to be had.
    #[error(transparent)]
    Host(#[from] HostError),
    /// Nobody can connect at an address.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The array does not open, or does not close.
    #[error(transparent)]
    Array(#[from] ArrayError),
    /// A volume that is to be recorded is not there.
    #[error("{array} has no volume '{volume}' to record: it has {known}")]
    NothingToRecord {
        /// The array.
        array: String,
        /// The volume.
        volume: String,
        /// Those that it has.
        known: String,
    },
    /// A recording's file is there already.
    #[error("{0} exists: record to another file, or remove it first")]
    RecordingExists(String),
    /// The system refuses something.
    #[error("{what}: {source}")]
    Io {
        /// What it was asked for.
        what: String,
        /// Why.
        source: io::Error,
    },
    /// A reactor did not start.
    #[error("{0}")]
    Peer(String),
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
    use ArrayError::{Faulted, Io, Lost, LostCheckpoint, LostSuperblock, NoArray, NoCheckpoint, TooManyMissing};
    let lost = matches!(error, Lost { .. } | LostCheckpoint { .. } | LostSuperblock { .. } | NoCheckpoint(_));
    lost || matches!(error, Faulted(_) | Io { .. } | NoArray(_) | TooManyMissing { .. })
}
