//! Checkpoints: the maps written out, so that a recovery replays only what came after.
//!
//! Of the maps everything is written each time, and nothing but what is mapped, in pages that the controllers make of it
//! (`lsa/pages.rs`). So a checkpoint takes at most 16 bytes for each block mapped, whatever the size of the
//! volumes, and what three of them may take at most is not promised to anybody (`space`, `open`).
//!
//! Where segments are not all protected alike, pages of the table of segments follow those of the maps: what a segment
//! whose blocks are in these maps is protected by. One that is opened while they are written is behind the cut, and its own
//! headers tell.
//!
//! Where there is no parity each page is written twice, since one that cannot be read would make all of it useless.
//!
//! A checkpoint begins with a *cut*: a stripe sequence, the root's `barrier`, such that whatever is in a stripe at or
//! behind it happened after everything in the stripes before it. Then the pages of the maps are written, while clients go
//! on writing: a page may show changes from after the cut, and replay will make the same changes again. Before the root
//! is recorded, everything that the pages may point to is made durable.
//!
//! # Why the cut waits for no device
//!
//! Every other reactor closes its stripes and appends nothing until it is told the cut is made; when all have answered,
//! the home reactor closes its own and reads the counter of stripes, in one go. So nobody waits longer than for a message
//! there and back. What recovery takes for granted holds, though many of the closed stripes may be on their way still:
//!
//! * *Order.* A stripe is numbered when it is closed. At the cut none is open, so what was appended before it is in stripes
//!   below it, and what is appended later, with higher write sequences, in stripes at or behind it. That is what replay
//!   needs: a discard that it replays may only clear what it replays as well, or what is older than the discard.
//! * *What lies below the cut is durable before anybody relies on it.* Replay skips it because the pages show it; so the
//!   root, and nothing else, says that it may be skipped. The flush before the root is recorded waits for all of it, on all
//!   reactors, holding nobody up, and [`Checkpointer::checkpoint_now`] checks that before it goes on. A crash earlier finds
//!   the roots of before.
//! * *The open segments that the root lists* are those that may hold stripes on both sides. A segment is open from its
//!   grant until its last stripe is on the devices, so those listed at the cut are all that are appended to, and some that
//!   only wait for devices: naming these costs recovery a look at them, and nothing is missed.

use std::rc::Rc;

use cygnus_format::{
    CheckpointRoot, Kind, MAP_PAGE_ENTRIES, PROTECTION_PAGE_FRAMES, ProtectionPage, RootSegment, RootUse,
};
use cygnus_types::{BLOCK, Lba, Nanos, VolumeId};

use crate::counters::{count, read};
use crate::durable::checkpoints::Awaited;
use crate::durable::commit::Committer;
use crate::durable::flush::Flusher;
use crate::fault::Fault;
use crate::lsa::PageWriter;
use crate::peers::ToOwner;
use crate::planted::{self, Bug};
use crate::reactor::Reactor;
use crate::recover::progress::Progress;
use crate::recover::room::recovery_allows;
use crate::space::release::Releaser;
use crate::space::segments::{SegIx, SegState};
use crate::write::lane::Lane;
use crate::write::page::Page;
use crate::write::writer::Appended;

/// Pages after which others get a turn.
const PAGES_PER_TURN: u64 = 64;
/// Client bytes per checkpoint byte, while nothing waits for the checkpoint: so clients hardly notice
/// it; it has ended long before the next one is due, which takes many times its size.
const CLIENTS_SHARE: u64 = 8;
/// But it never rests longer than this between two turns: while nobody writes, nobody minds.
const LONGEST_REST: Nanos = Nanos::millis(10);
/// How often a checkpoint looks how much clients have written.
const LOOK: Nanos = Nanos::millis(1);

/// The maps on their way into a checkpoint.
struct Dump {
    generation: u64,
    /// Pages written, each counted once.
    pages: u64,
    /// Blocks written.
    written: u64,
    /// Where no parity restores a page: those of which the second copy is to be written still.
    once: Vec<Page>,
    /// As many pages as make their second copies begin on the next column: a chunk.
    run: usize,
    /// Where an opening waits for it.
    progress: Option<Progress>,
}

/// Takes checkpoints: see the module's text.
#[derive(Clone)]
pub(crate) struct Checkpointer {
    reactor: Rc<Reactor>,
}

impl Checkpointer {
    pub(crate) fn of(reactor: &Rc<Reactor>) -> Self {
        Self { reactor: reactor.clone() }
    }

