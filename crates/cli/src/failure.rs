//! What a command can end with, and how that becomes words and an exit status.

use crate::config::ConfigError;
use crate::exit::Exit;
use cygnus_control::client::ClientError;
use cygnus_control::protocol::ErrorKind;
use cygnus_engine::{ArrayError, VolumeAdminError};
use cygnus_host::HostError;
use cygnus_host::state::StateError;
use cygnus_server::{ServeError, is_unavailable};
use thiserror::Error;

/// Why a command did not do what it was asked to.
#[derive(Debug, Error)]
pub enum Failure {
    /// The command line asks for something that cannot be meant.
    #[error("{0}")]
    Usage(String),
    /// The configuration file is wrong, which is as bad as a wrong flag.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The state directory is of no use.
    #[error(transparent)]
    State(#[from] StateError),
    /// The running `serve` did not answer, or refused.
    #[error(transparent)]
    Control(#[from] ClientError),
    /// Too little of the array is there, or it takes no writes.
    #[error("{0}")]
    Unavailable(String),
    /// A change was asked of a `serve` that did not live to say whether it made it.
    #[error("{0}")]
    Unknown(String),
    /// Anything else that went wrong, in a sentence with its remedy.
    #[error("{0}")]
    Failed(String),
}

impl Failure {
    /// A failure in the words of another error.
    pub fn of(error: impl std::fmt::Display) -> Self {
        Self::Failed(error.to_string())
    }

    /// What the exit status tells.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Usage(_) | Self::Config(_) => Exit::Usage,
            Self::Unavailable(_)
            | Self::Control(ClientError::Timeout { .. } | ClientError::Refused { kind: ErrorKind::Unavailable, .. }) => {
                Exit::Unavailable
            }
            Self::Unknown(_) => Exit::Unknown,
            Self::State(_) | Self::Control(_) | Self::Failed(_) => Exit::Failed,
        }
    }
}

impl From<ArrayError> for Failure {
    fn from(error: ArrayError) -> Self {
        match is_unavailable(&error) {
            true => Self::Unavailable(error.to_string()),
            false => Self::of(error),
        }
    }
}

impl From<VolumeAdminError> for Failure {
    fn from(error: VolumeAdminError) -> Self {
        match error {
            VolumeAdminError::Array(error) => error.into(),
            other => Self::of(other),
        }
    }
}

impl From<HostError> for Failure {
    fn from(error: HostError) -> Self {
        match error {
            HostError::NoMember { .. } => Self::Unavailable(error.to_string()),
            HostError::State(error) => Self::State(error),
            other => Self::of(other),
        }
    }
}

impl From<ServeError> for Failure {
    fn from(error: ServeError) -> Self {
        match error {
            ServeError::OneReactor { .. } | ServeError::TooLittleMemory { .. } => Self::Usage(error.to_string()),
            ServeError::Control(error) => error.into(),
            ServeError::State(error) => error.into(),
            ServeError::Host(error) => error.into(),
            ServeError::Array(error) => error.into(),
            other => Self::of(other),
        }
    }
}
