//! Scrub: everything that the live data depends on is verified while the array serves, and what is wrong is mended.
//!
//! Verified is what the offline check verifies, by the same code: each copy of each header, each block against its
//! checksum, the parity of each row, the map against the summaries; then the superblocks. Segments filled while the scrub
//! runs are not looked at: what they hold was in memory a moment ago.
//!
//! Nothing is mended in place. A stripe in which anything is wrong protects its blocks no more, or less than it should,
//! so its current blocks are rebuilt and written anew elsewhere; then nobody misses it. Damage in a checkpoint is mended by
//! taking others, damage in a superblock by writing them again. Blocks beyond redundancy are listed, by volume and
//! address. Only their number is remembered: each reading finds them again, and so does the next scrub. Those that were given up by
//! force, as the maps say, are listed with them.
//!
//! Members are filled first: until then, what a member will have in a moment would count as lost. One that comes online
//! meanwhile is not looked at again: what it holds has just been restored, from blocks that match their checksums.
//!
//! A scrub gives way to clients, at the pace that the policy gives all background work.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::rc::Rc;

use cygnus_format::{Losses, SUPERBLOCK_OFFSETS, SUPERBLOCK_SLOT, Superblock, copies_for};
use cygnus_types::{Lba, MemberIx, Nanos};

use crate::care::report::{LostBlock, ScrubReport};
use crate::care::seats::Seats;
use crate::check::checker::Checker;
use crate::check::findings::FindingKind;
use crate::check::maps::{Matched, marked_lost, unmatched};
use crate::check::result::SegmentResult;
use crate::clean::orphans::{Orphan, Orphans};
use crate::clean::relocate::{Moved, Mover, Moving};
use crate::counters::count;
use crate::durable::checkpoint::Checkpointer;
use crate::durable::commit::Committer;
use crate::durable::flush::Flusher;
use crate::fault::Fault;
use crate::job::{Job, JobKind, JobState};
use crate::planted::{self, Bug};
use crate::reactor::Reactor;
use crate::space::segments::{SegIx, SegState};
use crate::volume_state::VolumeState;

/// How often a scrub looks whether members that come first have been filled.
const LOOK: Nanos = Nanos::millis(10);
/// Times that a superblock being written is looked at again before the scrub goes on without it.
const LOOKS: u32 = 10;

/// A scrub under way.
pub(crate) struct Scrub {
    reactor: Rc<Reactor>,
    job: Job,
    begun: Nanos,
    /// What was known of losses then.
    losses_before: Losses,
    report: ScrubReport,
    /// How blocks are moved.
    moving: Moving,
    /// Whether a checkpoint's pages or headers were damaged.
    checkpoint_damaged: bool,
    /// Segments to which more map entries point than summaries say.
    suspects: BTreeMap<SegIx, Matched>,
}

impl Scrub {
    /// Starts a scrub beside whatever goes on, unless one is under way; returns the number of its job.
    pub(crate) fn start(reactor: &Rc<Reactor>, now_unix: u64) -> u64 {
        let home = reactor.home();
        if let Some(running) = home.scrubs.running.get() {
            return running;
        }
        let job = home.jobs.begin(&reactor.rt, JobKind::Scrub, home.state.borrow().name.clone(), 0);
        let id = job.id();
        home.scrubs.running.set(Some(id));
        let report = ScrubReport { started_unix: now_unix, ..ScrubReport::default() };
        let scrub = Self {
            reactor: reactor.clone(),
            job,
            begun: reactor.rt.now(),
            losses_before: home.scrubs.note_losses(&mut home.state.borrow_mut().losses, &reactor.shared.totals),
            report,
            moving: Moving::mending(),
            checkpoint_damaged: false,
            suspects: BTreeMap::new(),
        };
        reactor.rt.spawn(scrub.run());
        id
    }

    async fn run(mut self) {
        let ended = {
            let reactor = self.reactor.clone();
            let _step = reactor.shared.during("scrub");
            self.work().await
        };
        self.report.took = self.reactor.rt.now().since(self.begun);
        self.report.complete = ended == JobState::Done;
        let Self { reactor, job, report, .. } = self;
        reactor.shared.log(describe(&report));
        job.end(ended);
        let home = reactor.home();
        home.scrubs.report.replace(Some(report));
        home.scrubs.running.set(None);
        home.scrubs.ended.notify();
    }

