//! Blocks that are unmapped while a checkpoint writes the maps: it may have written them, and others that take their place come on
//! top.
//!
//! Whether a checkpoint writes the maps is said in the same word. Were it another one, a reactor that had seen a checkpoint write could
//! count after that has ended, and the block would be missing from the room of volumes until the next one ends.

use crate::atomic::{AtomicU64, Ordering};

/// See the module's text.
#[derive(Default)]
pub(crate) struct Meanwhile(AtomicU64);

/// Set while the maps are written; below it is the count.
const WRITTEN: u64 = 1 << 63;

impl Meanwhile {
    /// Whether a checkpoint is writing the maps.
    pub(crate) fn is_map_written(&self) -> bool {
        self.0.load(Ordering::Acquire) & WRITTEN != 0
    }

    /// A checkpoint begins to write the maps, or begins again.
    pub(crate) fn begin(&self) {
        self.0.fetch_or(WRITTEN, Ordering::AcqRel);
    }

    /// It has ended.
    pub(crate) fn end(&self) {
        // Exchanged rather than stored: each count is in the order of the changes either before this or behind it.
        self.0.swap(0, Ordering::AcqRel);
    }

    /// A block is unmapped: it counts if the maps are being written.
    #[inline]
    pub(crate) fn one_is_unmapped(&self) {
        let one_more = |word: u64| (word & WRITTEN != 0).then_some(word + 1);
        if one_more(self.0.load(Ordering::Relaxed)).is_some() {
            let _ended = self.0.fetch_update(Ordering::AcqRel, Ordering::Relaxed, one_more);
        }
    }

    /// Blocks unmapped since the checkpoint under way began; 0 without one.
    #[inline]
    pub(crate) fn unmapped(&self) -> u64 {
        self.0.load(Ordering::Acquire) & !WRITTEN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_count_from_the_beginning_of_a_checkpoint_to_its_end() {
        let meanwhile = Meanwhile::default();
        let see = || (meanwhile.is_map_written(), meanwhile.unmapped());
        meanwhile.one_is_unmapped();
        assert_eq!(see(), (false, 0));
        meanwhile.begin();
        meanwhile.one_is_unmapped();
        meanwhile.begin();
        meanwhile.one_is_unmapped();
        assert_eq!(see(), (true, 2), "one that begins again may have written the first of them");
        meanwhile.end();
        meanwhile.one_is_unmapped();
        assert_eq!(see(), (false, 0));
    }
}
