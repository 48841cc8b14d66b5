//! Recovery, step "checkpoint": the maps as the newest readable checkpoint has them.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use cygnus_format::{CheckpointRoot, Entry, Kind, MapEntry, Place, Protection, ProtectionPage, RootSegment, RootUse};
use cygnus_parity as parity;
use cygnus_types::{BLOCK, VolumeId};

use crate::lsa::take_in;
use crate::reactor::Reactor;
use crate::read::parallel::for_each;
use crate::read::scan::{FoundStripe, Scanner};
use crate::recover::made_good::GoodColumns;
use crate::recover::tail::StripeReader;
use crate::space::segments::{SegIx, SegState};
use crate::volume_state::VolumeState;

/// What was found of a checkpoint's pages, each of which may be there twice.
#[derive(Default)]
struct Pages {
    /// Those whose contents are in the maps.
    loaded: BTreeSet<PageKey>,
    /// Those of which a copy could not be read.
    unread: BTreeSet<PageKey>,
    /// What segments are protected by.
    protections: Vec<(SegIx, Protection)>,
}

/// What tells a page from all others of a checkpoint: its kind, volume and first address.
type PageKey = (u8, VolumeId, u64);

fn key_of(summary: &Entry) -> PageKey {
    (summary.kind() as u8, summary.volume(), summary.lba().0)
}

/// Loads checkpoints: see the module's text.
#[derive(Clone)]
pub(crate) struct Loader {
    reactor: Rc<Reactor>,
}

impl Loader {
    pub(crate) fn of(reactor: &Rc<Reactor>) -> Self {
        Self { reactor: reactor.clone() }
    }

    /// Learns from their first headers what segments are protected by, where a checkpoint does not tell.
    pub(crate) async fn learn_protections(&self) {
        if !self.reactor.shared.protections.differ() {
            return;
        }
        let all: Vec<SegIx> = self.reactor.shared.segments.all().collect();
        for_each(&self.reactor.rt, all, {
            let reactor = self.reactor.clone();
            move |seg| {
                let reactor = reactor.clone();
                async move {
                    let (group, segment) = reactor.shared.segments.locate(seg);
                    if let Some(first) = Scanner::of(&reactor).stripe_at(group, segment, 0, None).await {
                        reactor.shared.segments.set_protection(seg, first.common.rotation.protection());
                    }
                }
            }
        })
        .await;
    }

    /// Loads the pages of a checkpoint into the maps of `volumes`; pages of volumes deleted since are skipped. Returns
    /// how many pages there were. With `some`, those that can be read are enough.
    pub(crate) async fn load_checkpoint(
        &self,
        root: &CheckpointRoot,
        volumes: &[Arc<VolumeState>],
        some: bool,
    ) -> Result<u64, String> {
        let segments: Vec<RootSegment> = root.segments.iter().copied().filter(|s| s.use_of == RootUse::Pages).collect();
        let volumes: Rc<[Arc<VolumeState>]> = volumes.into();
        let generation = root.generation;
        let pages = Rc::new(RefCell::new(Pages::default()));
        let found = for_each(&self.reactor.rt, segments, {
            let (loader, pages) = (self.clone(), pages.clone());
            move |segment| {
                let (loader, volumes, pages) = (loader.clone(), volumes.clone(), pages.clone());
                async move { loader.load_segment(segment, generation, &volumes, &pages).await }
            }
        })
        .await;
        found.into_iter().collect::<Result<(), String>>()?;
        let Pages { loaded, unread, protections } = pages.take();
        // One that this checkpoint came to lie in since is as its lane has it.
        let is_other = |seg: SegIx| self.reactor.shared.segments.state(seg) != SegState::Meta;
        for (seg, protection) in protections.into_iter().filter(|&(seg, _)| is_other(seg)) {
            self.reactor.shared.segments.set_protection(seg, protection);
        }
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
        &self,
        from: RootSegment,
        generation: u64,
        volumes: &[Arc<VolumeState>],
        pages: &RefCell<Pages>,
    ) -> Result<(), String> {
        let mut row = 0;
        loop {
            let look = Scanner::of(&self.reactor).look_at(from.group, from.segment, row, Some(from.segment_seq)).await;
            let Some(stripe) = look.stripe else {
                match look.newer.first() {
                    Some(copy) => return Err(copy.describe(&self.reactor.shared)),
                    None => break,
                }
            };
            self.load_stripe(&stripe, generation, volumes, pages).await?;
            row = stripe.common.end_row();
        }
        let seg = self.reactor.shared.segments.index(from.group, from.segment);
        self.reactor.shared.segments.set_state(seg, SegState::Meta);
        Ok(())
    }

    async fn load_stripe(
        &self,
        stripe: &FoundStripe,
        generation: u64,
        volumes: &[Arc<VolumeState>],
        pages: &RefCell<Pages>,
    ) -> Result<(), String> {
        let columns = GoodColumns::of(&self.reactor)
            .foreseen(stripe, StripeReader::of(&self.reactor).read_stripe(&stripe.common).await)
            .await;
        for (column, row, entry) in stripe.blocks() {
            let is_wanted = entry.kind().is_of_checkpoint() && entry.seq() == generation;
            if !is_wanted || pages.borrow().loaded.contains(&key_of(entry)) {
                continue;
            }
            let range = row as usize * BLOCK..(row as usize + 1) * BLOCK;
            let direct = columns[usize::from(column)].as_ref().map(|c| &c.bytes()[range]);
            if let Some(page) = direct.filter(|page| parity::checksum::crc32c(page) == entry.crc()) {
                self.take_in(entry, page, volumes, pages)?;
                pages.borrow_mut().loaded.insert(key_of(entry));
                continue;
            }
            let common = &stripe.common;
            let row = common.first_data_row() + row;
            let place = Place { group: common.group, segment: common.segment, column, row };
            let page = self.reactor.rt.alloc(BLOCK).full();
            let expected = MapEntry::new(self.reactor.shared.layout.pba(place), entry.crc());
            if self.reactor.rebuild_block(&place, expected, &page).await {
                self.take_in(entry, page.bytes(), volumes, pages)?;
                pages.borrow_mut().loaded.insert(key_of(entry));
            } else {
                pages.borrow_mut().unread.insert(key_of(entry));
            }
        }
        self.reactor.shared.settle_maps();
        Ok(())
    }

    /// Takes in what a block of a checkpoint holds, which is part of the maps or of the table of segments.
    fn take_in(
        &self,
        summary: &Entry,
        block: &[u8],
        volumes: &[Arc<VolumeState>],
        pages: &RefCell<Pages>,
    ) -> Result<(), String> {
        let layout = &self.reactor.shared.layout;
        if summary.kind() != Kind::Protections {
            return take_in(layout, summary, block, volumes);
        }
        let said =
            ProtectionPage::decode(block, summary.lba().0).map_err(|why| format!("in its table of segments: {why}"))?;
        for (frame, protection) in said.into_iter().filter(|&(frame, _)| layout.segment_of(frame).is_some()) {
            if self.reactor.shared.protections.shape(protection).is_none() {
                return Err(format!("it says of a segment that it is {protection:?}, which none of this array can be"));
            }
            pages.borrow_mut().protections.push((SegIx(frame), protection));
        }
        Ok(())
    }
}
