//! Checkpoints: the maps written out, so that a recovery replays only what came after.
//!
//! A checkpoint begins with a *barrier*: all reactors close their stripes and hold still for a moment, so that every
//! stripe is wholly before or wholly after it. Then the pages of the maps are written, while guests go on writing: a
//! page may show changes from after the barrier, and replay will make the same changes again. Before the root is
//! recorded, everything that the pages may point to is made durable.

use std::rc::Rc;

use cygnus_format::{CheckpointRoot, RootSegment, RootUse};
use cygnus_types::{BLOCK, Nanos};

use crate::lane::Lane;
use crate::peers::ToOwner;
use crate::reactor::Reactor;
use crate::segments::{SegIx, SegState};
use crate::shared::{VolumeState, count, read};
use crate::writer::{Appended, Page};

/// Pages after which others get a turn.
const PAGES_PER_TURN: u64 = 64;
/// A checkpoint that nobody waits for writes one byte for each so many that users write meanwhile, so they hardly notice
/// it; it has ended long before the next one is due, which takes many times its size.
const GUESTS_SHARE: u64 = 8;
/// But it never rests longer than this between two turns: while nobody writes, nobody minds.
const LONGEST_REST: Nanos = Nanos::millis(10);
/// How often it looks what users have written.
const LOOK: Nanos = Nanos::millis(1);

impl Reactor {
    /// Whether enough has been written since the last checkpoint.
    pub(crate) fn checkpoint_is_due(&self) -> bool {
        let rule = self.shared.policies.checkpoint;
        let pages: u64 = self.shared.volumes().iter().map(|v| v.page_bound()).sum();
        let by_size = pages * BLOCK as u64 * u64::from(rule.write_factor);
        // A small array would otherwise be written over several times before its first checkpoint.
        let least = rule.min_bytes.min(self.shared.usable() * BLOCK as u64 / 2);
        read(&self.shared.since_checkpoint) >= by_size.max(least)
    }

    /// Starts a checkpoint beside whatever goes on, unless one is under way, because somebody needs what it brings.
    pub(crate) fn start_checkpoint_at_once(self: &Rc<Self>) {
        self.home().checkpoint_awaited.set(true);
        self.start_checkpoint();
    }

    /// Starts a checkpoint beside whatever goes on, unless one is under way.
    pub(crate) fn start_checkpoint(self: &Rc<Self>) {
        if self.home().space.borrow().recovering || self.home().checkpointing.replace(true) {
            return;
        }
        let reactor = self.clone();
        self.rt.spawn(async move {
            if let Err(why) = reactor.checkpoint_now().await {
                reactor.shared.log(format!("no checkpoint: {why}"));
            }
            reactor.end_checkpoint();
        });
    }

    fn end_checkpoint(&self) {
        self.home().checkpointing.set(false);
        self.home().checkpoint_awaited.set(false);
        self.home().checkpoint_done.notify();
        self.home().space_changed.notify();
    }

    /// Takes a checkpoint and waits for it.
    pub(crate) async fn checkpoint(self: &Rc<Self>) -> Result<(), String> {
        loop {
            let done = self.home().checkpoint_done.wait();
            self.home().checkpoint_awaited.set(true);
            if !self.home().checkpointing.replace(true) {
                break;
            }
            done.await;
        }
        let result = self.checkpoint_now().await;
        self.end_checkpoint();
        result
    }

    async fn checkpoint_now(self: &Rc<Self>) -> Result<(), String> {
        let _step = self.shared.during("checkpoint");
        let home = self.home();
        let mut root = self.barrier().await;
        let generation = root.generation;
        for volume in self.shared.volumes() {
            root.pages = self.write_pages(&volume, generation, root.pages).await?;
        }
        self.writer(Lane::Meta).borrow_mut().close_segment(self);
        self.flush_everything().await?;
        let written = self.meta_segments(generation);
        root.segments.extend(written.iter().map(|&(seg, segment_seq)| {
            let (group, segment) = self.shared.segments.locate(seg);
            RootSegment { group, segment, segment_seq, use_of: RootUse::Pages }
        }));
        let barrier = root.barrier;
        {
            let mut state = home.state.borrow_mut();
            let newest = state.roots[0].take();
            state.roots = [Some(root), newest];
        }
        self.commit_state().await?;
        home.discard_horizon.set(barrier);
        count(&self.shared.totals.checkpoints, 1);
        self.drop_old_checkpoints().await;
        Ok(())
    }

