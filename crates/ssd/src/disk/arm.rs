//! What the arm does next.
//!
//! Reads go first, the one that can begin soonest; while the write buffer is filling or a flush waits, writes have every
//! other turn. A disk that manages its own shingles writes what it must into its log, and rewrites bands when the host
//! has been quiet for long, or when the log is full.

use cygnus_types::Nanos;

use crate::device::Command;
use crate::disk::shingle::Way;
use crate::disk::{Disk, Stage};

/// A read that has waited for this time goes next, wherever its track is.
const PATIENCE: Nanos = Nanos::millis(500);

/// Most blocks written in one access where tracks do not overlap: 1 MiB, so that reads get their turn.
const MOST_WRITTEN: u64 = 256;

/// The rest of a band is waited for as long as the host keeps sending.
const GATHERING: Nanos = Nanos::millis(20);

/// What the arm is doing.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Job {
    /// Reading for a command.
    Read(u32),
    /// Writing what the buffer gave.
    Write,
    /// Rewriting a band.
    Rewrite(u32),
}

impl Disk {
    /// Gives the arm something to do, if it has nothing.
    pub(super) fn use_arm(&mut self) {
        if self.job.is_some() {
            return;
        }
        let is_pressed = !self.admitting.is_empty() || !self.flushes.is_empty() || self.buffer.is_filling();
        let writes_turn = self.reads.is_empty() || (is_pressed && !self.has_written);
        if (writes_turn && self.write(is_pressed)) || self.read_nearest() {
            return;
        }
        self.tidy();
    }

    fn begin(&mut self, job: Job, takes: Nanos) {
        self.job = Some(job);
        self.has_written = matches!(job, Job::Write);
        self.events.push(self.now + takes, Stage::Arm);
    }

    pub(super) fn job_done(&mut self) {
        match self.job.take().expect("the arm did something") {
            Job::Read(at) => self.link_up(at),
            Job::Write => {
                self.buffer.written();
                self.finish_flushes();
                self.admit();
            }
            Job::Rewrite(band) => {
                let shingled = self.shingled.as_mut().expect("it has bands");
                shingled.cleaned(band);
            }
        }
        self.use_arm();
    }

    /// The place of a block on the platters.
    fn place(&self, lba: u64) -> u64 {
        self.shingled.as_ref().map_or(lba, |shingled| shingled.locate(lba))
    }

    fn read_nearest(&mut self) -> bool {
        let wait = |&at: &u32| {
            let transit = &self.transits[at as usize];
            let is_overdue = transit.submitted + PATIENCE < self.now;
            if is_overdue { Nanos::ZERO } else { self.head.positioning(self.now, self.place(transit.lba), false) }
        };
        // The first of equals is the oldest.
        let Some(nth) = (0..self.reads.len()).min_by_key(|&nth| wait(&self.reads[nth])) else { return false };
        let at = self.reads.remove(nth);
        let Command::Read { lba, blocks } = self.transits[at as usize].command else {
            unreachable!("only reads wait for the arm");
        };
        let mut takes = Nanos::ZERO;
        let (mut first, end) = (lba, lba + u64::from(blocks));
        while first < end {
            let place = self.place(first);
            let together = (first..end).take_while(|&lba| self.place(lba) == place + (lba - first)).count() as u64;
            takes += self.head.access(self.now + takes, place, together, false);
            first += together;
        }
        self.begin(Job::Read(at), takes);
        true
    }

    /// Writes the next run of waiting blocks in the sweep; false if there is none, or one that had better wait.
    fn write(&mut self, is_pressed: bool) -> bool {
        let Some(shingled) = &self.shingled else {
            let Some((lba, blocks)) = self.buffer.run(self.sweep, MOST_WRITTEN) else { return false };
            return self.write_run(lba, lba, blocks, Nanos::ZERO);
        };
        let Some((lba, blocks)) = self.buffer.run(self.sweep, shingled.band()) else { return false };
        match shingled.way(lba, blocks) {
            Way::Band(blocks) => {
                let home = shingled.home(lba);
                self.shingled.as_mut().expect("looked at just now").put_in_band(lba, blocks);
                self.write_run(lba, home, blocks, Nanos::ZERO)
            }
            Way::Log(..) if shingled.begins_band(lba) && !is_pressed && !self.is_quiet(GATHERING) => {
                // The start of a band, and the host is still sending: perhaps all of it, which need not go to the log.
                self.set_alarm(GATHERING);
                false
            }
            Way::Log(place, blocks) => {
                self.shingled.as_mut().expect("looked at just now").put_in_log(lba, blocks, place);
                let entry = self.config.log_entry_time();
                self.write_run(lba, place, blocks, entry)
            }
            Way::Full(band) => {
                self.rewrite(band);
                true
            }
        }
    }

    fn write_run(&mut self, lba: u64, place: u64, blocks: u64, more: Nanos) -> bool {
        self.buffer.take(lba, blocks);
        self.sweep = lba + blocks;
        self.counters.programmed_host += blocks;
        let takes = self.head.access(self.now, place, blocks, true) + more;
        self.head.linger(more);
        self.begin(Job::Write, takes);
        true
    }

    /// Reads a band and what the log has of it, and writes it anew: first to a spare band before the log, because a power
    /// cut while the band itself is being written would take neighbouring tracks that are nowhere else.
    fn rewrite(&mut self, band: u32) {
        let shingled = self.shingled.as_ref().expect("it has bands");
        let home = shingled.home(shingled.start(band));
        let blocks = shingled.filled(band);
        let mut takes = self.head.access(self.now, home, blocks, false);
        for (place, blocks) in shingled.logged(band) {
            takes += self.head.access(self.now + takes, place, blocks, false);
        }
        takes += self.head.access(self.now + takes, 0, blocks, true);
        takes += self.head.access(self.now + takes, home, blocks, true);
        self.counters.gc_reads += blocks;
        self.counters.programmed_gc += 2 * blocks;
        self.begin(Job::Rewrite(band), takes);
    }

    fn is_quiet(&self, time: Nanos) -> bool {
        self.quiet_since + time <= self.now
    }

    /// Looks again when the host has been quiet for `time`.
    fn set_alarm(&mut self, time: Nanos) {
        let at = self.quiet_since + time;
        if self.alarm.is_none_or(|alarm| alarm < self.now || alarm > at) {
            self.alarm = Some(at);
            self.events.push(at, Stage::Quiet);
        }
    }

    /// Nothing to do for the host: the log is emptied, once that has been so for a while.
    fn tidy(&mut self) {
        let Some(idle) = self.config.idle_time() else { return };
        let Some(band) = self.shingled.as_ref().and_then(|shingled| shingled.oldest()) else { return };
        if self.is_quiet(idle) {
            self.rewrite(band);
        } else {
            self.set_alarm(idle);
        }
    }
}
