//! What a command can end with, and how that becomes words and an exit status.

use crate::config::ConfigError;
use crate::state::StateError;
use cygnus_control::client::ClientError;
use thiserror::Error;

/// Why a command did not do what it was asked to.
#[derive(Debug, Error)]
pub enum Failure {
    /// The command line asks for something that cannot be meant. Exit status 2.
    #[error("{0}")]
    Usage(String),
    /// The configuration file is wrong. Exit status 2, as a wrong flag.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The state directory is of no use.
    #[error(transparent)]
    State(#[from] StateError),
    /// The running `serve` did not answer, or refused.
    #[error(transparent)]
    Control(#[from] ClientError),
    /// Experiments that were run, and are not as published.
    #[error("not as published: {0}; the verdicts say where and why")]
    Deviates(String),
    /// Anything else that went wrong, in a sentence with its remedy.
    #[error("{0}")]
    Failed(String),
}

impl Failure {
    /// A failure in the words of another error.
    pub fn of(error: impl std::fmt::Display) -> Self {
        Self::Failed(error.to_string())
    }

    /// The process's exit status: 1 failed, 2 wrong usage.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) | Self::Config(_) => 2,
            _ => 1,
        }
    }
}
