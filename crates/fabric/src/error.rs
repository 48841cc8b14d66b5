//! Why a topology makes no sense, and where.

use std::ops::Range;

/// A topology file that makes no sense, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {message}")]
pub struct FabricError {
    /// Its name, as it was given.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong, and the remedy.
    pub message: String,
}

impl FabricError {
    /// About the place in `text` where `span` begins.
    pub(crate) fn at(file: &str, text: &str, span: Option<Range<usize>>, message: impl Into<String>) -> Self {
        let before = text.get(..span.map_or(0, |span| span.start)).unwrap_or(text);
        let line_begins = before.rfind('\n').map_or(0, |at| at + 1);
        Self {
            file: file.into(),
            line: before.matches('\n').count() + 1,
            column: before[line_begins..].chars().count() + 1,
            message: message.into(),
        }
    }
}
