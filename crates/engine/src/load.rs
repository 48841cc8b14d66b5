//! Recovery, step "checkpoint": the maps as the newest readable checkpoint has them.

use std::rc::Rc;
use std::sync::Arc;

use cygnus_format::{
    CheckpointRoot, Entry, Kind, Layout, MAP_PAGE_ENTRIES, MapEntry, PackedPage, Place, RootSegment, RootUse,
};
use cygnus_parity as parity;
use cygnus_types::{BLOCK, VolumeId};

use crate::l2p::MAX_VOLUME_BLOCKS;
use crate::parallel::for_each;
use crate::reactor::Reactor;
use crate::scan::FoundStripe;
use crate::segments::SegState;
use crate::shared::VolumeState;

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
        let found = for_each(&self.rt, segments, {
            let reactor = self.clone();
            move |segment| {
                let (reactor, volumes) = (reactor.clone(), volumes.clone());
                async move { reactor.load_segment(segment, generation, &volumes, some).await }
            }
        })
        .await;
        let mut pages = 0;
        for result in found {
            pages += result?;
        }
        if pages != root.pages && !some {
            return Err(format!("checkpoint {generation} has {} pages and {pages} were found", root.pages));
        }
        Ok(pages)
    }

    async fn load_segment(
        self: &Rc<Self>,
        from: RootSegment,
        generation: u64,
        volumes: &[Arc<VolumeState>],
        some: bool,
    ) -> Result<u64, String> {
        let (mut row, mut pages) = (0, 0);
        while let Some(stripe) = self.stripe_at(from.group, from.segment, row, Some(from.segment_seq)).await {
            pages += self.load_stripe(&stripe, generation, volumes, some).await?;
            row = stripe.common.end_row();
        }
        let seg = self.shared.segments.index(from.group, from.segment);
        self.shared.segments.set_state(seg, SegState::Meta);
        Ok(pages)
    }

    async fn load_stripe(
        self: &Rc<Self>,
        stripe: &FoundStripe,
        generation: u64,
        volumes: &[Arc<VolumeState>],
        some: bool,
    ) -> Result<u64, String> {
        let columns = self.read_stripe(&stripe.common).await;
        let mut pages = 0;
        for (column, row, entry) in stripe.blocks() {
            if !entry.kind().is_of_checkpoint() || entry.seq() != generation {
                continue;
            }
            pages += 1;
            let range = row as usize * BLOCK..(row as usize + 1) * BLOCK;
            let direct = columns[usize::from(column)].as_ref().map(|c| &c.bytes()[range]);
            if let Some(page) = direct.filter(|page| parity::checksum::crc32c(page) == entry.crc()) {
                take_in(&self.shared.layout, entry, page, volumes)?;
                continue;
            }
            let common = &stripe.common;
            let row = common.first_data_row() + row;
            let place = Place { group: common.group, segment: common.segment, column, row };
            let page = self.rt.alloc(BLOCK).full();
            let expected = MapEntry::new(self.shared.layout.pba(place), entry.crc());
            if !self.rebuild_block(&place, expected, &page).await {
                if some {
                    pages -= 1;
                    continue;
                }
                return Err(format!("page {} of {} cannot be read", entry.lba().0, entry.volume()));
            }
            take_in(&self.shared.layout, entry, page.bytes(), volumes)?;
        }
        self.settle_maps();
        Ok(pages)
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
