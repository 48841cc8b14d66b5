//! The set of contents that one block may legally show, now and after a power cut.
//!
//! A block is a register on which writes act atomically (4 KiB being the unit of atomicity) at some moment between
//! their start and their end. What it may hold is therefore a set of *candidates*: each a content together with which of
//! the writes in flight it already includes. The candidates reachable by letting more of the writes in flight happen, in
//! any order, are their closure. Exactly the linearizable histories are accepted.
//!
//! A log of the closures over time answers both questions: a read may return any content possible at some moment
//! between its start and its end; after a power cut the block may hold any content possible at some moment since the
//! start of the last flush that completed, and since the last FUA write of this block took effect.

use std::ops::Range;

use crate::content::{Content, Version};

/// Writes in flight on one block at the same time.
const MAX_WRITERS: usize = 3;
/// Contents that a block may have when nobody is writing to it.
const MAX_CANDIDATES: usize = 16;

/// What a write does to one block.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) range: Range<usize>,
    pub(crate) version: Version,
    /// False where the request is only advice (a trim of part of a block): it may have happened or not.
    pub(crate) certain: bool,
}

/// How a write ended, as far as the client knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Done,
    /// It failed, and each block may have been written or not.
    Failed,
}

#[derive(Clone, PartialEq, Eq)]
struct Candidate {
    content: Content,
    /// Bit n: includes the write in flight number n.
    includes: u32,
}

struct InFlight {
    number: u32,
    began: u64,
    change: Change,
}

struct LogEntry {
    since: u64,
    possible: Vec<Candidate>,
}

/// What a write of a block promises that has ended: nothing from before it is there any more.
#[derive(Default)]
struct Promise {
    /// When it ended.
    ended: u64,
    /// What the block may have held between its taking effect and its end.
    meanwhile: Vec<Content>,
    /// When another write of the block last began or ended while it was in flight: that one may be what came last, and is
    /// covered by a flush alone.
    beside: Option<u64>,
}

pub(crate) struct Block {
    candidates: Vec<Candidate>,
    in_flight: Vec<InFlight>,
    /// Empty as long as the block never changed: then the one candidate has been there for ever.
    log: Vec<LogEntry>,
    /// Of the last FUA write: it outlasts a power cut.
    fua: Promise,
    /// Of the last write that was answered: it outlasts a process that is killed, on a volume whose members have it by then.
    answered: Promise,
}

impl Default for Block {
    fn default() -> Self {
        Self::holding(Content::ZEROS)
    }
}

impl Block {
    fn holding(content: Content) -> Self {
        let candidates = vec![Candidate { content, includes: 0 }];
        let (fua, answered) = Default::default();
        Self { candidates, in_flight: Vec::new(), log: Vec::new(), fua, answered }
    }

    /// Whether another write should wait. Histories grow with the factorial of the writes in flight, and double with
    /// each request of which nobody knows whether it happened, until a read tells.
    pub(crate) fn is_crowded(&self) -> bool {
        self.in_flight.len() >= MAX_WRITERS || self.candidates.len() >= MAX_CANDIDATES
    }

    /// A write begins at `now`; the answer names it. Nothing before `horizon` will be asked for any more.
    pub(crate) fn begin(&mut self, change: Change, now: u64, horizon: u64) -> u32 {
        let oldest_writer = self.in_flight.iter().map(|w| w.began).min();
        self.forget_before(oldest_writer.map_or(horizon, |began| began.min(horizon)));
        if self.log.is_empty() {
            self.log.push(LogEntry { since: 0, possible: self.closure() });
        }
        let taken = self.in_flight.iter().fold(0_u32, |bits, w| bits | 1 << w.number);
        let number = taken.trailing_ones();
        assert!(number < 32, "more concurrent writes of a block than the oracle follows");
        self.in_flight.push(InFlight { number, began: now, change });
        self.note(now);
        number
    }

