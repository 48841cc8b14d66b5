//! The controller of one volume: where its blocks are, which of them the pool must keep, and how that changes.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use cygnus_format::{Kind, MAP_PAGE_ENTRIES, MapEntry};
use cygnus_types::{Lba, MAX_PAGE_BLOCKS, Medium, Paging, Pba, VolumeId};

use crate::lsa::l2p::{MOST_BLOCKS, Map, MapMemory};
use crate::lsa::order::REGION_BLOCKS;
use crate::lsa::paged::Paged;
use crate::space::held::Elsewhere;

/// Largest volume in blocks: 64 TiB. A bound on the root of the map, not on the format.
pub const MAX_VOLUME_BLOCKS: u64 = MOST_BLOCKS;

/// Blocks by which the fetching of map entries runs ahead: addresses are random, and each would be waited for.
const AHEAD: usize = 16;

/// An entry for each block of a page.
pub(crate) type OfPage = [MapEntry; MAX_PAGE_BLOCKS as usize];

/// Blocks of a volume that is mapped by pages that are looked at together.
const LOOKED_AT: u64 = 512;

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
    /// Of a volume that is mapped by pages: what is known of blocks by themselves.
    pub(super) map: Map,
    /// The entries of pages, if the volume is mapped by these.
    pub(super) pages: Option<Paged>,
    in_doubt: AtomicBool,
    /// Blocks that hold data, those counted of which it is lost.
    pub(super) held: AtomicU64,
    /// Of these, those on disks, where media are counted.
    pub(super) elsewhere: Elsewhere,
}

impl Controller {
    pub(super) fn new(volume: VolumeId, paging: Paging, in_doubt: bool, memory: &Arc<MapMemory>) -> Self {
        let (map, held, elsewhere) = (Map::new(memory.clone()), AtomicU64::new(0), Elsewhere::default());
        let pages = paging.is_by_pages().then(|| Paged::new(paging, memory.clone()));
        Self { volume, map, pages, in_doubt: AtomicBool::new(in_doubt), held, elsewhere }
    }

    /// Where a block is, and what it must match: by itself, or its page as a whole.
    #[inline]
    pub(crate) fn locate(&self, lba: Lba) -> MapEntry {
        match &self.pages {
            None => self.map.get(lba),
            Some(pages) => self.locate_of_page(pages, lba),
        }
    }

    fn locate_of_page(&self, pages: &Paged, lba: Lba) -> MapEntry {
        let found = self.look(pages, lba);
        if !found.is_empty() {
            return found;
        }
        // It may have got an entry of its own, and its page have lost its, between the two looks.
        let _page = pages.lock(lba);
        self.look(pages, lba)
    }

    /// The same of a volume that is mapped by pages, for who has the page's lock.
    #[inline]
    pub(super) fn look(&self, pages: &Paged, lba: Lba) -> MapEntry {
        match self.map.get(lba) {
            MapEntry::EMPTY => pages.get(lba),
            MapEntry::HIDDEN => MapEntry::EMPTY,
            own => own,
        }
    }

    /// Blocks for which the map has one entry.
    #[inline]
    pub(crate) fn page_blocks(&self) -> u64 {
        self.pages.as_ref().map_or(1, Paged::blocks)
    }

    /// The first block of the page that a block is of.
    #[inline]
    pub(crate) fn page_of(&self, lba: Lba) -> Lba {
        self.pages.as_ref().map_or(lba, |pages| pages.first_of(lba))
    }

    /// Whether so many more blocks may have entries of their own.
    #[inline]
    pub(crate) fn has_fine_room(&self, blocks: u64) -> bool {
        self.pages.as_ref().is_none_or(|pages| pages.has_fine_room(blocks))
    }

    /// Of a volume that is mapped by pages: blocks that have entries of their own.
    pub(crate) fn own_entries(&self) -> u64 {
        self.pages.as_ref().map_or(0, Paged::fine)
    }

    /// The entries of the blocks of a page, which begins at `first`, one after the other.
    pub(crate) fn locate_page(&self, first: Lba) -> OfPage {
        let mut entries = [MapEntry::EMPTY; MAX_PAGE_BLOCKS as usize];
        (0..self.page_blocks()).zip(&mut entries).for_each(|(n, entry)| *entry = self.locate(first.plus(n)));
        entries
    }

    /// Blocks of the page that begins at `lba`, of `most` at most, if its entry says of all of them where they are.
    #[inline]
    pub(crate) fn whole_page(&self, lba: Lba, most: usize) -> Option<usize> {
        let blocks = self.page_blocks();
        if blocks == 1 || self.page_of(lba) != lba || blocks as usize > most {
            return None;
        }
        let entry = self.locate(lba);
        let is_whole = entry.is_of_page() && (1..blocks).all(|n| self.locate(lba.plus(n)) == entry.nth(n));
        is_whole.then_some(blocks as usize)
    }

