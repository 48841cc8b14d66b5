//! The map as pages of a checkpoint: what is written of it, and taken in again when the array is opened.
//!
//! Nothing is written but what is mapped: a page of the map whole if it is fairly full, the entries of the others packed, those of
//! several volumes together. Of a volume that is mapped by pages, what is known of blocks by themselves comes first, and packed; then
//! the entries of its pages, whole pages of the map of these. In that order: what was known of a block by itself when that was written
//! may have become part of a page since, and not the other way round but by a write, which is replayed.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use cygnus_format::{
    Entry, Kind, Layout, MAP_PAGE_ENTRIES, MapEntry, MapPage, PACKED_ENTRIES, PackedError, PackedPage,
};
use cygnus_types::{BLOCK, Lba, Pba, VolumeId};

use crate::lsa::controller::{Controller, MAX_VOLUME_BLOCKS};
use crate::lsa::l2p::{PAGE_ENTRIES, push_mapped};
use crate::lsa::tally::Tally;
use crate::planted::{self, Bug};
use crate::space::segments::SegmentTable;
use crate::volume_state::VolumeState;
use crate::write::page::Page;

/// Makes pages of the maps of all volumes, one volume after the other.
#[derive(Default)]
pub(crate) struct PageWriter {
    packed: PackedPage,
}

/// The pages of one volume. Each shows the map as it is when the page is made.
pub(crate) struct PagesOf<'a> {
    packed: &'a mut PackedPage,
    controller: &'a Controller,
    from: Lba,
    end: Lba,
    /// Entries before `from`; those before `at` are in pages.
    found: Vec<(Lba, MapEntry)>,
    at: usize,
    /// The page that was looked at last, where the map has its entries side by side.
    dense: Box<[MapEntry; MAP_PAGE_ENTRIES]>,
    /// Which of the entries of pages come next, where there are any.
    next_of_pages: u64,
}

impl PageWriter {
    /// The pages of a volume of so many blocks, but for entries that wait for a page to be full.
    pub(crate) fn of_volume<'a>(&'a mut self, controller: &'a Controller, blocks: u64) -> PagesOf<'a> {
        let (packed, from, end) = (&mut self.packed, Lba(0), Lba(blocks));
        let dense = Box::new([MapEntry::EMPTY; MAP_PAGE_ENTRIES]);
        PagesOf { packed, controller, from, end, found: Vec::new(), at: 0, dense, next_of_pages: 0 }
    }

    /// The page of those that wait, if any do.
    pub(crate) fn rest(&mut self) -> Option<Page> {
        take_packed(&mut self.packed)
    }
}

impl Iterator for PagesOf<'_> {
    type Item = Page;

    fn next(&mut self) -> Option<Page> {
        loop {
            if self.at == self.found.len() {
                self.found.clear();
                self.at = 0;
                match self.dense_page() {
                    Some((page, mapped)) if mapped >= PACKED_ENTRIES => {
                        return Some(whole(self.controller.volume, page, &self.dense));
                    }
                    Some((page, _)) => {
                        push_mapped(Lba(page * PAGE_ENTRIES), self.dense.iter().copied(), &mut self.found);
                        continue;
                    }
                    None => match self.controller.next_own(self.from, self.end, &mut self.found) {
                        Some(next) => self.from = next,
                        None => return self.entries_of_pages(),
                    },
                }
            }
            let entries = of_one_page(&self.found[self.at..]);
            let by_pages = self.controller.pages.is_some();
            if !by_pages && (entries.len() >= PACKED_ENTRIES || planted::is(Bug::SparsePagesWhole)) {
                self.at += entries.len();
                let page = entries[0].0.0 / PAGE_ENTRIES;
                return Some(whole(self.controller.volume, page, &spread(entries)));
            }
            let (wanted, packed) = (entries.len(), self.packed.push(self.controller.volume, entries));
            self.at += packed;
            if packed < wanted {
                // The rest has its turn when there is room.
                return take_packed(self.packed);
            }
        }
    }
}

impl PagesOf<'_> {
    /// Copies the page that comes next to `dense`, if the map has its entries side by side; which one it is, and how many of its
    /// entries are mapped.
    fn dense_page(&mut self) -> Option<(u64, usize)> {
        let (page, next) = (self.from.0 / PAGE_ENTRIES, self.from.plus(PAGE_ENTRIES));
        if !self.from.0.is_multiple_of(PAGE_ENTRIES) || next > self.end || self.controller.pages.is_some() {
            return None;
        }
        let mapped = self.controller.dense_page(page, &mut self.dense)?;
        self.from = next;
        Some((page, mapped))
    }

    /// A block of the entries of pages.
    fn entries_of_pages(&mut self) -> Option<Page> {
        let (index, entries) = self.controller.pages.as_ref()?.next_dump(self.next_of_pages, self.end)?;
        self.next_of_pages = index + 1;
        Some(whole(self.controller.volume, index, &entries))
    }
}

