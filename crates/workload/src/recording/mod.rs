//! Recordings: the requests of a volume as a server saw them, in few bytes. `docs/recordings.md` has the format.
//!
//! A file is a header and then frames, each of some thousand requests of one reactor, each with its own checksum. A frame
//! is written at once and never touched again, so that whatever ends the recording costs what was not yet written and
//! nothing before it.

mod frame;
mod header;
mod reader;
mod shipped;

pub use frame::FrameBuilder;
pub use header::{Header, HeaderError};
pub use reader::{Damage, Frames};
pub use shipped::{SHIPPED, Shipped};

/// Little-endian numbers out of bytes that are long enough.
fn number<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes[at..at + N].try_into().expect("a slice of N bytes")
}

#[cfg(test)]
mod tests;
