//! What clients may see: the truth about every volume, kept beside the array by those who write to it.

use std::collections::BTreeMap;
use std::ops::Range;

use cygnus_types::{Acknowledged, BLOCK, Nanos, Paging};

use crate::block::{Block, Change, Ending};
use crate::content::{self, Content, Place, Version};
use crate::forgone::Forgone;

/// Blocks of a volume of which each may be looked at.
const SMALL: u64 = 1 << 16;

/// The kinds of request that change blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Write,
    Zero,
    Trim,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Zero => "zero",
            Self::Trim => "trim",
        }
    }
}

/// One line of the story told when something is wrong.
#[derive(Clone, Debug)]
struct Record {
    at: Nanos,
    volume: u32,
    /// Bytes concerned; empty: the whole volume.
    bytes: Range<u64>,
    what: String,
}

/// A changing request between its start and its end.
pub(crate) struct Ticket {
    pub(crate) volume: u32,
    pub(crate) offset: u64,
    pub(crate) len: u64,
    pub(crate) version: Version,
    kind: Kind,
    /// Whether it is durable when it is answered.
    durable: bool,
    /// The blocks that it touches, and its number among the writes of each.
    numbers: Vec<(u64, u32)>,
    began: u64,
}

/// When something began: a read or flush between its start and its end, or what a client has not heard of yet.
#[derive(Clone, Copy)]
pub(crate) struct Since(u64);

/// The array showed something it must not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Violation {
    /// The oracle's number of the volume.
    pub volume: u32,
    /// Of the volume.
    pub block: u64,
    /// When the read ended.
    pub at: Nanos,
    /// What was shown.
    pub shown: Shown,
    /// Everything known about it, for people: where and when, what was seen, what would have been legal, what was done to the block.
    pub text: String,
}

/// What a read showed that it must not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// What the block held, or part of which it held, at another time, zeros among it.
    Earlier,
    /// Bytes that were never written there.
    Foreign,
}

struct Volume {
    size: u64,
    /// Where a write is when it is answered.
    level: Acknowledged,
    /// Blocks of a page.
    page: u64,
    /// Those that may ever have held anything, and all of a small volume; others are zeros.
    blocks: BTreeMap<u64, Block>,
    /// Start of the last flush that completed.
    flushed: u64,
    /// Starts of the reads under way.
    reads: Vec<u64>,
    exposed: BTreeMap<u64, Exposed>,
    /// When a flush said last that blocks were lost. Each client is told, whoever was told before it.
    told: u64,
    forgone: Forgone,
}

/// What was written to a block last may have been lost with the caches of devices.
#[derive(Clone, Copy)]
struct Exposed {
    /// When.
    at: u64,
    /// Whether a flush has said that something was lost since.
    told: bool,
    /// When something else was written there, or it was discarded: from then on it can be read, but it is as it was after a
    /// power cut that comes before the next flush.
    replaced: Option<u64>,
}

impl Volume {
    fn horizon(&self) -> u64 {
        self.reads.iter().copied().min().unwrap_or(u64::MAX).min(self.flushed)
    }

    fn block(&mut self, number: u64) -> &mut Block {
        self.blocks.entry(number).or_default()
    }

    /// The process is gone; what it had in memory is `kept` or not.
    fn lose_process(&mut self, now: u64, kept: bool) {
        let flushed = self.flushed;
        for block in self.blocks.values_mut() {
            if kept { block.lose_process(now) } else { block.lose_memory(flushed, now) }
        }
        self.reads.clear();
    }

    fn lose_power(&mut self, now: u64) {
        for block in self.blocks.values_mut() {
            block.lose_power(self.flushed, now);
        }
        self.flushed = now;
        self.reads.clear();
        self.forgone.lose_power();
        // Nobody is left to be told of what was lost before.
        for exposed in self.exposed.values_mut() {
            (exposed.told, exposed.replaced) = (true, None);
        }
    }

