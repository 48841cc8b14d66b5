//! Sweeps: one scenario run many times, with some of its keys varied, for each of its arrays and several seeds.
//!
//! A sweep is read from a file of its own ([`Sweep::parse`]) or made of a scenario and what the command line varies. Each
//! [`SweepRun`] is told by an identity that follows from what it simulates, so rows that were written before are found
//! again, whoever wrote them and in whatever order.

mod file;
pub(crate) mod identity;
mod key;
mod row;
mod run;
mod values;

pub use file::Sweep;
pub use row::{Rows, WrongRow};
pub use run::{RunFailed, SweepRun};
pub use values::Varied;

/// A sweep that makes no sense: where, what is wrong, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct SweepError {
    /// File, line and column; or the flag.
    pub place: String,
    /// What is wrong, and the remedy.
    pub message: String,
}

impl SweepError {
    fn new(place: impl Into<String>, message: impl ToString) -> Self {
        Self { place: place.into(), message: message.to_string() }
    }
}

impl From<crate::ScenarioError> for SweepError {
    fn from(error: crate::ScenarioError) -> Self {
        let crate::ScenarioError { file, line, column, message } = error;
        Self::new(format!("{file}:{line}:{column}"), message)
    }
}
