//! The logical-to-physical map of a volume: one atomic 64-bit entry per 4 KiB block.
//!
//! An entry holds the physical address and 27 bits of the block's CRC32C together, so a reader gets both by one load and
//! a relocation publishes both by one compare-and-swap (SALSA section 3.3). The price is 8 bytes of memory per block, 2
//! GiB per TiB, and no I/O at all for checksums; the full 32 bits are in the stripe header for scrub and recovery.
//!
//! The map consists of chunks, one for each GiB of the volume. One in which nothing is mapped is not there. One in which
//! little is mapped is a table of that ([`table`]); one in which more is mapped is *dense*, an array of all its entries
//! (2 MiB, one huge page). So the memory follows what is mapped, at most some 256 bytes for each block, however large the
//! volume is, and what was full costs no more than an array. A chunk becomes dense when its table would grow too large, and
//! a table again when most of it has been discarded.
//!
//! Any reactor may read or change any entry; see [`crate::lsa::order`] for what keeps the order of writes and the order of map
//! changes the same. Readers take no lock; nor do writers of dense chunks. A table has a lock for its writers. A dense
//! chunk that is to become a table is *frozen* first: from when every reactor knows that, its writers take a lock too.

mod memory;
mod table;

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use cygnus_format::MapEntry;
use cygnus_runtime::Pages;
use cygnus_types::{Lba, prefetch};
use table::{Counts, Table};

pub(super) use memory::MapMemory;

/// Entries per chunk: 1 GiB of volume.
const CHUNK_ENTRIES: u64 = 1 << 18;
const CHUNK_BYTES: usize = CHUNK_ENTRIES as usize * size_of::<AtomicU64>();
/// Chunks per volume.
const CHUNKS: usize = 1 << 16;
/// Entries in a page, the unit in which checkpoints write the map: 4096 / 8.
pub(super) const PAGE_ENTRIES: u64 = cygnus_format::MAP_PAGE_ENTRIES as u64;
/// Entries in a cache line.
const ENTRIES_PER_LINE: usize = 64 / size_of::<MapEntry>();
/// Blocks that a map can have. A bound on its root (512 KiB), not on the format.
pub(super) const MOST_BLOCKS: u64 = CHUNKS as u64 * CHUNK_ENTRIES;

const _: () = {
    assert!(CHUNK_ENTRIES.is_multiple_of(PAGE_ENTRIES), "a page never spans two chunks");
    assert!(CHUNK_ENTRIES.is_multiple_of(crate::lsa::order::REGION_BLOCKS), "nor does a region");
    assert!(align_of::<Table>() > TAGS && CHUNK_BYTES > TAGS, "addresses leave the tags free");
};

/// What kind of chunk a pointer leads to: none of these means a dense one.
const TABLE: usize = 1;
const FROZEN: usize = 2;
const TAGS: usize = TABLE | FROZEN;

type Dense = [AtomicU64; CHUNK_ENTRIES as usize];

/// Memory that is taken as it is touched.
#[repr(C)]
struct Root {
    chunks: [AtomicPtr<u8>; CHUNKS],
    /// Entries of the dense chunks, more or less: counted a moment after they change. Of others, while the array is opened:
    /// entries that found no room.
    live: [AtomicU32; CHUNKS],
}

