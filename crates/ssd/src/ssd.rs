//! The drive: commands in, completions out, and the host-side stages between.

use std::collections::VecDeque;

use cygnus_types::{BLOCK, Nanos};

use crate::cache::WriteCache;
use crate::config::{ConfigError, SsdConfig};
use crate::counters::Counters;
use crate::die::{Channel, Die};
use crate::event::{EventQueue, Stage};
use crate::ftl::{Ftl, Place};

/// Pages that a command moves over the link before others get a turn.
const LINK_CHUNK: u32 = 8;

/// What the host asks for, in blocks of 4 KiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Read.
    Read {
        /// First block.
        lba: u64,
        /// Blocks, at least 1.
        blocks: u32,
    },
    /// Write; complete when in the write cache.
    Write {
        /// First block.
        lba: u64,
        /// Blocks, at least 1.
        blocks: u32,
        /// Complete only when durable (and everything cached before it).
        fua: bool,
    },
    /// The host no longer needs these blocks.
    Trim {
        /// First block.
        lba: u64,
        /// Blocks, at least 1.
        blocks: u32,
    },
    /// Make everything durable that completed before.
    Flush,
}

/// A completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// The command's id, as submitted.
    pub id: u64,
    /// When.
    pub at: Nanos,
    /// When it had been submitted.
    pub submitted: Nanos,
}

/// A command on its way through the drive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transit {
    id: u64,
    submitted: Nanos,
    command: Command,
    /// Pages already moved over the link, or into the cache.
    moved: u32,
    cached: u32,
    /// Senses and transfers still to come.
    pub(crate) pieces: u32,
}

impl Transit {
    fn pages(&self) -> u32 {
        match self.command {
            Command::Read { blocks, .. } | Command::Write { blocks, .. } | Command::Trim { blocks, .. } => blocks,
            Command::Flush => 0,
        }
    }

    fn lba(&self) -> u32 {
        match self.command {
            Command::Read { lba, .. } | Command::Write { lba, .. } | Command::Trim { lba, .. } => lba as u32,
            Command::Flush => 0,
        }
    }
}

/// A modelled SSD. Clone it to keep a snapshot.
#[derive(Clone, Debug)]
pub struct Ssd {
    pub(crate) config: SsdConfig,
    pub(crate) ftl: Ftl,
    pub(crate) cache: WriteCache,
    pub(crate) counters: Counters,
    pub(crate) events: EventQueue,
    pub(crate) now: Nanos,
    pub(crate) dies: Vec<Die>,
    pub(crate) channels: Vec<Channel>,
    /// Dies that may be idle; each at most once.
    pub(crate) idle: VecDeque<u32>,
    transits: Vec<Transit>,
    unused: Vec<u32>,
    outstanding: u32,
    /// Beyond the queue depth.
    outside: VecDeque<u32>,
    firmware: VecDeque<u32>,
    links: [VecDeque<u32>; 2],
    /// Writes whose pages arrived but are not all in the cache: transit and pages that arrived.
    admitting: VecDeque<(u32, u32)>,
    /// Flushes, and the cache epoch that each waits for.
    flushes: VecDeque<(u32, u64)>,
}

impl Ssd {
    /// A new, empty drive.
    pub fn new(config: SsdConfig) -> Result<Ssd, ConfigError> {
        let shape = config.shape()?;
        let dies = shape.dies;
        Ok(Ssd {
            cache: WriteCache::new(shape.cache_slots),
            ftl: Ftl::new(shape),
            counters: Counters::default(),
            events: EventQueue::default(),
            now: Nanos::ZERO,
            dies: (0..dies).map(|_| Die::default()).collect(),
            channels: (0..config.flash.channels).map(|_| Channel::default()).collect(),
            idle: (0..dies).collect(),
            transits: Vec::new(),
            unused: Vec::new(),
            outstanding: 0,
            outside: VecDeque::new(),
            firmware: VecDeque::new(),
            links: Default::default(),
            admitting: VecDeque::new(),
            flushes: VecDeque::new(),
            config,
        })
    }

    /// How it is made.
    pub fn config(&self) -> &SsdConfig {
        &self.config
    }

    /// Capacity in blocks of 4 KiB.
    pub fn blocks(&self) -> u64 {
        self.config.capacity / BLOCK as u64
    }

    /// What it has counted.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Starts counting anew. Wear is not reset.
    pub fn reset_counters(&mut self) {
        self.counters = Counters::default();
    }

    /// Commands submitted and not completed.
    pub fn outstanding(&self) -> u32 {
        self.outstanding
    }

