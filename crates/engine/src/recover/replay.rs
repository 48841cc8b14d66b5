//! Recovery, steps "scan" and "replay": what was written after the checkpoint is found by the stripes' headers and put
//! into the maps; of several writes of a block the newest sequence wins.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use cygnus_format::{CheckpointRoot, Discard, GroupState, Kind, MapEntry, Place, RootUse, StripeCommon};
use cygnus_types::{BLOCK, GroupId, Lba, SegmentId, VolumeId};

use crate::error::ArrayError;
use crate::reactor::Reactor;
use crate::read::parallel::for_each;
use crate::read::scan::{FoundStripe, Scanner, SpoiledCopy};
use crate::recover::apply::{Apart, Applied, Applier, Rescue, for_each_block};
use crate::recover::backups::{BackedUpBlock, Backups, StripeKey};
use crate::recover::behind::Behind;
use crate::recover::discards::Discards;
use crate::recover::gone::LostBlocks;
use crate::recover::lost::Lost;
use crate::recover::progress::Progress;
use crate::recover::room::Findings;
use crate::recover::tail::{StripeReader, Verdict};
use crate::recover::window::Candidate;
use crate::space::segments::SegIx;

/// What recovery found behind the checkpoint.
#[derive(Default)]
pub(crate) struct Replayed {
    pub segments: usize,
    pub stripes: usize,
    pub tail_stripes: usize,
    pub torn_stripes: usize,
    pub lost_blocks: usize,
    pub blocks: usize,
    pub discards: usize,
    /// How often the stripes were gone through, for want of memory for all that they hold.
    pub passes: usize,
    pub rescues: Vec<Rescue>,
    /// What should have been found too.
    pub lost: Lost,
    /// Blocks that were written after all that is lost.
    pub newer: BTreeSet<(VolumeId, Lba)>,
    pub top_write_seq: u64,
    pub top_stripe_seq: u64,
    pub top_segment_seq: u64,
}

/// Stripes that no checkpoint covers, and what hides where there may be more.
#[derive(Default)]
pub(crate) struct Scanned {
    pub stripes: Vec<Behind>,
    spoiled: Vec<SpoiledCopy>,
    /// Headers behind the end of a chain. Nothing leads to them, but they may tell what was durable.
    beyond: Vec<StripeCommon>,
    /// What a newer program has written and no checkpoint covers.
    newer: Vec<SpoiledCopy>,
}

/// Bytes of stripes that are read and looked at block by block at the same time: several of them, so that no device is waited for alone.
const LOOKED_AT_ONCE: usize = 16 << 20;

/// Where the checkpoint stands.
struct Horizon {
    barrier: u64,
    next_segment_seq: u64,
    /// Segments that were being filled then, and their lives.
    open: BTreeMap<(GroupId, SegmentId), u64>,
}

impl Horizon {
    fn of(root: Option<&CheckpointRoot>) -> Self {
        let open = root.iter().flat_map(|r| &r.segments).filter(|s| s.use_of == RootUse::Open);
        Self {
            barrier: root.map_or(0, |r| r.barrier),
            next_segment_seq: root.map_or(0, |r| r.next_segment_seq),
            open: open.map(|s| ((s.group, s.segment), s.segment_seq)).collect(),
        }
    }

    /// Whether a segment whose first stripe is this may have stripes behind the barrier.
    fn concerns(&self, group: GroupId, segment: SegmentId, life: u64, first: u64) -> bool {
        first >= self.barrier || self.open.get(&(group, segment)) == Some(&life)
    }

    /// Whether what was a segment's first header is surely covered, as far as one can tell from bytes some of which have
    /// changed: both its life and its sequence are from before.
    fn covers(&self, SpoiledCopy { place, claimed, .. }: &SpoiledCopy) -> bool {
        claimed.is_some_and(|(life, seq)| {
            life < self.next_segment_seq && !self.concerns(place.group, place.segment, life, seq)
        })
    }
}

/// Finds and replays what no checkpoint covers: see the module's text.
#[derive(Clone)]
pub(crate) struct Replayer {
    reactor: Rc<Reactor>,
    findings: Rc<Findings>,
}

/// What stripes are judged by.
struct Evidence<'a> {
    backups: &'a Backups,
    /// From this sequence on every stripe that was durable should be there.
    counted_from: u64,
    given_up: &'a Rc<LostBlocks>,
}

/// A stripe of the tail whose blocks were looked at.
struct Judged<'a> {
    found: &'a FoundStripe,
    verdict: Verdict,
    is_backed_up: bool,
}