    fn is_small(&self) -> bool {
        self.size / BLOCK as u64 <= SMALL
    }

    /// Of a small volume a trim names each block: a write beside it may be the first one of its block.
    fn know_each(&mut self) {
        if self.is_small() {
            for number in 0..self.size / BLOCK as u64 {
                self.block(number);
            }
        }
    }

    /// Blocks of a volume that is not too large to look at each, else those that may hold anything.
    fn known(&self) -> Vec<u64> {
        if self.is_small() { (0..self.size / BLOCK as u64).collect() } else { self.blocks.keys().copied().collect() }
    }
}

/// The oracle of a run: all volumes, a clock of its own that orders what clients did, and the story so far.
#[derive(Default)]
pub(crate) struct Oracle {
    clock: u64,
    versions: Version,
    volumes: BTreeMap<u32, Volume>,
    next_volume: u32,
    story: Vec<Record>,
    pub(crate) reads: u64,
    pub(crate) writes: u64,
    pub(crate) flushes: u64,
    pub(crate) blocks_checked: u64,
}

impl Oracle {
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// Adds a line to the story of a volume.
    pub(crate) fn tell(&mut self, at: Nanos, volume: u32, bytes: Range<u64>, what: String) {
        self.story.push(Record { at, volume, bytes, what });
    }

    /// A new volume of `size` bytes, all zeros; the answer is its number in this run.
    pub(crate) fn create(&mut self, size: u64, level: Acknowledged, paging: Paging) -> u32 {
        let number = self.next_volume;
        self.next_volume += 1;
        let mut volume = Volume {
            size,
            level,
            page: paging.blocks().into(),
            blocks: BTreeMap::new(),
            flushed: 0,
            reads: Vec::new(),
            exposed: BTreeMap::new(),
            told: 0,
            forgone: Forgone::default(),
        };
        volume.know_each();
        self.volumes.insert(number, volume);
        number
    }

    /// Somebody will write these blocks of a large volume. A trim goes by those that are known when it begins: of a volume of
    /// billions of blocks it cannot name each.
    pub(crate) fn will_be_written(&mut self, volume: u32, offset: u64, len: u64) {
        for number in blocks_of(offset, len) {
            self.volume(volume).block(number);
        }
    }

    /// Blocks of a page of a volume: less is not discarded.
    pub(crate) fn page(&mut self, volume: u32) -> u64 {
        self.volume(volume).page
    }

    /// Blocks of a volume to look at in order to see all that it holds.
    pub(crate) fn known(&mut self, volume: u32) -> Vec<u64> {
        self.volume(volume).known()
    }

    /// The volume is no more.
    pub(crate) fn delete(&mut self, volume: u32) {
        self.volumes.remove(&volume);
    }

    /// The volume is about to be resized: what lies beyond its new size may go at any moment.
    pub(crate) fn will_resize(&mut self, volume: u32, size: u64) {
        let now = self.tick();
        let state = self.volume(volume);
        let horizon = state.horizon();
        for (_, block) in state.blocks.range_mut(size / BLOCK as u64..) {
            block.begin(Change { range: 0..BLOCK, version: 0, certain: true }, now, horizon);
        }
    }

    /// The volume has another size; what lies beyond it is gone, and zeros if it comes back.
    pub(crate) fn resize(&mut self, volume: u32, size: u64) {
        let volume = self.volume(volume);
        for (_, block) in volume.blocks.range_mut(size / BLOCK as u64..) {
            block.reset();
        }
        volume.forgone.resize(size / BLOCK as u64);
        volume.size = size;
        volume.know_each();
    }

    fn volume(&mut self, volume: u32) -> &mut Volume {
        self.volumes.get_mut(&volume).expect("the volume exists")
    }

    /// Whether some block of the range has so many possible histories that it should be read before it is written
    /// again.
    pub(crate) fn is_crowded(&mut self, volume: u32, offset: u64, len: u64) -> bool {
        self.volume(volume).blocks.range(blocks_of(offset, len)).any(|(_, block)| block.is_crowded())
    }

