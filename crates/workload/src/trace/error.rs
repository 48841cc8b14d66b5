//! Why a trace cannot be used.

use super::{BadLine, Format};
use crate::recording::{Damage, HeaderError};
use std::fmt;
use std::io;
use std::path::PathBuf;

/// Where in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A line of a text, from 1.
    Line(u64),
    /// A byte of a recording, from 0.
    Byte(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Byte(byte) => write!(f, "byte {byte}"),
        }
    }
}

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
    #[error("{}: {place}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What could not be read.
        place: Place,
        /// Why.
        source: io::Error,
    },
    /// A compressed file ends before its end or is damaged.
    #[error(
        "{}: {place}: the compressed file is truncated or damaged ({source}): fetch it again, or decompress what can be read and use that",
        path.display()
    )]
    Compressed {
        /// The file.
        path: PathBuf,
        /// What could not be read.
        place: Place,
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
    /// It begins like a trace, and most of its lines are no requests.
    #[error(
        "{}: line {}: {}; what comes before looks like {}, and most lines behind it are none: correct the file, or name its format",
        path.display(), first.line, first.reason, requests(*format)
    )]
    MostlyBadLines {
        /// The file.
        path: PathBuf,
        /// The format that its first lines have.
        format: Format,
        /// The first line that has another.
        first: BadLine,
    },
    /// Too many lines are no requests.
    #[error(
        "{}: line {}: {}; {count} lines are no {}, more than may be skipped: correct the file, name its format, or allow more to be skipped",
        path.display(), first.line, first.reason, requests(*format)
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
    /// No line is a request, however many may be skipped.
    #[error(
        "{}: line {}: {}; none of its lines is one of the {}: name its format, or its columns",
        path.display(), first.line, first.reason, requests(*format)
    )]
    OnlyBadLines {
        /// The file.
        path: PathBuf,
        /// The format it is read in.
        format: Format,
        /// The first line.
        first: BadLine,
    },
    /// It is no recording, or not one that can be read.
    #[error("{}: {reason}", path.display())]
    Recording {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: HeaderError,
    },
    /// Too much of a recording is damaged.
    #[error(
        "{}: byte {}: {} bytes in {} places are damaged, more places than may be skipped: fetch it again, or allow more to be skipped",
        path.display(), damage.first, damage.bytes, damage.places
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is damaged, as far as it was read.
        damage: Damage,
    },
    /// It holds no request at all.
    #[error("{}: no request in it", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// It holds requests for other volumes only.
    #[error("{}: no request in it is for the volumes that were asked for: name some of its own, {volumes}", path.display())]
    OtherVolumes {
        /// The file.
        path: PathBuf,
        /// Numbers of volumes that it has.
        volumes: String,
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

/// What a file of this format should hold, for a sentence.
fn requests(format: Format) -> String {
    match format {
        Format::Columns => "requests of these columns".into(),
        _ => format!("{format} requests"),
    }
}