/// What is collected before anything goes into the maps.
#[derive(Default)]
struct Collected {
    apart: Vec<Apart>,
    discards: Vec<Discard>,
    /// Blocks of open stripes that are nowhere.
    gone: Vec<BackedUpBlock>,
}

impl Replayer {
    pub(crate) fn of(reactor: &Rc<Reactor>) -> Self {
        Self { reactor: reactor.clone(), findings: Rc::new(Findings::of(&reactor.shared)) }
    }

    /// Whether all that was found can be held at once.
    pub(crate) fn has_room(&self) -> bool {
        self.findings.fit()
    }

    /// Finds the stripes at or behind the checkpoint's barrier, in every segment that can have any.
    ///
    /// # Errors
    /// When there is no memory even for remembering them.
    pub(crate) async fn scan_stripes(&self, root: Option<&CheckpointRoot>) -> Result<Scanned, ArrayError> {
        let horizon = Rc::new(Horizon::of(root));
        let all: Vec<SegIx> = self.reactor.shared.segments.all().collect();
        let progress = Rc::new(Progress::of(&self.reactor, "scan", "segments", all.len() as u64));
        let found = for_each(&self.reactor.rt, all, {
            let replayer = self.clone();
            move |seg| {
                let (replayer, horizon, progress) = (replayer.clone(), horizon.clone(), progress.clone());
                async move {
                    let found = replayer.scan_segment(seg, &horizon).await;
                    progress.add(1);
                    found
                }
            }
        });
        let mut scanned = Scanned::default();
        for Scanned { stripes, spoiled, beyond, newer } in found.await {
            // What it holds is not known: to go on without it would show older data.
            if let Some(copy) = newer.first() {
                return Err(ArrayError::Newer(copy.describe(&self.reactor.shared)));
            }
            scanned.stripes.extend(stripes);
            scanned.spoiled.extend(spoiled);
            scanned.beyond.extend(beyond);
        }
        if !self.findings.fit() {
            scanned.stripes.iter_mut().for_each(Behind::forget);
        }
        self.findings.check().map(|()| scanned)
    }

    async fn scan_segment(&self, seg: SegIx, horizon: &Horizon) -> Scanned {
        let (group, segment) = self.reactor.shared.segments.locate(seg);
        let mut scanned = Scanned::default();
        if self.reactor.shared.group_state(group) == GroupState::Retired {
            return scanned;
        }
        let mut look = Scanner::of(&self.reactor).look_at(group, segment, 0, None).await;
        if look.hides_a_stripe() && !look.spoiled.iter().all(|copy| horizon.covers(copy)) {
            scanned.spoiled.append(&mut look.spoiled);
        }
        scanned.newer = std::mem::take(&mut look.newer);
        scanned.newer.retain(|copy| !horizon.covers(copy));
        let Some(first) = &look.stripe else { return scanned };
        let (life, mut newest) = (first.common.segment_seq, first.common.stripe_seq);
        if !horizon.concerns(group, segment, life, newest) {
            return scanned;
        }
        self.reactor.shared.segments.set_protection(seg, first.common.rotation.protection());
        // Sequences rise along a segment; anything else is a leftover.
        let mut row = 0;
        while let Some(stripe) = look.stripe.take_if(|stripe| stripe.common.stripe_seq >= newest) {
            newest = stripe.common.stripe_seq;
            row = stripe.common.end_row();
            if newest >= horizon.barrier {
                let mut stripe = Behind::of(&self.reactor, stripe);
                if !self.findings.take(&stripe) {
                    stripe.forget();
                }
                scanned.stripes.push(stripe);
            }
            look = Scanner::of(&self.reactor).look_at(group, segment, row, Some(life)).await;
            scanned.newer.append(&mut look.newer);
            // What an earlier life left there is of no account.
            let is_older = |copy: &SpoiledCopy| copy.claimed.is_some_and(|(of, seq)| of < life && seq < newest);
            if look.hides_a_stripe() && !look.spoiled.iter().all(is_older) {
                scanned.spoiled.append(&mut look.spoiled);
            }
        }
        scanned.beyond = Scanner::of(&self.reactor).headers_beyond(group, segment, row, life).await;
        scanned
    }