    /// A changing request is about to be made.
    pub(crate) fn begin(&mut self, volume: u32, kind: Kind, offset: u64, len: u64, fua: bool) -> Ticket {
        let version = if kind == Kind::Write {
            self.versions += 1;
            self.versions
        } else {
            0
        };
        let now = self.tick();
        self.writes += 1;
        let state = self.volume(volume);
        let horizon = state.horizon();
        let mut numbers = Vec::new();
        let page = state.page;
        let is_whole_page = |number: u64| holds_page_of(offset..offset + len, number, page);
        let mut begin = |number: u64, block: &mut Block| {
            let range = part_of(offset, len, number);
            let certain = kind != Kind::Trim || is_whole_page(number);
            numbers.push((number, block.begin(Change { range, version, certain }, now, horizon)));
        };
        match kind {
            Kind::Trim => state.blocks.range_mut(blocks_of(offset, len)).for_each(|(&n, block)| begin(n, block)),
            _ => blocks_of(offset, len).for_each(|n| begin(n, state.block(n))),
        }
        let durable = fua || state.level == Acknowledged::Durable;
        Ticket { volume, offset, len, version, kind, durable, numbers, began: now }
    }

    /// The request has ended.
    pub(crate) fn end(&mut self, ticket: &Ticket, ending: Ending, at: Nanos) {
        let now = self.tick();
        let durable = ticket.durable && ending == Ending::Done;
        let bytes = ticket.offset..ticket.offset + ticket.len;
        let fua = if ticket.durable { " durable" } else { "" };
        let what = match ticket.kind {
            Kind::Write => format!("write v{}{fua} {ending:?}", ticket.version),
            kind => format!("{kind:?}{fua} {ending:?}"),
        };
        self.tell(at, ticket.volume, bytes, what);
        let state = self.volume(ticket.volume);
        for &(block, number) in &ticket.numbers {
            state.block(block).end(number, ending, durable, now);
            // Of a page that is discarded in part the array need not discard anything.
            let is_whole = holds_page_of(ticket.offset..ticket.offset + ticket.len, block, state.page);
            let replaces = ticket.kind != Kind::Trim || is_whole;
            // What is written in part of one that nobody can read fails.
            if ending == Ending::Done && replaces {
                state.forgone.replaced(block, now, durable);
            }
            let exposed = state.exposed.get_mut(&block).filter(|exposed| exposed.at < ticket.began);
            if let Some(exposed) = exposed.filter(|_| replaces && ending == Ending::Done) {
                exposed.replaced = Some(now);
                if durable {
                    state.exposed.remove(&block);
                }
            }
        }
    }

    /// A read is about to be made.
    pub(crate) fn begin_read(&mut self, volume: u32) -> Since {
        let now = self.tick();
        self.reads += 1;
        self.volume(volume).reads.push(now);
        Since(now)
    }

    /// The read failed, so it says nothing.
    pub(crate) fn end_failed_read(&mut self, volume: u32, since: Since) {
        let reads = &mut self.volume(volume).reads;
        if let Some(at) = reads.iter().position(|&start| start == since.0) {
            reads.swap_remove(at);
        }
    }

    /// The read brought `bytes`.
    pub(crate) fn end_read(
        &mut self,
        volume: u32,
        offset: u64,
        bytes: &[u8],
        since: Since,
        at: Nanos,
    ) -> Result<(), Violation> {
        self.tick();
        self.end_failed_read(volume, since);
        let mut from = 0;
        for (number, range) in parts_of(offset, bytes.len() as u64) {
            let part = &bytes[from..from + range.len()];
            from += range.len();
            self.blocks_checked += 1;
            let place = Place { volume, block: number };
            let block = self.volume(volume).block(number);
            let observed = if range == (0..BLOCK) {
                block.observe(since.0, |content| content.matches(place, part))
            } else {
                block.observe(since.0, |content| content.matches_part(place, range.clone(), part))
            };
            if let Err(legal) = observed {
                return Err(self.violation(place, &range, part, &legal, at));
            }
        }
        Ok(())
    }

