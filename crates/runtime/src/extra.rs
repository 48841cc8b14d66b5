//! What some devices can do besides reading, writing, flushing and trimming. Which ones their
//! [`Capabilities`](crate::Capabilities) say; all others answer [`IoErrorKind::Unsupported`](crate::IoErrorKind::Unsupported).

use crate::BufSlice;

/// A command that not every device has. Offsets and lengths are in bytes and multiples of 4096.
#[derive(Debug)]
pub enum Extra {
    /// Write all of `buf` where a zone goes on; answers [`Outcome::At`](crate::Outcome::At). Durable as a write is.
    Append {
        /// Which zone.
        zone: u32,
        /// Source.
        buf: BufSlice,
    },
    /// Forget what a zone holds: it is written from its start again. Durable when it ends.
    Reset {
        /// Which zone.
        zone: u32,
    },
    /// Write no more to a zone until it is reset: it counts as full. Durable when it ends.
    Finish {
        /// Which zone.
        zone: u32,
    },
    /// How a zone stands; answers [`Outcome::Zone`](crate::Outcome::Zone).
    Report {
        /// Which zone.
        zone: u32,
    },
    /// Compute the parity of neighbouring chunks inside the device and store it (ScalaAFA, section 4.2); forget the chunks, unless
    /// they are to stay. The parity is durable when it ends.
    Convert(Conversion),
    /// As a write, with bytes that are stored beside each block by the same program operation: both are there afterwards, or
    /// neither.
    WriteOob {
        /// Where, in bytes.
        offset: u64,
        /// Source of the blocks.
        buf: BufSlice,
        /// What is stored beside them: equal parts, one for each block.
        oob: BufSlice,
        /// It will soon be invalid, as a backup copy is.
        transient: bool,
    },
    /// The bytes beside blocks, without these: equal parts of `into`, one for each block; zeros where none were stored.
    ReadOob {
        /// Where, in bytes.
        offset: u64,
        /// How many blocks.
        blocks: u32,
        /// Destination.
        into: BufSlice,
    },
}

/// What [`Extra::Convert`] computes, from what, and where to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conversion {
    /// Start of the chunks, in bytes.
    pub source: u64,
    /// Where the parity goes, in bytes.
    pub destination: u64,
    /// Bytes of a chunk, and of the parity.
    pub chunk: u64,
    /// Chunks, k.
    pub chunks: u32,
    /// Which parity: 0 is P, 1 is Q, 2 is R.
    pub row: u8,
    /// Whether the chunks stay as they are. Else they hold nothing of value afterwards.
    pub keeps: bool,
}

/// How a zone stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneInfo {
    /// Its first byte.
    pub start: u64,
    /// Bytes of it that can be written.
    pub capacity: u64,
    /// Where it goes on, in bytes of the device, at most behind what can be written; `None`: anywhere, it is conventional.
    pub pointer: Option<u64>,
}

impl ZoneInfo {
    /// Whether nothing more can be written in order.
    pub fn is_full(&self) -> bool {
        self.pointer.is_some_and(|at| at >= self.start + self.capacity)
    }
}