    /// Says that a block will be asked for soon.
    #[inline]
    pub(crate) fn announce(&self, lba: Lba) {
        self.map.prefetch(lba);
        if let Some(pages) = &self.pages {
            pages.prefetch(lba);
        }
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

    /// Of the blocks that hold data, those on a medium, where media are counted.
    pub(crate) fn held_on(&self, medium: Medium) -> u64 {
        self.elsewhere.on(medium, self.held())
    }

    /// Blocks of which something is known; a moment ago.
    pub(crate) fn known(&self) -> u64 {
        self.pages.as_ref().map_or_else(|| self.map.entries(), |pages| pages.mapped_blocks() + pages.fine())
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
        if self.is_in_doubt() { lba } else { self.next_known_at(lba, end) }
    }

    pub(super) fn next_known_at(&self, lba: Lba, end: Lba) -> Lba {
        let own = self.map.skip_holes(lba, end);
        self.pages.as_ref().map_or(own, |pages| own.min(pages.skip_holes(lba, end)))
    }

    /// Puts blocks of which something is known, from `from` on and before `end`, into `found`, which is empty, in order, up to some
    /// block, where the caller goes on; `None` if there are none. All of it is as it is at this moment.
    pub(crate) fn next_known(&self, from: Lba, end: Lba, found: &mut Vec<(Lba, MapEntry)>) -> Option<Lba> {
        let Some(_) = &self.pages else { return self.map.next_mapped(from, end, found) };
        let mut from = from;
        loop {
            from = Some(self.next_known_at(from, end)).filter(|&at| at < end)?;
            let until = end.min(Lba((from.0 / LOOKED_AT + 1) * LOOKED_AT));
            let entries = (from.0..until.0).map(|lba| (Lba(lba), self.locate(Lba(lba))));
            found.extend(entries.filter(|(_, entry)| !entry.is_empty()));
            from = until;
            if !found.is_empty() {
                return Some(from);
            }
        }
    }

    /// As [`Controller::next_known`], of what is known of blocks by themselves where the volume is mapped by pages.
    pub(super) fn next_own(&self, from: Lba, end: Lba, found: &mut Vec<(Lba, MapEntry)>) -> Option<Lba> {
        self.map.next_mapped(from, end, found)
    }

    /// Copies a page of the map as it is at this moment, and says how many of its entries are mapped, if it is cheap to copy it whole.
    pub(super) fn dense_page(&self, page: u64, into: &mut [MapEntry; MAP_PAGE_ENTRIES]) -> Option<usize> {
        self.map.dense_page(page, into)
    }

    /// Calls `f` with every block that has an address, in order.
    pub(crate) fn for_each_mapped(&self, mut f: impl FnMut(Lba, MapEntry)) {
        self.for_each_held(MAX_VOLUME_BLOCKS, |lba, entry| {
            if entry.is_mapped() {
                f(lba, entry);
            }
        });
    }

    /// Calls `f` with every block below `blocks` that holds data, in order, those among them of which it is lost.
    pub(crate) fn for_each_held(&self, blocks: u64, mut f: impl FnMut(Lba, MapEntry)) {
        self.for_each_known(blocks, |lba, entry| {
            if entry.is_held() {
                f(lba, entry);
            }
        });
    }

    /// Calls `f` with every block below `blocks` of which anything is known, in order, be that that it holds zeros.
    pub(super) fn for_each_known(&self, blocks: u64, mut f: impl FnMut(Lba, MapEntry)) {
        let (mut from, mut found) = (Lba(0), Vec::new());
        while let Some(next) = self.next_known(from, Lba(blocks), &mut found) {
            found.drain(..).for_each(|(lba, entry)| f(lba, entry));
            from = next;
        }
    }

    /// Bytes that the map would take with the entries that were left out for want of memory; more rather than less.
    pub(crate) fn needed_bytes(&self) -> u64 {
        self.map.needed_bytes() + self.pages.as_ref().map_or(0, Paged::needed_bytes)
    }

    /// Makes blocks zeros, and calls `f` with what was said of each before, as far as that was anything else.
    pub(super) fn clear(&self, from: Lba, blocks: u64, mut f: impl FnMut(MapEntry)) {
        match self.is_in_doubt() {
            false => self.clear_known(from, blocks, f),
            true => (0..blocks).for_each(|n| f(self.swap(from.plus(n), MapEntry::ZEROS))),
        }
    }
}