/// Those of these entries, which are in order, that lie on the page of the first one.
fn of_one_page(entries: &[(Lba, MapEntry)]) -> &[(Lba, MapEntry)] {
    let page = |lba: Lba| lba.0 / PAGE_ENTRIES;
    let first = page(entries[0].0);
    &entries[..entries.partition_point(|&(lba, _)| page(lba) == first)]
}

/// A page whole.
fn whole(volume: VolumeId, page: u64, entries: &[MapEntry; MAP_PAGE_ENTRIES]) -> Page {
    let mut bytes = Box::new([0; BLOCK]);
    MapPage::encode(entries, &mut bytes);
    Page { kind: Kind::Meta, volume, first: Lba(page), bytes }
}

/// All entries of a page of which these are mapped.
fn spread(mapped: &[(Lba, MapEntry)]) -> [MapEntry; MAP_PAGE_ENTRIES] {
    let mut entries = [MapEntry::EMPTY; MAP_PAGE_ENTRIES];
    mapped.iter().for_each(|&(lba, entry)| entries[(lba.0 % PAGE_ENTRIES) as usize] = entry);
    entries
}

/// The packed entries, if there are any; the next ones begin another block.
fn take_packed(packed: &mut PackedPage) -> Option<Page> {
    if packed.is_empty() {
        return None;
    }
    let (volume, first) = packed.first();
    let bytes = Box::new(*packed.bytes());
    packed.clear();
    Some(Page { kind: Kind::Packed, volume, first, bytes })
}

/// A page of a checkpoint is none of this array's maps.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PageError {
    #[error(transparent)]
    Packed(#[from] PackedError),
    #[error("{lba} of {volume} is beyond any volume")]
    Beyond { volume: VolumeId, lba: Lba },
    #[error("it has {lba} of {volume} as part of a page, or what should be a page as a block")]
    OfPage { volume: VolumeId, lba: Lba },
    #[error("it has block {} of volume {volume:?} at {pba}, where no R-group is", lba.0)]
    Nowhere { volume: String, lba: Lba, pba: Pba },
}

/// Takes pages of a checkpoint into maps that nobody uses yet, and counts what their entries point to on the way: of what comes
/// into the maps, and of nothing else, so nobody need walk these to know.
#[derive(Default)]
pub(crate) struct PageReader {
    /// By number.
    volumes: Vec<Arc<VolumeState>>,
    tally: Tally,
    /// Where blocks are counted by medium: what segments store on.
    media: Option<Arc<SegmentTable>>,
}

impl PageReader {
    /// For the maps of `volumes`; with `media`, blocks are counted by medium for each.
    pub(super) fn new(mut volumes: Vec<Arc<VolumeState>>, media: Option<Arc<SegmentTable>>) -> Self {
        volumes.sort_unstable_by_key(|volume| volume.id);
        Self { volumes, tally: Tally::default(), media }
    }

    /// Puts the entries of pages, as a block of a checkpoint has them, into the map of the volume at this number.
    fn take_in_pages(&mut self, layout: &Layout, at: usize, index: u64, block: &[u8]) -> Result<(), PageError> {
        let volume = self.volumes[at].clone();
        let of = &volume.controller;
        let entries =
            block.chunks_exact(8).map(|raw| MapEntry(u64::from_le_bytes(raw.try_into().expect("eight bytes"))));
        for (n, entry) in (index.saturating_mul(PAGE_ENTRIES)..).zip(entries).filter(|(_, entry)| !entry.is_empty()) {
            let first = Lba(n.saturating_mul(of.page_blocks()));
            let is_possible = entry.is_of_page() && entry.is_mapped() && entry.pba().0 + of.page_blocks() <= Pba::MAX.0;
            if first.0 >= MAX_VOLUME_BLOCKS {
                return Err(PageError::Beyond { volume: volume.id, lba: first });
            }
            if !is_possible {
                return Err(PageError::OfPage { volume: volume.id, lba: first });
            }
            for entry in of.load_page_entry(first, entry) {
                self.count_one(layout, &volume, first, entry)?;
            }
        }
        Ok(())
    }

    /// Puts what a checkpoint says of blocks of pages by themselves into the map of the volume at this number.
    fn take_in_own(
        &mut self,
        layout: &Layout,
        at: usize,
        entries: impl Iterator<Item = (Lba, MapEntry)>,
    ) -> Result<(), PageError> {
        let volume = self.volumes[at].clone();
        for (lba, entry) in entries {
            if lba.0 >= MAX_VOLUME_BLOCKS {
                return Err(PageError::Beyond { volume: volume.id, lba });
            }
            if entry.is_of_page() {
                return Err(PageError::OfPage { volume: volume.id, lba });
            }
            let old = volume.controller.load_own(lba, entry);
            if old.is_mapped() {
                self.count_off(layout, &volume, old);
            }
            self.count_one(layout, &volume, lba, entry)?;
        }
        Ok(())
    }

