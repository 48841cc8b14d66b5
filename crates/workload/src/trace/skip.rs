//! What of a trace is no request, and how much of that may be.

use super::LineError;
use std::fmt;

/// How many lines that are no requests (of a recording: places that are no frames) may be skipped before the file is
/// refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skip {
    /// This number.
    AtMost(u64),
    /// Any number.
    All,
}

impl Default for Skip {
    /// A hundred: a few damaged lines do no harm to statistics, a garbled file is found out soon.
    fn default() -> Self {
        Skip::AtMost(100)
    }
}

impl Skip {
    /// Whether these are more than may be.
    pub(super) fn is_exceeded(self, count: u64) -> bool {
        matches!(self, Skip::AtMost(most) if count > most)
    }
}

/// Bad lines that are kept to be shown.
pub(super) const LISTED: usize = 5;

/// A line that is no request; of a binary trace, a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine {
    /// Its number, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub reason: LineError,
}

/// The lines that were skipped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Lines that were no requests and were left out.
    pub count: u64,
    /// The first few of them, with line number and reason.
    pub first: Vec<BadLine>,
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = if self.count == 1 { "line was no request" } else { "lines were no requests" };
        write!(f, "{} {lines} and skipped", self.count)?;
        for (index, BadLine { line, reason }) in self.first.iter().enumerate() {
            write!(f, "{} line {line}: {reason}", if index == 0 { ":" } else { ";" })?;
        }
        if self.count > self.first.len() as u64 { f.write_str("; ...") } else { Ok(()) }
    }
}
