//! Between arrays and protocols: what a protocol serves, and what arrays of every kind provide.
//!
//! Nothing here knows how an array keeps its blocks, nor how a request looks on a wire. An array implements [`BlockVolume`] and
//! [`VolumeSet`]; a protocol is generic in them, and turns its own words into these and back.

mod error;
mod request;
mod terms;

use cygnus_runtime::BufSlice;
use cygnus_types::{Acknowledged, BLOCK};

pub use error::VolumeError;
pub use request::{Kind, Request, Tap};
pub use terms::Terms;

/// A run of bytes that are all stored, or all not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Bytes in the run.
    pub len: u64,
    /// Whether anything is stored there; if not, it reads as zeros.
    pub mapped: bool,
}

/// A volume as protocols see it. Offsets and lengths are in bytes, of any alignment, and inside [`BlockVolume::size`] as it
/// was when the request was checked. A clone is another handle to the same volume.
///
/// Used through generics only, so that nothing on the way of a request is a virtual call.
#[allow(async_fn_in_trait, reason = "reactors are single-threaded: no future needs to be Send")]
pub trait BlockVolume: Clone + 'static {
    /// Whether zeros without space of their own take less time than writing them does.
    const FAST_ZEROES: bool = true;

    /// Bytes of a write up to which it is taken as a whole; what is longer comes in pieces of about that many.
    const WHOLE_WRITE: usize = 256 << 10;

    /// The same while other clients wait.
    const SHORT_WRITE: usize = 32 << 10;

    /// Its name within its array.
    fn name(&self) -> &str;

    /// Size in bytes; changes when the volume is resized.
    fn size(&self) -> u64;

    /// Bytes that are best read and written together, at multiples of as many: a power of two, from a block to 64 KiB.
    fn page(&self) -> u32 {
        BLOCK as u32
    }

    /// Where a write is when it is answered. What a client was told when it connected stays true for it.
    fn acknowledged(&self) -> Acknowledged;

    /// What a request that comes now, once the volume has taken what it changes, must wait for with
    /// [`BlockVolume::answerable`] before it is answered; `None`: nothing.
    fn terms(&self) -> Option<Terms> {
        None
    }

    /// Waits until requests may be answered that came under these terms, or [together](Terms::and) under these, and that the
    /// volume has taken. One call does for many of them.
    async fn answerable(&self, terms: Terms) -> Result<(), VolumeError> {
        let _ = terms;
        Ok(())
    }

    /// Says that a request for `offset` will follow soon. Costs next to nothing, and may make that request faster.
    fn announce(&self, offset: u64) {
        let _ = offset;
    }

    /// Reads as much as `into` takes from `offset`. Gives back where it is: `into`, or other memory of that length if a
    /// device still has hold of `into`.
    async fn read(&self, offset: u64, into: BufSlice) -> Result<BufSlice, VolumeError>;

    /// Takes the write at once if that needs no waiting (the common case). False: call [`BlockVolume::write`] with the same
    /// data, which says what is wrong if anything is; part of it may have been taken.
    fn try_write(&self, offset: u64, data: &[u8]) -> bool;

    /// Takes a write. Once this returns, reads see the data; it is durable after a later [`BlockVolume::flush`], and to be
    /// answered as [`BlockVolume::terms`] says. So are trims and zeroings.
    async fn write(&self, offset: u64, data: BufSlice) -> Result<(), VolumeError>;

    /// The call is a cut: every write, trim and zeroing of this volume (by whichever client) that ended before it is durable
    /// when this returns. What begins after the call may be durable, or not.
    async fn flush(&self) -> Result<(), VolumeError>;

    /// Forgets a range. What it reads as afterwards is the volume's choice: zeros, apart from partial blocks at its ends,
    /// if the array is log-structured; else as before, or anything.
    async fn trim(&self, offset: u64, len: u64) -> Result<(), VolumeError>;

    /// Makes a range read as zeros, every byte of it; with `no_hole` it stays allocated, so that later writes to it
    /// cannot run out of space.
    async fn write_zeroes(&self, offset: u64, len: u64, no_hole: bool) -> Result<(), VolumeError>;

    /// What is mapped from `offset` on: at most `max` extents, neighbours being of different kinds, together covering
    /// `len` bytes or less: if `max` or the volume's end comes first, or if to look further would take long. At least one if
    /// `offset` lies within the volume.
    fn extents(&self, offset: u64, len: u64, max: usize) -> Vec<Extent>;
}

/// The volumes of an array as one reactor has them. They come and go while it is served.
pub trait VolumeSet: Clone + 'static {
    /// What it has.
    type Volume: BlockVolume;

    /// The names of all, in no order.
    fn names(&self) -> Vec<String>;

    /// The volume of that name, if there is one.
    fn volume(&self, name: &str) -> Option<Self::Volume>;
}
