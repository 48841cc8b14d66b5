//! Recovery, step "checkpoint": the maps as the newest readable checkpoint has them.

use std::rc::Rc;
use std::sync::Arc;

use cygnus_format::{CheckpointRoot, Kind, MapEntry, Place, RootSegment, RootUse};
use cygnus_parity as parity;
use cygnus_types::{BLOCK, VolumeId};

use crate::parallel::for_each;
use crate::reactor::Reactor;
use crate::scan::FoundStripe;
use crate::segments::SegState;
use crate::shared::VolumeState;

impl Reactor {
    /// Loads the pages of a checkpoint into the maps of `volumes`; pages of volumes deleted since are skipped. Returns
    /// how many pages there were.
    pub(crate) async fn load_checkpoint(
        self: &Rc<Self>,
        root: &CheckpointRoot,
        volumes: &[Arc<VolumeState>],
    ) -> Result<u64, String> {
        let segments: Vec<RootSegment> = root.segments.iter().copied().filter(|s| s.use_of == RootUse::Pages).collect();
        let volumes: Rc<[Arc<VolumeState>]> = volumes.into();
        let generation = root.generation;
        let found = for_each(&self.rt, segments, {
            let reactor = self.clone();
            move |segment| {
                let (reactor, volumes) = (reactor.clone(), volumes.clone());
                async move { reactor.load_segment(segment, generation, &volumes).await }
            }
        })
        .await;
        let mut pages = 0;
        for result in found {
            pages += result?;
        }
        if pages != root.pages {
            return Err(format!("checkpoint {generation} has {} pages and {pages} were found", root.pages));
        }
        Ok(pages)
    }

    async fn load_segment(
        self: &Rc<Self>,
        from: RootSegment,
        generation: u64,
        volumes: &[Arc<VolumeState>],
    ) -> Result<u64, String> {
        let (mut row, mut pages) = (0, 0);
        while let Some(stripe) = self.stripe_at(from.group, from.segment, row, Some(from.segment_seq)).await {
            pages += self.load_stripe(&stripe, generation, volumes).await?;
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
    ) -> Result<u64, String> {
        let columns = self.read_stripe(&stripe.common).await;
        let mut pages = 0;
        for (column, row, entry) in stripe.blocks() {
            if entry.kind() != Kind::Meta || entry.seq() != generation {
                continue;
            }
            pages += 1;
            let Some(volume) = find(volumes, entry.volume()) else { continue };
            let range = row as usize * BLOCK..(row as usize + 1) * BLOCK;
            let direct = columns[usize::from(column)].as_ref().map(|c| &c.bytes()[range]);
            if let Some(page) = direct.filter(|page| parity::checksum::crc32c(page) == entry.crc()) {
                volume.map.load_page(entry.lba().0, page);
                continue;
            }
            let common = &stripe.common;
            let row = common.first_data_row() + row;
            let place = Place { group: common.group, segment: common.segment, column, row };
            let page = self.rt.alloc(BLOCK).full();
            let expected = MapEntry::new(self.shared.layout.pba(place), entry.crc());
            if !self.rebuild_block(&place, expected, &page).await {
                return Err(format!("page {} of {} cannot be read", entry.lba().0, entry.volume()));
            }
            volume.map.load_page(entry.lba().0, page.bytes());
        }
        Ok(pages)
    }
}

fn find(volumes: &[Arc<VolumeState>], id: VolumeId) -> Option<&Arc<VolumeState>> {
    volumes.iter().find(|v| v.id == id)
}
