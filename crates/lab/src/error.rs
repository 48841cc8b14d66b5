//! Why a scenario cannot be run.

use std::ops::Range;

use cygnus_engine::{ArrayError, VolumeAdminError};
use cygnus_inplace::LayoutError;
use cygnus_runtime::Halt;

use crate::store::RequestError;

/// A scenario file that makes no sense, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {message}")]
pub struct ScenarioError {
    /// Its name, as it was given.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong, and the remedy.
    pub message: String,
}

impl ScenarioError {
    /// About the place in `text` where `span` begins.
    pub(crate) fn at(file: &str, text: &str, span: Option<Range<usize>>, message: impl ToString) -> Self {
        let before = text.get(..span.map_or(0, |span| span.start)).unwrap_or(text);
        let line_begins = before.rfind('\n').map_or(0, |at| at + 1);
        Self {
            file: file.into(),
            line: before.matches('\n').count() + 1,
            column: before[line_begins..].chars().count() + 1,
            message: message.to_string(),
        }
    }
}

/// A run that did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The scenario makes no sense.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// An experiment cannot be made so small.
    #[error(
        "{experiment}, {divisor} times smaller than the paper's: {}; what an array keeps for itself does not shrink with its \
         drives: give a smaller --scale",
        error.message
    )]
    Scale {
        /// Which.
        experiment: &'static str,
        /// How many times smaller.
        divisor: f64,
        /// What does not fit.
        error: ScenarioError,
    },
    /// A request of a client or of the aging failed.
    #[error("array {array:?}: a request failed: {error}")]
    Request {
        /// Which array.
        array: String,
        /// Why.
        error: RequestError,
    },
    /// Virtual time came to an end before the run did: a bug of the simulation or the engine.
    #[error("array {array:?}: {halt}, {at} into the run: this is a bug, please report the scenario and its seed")]
    Halted {
        /// Which array.
        array: String,
        /// How.
        halt: Halt,
        /// When, in virtual time since the world began.
        at: cygnus_types::Nanos,
    },
    /// A result could not be read.
    #[error("{path}: {error}; run the experiment again, or give the directory that 'cygnus lab run' wrote to", path = path.display())]
    Read {
        /// Which file.
        path: std::path::PathBuf,
        /// Why.
        error: std::io::Error,
    },
}

/// What ends a run early, before it is known which array and which line of the scenario it is about.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Stop {
    #[error(transparent)]
    Array(#[from] ArrayError),
    #[error(transparent)]
    Layout(LayoutError),
    #[error(transparent)]
    Volume(#[from] VolumeAdminError),
    #[error(transparent)]
    Request(#[from] RequestError),
    #[error("{0}")]
    Workload(String),
    #[error("{0}")]
    VolumeSize(String),
}
