use cygnus_volume::VolumeError;

use crate::record::{MAX_KEY, MAX_VALUE};

/// Why a store could not do what it was asked. Nothing that it holds is lost by that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The volume failed.
    #[error(transparent)]
    Volume(#[from] VolumeError),
    /// There is no store on the volume.
    #[error("there is no key-value store on the volume: format it, which destroys what is on it")]
    NoStore,
    /// The store is of another version of this program.
    #[error("the key-value store is of version {0}, and this program knows version 1")]
    Version(u32),
    /// Bytes are not what was written.
    #[error("the key-value store is damaged at byte {offset} of the volume: restore it from a copy")]
    Damaged {
        /// Byte of the volume.
        offset: u64,
    },
    /// The volume cannot hold a store.
    #[error("the volume has {size} bytes, and a key-value store needs {least}: make it larger")]
    TooSmall {
        /// Bytes that it has.
        size: u64,
        /// Bytes that it needs.
        least: u64,
    },
    /// The volume is smaller than when the store was made.
    #[error("the volume has {size} bytes, and had {was} when the key-value store was made: make it as large again")]
    Shrunk {
        /// Bytes that it has.
        size: u64,
        /// Bytes that it had.
        was: u64,
    },
    /// A key is empty, or too long.
    #[error("a key has 1 to {MAX_KEY} bytes, and this one {0}")]
    Key(usize),
    /// A value is too long.
    #[error("a value has at most {MAX_VALUE} bytes, and this one {0}")]
    Value(usize),
    /// What is current fills the store.
    #[error("the key-value store is full: delete something")]
    Full,
    /// The header was being written, by formatting, opening, compacting or closing, and was not known to be there at the end: the volume has the one before or
    /// the new one, and both name all that was flushed. The reason is what the volume said; `None`: the call was dropped before it ended.
    ///
    /// A store that is open takes nothing more then and cannot be closed, but still reads.
    #[error(
        "it is not known whether the key-value store's header was written: let go of the store, without closing it, see to what the \
         volume complains of, and open the store again; one that was being formatted is to be formatted again"
    )]
    Unsettled(#[source] Option<VolumeError>),
}