/// A chunk, as it is at this moment. Not to be held across an await: see [`memory`].
enum Chunk<'a> {
    Absent,
    Dense(&'a Dense),
    Frozen(&'a Dense),
    Table(&'a Table),
}

/// See the module's text.
pub(crate) struct Map {
    root: Pages,
    memory: Arc<MapMemory>,
    /// Chunks that are frozen. Writers of these hold it.
    frozen: Mutex<Vec<usize>>,
    /// Some dense chunk has become thin.
    is_thin: AtomicBool,
}

/// Adds to `found` what is mapped of entries that follow each other within a page, the first of which is that of `from`. Without
/// a branch for each entry, since which ones are mapped may be anybody's guess.
pub(super) fn push_mapped(from: Lba, entries: impl Iterator<Item = MapEntry>, found: &mut Vec<(Lba, MapEntry)>) {
    found.reserve(PAGE_ENTRIES as usize);
    let room = found.spare_capacity_mut();
    let mut mapped = 0;
    for (lba, entry) in (from.0..).zip(entries) {
        room[mapped].write((Lba(lba), entry));
        mapped += usize::from(!entry.is_empty());
    }
    // SAFETY: `mapped` grew by one only behind a slot that had just been written, and each index was checked against the capacity: so
    // as many slots behind the old length hold entries.
    unsafe { found.set_len(found.len() + mapped) };
}

fn load(entry: &AtomicU64) -> MapEntry {
    MapEntry(entry.load(Ordering::Acquire))
}

fn split(lba: Lba) -> (usize, u64) {
    ((lba.0 / CHUNK_ENTRIES) as usize, lba.0 % CHUNK_ENTRIES)
}

impl Map {
    pub(crate) fn new(memory: Arc<MapMemory>) -> Self {
        let root = Pages::sparse(size_of::<Root>());
        Self { root, memory, frozen: Mutex::default(), is_thin: AtomicBool::new(false) }
    }

    #[inline]
    fn root(&self) -> &Root {
        // SAFETY: the mapping is as long as a root and aligned to a page; zeros are valid pointers and counters; it is
        // unmapped when we are dropped, and changed only through the atomics.
        unsafe { self.root.start().cast::<Root>().as_ref() }
    }

    #[inline]
    fn slot(&self, chunk: usize) -> &AtomicPtr<u8> {
        &self.root().chunks[chunk]
    }

    #[inline]
    fn chunk(&self, number: usize) -> Chunk<'_> {
        let tagged = self.slot(number).load(Ordering::Acquire);
        let start = tagged.map_addr(|address| address & !TAGS);
        // SAFETY: what a slot leads to is a table in a box, or a mapping of CHUNK_ENTRIES entries aligned to a page, of
        // which all bit patterns are valid; which of them, the tag says, and both change only through atomics and locks.
        // Either outlives this borrow: replaced parts are kept until every reactor has come to an await since.
        unsafe {
            match tagged.addr() & TAGS {
                _ if start.is_null() => Chunk::Absent,
                0 => Chunk::Dense(&*start.cast::<Dense>()),
                TABLE => Chunk::Table(&*start.cast::<Table>()),
                _ => Chunk::Frozen(&*start.cast::<Dense>()),
            }
        }
    }

    /// The entry of a block.
    #[inline]
    pub(crate) fn get(&self, lba: Lba) -> MapEntry {
        let (number, at) = split(lba);
        match self.chunk(number) {
            Chunk::Dense(entries) | Chunk::Frozen(entries) => load(&entries[at as usize]),
            Chunk::Absent => MapEntry::EMPTY,
            Chunk::Table(table) => table.get(at),
        }
    }

    /// Has the core fetch an entry that will be looked at soon.
    #[inline]
    pub(crate) fn prefetch(&self, lba: Lba) {
        let (number, at) = split(lba);
        if let Chunk::Dense(entries) = self.chunk(number) {
            prefetch(&entries[at as usize]);
        }
    }

    /// Replaces an entry and returns what was there.
    #[inline]
    pub(crate) fn swap(&self, lba: Lba, new: MapEntry) -> MapEntry {
        self.exchange(lba, None, new)
    }

    /// Clears an entry and returns what was there.
    pub(crate) fn clear(&self, lba: Lba) -> MapEntry {
        self.exchange(lba, None, MapEntry::EMPTY)
    }

    /// Replaces an entry, if it is what is expected, and returns what was there.
    #[inline]
    pub(crate) fn exchange(&self, lba: Lba, expected: Option<MapEntry>, new: MapEntry) -> MapEntry {
        let (number, at) = split(lba);
        match self.chunk(number) {
            Chunk::Dense(entries) => self.exchange_dense(number, &entries[at as usize], expected, new),
            _ => self.exchange_elsewhere(number, at, expected, new),
        }
    }

    #[inline]
    fn exchange_dense(&self, number: usize, at: &AtomicU64, expected: Option<MapEntry>, new: MapEntry) -> MapEntry {
        let old = match expected {
            None => MapEntry(at.swap(new.0, Ordering::AcqRel)),
            Some(expected) => match at.compare_exchange(expected.0, new.0, Ordering::AcqRel, Ordering::Acquire) {
                Ok(old) => MapEntry(old),
                Err(other) => return MapEntry(other),
            },
        };
        if old.is_empty() != new.is_empty() {
            self.count_dense(number, new.is_empty());
        }
        old
    }

    fn count_dense(&self, number: usize, unmapped: bool) {
        let live = &self.root().live[number];
        if !unmapped {
            live.fetch_add(1, Ordering::Relaxed);
        } else if live.fetch_sub(1, Ordering::Relaxed) == self.memory.thin_below() {
            self.is_thin.store(true, Ordering::Relaxed);
        }
    }

    #[cold]
    fn exchange_elsewhere(&self, number: usize, at: u64, expected: Option<MapEntry>, new: MapEntry) -> MapEntry {
        loop {
            match self.chunk(number) {
                Chunk::Absent if new.is_empty() || expected.is_some_and(|e| !e.is_empty()) => return MapEntry::EMPTY,
                Chunk::Absent if !self.may_grow(number) => return MapEntry::EMPTY,
                Chunk::Absent => self.begin_table(number),
                Chunk::Dense(entries) => return self.exchange_dense(number, &entries[at as usize], expected, new),
                Chunk::Frozen(entries) => {
                    let _held = self.frozen.lock().expect("no holder panics");
                    if matches!(self.chunk(number), Chunk::Frozen(_)) {
                        return self.exchange_dense(number, &entries[at as usize], expected, new);
                    }
                }
                Chunk::Table(table) => {
                    let mut counts = table.lock();
                    // Whoever had the lock before may have replaced it.
                    if matches!(self.chunk(number), Chunk::Table(now) if ptr::eq(now, table)) {
                        return self.exchange_in_table(number, table, &mut counts, at, expected, new);
                    }
                }
            }
        }
    }

    fn exchange_in_table(
        &self,
        number: usize,
        table: &Table,
        counts: &mut Counts,
        at: u64,
        expected: Option<MapEntry>,
        new: MapEntry,
    ) -> MapEntry {
        let old = table.get(at);
        if expected.is_some_and(|expected| expected != old) {
            return old;
        }
        if !table.set(counts, at, new) {
            if !self.may_grow(number) {
                return old;
            }
            self.replace_table(number, table, counts.live + 1, Some((at, new)));
        } else if new.is_empty() && table.is_wasteful(counts) {
            self.replace_table(number, table, counts.live, None);
        }
        old
    }

    /// Whether a chunk that is not dense may become larger; else an entry of it is left out.
    fn may_grow(&self, number: usize) -> bool {
        let may = self.memory.may_grow();
        if !may {
            self.root().live[number].fetch_add(1, Ordering::Relaxed);
        }
        may
    }

    /// Blocks of which something is known; a moment ago.
    pub(crate) fn entries(&self) -> u64 {
        let count = |number: usize| match self.chunk(number) {
            Chunk::Dense(_) | Chunk::Frozen(_) => u64::from(self.root().live[number].load(Ordering::Relaxed)),
            Chunk::Table(table) => table.lock().live as u64,
            Chunk::Absent => 0,
        };
        (0..CHUNKS).map(count).sum()
    }

    /// Bytes that the map would take with the entries that were left out; more rather than less.
    pub(crate) fn needed_bytes(&self) -> u64 {
        let bytes_of = |number: usize| {
            let here = match self.chunk(number) {
                Chunk::Dense(_) | Chunk::Frozen(_) => return CHUNK_BYTES,
                Chunk::Table(table) => table.lock().live,
                Chunk::Absent => 0,
            };
            match here + self.root().live[number].load(Ordering::Relaxed) as usize {
                0 => 0,
                all if all as u32 > self.memory.dense_from() => CHUNK_BYTES,
                all => Table::bytes_for(all),
            }
        };
        (0..CHUNKS).map(|number| bytes_of(number) as u64).sum()
    }

    fn begin_table(&self, number: usize) {
        let table = Table::with_room(1);
        let bytes = table.bytes();
        let fresh = Box::into_raw(table);
        let tagged = fresh.cast::<u8>().map_addr(|address| address | TABLE);
        match self.slot(number).compare_exchange(ptr::null_mut(), tagged, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => self.memory.take(bytes),
            // SAFETY: another reactor was first, and ours, just made from a box, was never shared.
            Err(_) => drop(unsafe { Box::from_raw(fresh) }),
        }
    }

    /// Puts something of the right size in the place of a table, which the caller has locked.
    fn replace_table(&self, number: usize, table: &Table, live: usize, one_more: Option<(u64, MapEntry)>) {
        let entries = table.entries().chain(one_more);
        match live {
            0 => self.slot(number).store(ptr::null_mut(), Ordering::Release),
            _ if live as u32 > self.memory.dense_from() => self.become_dense(number, entries),
            _ => self.become_table(number, live, entries),
        }
        // SAFETY: it came from a box when it was put into the slot, from which it has just been taken; whoever still looks
        // at it does so until it comes to an await, and it is kept for so long.
        let table = unsafe { Box::from_raw(ptr::from_ref(table).cast_mut()) };
        let bytes = table.bytes();
        self.memory.retire(table, bytes);
    }

    fn become_dense(&self, number: usize, entries: impl Iterator<Item = (u64, MapEntry)>) {
        let pages = Pages::zeroed(CHUNK_BYTES);
        // SAFETY: as in `chunk`; nobody else knows of it yet.
        let dense = unsafe { pages.start().cast::<Dense>().as_ref() };
        let count = entries.map(|(at, entry)| dense[at as usize].store(entry.0, Ordering::Relaxed)).count();
        self.root().live[number].store(count as u32, Ordering::Relaxed);
        self.memory.take(CHUNK_BYTES);
        self.slot(number).store(pages.start().as_ptr(), Ordering::Release);
        std::mem::forget(pages);
    }

    fn become_table(&self, number: usize, live: usize, entries: impl Iterator<Item = (u64, MapEntry)>) {
        let table = Table::with_room(live);
        let mut counts = table.lock();
        for (at, entry) in entries {
            let fits = table.set(&mut counts, at, entry);
            assert!(fits, "the table was made for these");
        }
        drop(counts);
        self.memory.take(table.bytes());
        let tagged = Box::into_raw(table).cast::<u8>().map_addr(|address| address | TABLE);
        self.slot(number).store(tagged, Ordering::Release);
    }

    /// A round begins that every reactor answers: dense chunks in which little is left are frozen.
    pub(crate) fn begin_settling(&self) {
        if !self.is_thin.swap(false, Ordering::Relaxed) {
            return;
        }
        let mut frozen = self.frozen.lock().expect("no holder panics");
        for number in 0..CHUNKS {
            let is_dense = matches!(self.chunk(number), Chunk::Dense(_));
            if is_dense && self.root().live[number].load(Ordering::Relaxed) < self.memory.thin_below() {
                self.slot(number).fetch_or(FROZEN, Ordering::AcqRel);
                frozen.push(number);
            }
        }
    }

    /// All have answered since [`Map::begin_settling`]: who changes a frozen chunk has the lock.
    pub(crate) fn end_settling(&self) {
        let mut frozen = self.frozen.lock().expect("no holder panics");
        for number in frozen.drain(..) {
            self.thaw(number);
        }
    }

    /// Puts a table, or nothing, in the place of a frozen chunk, if it is still thin.
    fn thaw(&self, number: usize) {
        let Chunk::Frozen(dense) = self.chunk(number) else {
            unreachable!("only this thaws, and it is in the list once")
        };
        let mapped = |(at, entry): (usize, &AtomicU64)| {
            let entry = MapEntry(entry.load(Ordering::Acquire));
            (!entry.is_empty()).then_some((at as u64, entry))
        };
        let entries = || dense.iter().enumerate().filter_map(mapped);
        let live = entries().count();
        if live as u32 >= self.memory.thin_below() {
            self.root().live[number].store(live as u32, Ordering::Relaxed);
            self.slot(number).fetch_and(!TAGS, Ordering::AcqRel);
            return;
        }
        let start = self.slot(number).load(Ordering::Acquire).map_addr(|address| address & !TAGS);
        match live {
            0 => self.slot(number).store(ptr::null_mut(), Ordering::Release),
            _ => self.become_table(number, live, entries()),
        }
        // SAFETY: `become_dense` made it of this length and forgot the owner; it is in no slot any more, and kept until nobody
        // looks at it.
        let pages = unsafe { dense_pages(start) };
        self.memory.retire(pages, CHUNK_BYTES);
    }

    /// The first block at or after `lba` that may be mapped, or `end` if none before it is; lets range operations skip holes.
    pub(crate) fn skip_holes(&self, lba: Lba, end: Lba) -> Lba {
        let (mut from, end) = (lba.0, end.0.min(MOST_BLOCKS));
        while from < end {
            let (number, at) = split(Lba(from));
            let first = number as u64 * CHUNK_ENTRIES;
            let until = end.min(first + CHUNK_ENTRIES);
            let next = match self.chunk(number) {
                Chunk::Dense(_) | Chunk::Frozen(_) => Some(at),
                Chunk::Table(table) => {
                    let mut next = None;
                    let mut note = |at, _| next = Some(next.map_or(at, |next: u64| next.min(at)));
                    table.each_within(at..until - first, &mut note);
                    next
                }
                Chunk::Absent => None,
            };
            match next {
                Some(at) => return Lba(first + at),
                None => from = until,
            }
        }
        Lba(end.max(lba.0))
    }

    /// Puts what is mapped from `from` on and before `end` into `found`, which is empty, in order, up to some block, where
    /// the caller goes on; `None` if nothing is. All of it is as it is at this moment.
    pub(crate) fn next_mapped(&self, from: Lba, end: Lba, found: &mut Vec<(Lba, MapEntry)>) -> Option<Lba> {
        let (mut from, end) = (from.0, end.0.min(MOST_BLOCKS));
        while from < end {
            let (number, at) = split(Lba(from));
            let first = number as u64 * CHUNK_ENTRIES;
            let until = match self.chunk(number) {
                Chunk::Absent => first + CHUNK_ENTRIES,
                Chunk::Dense(entries) | Chunk::Frozen(entries) => {
                    let until = end.min((from / PAGE_ENTRIES + 1) * PAGE_ENTRIES);
                    push_mapped(Lba(from), entries[at as usize..(until - first) as usize].iter().map(load), found);
                    until
                }
                Chunk::Table(table) => {
                    // A large one in parts: sorting all of it would take a millisecond.
                    let step = if table.is_large() { CHUNK_ENTRIES / 16 } else { CHUNK_ENTRIES };
                    let until = end.min(first + (at / step + 1) * step);
                    table.each_within(at..until - first, |at, entry| found.push((Lba(first + at), entry)));
                    found.sort_unstable_by_key(|&(lba, _)| lba);
                    until
                }
            };
            from = until.min(end);
            if !found.is_empty() {
                return Some(Lba(from));
            }
        }
        None
    }

    /// Copies all entries of a page that lies in a dense chunk, as they are at this moment, and says how many of them are mapped;
    /// `None` if another kind of chunk is there.
    pub(crate) fn dense_page(&self, page: u64, into: &mut [MapEntry; PAGE_ENTRIES as usize]) -> Option<usize> {
        let (number, at) = split(Lba(page * PAGE_ENTRIES));
        let (Chunk::Dense(dense) | Chunk::Frozen(dense)) = self.chunk(number) else { return None };
        let (here, behind) = dense[at as usize..].split_at(PAGE_ENTRIES as usize);
        // Processors foresee nothing beyond a page of memory, which is just as long.
        behind.iter().take(PAGE_ENTRIES as usize).step_by(ENTRIES_PER_LINE).for_each(prefetch);
        let mut mapped = 0;
        for (copy, entry) in into.iter_mut().zip(here) {
            *copy = load(entry);
            mapped += usize::from(!copy.is_empty());
        }
        Some(mapped)
    }

    /// Clears what is mapped in a range in which nobody else maps anything meanwhile, and calls `f` with what was there.
    pub(crate) fn clear_mapped(&self, from: Lba, blocks: u64, mut f: impl FnMut(MapEntry)) {
        let (mut at, mut found) = (from, Vec::new());
        while let Some(next) = self.next_mapped(at, Lba(from.0 + blocks), &mut found) {
            found.drain(..).map(|(lba, _)| self.clear(lba)).filter(|old| !old.is_empty()).for_each(&mut f);
            at = next;
        }
    }

    /// Takes in the entries of a page that a checkpoint wrote whole, of which none is mapped yet; for recovery, before
    /// anybody else uses the map.
    pub(crate) fn load_page(&self, page: u64, bytes: &[u8]) {
        let first = Lba(page * PAGE_ENTRIES);
        let entries =
            bytes.chunks_exact(8).map(|raw| MapEntry(u64::from_le_bytes(raw.try_into().expect("eight bytes"))));
        let mapped = (0..).zip(entries).filter(|(_, entry)| !entry.is_empty());
        let (number, at) = split(first);
        if let Chunk::Dense(dense) = self.chunk(number) {
            let put = |(n, entry): (u64, MapEntry)| dense[(at + n) as usize].store(entry.0, Ordering::Release);
            let count = mapped.map(put).count();
            self.root().live[number].fetch_add(count as u32, Ordering::Relaxed);
        } else {
            for (n, entry) in mapped {
                self.swap(first.plus(n), entry);
            }
        }
    }
}

/// Parts of the maps that nobody can be looking at any more are given back between these two; in between every reactor
/// answers a message.
impl MapMemory {
    pub(crate) fn begin_round<'a>(&self, maps: impl Iterator<Item = &'a Map>) {
        maps.for_each(Map::begin_settling);
        self.begin_settling();
    }

    pub(crate) fn end_round<'a>(&self, maps: impl Iterator<Item = &'a Map>) {
        self.end_settling();
        maps.for_each(Map::end_settling);
    }
}

/// The mapping of a dense chunk.
///
/// # Safety
/// As [`Pages::from_start`].
unsafe fn dense_pages(start: *mut u8) -> Pages {
    // SAFETY: the caller answers for it.
    unsafe { Pages::from_start(ptr::NonNull::new(start).expect("the chunk is there"), CHUNK_BYTES) }
}

impl Drop for Map {
    fn drop(&mut self) {
        for number in 0..CHUNKS {
            let tagged = self.slot(number).load(Ordering::Acquire);
            if tagged.is_null() {
                continue;
            }
            let start = tagged.map_addr(|address| address & !TAGS);
            // SAFETY: each was put there by `begin_table`, `become_table` or `become_dense` and its owner forgotten, so it has no
            // other; `self` is going, and with it all borrows.
            unsafe {
                if tagged.addr() & TABLE != 0 {
                    let table = Box::from_raw(start.cast::<Table>());
                    self.memory.give_back(table.bytes());
                } else {
                    drop(dense_pages(start));
                    self.memory.give_back(CHUNK_BYTES);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
