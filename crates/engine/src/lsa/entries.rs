//! How the entries of a volume's blocks and pages change: see [`crate::lsa::paged`] for which of both says what.

use cygnus_format::MapEntry;
use cygnus_types::{Lba, MAX_PAGE_BLOCKS};

use crate::lsa::controller::{Controller, OfPage};
use crate::lsa::paged::Paged;

impl Controller {
    /// Replaces a block's entry and returns what was there.
    #[inline]
    pub(super) fn swap(&self, lba: Lba, new: MapEntry) -> MapEntry {
        self.exchange(lba, None, new)
    }

    /// Replaces a block's entry if it is still `expected`.
    #[inline]
    pub(super) fn replace(&self, lba: Lba, expected: MapEntry, new: MapEntry) -> bool {
        self.exchange(lba, Some(expected), new) == expected
    }

    #[inline]
    fn exchange(&self, lba: Lba, expected: Option<MapEntry>, new: MapEntry) -> MapEntry {
        match &self.pages {
            None => self.map.exchange(lba, expected, new),
            Some(pages) => self.exchange_own(pages, lba, expected, new),
        }
    }

    /// The same of a block of a page, which has an entry of its own from now on.
    fn exchange_own(&self, pages: &Paged, lba: Lba, expected: Option<MapEntry>, new: MapEntry) -> MapEntry {
        let _page = pages.lock(lba);
        let old = self.look(pages, lba);
        if expected.is_some_and(|expected| expected != old) {
            return old;
        }
        let hides = new.is_empty() && !pages.get(lba).is_empty();
        self.set_own(pages, lba, if hides { MapEntry::HIDDEN } else { new });
        self.forget_if_hidden(pages, pages.first_of(lba));
        old
    }

    /// An entry of a page that says nothing of any of its blocks goes: what is at its address may be given back.
    fn forget_if_hidden(&self, pages: &Paged, first: Lba) {
        let each = || (0..pages.blocks()).map(|n| first.plus(n));
        if pages.get(first).is_empty() || each().any(|lba| self.map.get(lba).is_empty()) {
            return;
        }
        pages.set(first, MapEntry::EMPTY);
        let hidden = each().filter(|&lba| self.map.get(lba) == MapEntry::HIDDEN);
        hidden.for_each(|lba| self.set_own(pages, lba, MapEntry::EMPTY));
    }

    fn set_own(&self, pages: &Paged, lba: Lba, new: MapEntry) {
        let old = self.map.swap(lba, new);
        pages.count_fine(old, new);
    }

    /// Replaces the entry of a page, if its blocks are as expected, and says what was there.
    pub(super) fn replace_page(&self, first: Lba, expected: Option<&[MapEntry]>, new: MapEntry) -> Option<OfPage> {
        let pages = self.pages.as_ref().expect("only volumes with pages are written by page");
        let _page = pages.lock(first);
        let (mut old, blocks) = ([MapEntry::EMPTY; MAX_PAGE_BLOCKS as usize], pages.blocks() as usize);
        (0..).zip(&mut old[..blocks]).for_each(|(n, entry)| *entry = self.look(pages, first.plus(n)));
        if expected.is_some_and(|expected| *expected != old[..blocks]) {
            return None;
        }
        // In this order: see `crate::lsa::paged`.
        pages.set(first, new);
        for lba in (first.0..).map(Lba).take(blocks).filter(|&lba| !self.map.get(lba).is_empty()) {
            self.set_own(pages, lba, MapEntry::EMPTY);
        }
        Some(old)
    }

    /// Clears what is known in a range, and calls `f` with what was said of each block, if anything was.
    pub(super) fn clear_known(&self, from: Lba, blocks: u64, mut f: impl FnMut(MapEntry)) {
        let Some(pages) = &self.pages else { return self.map.clear_mapped(from, blocks, f) };
        let (mut at, end) = (from, from.plus(blocks));
        loop {
            at = self.next_known_at(at, end);
            if at >= end {
                return;
            }
            let first = pages.first_of(at);
            let next = first.plus(pages.blocks());
            let begun = first.max(from);
            if begun == first && next <= end {
                let old = self.replace_page(first, None, MapEntry::EMPTY).expect("nothing was expected");
                old.into_iter().filter(|old| !old.is_empty()).for_each(&mut f);
            } else {
                let each = (begun.0..next.min(end).0).map(|lba| self.swap(Lba(lba), MapEntry::EMPTY));
                each.filter(|old| !old.is_empty()).for_each(&mut f);
            }
            at = next;
        }
    }

    /// Gives a page one entry again if its blocks, each of which has one, lie one behind the other, as `is_run` says of the first and
    /// the last.
    pub(super) fn fold(&self, first: Lba, is_run: impl Fn(MapEntry, MapEntry) -> bool) {
        let Some(pages) = &self.pages else { return };
        let _page = pages.lock(first);
        let blocks = pages.blocks();
        let own = |n: u64| self.map.get(first.plus(n));
        let begun = own(0);
        let follows = |n: u64| own(n).is_mapped() && !own(n).is_of_page() && own(n).pba().0 == begun.pba().0 + n;
        if (0..blocks).all(follows) && is_run(begun, own(blocks - 1)) {
            let check = MapEntry::page_check((0..blocks).map(|n| own(n).crc_bits()));
            pages.set(first, MapEntry::of_page(begun.pba(), check));
            (0..blocks).for_each(|n| self.set_own(pages, first.plus(n), MapEntry::EMPTY));
        }
    }

    /// Takes in what a checkpoint says of a block of a page by itself, and returns what was known of it before.
    pub(super) fn load_own(&self, lba: Lba, entry: MapEntry) -> MapEntry {
        let pages = self.pages.as_ref().expect("the caller has seen that it has pages");
        let old = self.locate(lba);
        self.set_own(pages, lba, entry);
        old
    }

    /// Takes in what a checkpoint says of a page, and returns what is not hidden by what is known of its blocks by themselves.
    pub(super) fn load_page_entry(&self, first: Lba, entry: MapEntry) -> impl Iterator<Item = MapEntry> {
        let pages = self.pages.as_ref().expect("the caller has seen that it has pages");
        pages.set(first, entry);
        let is_seen = move |n: &u64| self.map.get(first.plus(*n)).is_empty();
        (0..pages.blocks()).filter(is_seen).map(move |n| entry.nth(n))
    }
}
