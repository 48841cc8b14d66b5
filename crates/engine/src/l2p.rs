//! The logical-to-physical map of a volume: one atomic 64-bit entry per 4 KiB block.
//!
//! An entry holds the physical address and 28 bits of the block's CRC32C together, so a reader gets both by one load and
//! a relocation publishes both by one compare-and-swap (SALSA section 3.3). The price is 8 bytes of memory per block, 2
//! GiB per TiB, and no I/O at all for checksums; the full 32 bits are in the stripe header for scrub and recovery.
//!
//! Entries come in chunks of one GiB of volume (2 MiB of entries, one huge page), made when first written, so a large
//! thin volume costs what it holds. Any reactor may read or change any entry; see [`crate::order`] for what keeps the
//! order of writes and the order of map changes the same.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use cygnus_format::MapEntry;
use cygnus_runtime::Pages;
use cygnus_types::{Lba, prefetch};

/// Entries per chunk: 1 GiB of volume.
const CHUNK_ENTRIES: u64 = 1 << 18;
const CHUNK_BYTES: usize = CHUNK_ENTRIES as usize * size_of::<AtomicU64>();
/// Chunks per volume.
const CHUNKS: u64 = 1 << 16;
/// Entries in a page, the unit in which checkpoints write the map: 4096 / 8.
pub(crate) const PAGE_ENTRIES: u64 = 512;
/// Largest volume in blocks: 64 TiB. A bound on the root of the map (512 KiB), not on the format.
pub const MAX_VOLUME_BLOCKS: u64 = CHUNKS * CHUNK_ENTRIES;

const _: () = assert!(CHUNK_ENTRIES.is_multiple_of(PAGE_ENTRIES), "a page never spans two chunks");

type Chunk = [AtomicU64];

/// See the module's text.
pub(crate) struct Map {
    chunks: Box<[AtomicPtr<AtomicU64>]>,
}

/// Null pointers straight from the allocator, which gives lazily committed memory for large sizes.
fn no_chunks() -> Box<[AtomicPtr<AtomicU64>]> {
    let layout = std::alloc::Layout::array::<AtomicPtr<AtomicU64>>(CHUNKS as usize).expect("the root is small");
    // SAFETY: all zeros is a valid AtomicPtr, a null one; the layout is not empty, and Box will free it with the same.
    unsafe {
        let memory = std::alloc::alloc_zeroed(layout).cast::<AtomicPtr<AtomicU64>>();
        if memory.is_null() {
            std::alloc::handle_alloc_error(layout);
        }
        Box::from_raw(std::ptr::slice_from_raw_parts_mut(memory, CHUNKS as usize))
    }
}

impl Map {
    pub(crate) fn new() -> Self {
        Self { chunks: no_chunks() }
    }

    fn chunk(&self, lba: Lba) -> Option<&Chunk> {
        let entries = self.chunks[(lba.0 / CHUNK_ENTRIES) as usize].load(Ordering::Acquire);
        if entries.is_null() {
            return None;
        }
        // SAFETY: a non-null pointer is that of a mapping of CHUNK_ENTRIES entries, aligned to a page, zeros at first, which
        // are valid atomics; it is unmapped only when we are dropped, and changed only through the atomics.
        Some(unsafe { std::slice::from_raw_parts(entries, CHUNK_ENTRIES as usize) })
    }

    fn chunk_or_make(&self, lba: Lba) -> &Chunk {
        if let Some(chunk) = self.chunk(lba) {
            return chunk;
        }
        let fresh = Pages::zeroed(CHUNK_BYTES);
        let entries = fresh.start().cast::<AtomicU64>().as_ptr();
        let slot = &self.chunks[(lba.0 / CHUNK_ENTRIES) as usize];
        // Should another reactor be first, ours was never shared.
        if slot.compare_exchange(std::ptr::null_mut(), entries, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            std::mem::forget(fresh);
        }
        self.chunk(lba).expect("just made")
    }

    /// The entry of a block.
    #[inline]
    pub(crate) fn get(&self, lba: Lba) -> MapEntry {
        match self.chunk(lba) {
            Some(chunk) => MapEntry(chunk[(lba.0 % CHUNK_ENTRIES) as usize].load(Ordering::Acquire)),
            None => MapEntry::EMPTY,
        }
    }

    /// Has the core fetch an entry that will be looked at soon.
    #[inline]
    pub(crate) fn prefetch(&self, lba: Lba) {
        if let Some(chunk) = self.chunk(lba) {
            prefetch(&chunk[(lba.0 % CHUNK_ENTRIES) as usize]);
        }
    }

    /// Replaces an entry and returns what was there.
    #[inline]
    pub(crate) fn swap(&self, lba: Lba, new: MapEntry) -> MapEntry {
        let slot = &self.chunk_or_make(lba)[(lba.0 % CHUNK_ENTRIES) as usize];
        MapEntry(slot.swap(new.0, Ordering::AcqRel))
    }

