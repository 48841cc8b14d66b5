//! Why a trace cannot be used.

use super::{BadLine, Format};
use std::io;
use std::path::PathBuf;

/// Why a trace cannot be used: the file, the line and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The file cannot be opened.
    #[error("{}: {source}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file cannot be read on.
    #[error("{}: line {line}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The line that could not be read.
        line: u64,
        /// Why.
        source: io::Error,
    },
    /// A compressed file ends before its end or is damaged.
    #[error(
        "{}: line {line}: the compressed file is truncated or damaged ({source}): fetch it again, or decompress what can be read and use that",
        path.display()
    )]
    Compressed {
        /// The file.
        path: PathBuf,
        /// The line that could not be read.
        line: u64,
        /// What the decompressor says.
        source: io::Error,
    },
    /// A compression that is not known here.
    #[error("{}: compressed with {with}, which is not read here: decompress it first", path.display())]
    Compression {
        /// The file.
        path: PathBuf,
        /// The compressor's name.
        with: &'static str,
    },
    /// Nothing in it looks like a request.
    #[error(
        "{}: line 1: {first_line:?} is no request in any format known (see 'cygnus trace list'): is it a block trace? If it is, name its format",
        path.display()
    )]
    UnknownFormat {
        /// The file.
        path: PathBuf,
        /// Its first line, shortened.
        first_line: String,
    },
    /// Too many lines are no requests.
    #[error(
        "{}: line {}: {}; {count} lines are no {format} requests, more than may be skipped: correct the file, name its format, or allow more to be skipped",
        path.display(), first.line, first.reason
    )]
    TooManyBadLines {
        /// The file.
        path: PathBuf,
        /// The format it is read in.
        format: Format,
        /// Bad lines so far.
        count: u64,
        /// The first of them.
        first: BadLine,
    },
    /// It holds no request at all.
    #[error("{}: no request in it{}", path.display(), if *filtered { " that was asked for: name other volumes" } else { "" })]
    Empty {
        /// The file.
        path: PathBuf,
        /// Whether there were requests for other volumes.
        filtered: bool,
    },
    /// It needs a larger volume.
    #[error(
        "{}: reaches {needs} of a volume of {volume}: make the volume larger, or set fit = \"wrap\" or \"scale\"",
        path.display()
    )]
    DoesNotFit {
        /// The file.
        path: PathBuf,
        /// Bytes that the trace's volumes span together.
        needs: cygnus_types::ByteSize,
        /// The volume's size.
        volume: cygnus_types::ByteSize,
    },
}
