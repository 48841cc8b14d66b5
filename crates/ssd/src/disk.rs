//! A modelled disk: commands in, completions out, and the host-side stages between.
//!
//! One arm, which serves one access at a time: reads by the shortest way, the write buffer in sweeps, the rewriting of
//! shingled bands when there is nothing else to do or no other way. See [`crate::disk::arm`] for who goes first.

mod arm;
mod buffer;
pub(crate) mod config;
mod head;
pub(crate) mod presets;
mod shingle;

use std::collections::VecDeque;

use cygnus_types::Nanos;

use crate::config::ConfigError;
use crate::counters::Counters;
use crate::device::{Command, Device, DeviceError, Done, Features, Precondition, Zone};
use crate::event::EventQueue;
use crate::rate::transfer_time;
use crate::zone_table::ZoneTable;

use arm::Job;
use buffer::Buffer;
use config::{DiskConfig, Recording};
use head::Head;
use shingle::Shingled;

/// A stage whose end is an event.
#[derive(Clone, Copy, Debug)]
enum Stage {
    /// A link (0 or 1) moved a command's data.
    Link(u8),
    /// The arm finished a job.
    Arm,
    /// The host may have been quiet for long enough to do something else.
    Quiet,
    /// A command's completion reaches the host.
    Complete(u32),
}

/// A command on its way through the disk.
#[derive(Clone, Copy, Debug)]
struct Transit {
    id: u64,
    submitted: Nanos,
    command: Command,
    result: Result<(), DeviceError>,
    appended: Option<u64>,
    lba: u64,
    blocks: u64,
    /// Of the zone, when the write was accepted.
    generation: u32,
    /// Blocks already in the buffer.
    buffered: u64,
}

/// A modelled disk. Clone it to keep a snapshot.
#[derive(Clone, Debug)]
pub struct Disk {
    config: DiskConfig,
    blocks: u64,
    head: Head,
    buffer: Buffer,
    /// Zones that the host manages, and how often each has been reset.
    zones: Option<ZoneTable>,
    generations: Vec<u32>,
    /// Bands that the disk manages.
    shingled: Option<Shingled>,
    counters: Counters,
    events: EventQueue<Stage>,
    now: Nanos,
    transits: Vec<Transit>,
    unused: Vec<u32>,
    outstanding: u32,
    /// Beyond the queue depth.
    outside: VecDeque<u32>,
    links: [VecDeque<u32>; 2],
    /// Writes whose data arrived but is not all in the buffer.
    admitting: VecDeque<u32>,
    /// Flushes, and the epoch of the buffer that each waits for.
    flushes: VecDeque<(u32, u64)>,
    /// Reads that wait for the arm.
    reads: Vec<u32>,
    job: Option<Job>,
    /// Whether the arm's last job was for the host's writes.
    has_written: bool,
    /// Where the sweep through the write buffer goes on.
    sweep: u64,
    /// When the host last asked for something, and for when there is an alarm that looks whether it still has not.
    quiet_since: Nanos,
    alarm: Option<Nanos>,
}

impl Disk {
    /// A new, empty disk.
    pub fn new(config: DiskConfig) -> Result<Disk, ConfigError> {
        config.validate()?;
        let blocks = config.blocks();
        let log = config.log_blocks();
        let groups = blocks.checked_div(config.group()).unwrap_or(0);
        let zones = match config.recording {
            Recording::HostManaged { conventional, open, .. } => {
                Some(ZoneTable::new(config.group() as u32, groups as u32, conventional, open))
            }
            _ => None,
        };
        let is_shingled = matches!(config.recording, Recording::DriveManaged(_));
        Ok(Disk {
            blocks,
            head: Head::new(&config, blocks + log),
            buffer: Buffer::new(config.buffer_blocks()),
            generations: vec![0; zones.as_ref().map_or(0, |zones| zones.count() as usize)],
            zones,
            shingled: is_shingled.then(|| Shingled::new(config.group(), groups, log)),
            counters: Counters::default(),
            events: EventQueue::default(),
            now: Nanos::ZERO,
            transits: Vec::new(),
            unused: Vec::new(),
            outstanding: 0,
            outside: VecDeque::new(),
            links: Default::default(),
            admitting: VecDeque::new(),
            flushes: VecDeque::new(),
            reads: Vec::new(),
            job: None,
            has_written: false,
            sweep: 0,
            quiet_since: Nanos::ZERO,
            alarm: None,
            config,
        })
    }