    async fn work(&mut self) -> JobState {
        if let Some(end) = self.early_end() {
            return end;
        }
        // What is damaged already must be found, wherever it lies.
        Checkpointer::of(&self.reactor).end_all_segments().await;
        // Told now: of a group that has left meanwhile nothing is known any more.
        let segments: Vec<(SegIx, u64)> =
            self.segments_to_scrub().into_iter().map(|seg| (seg, self.bytes_of_segment(seg))).collect();
        self.job.set_left(segments.iter().map(|(_, bytes)| bytes).sum());
        for (seg, bytes) in segments {
            self.wait_for_members().await;
            if let Some(end) = self.early_end() {
                return end;
            }
            self.segment(seg).await;
            self.job.advance(bytes);
        }
        self.orphans().await;
        for (volume, lba) in marked_lost(&self.reactor) {
            self.lose(&volume, lba);
        }
        self.superblocks().await;
        if let Some(end) = self.early_end() {
            return end;
        }
        match self.make_durable().await {
            Ok(()) => JobState::Done,
            Err(why) => JobState::Failed(why.to_string()),
        }
    }

    /// Lets members be filled first.
    async fn wait_for_members(&self) {
        while Seats::of(&self.reactor).is_filling_members() && self.early_end().is_none() {
            self.reactor.rt.sleep(LOOK).await;
        }
    }

    /// How the scrub ends, if it must not go on.
    fn early_end(&self) -> Option<JobState> {
        match () {
            () if self.job.is_cancelled() => Some(JobState::Cancelled),
            () if self.reactor.is_ending() => Some(JobState::Failed("the array takes no writes any more".into())),
            () => None,
        }
    }

    /// Verifies a segment and moves the current blocks out of every stripe in which anything is wrong.
    async fn segment(&mut self, seg: SegIx) {
        let reactor = self.reactor.clone();
        let _look = reactor.looks.begin();
        let table = &self.reactor.shared.segments;
        let (was, lost_before) = (table.state(seg), self.report.lost);
        if !matches!(was, SegState::Sealed | SegState::Damaged | SegState::Meta) {
            return;
        }
        let Some(mut result) = self.look_at(seg).await else { return };
        self.count(&result);
        self.checkpoint_damaged |= was == SegState::Meta && !result.findings.is_empty();
        self.suspects.append(&mut result.suspects);
        if planted::is(Bug::ScrubForgetsParity) && result.findings.iter().all(|f| f.kind == FindingKind::Parity) {
            return;
        }
        for stripe in result.damaged {
            let moved = Mover::of(&self.reactor).move_stripe(&stripe, &self.moving).await;
            self.note(moved);
        }
        let table = &self.reactor.shared.segments;
        if was == SegState::Damaged && table.state(seg) == was && self.report.lost == lost_before {
            // Cleaning gave it up; what it could not read was overwritten or has been mended since.
            table.set_state(seg, SegState::Sealed);
            self.reactor.segment_sealed();
        }
    }

    /// What is wrong with a segment, from a group all of whose members in service answer; `None`: the array is ending.
    async fn look_at(&self, seg: SegIx) -> Option<SegmentResult> {
        let (group, _) = self.reactor.shared.segments.locate(seg);
        loop {
            let silences = self.reactor.silences(group);
            let result = Checker::in_service_of(&self.reactor).segment(seg).await;
            if !self.reactor.was_disturbed(group, silences) {
                return Some(result);
            }
            if !self.reactor.until_it_answers(group).await {
                return None;
            }
        }
    }

    fn count(&mut self, result: &SegmentResult) {
        let report = &mut self.report;
        report.segments += result.segments;
        report.stripes += result.stripes;
        report.blocks += result.blocks;
        report.bytes += result.bytes;
        for finding in &result.findings {
            *match finding.kind {
                FindingKind::Parity => &mut report.wrong_parity,
                FindingKind::Header | FindingKind::HeadersDiffer => &mut report.wrong_headers,
                _ => &mut report.wrong_blocks,
            } += 1;
        }
    }

    fn note(&mut self, moved: Moved) {
        self.report.moved += moved.moved;
        self.report.rebuilt += moved.repaired;
        self.report.without_room += moved.without_room;
        for lost in moved.lost {
            if let Some(volume) = self.reactor.shared.volume(lost.volume) {
                self.lose(&volume, lost.lba);
            }
        }
    }

    fn lose(&mut self, volume: &VolumeState, lba: Lba) {
        self.report.lost += 1;
        if self.report.lost_blocks.len() < ScrubReport::LISTED {
            self.report.lost_blocks.push(LostBlock { volume: volume.name.clone(), lba });
        }
    }

    /// Moves blocks that no header names.
    async fn orphans(&mut self) {
        for orphan in unmatched(&self.reactor, &std::mem::take(&mut self.suspects)) {
            if self.reactor.is_ending() {
                return;
            }
            self.report.wrong_headers += 1;
            match Orphans::of(&self.reactor).move_one(&orphan.volume, orphan.lba, &self.moving).await {
                Orphan::Moved => self.report.moved += 1,
                Orphan::Stays => {}
                Orphan::Unreadable => self.lose(&orphan.volume, orphan.lba),
            }
        }
    }