    /// Puts what was found into the maps. Every stripe from the sequence `counted_from` on that was durable should be there.
    /// Blocks that are `given_up` are as if they had been found.
    ///
    /// # Errors
    /// When headers have to be read again, and cannot be.
    pub(crate) async fn replay(
        &self,
        scanned: Scanned,
        backups: &Backups,
        counted_from: u64,
        given_up: &Rc<LostBlocks>,
    ) -> Result<Replayed, ArrayError> {
        let Scanned { mut stripes, spoiled, beyond, newer: _ } = scanned;
        let mut result = Replayed { stripes: stripes.len(), ..Replayed::default() };
        result.lost.add_backups(backups.lost.iter().cloned());
        result.lost.count(&stripes, &beyond, counted_from);
        result.lost.add_spoiled(spoiled);
        let mut collected = Collected::default();
        let mut open = backups.stripes();
        let evidence = Evidence { backups, counted_from, given_up };
        self.judge(&mut stripes, &evidence, &mut open, &mut collected, &mut result).await?;
        for (key, of_stripe) in open {
            collected.discards.extend(of_stripe);
            // Any copy of them in a stripe is as good, and safer where it is.
            self.add_backed_up(key, 0, &BTreeSet::new(), backups, &mut collected).await;
        }
        let stripes = Rc::new(stripes);
        self.judge_gone(&stripes, &mut collected, &evidence, &mut result).await?;
        let discards = Discards::new(collected.discards);
        self.apply_discards(&discards, &mut result);
        let applier = Applier::of(&self.reactor, stripes, &self.findings, &discards, &result.lost, given_up);
        let Applied { blocks, rescues, newer, passes, top_write_seq } = applier.apply(collected.apart).await?;
        let discarded = discards.iter().map(Discard::seq).max().unwrap_or(0);
        result.top_write_seq = top_write_seq.max(discarded).max(backups.top_write_seq());
        result.top_segment_seq = result.top_segment_seq.max(backups.top_segment_seq());
        result.top_stripe_seq = result.top_stripe_seq.max(backups.top_opened());
        Ok(Replayed { blocks, rescues, newer, passes, ..result })
    }

    /// Accounts for each stripe, and looks at the blocks of those that no flush was known to cover. Of `open` stripes, which backups
    /// tell of, those are left that are not among these.
    async fn judge(
        &self,
        stripes: &mut [Behind],
        evidence: &Evidence<'_>,
        open: &mut BTreeMap<StripeKey, Vec<Discard>>,
        collected: &mut Collected,
        result: &mut Replayed,
    ) -> Result<(), ArrayError> {
        let watermarks = watermarks(stripes);
        let is_durable =
            |common: &StripeCommon| watermarks.get(&common.session).is_some_and(|&mark| common.stripe_seq < mark);
        result.tail_stripes = stripes.iter().filter(|stripe| !is_durable(&stripe.common)).count();
        let (mut segments, mut tail) = (BTreeSet::new(), Vec::new());
        for (at, stripe) in stripes.iter_mut().enumerate() {
            let common = stripe.common;
            segments.insert((common.group, common.segment));
            result.top_stripe_seq = result.top_stripe_seq.max(common.stripe_seq);
            result.top_segment_seq = result.top_segment_seq.max(common.segment_seq);
            if !stripe.discards.is_empty() {
                let seg = self.reactor.shared.segments.index(common.group, common.segment);
                self.reactor.shared.segments.note_discard(seg, common.stripe_seq);
            }
            collected.discards.append(&mut stripe.discards);
            let durable = is_durable(&common);
            // One from before may have been given back, and trimmed in part.
            let must_be_there = durable && common.stripe_seq >= evidence.counted_from;
            result.lost.add_unknown(stripe, must_be_there || evidence.given_up.has_untold(common.stripe_seq));
            let is_backed_up = open.remove(&key_of(&common)).is_some();
            if !durable {
                tail.push((at, is_backed_up));
            }
        }
        result.segments = segments.len();
        self.judge_tail(stripes, &tail, evidence, collected, result).await
    }

    /// Looks at the blocks of the stripes that no flush was known to cover: where they are, and whether they are backed up. Segments that
    /// have torn ones are `broken`: what leads to the stripes behind those may be a single header, as stripes are found along their segment.
    async fn judge_tail(
        &self,
        stripes: &mut [Behind],
        tail: &[(usize, bool)],
        evidence: &Evidence<'_>,
        collected: &mut Collected,
        result: &mut Replayed,
    ) -> Result<(), ArrayError> {
        let what = "stripes after the last known flush";
        let progress = Progress::of(&self.reactor, "replay", what, tail.len() as u64);
        let largest = tail.iter().map(|&(at, _)| bytes_of(&stripes[at].common)).max().unwrap_or(0);
        let at_once = (LOOKED_AT_ONCE / largest.max(1)).max(1);
        let mut broken = BTreeSet::new();
        for some in tail.chunks(at_once) {
            let judged = self.look_at_blocks(stripes, some, evidence.given_up).await;
            for (&(at, is_backed_up), judged) in some.iter().zip(judged) {
                let stripe = &mut stripes[at];
                let (found, verdict) = judged?;
                let judged = Judged { found: &found, verdict, is_backed_up };
                self.settle_tail(stripe, judged, evidence, &mut broken, collected, result).await;
                if !stripe.is_apart {
                    stripe.keep(found);
                    if !self.has_room() {
                        stripe.forget();
                    }
                }
            }
            progress.add(some.len() as u64);
        }
        Ok(())
    }

