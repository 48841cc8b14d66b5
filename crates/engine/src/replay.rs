//! Recovery, steps "scan" and "replay": what was written after the checkpoint is found by the stripes' headers and put
//! into the maps; of several writes of a block the newest sequence wins.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use cygnus_format::{CheckpointRoot, Discard, Kind, MapEntry, Place, RootUse};
use cygnus_types::{GroupId, Lba, SegmentId, VolumeId};

use crate::parallel::for_each;
use crate::planted::{self, Bug};
use crate::reactor::Reactor;
use crate::scan::FoundStripe;
use crate::segments::SegIx;
use crate::tail::Verdict;

/// A block found behind the checkpoint.
struct Candidate {
    volume: VolumeId,
    lba: Lba,
    seq: u64,
    stripe_seq: u64,
    entry: MapEntry,
    /// Its data, if its stripe cannot protect it.
    rescue: Option<Box<[u8]>>,
}

/// A block that must be written anew before the array goes into service.
pub(crate) struct Rescue {
    /// Where it was found.
    pub from: SegIx,
    pub volume: VolumeId,
    pub lba: Lba,
    pub seq: u64,
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
    pub top_write_seq: u64,
    pub top_stripe_seq: u64,
    pub top_segment_seq: u64,
}

impl Reactor {
    /// Finds the stripes at or behind the checkpoint's barrier, in every segment that can have any.
    pub(crate) async fn scan_stripes(self: &Rc<Self>, root: Option<&CheckpointRoot>) -> Vec<FoundStripe> {
        let barrier = root.map_or(0, |r| r.barrier);
        let open: BTreeMap<(GroupId, SegmentId), u64> = root
            .iter()
            .flat_map(|r| &r.segments)
            .filter(|s| s.use_of == RootUse::Open)
            .map(|s| ((s.group, s.segment), s.segment_seq))
            .collect();
        let open = Rc::new(open);
        let all: Vec<SegIx> = (0..self.shared.segments.count()).map(SegIx).collect();
        let reactor = self.clone();
        let found = for_each(&self.rt, all, move |seg| {
            let (reactor, open) = (reactor.clone(), open.clone());
            async move { reactor.scan_segment(seg, barrier, &open).await }
        });
        found.await.into_iter().flatten().collect()
    }

    async fn scan_segment(
        self: &Rc<Self>,
        seg: SegIx,
        barrier: u64,
        open: &BTreeMap<(GroupId, SegmentId), u64>,
    ) -> Vec<FoundStripe> {
        let (group, segment) = self.shared.segments.locate(seg);
        let mut found = Vec::new();
        let Some(first) = self.stripe_at(group, segment, 0, None).await else { return found };
        let life = first.common.segment_seq;
        if first.common.stripe_seq < barrier && open.get(&(group, segment)) != Some(&life) {
            return found;
        }
        let mut next = Some(first);
        let mut newest = 0;
        while let Some(stripe) = next {
            // Sequences rise along a segment; anything else is a leftover.
            if stripe.common.stripe_seq < newest {
                break;
            }
            newest = stripe.common.stripe_seq;
            let row = stripe.common.end_row();
            if stripe.common.stripe_seq >= barrier {
                found.push(stripe);
            }
            next = self.stripe_at(group, segment, row, Some(life)).await;
        }
        found
    }

    /// Puts what was found into the maps.
    pub(crate) async fn replay(self: &Rc<Self>, stripes: Vec<FoundStripe>) -> Replayed {
        let mut result = Replayed { stripes: stripes.len(), ..Replayed::default() };
        let watermarks = watermarks(&stripes);
        let mut candidates = Vec::new();
        let mut discards: Vec<Discard> = Vec::new();
        let mut segments = BTreeSet::new();
        let mut broken = BTreeSet::new();
        for stripe in stripes {
            let common = stripe.common;
            segments.insert((common.group, common.segment));
            result.top_stripe_seq = result.top_stripe_seq.max(common.stripe_seq);
            result.top_segment_seq = result.top_segment_seq.max(common.segment_seq);
            discards.extend_from_slice(&stripe.discards);
            let durable = watermarks.get(&common.session).is_some_and(|&mark| common.stripe_seq < mark);
            let verdict = if durable {
                None
            } else {
                result.tail_stripes += 1;
                let mut verdict = self.judge_stripe(&stripe).await;
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
                let seg = self.shared.segments.index(common.group, common.segment);
                self.shared.segments.note_discard(seg, common.stripe_seq);
            }
            self.collect(&stripe, verdict, &mut candidates);
        }
        result.segments = segments.len();
        let tops = candidates.iter().map(|c| c.seq).chain(discards.iter().map(Discard::seq));
        result.top_write_seq = tops.max().unwrap_or(0);
        self.apply(candidates, discards, &mut result);
        result
    }

    fn collect(&self, stripe: &FoundStripe, verdict: Option<Verdict>, candidates: &mut Vec<Candidate>) {
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
                entry: MapEntry::new(self.shared.layout.pba(place), entry.crc()),
                rescue,
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
            let Some(volume) = self.shared.volume(discard.volume()) else { continue };
            for lba in discard.lba().0..discard.lba().0 + u64::from(discard.count()) {
                volume.map.clear(Lba(lba));
            }
        }
        let mut by_region = BTreeMap::<(VolumeId, u64), Vec<Discard>>::new();
        for discard in discards {
            let region = discard.lba().0 / crate::order::REGION_BLOCKS;
            by_region.entry((discard.volume(), region)).or_default().push(discard);
        }
        candidates.sort_by_key(|c| (c.volume, c.lba, c.seq, c.stripe_seq));
        candidates.retain(|candidate| {
            let lba = candidate.lba.0;
            let covers =
                |d: &Discard| (d.lba().0..d.lba().0 + u64::from(d.count())).contains(&lba) && d.seq() > candidate.seq;
            let region = (candidate.volume, lba / crate::order::REGION_BLOCKS);
            !by_region.get(&region).is_some_and(|all| all.iter().any(covers))
        });
        for of_block in candidates.chunk_by_mut(|a, b| (a.volume, a.lba) == (b.volume, b.lba)) {
            self.apply_to_block(of_block, result);
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
        let Some(volume) = self.shared.volume(newest.volume).filter(|v| lba.0 < v.blocks()) else { return };
        result.blocks += 1;
        if let Some(data) = newest.rescue.take() {
            let from = self.shared.segments.of(newest.entry.pba());
            self.shared.segments.add_rescue(from);
            result.rescues.push(Rescue { from, volume: volume.id, lba, seq: newest.seq, data });
            let before = candidates.split_last().expect("as above").1;
            if let Some(safe) = before.iter().rfind(|candidate| candidate.rescue.is_none()) {
                volume.map.swap(lba, safe.entry);
            }
        } else {
            volume.map.swap(lba, newest.entry);
        }
    }
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
