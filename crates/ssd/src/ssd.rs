//! The drive as a whole: commands in, completions out, and each stage of a command after the one before. What one part of the
//! drive does may concern another that it does not know: the parts say what became of a stage, and here that goes on.

use cygnus_types::Nanos;

use crate::clock::Stage;
use crate::counters::Counters;
use crate::device::{Command, Device, DeviceError, Done, Features, Precondition, Zone};
use crate::map_cache::NOBODY;
use crate::schedule::Freed;
use crate::state::Ssd;
use crate::transit::Transit;

impl Ssd {
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
            Command::Convert(convert) => match &self.xor {
                Some(xor) => xor.refuse(&convert, inside),
                None => Err(DeviceError::Unsupported { command: "convert" }),
            },
        }
    }

    /// A stage has come to its end.
    fn stage_over(&mut self, stage: Stage, done: &mut Vec<Done>) {
        match stage {
            Stage::Firmware => self.firmware_done(),
            Stage::Link(link) => {
                if self.link_done(link) {
                    self.admit_arrived();
                }
            }
            Stage::Channel(channel) => {
                if let Some(transit) = self.channel_done(u32::from(channel)) {
                    self.piece_done(transit);
                }
            }
            Stage::Die { die, ticket } => match self.die_done(u32::from(die), ticket) {
                Freed::Nothing => {}
                Freed::Slots => self.admit_arrived(),
                Freed::Block => self.feed_dies(),
            },
            Stage::Map { waiter } => self.map_done(waiter),
            Stage::Complete(at) => self.complete(at, done),
            Stage::Xor => {
                self.xor_done();
                self.admit_arrived();
            }
            Stage::Quiet { commands } => self.quiet_for_long(commands),
        }
    }

    fn enter(&mut self, at: u32) {
        self.firmware.push_back(at);
        if self.firmware.len() == 1 {
            self.work_firmware();
        }
    }

    fn work_firmware(&mut self) {
        self.clock.begin(self.config.controller, Stage::Firmware);
    }

    fn firmware_done(&mut self) {
        let at = self.firmware.pop_front().expect("the firmware worked on something");
        if !self.firmware.is_empty() {
            self.work_firmware();
        }
        if self.transits[at as usize].is_refused() {
            return self.finish_command(at);
        }
        if self.load_map(at) {
            self.carry_out(at);
        }
    }

    /// Brings the map pages that a command needs into memory; false if the command must wait for that.
    fn load_map(&mut self, at: u32) -> bool {
        let Some(map) = &mut self.map else { return true };
        let transit = &mut self.transits[at as usize];
        let changes = match transit.command {
            Command::Read { .. } | Command::ReadOob { .. } => false,
            Command::Write { .. } | Command::Trim { .. } | Command::Convert(_) => true,
            _ => return true,
        };
        let pages = transit.lba..transit.lba + transit.pages;
        transit.pieces = map.load(pages, changes, at, &mut self.clock, &mut self.counters);
        transit.pieces == 0
    }

    /// The map's server is done with a job.
    fn map_done(&mut self, waiter: u32) {
        self.map.as_mut().expect("it has a server").served(&mut self.clock);
        if waiter == NOBODY {
            return;
        }
        let transit = self.transit_mut(waiter);
        transit.pieces -= 1;
        if transit.pieces == 0 {
            self.carry_out(waiter);
        }
    }

    /// The firmware knows all it needs: the command takes its way.
    fn carry_out(&mut self, at: u32) {
        let transit = self.transits[at as usize];
        match transit.command {
            Command::Read { .. } => {
                self.counters.host_reads += u64::from(transit.pages);
                self.sense_range(at, transit.lba, transit.pages);
            }
            Command::ReadOob { .. } => self.sense_range(at, transit.lba, transit.pages),
            Command::Write { .. } | Command::Append { .. } => self.take_write(at),
            Command::Trim { .. } => {
                // A trim of what waited in the cache makes room, and may be all that a flush waited for.
                if self.trim_pages(at) {
                    self.admit_arrived();
                }
            }
            Command::Flush => {
                self.counters.flushes += 1;
                self.flush_for(at);
            }
            Command::ResetZone { .. } | Command::FinishZone { .. } | Command::ReportZones => {
                let result = self.manage_zones(transit.command);
                self.transits[at as usize].result = result;
                // So does a reset.
                if result.is_ok() && matches!(transit.command, Command::ResetZone { .. }) {
                    self.admit_arrived();
                }
                self.finish_command(at);
            }
            Command::Convert(convert) => self.begin_conversion(at, convert),
        }
    }

    fn take_write(&mut self, at: u32) {
        if self.zones.is_some()
            && let Err(error) = self.accept_in_zone(at)
        {
            self.transits[at as usize].result = Err(error);
            return self.finish_command(at);
        }
        self.link_up(at);
    }

    fn complete(&mut self, at: u32, done: &mut Vec<Done>) {
        let transit = &self.transits[at as usize];
        done.push(Done {
            id: transit.id,
            at: self.clock.now,
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

    /// Has the drive look again later if it has nothing to do for the host now.
    fn may_be_quiet(&mut self) {
        if let Some(bursts) = &self.config.gc.bursts
            && self.outstanding == 0
        {
            let ends = self.clock.now + bursts.idle;
            self.clock.end_at(ends, Stage::Quiet { commands: self.quiet.commands() });
        }
    }
}

impl Device for Ssd {
    fn submit(&mut self, now: Nanos, id: u64, command: Command) {
        assert!(now >= self.clock.now, "a command from the past: {now:?} < {:?}", self.clock.now);
        self.clock.now = now;
        let transit = Transit::new(id, now, command, self.refusal(&command));
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
        self.clock.next_end()
    }

    fn advance(&mut self, now: Nanos, done: &mut Vec<Done>) {
        while let Some(stage) = self.clock.next_ended(now) {
            self.stage_over(stage, done);
        }
        self.clock.now = self.clock.now.max(now);
        assert!(
            self.outstanding == 0 || self.clock.next_end().is_some(),
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
        self.clock.now
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
        self.clock.stages()
    }

    fn check(&self) {
        self.ftl.check();
        if let Some(map) = &self.map {
            map.check();
        }
        if let Some(map) = &self.block_map {
            map.check(&self.ftl);
        }
    }
}
