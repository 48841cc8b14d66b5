//! The entries of a volume that is mapped by pages: one for each page, whose blocks lie one behind the other (SALSA, section 3.4).
//!
//! What is known of a block by itself is in the fine map, which is looked at first: blocks that were written without the rest of their
//! page, that were moved without it, or that are lost. So an entry here may say nothing any more of some of its blocks, though never
//! of all: what is at its address would be given back. A fine entry that was there before its page was written must go before the page's
//! can be seen. Whoever changes anything of a page has its lock; readers take none: what they find in the fine map was so a moment ago,
//! and what they find here behind it is as old or newer. Only who finds nothing in either looks again with the lock.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use cygnus_format::{MAP_PAGE_ENTRIES, MapEntry};
use cygnus_types::{Lba, Paging, prefetch};

use crate::lsa::l2p::{MOST_BLOCKS, MapMemory};

/// Blocks of a chunk of entries: 1 GiB of volume.
const CHUNK_BLOCKS: u64 = 1 << 18;
/// Chunks of a shelf, and shelves.
const SHELF: usize = 1 << 8;
const SHELVES: usize = (MOST_BLOCKS / CHUNK_BLOCKS) as usize / SHELF;
/// Locks for the pages, which are hashed onto these.
const LOCKS: usize = 64;

type Entries = Box<[AtomicU64]>;

/// The entries of a GiB, once it has any.
#[derive(Default)]
struct Chunk {
    entries: OnceLock<Entries>,
    /// There was no memory for them while the array was opened.
    left_out: AtomicBool,
}

/// See the module's text.
pub(super) struct Paged {
    paging: Paging,
    shelves: Box<[OnceLock<Box<[Chunk]>>]>,
    locks: Box<[Mutex<()>]>,
    memory: Arc<MapMemory>,
    /// Pages that have an entry.
    mapped: AtomicU64,
    /// Blocks with entries of their own.
    fine: AtomicU64,
}

impl Paged {
    pub(super) fn new(paging: Paging, memory: Arc<MapMemory>) -> Self {
        let shelves = (0..SHELVES).map(|_| OnceLock::new()).collect();
        let locks = (0..LOCKS).map(|_| Mutex::default()).collect();
        Self { paging, shelves, locks, memory, mapped: AtomicU64::new(0), fine: AtomicU64::new(0) }
    }

    /// Blocks of a page.
    #[inline]
    pub(super) fn blocks(&self) -> u64 {
        self.paging.blocks().into()
    }

    /// The first block of the page that a block is of.
    #[inline]
    pub(super) fn first_of(&self, lba: Lba) -> Lba {
        Lba(lba.0 - lba.0 % self.blocks())
    }

    fn chunk(&self, number: u64) -> Option<&Entries> {
        let (shelf, at) = (number as usize / SHELF, number as usize % SHELF);
        self.shelves[shelf].get()?[at].entries.get()
    }

    #[inline]
    fn slot(&self, lba: Lba) -> Option<&AtomicU64> {
        Some(&self.chunk(lba.0 / CHUNK_BLOCKS)?[(lba.0 % CHUNK_BLOCKS / self.blocks()) as usize])
    }

    /// The entry of a block, as that of its page has it.
    #[inline]
    pub(super) fn get(&self, lba: Lba) -> MapEntry {
        let Some(slot) = self.slot(lba) else { return MapEntry::EMPTY };
        let page = MapEntry(slot.load(Ordering::Acquire));
        if page.is_empty() { page } else { page.nth(lba.0 % self.blocks()) }
    }

    /// Has the core fetch an entry that will be looked at soon.
    #[inline]
    pub(super) fn prefetch(&self, lba: Lba) {
        if let Some(slot) = self.slot(lba) {
            prefetch(slot);
        }
    }

