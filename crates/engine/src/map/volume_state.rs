//! A volume as all reactors see it: its size, its map, and what became of its blocks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use cygnus_format::MapEntry;
use cygnus_types::{BLOCK, ByteSize, Lba, VolumeId};

use crate::map::l2p::{Map, MapMemory};

/// A volume as the reactors see it.
pub(crate) struct VolumeState {
    pub id: VolumeId,
    pub name: String,
    blocks: AtomicU64,
    gone: AtomicBool,
    in_doubt: AtomicBool,
    pub map: Map,
    /// Blocks mapped.
    pub mapped: AtomicU64,
    /// Blocks that were acknowledged and are lost with the caches of devices, since the array was opened.
    lost: AtomicU64,
    /// Of these, those that some flush has told of.
    told: AtomicU64,
}

impl VolumeState {
    pub(crate) fn new(id: VolumeId, name: String, size: ByteSize, memory: &Arc<MapMemory>) -> Self {
        Self {
            id,
            name,
            blocks: AtomicU64::new(size.0 / BLOCK as u64),
            gone: AtomicBool::new(false),
            in_doubt: AtomicBool::new(false),
            map: Map::new(memory.clone()),
            mapped: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            told: AtomicU64::new(0),
        }
    }

    pub(crate) fn blocks(&self) -> u64 {
        self.blocks.load(Ordering::Relaxed)
    }

    pub(crate) fn size(&self) -> ByteSize {
        ByteSize(self.blocks() * BLOCK as u64)
    }

    pub(crate) fn set_size(&self, size: ByteSize) {
        self.blocks.store(size.0 / BLOCK as u64, Ordering::Relaxed);
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }

    pub(crate) fn set_gone(&self) {
        self.gone.store(true, Ordering::Relaxed);
    }

    /// Whether blocks that are not in the map may have held data that is lost.
    pub(crate) fn is_in_doubt(&self) -> bool {
        self.in_doubt.load(Ordering::Relaxed)
    }

    pub(crate) fn set_in_doubt(&self) {
        self.in_doubt.store(true, Ordering::Relaxed);
    }

    /// Whether an entry says that its block holds zeros; one that has no address and does not say so is unreadable.
    #[inline]
    pub(crate) fn reads_as_zeros(&self, entry: MapEntry) -> bool {
        entry == MapEntry::ZEROS || (entry == MapEntry::EMPTY && !self.is_in_doubt())
    }

    /// Makes blocks zeros, and calls `f` with what was said of each before, as far as that was anything else.
    pub(crate) fn clear_all(&self, from: Lba, blocks: u64, mut f: impl FnMut(MapEntry)) {
        match self.is_in_doubt() {
            false => self.map.clear_mapped(from, blocks, f),
            true => (0..blocks).for_each(|n| f(self.map.swap(from.plus(n), MapEntry::ZEROS))),
        }
    }

    /// The first block at or after `lba` that may be something else than zeros, as far as the map's parts tell; `end` if there is
    /// none before it.
    pub(crate) fn skip_holes(&self, lba: Lba, end: Lba) -> Lba {
        if self.is_in_doubt() { lba } else { self.map.skip_holes(lba, end) }
    }

    /// Blocks that were acknowledged and are lost with the caches of devices.
    pub(crate) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Acquire)
    }

    /// So many more are.
    pub(crate) fn loses(&self, blocks: u64) {
        self.lost.fetch_add(blocks, Ordering::AcqRel);
    }

    /// Of the blocks that are lost, those that some flush has told of: whoever comes later is not told of them.
    pub(crate) fn told(&self) -> u64 {
        self.told.load(Ordering::Acquire)
    }

    /// A flush tells of so many in all.
    pub(crate) fn tell_lost(&self, lost: u64) {
        self.told.fetch_max(lost, Ordering::AcqRel);
    }

    /// Blocks that hold data, those counted of which it is lost.
    pub(crate) fn mapped(&self) -> u64 {
        self.mapped.load(Ordering::Relaxed)
    }
}