    /// How it is made.
    pub fn config(&self) -> &DiskConfig {
        &self.config
    }

    /// Bytes of host memory that its state takes.
    pub fn memory(&self) -> u64 {
        self.buffer.memory() + self.shingled.as_ref().map_or(0, Shingled::memory)
    }

    /// Why a command cannot be carried out, whatever the state of the disk.
    fn refusal(&self, command: &Command) -> Result<(), DeviceError> {
        let inside = |lba: u64, blocks: u64| {
            let fits = lba.checked_add(blocks).is_some_and(|end| end <= self.blocks);
            let error = DeviceError::OutOfRange { lba, blocks, capacity: self.blocks };
            if blocks > 0 && fits { Ok(()) } else { Err(error) }
        };
        let has_zones = self.zones.is_some();
        match *command {
            Command::Read { lba, blocks } | Command::Write { lba, blocks, .. } | Command::Trim { lba, blocks } => {
                inside(lba, u64::from(blocks))
            }
            Command::Flush => Ok(()),
            Command::Append { blocks, .. } if has_zones => inside(0, u64::from(blocks)),
            Command::ResetZone { .. } | Command::FinishZone { .. } | Command::ReportZones if has_zones => Ok(()),
            Command::Append { .. } => Err(DeviceError::Unsupported { command: "zone append" }),
            Command::ResetZone { .. } => Err(DeviceError::Unsupported { command: "zone reset" }),
            Command::FinishZone { .. } => Err(DeviceError::Unsupported { command: "zone finish" }),
            Command::ReportZones => Err(DeviceError::Unsupported { command: "zone report" }),
            Command::ReadOob { .. } => Err(DeviceError::Unsupported { command: "read OOB" }),
            Command::Convert(_) => Err(DeviceError::Unsupported { command: "convert" }),
        }
    }

    fn enter(&mut self, at: u32) {
        let transit = self.transits[at as usize];
        if transit.result.is_err() {
            return self.finish(at);
        }
        match transit.command {
            Command::Read { lba, blocks } => {
                self.counters.host_reads += u64::from(blocks);
                if (lba..lba + u64::from(blocks)).all(|at| self.buffer.holds(at)) {
                    self.counters.reads_without_flash += u64::from(blocks);
                    return self.link_up(at);
                }
                self.reads.push(at);
                self.use_arm();
            }
            Command::Write { .. } | Command::Append { .. } => match self.accept_in_zone(at) {
                Ok(()) => self.link_up(at),
                Err(error) => self.refuse(at, error),
            },
            Command::Trim { blocks, .. } => {
                // What a disk no longer needs it does not need to know.
                self.counters.trims += u64::from(blocks);
                self.finish(at);
            }
            Command::Flush => {
                self.counters.flushes += 1;
                self.flush(at);
            }
            Command::ResetZone { .. } | Command::FinishZone { .. } | Command::ReportZones => {
                match self.manage_zones(transit.command) {
                    Ok(()) => self.finish(at),
                    Err(error) => self.refuse(at, error),
                }
            }
            Command::Convert(_) | Command::ReadOob { .. } => unreachable!("refused at submission"),
        }
    }

    fn refuse(&mut self, at: u32, error: DeviceError) {
        self.transits[at as usize].result = Err(error);
        self.finish(at);
    }

    fn link_up(&mut self, at: u32) {
        let is_read = matches!(self.transits[at as usize].command, Command::Read { .. });
        let link = usize::from(is_read && !self.config.host.shared);
        self.links[link].push_back(at);
        if self.links[link].len() == 1 {
            self.begin_transfer(link);
        }
    }

    fn begin_transfer(&mut self, link: usize) {
        let transit = &self.transits[self.links[link][0] as usize];
        let rate = match transit.command {
            Command::Read { .. } => self.config.host.read_rate,
            _ => self.config.host.write_rate,
        };
        self.events.push(self.now + transfer_time(transit.blocks as u32, rate), Stage::Link(link as u8));
    }

    fn link_done(&mut self, link: u8) {
        let link = usize::from(link);
        let at = self.links[link].pop_front().expect("the link moved something");
        if !self.links[link].is_empty() {
            self.begin_transfer(link);
        }
        if matches!(self.transits[at as usize].command, Command::Read { .. }) {
            return self.finish(at);
        }
        self.admitting.push_back(at);
        self.admit();
        self.use_arm();
    }

