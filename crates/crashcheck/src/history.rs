//! From the log of a round, which versions may each sector show?
//!
//! NBD orders two requests only if the first was answered before the second was sent. Ticks of one counter
//! record exactly that: `begin` is drawn before the first byte is sent, `end` after the reply has arrived, so
//! `a.end < b.begin` means that `a` came first, and anything else means that either order is right.
//!
//! A write is *durable* once it was answered with FUA, or answered before a flush was sent that was itself
//! answered (on any connection, as MULTI_CONN promises). After a crash a sector may show any write that no
//! durable write comes after: the durable one itself, one concurrent with it, a later one that was never
//! flushed or even never answered. Anything older was lost or reverted.
//!
//! What a restarted server shows is what it has recovered: from then on that version alone is right, until
//! something else is written. A version that flickers between two recoveries is therefore caught.

use crate::sector::{Seen, Version};
use std::fmt;

/// A point in the order of sending and receiving; see the module's head.
pub type Tick = u64;

/// The `end` of an operation that was never answered, or answered with an error.
pub const NEVER: Tick = Tick::MAX;

/// What an operation leaves in the sectors it covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Contents of [`crate::sector`] with the operation's number.
    Data,
    /// Zeros: WRITE_ZEROES, or TRIM, which this server promises to read back as zeros.
    Zeros,
}

/// One write, zeroing or trim.
#[derive(Clone, Debug)]
pub struct Op {
    /// Its number; unique for the life of the checker.
    pub version: Version,
    /// What it leaves behind.
    pub effect: Effect,
    /// First sector of the range, of 512 bytes.
    pub first: u64,
    /// Length of the range in sectors.
    pub sectors: u64,
    /// Durable by itself once answered.
    pub fua: bool,
    /// Before it was sent.
    pub begin: Tick,
    /// After it was answered, or [`NEVER`].
    pub end: Tick,
}

/// A flush that was answered without error.
#[derive(Clone, Copy, Debug)]
pub struct Flush {
    /// Before it was sent: writes answered earlier are covered.
    pub begin: Tick,
}

/// A read done while the load ran.
#[derive(Clone, Debug)]
pub struct LiveRead {
    /// Before it was sent.
    pub begin: Tick,
    /// After all of its data had arrived.
    pub end: Tick,
    /// First sector of the range, of 512 bytes.
    pub first: u64,
    /// What each sector showed.
    pub seen: Vec<Seen>,
}

/// Everything logged between two restarts.
#[derive(Debug, Default)]
pub struct Log {
    /// Writes, zeroings and trims of all connections, in any order.
    pub ops: Vec<Op>,
    /// Flushes that were answered, with when they began and ended.
    pub flushes: Vec<Flush>,
    /// Reads that were answered while the server lived.
    pub reads: Vec<LiveRead>,
}

/// How the server ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// SIGKILL: what was not flushed may be gone.
    Killed,
    /// SIGKILL of a server that says that nothing answered is lost by it.
    KilledKept,
    /// SIGTERM and exit code 0: every answered write must be there.
    Stopped,
}

/// What is wrong with a sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Older than a flushed write.
    LostFlushed,
    /// A version that had already been replaced, or lost, at an earlier restart.
    Resurrected,
    /// Contents of another sector or another array.
    FromElsewhere,
    /// Torn or corrupted contents.
    Garbage,
    /// A read during the load showed something older than a write answered before it was sent.
    StaleRead,
}

/// One sector judged wrong, with what is needed to understand it.
#[derive(Clone, Debug)]
pub struct Violation {
    /// Which sector of the volume.
    pub sector: u64,
    /// What a read brought from it.
    pub seen: Seen,
    /// Why that is wrong.
    pub fault: Fault,
    /// The operations that touched the sector, oldest first.
    pub story: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let byte = self.sector * crate::sector::SECTOR as u64;
        write!(
            f,
            "{:?}: sector {} (byte {byte:#x}, block {}) shows {:?}; {}",
            self.fault,
            self.sector,
            byte / 4096,
            self.seen,
            self.story
        )
    }
}

/// What a round's verdict rests on; a round in which these stay zero has proved nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Sectors with a write of this round that had to survive.
    pub durable: u64,
    /// Sectors whose newest write was answered but not flushed, and is there.
    pub unflushed_kept: u64,
    /// Likewise, and is not there.
    pub unflushed_lost: u64,
    /// Sectors checked by reads during the load.
    pub live: u64,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.durable += other.durable;
        self.unflushed_kept += other.unflushed_kept;
        self.unflushed_lost += other.unflushed_lost;
        self.live += other.live;
    }
}

