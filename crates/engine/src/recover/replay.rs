//! Recovery, steps "scan" and "replay": what was written after the checkpoint is found by the stripes' headers and put
//! into the maps; of several writes of a block the newest sequence wins.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use cygnus_format::{CheckpointRoot, Discard, GroupState, Kind, MapEntry, Place, RootUse, StripeCommon};
use cygnus_types::{GroupId, Lba, SegmentId, VolumeId};

use crate::error::ArrayError;
use crate::lsa::region_of;
use crate::planted::{self, Bug};
use crate::reactor::Reactor;
use crate::read::parallel::for_each;
use crate::read::scan::{FoundStripe, Scanner, SpoiledCopy};
use crate::recover::backups::{BackedUpBlock, Backups, StripeKey};
use crate::recover::gone::LostBlocks;
use crate::recover::lost::Lost;
use crate::recover::room::{Findings, findings};
use crate::recover::tail::{StripeReader, Verdict};
use crate::space::segments::SegIx;

/// A block found behind the checkpoint.
pub(crate) struct Candidate {
    volume: VolumeId,
    lba: Lba,
    seq: u64,
    stripe_seq: u64,
    entry: MapEntry,
    /// Its data, if its stripe cannot protect it.
    rescue: Option<Box<[u8]>>,
    /// Cleaning has moved it there.
    moved: bool,
    /// It was written after all stripes below this sequence were closed; 0 for one that was moved.
    after: u64,
}

/// Blocks after which parts of the maps that were replaced are given back.
const BLOCKS_PER_SETTLING: usize = 1 << 12;

/// A block that must be written anew before the array goes into service.
pub(crate) struct Rescue {
    /// Where it was found.
    pub from: SegIx,
    /// The same to the block, unless that lies only in a copy beside its stripe.
    pub at: MapEntry,
    pub volume: VolumeId,
    pub lba: Lba,
    pub seq: u64,
    /// Cleaning moved it there: where it came from it may still be.
    pub moved: bool,
    pub data: Box<[u8]>,
}

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
    pub rescues: Vec<Rescue>,
    /// Blocks of open stripes that are nowhere.
    gone: Vec<BackedUpBlock>,
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
    pub stripes: Vec<FoundStripe>,
    spoiled: Vec<SpoiledCopy>,
    /// Headers behind the end of a chain. Nothing leads to them, but they may tell what was durable.
    beyond: Vec<StripeCommon>,
    /// What a newer program has written and no checkpoint covers.
    newer: Vec<SpoiledCopy>,
}

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
}

impl Replayer {
    pub(crate) fn of(reactor: &Rc<Reactor>) -> Self {
        Self { reactor: reactor.clone() }
    }