    /// Events so far: the simulator's own work.
    pub fn events(&self) -> u64 {
        self.events.count()
    }

    /// Smallest and greatest erase count of any block.
    pub fn wear(&self) -> (u32, u32) {
        let (mut least, mut most) = (u32::MAX, 0);
        for erases in self.ftl.wear() {
            (least, most) = (least.min(erases), most.max(erases));
        }
        (least, most)
    }

    /// Bytes of translation state, allocated lazily by the operating system, and the flash pages they describe.
    pub fn memory(&self) -> (u64, u64) {
        (self.ftl.memory(), self.ftl.pages())
    }

    /// Checks every invariant of the translation state; panics where one is broken. Slow: for tests.
    pub fn check(&self) {
        self.ftl.check();
    }

    /// Hands over a command at time `now`, which must not lie before the last [`Ssd::advance`]. The range must lie
    /// within the drive and not be empty: what the host asks wrongly is for the caller to refuse.
    pub fn submit(&mut self, now: Nanos, id: u64, command: Command) {
        assert!(now >= self.now, "a command from the past: {now:?} < {:?}", self.now);
        self.now = now;
        let transit = Transit { id, submitted: now, command, moved: 0, cached: 0, pieces: 0 };
        if let Command::Read { lba, blocks } | Command::Write { lba, blocks, .. } | Command::Trim { lba, blocks } =
            command
        {
            let inside = lba.checked_add(u64::from(blocks)).is_some_and(|end| end <= self.blocks());
            assert!(blocks > 0 && inside, "{command:?} is not within the drive's {} blocks", self.blocks());
        }
        let at = match self.unused.pop() {
            Some(at) => {
                self.transits[at as usize] = transit;
                at
            }
            None => {
                self.transits.push(transit);
                self.transits.len() as u32 - 1
            }
        };
        self.outstanding += 1;
        if self.outstanding > self.config.host.queue_depth {
            self.outside.push_back(at);
        } else {
            self.enter(at);
        }
    }

    /// When something will happen next; `None` if nothing will without a new command. `None` while commands are
    /// outstanding would be a bug of the model, and [`Ssd::advance`] panics rather than let it pass.
    pub fn next_event(&self) -> Option<Nanos> {
        self.events.next_time()
    }

    /// Lets everything due up to and including `now` happen and adds the completions, in order, to `done`.
    pub fn advance(&mut self, now: Nanos, done: &mut Vec<Done>) {
        while let Some((at, stage)) = self.events.pop_until(now) {
            self.now = at;
            match stage {
                Stage::Firmware => self.firmware_done(),
                Stage::Link(link) => self.link_done(link),
                Stage::Channel(channel) => self.channel_done(u32::from(channel)),
                Stage::Die { die, ticket } => self.die_done(u32::from(die), ticket),
                Stage::Complete(at) => self.complete(at, done),
            }
        }
        self.now = self.now.max(now);
        assert!(
            self.outstanding == 0 || self.events.next_time().is_some(),
            "drive {}: {} commands outstanding and nothing left to happen; {} pages wait, free blocks per die {:?}",
            self.config.name,
            self.outstanding,
            self.cache.waiting(),
            (0..self.ftl.shape.dies).map(|die| self.ftl.free(die)).collect::<Vec<_>>()
        );
    }

    fn enter(&mut self, at: u32) {
        self.firmware.push_back(at);
        if self.firmware.len() == 1 {
            self.events.push(self.now + self.config.controller, Stage::Firmware);
        }
    }

    fn firmware_done(&mut self) {
        let at = self.firmware.pop_front().expect("the firmware worked on something");
        if !self.firmware.is_empty() {
            self.events.push(self.now + self.config.controller, Stage::Firmware);
        }
        let transit = self.transits[at as usize];
        match transit.command {
            Command::Read { .. } => self.read(at, transit.lba(), transit.pages()),
            Command::Write { .. } => self.link_up(at),
            Command::Trim { .. } => self.trim(at),
            Command::Flush => {
                self.counters.flushes += 1;
                self.flush(at);
            }
        }
    }

    /// Puts a command in the queue of its link.
    pub(crate) fn link_up(&mut self, at: u32) {
        let is_read = matches!(self.transits[at as usize].command, Command::Read { .. });
        let link = usize::from(is_read && !self.config.host.shared);
        self.links[link].push_back(at);
        if self.links[link].len() == 1 {
            self.link_chunk(link);
        }
    }

    fn link_chunk(&mut self, link: usize) {
        let transit = &self.transits[self.links[link][0] as usize];
        let pages = (transit.pages() - transit.moved).min(LINK_CHUNK);
        let rate = match transit.command {
            Command::Read { .. } => self.config.host.read_rate,
            _ => self.config.host.write_rate,
        };
        self.events.push(self.now + transfer_time(pages, rate), Stage::Link(link as u8));
    }