/// The version each sector is known to show, as of the last restart.
#[derive(Debug)]
pub struct Settled {
    versions: Vec<Version>,
}

impl Settled {
    /// A volume of `sectors` sectors never written.
    pub fn blank(sectors: u64) -> Self {
        Settled { versions: vec![0; sectors as usize] }
    }

    /// Judges the round's live reads and `readback`, one entry per sector of the volume, and settles on what was read.
    pub fn judge(&mut self, log: &Log, ending: Ending, readback: &[Seen]) -> (Vec<Violation>, Tally) {
        assert_eq!(readback.len(), self.versions.len(), "every sector is read back");
        let index = Index::new(log, self.versions.len());
        let mut tally = Tally::default();
        let mut violations = self.judge_reads(log, &index, &mut tally);
        let last_flush = log.flushes.iter().map(|f| f.begin).max().unwrap_or(0);
        for (sector, &seen) in readback.iter().enumerate() {
            let past = Past { settled: self.versions[sector], ops: index.of(log, sector) };
            let all = ending != Ending::Killed;
            let durable = |op: &Op| op.end != NEVER && (op.fua || op.end < last_flush || all);
            let bar = past.newest_begin(durable);
            match past.find(seen, bar, NEVER) {
                Ok(version) => {
                    past.count(bar, version, seen, &mut tally);
                    self.versions[sector] = version;
                }
                Err(fault) => {
                    violations.push(Violation { sector: sector as u64, seen, fault, story: past.story(durable) });
                }
            }
        }
        (violations, tally)
    }

    fn judge_reads(&self, log: &Log, index: &Index, tally: &mut Tally) -> Vec<Violation> {
        let mut violations = Vec::new();
        for read in &log.reads {
            for (sector, &seen) in (read.first..).zip(&read.seen) {
                tally.live += 1;
                let past = Past { settled: self.versions[sector as usize], ops: index.of(log, sector as usize) };
                let answered = |op: &Op| op.end < read.begin;
                let bar = past.newest_begin(answered);
                let Err(fault) = past.find(seen, bar, read.end) else { continue };
                // NBD promises no atomicity between a read and a write under way at the same time.
                if fault == Fault::Garbage && past.ops.clone().any(|op| op.begin < read.end && op.end > read.begin) {
                    continue;
                }
                let fault = if fault == Fault::LostFlushed { Fault::StaleRead } else { fault };
                let story = format!("read at {}..{}; {}", read.begin, read.end, past.story(answered));
                violations.push(Violation { sector, seen, fault, story });
            }
        }
        violations
    }
}

/// One sector's possible contents: what was settled, and the operations of this round that cover it.
struct Past<I> {
    settled: Version,
    ops: I,
}

impl<'a, I: Iterator<Item = &'a Op> + Clone> Past<I> {
    /// The begin of the newest operation among those that must have happened; 0 if there is none.
    fn newest_begin(&self, must: impl Fn(&Op) -> bool) -> Tick {
        self.ops.clone().filter(|op| must(op)).map(|op| op.begin).max().unwrap_or(0)
    }

    /// Finds the version that explains `seen`: not followed by an operation that must have happened (`bar`), begun before `until`.
    fn find(&self, seen: Seen, bar: Tick, until: Tick) -> Result<Version, Fault> {
        let may = |op: &&Op| op.end >= bar && op.begin < until;
        match seen {
            Seen::Elsewhere { .. } => Err(Fault::FromElsewhere),
            Seen::Garbage { .. } => Err(Fault::Garbage),
            Seen::Zeros => {
                let zeroed = self.ops.clone().filter(may).any(|op| op.effect == Effect::Zeros);
                let never_written = bar == 0 && self.settled == 0;
                if zeroed || never_written { Ok(0) } else { Err(Fault::LostFlushed) }
            }
            Seen::Written(version) if version == self.settled => {
                if bar == 0 {
                    Ok(version)
                } else {
                    Err(Fault::LostFlushed)
                }
            }
            Seen::Written(version) => {
                let mut same = self.ops.clone().filter(|op| op.version == version && op.effect == Effect::Data);
                match same.next() {
                    None => Err(Fault::Resurrected),
                    Some(op) if may(&op) => Ok(version),
                    Some(_) => Err(Fault::LostFlushed),
                }
            }
        }
    }