    /// Finds the stripes at or behind the checkpoint's barrier, in every segment that can have any.
    ///
    /// # Errors
    /// When there is no memory for all of them.
    pub(crate) async fn scan_stripes(&self, root: Option<&CheckpointRoot>) -> Result<Scanned, ArrayError> {
        let findings = Rc::new(findings(&self.reactor.shared));
        let horizon = Rc::new(Horizon::of(root));
        let all: Vec<SegIx> = self.reactor.shared.segments.all().collect();
        let found = for_each(&self.reactor.rt, all, {
            let (replayer, findings) = (self.clone(), findings.clone());
            move |seg| {
                let (replayer, horizon, findings) = (replayer.clone(), horizon.clone(), findings.clone());
                async move { replayer.scan_segment(seg, &horizon, &findings).await }
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
        findings.check().map(|()| scanned)
    }

    async fn scan_segment(&self, seg: SegIx, horizon: &Horizon, findings: &Findings) -> Scanned {
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
            if newest >= horizon.barrier && findings.take(&stripe) {
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
    pub(crate) async fn replay(
        &self,
        scanned: Scanned,
        backups: &Backups,
        counted_from: u64,
        given_up: &LostBlocks,
    ) -> Replayed {
        let Scanned { stripes, spoiled, beyond, newer: _ } = scanned;
        let mut result = Replayed { stripes: stripes.len(), ..Replayed::default() };
        result.lost.add_backups(backups.lost.iter().cloned());
        let mut open = backups.stripes();
        result.lost.count(&stripes, &beyond, counted_from);
        result.lost.add_spoiled(spoiled);
        let watermarks = watermarks(&stripes);
        // Made for all at once: a vector that grows takes twice its size.
        let mut candidates = Vec::with_capacity(stripes.iter().map(|stripe| stripe.blocks().count()).sum());
        let mut discards: Vec<Discard> = Vec::new();
        let mut segments = BTreeSet::new();
        let mut broken = BTreeSet::new();
        for stripe in stripes {
            let common = stripe.common;
            segments.insert((common.group, common.segment));
            result.top_stripe_seq = result.top_stripe_seq.max(common.stripe_seq);
            result.top_segment_seq = result.top_segment_seq.max(common.segment_seq);
            discards.extend_from_slice(&stripe.discards);
            let key = key_of(&common);
            let durable = watermarks.get(&common.session).is_some_and(|&mark| common.stripe_seq < mark);
            // One from before may have been given back, and trimmed in part.
            let is_whole = durable && common.stripe_seq >= counted_from || given_up.has_untold(common.stripe_seq);
            result.lost.add_unknown(&stripe, is_whole);
            let verdict = if durable {
                None
            } else {
                result.tail_stripes += 1;
                let mut verdict = StripeReader::of(&self.reactor).judge_stripe(&stripe, given_up).await;
                if !verdict.consistent && open.contains_key(&key) {
                    self.add_last_copies(&stripe, backups, &mut verdict).await;
                    let below = common.first_data_row();
                    let there = verdict.blocks.iter().map(|&(column, row, _)| (column, below + row)).collect();
                    let seq = common.stripe_seq;
                    self.add_backed_up(key, seq, &there, backups, &mut candidates, &mut result).await;
                }
                result.torn_stripes += usize::from(!verdict.consistent);
                result.lost_blocks += verdict.lost;
                // Stripes are found along their segment. What leads to those behind a torn one may be a single header.
                if !verdict.consistent {
                    broken.insert((common.group, common.segment));
                } else if !broken.contains(&(common.group, common.segment)) {
                    verdict.stays();
                }
                Some(verdict)
            };
            if !stripe.discards.is_empty() {
                let seg = self.reactor.shared.segments.index(common.group, common.segment);
                self.reactor.shared.segments.note_discard(seg, common.stripe_seq);
            }
            open.remove(&key);
            self.add_candidates(&stripe, verdict, &mut candidates);
        }
        for (key, of_stripe) in open {
            discards.extend(of_stripe);
            // Any copy of them in a stripe is as good, and safer where it is.
            self.add_backed_up(key, 0, &BTreeSet::new(), backups, &mut candidates, &mut result).await;
        }
        self.judge_gone(&candidates, &discards, backups, &mut result);
        result.segments = segments.len();
        let tops = candidates.iter().map(|c| c.seq).chain(discards.iter().map(Discard::seq));
        result.top_write_seq = tops.max().unwrap_or(0).max(backups.top_write_seq());
        result.top_segment_seq = result.top_segment_seq.max(backups.top_segment_seq());
        result.top_stripe_seq = result.top_stripe_seq.max(backups.top_opened());
        self.apply(candidates, discards, &mut result);
        result
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
        candidates: &mut Vec<Candidate>,
        result: &mut Replayed,
    ) {
        let blocks = backups.blocks_of(&self.reactor, key);
        for block in blocks.into_iter().filter(|block| !there.contains(&(block.column, block.row))) {
            let Some(data) = backups.fetch(&self.reactor, key, &block).await else {
                result.gone.push(block);
                continue;
            };
            let place = Place { group: key.0, segment: key.1, column: block.column, row: block.row };
            let moved = block.entry.kind() == Kind::Relocated;
            candidates.push(Candidate {
                volume: block.entry.volume(),
                lba: block.entry.lba(),
                seq: block.entry.seq(),
                stripe_seq,
                entry: MapEntry::new(self.reactor.shared.layout.pba(place), block.entry.crc()),
                rescue: Some(data),
                moved,
                after: if moved { 0 } else { backups.opened(&block) },
            });
        }
    }

    /// Blocks that were backed up and are nowhere are lost, unless there is the same write or a later one of them elsewhere: a member
    /// that has computed parity has no copy any more, and the stripe may have been given back since.
    fn judge_gone(&self, found: &[Candidate], discards: &[Discard], backups: &Backups, result: &mut Replayed) {
        let mut gone: BTreeMap<(VolumeId, Lba), BackedUpBlock> = BTreeMap::new();
        for block in std::mem::take(&mut result.gone) {
            let newest = gone.entry((block.entry.volume(), block.entry.lba())).or_insert(block);
            if newest.entry.seq() < block.entry.seq() {
                *newest = block;
            }
        }
        if gone.is_empty() {
            return;
        }
        gone.retain(|&(volume, lba), _| self.reactor.shared.volume(volume).is_some_and(|of| lba.0 < of.blocks()));
        for Candidate { volume, lba, seq, .. } in found {
            if gone.get(&(*volume, *lba)).is_some_and(|block| block.entry.seq() <= *seq) {
                gone.remove(&(*volume, *lba));
            }
        }
        for discard in discards {
            let (volume, first) = (discard.volume(), discard.lba().0);
            let range = (volume, Lba(first))..(volume, Lba(first + u64::from(discard.count())));
            gone.extract_if(range, |_, block| block.entry.seq() < discard.seq()).for_each(drop);
        }
        gone.values().for_each(|block| self.is_gone(block, backups, result));
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

    fn add_candidates(&self, stripe: &FoundStripe, verdict: Option<Verdict>, candidates: &mut Vec<Candidate>) {
        let common = &stripe.common;
        let mut add = |column: u8, row: u32, rescue: Option<Box<[u8]>>| {
            let Some(entry) = stripe.entries[usize::from(column)].as_ref().map(|e| e[row as usize]) else { return };
            if !matches!(entry.kind(), Kind::Data | Kind::Relocated) {
                return;
            }
            let row = common.first_data_row() + row;
            let place = Place { group: common.group, segment: common.segment, column, row };
            candidates.push(Candidate {
                volume: entry.volume(),
                lba: entry.lba(),
                seq: entry.seq(),
                stripe_seq: common.stripe_seq,
                entry: MapEntry::new(self.reactor.shared.layout.pba(place), entry.crc()),
                rescue,
                moved: entry.kind() == Kind::Relocated,
                after: if entry.kind() == Kind::Data { common.opened } else { 0 },
            });
        };
        match verdict {
            None => stripe.blocks().for_each(|(column, row, _)| add(column, row, None)),
            Some(verdict) => verdict.blocks.into_iter().for_each(|(column, row, data)| add(column, row, data)),
        }
    }

    /// Discards first, then for each block the newest write, unless a discard is newer still.
    fn apply(&self, mut candidates: Vec<Candidate>, discards: Vec<Discard>, result: &mut Replayed) {
        for discard in &discards {
            result.discards += 1;
            let Some(volume) = self.reactor.shared.volume(discard.volume()) else { continue };
            let blocks = u64::from(discard.count());
            self.reactor.shared.controllers.replay_discard(&volume.controller, discard.lba(), blocks);
        }
        let mut by_region = BTreeMap::<(VolumeId, u64), Vec<Discard>>::new();
        for discard in discards {
            let region = region_of(discard.lba()).start;
            by_region.entry((discard.volume(), region)).or_default().push(discard);
        }
        // In place. Two with the same numbers would be the same block.
        candidates.sort_unstable_by_key(|c| (c.volume, c.lba, c.seq, c.stripe_seq));
        candidates.retain(|candidate| {
            let lba = candidate.lba.0;
            let covers =
                |d: &Discard| (d.lba().0..d.lba().0 + u64::from(d.count())).contains(&lba) && d.seq() > candidate.seq;
            let region = (candidate.volume, region_of(candidate.lba).start);
            !by_region.get(&region).is_some_and(|all| all.iter().any(covers))
        });
        let mut page = None;
        for (n, of_block) in candidates.chunk_by_mut(|a, b| (a.volume, a.lba) == (b.volume, b.lba)).enumerate() {
            let (volume, lba) = (of_block[0].volume, of_block[0].lba);
            self.apply_to_block(of_block, result);
            // One that is through gets one entry again.
            let next = self.page_of(volume, lba);
            if next != page {
                std::mem::replace(&mut page, next).into_iter().for_each(|page| self.fold(page));
            }
            if n % BLOCKS_PER_SETTLING == 0 {
                // Tables that were too small are kept until then.
                self.reactor.shared.settle_maps();
            }
        }
        page.into_iter().for_each(|page| self.fold(page));
        self.reactor.shared.settle_maps();
    }

    /// The page of a volume that is mapped by pages.
    fn page_of(&self, volume: VolumeId, lba: Lba) -> Option<(VolumeId, Lba)> {
        let state = self.reactor.shared.volume(volume).filter(|state| state.paging.is_by_pages())?;
        Some((volume, state.controller.page_of(lba)))
    }

    fn fold(&self, (volume, first): (VolumeId, Lba)) {
        let shared = &self.reactor.shared;
        if let Some(state) = shared.volume(volume) {
            shared.controllers.fold(&state.controller, &shared.layout, first);
        }
    }

    /// `candidates` are those of one block, oldest first. A newest one that must be rescued becomes current only when
    /// it has been written anew; until then the map shows the newest one before it, so that this is kept too. (Were
    /// its segment freed, a second crash together with a lost member could leave neither.)
    fn apply_to_block(&self, candidates: &mut [Candidate], result: &mut Replayed) {
        if planted::is(Bug::OldestWriteWins) {
            candidates.reverse();
        }
        let newest = candidates.last_mut().expect("a chunk is not empty");
        let lba = newest.lba;
        let Some(volume) = self.reactor.shared.volume(newest.volume).filter(|v| lba.0 < v.blocks()) else { return };
        result.blocks += 1;
        if result.lost.is_older_than(newest.after) {
            result.newer.insert((volume.id, lba));
        }
        if let Some(data) = newest.rescue.take() {
            let from = self.reactor.shared.segments.of(newest.entry.pba());
            self.reactor.shared.segments.add_rescue(from);
            let (seq, moved) = (newest.seq, newest.moved);
            result.rescues.push(Rescue { from, at: newest.entry, volume: volume.id, lba, seq, moved, data });
            let before = candidates.split_last().expect("as above").1;
            if let Some(safe) = before.iter().rfind(|candidate| candidate.rescue.is_none()) {
                self.reactor.shared.controllers.replay_write(&volume.controller, lba, safe.entry);
            }
        } else {
            self.reactor.shared.controllers.replay_write(&volume.controller, lba, newest.entry);
        }
    }
}

fn key_of(common: &StripeCommon) -> StripeKey {
    (common.group, common.segment, common.segment_seq, common.start_row)
}

/// For each session, the sequence below which all its stripes were durable, as far as any header tells.
fn watermarks(stripes: &[FoundStripe]) -> BTreeMap<u64, u64> {
    let mut marks = BTreeMap::new();
    for stripe in stripes {
        let mark = marks.entry(stripe.common.session).or_insert(0);
        *mark = stripe.common.durable.max(*mark);
    }
    marks
}
