//! What the server needs of a volume, and of the set of volumes.

use std::rc::Rc;

use cygnus_nbd::{Errno, Request};
use cygnus_runtime::BufSlice;
use cygnus_types::{Lba, Nanos, VolumeId};

/// Why a volume could not do what it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VolumeError {
    /// A block could be neither read nor rebuilt, or a write did not reach enough devices.
    #[error("volume {}: block {} is lost; restore it from a copy, then write it anew", volume.0, lba.0)]
    Io {
        /// Which volume.
        volume: VolumeId,
        /// The first block concerned.
        lba: Lba,
    },
    /// The array is full. Reads and trims still work.
    #[error("the array is full; trim or delete something")]
    NoSpace,
    /// The maps of the volumes have all the memory that they may take. What is mapped can still be written, read and trimmed.
    #[error(
        "the volumes' maps have all the memory that they may take; trim or delete something, or serve the array with more \
         --memory"
    )]
    MapMemory,
    /// The array waits for members, and requests do not wait for them any longer.
    #[error("the array is suspended; bring its members back, 'cygnus array status' says which")]
    Suspended,
    /// Blocks that were written are lost, as devices lost power before a flush had covered them.
    #[error("blocks written since the flush before are lost; 'cygnus array status' says how many")]
    Lost,
    /// The array takes no writes: its redundancy is used up.
    #[error("the array is read-only; replace the failed devices")]
    ReadOnly,
    /// The volume was deleted or the array is being stopped.
    #[error("the volume is gone")]
    Gone,
}

impl VolumeError {
    /// How NBD says it.
    pub fn errno(self) -> Errno {
        match self {
            VolumeError::Io { .. } | VolumeError::Suspended | VolumeError::Lost => Errno::Io,
            VolumeError::NoSpace | VolumeError::MapMemory => Errno::NoSpc,
            VolumeError::ReadOnly => Errno::Perm,
            VolumeError::Gone => Errno::Shutdown,
        }
    }

    /// The first bad byte of the volume, if one is known.
    pub fn offset(self) -> Option<u64> {
        match self {
            VolumeError::Io { lba, .. } => Some(lba.byte_offset()),
            _ => None,
        }
    }
}

/// A run of bytes of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VolumeExtent {
    /// Bytes in the run.
    pub len: u64,
    /// Whether anything is stored there; if not, it reads as zeros.
    pub mapped: bool,
}

/// A volume as the server sees it. Offsets and lengths are in bytes, of any alignment, and inside [`Volume::size`] as it
/// was when the request was checked. A clone is another handle to the same volume.
///
/// Used through generics only, so that nothing on the way of a request is a virtual call.
#[allow(async_fn_in_trait, reason = "reactors are single-threaded: no future needs to be Send")]
pub trait Volume: Clone + 'static {
    /// Whether zeros without space of their own take less time than writing them does.
    const FAST_ZEROES: bool = true;

    /// Bytes of a write up to which it is taken as a whole; what is longer comes in pieces of about that many.
    const WHOLE_WRITE: usize = 256 << 10;

    /// Size in bytes; changes when the volume is resized.
    fn size(&self) -> u64;

    /// Says that a request for `offset` will follow soon. Costs next to nothing, and may make that request faster.
    fn announce(&self, offset: u64) {
        let _ = offset;
    }

    /// Reads as much as `into` takes from `offset`. Gives back where it is: `into`, or other memory of that length if a
    /// device still has hold of `into`.
    async fn read(&self, offset: u64, into: BufSlice) -> Result<BufSlice, VolumeError>;

    /// Takes the write at once if that needs no waiting (the common case). None: call [`Volume::write`] with the same
    /// data; part of it may have been taken.
    fn try_write(&self, offset: u64, data: &[u8]) -> Option<Result<(), VolumeError>>;

    /// Takes a write. Once this returns, reads see the data; it is durable after a later [`Volume::flush`].
    async fn write(&self, offset: u64, data: BufSlice) -> Result<(), VolumeError>;

    /// Makes durable every write, trim and zeroing of this volume (by whichever session) that ended before this call.
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
    fn extents(&self, offset: u64, len: u64, max: usize) -> Vec<VolumeExtent>;
}

/// Sees the requests to an export as they come, before anything is done about them. It must not take long.
pub trait Tap {
    /// A request was taken in at this time. Its range is within the export.
    fn request(&self, at: Nanos, request: &Request);
}

/// One export, opened.
#[derive(Clone)]
pub struct Export<V> {
    /// Its canonical name.
    pub name: String,
    /// A line for humans; may be empty.
    pub description: String,
    /// What it leads to.
    pub volume: V,
    /// Who wants to see its requests.
    pub tap: Option<Rc<dyn Tap>>,
}

/// The volume that a client means: the one of that name, or with no name the only one there is.
pub(crate) fn meant<'a>(asked: &'a str, names: &'a [String]) -> Option<&'a str> {
    match (asked, names) {
        ("", [only]) => Some(only),
        ("", _) => None,
        (name, _) => Some(name),
    }
}

/// The exports of a server, looked up for each client anew, so volumes may come and go while it runs.
pub trait Exports: 'static {
    /// What they lead to.
    type Volume: Volume;

    /// Name and description of each.
    fn list(&self) -> Vec<(String, String)>;

    /// The export of that name. The empty name asks for a default export, if there is one.
    fn open(&self, name: &str) -> Option<Export<Self::Volume>>;
}