    fn count(&self, bar: Tick, version: Version, seen: Seen, tally: &mut Tally) {
        tally.durable += u64::from(bar > 0);
        let Some(newest) = self.ops.clone().filter(|op| op.end != NEVER).max_by_key(|op| op.begin) else { return };
        if newest.begin <= bar {
            return;
        }
        let kept = match newest.effect {
            Effect::Data => newest.version == version,
            Effect::Zeros => seen == Seen::Zeros,
        };
        tally.unflushed_kept += u64::from(kept);
        tally.unflushed_lost += u64::from(!kept);
    }

    fn story(&self, must: impl Fn(&Op) -> bool) -> String {
        let mut story = format!("before this round: {}", name(self.settled));
        for op in self.ops.clone() {
            let what = if op.effect == Effect::Zeros { "zeros by " } else { "" };
            let end = if op.end == NEVER { "never answered".to_owned() } else { format!("answered {}", op.end) };
            let fua = if op.fua { ", FUA" } else { "" };
            let must = if must(op) { ", REQUIRED" } else { "" };
            let range = format!("sectors {}+{}", op.first, op.sectors);
            story += &format!(" -> {what}#{} ({range}, sent {}, {end}{fua}{must})", op.version, op.begin);
        }
        story
    }
}

fn name(version: Version) -> String {
    if version == 0 { "zeros".to_owned() } else { format!("#{version}") }
}

/// For each sector, the operations that cover it, oldest first: one flat list and where each sector's part starts.
struct Index {
    starts: Vec<u32>,
    ops: Vec<u32>,
}

impl Index {
    fn new(log: &Log, sectors: usize) -> Self {
        let mut order: Vec<u32> = (0..log.ops.len() as u32).collect();
        order.sort_unstable_by_key(|&i| log.ops[i as usize].begin);
        let covered = |i: u32| {
            let op = &log.ops[i as usize];
            op.first as usize..(op.first + op.sectors) as usize
        };
        let mut starts = vec![0u32; sectors + 1];
        for &i in &order {
            covered(i).for_each(|s| starts[s + 1] += 1);
        }
        for s in 0..sectors {
            starts[s + 1] += starts[s];
        }
        let mut next = starts.clone();
        let mut ops = vec![0; starts[sectors] as usize];
        for &i in &order {
            for s in covered(i) {
                ops[next[s] as usize] = i;
                next[s] += 1;
            }
        }
        Index { starts, ops }
    }