    /// The write that [`Block::begin`] named ends at `now`.
    pub(crate) fn end(&mut self, number: u32, ending: Ending, durable: bool, now: u64) {
        let bit = 1 << number;
        let at = self.in_flight.iter().position(|w| w.number == number).expect("the write is in flight");
        let must_include = ending == Ending::Done && self.in_flight[at].change.certain;
        let mut after = Vec::new();
        for mut candidate in self.closure() {
            if must_include && candidate.includes & bit == 0 {
                continue;
            }
            candidate.includes &= !bit;
            if !after.contains(&candidate) {
                after.push(candidate);
            }
        }
        if durable {
            self.fua = self.promise(at, &self.fua, now);
        }
        if must_include {
            self.answered = self.promise(at, &self.answered, now);
        }
        self.candidates = after;
        self.in_flight.swap_remove(at);
        self.note(now);
    }

    /// What the write at this index promises, which ends at `now`.
    fn promise(&self, at: usize, earlier: &Promise, now: u64) -> Promise {
        let began = self.in_flight[at].began;
        let beside = self.log.last().map(|entry| entry.since).filter(|&since| since > began);
        Promise { ended: now, meanwhile: self.held_with(at, earlier), beside }
    }

    /// What the block may have held since the write at this index took effect, as far as an earlier one's promise allows.
    fn held_with(&self, at: usize, earlier: &Promise) -> Vec<Content> {
        let write = &self.in_flight[at];
        let bit = 1 << write.number;
        let entries = self.log.iter().filter(|entry| entry.since >= write.began);
        let including = entries.flat_map(|entry| &entry.possible).filter(|candidate| candidate.includes & bit != 0);
        let mut held = distinct(including.map(|candidate| candidate.content.clone()));
        let allowed = self.survivors(0, earlier);
        held.retain(|content| allowed.contains(content));
        held
    }

    /// What is left where only a promise holds and what a flush has covered; `flushed` is the start of the last one that completed.
    fn survivors(&self, flushed: u64, promise: &Promise) -> Vec<Content> {
        let mut survivors = self.possible_since(flushed);
        if flushed < promise.ended {
            let since = self.possible_since(promise.ended);
            survivors.retain(|content| since.contains(content) || promise.meanwhile.contains(content));
        }
        survivors
    }

    /// Whether a read that began at `start` may return `bytes`; if nothing changed meanwhile, what it saw is what is
    /// there. The answer to "no" is what it might have returned.
    pub(crate) fn observe(&mut self, start: u64, matches: impl Fn(&Content) -> bool) -> Result<(), Vec<Content>> {
        let quiet = self.in_flight.is_empty() && self.log.last().is_none_or(|entry| entry.since <= start);
        if !quiet {
            let legal = self.possible_since(start);
            return if legal.iter().any(&matches) { Ok(()) } else { Err(legal) };
        }
        let (seen, unseen): (Vec<_>, Vec<_>) = self.candidates.drain(..).partition(|c| matches(&c.content));
        if seen.is_empty() {
            self.candidates = unseen;
            return Err(self.possible());
        }
        self.candidates = seen;
        if !unseen.is_empty() && !self.log.is_empty() {
            self.log.last_mut().expect("just looked").possible = self.candidates.clone();
        }
        Ok(())
    }

    /// Whether what was written last may be nowhere but in the devices' caches; `flushed` is the start of the last flush
    /// that completed.
    pub(crate) fn is_unflushed(&self, flushed: u64) -> bool {
        let by_fua = self.fua.beside.is_none_or(|at| at <= flushed).then_some(self.fua.ended);
        let durable = flushed.max(by_fua.unwrap_or(0));
        !self.in_flight.is_empty() || self.log.last().is_some_and(|entry| entry.since > durable)
    }

    /// The process was killed, and nothing else: what it had acknowledged is there, and of what was in flight anything. A power
    /// cut that comes before the next flush may leave what one before would have left.
    pub(crate) fn lose_process(&mut self, now: u64) {
        if !self.in_flight.is_empty() {
            self.may_hold(self.possible(), now);
        }
    }

    /// The same of a process whose memory is gone with it: of what was not answered anything, also where a read has seen it.
    pub(crate) fn lose_memory(&mut self, flushed: u64, now: u64) {
        if !self.log.is_empty() {
            self.may_hold(self.survivors(flushed, &self.answered), now);
        }
    }

    /// Nobody writes to it any more, and it holds one of these.
    fn may_hold(&mut self, contents: Vec<Content>, now: u64) {
        self.candidates = contents.into_iter().map(|content| Candidate { content, includes: 0 }).collect();
        self.in_flight.clear();
        self.note(now);
    }