    /// What a new client of a volume has heard: nothing of what comes from now on.
    pub(crate) fn now(&self) -> Since {
        Since(self.clock)
    }

    /// A flush of a volume is about to be made.
    pub(crate) fn begin_flush(&mut self) -> Since {
        self.flushes += 1;
        Since(self.tick())
    }

    /// The flush succeeded.
    pub(crate) fn end_flush(&mut self, volume: u32, since: Since, at: Nanos) {
        self.tick();
        self.tell(at, volume, 0..0, "flush Done".into());
        let state = self.volume(volume);
        state.flushed = state.flushed.max(since.0);
        // What it covers is durable, or somebody has been told.
        let Volume { exposed, blocks, flushed, forgone, .. } = state;
        forgone.flushed(*flushed);
        exposed.retain(|number, of| match of.replaced {
            Some(at) => at >= *flushed,
            None => of.told || blocks.get(number).is_none_or(|block| block.is_unflushed(*flushed)),
        });
    }

    /// Devices have lost their caches, more of a group than its parity covers: whatever no flush has covered may be lost.
    pub(crate) fn caches_are_lost(&mut self) {
        let at = self.tick();
        for volume in self.volumes.values_mut() {
            let flushed = volume.flushed;
            for (&number, _) in volume.blocks.iter().filter(|(_, block)| block.is_unflushed(flushed)) {
                // A write that failed brings nothing back that had been lost before, and told of.
                let told = volume.exposed.get(&number).is_some_and(|of| of.told && of.replaced.is_none());
                volume.exposed.insert(number, Exposed { at, told, replaced: None });
            }
        }
    }

    /// A request has failed since blocks of its volume are lost. Whether that may be, if a flush of this client last ended at
    /// `heard`: a write that told of the loss does not keep the client's next flush from telling of it too.
    pub(crate) fn told_of_loss(&mut self, volume: u32, heard: Since, at: Nanos) -> bool {
        let now = self.tick();
        self.tell(at, volume, 0..0, "told of lost blocks".into());
        let state = self.volume(volume);
        if state.exposed.is_empty() {
            return state.told > heard.0;
        }
        state.exposed.values_mut().for_each(|exposed| exposed.told = true);
        state.told = now;
        true
    }

    /// Whether a block may be unreadable because it was lost with the caches of devices.
    pub(crate) fn may_be_lost(&mut self, volume: u32, block: u64) -> bool {
        self.volume(volume).exposed.get(&block).is_some_and(|exposed| exposed.replaced.is_none())
    }

    /// The array was opened by force: these blocks of a volume were read, and those cannot be. `in_doubt`: nor perhaps can
    /// blocks that nobody has tried.
    pub(crate) fn is_forgone(&mut self, volume: u32, readable: &[u64], gone: &[u64], in_doubt: bool) {
        self.volume(volume).forgone.begin(readable, gone, in_doubt);
    }

    /// Whether a block may be unreadable because the array was opened by force.
    pub(crate) fn may_be_forgone(&mut self, volume: u32, block: u64) -> bool {
        self.volume(volume).forgone.may_be_unreadable(block)
    }

    /// Blocks that are unreadable because the array was opened by force, and of each whether the array must know that.
    pub(crate) fn forgone(&mut self, volume: u32) -> Vec<(u64, bool)> {
        self.volume(volume).forgone.gone().collect()
    }

    /// Whether all that was acknowledged can be told: nothing was lost with the caches of devices or given up by force.
    pub(crate) fn is_plain(&self) -> bool {
        self.volumes.values().all(|volume| volume.exposed.is_empty() && volume.forgone.gone().next().is_none())
    }