    /// Replaces an entry if it is still `expected`.
    pub(crate) fn replace(&self, lba: Lba, expected: MapEntry, new: MapEntry) -> bool {
        let slot = &self.chunk_or_make(lba)[(lba.0 % CHUNK_ENTRIES) as usize];
        slot.compare_exchange(expected.0, new.0, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Clears an entry without making a chunk for it, and returns what was there.
    pub(crate) fn clear(&self, lba: Lba) -> MapEntry {
        match self.chunk(lba) {
            Some(chunk) => MapEntry(chunk[(lba.0 % CHUNK_ENTRIES) as usize].swap(MapEntry::EMPTY.0, Ordering::AcqRel)),
            None => MapEntry::EMPTY,
        }
    }

    /// The first block at or after `lba` that lies in a chunk that exists; lets range operations skip holes.
    pub(crate) fn skip_holes(&self, lba: Lba) -> Lba {
        let mut lba = lba;
        while lba.0 < MAX_VOLUME_BLOCKS && self.chunk(lba).is_none() {
            lba = Lba((lba.0 / CHUNK_ENTRIES + 1) * CHUNK_ENTRIES);
        }
        lba
    }

    /// Pages that lie in existing chunks and below `blocks`, by number.
    pub(crate) fn pages(&self, blocks: u64) -> impl Iterator<Item = u64> + '_ {
        let per_chunk = CHUNK_ENTRIES / PAGE_ENTRIES;
        (0..blocks.div_ceil(CHUNK_ENTRIES))
            .filter(|&c| !self.chunks[c as usize].load(Ordering::Acquire).is_null())
            .flat_map(move |c| c * per_chunk..(c + 1) * per_chunk)
            .take_while(move |page| page * PAGE_ENTRIES < blocks)
    }

    /// Upper bound of the pages below `blocks` that a checkpoint writes. Looked at for each grant of a segment, so it
    /// must not walk the whole root.
    pub(crate) fn page_bound(&self, blocks: u64) -> u64 {
        let root = &self.chunks[..blocks.div_ceil(CHUNK_ENTRIES) as usize];
        let chunks = root.iter().filter(|c| !c.load(Ordering::Relaxed).is_null()).count() as u64;
        (chunks * (CHUNK_ENTRIES / PAGE_ENTRIES)).min(blocks.div_ceil(PAGE_ENTRIES))
    }

    /// Writes a page into `bytes` (4096) and says whether any entry of it is mapped.
    pub(crate) fn read_page(&self, page: u64, bytes: &mut [u8]) -> bool {
        let first = Lba(page * PAGE_ENTRIES);
        let Some(chunk) = self.chunk(first) else { return false };
        let start = (first.0 % CHUNK_ENTRIES) as usize;
        let mut any = 0;
        for (entry, out) in chunk[start..].iter().zip(bytes.chunks_exact_mut(8)) {
            let raw = entry.load(Ordering::Acquire);
            any |= raw;
            out.copy_from_slice(&raw.to_le_bytes());
        }
        any != 0
    }

    /// Fills a page from `bytes` (4096); for recovery, before anybody else uses the map.
    pub(crate) fn load_page(&self, page: u64, bytes: &[u8]) {
        let first = Lba(page * PAGE_ENTRIES);
        let start = (first.0 % CHUNK_ENTRIES) as usize;
        let chunk = self.chunk_or_make(first);
        for (entry, raw) in chunk[start..].iter().zip(bytes.chunks_exact(8)) {
            entry.store(u64::from_le_bytes(raw.try_into().expect("eight bytes")), Ordering::Release);
        }
    }

    /// Calls `f` with every mapped block below `blocks`.
    pub(crate) fn for_each_mapped(&self, blocks: u64, mut f: impl FnMut(Lba, MapEntry)) {
        let mut lba = self.skip_holes(Lba(0));
        while lba.0 < blocks {
            let entry = self.get(lba);
            if entry != MapEntry::EMPTY {
                f(lba, entry);
            }
            lba = Lba(lba.0 + 1);
            if lba.0.is_multiple_of(CHUNK_ENTRIES) {
                lba = self.skip_holes(lba);
            }
        }
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        for slot in &self.chunks {
            if let Some(entries) = NonNull::new(slot.load(Ordering::Acquire)) {
                // SAFETY: `chunk_or_make` made it of this length and forgot the owner, so it has no other; `self` is going, and
                // with it all borrows of the chunk.
                drop(unsafe { Pages::from_start(entries.cast(), CHUNK_BYTES) });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cygnus_types::Pba;

    #[test]
    fn holes_are_empty_and_cost_nothing() {
        let map = Map::new();
        assert_eq!(map.get(Lba(MAX_VOLUME_BLOCKS - 1)), MapEntry::EMPTY);
        assert_eq!(map.clear(Lba(5)), MapEntry::EMPTY);
        assert_eq!(map.page_bound(MAX_VOLUME_BLOCKS), 0);
        assert_eq!(map.skip_holes(Lba(0)), Lba(MAX_VOLUME_BLOCKS));
    }

    #[test]
    fn pages_carry_the_map_over() {
        let (map, copy) = (Map::new(), Map::new());
        let lbas = [0, 1, 511, 512, CHUNK_ENTRIES * 3 + 7];
        for (i, &lba) in lbas.iter().enumerate() {
            map.swap(Lba(lba), MapEntry::new(Pba(i as u64 + 1), lba as u32));
        }
        let mut page = vec![0; 4096];
        let mut written = 0;
        for number in map.pages(MAX_VOLUME_BLOCKS) {
            if map.read_page(number, &mut page) {
                written += 1;
                copy.load_page(number, &page);
            }
        }
        assert_eq!(written, 3);
        for lba in lbas {
            assert_eq!(copy.get(Lba(lba)), map.get(Lba(lba)));
        }
        let mut seen = Vec::new();
        copy.for_each_mapped(MAX_VOLUME_BLOCKS, |lba, _| seen.push(lba.0));
        assert_eq!(seen, lbas);
    }

    #[test]
    fn replace_only_what_is_expected() {
        let map = Map::new();
        let (a, b) = (MapEntry::new(Pba(1), 1), MapEntry::new(Pba(2), 1));
        map.swap(Lba(9), a);
        assert!(!map.replace(Lba(9), b, a));
        assert!(map.replace(Lba(9), a, b));
        assert_eq!(map.get(Lba(9)), b);
    }
}