    /// Reads stripes and judges their blocks, all at once; in their order.
    async fn look_at_blocks(
        &self,
        stripes: &mut [Behind],
        some: &[(usize, bool)],
        given_up: &Rc<LostBlocks>,
    ) -> Vec<Result<(Box<FoundStripe>, Verdict), ArrayError>> {
        let lent: Vec<_> = some.iter().map(|&(at, _)| stripes[at].lend()).collect();
        for_each(&self.reactor.rt, lent, {
            let (reactor, given_up) = (self.reactor.clone(), given_up.clone());
            move |(again, kept)| {
                let (reactor, given_up) = (reactor.clone(), given_up.clone());
                async move {
                    let found = match kept {
                        Some(found) => found,
                        None => Box::new(again.read(&reactor).await?),
                    };
                    let verdict = StripeReader::of(&reactor).judge_stripe(&found, &given_up).await;
                    Ok((found, verdict))
                }
            }
        })
        .await
    }

    /// Settles what becomes of the blocks of a stripe that were looked at.
    async fn settle_tail(
        &self,
        stripe: &mut Behind,
        judged: Judged<'_>,
        evidence: &Evidence<'_>,
        broken: &mut BTreeSet<(GroupId, SegmentId)>,
        collected: &mut Collected,
        result: &mut Replayed,
    ) {
        let Judged { found, mut verdict, is_backed_up } = judged;
        let (common, backups) = (stripe.common, evidence.backups);
        if !verdict.consistent && is_backed_up {
            self.add_last_copies(found, backups, &mut verdict).await;
            let below = common.first_data_row();
            let there = verdict.blocks.iter().map(|&(column, row, _)| (column, below + row)).collect();
            self.add_backed_up(key_of(&common), common.stripe_seq, &there, backups, collected).await;
        }
        result.torn_stripes += usize::from(!verdict.consistent);
        result.lost_blocks += verdict.lost;
        let of = (common.group, common.segment);
        if !verdict.consistent {
            broken.insert(of);
        }
        // A stripe that is whole protects its blocks: they stay where they are, and are found there like those of durable ones.
        if broken.contains(&of) {
            self.add_apart(found, verdict, evidence.given_up, collected);
            stripe.set_apart();
        }
    }

    /// Adds blocks of a stripe that are not there and were copied when it was closed.
    async fn add_last_copies(&self, stripe: &FoundStripe, backups: &Backups, verdict: &mut Verdict) {
        let there: BTreeSet<(u8, u32)> = verdict.blocks.iter().map(|&(column, row, _)| (column, row)).collect();
        for (column, row, entry) in stripe.blocks() {
            if entry.kind() == Kind::Void || there.contains(&(column, row)) {
                continue;
            }
            let key = key_of(&stripe.common);
            let at = (column, stripe.common.first_data_row() + row);
            if let Some(data) = backups.last_copy(&self.reactor, key, at, entry).await {
                verdict.blocks.push((column, row, Some(data)));
                verdict.lost -= 1;
            }
        }
    }

    /// Adds the blocks of a stripe that were backed up while it was open and are not `there`: physical column, and row of the
    /// segment. Its headers, if it has any, need not tell of them.
    async fn add_backed_up(
        &self,
        key: StripeKey,
        stripe_seq: u64,
        there: &BTreeSet<(u8, u32)>,
        backups: &Backups,
        collected: &mut Collected,
    ) {
        let blocks = backups.blocks_of(&self.reactor, key);
        for block in blocks.into_iter().filter(|block| !there.contains(&(block.column, block.row))) {
            let Some(data) = backups.fetch(&self.reactor, key, &block).await else {
                collected.gone.push(block);
                continue;
            };
            let place = Place { group: key.0, segment: key.1, column: block.column, row: block.row };
            let moved = block.entry.kind() == Kind::Relocated;
            let candidate = Candidate {
                volume: block.entry.volume(),
                lba: block.entry.lba(),
                seq: block.entry.seq(),
                stripe_seq,
                entry: MapEntry::new(self.reactor.shared.layout.pba(place), block.entry.crc()),
                after: if moved { 0 } else { backups.opened(&block) },
                is_lost: false,
            };
            collected.apart.push(Apart { candidate, moved, rescue: Some(data) });
        }
    }

