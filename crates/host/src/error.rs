use cygnus_uring::{OpenError, StartError};
use std::io;
use std::path::PathBuf;
use std::time::Duration;
use thiserror::Error;

use crate::state::StateError;

/// Why what is on this machine cannot be looked at, or opened.
#[derive(Debug, Error)]
pub enum HostError {
    /// A device is not to be had.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A member of an array that no server known here has is in use.
    #[error("{source}; or, if a server of {array} has it, give that server's --state")]
    Elsewhere {
        /// The array.
        array: String,
        /// Which member.
        source: Box<OpenError>,
    },
    /// What is at a path gives no answer.
    #[error("{path}: it has given no answer for {} s", patience.as_secs(), path = path.display())]
    NoAnswer {
        /// The path.
        path: PathBuf,
        /// How long an answer was awaited.
        patience: Duration,
    },
    /// The system gives no thread that would ask.
    #[error("{path}: no thread for it: {source}; allow the process more threads or address space (ulimit -u, ulimit -v)", path = path.display())]
    NoThread {
        /// What was to be asked.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A path cannot be read.
    #[error("{path}: {source}", path = path.display())]
    Read {
        /// The path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Nothing that a record names is there.
    #[error(
        "no member of {array} is where it was last seen: find them with 'cygnus array scan PATH...', or, if they are gone for \
         good, 'cygnus array forget {array}'\n  {}",
        remarks.join("\n  ")
    )]
    NoMember {
        /// The array.
        array: String,
        /// What is there instead, place by place.
        remarks: Vec<String>,
    },
    /// A record's identity is none.
    #[error("{0:?} is no uuid")]
    NoUuid(String),
    /// What is remembered of an array cannot be read.
    #[error(transparent)]
    State(#[from] StateError),
    /// There is no reactor to be had.
    #[error(transparent)]
    Start(#[from] StartError),
}