    /// Moves data that arrived into the buffer while there is room.
    fn admit(&mut self) {
        while let Some(&at) = self.admitting.front() {
            let mut transit = self.transits[at as usize];
            while transit.buffered < transit.blocks && self.admit_block(&transit) {
                transit.buffered += 1;
            }
            self.transits[at as usize] = transit;
            if transit.buffered < transit.blocks {
                break;
            }
            self.admitting.pop_front();
            match transit.command {
                Command::Write { fua: true, .. } => self.flush(at),
                _ => self.finish(at),
            }
        }
    }

    fn admit_block(&mut self, transit: &Transit) -> bool {
        let lba = transit.lba + transit.buffered;
        if let Some(zones) = &self.zones
            && self.generations[zones.zone_of(lba) as usize] != transit.generation
        {
            // Reset meanwhile: nobody wants it any more.
            return true;
        }
        let is_merged = self.buffer.holds_waiting(lba);
        if !is_merged && !self.buffer.insert(lba) {
            return false;
        }
        self.counters.host_writes += 1;
        self.counters.merged_writes += u64::from(is_merged);
        true
    }

    fn flush(&mut self, at: u32) {
        if self.buffer.is_empty() {
            return self.finish(at);
        }
        let epoch = self.buffer.close_epoch();
        self.flushes.push_back((at, epoch));
        self.use_arm();
    }

    /// Completes the flushes whose blocks are all on the platters.
    fn finish_flushes(&mut self) {
        while let Some(&(at, epoch)) = self.flushes.front() {
            if !self.buffer.has_written(epoch) {
                break;
            }
            self.flushes.pop_front();
            self.finish(at);
        }
    }

    fn accept_in_zone(&mut self, at: u32) -> Result<(), DeviceError> {
        let Some(zones) = &mut self.zones else { return Ok(()) };
        let transit = &mut self.transits[at as usize];
        let (zone, lba) = match transit.command {
            Command::Append { zone, .. } => (zone, None),
            Command::Write { lba, .. } => (zones.zone_of(lba), Some(lba)),
            _ => unreachable!("only writes"),
        };
        let reaches_beyond = transit.lba + transit.blocks > zones.start(zone) + u64::from(zones.size());
        // A write to conventional zones may cross from one to the next, but not into a sequential one.
        let is_conventional = lba.is_some() && zones.is_conventional(zone);
        if is_conventional
            && (!reaches_beyond || zones.is_conventional(zones.zone_of(transit.lba + transit.blocks - 1)))
        {
            transit.generation = self.generations[zone as usize];
            return Ok(());
        }
        transit.lba = zones.accept(zone, lba, transit.blocks as u32)?;
        transit.appended = lba.is_none().then_some(transit.lba);
        transit.generation = self.generations[zone as usize];
        Ok(())
    }

    fn manage_zones(&mut self, command: Command) -> Result<(), DeviceError> {
        let zones = self.zones.as_mut().expect("only a zoned disk takes this way");
        match command {
            Command::ResetZone { zone } => {
                zones.sequential(zone)?;
                zones.reset(zone);
                self.counters.zone_resets += 1;
                self.generations[zone as usize] = self.generations[zone as usize].wrapping_add(1);
                self.buffer.discard(zones.start(zone), u64::from(zones.size()));
                self.finish_flushes();
                self.admit();
            }
            Command::FinishZone { zone } => {
                zones.sequential(zone)?;
                zones.finish(zone);
            }
            _ => {}
        }
        Ok(())
    }

    /// The disk is done with a command; the host learns of it after the interface's latency.
    fn finish(&mut self, at: u32) {
        self.events.push(self.now + self.config.host.latency, Stage::Complete(at));
    }

    fn complete(&mut self, at: u32, done: &mut Vec<Done>) {
        let Transit { id, submitted, result, appended, .. } = self.transits[at as usize];
        done.push(Done { id, at: self.now, submitted, result, appended });
        self.unused.push(at);
        self.outstanding -= 1;
        if let Some(next) = self.outside.pop_front() {
            self.enter(next);
        }
    }

