//! Recovery, step "checkpoint": the maps as the newest readable checkpoint has them.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use cygnus_format::{
    CheckpointRoot, Entry, Kind, MapEntry, Place, Protection, ProtectionPage, RootSegment, RootUse, UnknownProtection,
};
use cygnus_parity as parity;
use cygnus_types::{BLOCK, VolumeId};

use crate::lsa::{PageError, PageReader};
use crate::reactor::Reactor;
use crate::read::parallel::for_each;
use crate::read::scan::{FoundStripe, Scanner};
use crate::recover::made_good::GoodColumns;
use crate::recover::progress::Progress;
use crate::recover::tail::StripeReader;
use crate::shared::Shared;
use crate::space::segments::{SegIx, SegState};
use crate::volume_state::VolumeState;

/// What was found of a checkpoint's pages, each of which may be there twice.
#[derive(Default)]
struct Pages {
    reader: PageReader,
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

impl Pages {
    fn has(&self, summary: &Entry) -> bool {
        self.loaded.contains(&key_of(summary))
    }

    /// Takes in what a block of a checkpoint holds, which is part of the maps or of the table of segments; once, as what the
    /// maps get of it is counted.
    fn take_in(&mut self, shared: &Shared, summary: &Entry, block: &[u8]) -> Result<(), CheckpointError> {
        let layout = &shared.layout;
        if !self.loaded.insert(key_of(summary)) {
            return Ok(());
        }
        if summary.kind() != Kind::Protections {
            return Ok(self.reader.take_in(layout, summary, block)?);
        }
        let said = ProtectionPage::decode(block, summary.lba().0)?;
        for (frame, protection) in said {
            let Some((group, _)) = layout.segment_of(frame) else { continue };
            if shared.shapes(group).shape(protection).is_none() {
                return Err(CheckpointError::Protection(protection));
            }
            self.protections.push((SegIx(frame), protection));
        }
        Ok(())
    }
}

/// A checkpoint cannot be taken in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CheckpointError {
    /// Neither copy of a page can be read or restored.
    #[error("page {page} of {volume} cannot be read")]
    Unread { volume: VolumeId, page: u64 },
    #[error("checkpoint {generation} has {of} pages and {found} were found")]
    Incomplete { generation: u64, of: u64, found: u64 },
    /// Where a header should be is one of a later format; which, in words.
    #[error("{0}")]
    Newer(String),
    #[error("in its table of segments: {0}")]
    Table(#[from] UnknownProtection),
    #[error("it says of a segment that it is {0:?}, which none of this array can be")]
    Protection(Protection),
    #[error(transparent)]
    Page(#[from] PageError),
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

    /// Loads the pages of a checkpoint into the maps of `volumes`, which come into service with them; pages of volumes deleted
    /// since are skipped. Returns how many pages there were. With `some`, those that can be read are enough.
    pub(crate) async fn load_checkpoint(
        &self,
        root: &CheckpointRoot,
        volumes: Vec<Arc<VolumeState>>,
        some: bool,
    ) -> Result<u64, CheckpointError> {
        let (shared, rt) = (&self.reactor.shared, &self.reactor.rt);
        let segments: Vec<RootSegment> = root.segments.iter().copied().filter(|s| s.use_of == RootUse::Pages).collect();
        let (generation, of) = (root.generation, root.pages);
        let reader = shared.controllers.page_reader(volumes);
        let pages = Rc::new(RefCell::new(Pages { reader, ..Pages::default() }));
        let progress = Rc::new(Progress::of(&self.reactor, "checkpoint", "pages of the maps", of));
        let found = for_each(rt, segments, {
            let (loader, pages) = (self.clone(), pages.clone());
            move |segment| {
                let (loader, pages, progress) = (loader.clone(), pages.clone(), progress.clone());
                async move { loader.load_segment(segment, generation, &pages, &progress).await }
            }
        })
        .await;
        found.into_iter().collect::<Result<(), CheckpointError>>()?;
        let Pages { reader, loaded, unread, protections, .. } = pages.take();
        // One that this checkpoint came to lie in since is as its lane has it.
        let is_other = |seg: SegIx| shared.segments.state(seg) != SegState::Meta;
        for (seg, protection) in protections.into_iter().filter(|&(seg, _)| is_other(seg)) {
            shared.segments.set_protection(seg, protection);
        }
        let found = loaded.len() as u64;
        if !some && let Some(&(_, volume, page)) = unread.difference(&loaded).next() {
            return Err(CheckpointError::Unread { volume, page });
        }
        if !some && found != of {
            return Err(CheckpointError::Incomplete { generation, of, found });
        }
        shared.controllers.has_read(reader).into_iter().for_each(|volume| shared.add_volume(volume));
        Ok(found)
    }

    async fn load_segment(
        &self,
        from: RootSegment,
        generation: u64,
        pages: &RefCell<Pages>,
        progress: &Progress,
    ) -> Result<(), CheckpointError> {
        let mut row = 0;
        loop {
            let look = Scanner::of(&self.reactor).look_at(from.group, from.segment, row, Some(from.segment_seq)).await;
            let Some(stripe) = look.stripe else {
                match look.newer.first() {
                    Some(copy) => return Err(CheckpointError::Newer(copy.describe(&self.reactor.shared))),
                    None => break,
                }
            };
            self.load_stripe(&stripe, generation, pages).await?;
            progress.reach(pages.borrow().loaded.len() as u64);
            row = stripe.common.end_row();
        }
        let seg = self.reactor.shared.segments.index(from.group, from.segment);
        self.reactor.shared.segments.found(seg, SegState::Meta);
        Ok(())
    }

    async fn load_stripe(
        &self,
        stripe: &FoundStripe,
        generation: u64,
        pages: &RefCell<Pages>,
    ) -> Result<(), CheckpointError> {
        let shared = &self.reactor.shared;
        let columns = GoodColumns::of(&self.reactor)
            .foreseen(stripe, StripeReader::of(&self.reactor).read_stripe(&stripe.common).await)
            .await;
        for (column, row, entry) in stripe.blocks() {
            let is_wanted = entry.kind().is_of_checkpoint() && entry.seq() == generation;
            if !is_wanted || pages.borrow().has(entry) {
                continue;
            }
            let range = row as usize * BLOCK..(row as usize + 1) * BLOCK;
            let direct = columns[usize::from(column)].as_ref().map(|c| &c.bytes()[range]);
            if let Some(page) = direct.filter(|page| parity::checksum::crc32c(page) == entry.crc()) {
                pages.borrow_mut().take_in(shared, entry, page)?;
                continue;
            }
            let common = &stripe.common;
            let row = common.first_data_row() + row;
            let place = Place { group: common.group, segment: common.segment, column, row };
            let page = self.reactor.rt.alloc(BLOCK).full();
            let expected = MapEntry::new(shared.layout.pba(place), entry.crc());
            if self.reactor.rebuild_block(&place, expected, &page).await {
                pages.borrow_mut().take_in(shared, entry, page.bytes())?;
            } else {
                pages.borrow_mut().unread.insert(key_of(entry));
            }
        }
        shared.settle_maps();
        Ok(())
    }
}
