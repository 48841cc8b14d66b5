//! The drive: commands in, completions out, and the host-side stages between.

use std::collections::VecDeque;

use cygnus_types::{BLOCK, Nanos};

use crate::block_map::BlockMap;
use crate::burst::Quiet;
use crate::cache::WriteCache;
use crate::config::{BlockLayout, ConfigError, Mapping, SsdConfig};
use crate::counters::Counters;
use crate::device::{Command, Device, DeviceError, Done, Features, Precondition, Zone};
use crate::die::{Channel, Die};
use crate::event::EventQueue;
use crate::ftl::{Ftl, Place};
use crate::map_cache::PagedMap;
use crate::slow::{self, Pace};
use crate::xor::Xor;
use crate::zone::Zones;

/// Pages that a command moves over the link before others get a turn.
const LINK_CHUNK: u32 = 8;

/// A stage whose end is an event.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stage {
    /// The firmware is done with the command at the head of its queue.
    Firmware,
    /// A link (0 or 1) moved a chunk.
    Link(u8),
    /// A channel finished a transfer.
    Channel(u16),
    /// A die finished its operation, unless that was suspended meanwhile (then the tickets differ).
    Die { die: u16, ticket: u32 },
    /// The map's server is done with a job that this command, if any, waits for.
    Map { waiter: u32 },
    /// A command's completion reaches the host.
    Complete(u32),
    /// The XOR engine is done with the first command of its queue.
    Xor,
    /// The drive has had no command since the one of that number.
    Quiet { commands: u64 },
}

/// A command on its way through the drive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transit {
    id: u64,
    submitted: Nanos,
    pub(crate) command: Command,
    result: Result<(), DeviceError>,
    pub(crate) appended: Option<u64>,
    pub(crate) lba: u32,
    pub(crate) pages: u32,
    /// Of the zone, when the write was accepted.
    pub(crate) generation: u32,
    /// Pages already moved over the link, or into the cache.
    moved: u32,
    pub(crate) cached: u32,
    /// Senses and transfers still to come.
    pub(crate) pieces: u32,
}

impl Transit {
    pub(crate) fn is_refused(&self) -> bool {
        self.result.is_err()
    }
}

/// A modelled SSD. Clone it to keep a snapshot.
#[derive(Clone, Debug)]
pub struct Ssd {
    pub(crate) config: SsdConfig,
    pub(crate) ftl: Ftl,
    /// Host-managed zones, instead of a translation of the drive's own.
    pub(crate) zones: Option<Zones>,
    /// Logical blocks, if the drive is block mapped.
    pub(crate) block_map: Option<BlockMap>,
    /// Where the map itself is, if not all of it is always in memory.
    pub(crate) map: Option<PagedMap>,
    /// What computes parity, if anything does.
    pub(crate) xor: Option<Xor>,
    pub(crate) cache: WriteCache,
    pub(crate) counters: Counters,
    /// How it collects in bursts, if it does.
    pub(crate) quiet: Quiet,
    /// How fast it is at the time, if that changes.
    pub(crate) pace: Option<Pace>,
    pub(crate) events: EventQueue<Stage>,
    pub(crate) now: Nanos,
    pub(crate) dies: Vec<Die>,
    pub(crate) channels: Vec<Channel>,
    /// Dies that may be idle; each at most once.
    pub(crate) idle: VecDeque<u32>,
    pub(crate) transits: Vec<Transit>,
    pub(crate) unused: Vec<u32>,
    pub(crate) outstanding: u32,
    /// Pages that a command moves over the link before others get a turn.
    link_chunk: u32,
    /// Beyond the queue depth.
    pub(crate) outside: VecDeque<u32>,
    pub(crate) firmware: VecDeque<u32>,
    pub(crate) links: [VecDeque<u32>; 2],
    /// Writes whose pages arrived but are not all in the cache: transit and pages that arrived.
    pub(crate) admitting: VecDeque<(u32, u32)>,
    /// Flushes, and the cache epoch that each waits for.
    pub(crate) flushes: VecDeque<(u32, u64)>,
}

