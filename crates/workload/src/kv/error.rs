//! What can be wrong with a store's numbers by themselves.

use crate::request::MOST_AT_ONCE;
use cygnus_types::ByteSize;

/// A store that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum StoreError {
    /// A size that is too small or too large.
    #[error("{key}: from {low} to {high}, not {is}")]
    Size { key: &'static str, low: ByteSize, high: ByteSize, is: ByteSize },
    /// A block of another size than tables have.
    #[error("block-size: a power of two, such as \"16KiB\"")]
    BlockSize,
    /// A beginning within a page.
    #[error("offset: a multiple of 4 KiB")]
    Offset,
    /// A count of nothing.
    #[error("level0-tables and depth are at least 1")]
    Nothing,
    /// More requests at once than a workload may have.
    #[error("depth: at most {MOST_AT_ONCE}, not {0}")]
    Depth(u32),
    /// Levels of about the same size, or of sizes far apart.
    #[error("level-ratio: from 2 to 1000, not {0}")]
    LevelRatio(u16),
    /// A ramp that takes all of the time.
    #[error("duration: must be longer than ramp, which is part of it")]
    Duration,
}
