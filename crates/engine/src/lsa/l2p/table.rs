//! The entries of a chunk in which few blocks are mapped: a hash table that grows by being replaced.
//!
//! Open addressing, linear probing. Within the life of a table a key never moves and never goes: a block that is
//! unmapped keeps its slot with an empty entry until the table is replaced. So readers need no lock. Writers have one.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use cygnus_format::MapEntry;

/// A slot: 16 bytes for 4 KiB of data.
#[derive(Default)]
struct Slot {
    /// Number of the block within the chunk, plus one; 0: free.
    key: AtomicU64,
    entry: AtomicU64,
}

/// Fewest slots.
const LEAST: usize = 4;
/// Bytes that the allocator keeps beside a table and its slots. Of the smallest tables that is a sixth.
const ALLOCATOR: usize = 24;
/// Slots of a table that is large.
const LARGE: usize = 1 << 12;

/// What a table holds; who has it may change the table.
#[derive(Clone, Copy, Default)]
pub(super) struct Counts {
    /// Slots that have a key.
    used: usize,
    /// Of these, slots with an entry.
    pub live: usize,
}

/// See the module's text.
pub(super) struct Table {
    counts: Mutex<Counts>,
    slots: Box<[Slot]>,
}

impl Table {
    /// A table for so many entries, and half as many again.
    pub(super) fn with_room(entries: usize) -> Box<Self> {
        let slots = (2 * entries).next_power_of_two().max(LEAST);
        let slots = (0..slots).map(|_| Slot::default()).collect();
        Box::new(Self { counts: Mutex::default(), slots })
    }

    /// Bytes of memory of a table for so many entries.
    pub(super) fn bytes_for(entries: usize) -> usize {
        size_of::<Self>() + ALLOCATOR + (2 * entries).next_power_of_two().max(LEAST) * size_of::<Slot>()
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + ALLOCATOR + size_of_val(&*self.slots)
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().expect("no holder panics")
    }

    /// The slot of a key, or the free one where it would go.
    #[inline]
    fn slot(&self, key: u64) -> &Slot {
        let mask = self.slots.len() - 1;
        let hash = (key + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let mut at = hash as usize & mask;
        loop {
            let slot = &self.slots[at];
            let found = slot.key.load(Ordering::Acquire);
            if found == key + 1 || found == 0 {
                return slot;
            }
            at = (at + 1) & mask;
        }
    }

    #[inline]
    pub(super) fn get(&self, key: u64) -> MapEntry {
        let slot = self.slot(key);
        // A free slot has no entry yet, or it is just getting this one.
        match slot.key.load(Ordering::Acquire) {
            0 => MapEntry::EMPTY,
            _ => MapEntry(slot.entry.load(Ordering::Acquire)),
        }
    }

    /// Sets the entry of a key; `false` if the table must be replaced by a larger one first.
    pub(super) fn set(&self, counts: &mut Counts, key: u64, entry: MapEntry) -> bool {
        let slot = self.slot(key);
        if slot.key.load(Ordering::Acquire) == 0 {
            if entry.is_empty() {
                return true;
            }
            // One in four stays free, so that probing ends soon.
            if (counts.used + 1) * 4 > self.slots.len() * 3 {
                return false;
            }
            slot.entry.store(entry.0, Ordering::Release);
            slot.key.store(key + 1, Ordering::Release);
            counts.used += 1;
            counts.live += 1;
            return true;
        }
        let old = MapEntry(slot.entry.swap(entry.0, Ordering::AcqRel));
        counts.live = counts.live + usize::from(old.is_empty()) - usize::from(entry.is_empty());
        true
    }

    /// Whether so much of it is unused that a smaller one, or none, should take its place.
    pub(super) fn is_wasteful(&self, counts: &Counts) -> bool {
        counts.live == 0 || (counts.live * 8 < self.slots.len() && self.slots.len() > LEAST)
    }

    /// Whether to look at all of it takes long.
    pub(super) fn is_large(&self) -> bool {
        self.slots.len() > LARGE
    }

    /// Calls `f` with all that is mapped in a range, in no order.
    pub(super) fn each_within(&self, range: Range<u64>, mut f: impl FnMut(u64, MapEntry)) {
        if ((range.end - range.start) as usize) < self.slots.len() {
            let each = range.map(|key| (key, self.get(key))).filter(|(_, entry)| !entry.is_empty());
            each.for_each(|(key, entry)| f(key, entry));
        } else {
            self.entries().filter(|(key, _)| range.contains(key)).for_each(|(key, entry)| f(key, entry));
        }
    }

    /// All that is mapped, in no order.
    pub(super) fn entries(&self) -> impl Iterator<Item = (u64, MapEntry)> + '_ {
        self.slots.iter().filter_map(|slot| {
            let key = slot.key.load(Ordering::Acquire).checked_sub(1)?;
            let entry = MapEntry(slot.entry.load(Ordering::Acquire));
            (!entry.is_empty()).then_some((key, entry))
        })
    }
}