    /// Whether enough has been written since the last checkpoint.
    pub(crate) fn checkpoint_is_due(&self) -> bool {
        let rule = self.reactor.shared.policies.checkpoint;
        let last = self.reactor.home().state.borrow().roots[0].as_ref().map_or(0, |root| root.pages);
        let by_size = last * BLOCK as u64 * u64::from(rule.write_factor);
        // A small array would otherwise be written over several times before its first checkpoint.
        let least = rule.min_bytes.min(self.reactor.shared.held.usable() * BLOCK as u64 / 2);
        read(&self.reactor.shared.since_checkpoint)
            >= by_size.max(least).min(recovery_allows(&self.reactor.shared, last))
    }

    /// Starts a checkpoint beside whatever goes on, unless one is under way, because somebody needs what it brings.
    pub(crate) fn start_checkpoint_at_once(&self) {
        self.reactor.home().checkpoints.needed.set(true);
        self.start_checkpoint();
    }

    /// Starts a checkpoint beside whatever goes on, unless one is under way.
    pub(crate) fn start_checkpoint(&self) {
        if !self.reactor.home().space.borrow().recovering {
            self.reactor.home().checkpoints.rounds.begin(&self.reactor.rt, || self.clone().checkpoint_round());
        }
    }

    /// Takes a checkpoint and waits for it.
    pub(crate) async fn checkpoint(&self) -> Result<(), Fault> {
        let _awaited = Awaited::new(&self.reactor.home().checkpoints);
        self.reactor.home().checkpoints.rounds.next(&self.reactor.rt, || self.clone().checkpoint_round()).await
    }

    async fn checkpoint_round(self) -> Result<(), Fault> {
        let result = self.checkpoint_now().await;
        self.reactor.shared.held.end_writing_maps();
        // Writers may have waited for what was unmapped meanwhile.
        self.reactor.progress.notify();
        self.reactor.peers.tell_others(&self.reactor.rt, || ToOwner::Wake);
        if let Err(why) = &result {
            self.reactor.shared.log(format!("no checkpoint: {why}"));
        }
        self.reactor.home().checkpoints.needed.set(false);
        self.reactor.home().space_changed.notify();
        result
    }

    async fn checkpoint_now(&self) -> Result<(), Fault> {
        let _step = self.reactor.shared.during("checkpoint");
        let home = self.reactor.home();
        let (mut root, spoils) = loop {
            let spoils = home.spoils.times.get();
            self.reactor.shared.held.begin_writing_maps();
            let mut root = self.cut().await;
            root.pages = self.write_maps(root.generation).await?;
            self.reactor.writer(Lane::Meta).borrow_mut().close_segment(&self.reactor);
            self.reactor.drain(&[Lane::Meta]).await;
            Flusher::of(&self.reactor).flush_everything().await?;
            if home.spoils.times.get() == spoils {
                break (root, spoils);
            }
            // Pages may be lost with the caches of devices, or point to what is.
            self.drop_old_checkpoints().await;
        };
        let generation = root.generation;
        assert!(
            self.reactor.shared.stripes.complete_below() >= root.barrier,
            "the flush waited for what the root says may be skipped"
        );
        let written = self.meta_segments(generation);
        root.segments.extend(written.iter().map(|&(seg, segment_seq)| {
            let (group, segment) = self.reactor.shared.segments.locate(seg);
            RootSegment { group, segment, segment_seq, use_of: RootUse::Pages }
        }));
        let barrier = root.barrier;
        {
            let mut state = home.state.borrow_mut();
            let newest = state.roots[0].take();
            state.roots = [Some(root), newest];
        }
        let committer = Committer::of(&self.reactor);
        committer.record_readmitted();
        committer.commit_state().await?;
        home.checkpoints.discard_horizon.set(barrier);
        home.spoils.on_record.set(spoils);
        count(&self.reactor.shared.totals.checkpoints, 1);
        self.drop_old_checkpoints().await;
        Ok(())
    }

    /// Brings every reactor to a stripe boundary and notes where everything stands.
    async fn cut(&self) -> CheckpointRoot {
        self.reactor.peers.ask_others(&self.reactor.rt, |ticket| ToOwner::Hold { ticket }).await;
        // No await from here to the release: this reactor needs not be held.
        self.reactor.close_stripes();
        let home = self.reactor.home();
        let generation = home.state.borrow().roots[0].as_ref().map_or(1, |r| r.generation + 1);
        let barrier = self.reactor.shared.stripes.next();
        self.reactor.shared.since_checkpoint.store(0, std::sync::atomic::Ordering::Relaxed);
        let root = CheckpointRoot {
            generation,
            barrier,
            next_write_seq: self.reactor.shared.controllers.next_write_seq(),
            next_stripe_seq: barrier,
            next_segment_seq: home.space.borrow().next_segment_seq,
            mapped_blocks: self.reactor.shared.held.blocks(),
            pages: 0,
            segments: self.open_segments(),
        };
        self.reactor.peers.tell_others(&self.reactor.rt, || ToOwner::Release);
        root
    }