    fn of<'a>(&'a self, log: &'a Log, sector: usize) -> impl Iterator<Item = &'a Op> + Clone {
        let range = self.starts[sector] as usize..self.starts[sector + 1] as usize;
        self.ops[range].iter().map(|&i| &log.ops[i as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn op(version: Version, begin: Tick, end: Tick) -> Op {
        Op { version, effect: Effect::Data, first: 0, sectors: 1, fua: false, begin, end }
    }

    fn zeros(version: Version, begin: Tick, end: Tick) -> Op {
        Op { effect: Effect::Zeros, ..op(version, begin, end) }
    }

    /// Judges one sector that showed version 1 before the round.
    fn verdict(ops: &[Op], flushes: &[Tick], ending: Ending, seen: Seen) -> Option<Fault> {
        let mut settled = Settled { versions: vec![1] };
        let flushes = flushes.iter().map(|&begin| Flush { begin }).collect();
        let log = Log { ops: ops.to_vec(), flushes, reads: Vec::new() };
        let (violations, _) = settled.judge(&log, ending, &[seen]);
        violations.first().map(|v| v.fault)
    }

    fn killed(ops: &[Op], flushes: &[Tick], seen: Seen) -> Option<Fault> {
        verdict(ops, flushes, Ending::Killed, seen)
    }

    #[test]
    fn unflushed_writes_may_go_or_stay() {
        let ops = [op(2, 10, 20), op(3, 30, 40), op(4, 50, NEVER)];
        for version in 1..=4 {
            assert_eq!(killed(&ops, &[], Seen::Written(version)), None);
        }
        assert_eq!(killed(&ops, &[], Seen::Zeros), Some(Fault::LostFlushed));
        assert_eq!(killed(&ops, &[], Seen::Written(9)), Some(Fault::Resurrected));
    }

    #[test]
    fn a_flush_covers_what_was_answered_before_it_was_sent() {
        let ops = [op(2, 10, 20), op(3, 30, 40)];
        assert_eq!(killed(&ops, &[25], Seen::Written(1)), Some(Fault::LostFlushed));
        assert_eq!(killed(&ops, &[25], Seen::Written(2)), None);
        assert_eq!(killed(&ops, &[35], Seen::Written(2)), None);
        assert_eq!(killed(&ops, &[45], Seen::Written(2)), Some(Fault::LostFlushed));
        assert_eq!(killed(&ops, &[45, 5], Seen::Written(3)), None);
        assert_eq!(killed(&ops, &[15], Seen::Written(1)), None);
    }

    #[test]
    fn concurrent_writes_may_land_in_either_order() {
        let ops = [op(2, 10, 30), op(3, 20, 40)];
        assert_eq!(killed(&ops, &[50], Seen::Written(2)), None);
        assert_eq!(killed(&ops, &[50], Seen::Written(3)), None);
        assert_eq!(killed(&ops, &[50], Seen::Written(1)), Some(Fault::LostFlushed));
    }

    #[test]
    fn fua_is_durable_alone_and_only_when_answered() {
        let fua = |end| [op(2, 5, 7), Op { fua: true, ..op(3, 10, end) }];
        assert_eq!(killed(&fua(20), &[], Seen::Written(2)), Some(Fault::LostFlushed));
        assert_eq!(killed(&fua(NEVER), &[], Seen::Written(1)), None);
    }

    #[test]
    fn zeros_are_a_version_like_any_other() {
        assert_eq!(killed(&[zeros(2, 10, 20)], &[30], Seen::Zeros), None);
        assert_eq!(killed(&[zeros(2, 10, 20)], &[30], Seen::Written(1)), Some(Fault::LostFlushed));
        assert_eq!(killed(&[zeros(2, 10, 20), op(3, 40, 50)], &[60], Seen::Zeros), Some(Fault::LostFlushed));
        assert_eq!(killed(&[zeros(2, 10, 20)], &[], Seen::Written(2)), Some(Fault::Resurrected));
    }

    #[test]
    fn a_clean_stop_keeps_all_that_was_answered() {
        let ops = [op(2, 10, 20), op(3, 30, NEVER)];
        assert_eq!(verdict(&ops, &[], Ending::Stopped, Seen::Written(1)), Some(Fault::LostFlushed));
        assert_eq!(verdict(&ops, &[], Ending::Stopped, Seen::Written(2)), None);
        assert_eq!(verdict(&ops, &[], Ending::Stopped, Seen::Written(3)), None);
        assert_eq!(verdict(&ops, &[], Ending::KilledKept, Seen::Written(1)), Some(Fault::LostFlushed));
        assert_eq!(verdict(&ops, &[], Ending::KilledKept, Seen::Written(2)), None);
    }

    #[test]
    fn what_was_read_back_is_settled() {
        let mut settled = Settled { versions: vec![1] };
        let log = Log { ops: vec![op(2, 10, 20)], ..Log::default() };
        assert!(settled.judge(&log, Ending::Killed, &[Seen::Written(1)]).0.is_empty());
        let (violations, _) = settled.judge(&Log::default(), Ending::Killed, &[Seen::Written(2)]);
        assert_eq!(violations[0].fault, Fault::Resurrected);
    }

    #[test]
    fn live_reads_see_every_answered_write() {
        let read = |begin, end, seen| LiveRead { begin, end, first: 0, seen: vec![seen] };
        let judge = |r: LiveRead| {
            let ops = vec![op(2, 10, 20), op(3, 30, 40)];
            let log = Log { ops, flushes: Vec::new(), reads: vec![r] };
            let mut settled = Settled { versions: vec![1] };
            settled.judge(&log, Ending::Killed, &[Seen::Written(3)]).0.first().map(|v| v.fault)
        };
        assert_eq!(judge(read(25, 28, Seen::Written(2))), None);
        assert_eq!(judge(read(25, 28, Seen::Written(1))), Some(Fault::StaleRead));
        assert_eq!(judge(read(25, 28, Seen::Written(3))), Some(Fault::StaleRead));
        assert_eq!(judge(read(15, 35, Seen::Written(1))), None);
        assert_eq!(judge(read(15, 35, Seen::Written(3))), None);
        assert_eq!(judge(read(15, 35, Seen::Garbage { at: 9 })), None);
        assert_eq!(judge(read(25, 28, Seen::Garbage { at: 9 })), Some(Fault::Garbage));
    }
}