    /// Power is cut; `flushed` is the start of the volume's last flush. What survives is durable from `now` on.
    pub(crate) fn lose_power(&mut self, flushed: u64, now: u64) {
        if self.log.is_empty() {
            return;
        }
        let survivors = self.survivors(flushed, &self.fua);
        self.candidates = survivors.into_iter().map(|content| Candidate { content, includes: 0 }).collect();
        self.in_flight.clear();
        self.log = vec![LogEntry { since: now, possible: self.candidates.clone() }];
    }

    /// The block ceases to be (its volume shrank); should it come back, it holds zeros.
    pub(crate) fn reset(&mut self) {
        *self = Self::default();
    }

    fn possible(&self) -> Vec<Content> {
        distinct(self.closure().into_iter().map(|candidate| candidate.content))
    }

    fn possible_since(&self, start: u64) -> Vec<Content> {
        let first = self.log.partition_point(|entry| entry.since <= start).saturating_sub(1);
        distinct(self.log[first..].iter().flat_map(|entry| &entry.possible).map(|candidate| candidate.content.clone()))
    }

    fn note(&mut self, now: u64) {
        let possible = self.closure();
        self.log.push(LogEntry { since: now, possible });
    }

    fn forget_before(&mut self, horizon: u64) {
        let first = self.log.partition_point(|entry| entry.since <= horizon).saturating_sub(1);
        self.log.drain(..first);
    }

    fn closure(&self) -> Vec<Candidate> {
        let mut all = self.candidates.clone();
        let mut next = 0;
        while next < all.len() {
            for write in &self.in_flight {
                let candidate = &all[next];
                if candidate.includes & (1 << write.number) != 0 {
                    continue;
                }
                let content = candidate.content.overlaid(write.change.range.clone(), write.change.version);
                let successor = Candidate { content, includes: candidate.includes | 1 << write.number };
                if !all.contains(&successor) {
                    all.push(successor);
                }
            }
            next += 1;
        }
        all
    }
}