    /// Every segment that some reactor may append to.
    fn open_segments(&self) -> Vec<RootSegment> {
        let table = &self.reactor.shared.segments;
        table
            .all()
            .filter(|&seg| table.state(seg) == SegState::Open)
            .map(|seg| {
                let (group, segment) = table.locate(seg);
                RootSegment { group, segment, segment_seq: table.seq(seg), use_of: RootUse::Open }
            })
            .collect()
    }

    /// Writes the maps of all volumes; returns in how many pages.
    async fn write_maps(&self, generation: u64) -> Result<u64, Fault> {
        let geometry = self.reactor.shared.layout.geometry();
        let run = geometry.chunk_blocks as usize;
        let progress = self.progress();
        let mut dump = Dump { generation, pages: 0, written: 0, once: Vec::new(), run, progress };
        let mut pages = PageWriter::default();
        for volume in self.reactor.shared.volumes() {
            for page in pages.of_volume(&volume.controller, volume.blocks()) {
                self.write_new(page, &mut dump).await?;
            }
            self.reactor.rt.yield_now().await;
        }
        if let Some(page) = pages.rest() {
            self.write_new(page, &mut dump).await?;
        }
        self.write_protections(&mut dump).await?;
        self.write_second_copies(&mut dump).await?;
        Ok(dump.pages)
    }

    /// For an opening, which ends with a checkpoint: there are as many pages as in the one before, or more, as much more is mapped.
    fn progress(&self) -> Option<Progress> {
        let home = self.reactor.home();
        let of_before = home.state.borrow().roots[0].as_ref().map_or(0, |root| root.pages);
        let full = self.reactor.shared.held.blocks().div_ceil(MAP_PAGE_ENTRIES as u64);
        let ends_opening = home.checkpoints.ends_opening.get();
        ends_opening.then(|| Progress::of(&self.reactor, "bound", "pages of the maps written", of_before.max(full)))
    }

    /// Writes the table of what segments are protected by, as far as that is not what their groups say.
    async fn write_protections(&self, dump: &mut Dump) -> Result<(), Fault> {
        let shared = &self.reactor.shared;
        if !shared.protections.differ() {
            return Ok(());
        }
        let end = shared.layout.end_frame();
        for number in 0..end.div_ceil(PROTECTION_PAGE_FRAMES.into()) as u32 {
            let of = |frame: u32| {
                let seg = Some(SegIx(frame)).filter(|_| u64::from(frame) < end)?;
                let holds = matches!(shared.segments.state(seg), SegState::Open | SegState::Sealed | SegState::Damaged);
                let (group, _) = shared.layout.segment_of(frame)?;
                let promised = shared.layout.shape(group).protection();
                holds.then(|| shared.segments.protection(seg)).filter(|&protection| protection != promised)
            };
            let bytes = ProtectionPage::encode(number, of);
            if bytes.iter().any(|&byte| byte != 0) {
                let first = Lba(number.into());
                let page = Page { kind: Kind::Protections, volume: VolumeId(0), first, bytes };
                self.write_new(page, dump).await?;
            }
        }
        Ok(())
    }

    /// Writes a page that was not written yet.
    async fn write_new(&self, page: Page, dump: &mut Dump) -> Result<(), Fault> {
        dump.pages += 1;
        self.write_copy(&page, dump).await?;
        if self.reactor.shared.protections.checkpoint_copies() > 1 && !planted::is(Bug::PagesOnce) {
            dump.once.push(page);
            if dump.once.len() == dump.run {
                self.write_second_copies(dump).await?;
            }
        }
        Ok(())
    }

    /// Writes the pages again that were written once: a chunk behind their first copies, which is on another column wherever
    /// there is one.
    async fn write_second_copies(&self, dump: &mut Dump) -> Result<(), Fault> {
        for page in std::mem::take(&mut dump.once) {
            self.write_copy(&page, dump).await?;
        }
        Ok(())
    }

    async fn write_copy(&self, page: &Page, dump: &mut Dump) -> Result<(), Fault> {
        self.append_page(page, dump.generation).await?;
        self.count_page(dump).await;
        Ok(())
    }