impl Ssd {
    /// A new, empty drive.
    pub fn new(config: SsdConfig) -> Result<Ssd, ConfigError> {
        let shape = config.shape()?;
        // One per stream, and one for relocated pages.
        let (dies, open_blocks) = (shape.dies, shape.streams + 1);
        Ok(Ssd {
            cache: WriteCache::new(shape.cache_slots, shape.streams),
            zones: config.zone_layout().map(|layout| Zones::new(layout, shape.zone, shape.logical)),
            block_map: match config.mapping {
                Mapping::Block(BlockLayout { log_blocks }) => Some(BlockMap::new(log_blocks, &shape)),
                Mapping::Page | Mapping::Zoned(_) => None,
            },
            map: config.map.clone().map(|map| PagedMap::new(map, shape.logical)),
            xor: config.xor.clone().map(Xor::new),
            ftl: Ftl::new(shape),
            counters: Counters::default(),
            quiet: Quiet::default(),
            pace: config.slow.clone().map(Pace::new),
            events: EventQueue::default(),
            now: Nanos::ZERO,
            dies: (0..dies).map(|_| Die::new(open_blocks)).collect(),
            channels: (0..config.flash.channels).map(|_| Channel::default()).collect(),
            idle: (0..dies).collect(),
            transits: Vec::new(),
            unused: Vec::new(),
            outstanding: 0,
            // Into a zone the data must come in order, and into a log block it should.
            link_chunk: if config.mapping == Mapping::Page { LINK_CHUNK } else { u32::MAX },
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

    /// Why a command cannot be carried out, whatever the state of the drive.
    fn refusal(&self, command: &Command) -> Result<(), DeviceError> {
        let inside = |lba: u64, blocks: u64| {
            let fits = lba.checked_add(blocks).is_some_and(|end| end <= self.blocks());
            if blocks > 0 && fits {
                Ok(())
            } else {
                Err(DeviceError::OutOfRange { lba, blocks, capacity: self.blocks() })
            }
        };
        match *command {
            Command::Write { hint, .. } if hint.oob > self.config.oob => {
                Err(DeviceError::OobTooLong { bytes: hint.oob, limit: self.config.oob })
            }
            Command::ReadOob { .. } if self.config.oob == 0 => Err(DeviceError::Unsupported { command: "read OOB" }),
            Command::Read { lba, blocks }
            | Command::Write { lba, blocks, .. }
            | Command::Trim { lba, blocks }
            | Command::ReadOob { lba, blocks } => inside(lba, u64::from(blocks)),
            Command::Flush => Ok(()),
            Command::Append { blocks, .. } if self.zones.is_some() => inside(0, u64::from(blocks)),
            Command::ResetZone { .. } | Command::FinishZone { .. } | Command::ReportZones if self.zones.is_some() => {
                Ok(())
            }
            Command::Append { .. } => Err(DeviceError::Unsupported { command: "zone append" }),
            Command::ResetZone { .. } => Err(DeviceError::Unsupported { command: "zone reset" }),
            Command::FinishZone { .. } => Err(DeviceError::Unsupported { command: "zone finish" }),
            Command::ReportZones => Err(DeviceError::Unsupported { command: "zone report" }),
            Command::Convert(convert) => self.refuse_convert(&convert, inside),
        }
    }

    fn enter(&mut self, at: u32) {
        self.firmware.push_back(at);
        if self.firmware.len() == 1 {
            self.work_firmware();
        }
    }

    /// What takes so long at full pace takes this long now.
    pub(crate) fn stretched(&mut self, takes: Nanos) -> Nanos {
        slow::stretched(&mut self.pace, takes, self.now)
    }

    fn work_firmware(&mut self) {
        let takes = self.stretched(self.config.controller);
        self.events.push(self.now + takes, Stage::Firmware);
    }

    fn firmware_done(&mut self) {
        let at = self.firmware.pop_front().expect("the firmware worked on something");
        if !self.firmware.is_empty() {
            self.work_firmware();
        }
        let transit = self.transits[at as usize];
        if transit.result.is_err() {
            return self.finish(at);
        }
        if self.load_map(at) {
            self.carry_out(at);
        }
    }

    /// The firmware knows all it needs: the command takes its way.
    pub(crate) fn carry_out(&mut self, at: u32) {
        let transit = self.transits[at as usize];
        match transit.command {
            Command::Read { .. } => {
                self.counters.host_reads += u64::from(transit.pages);
                self.sense_range(at, transit.lba, transit.pages);
            }
            Command::ReadOob { .. } => self.sense_range(at, transit.lba, transit.pages),
            Command::Write { .. } | Command::Append { .. } => self.write(at),
            Command::Trim { .. } => self.trim(at),
            Command::Flush => {
                self.counters.flushes += 1;
                self.flush(at);
            }
            Command::ResetZone { .. } | Command::FinishZone { .. } | Command::ReportZones => {
                self.transits[at as usize].result = self.manage_zones(transit.command);
                self.finish(at);
            }
            Command::Convert(_) => self.convert(at),
        }
    }

    fn write(&mut self, at: u32) {
        if self.zones.is_some()
            && let Err(error) = self.accept_in_zone(at)
        {
            self.transits[at as usize].result = Err(error);
            return self.finish(at);
        }
        self.link_up(at);
    }

    /// Puts a command in the queue of its link.
    pub(crate) fn link_up(&mut self, at: u32) {
        let is_read = matches!(self.transits[at as usize].command, Command::Read { .. } | Command::ReadOob { .. });
        let link = usize::from(is_read && !self.config.host.shared);
        self.links[link].push_back(at);
        if self.links[link].len() == 1 {
            self.begin_chunk(link);
        }
    }

    fn begin_chunk(&mut self, link: usize) {
        let transit = &self.transits[self.links[link][0] as usize];
        let pages = (transit.pages - transit.moved).min(self.link_chunk);
        let host = &self.config.host;
        let takes = match transit.command {
            Command::Read { .. } => transfer_time(pages, host.read_rate),
            Command::ReadOob { .. } => time_of(u64::from(pages) * u64::from(self.config.oob), host.read_rate),
            Command::Write { hint, .. } if hint.oob > 0 => {
                time_of(u64::from(pages) * (BLOCK as u64 + u64::from(hint.oob)), host.write_rate)
            }
            _ => transfer_time(pages, host.write_rate),
        };
        let takes = self.stretched(takes);
        self.events.push(self.now + takes, Stage::Link(link as u8));
    }

    fn link_done(&mut self, link: u8) {
        let link = usize::from(link);
        let at = self.links[link].pop_front().expect("the link moved something");
        let transit = &mut self.transits[at as usize];
        let pages = (transit.pages - transit.moved).min(self.link_chunk);
        transit.moved += pages;
        let all = transit.moved == transit.pages;
        let is_write = matches!(transit.command, Command::Write { .. } | Command::Append { .. });
        if !all {
            self.links[link].push_back(at);
        }
        if !self.links[link].is_empty() {
            self.begin_chunk(link);
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
            let arrived = transit.lba + transit.cached..transit.lba + transit.cached + pages;
            let admitted = arrived.take_while(|&lpn| self.admit_page(&transit, lpn)).count() as u32;
            self.transits[at as usize].cached += admitted;
            if admitted < pages {
                self.admitting[0].1 -= admitted;
                break;
            }
            self.admitting.pop_front();
            if transit.cached + admitted == transit.pages {
                self.written(at);
            }
        }
        self.feed_dies();
    }

    fn admit_page(&mut self, transit: &Transit, lpn: u32) -> bool {
        let stream = match (&self.zones, transit.command) {
            (Some(zones), _) => match zones.arrival(lpn, transit.generation) {
                Some(stream) => stream,
                None => return true,
            },
            (None, _) if self.block_map.is_some() => self.block_stream(lpn),
            (None, Command::Write { hint, .. }) => u32::from(hint.handle) % self.ftl.shape.streams,
            (None, _) => 0,
        };
        let is_parity = matches!(transit.command, Command::Convert(_));
        let count = if is_parity { &mut self.counters.parity_writes } else { &mut self.counters.host_writes };
        // An overwrite of a page that waits, and must not be split from an earlier flush, takes the same slot.
        if matches!(self.ftl.place(lpn), Place::Cache(_)) {
            *count += 1;
            self.counters.merged_writes += 1;
            return true;
        }
        let Some(slot) = self.cache.insert(lpn, stream) else { return false };
        self.ftl.cached(lpn, slot);
        *count += 1;
        if let Some(zones) = &mut self.zones {
            zones.arrived(lpn);
        } else if self.block_map.is_some() {
            self.arrived_for_block(lpn);
        }
        true
    }

    fn written(&mut self, at: u32) {
        match self.transits[at as usize].command {
            Command::Write { fua: true, .. } | Command::Convert(_) => self.flush(at),
            _ => self.finish(at),
        }
    }

    fn trim(&mut self, at: u32) {
        let transit = self.transits[at as usize];
        self.counters.trims += u64::from(transit.pages);
        // Zones give space back by resets only.
        if self.zones.is_some() || self.config.ignores_trims {
            return self.finish(at);
        }
        self.forget_range(transit.lba, transit.pages);
        self.finish(at);
        // A trim of what waited in the cache makes room, and may be all that a flush waited for.
        self.admit();
    }

    /// Pages are nowhere from now on.
    pub(crate) fn forget_range(&mut self, lba: u32, pages: u32) {
        for lpn in lba..lba + pages {
            if let Place::Cache(slot) = self.ftl.place(lpn) {
                self.cache.kill(slot);
            }
            self.ftl.trim(lpn);
        }
        if self.block_map.is_some() {
            self.drop_trimmed_blocks(lba, pages);
        }
    }

    fn flush(&mut self, at: u32) {
        if self.config.cache.protected || self.cache.is_empty() {
            return self.flushed(at);
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
            self.flushed(at);
        }
    }

    /// What a command wrote, or what was written before it, is durable.
    fn flushed(&mut self, at: u32) {
        match self.transits[at as usize].command {
            Command::Convert(_) => self.converted(at),
            _ => self.finish(at),
        }
    }

    /// The drive is done with a command; the host learns of it after the interface's latency.
    pub(crate) fn finish(&mut self, at: u32) {
        let takes = self.stretched(self.config.host.latency);
        self.events.push(self.now + takes, Stage::Complete(at));
    }

    fn complete(&mut self, at: u32, done: &mut Vec<Done>) {
        let transit = &self.transits[at as usize];
        done.push(Done {
            id: transit.id,
            at: self.now,
            submitted: transit.submitted,
            result: transit.result,
            appended: transit.appended,
        });
        self.unused.push(at);
        self.outstanding -= 1;
        if let Some(next) = self.outside.pop_front() {
            self.enter(next);
        }
        self.may_be_quiet();
    }

    pub(crate) fn transit_mut(&mut self, at: u32) -> &mut Transit {
        &mut self.transits[at as usize]
    }
}

impl Device for Ssd {
    fn submit(&mut self, now: Nanos, id: u64, command: Command) {
        assert!(now >= self.now, "a command from the past: {now:?} < {:?}", self.now);
        self.now = now;
        let (lba, pages) = match command {
            Command::Read { lba, blocks }
            | Command::Write { lba, blocks, .. }
            | Command::Trim { lba, blocks }
            | Command::ReadOob { lba, blocks } => (lba as u32, blocks),
            Command::Convert(convert) => (convert.source as u32, convert.source_blocks() as u32),
            Command::Append { blocks, .. } => (0, blocks),
            _ => (0, 0),
        };
        let transit = Transit {
            id,
            submitted: now,
            command,
            result: self.refusal(&command),
            appended: None,
            lba,
            pages,
            generation: 0,
            moved: 0,
            cached: 0,
            pieces: 0,
        };
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
        self.quiet.disturb();
        if self.outstanding > self.config.host.queue_depth {
            self.outside.push_back(at);
        } else {
            self.enter(at);
        }
    }

    fn next_event(&self) -> Option<Nanos> {
        self.events.next_time()
    }

    fn advance(&mut self, now: Nanos, done: &mut Vec<Done>) {
        while let Some((at, stage)) = self.events.pop_until(now) {
            self.now = at;
            match stage {
                Stage::Firmware => self.firmware_done(),
                Stage::Link(link) => self.link_done(link),
                Stage::Channel(channel) => self.channel_done(u32::from(channel)),
                Stage::Die { die, ticket } => self.die_done(u32::from(die), ticket),
                Stage::Map { waiter } => self.map_done(waiter),
                Stage::Complete(at) => self.complete(at, done),
                Stage::Xor => self.xor_done(),
                Stage::Quiet { commands } => self.quiet_for_long(commands),
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

    fn blocks(&self) -> u64 {
        u64::from(self.ftl.shape.logical)
    }

    fn features(&self) -> Features {
        let zones = self.zones.as_ref();
        Features {
            zones: zones.map_or(0, |zones| zones.table.count()),
            open_zones: zones.map_or(0, |zones| zones.table.limit()),
            handles: self.config.handles,
            protected: self.config.cache.protected,
            convert: self.xor.is_some(),
            oob_bytes: u32::from(self.config.oob),
        }
    }

    fn now(&self) -> Nanos {
        self.now
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn reset_counters(&mut self) {
        self.counters = Counters::default();
    }

    fn outstanding(&self) -> u32 {
        self.outstanding
    }

    fn precondition(&mut self, how: Precondition) {
        match how {
            _ if self.zones.is_some() => {}
            Precondition::Sequential { share } => self.precondition_sequential(share),
            // Merges put everything in its place again and again.
            Precondition::Random { share, .. } if self.block_map.is_some() => self.precondition_sequential(share),
            Precondition::Random { share, seed } => self.precondition_random(share, seed),
        }
    }

    fn power_cut(&mut self) -> Vec<u64> {
        self.lose_power()
    }

    fn zone(&self, zone: u32) -> Option<Zone> {
        self.zones.as_ref().and_then(|zones| zones.table.report(zone))
    }

    fn events(&self) -> u64 {
        self.events.count()
    }

    fn check(&self) {
        self.ftl.check();
        if let Some(map) = &self.map {
            map.check();
        }
        if let Some(map) = &self.block_map {
            self.check_blocks(map);
        }
    }
}

/// Time to move `bytes` at `rate` bytes per second.
pub(crate) fn time_of(bytes: u64, rate: u64) -> Nanos {
    Nanos((bytes * 1_000_000_000).div_ceil(rate))
}

/// Time to move `pages` pages at `rate` bytes per second.
pub(crate) fn transfer_time(pages: u32, rate: u64) -> Nanos {
    Nanos((u64::from(pages) * BLOCK as u64 * 1_000_000_000).div_ceil(rate))
}