    /// Brings every reactor to a stripe boundary and notes where everything stands.
    async fn barrier(self: &Rc<Self>) -> CheckpointRoot {
        self.hold.set(true);
        self.peers.ask_others(self, |ticket| ToOwner::Hold { ticket }).await;
        for lane in Lane::ALL {
            self.writer(lane).borrow_mut().close_stripe(self);
        }
        let home = self.home();
        let generation = home.state.borrow().roots[0].as_ref().map_or(1, |r| r.generation + 1);
        let barrier = self.shared.stripe_seq();
        self.shared.since_checkpoint.store(0, std::sync::atomic::Ordering::Relaxed);
        let root = CheckpointRoot {
            generation,
            barrier,
            next_write_seq: self.shared.order.ceiling(),
            next_stripe_seq: barrier,
            next_segment_seq: home.space.borrow().next_segment_seq,
            mapped_blocks: self.shared.mapped(),
            pages: 0,
            segments: self.open_segments(),
        };
        self.hold.set(false);
        self.peers.tell_others(self, || ToOwner::Release);
        self.progress.notify();
        root
    }

    /// Every segment that some reactor may append to.
    fn open_segments(&self) -> Vec<RootSegment> {
        let table = &self.shared.segments;
        (0..table.count())
            .map(SegIx)
            .filter(|&seg| table.state(seg) == SegState::Open)
            .map(|seg| {
                let (group, segment) = table.locate(seg);
                RootSegment { group, segment, segment_seq: table.seq(seg), use_of: RootUse::Open }
            })
            .collect()
    }

    /// Writes the pages of a volume's map that hold anything, after so many others; returns how many there are now.
    async fn write_pages(self: &Rc<Self>, volume: &VolumeState, generation: u64, others: u64) -> Result<u64, String> {
        let mut bytes = [0; BLOCK];
        let mut written = others;
        for number in volume.map.pages(volume.blocks()) {
            if !volume.map.read_page(number, &mut bytes) {
                continue;
            }
            self.append_page(&Page { volume, number, generation, bytes: &bytes }).await?;
            written += 1;
            if written.is_multiple_of(PAGES_PER_TURN) {
                self.rt.yield_now().await;
                self.let_guests_write(written).await;
            }
        }
        Ok(written)
    }

    /// Rests until users have written their share since the barrier, unless somebody waits.
    async fn let_guests_write(&self, pages: u64) {
        let home = self.home();
        let since = self.rt.now();
        while !home.checkpoint_awaited.get()
            && !self.is_ending()
            && home.space.borrow().starving == 0
            && read(&self.shared.since_checkpoint) < pages * BLOCK as u64 * GUESTS_SHARE
            && self.rt.now().since(since) < LONGEST_REST
        {
            self.rt.sleep(LOOK).await;
        }
    }

    async fn append_page(self: &Rc<Self>, page: &Page<'_>) -> Result<(), String> {
        loop {
            let progress = self.progress.wait();
            if let Some(why) = self.shared.fault() {
                return Err(why);
            }
            if self.writer(Lane::Meta).borrow_mut().append_page(self, page) == Appended::Done {
                return Ok(());
            }
            progress.await;
        }
    }

    /// Segments that the checkpoint just written lies in, with their lives.
    fn meta_segments(&self, generation: u64) -> Vec<(SegIx, u64)> {
        let table = &self.shared.segments;
        let named: Vec<SegIx> = self.named_meta_segments(generation);
        (0..table.count())
            .map(SegIx)
            .filter(|&seg| table.state(seg) == SegState::Meta && !named.contains(&seg))
            .map(|seg| (seg, table.seq(seg)))
            .collect()
    }

    /// Segments of checkpoints older than `generation` that the state still names.
    fn named_meta_segments(&self, generation: u64) -> Vec<SegIx> {
        let state = self.home().state.borrow();
        let roots = state.roots.iter().flatten().filter(|root| root.generation < generation);
        roots
            .flat_map(|root| &root.segments)
            .filter(|s| s.use_of == RootUse::Pages)
            .map(|s| self.shared.segments.index(s.group, s.segment))
            .collect()
    }

    /// Frees the segments of checkpoints that no root names any more.
    async fn drop_old_checkpoints(self: &Rc<Self>) {
        let kept = self.named_meta_segments(u64::MAX);
        let table = &self.shared.segments;
        let old: Vec<SegIx> = (0..table.count())
            .map(SegIx)
            .filter(|&seg| table.state(seg) == SegState::Meta && !kept.contains(&seg))
            .collect();
        if self.shared.policies.cleaning.is_by_group() {
            // Garbage like any other: it goes with its group.
            old.iter().for_each(|&seg| table.set_state(seg, SegState::Sealed));
            self.home().space_changed.notify();
            return;
        }
        // From here on its contents mean nothing, also to a scrub that is reading them.
        old.iter().for_each(|&seg| table.set_state(seg, SegState::Pending));
        self.free_segments(old).await;
    }
}
