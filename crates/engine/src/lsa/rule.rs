//! How the maps of an array use memory.

use cygnus_types::ByteSize;

/// How the maps of an array use memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapRule {
    /// What all maps together may take. Blocks that were never written are refused beyond it; all else goes on. An array
    /// whose maps take more is not opened.
    pub limit: ByteSize,
    /// What recovery may take for what it finds behind the checkpoint, beside what the maps leave of their limit.
    pub recovery: ByteSize,
    /// Blocks found behind the checkpoint that recovery holds at once, even if there is memory for more; the others have their turn
    /// in further passes. Torture has this happen with few.
    pub at_once: u64,
    /// Blocks mapped in a GiB of a volume from which that has an array of all its entries, 2 MiB, instead of a table of
    /// those mapped. Torture has this happen with few.
    pub dense_from: u32,
}

impl Default for MapRule {
    /// No limits; an array once a table of an eighth of its size is full.
    fn default() -> Self {
        Self { limit: ByteSize(u64::MAX), recovery: ByteSize(u64::MAX), at_once: u64::MAX, dense_from: 12 << 10 }
    }
}