    /// The process was killed, and no device has lost what it had taken. What volumes had acknowledged that answer when the
    /// members have it is there; what others had, if it is `kept`.
    pub(crate) fn lose_process(&mut self, at: Nanos, kept: bool) {
        let now = self.tick();
        let numbers: Vec<u32> = self.volumes.keys().copied().collect();
        for number in numbers {
            let volume = self.volume(number);
            let keeps = kept || volume.level >= Acknowledged::Written;
            if keeps {
                volume.lose_process(now, kept)
            } else {
                volume.lose_power(now)
            }
            let what = if keeps { "process killed, all is kept" } else { "process killed" };
            self.tell(at, number, 0..0, what.into());
        }
    }

    /// Power was cut, or the process killed: whatever was not durable may be gone.
    pub(crate) fn lose_power(&mut self, at: Nanos, what: &str) {
        let now = self.tick();
        let numbers: Vec<u32> = self.volumes.keys().copied().collect();
        for number in numbers {
            self.volume(number).lose_power(now);
            self.tell(at, number, 0..0, what.to_owned());
        }
    }

    fn violation(&self, place: Place, range: &Range<usize>, seen: &[u8], legal: &[Content], at: Nanos) -> Violation {
        let mut block = vec![0; BLOCK];
        block[range.clone()].copy_from_slice(seen);
        let part = if *range == (0..BLOCK) { String::new() } else { format!(" (bytes {range:?} of the block)") };
        let mut text = format!(
            "volume {} block {} at {at}{part}\n  seen:   {}\n  legal:  {legal:?}\n  story of the block:",
            place.volume,
            place.block,
            content::describe(&block),
        );
        let bytes = place.block * BLOCK as u64..(place.block + 1) * BLOCK as u64;
        let concerns = |r: &&Record| {
            r.volume == place.volume && (r.bytes.is_empty() || r.bytes.start < bytes.end && bytes.start < r.bytes.end)
        };
        let all: Vec<&Record> = self.story.iter().filter(concerns).collect();
        for record in &all[all.len().saturating_sub(40)..] {
            let range = if record.bytes.is_empty() { String::new() } else { format!(" bytes {:?}", record.bytes) };
            text += &format!("\n    {:>10} {}{range}", record.at.to_string(), record.what);
        }
        let at_another_time = content::is_patchwork(place, self.versions, range.clone(), seen);
        let shown = if at_another_time { Shown::Earlier } else { Shown::Foreign };
        Violation { volume: place.volume, block: place.block, at, shown, text }
    }
}

fn blocks_of(offset: u64, len: u64) -> Range<u64> {
    offset / BLOCK as u64..(offset + len).div_ceil(BLOCK as u64)
}

/// The blocks a request touches, each with the bytes of the block that it covers.
fn parts_of(offset: u64, len: u64) -> impl Iterator<Item = (u64, Range<usize>)> {
    blocks_of(offset, len).map(move |number| (number, part_of(offset, len, number)))
}

/// The bytes of a block that a request covers.
fn part_of(offset: u64, len: u64, number: u64) -> Range<usize> {
    let start = number * BLOCK as u64;
    let from = offset.saturating_sub(start) as usize;
    let to = (offset + len - start).min(BLOCK as u64) as usize;
    from..to
}

/// Whether a range of bytes has all of the page of a block.
fn holds_page_of(bytes: Range<u64>, number: u64, page: u64) -> bool {
    let first = number / page * page * BLOCK as u64;
    bytes.start <= first && first + page * BLOCK as u64 <= bytes.end
}

impl Ticket {
    /// Fills `bytes` with what the request is to write.
    pub(crate) fn fill(&self, bytes: &mut [u8]) {
        let mut from = 0;
        for (number, range) in parts_of(self.offset, self.len) {
            let place = Place { volume: self.volume, block: number };
            let part = &mut bytes[from..from + range.len()];
            from += range.len();
            content::fill(place, self.version, range, part);
        }
    }
}