    /// Verifies all superblock slots of every member, and has all of them written anew if any is not as it should be.
    async fn superblocks(&mut self) {
        let mut wrong = 0;
        for ix in 0..self.reactor.shared.members.len() {
            wrong += self.wrong_slots(MemberIx(ix as u16)).await;
        }
        self.report.wrong_headers += wrong;
        if wrong > 0 && !self.reactor.is_ending() {
            // One for each slot; a failure shows in the last commit.
            let _ = Committer::of(&self.reactor).commit_state().await;
            let _ = Committer::of(&self.reactor).commit_state().await;
        }
    }

    /// Makes durable what was moved, and records that the scrub has been.
    async fn make_durable(&self) -> Result<(), Fault> {
        let reactor = &self.reactor;
        if self.report.found() > 0 {
            Flusher::of(reactor).flush_everything().await?;
            // Discards in stripes with damaged headers are safe in a checkpoint. Two are kept, so it takes two to have
            // none that was damaged.
            for _ in 0..1 + u32::from(self.checkpoint_damaged) {
                Checkpointer::of(reactor).checkpoint().await?;
            }
        }
        let took = reactor.rt.now().since(self.begun);
        self.record(self.report.started_unix + took.0 / 1_000_000_000);
        Committer::of(reactor).commit_state().await
    }

    /// Has the next superblocks say that the scrub ended at this time, and what it knows to be lost.
    fn record(&self, ended_unix: u64) {
        let home = self.reactor.home();
        let mut state = home.state.borrow_mut();
        let known = home.scrubs.note_losses(&mut state.losses, &self.reactor.shared.totals);
        state.losses = Losses { found: self.report.lost, asked: known.asked - self.losses_before.asked };
        state.last_scrub_unix = ended_unix;
    }

    /// Segments that hold anything needed, in the order of the devices.
    fn segments_to_scrub(&self) -> Vec<SegIx> {
        let table = &self.reactor.shared.segments;
        let is_needed = |&seg: &SegIx| match table.state(seg) {
            SegState::Sealed | SegState::Damaged => table.live(seg) > 0,
            SegState::Meta => true,
            SegState::Free | SegState::Open | SegState::Pending | SegState::Withheld => false,
        };
        table.all().filter(is_needed).collect()
    }

    fn bytes_of_segment(&self, seg: SegIx) -> u64 {
        let shape = self.reactor.shared.segments.shape(seg);
        shape.segment_bytes() * u64::from(shape.width())
    }

    /// How many copies of a member's superblock slots are not what was last written there.
    async fn wrong_slots(&self, member: MemberIx) -> u64 {
        for _ in 0..LOOKS {
            let generation = self.reactor.home().records.generation.get();
            let mut wrong = self.wrong_copies(member, generation..=generation).await;
            // The write before this one may have been cut short by a crash, and then an older one is there.
            if generation > 1 {
                wrong += self.wrong_copies(member, 1..=generation - 1).await;
            }
            // Nobody wrote meanwhile, so what was found counts.
            if self.reactor.home().records.generation.get() == generation
                && !self.reactor.home().records.committing.is_running()
            {
                count(&self.reactor.shared.members[member.index()].counters.corrupt, wrong);
                return wrong;
            }
            self.reactor.rt.sleep(LOOK).await;
        }
        0
    }

    /// How many copies of the slot of the last of these generations do not hold a superblock of one of them.
    async fn wrong_copies(&self, member: MemberIx, generations: RangeInclusive<u64>) -> u64 {
        let in_trouble = self.reactor.shared.members[member.index()].trouble().is_some();
        let Some(dev) = self.reactor.device_in_service(member).filter(|_| !in_trouble) else { return 0 };
        let mut wrong = 0;
        for at in copies_for(*generations.end()) {
            let buf = self.reactor.rt.alloc(SUPERBLOCK_SLOT as usize);
            let read = self.reactor.rt.read(dev, at, buf.full()).await;
            let found = Superblock::decode(buf.bytes()).and_then(|slot| slot.verify());
            let is_right = |slot: Superblock| generations.contains(&slot.generation) && slot.member == member;
            wrong += u64::from(read.is_err() || !found.is_ok_and(is_right));
        }
        wrong
    }
}

const _: () = assert!(SUPERBLOCK_OFFSETS.len() == 2, "the present generation and the one before fill all slots");

fn describe(report: &ScrubReport) -> String {
    let ScrubReport { segments, blocks, wrong_blocks, wrong_parity, wrong_headers, moved, lost, took, .. } = report;
    let end = if report.complete { "" } else { ", not to the end" };
    format!(
        "scrub: {segments} segments with {blocks} blocks in {took}{end}; wrong: {wrong_blocks} blocks, {wrong_parity} \
         parity blocks, {wrong_headers} headers; {moved} blocks written anew, {lost} beyond redundancy"
    )
}
