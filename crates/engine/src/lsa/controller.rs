//! The controller of one volume: where its blocks are, which of them the pool must keep, and how that changes.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use cygnus_format::{Kind, MAP_PAGE_ENTRIES, MapEntry};
use cygnus_types::{Lba, Pba, VolumeId};

use crate::lsa::l2p::{MOST_BLOCKS, Map, MapMemory};
use crate::lsa::order::REGION_BLOCKS;

/// Largest volume in blocks: 64 TiB. A bound on the root of the map, not on the format.
pub const MAX_VOLUME_BLOCKS: u64 = MOST_BLOCKS;

/// Blocks by which the fetching of map entries runs ahead: addresses are random, and each would be waited for.
const AHEAD: usize = 16;

/// The addresses whose changes come one after the other with those of `lba`. A record of a discard covers no others.
pub(crate) fn region_of(lba: Lba) -> Range<u64> {
    let first = lba.0 - lba.0 % REGION_BLOCKS;
    first..first + REGION_BLOCKS
}

/// How a block that has come to a new place may find its entry.
#[derive(Clone, Copy)]
pub(crate) enum Publish {
    /// A client's write: replace whatever is mapped.
    Always,
    /// A write that merges with what it read: only if the block still is what was read.
    IfStill(MapEntry),
    /// A block moves out of the way of contention, or from one medium to the other: as `IfStill`.
    Rehome(MapEntry),
    /// The pool moves a block: as `IfStill`, keeping the sequence of the write that made it.
    Move(MapEntry, u64),
}

/// A change of a block's entry, for the header of the stripe that it lies in now.
pub(crate) struct Published {
    pub kind: Kind,
    pub seq: u64,
    /// What was there before.
    pub old: MapEntry,
}

/// See the module's text.
pub(crate) struct Controller {
    pub(super) volume: VolumeId,
    pub(super) map: Map,
    in_doubt: AtomicBool,
    /// Blocks that hold data, those counted of which it is lost.
    pub(super) held: AtomicU64,
    /// Of these, those on disks, where media are counted.
    pub(super) on_disk: AtomicU64,
}

impl Controller {
    pub(super) fn new(volume: VolumeId, in_doubt: bool, memory: &Arc<MapMemory>) -> Self {
        let (map, held, on_disk) = (Map::new(memory.clone()), AtomicU64::new(0), AtomicU64::new(0));
        Self { volume, map, in_doubt: AtomicBool::new(in_doubt), held, on_disk }
    }

    /// Where a block is, and what it must match.
    #[inline]
    pub(crate) fn locate(&self, lba: Lba) -> MapEntry {
        self.map.get(lba)
    }

    /// Says that a block will be asked for soon.
    #[inline]
    pub(crate) fn announce(&self, lba: Lba) {
        self.map.prefetch(lba);
    }

    /// Whether a block still is where it was, and what it was.
    pub(crate) fn is_still(&self, lba: Lba, entry: MapEntry) -> bool {
        self.locate(lba) == entry
    }

    /// The entry of a block, if this address is its current one.
    pub(crate) fn current_at(&self, lba: Lba, pba: Pba) -> Option<MapEntry> {
        Some(self.locate(lba)).filter(|entry| entry.is_mapped() && entry.pba() == pba)
    }

    /// Which of the blocks found on the devices are current where they were found: calls `f` with the entry of each. `lba` and
    /// `pba` tell which block one is and at which address it was found.
    pub(crate) fn current<T>(
        &self,
        found: &[T],
        lba: impl Fn(&T) -> Lba,
        pba: impl Fn(&T) -> Pba,
        mut f: impl FnMut(&T, MapEntry),
    ) {
        for (index, block) in found.iter().enumerate() {
            if let Some(ahead) = found.get(index + AHEAD) {
                self.announce(lba(ahead));
            }
            if let Some(entry) = self.current_at(lba(block), pba(block)) {
                f(block, entry);
            }
        }
    }

    /// Blocks that hold data, those counted of which it is lost.
    pub(crate) fn held(&self) -> u64 {
        self.held.load(Ordering::Relaxed)
    }

    /// Of the blocks that hold data, those that are not on disks, where media are counted.
    pub(crate) fn held_on_flash(&self) -> u64 {
        self.held().saturating_sub(self.on_disk.load(Ordering::Relaxed))
    }

    /// Blocks of which something is known; a moment ago.
    pub(crate) fn known(&self) -> u64 {
        self.map.entries()
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

    /// The first block at or after `lba` that may be something else than zeros, as far as the map's parts tell; `end` if there is
    /// none before it.
    pub(crate) fn skip_holes(&self, lba: Lba, end: Lba) -> Lba {
        if self.is_in_doubt() { lba } else { self.map.skip_holes(lba, end) }
    }

    /// Puts blocks of which something is known, from `from` on and before `end`, into `found`, which is empty, in order, up to some
    /// block, where the caller goes on; `None` if there are none. All of it is as it is at this moment.
    pub(crate) fn next_known(&self, from: Lba, end: Lba, found: &mut Vec<(Lba, MapEntry)>) -> Option<Lba> {
        self.map.next_mapped(from, end, found)
    }

    /// A page of the map as it is at this moment, and how many of its entries are mapped, if it is cheap to copy it whole.
    pub(crate) fn dense_page(&self, page: u64) -> Option<([MapEntry; MAP_PAGE_ENTRIES], usize)> {
        self.map.dense_page(page)
    }

    /// Calls `f` with every block that has an address, in order.
    pub(crate) fn for_each_mapped(&self, f: impl FnMut(Lba, MapEntry)) {
        self.map.for_each_mapped(MAX_VOLUME_BLOCKS, f);
    }

    /// Calls `f` with every block below `blocks` that holds data, in order, those among them of which it is lost.
    pub(crate) fn for_each_held(&self, blocks: u64, f: impl FnMut(Lba, MapEntry)) {
        self.map.for_each_held(blocks, f);
    }

    /// Bytes that the map would take with the entries that were left out for want of memory; more rather than less.
    pub(crate) fn needed_bytes(&self) -> u64 {
        self.map.needed_bytes()
    }

    /// Makes blocks zeros, and calls `f` with what was said of each before, as far as that was anything else.
    pub(super) fn clear(&self, from: Lba, blocks: u64, mut f: impl FnMut(MapEntry)) {
        match self.is_in_doubt() {
            false => self.map.clear_mapped(from, blocks, f),
            true => (0..blocks).for_each(|n| f(self.map.swap(from.plus(n), MapEntry::ZEROS))),
        }
    }
}
