//! Block traces: reading them in the formats they come in, putting them in order, writing and replaying them.

mod columns;
mod decompress;
mod error;
mod format;
mod line;
mod lines;
mod reader;
mod reorder;
mod replay;
mod scsi;
mod skip;
mod spread;
mod text;
mod vscsi;
mod write;

pub use columns::Columns;
pub use error::{Place, TraceError};
pub use format::Format;
pub use line::LineError;
pub use reader::{ReadOptions, TraceReader};
pub use reorder::Reorder;
pub use replay::{Fit, ReplayConfig};
pub use skip::{BadLine, Skip, Skipped};
pub use spread::Spread;
pub use write::MsrWriter;

use crate::Kind;
use cygnus_types::Nanos;

/// Bytes of a request whose trace does not say how long it is: the block that most file systems use.
pub const ASSUMED_LEN: u32 = cygnus_types::BLOCK as u32;

/// The greatest end of a request: what reaches further is beyond any disk, and no request to a reader.
pub const MOST_END: u64 = (1 << 63) - 1;

/// One request of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Record {
    /// When it arrived, on the trace's own clock, which may have begun at any time.
    pub at: Nanos,
    /// Whether it read, wrote, discarded or flushed.
    pub kind: Kind,
    /// First byte; 0 for a flush.
    pub offset: u64,
    /// Bytes, at least 1 and less than 4 GiB; 0 for a flush.
    pub len: u32,
    /// The disk, LUN or volume, as the trace numbers them.
    pub volume: u32,
    /// A write that was durable when it was answered; only recordings tell.
    pub fua: bool,
}

impl Record {
    /// The byte after the last one.
    pub fn end(&self) -> u64 {
        self.offset + u64::from(self.len)
    }
}

#[cfg(test)]
mod tests;
