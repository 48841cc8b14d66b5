//! What clients may see: the truth about every volume, kept beside the array by those who write to it.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use cygnus_types::{BLOCK, Nanos};

use crate::block::{Block, Change, Ending};
use crate::content::{self, Content, Place, Version};

/// The kinds of request that change blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Write,
    Zero,
    Trim,
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
    fua: bool,
    /// Number of the write in each block it touches, from the first on.
    numbers: Vec<u32>,
}

/// A read or flush between its start and its end: when it began.
#[derive(Clone, Copy)]
pub(crate) struct Since(u64);

/// The array showed something it must not.
#[derive(Clone, Debug)]
pub struct Violation {
    /// Everything known about it, for people.
    pub text: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

struct Volume {
    blocks: Vec<Block>,
    /// Start of the last flush that completed.
    flushed: u64,
    /// Starts of the reads under way.
    reads: Vec<u64>,
}

impl Volume {
    fn horizon(&self) -> u64 {
        self.reads.iter().copied().min().unwrap_or(u64::MAX).min(self.flushed)
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
    pub(crate) fn create(&mut self, size: u64) -> u32 {
        let number = self.next_volume;
        self.next_volume += 1;
        let mut volume = Volume { blocks: Vec::new(), flushed: 0, reads: Vec::new() };
        volume.blocks.resize_with((size / BLOCK as u64) as usize, Block::default);
        self.volumes.insert(number, volume);
        number
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
        for block in state.blocks.iter_mut().skip((size / BLOCK as u64) as usize) {
            block.begin(Change { range: 0..BLOCK, version: 0, certain: true }, now, horizon);
        }
    }

    /// The volume has another size; what lies beyond it is gone, and zeros if it comes back.
    pub(crate) fn resize(&mut self, volume: u32, size: u64) {
        let blocks = (size / BLOCK as u64) as usize;
        let volume = self.volume(volume);
        for block in volume.blocks.iter_mut().skip(blocks) {
            block.reset();
        }
        volume.blocks.resize_with(blocks, Block::default);
    }

    fn volume(&mut self, volume: u32) -> &mut Volume {
        self.volumes.get_mut(&volume).expect("the volume exists")
    }

    /// Whether some block of the range has so many possible histories that it should be read before it is written
    /// again.
    pub(crate) fn is_crowded(&mut self, volume: u32, offset: u64, len: u64) -> bool {
        self.volume(volume).blocks[blocks_of(offset, len)].iter().any(Block::is_crowded)
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
        let mut numbers = Vec::with_capacity((len / BLOCK as u64) as usize + 2);
        for (number, range) in parts_of(offset, len) {
            let certain = kind != Kind::Trim || range == (0..BLOCK);
            numbers.push(state.blocks[number].begin(Change { range, version, certain }, now, horizon));
        }
        Ticket { volume, offset, len, version, kind, fua, numbers }
    }

    /// The request has ended.
    pub(crate) fn end(&mut self, ticket: &Ticket, ending: Ending, at: Nanos) {
        let now = self.tick();
        let durable = ticket.fua && ending == Ending::Done;
        let bytes = ticket.offset..ticket.offset + ticket.len;
        let fua = if ticket.fua { " FUA" } else { "" };
        let what = match ticket.kind {
            Kind::Write => format!("write v{}{fua} {ending:?}", ticket.version),
            kind => format!("{kind:?}{fua} {ending:?}"),
        };
        self.tell(at, ticket.volume, bytes, what);
        let first = (ticket.offset / BLOCK as u64) as usize;
        let state = self.volume(ticket.volume);
        for (n, number) in ticket.numbers.iter().enumerate() {
            state.blocks[first + n].end(*number, ending, durable, now);
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
            let place = Place { volume, block: number as u64 };
            let block = &mut self.volume(volume).blocks[number];
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
    }

    /// Power was cut, or the process killed: whatever was not durable may be gone.
    pub(crate) fn lose_power(&mut self, at: Nanos, what: &str) {
        let now = self.tick();
        let mut lines = Vec::new();
        for (number, volume) in &mut self.volumes {
            for block in &mut volume.blocks {
                block.lose_power(volume.flushed, now);
            }
            volume.flushed = now;
            volume.reads.clear();
            lines.push(*number);
        }
        for volume in lines {
            self.tell(at, volume, 0..0, what.to_owned());
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
        Violation { text }
    }
}

fn blocks_of(offset: u64, len: u64) -> Range<usize> {
    (offset / BLOCK as u64) as usize..(offset + len).div_ceil(BLOCK as u64) as usize
}

/// The blocks a request touches, each with the bytes of the block that it covers.
fn parts_of(offset: u64, len: u64) -> impl Iterator<Item = (usize, Range<usize>)> {
    blocks_of(offset, len).map(move |number| {
        let start = number as u64 * BLOCK as u64;
        let from = offset.saturating_sub(start) as usize;
        let to = ((offset + len - start) as usize).min(BLOCK);
        (number, from..to)
    })
}

impl Ticket {
    /// Fills `bytes` with what the request is to write.
    pub(crate) fn fill(&self, bytes: &mut [u8]) {
        let mut from = 0;
        for (number, range) in parts_of(self.offset, self.len) {
            let place = Place { volume: self.volume, block: number as u64 };
            let part = &mut bytes[from..from + range.len()];
            from += range.len();
            content::fill(place, self.version, range, part);
        }
    }
}
