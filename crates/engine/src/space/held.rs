//! Blocks that volumes hold, and how many they may: what the pool has promised to all controllers together.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// See the module's text.
pub(crate) struct Held {
    /// Blocks that volumes may hold in all.
    usable: AtomicU64,
    /// Those that they hold, those counted of which the data is lost.
    blocks: AtomicU64,
    /// Whether a checkpoint is writing the maps.
    map_is_written: AtomicBool,
    /// Blocks unmapped since it began: it may have written them, and others that take their place come on top.
    unmapped_meanwhile: AtomicU64,
}

impl Held {
    pub(crate) fn new(usable: u64) -> Self {
        Self {
            usable: AtomicU64::new(usable),
            blocks: AtomicU64::new(0),
            map_is_written: AtomicBool::new(false),
            unmapped_meanwhile: AtomicU64::new(0),
        }
    }

    /// Blocks that hold data over all volumes, those counted of which it is lost.
    #[inline]
    pub(crate) fn blocks(&self) -> u64 {
        self.blocks.load(Ordering::Relaxed)
    }

    /// Blocks that volumes may hold in all.
    #[inline]
    pub(crate) fn usable(&self) -> u64 {
        self.usable.load(Ordering::Relaxed)
    }

    pub(crate) fn set_usable(&self, blocks: u64) {
        self.usable.store(blocks, Ordering::Relaxed);
    }

    /// Whether so many blocks more can be held at once.
    #[inline]
    pub(crate) fn has_room(&self, blocks: u64) -> bool {
        self.blocks() + self.unmapped_meanwhile.load(Ordering::Relaxed) + blocks <= self.usable()
    }

    /// Whether one more can be held once the checkpoint under way has ended.
    pub(crate) fn has_room_after_checkpoint(&self) -> bool {
        self.blocks() < self.usable() && self.is_map_written()
    }

    /// So many blocks more are held.
    #[inline]
    pub(crate) fn add(&self, blocks: u64) {
        self.blocks.fetch_add(blocks, Ordering::Relaxed);
    }

    /// One block less is held.
    #[inline]
    pub(crate) fn drop_one(&self) {
        if self.map_is_written.load(Ordering::Relaxed) {
            self.unmapped_meanwhile.fetch_add(1, Ordering::Relaxed);
        }
        self.blocks.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether a checkpoint is writing the maps.
    pub(crate) fn is_map_written(&self) -> bool {
        self.map_is_written.load(Ordering::Acquire)
    }

    /// A checkpoint begins to write the maps. What it writes is bounded by what may be held: blocks that are unmapped
    /// from now on count until it has ended, for it comes by each address once and may meet what took their place too.
    pub(crate) fn begin_writing_maps(&self) {
        self.map_is_written.store(true, Ordering::Release);
    }

    /// It has ended.
    pub(crate) fn end_writing_maps(&self) {
        self.map_is_written.store(false, Ordering::Release);
        self.unmapped_meanwhile.store(0, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_unmapped_while_the_maps_are_written_makes_room_afterwards() {
        let held = Held::new(3);
        held.add(3);
        assert!(!held.has_room(1) && !held.has_room_after_checkpoint());
        held.begin_writing_maps();
        held.drop_one();
        assert!(!held.has_room(1) && held.has_room_after_checkpoint());
        held.end_writing_maps();
        assert!(held.has_room(1) && !held.has_room(2));
    }
}
