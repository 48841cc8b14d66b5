use cygnus_types::{Lba, VolumeId};

/// Why a volume could not do what it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VolumeError {
    /// A block could be neither read nor rebuilt, or a write did not reach enough devices.
    #[error("volume {}: block {} is lost; restore it from a copy, then write it anew", volume.0, lba.0)]
    Io {
        /// The volume that the request was to.
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
    /// Some of it lies behind the end: the volume has been made smaller since its size was looked at.
    #[error("past the end of the volume")]
    OutOfRange,
    /// The volume was deleted or the array is being stopped.
    #[error("the volume is gone")]
    Gone,
}

impl VolumeError {
    /// The first bad byte of the volume, if one is known.
    pub fn offset(self) -> Option<u64> {
        match self {
            VolumeError::Io { lba, .. } => Some(lba.byte_offset()),
            _ => None,
        }
    }
}