    fn count_one(&mut self, layout: &Layout, of: &VolumeState, lba: Lba, entry: MapEntry) -> Result<(), PageError> {
        if entry.is_mapped() && !self.tally.add(layout, entry.pba()) {
            return Err(PageError::Nowhere { volume: of.name.clone(), lba, pba: entry.pba() });
        }
        if let Some(media) = self.media.as_deref().filter(|_| entry.is_mapped()) {
            of.controller.elsewhere.come_to(media.medium(self.tally.last()), 1);
        }
        of.controller.held.fetch_add(u64::from(entry.is_held()), Ordering::Relaxed);
        Ok(())
    }

    /// The entry of a page that was counted for a block is hidden by what is known of the block by itself.
    fn count_off(&mut self, layout: &Layout, of: &VolumeState, entry: MapEntry) {
        self.tally.remove(layout, entry.pba());
        if let Some(media) = self.media.as_deref() {
            of.controller.elsewhere.one_leaves(media.medium(media.of(entry.pba())));
        }
        of.controller.held.fetch_sub(1, Ordering::Relaxed);
    }

    /// The number of a volume that is mapped by pages.
    fn with_pages(&self, id: VolumeId) -> Option<usize> {
        let at = self.volumes.binary_search_by_key(&id, |volume| volume.id).ok()?;
        self.volumes[at].controller.pages.is_some().then_some(at)
    }

    /// Puts what a block of a checkpoint holds into the maps, if all of it points into the array: a group leaves when no checkpoint
    /// needs its addresses. What is of volumes deleted since is left out.
    pub(crate) fn take_in(&mut self, layout: &Layout, summary: &Entry, block: &[u8]) -> Result<(), PageError> {
        if summary.kind() == Kind::Meta {
            if let Some(at) = self.with_pages(summary.volume()) {
                return self.take_in_pages(layout, at, summary.lba().0, block);
            }
            let entries = block.chunks_exact(8).map(|raw| u64::from_le_bytes(raw.try_into().expect("eight bytes")));
            let first = summary.lba().0.saturating_mul(PAGE_ENTRIES);
            if let Some(volume) = self.count(layout, summary.volume(), (first..).map(Lba).zip(entries.map(MapEntry)))? {
                volume.controller.map.load_page(summary.lba().0, block);
            }
            return Ok(());
        }
        let entries = PackedPage::decode(block, summary)?;
        for section in entries.chunk_by(|a, b| a.0 == b.0) {
            let here = section.iter().map(|&(_, lba, entry)| (lba, entry));
            if let Some(at) = self.with_pages(section[0].0) {
                self.take_in_own(layout, at, here)?;
                continue;
            }
            if let Some(volume) = self.count(layout, section[0].0, here.clone())? {
                here.for_each(|(lba, entry)| {
                    volume.controller.map.swap(lba, entry);
                });
            }
        }
        Ok(())
    }

    /// Counts entries that are about to come into a volume's map; the volume, if it still is one.
    fn count(
        &mut self,
        layout: &Layout,
        id: VolumeId,
        entries: impl Iterator<Item = (Lba, MapEntry)>,
    ) -> Result<Option<&VolumeState>, PageError> {
        let Ok(at) = self.volumes.binary_search_by_key(&id, |volume| volume.id) else { return Ok(None) };
        let (volume, mut held) = (&self.volumes[at], 0);
        for (lba, entry) in entries {
            if lba.0 >= MAX_VOLUME_BLOCKS {
                return Err(PageError::Beyond { volume: id, lba });
            }
            if entry.is_of_page() {
                return Err(PageError::OfPage { volume: id, lba });
            }
            if entry.is_mapped() && !self.tally.add(layout, entry.pba()) {
                return Err(PageError::Nowhere { volume: volume.name.clone(), lba, pba: entry.pba() });
            }
            if let Some(media) = self.media.as_deref().filter(|_| entry.is_mapped()) {
                volume.controller.elsewhere.come_to(media.medium(self.tally.last()), 1);
            }
            held += u64::from(entry.is_held());
        }
        volume.controller.held.fetch_add(held, Ordering::Relaxed);
        Ok(Some(volume))
    }

    /// The volumes, with all that was taken in, and what that points to.
    pub(super) fn into_parts(self) -> (Vec<Arc<VolumeState>>, Tally) {
        (self.volumes, self.tally)
    }
}
