//! Recovery, step "checkpoint": the maps as the newest readable checkpoint has them.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use cygnus_format::{
    CheckpointRoot, Entry, Kind, Layout, MAP_PAGE_ENTRIES, MapEntry, PackedPage, Place, RootSegment, RootUse,
};
use cygnus_parity as parity;
use cygnus_types::{BLOCK, VolumeId};

use crate::map::l2p::MAX_VOLUME_BLOCKS;
use crate::map::volume_state::VolumeState;
use crate::reactor::Reactor;
use crate::read::parallel::for_each;
use crate::read::scan::FoundStripe;
use crate::space::segments::SegState;

/// What was found of a checkpoint's pages, each of which may be there twice.
#[derive(Default)]
struct Pages {
    /// Those whose contents are in the maps.
    loaded: BTreeSet<PageKey>,
    /// Those of which a copy could not be read.
    unread: BTreeSet<PageKey>,
}

/// What tells a page from all others of a checkpoint: its kind, volume and first address.
type PageKey = (u8, VolumeId, u64);

fn key_of(summary: &Entry) -> PageKey {
    (summary.kind() as u8, summary.volume(), summary.lba().0)
}

impl Reactor {
    /// Loads the pages of a checkpoint into the maps of `volumes`; pages of volumes deleted since are skipped. Returns
    /// how many pages there were. With `some`, those that can be read are enough.
    pub(crate) async fn load_checkpoint(
        self: &Rc<Self>,
        root: &CheckpointRoot,
        volumes: &[Arc<VolumeState>],
        some: bool,
    ) -> Result<u64, String> {
        let segments: Vec<RootSegment> = root.segments.iter().copied().filter(|s| s.use_of == RootUse::Pages).collect();
        let volumes: Rc<[Arc<VolumeState>]> = volumes.into();
        let generation = root.generation;
        let pages = Rc::new(RefCell::new(Pages::default()));
        let found = for_each(&self.rt, segments, {
            let (reactor, pages) = (self.clone(), pages.clone());
            move |segment| {
                let (reactor, volumes, pages) = (reactor.clone(), volumes.clone(), pages.clone());
                async move { reactor.load_segment(segment, generation, &volumes, &pages).await }
            }
        })
        .await;
        found.into_iter().collect::<Result<(), String>>()?;
        let Pages { loaded, unread } = pages.take();
        if some {
            return Ok(loaded.len() as u64);
        }
        if let Some((_, volume, first)) = unread.difference(&loaded).next() {
            return Err(format!("page {first} of {volume} cannot be read"));
        }
        match loaded.len() as u64 {
            found if found == root.pages => Ok(found),
            found => Err(format!("checkpoint {generation} has {} pages and {found} were found", root.pages)),
        }
    }

    async fn load_segment(
        self: &Rc<Self>,
        from: RootSegment,
        generation: u64,
        volumes: &[Arc<VolumeState>],
        pages: &RefCell<Pages>,
    ) -> Result<(), String> {
        let mut row = 0;
        loop {
            let look = self.look_at(from.group, from.segment, row, Some(from.segment_seq)).await;
            let Some(stripe) = look.stripe else {
                match look.newer.first() {
                    Some(copy) => return Err(copy.describe(&self.shared)),
                    None => break,
                }
            };
            self.load_stripe(&stripe, generation, volumes, pages).await?;
            row = stripe.common.end_row();
        }
        let seg = self.shared.segments.index(from.group, from.segment);
        self.shared.segments.set_state(seg, SegState::Meta);
        Ok(())
    }

    async fn load_stripe(
        self: &Rc<Self>,
        stripe: &FoundStripe,
        generation: u64,
        volumes: &[Arc<VolumeState>],
        pages: &RefCell<Pages>,
    ) -> Result<(), String> {
        let columns = self.read_stripe(&stripe.common).await;
        for (column, row, entry) in stripe.blocks() {
            let is_wanted = entry.kind().is_of_checkpoint() && entry.seq() == generation;
            if !is_wanted || pages.borrow().loaded.contains(&key_of(entry)) {
                continue;
            }
            let range = row as usize * BLOCK..(row as usize + 1) * BLOCK;
            let direct = columns[usize::from(column)].as_ref().map(|c| &c.bytes()[range]);
            if let Some(page) = direct.filter(|page| parity::checksum::crc32c(page) == entry.crc()) {
                take_in(&self.shared.layout, entry, page, volumes)?;
                pages.borrow_mut().loaded.insert(key_of(entry));
                continue;
            }
            let common = &stripe.common;
            let row = common.first_data_row() + row;
            let place = Place { group: common.group, segment: common.segment, column, row };
            let page = self.rt.alloc(BLOCK).full();
            let expected = MapEntry::new(self.shared.layout.pba(place), entry.crc());
            if self.rebuild_block(&place, expected, &page).await {
                take_in(&self.shared.layout, entry, page.bytes(), volumes)?;
                pages.borrow_mut().loaded.insert(key_of(entry));
            } else {
                pages.borrow_mut().unread.insert(key_of(entry));
            }
        }
        self.shared.settle_maps();
        Ok(())
    }
}

/// Puts what a block of a checkpoint holds into the maps, if all of it points into the array: a group leaves when no checkpoint
/// needs its addresses. What is of volumes deleted since is left out.
fn take_in(layout: &Layout, summary: &Entry, block: &[u8], volumes: &[Arc<VolumeState>]) -> Result<(), String> {
    let points_here = |entry: MapEntry, volume: &VolumeState, lba: u64| {
        if entry == MapEntry::EMPTY || layout.locate(entry.pba()).is_some() {
            return Ok(());
        }
        Err(format!("it has block {lba} of volume {:?} at {}, where no R-group is", volume.name, entry.pba()))
    };
    if summary.kind() == Kind::Meta {
        if let Some(volume) = find(volumes, summary.volume()) {
            let entries = block.chunks_exact(8).map(|raw| u64::from_le_bytes(raw.try_into().expect("eight bytes")));
            for (entry, lba) in entries.map(MapEntry).zip(summary.lba().0 * MAP_PAGE_ENTRIES as u64..) {
                points_here(entry, volume, lba)?;
            }
            volume.map.load_page(summary.lba().0, block);
        }
        return Ok(());
    }
    for (id, lba, entry) in PackedPage::decode(block, summary).map_err(|why| why.to_string())? {
        if lba.0 >= MAX_VOLUME_BLOCKS {
            return Err(format!("{lba} of {id} is beyond any volume"));
        }
        if let Some(volume) = find(volumes, id) {
            points_here(entry, volume, lba.0)?;
            volume.map.swap(lba, entry);
        }
    }
    Ok(())
}

fn find(volumes: &[Arc<VolumeState>], id: VolumeId) -> Option<&Arc<VolumeState>> {
    volumes.iter().find(|v| v.id == id)
}