fn distinct(contents: impl Iterator<Item = Content>) -> Vec<Content> {
    let mut all = Vec::new();
    for content in contents {
        if !all.contains(&content) {
            all.push(content);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use cygnus_types::BLOCK;

    use super::*;

    const NO_HORIZON: u64 = 0;

    fn whole(version: Version) -> Change {
        Change { range: 0..BLOCK, version, certain: true }
    }

    fn part(range: Range<usize>, version: Version) -> Change {
        Change { range, version, certain: true }
    }

    /// Versions of whole-block contents that a read at `start` may see.
    fn readable(block: &Block, start: u64) -> Vec<Content> {
        block.possible_since(start)
    }

    fn written(block: &mut Block, version: Version, at: u64) {
        let number = block.begin(whole(version), at, NO_HORIZON);
        block.end(number, Ending::Done, false, at + 1);
    }

    #[test]
    fn a_write_in_flight_may_be_seen_or_not_and_an_ended_one_must() {
        let mut block = Block::default();
        let number = block.begin(whole(1), 10, NO_HORIZON);
        assert_eq!(readable(&block, 11), [Content::ZEROS, Content::Whole(1)]);
        block.end(number, Ending::Done, false, 20);
        assert_eq!(readable(&block, 15), [Content::ZEROS, Content::Whole(1)], "the read began before the end");
        assert_eq!(readable(&block, 20), [Content::Whole(1)]);
    }

    #[test]
    fn concurrent_writes_end_in_either_order_and_merge() {
        let mut block = Block::default();
        let a = block.begin(part(0..1000, 1), 1, NO_HORIZON);
        let b = block.begin(part(500..2000, 2), 2, NO_HORIZON);
        block.end(a, Ending::Done, false, 3);
        block.end(b, Ending::Done, false, 4);
        let ab = Content::ZEROS.overlaid(0..1000, 1).overlaid(500..2000, 2);
        let ba = Content::ZEROS.overlaid(500..2000, 2).overlaid(0..1000, 1);
        let seen = readable(&block, 4);
        assert!(seen.len() == 2 && seen.contains(&ab) && seen.contains(&ba), "{seen:?}");
        assert_eq!(block.observe(5, |c| *c == ba), Ok(()));
        assert_eq!(block.observe(6, |c| *c == ab), Err(vec![ba]), "once seen, it stays");
    }

    #[test]
    fn power_cut_falls_back_to_the_flush_and_no_further() {
        let mut block = Block::default();
        written(&mut block, 1, 1);
        written(&mut block, 2, 3);
        written(&mut block, 3, 5);
        let number = block.begin(whole(4), 7, NO_HORIZON);
        block.lose_power(4, 8);
        assert_eq!(readable(&block, 8), [Content::Whole(2), Content::Whole(3), Content::Whole(4)]);
        assert_eq!(number, 0);
    }

    #[test]
    fn fua_is_durable_at_its_end() {
        let mut block = Block::default();
        written(&mut block, 1, 1);
        let number = block.begin(whole(2), 3, NO_HORIZON);
        block.end(number, Ending::Done, true, 4);
        block.lose_power(0, 5);
        assert_eq!(readable(&block, 5), [Content::Whole(2)]);
    }

    #[test]
    fn what_overtakes_a_fua_write_is_not_made_durable_by_it() {
        let mut block = Block::default();
        let fua = block.begin(whole(1), 1, NO_HORIZON);
        written(&mut block, 2, 2);
        written(&mut block, 3, 4);
        block.end(fua, Ending::Done, true, 6);
        let mut survivors = block.survivors(0, &block.fua);
        survivors.sort_by_key(|content| format!("{content:?}"));
        assert_eq!(survivors, [Content::Whole(1), Content::Whole(2), Content::Whole(3)]);
        assert_eq!(block.survivors(7, &block.fua).len(), 2, "version 2 was overwritten for certain before that flush");
    }

    #[test]
    fn what_ended_beside_a_fua_write_is_flushed_by_a_flush_alone() {
        let mut block = Block::default();
        let fua = block.begin(whole(1), 1, NO_HORIZON);
        block.end(fua, Ending::Done, true, 2);
        assert!(!block.is_unflushed(0));
        let fua = block.begin(whole(2), 3, NO_HORIZON);
        written(&mut block, 3, 4);
        block.end(fua, Ending::Done, true, 6);
        assert!(block.is_unflushed(4), "version 3 may have come last");
        assert!(!block.is_unflushed(5), "a flush that began when version 3 had ended covers it");
        assert!(!block.is_unflushed(6));
    }

    #[test]
    fn failed_or_advisory_writes_may_have_happened() {
        let mut block = Block::default();
        let number = block.begin(whole(1), 1, NO_HORIZON);
        block.end(number, Ending::Failed, false, 2);
        assert_eq!(readable(&block, 2), [Content::ZEROS, Content::Whole(1)]);
        let number = block.begin(Change { certain: false, ..part(0..512, 0) }, 3, NO_HORIZON);
        block.end(number, Ending::Done, false, 4);
        assert_eq!(readable(&block, 4).len(), 3);
    }

    #[test]
    fn what_was_seen_and_not_answered_may_go_with_the_process() {
        let seen_and_killed = |kept: bool| {
            let mut block = Block::default();
            written(&mut block, 1, 1);
            written(&mut block, 2, 3);
            let refused = block.begin(whole(3), 5, NO_HORIZON);
            block.end(refused, Ending::Failed, false, 6);
            block.observe(7, |content| *content == Content::Whole(3)).expect("it may have happened");
            if kept {
                block.lose_process(8)
            } else {
                block.lose_memory(0, 8)
            }
            readable(&block, 8)
        };
        assert_eq!(seen_and_killed(true), [Content::Whole(3)]);
        assert_eq!(seen_and_killed(false), [Content::Whole(2), Content::Whole(3)]);
    }

    #[test]
    fn the_log_is_cut_at_the_horizon() {
        let mut block = Block::default();
        for n in 0..100 {
            let now = u64::from(n) * 10;
            let number = block.begin(whole(n + 1), now + 1, now);
            block.end(number, Ending::Done, false, now + 2);
        }
        assert!(block.log.len() <= 4, "{} entries", block.log.len());
    }
}