    fn link_done(&mut self, link: u8) {
        let link = usize::from(link);
        let at = self.links[link].pop_front().expect("the link moved something");
        let transit = &mut self.transits[at as usize];
        let pages = (transit.pages() - transit.moved).min(LINK_CHUNK);
        transit.moved += pages;
        let (all, is_write) = (transit.moved == transit.pages(), matches!(transit.command, Command::Write { .. }));
        if !all {
            self.links[link].push_back(at);
        }
        if !self.links[link].is_empty() {
            self.link_chunk(link);
        }
        if is_write {
            self.admitting.push_back((at, pages));
            self.admit();
        } else if all {
            self.finish(at);
        }
    }

    /// Moves arrived pages into the cache while there is room.
    pub(crate) fn admit(&mut self) {
        self.cache.drop_dead();
        while let Some(&(at, pages)) = self.admitting.front() {
            let transit = self.transits[at as usize];
            if !self.admit_page(transit.lba() + transit.cached) {
                break;
            }
            self.transits[at as usize].cached += 1;
            if pages > 1 {
                self.admitting[0].1 -= 1;
            } else {
                self.admitting.pop_front();
            }
            if transit.cached + 1 == transit.pages() {
                self.written(at);
            }
        }
        self.feed_dies();
    }

    fn admit_page(&mut self, lpn: u32) -> bool {
        // An overwrite of a page that waits, and must not be split from an earlier flush, takes the same slot.
        if matches!(self.ftl.place(lpn), Place::Cache(_)) {
            self.counters.host_writes += 1;
            self.counters.merged_writes += 1;
            return true;
        }
        let Some(slot) = self.cache.insert(lpn) else { return false };
        self.ftl.cached(lpn, slot);
        self.counters.host_writes += 1;
        true
    }

    fn written(&mut self, at: u32) {
        match self.transits[at as usize].command {
            Command::Write { fua: true, .. } => self.flush(at),
            _ => self.finish(at),
        }
    }

    fn trim(&mut self, at: u32) {
        let transit = self.transits[at as usize];
        for lpn in transit.lba()..transit.lba() + transit.pages() {
            if let Place::Cache(slot) = self.ftl.place(lpn) {
                self.cache.kill(slot);
            }
            self.ftl.trim(lpn);
        }
        self.counters.trims += u64::from(transit.pages());
        self.finish(at);
        // A trim of what waited in the cache makes room, and may be all that a flush waited for.
        self.admit();
    }

    fn flush(&mut self, at: u32) {
        if self.config.cache.protected || self.cache.is_empty() {
            return self.finish(at);
        }
        let epoch = self.cache.close_epoch();
        self.flushes.push_back((at, epoch));
        self.feed_dies();
    }

    /// Completes the flushes whose pages are all programmed.
    pub(crate) fn finish_flushes(&mut self) {
        while let Some(&(at, epoch)) = self.flushes.front() {
            if !self.cache.is_clean(epoch) {
                break;
            }
            self.flushes.pop_front();
            self.finish(at);
        }
    }

    /// Whether waiting pages must be programmed even if they do not fill a unit: a flush waits for them, or there is
    /// no room for more and nothing on its way out.
    pub(crate) fn is_pressed(&self) -> bool {
        let flush = self.flushes.back().is_some_and(|&(_, epoch)| self.cache.oldest_is_of(epoch));
        flush || (!self.admitting.is_empty() && self.cache.in_flight() == 0)
    }

    /// The drive is done with a command; the host learns of it after the interface's latency.
    pub(crate) fn finish(&mut self, at: u32) {
        self.events.push(self.now + self.config.host.latency, Stage::Complete(at));
    }

    fn complete(&mut self, at: u32, done: &mut Vec<Done>) {
        let transit = &self.transits[at as usize];
        done.push(Done { id: transit.id, at: self.now, submitted: transit.submitted });
        self.unused.push(at);
        self.outstanding -= 1;
        if let Some(next) = self.outside.pop_front() {
            self.enter(next);
        }
    }

    pub(crate) fn transit_mut(&mut self, at: u32) -> &mut Transit {
        &mut self.transits[at as usize]
    }
}

/// Time for so many pages at a rate in bytes per second.
pub(crate) fn transfer_time(pages: u32, rate: u64) -> Nanos {
    Nanos((u64::from(pages) * BLOCK as u64 * 1_000_000_000).div_ceil(rate))
}
