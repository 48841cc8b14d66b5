//! What can go wrong while an array is in use.

use cygnus_types::Lba;

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RaidError {
    /// Offset or length is no multiple of 4096.
    #[error("bytes {offset}..{end} are no whole blocks of 4096 bytes")]
    Misaligned {
        /// First byte.
        offset: u64,
        /// Byte behind the last one.
        end: u64,
    },
    /// The request reaches behind the end.
    #[error("bytes {offset}..{end} lie outside the {size} bytes of the array")]
    OutOfRange {
        /// First byte.
        offset: u64,
        /// Byte behind the last one.
        end: u64,
        /// Size of the array in bytes.
        size: u64,
    },
    /// More devices have failed, or cannot read a place, than the level survives.
    #[error("block {} cannot be read: too many of its stripe's devices have failed; restore it from a copy", .0.0)]
    Unreadable(Lba),
    /// More devices are in trouble than the level survives, and the request has waited for them as long as it may.
    #[error("the array waits for members, and the request has waited as long as it may")]
    Suspended,
    /// The array has lost more devices than its level survives, so writes cannot be kept.
    #[error("more devices have failed than the level survives; the array takes no writes")]
    Failed,
}