    /// Who has it may change the page that a block is of, here and in the fine map.
    pub(super) fn lock(&self, lba: Lba) -> MutexGuard<'_, ()> {
        self.locks[(lba.0 / self.blocks()) as usize % LOCKS].lock().expect("no holder panics")
    }

    /// Sets the entry of the page that begins at `first`. The caller has its lock.
    pub(super) fn set(&self, first: Lba, entry: MapEntry) {
        debug_assert!(first.0.is_multiple_of(self.blocks()) && (entry.is_empty() || entry.is_of_page()));
        let slot = match self.slot(first) {
            Some(slot) => slot,
            None if entry.is_empty() || !self.begin(first.0 / CHUNK_BLOCKS) => return,
            None => self.slot(first).expect("its chunk was just begun"),
        };
        let old = MapEntry(slot.swap(entry.0, Ordering::AcqRel));
        match (old.is_empty(), entry.is_empty()) {
            (true, false) => drop(self.mapped.fetch_add(1, Ordering::Relaxed)),
            (false, true) => drop(self.mapped.fetch_sub(1, Ordering::Relaxed)),
            _ => {}
        }
    }

    /// Makes the entries of a GiB; `false` if there is no memory for them.
    fn begin(&self, number: u64) -> bool {
        let shelf =
            self.shelves[number as usize / SHELF].get_or_init(|| (0..SHELF).map(|_| Chunk::default()).collect());
        let chunk = &shelf[number as usize % SHELF];
        if !self.memory.may_grow() {
            chunk.left_out.store(true, Ordering::Relaxed);
            return false;
        }
        chunk.entries.get_or_init(|| {
            self.memory.take(self.chunk_bytes());
            (0..CHUNK_BLOCKS / self.blocks()).map(|_| AtomicU64::new(0)).collect()
        });
        true
    }

    fn chunk_bytes(&self) -> usize {
        (CHUNK_BLOCKS / self.blocks()) as usize * size_of::<AtomicU64>()
    }

    fn chunks(&self) -> impl Iterator<Item = &Chunk> {
        self.shelves.iter().filter_map(OnceLock::get).flatten()
    }

    /// Bytes that all would take, those that were left out among them.
    pub(super) fn needed_bytes(&self) -> u64 {
        let is_needed = |chunk: &&Chunk| chunk.entries.get().is_some() || chunk.left_out.load(Ordering::Relaxed);
        (self.chunks().filter(is_needed).count() * self.chunk_bytes()) as u64
    }

    /// Blocks of the pages that have an entry; a moment ago.
    pub(super) fn mapped_blocks(&self) -> u64 {
        self.mapped.load(Ordering::Relaxed) * self.blocks()
    }

    /// The first block at or after `lba` of a page that has an entry, or `end` if none before that is.
    pub(super) fn skip_holes(&self, lba: Lba, end: Lba) -> Lba {
        let (mut from, end) = (lba.0, end.0.min(MOST_BLOCKS));
        while from < end {
            let next_chunk = (from / CHUNK_BLOCKS + 1) * CHUNK_BLOCKS;
            if let Some(entries) = self.chunk(from / CHUNK_BLOCKS) {
                let at = (from % CHUNK_BLOCKS / self.blocks()) as usize;
                let until = (end.min(next_chunk) - (next_chunk - CHUNK_BLOCKS)).div_ceil(self.blocks()) as usize;
                if let Some(n) = entries[at..until].iter().position(|entry| entry.load(Ordering::Acquire) != 0) {
                    let first = next_chunk - CHUNK_BLOCKS + (at + n) as u64 * self.blocks();
                    return Lba(first.max(from));
                }
            }
            from = next_chunk;
        }
        Lba(end.max(lba.0))
    }

    /// From the entries with this index among those of as many as a block of a checkpoint holds, and below `end`: the first such
    /// entries that are not all empty, and their index.
    pub(super) fn next_dump(&self, from: u64, end: Lba) -> Option<(u64, [MapEntry; MAP_PAGE_ENTRIES])> {
        let span = MAP_PAGE_ENTRIES as u64 * self.blocks();
        let begun = Lba((from * span).min(end.0));
        let index = Some(self.skip_holes(begun, end)).filter(|&lba| lba < end)?.0 / span;
        let mut entries = [MapEntry::EMPTY; MAP_PAGE_ENTRIES];
        for (n, entry) in (0..).zip(&mut entries) {
            *entry = self.get(Lba(index * span + n * self.blocks()));
        }
        Some((index, entries))
    }

    /// Whether one more block may have an entry of its own.
    #[inline]
    pub(super) fn has_fine_room(&self, blocks: u64) -> bool {
        self.fine() + blocks <= self.paging.fine().into()
    }

    /// Blocks that have entries of their own; a moment ago.
    pub(super) fn fine(&self) -> u64 {
        self.fine.load(Ordering::Relaxed)
    }

    /// A block's own entry has changed.
    pub(super) fn count_fine(&self, old: MapEntry, new: MapEntry) {
        match (old.is_empty(), new.is_empty()) {
            (true, false) => drop(self.fine.fetch_add(1, Ordering::Relaxed)),
            (false, true) => drop(self.fine.fetch_sub(1, Ordering::Relaxed)),
            _ => {}
        }
    }
}

impl Drop for Paged {
    fn drop(&mut self) {
        let taken = self.chunks().filter(|chunk| chunk.entries.get().is_some()).count();
        self.memory.give_back(taken * self.chunk_bytes());
    }
}

const _: () = {
    assert!(SHELVES * SHELF * CHUNK_BLOCKS as usize == MOST_BLOCKS as usize);
    assert!((CHUNK_BLOCKS / cygnus_types::MAX_PAGE_BLOCKS as u64).is_multiple_of(MAP_PAGE_ENTRIES as u64));
};