    /// Blocks of writes under way that the buffer has not seen.
    fn not_arrived(&self) -> Vec<u64> {
        let mut is_live = vec![true; self.transits.len()];
        self.unused.iter().for_each(|&at| is_live[at as usize] = false);
        let live = self.transits.iter().zip(is_live).filter_map(|(transit, live)| live.then_some(transit));
        let was_reset = |transit: &Transit| {
            let zone = self.zones.as_ref().map(|zones| zones.zone_of(transit.lba) as usize);
            zone.is_some_and(|zone| self.generations[zone] != transit.generation)
        };
        let is_write = |transit: &&Transit| match transit.command {
            _ if was_reset(transit) => false,
            Command::Write { .. } => transit.result.is_ok(),
            // Before it is accepted it has no place that could be lost.
            Command::Append { .. } => transit.appended.is_some(),
            _ => false,
        };
        live.filter(is_write).flat_map(|transit| transit.lba + transit.buffered..transit.lba + transit.blocks).collect()
    }

    /// Write pointers go back to where the first block was lost; what lies behind it in the zone is lost too.
    fn retreat(&mut self, lost: &mut Vec<u64>) {
        let Some(zones) = &mut self.zones else { return };
        let mut behind = Vec::new();
        for &lba in lost.iter() {
            let zone = zones.zone_of(lba);
            let (start, offset) = (zones.start(zone), u64::from(zones.offset(zone)));
            if !zones.is_conventional(zone) && lba < start + offset {
                behind.extend(lba..start + offset);
                zones.retreat(zone, (lba - start) as u32);
            }
        }
        lost.extend(behind);
        lost.sort_unstable();
        lost.dedup();
    }
}

impl Device for Disk {
    fn submit(&mut self, now: Nanos, id: u64, command: Command) {
        assert!(now >= self.now, "a command from the past: {now:?} < {:?}", self.now);
        (self.now, self.quiet_since) = (now, now);
        let (lba, blocks) = match command {
            Command::Read { lba, blocks } | Command::Write { lba, blocks, .. } | Command::Trim { lba, blocks } => {
                (lba, u64::from(blocks))
            }
            Command::Append { blocks, .. } => (0, u64::from(blocks)),
            _ => (0, 0),
        };
        let result = self.refusal(&command);
        let transit =
            Transit { id, submitted: now, command, result, appended: None, lba, blocks, generation: 0, buffered: 0 };
        let at = self.unused.pop().unwrap_or(self.transits.len() as u32);
        match self.transits.get_mut(at as usize) {
            Some(unused) => *unused = transit,
            None => self.transits.push(transit),
        }
        self.outstanding += 1;
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
                Stage::Link(link) => self.link_done(link),
                Stage::Arm => self.job_done(),
                Stage::Quiet => {
                    self.alarm = self.alarm.filter(|&alarm| alarm != at);
                    self.use_arm();
                }
                Stage::Complete(at) => self.complete(at, done),
            }
        }
        self.now = self.now.max(now);
        assert!(
            self.outstanding == 0 || self.events.next_time().is_some(),
            "disk {}: {} commands outstanding and nothing left to happen",
            self.config.name,
            self.outstanding
        );
    }

    fn blocks(&self) -> u64 {
        self.blocks
    }

    fn features(&self) -> Features {
        let zones = self.zones.as_ref();
        Features {
            zones: zones.map_or(0, ZoneTable::count),
            open_zones: zones.map_or(0, ZoneTable::limit),
            handles: 1,
            ..Features::default()
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

    /// Only a disk that manages its own shingles has a used state: bands that cannot be appended to any more. Its
    /// persistent cache is empty, as after idle time.
    fn precondition(&mut self, how: Precondition) {
        let (Precondition::Sequential { share } | Precondition::Random { share, .. }) = how;
        if let Some(shingled) = &mut self.shingled {
            shingled.fill(share);
        }
    }

    fn power_cut(&mut self) -> Vec<u64> {
        let mut lost = self.buffer.blocks();
        lost.extend(self.not_arrived());
        lost.sort_unstable();
        lost.dedup();
        self.retreat(&mut lost);
        self.buffer = Buffer::new(self.config.buffer_blocks());
        self.events.clear();
        self.transits.clear();
        self.unused.clear();
        self.outstanding = 0;
        self.outside.clear();
        self.links.iter_mut().for_each(VecDeque::clear);
        self.admitting.clear();
        self.flushes.clear();
        self.reads.clear();
        // A band being rewritten is still in the log, whose entries are dropped only afterwards.
        (self.job, self.alarm) = (None, None);
        lost
    }

    fn zone(&self, zone: u32) -> Option<Zone> {
        self.zones.as_ref().and_then(|zones| zones.report(zone))
    }

    fn events(&self) -> u64 {
        self.events.count()
    }

    fn check(&self) {
        if let Some(shingled) = &self.shingled {
            shingled.check();
        }
    }
}