    /// Blocks that were backed up and are nowhere are lost, unless there is the same write or a later one of them elsewhere: a member
    /// that has computed parity has no copy any more, and the stripe may have been given back since.
    async fn judge_gone(
        &self,
        stripes: &Rc<Vec<Behind>>,
        collected: &mut Collected,
        evidence: &Evidence<'_>,
        result: &mut Replayed,
    ) -> Result<(), ArrayError> {
        let mut gone: BTreeMap<(VolumeId, Lba), BackedUpBlock> = BTreeMap::new();
        for block in std::mem::take(&mut collected.gone) {
            let newest = gone.entry((block.entry.volume(), block.entry.lba())).or_insert(block);
            if newest.entry.seq() < block.entry.seq() {
                *newest = block;
            }
        }
        gone.retain(|&(volume, lba), _| self.reactor.shared.volume(volume).is_some_and(|of| lba.0 < of.blocks()));
        if gone.is_empty() {
            return Ok(());
        }
        let gone = Rc::new(RefCell::new(gone));
        let is_elsewhere = {
            let gone = gone.clone();
            move |found: Candidate| {
                let mut gone = gone.borrow_mut();
                if gone.get(&found.address()).is_some_and(|block| block.entry.seq() <= found.seq) {
                    gone.remove(&found.address());
                }
            }
        };
        collected.apart.iter().for_each(|block| is_elsewhere(block.candidate));
        for_each_block(&self.reactor, stripes, evidence.given_up, is_elsewhere).await?;
        let mut gone = gone.take();
        for discard in &collected.discards {
            let (volume, first) = (discard.volume(), discard.lba().0);
            let range = (volume, Lba(first))..(volume, Lba(first + u64::from(discard.count())));
            gone.extract_if(range, |_, block| block.entry.seq() < discard.seq()).for_each(drop);
        }
        gone.values().for_each(|block| self.is_gone(block, evidence.backups, result));
        Ok(())
    }

    /// A block that was backed up is nowhere.
    fn is_gone(&self, block: &BackedUpBlock, backups: &Backups, result: &mut Replayed) {
        result.lost_blocks += 1;
        if backups.was_durable(block) {
            let (entry, place) = (&block.entry, (block.column, block.row));
            result.lost.add_backups([format!(
                "{} {} was durable in an open stripe (column {}, row {}), and no copy of it is left",
                entry.volume(),
                entry.lba(),
                place.0,
                place.1
            )]);
        }
    }

    /// Adds the blocks of a stripe that were looked at one by one.
    fn add_apart(&self, stripe: &FoundStripe, verdict: Verdict, gone: &LostBlocks, collected: &mut Collected) {
        let (layout, common) = (&self.reactor.shared.layout, &stripe.common);
        for (column, row, rescue) in verdict.blocks {
            let entry = stripe.entries[usize::from(column)].as_ref().map(|entries| &entries[row as usize]);
            let Some(entry) = entry else { continue };
            if let Some(candidate) = Candidate::of(layout, common, (column, row), entry, gone) {
                collected.apart.push(Apart { candidate, moved: entry.kind() == Kind::Relocated, rescue });
            }
        }
    }

    fn apply_discards(&self, discards: &Discards, result: &mut Replayed) {
        for discard in discards.iter() {
            result.discards += 1;
            let Some(volume) = self.reactor.shared.volume(discard.volume()) else { continue };
            let blocks = u64::from(discard.count());
            self.reactor.shared.controllers.replay_discard(&volume.controller, discard.lba(), blocks);
        }
    }
}

/// Bytes of all columns of a stripe below its headers.
fn bytes_of(common: &StripeCommon) -> usize {
    usize::from(common.width()) * common.rows as usize * BLOCK
}

fn key_of(common: &StripeCommon) -> StripeKey {
    (common.group, common.segment, common.segment_seq, common.start_row)
}

/// For each session, the sequence below which all its stripes were durable, as far as any header tells.
fn watermarks(stripes: &[Behind]) -> BTreeMap<u64, u64> {
    let mut marks = BTreeMap::new();
    for stripe in stripes {
        let mark = marks.entry(stripe.common.session).or_insert(0);
        *mark = stripe.common.durable.max(*mark);
    }
    marks
}