    /// One more is written: now and then others get a turn.
    async fn count_page(&self, dump: &mut Dump) {
        dump.written += 1;
        if dump.written.is_multiple_of(PAGES_PER_TURN) {
            dump.progress.iter().for_each(|progress| progress.reach(dump.pages));
            self.reactor.rt.yield_now().await;
            self.let_guests_write(dump.written).await;
        }
    }

    /// Rests until clients have written their share since the barrier, unless somebody waits.
    async fn let_guests_write(&self, pages: u64) {
        let home = self.reactor.home();
        let since = self.reactor.rt.now();
        while home.checkpoints.has_time()
            && !self.reactor.is_ending()
            && !home.space.borrow().starving.any()
            && read(&self.reactor.shared.since_checkpoint) < pages * BLOCK as u64 * CLIENTS_SHARE
            && self.reactor.rt.now().since(since) < LONGEST_REST
        {
            self.reactor.rt.sleep(LOOK).await;
        }
    }

    async fn append_page(&self, page: &Page, generation: u64) -> Result<(), Fault> {
        let (writer, space) = (self.reactor.writer(Lane::Meta), &self.reactor.home().space);
        loop {
            let progress = self.reactor.progress.wait();
            self.reactor.shared.check_fault()?;
            if writer.borrow_mut().append_page(&self.reactor, page, generation) == Appended::Done {
                return Ok(());
            }
            // Of an array that is closed nothing is moved any more. One that is being opened is not left waiting for what cannot come: one
            // in service may get room by a discard.
            let waits_for_segment = !writer.borrow_mut().has_segment(&self.reactor);
            let nobody_gives = || {
                let is_opening = self.reactor.home().checkpoints.ends_opening.get();
                self.reactor.shared.is_closed() || is_opening && space.borrow().clogged
            };
            if waits_for_segment && nobody_gives() && space.borrow().gives_nothing() {
                return Err(Fault("there is no room for it".into()));
            }
            progress.await;
        }
    }

    /// Segments that the checkpoint just written lies in, with their lives.
    fn meta_segments(&self, generation: u64) -> Vec<(SegIx, u64)> {
        let table = &self.reactor.shared.segments;
        let named: Vec<SegIx> = self.named_meta_segments(generation);
        table
            .all()
            .filter(|&seg| table.state(seg) == SegState::Meta && !named.contains(&seg))
            .map(|seg| (seg, table.seq(seg)))
            .collect()
    }

    /// Segments of checkpoints older than `generation` that the state still names.
    fn named_meta_segments(&self, generation: u64) -> Vec<SegIx> {
        let state = self.reactor.home().state.borrow();
        let roots = state.roots.iter().flatten().filter(|root| root.generation < generation);
        roots
            .flat_map(|root| &root.segments)
            .filter(|s| s.use_of == RootUse::Pages)
            .map(|s| self.reactor.shared.segments.index(s.group, s.segment))
            .collect()
    }

    /// Frees the segments of checkpoints that no root names any more.
    async fn drop_old_checkpoints(&self) {
        let kept = self.named_meta_segments(u64::MAX);
        let table = &self.reactor.shared.segments;
        let old: Vec<SegIx> =
            table.all().filter(|&seg| table.state(seg) == SegState::Meta && !kept.contains(&seg)).collect();
        if self.reactor.shared.policies.cleaning.is_by_group() {
            // Garbage like any other: it goes with its group.
            old.iter().for_each(|&seg| table.set_state(seg, SegState::Sealed));
            self.reactor.home().space_changed.notify();
            return;
        }
        // An opening by force clears headers in some of them still: these go like any other garbage, once that is done.
        let (spoiled, old): (Vec<_>, Vec<_>) = old.into_iter().partition(|&seg| table.rescues(seg) > 0);
        spoiled.iter().for_each(|&seg| table.set_state(seg, SegState::Sealed));
        // From here on its contents mean nothing, also to a scrub that is reading them.
        old.iter().for_each(|&seg| table.set_state(seg, SegState::Pending));
        Releaser::of(&self.reactor).free_segments(old).await;
    }

    /// Ends the segments of all lanes of all reactors: what was written before this is in segments that nobody appends
    /// to any more.
    pub(crate) async fn end_all_segments(&self) {
        self.reactor.peers.ask_others(&self.reactor.rt, |ticket| ToOwner::EndSegments { ticket }).await;
        // The checkpoint under way should not need more segments than it counted on.
        while self.reactor.home().checkpoints.rounds.is_running() {
            self.reactor.home().checkpoints.needed.set(true);
            self.reactor.home().checkpoints.rounds.ended().await;
        }
        self.reactor.end_segments();
        self.reactor.drain(&Lane::ALL).await;
    }
}
