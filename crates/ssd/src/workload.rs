//! Closed-loop load on one drive, for calibration and tests.

use cygnus_types::Rng;
use cygnus_types::{BLOCK, Nanos};

use crate::counters::Counters;
use crate::device::{Command, Device, Done};

/// Where commands go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// One after the other, from the start, over and over.
    Sequential,
    /// Uniformly random multiples of the command's size.
    Random,
}

/// A load with a constant number of commands outstanding.
#[derive(Clone, Debug)]
pub struct Workload {
    /// Where.
    pub pattern: Pattern,
    /// Blocks of 4 KiB per command.
    pub blocks: u32,
    /// Commands outstanding.
    pub depth: u32,
    /// Reads per hundred commands.
    pub read_percent: u32,
    /// The first share of the drive that is used, in (0, 1].
    pub span: f64,
    /// Of the random choices.
    pub seed: u64,
}

/// What a load met with.
#[derive(Clone, Debug)]
pub struct Report {
    /// Commands completed.
    pub commands: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Simulated time.
    pub elapsed: Nanos,
    /// Mean latency.
    pub mean: Nanos,
    /// Latency that 99 % of the commands stayed within.
    pub p99: Nanos,
    /// What the drive counted meanwhile.
    pub counters: Counters,
}

impl Report {
    /// Bytes per simulated second.
    pub fn rate(&self) -> f64 {
        self.bytes as f64 / self.elapsed.as_secs_f64()
    }

    /// Commands per simulated second.
    pub fn iops(&self) -> f64 {
        self.commands as f64 / self.elapsed.as_secs_f64()
    }
}

impl Workload {
    /// Runs `commands` commands on a drive with nothing outstanding, and waits for all.
    pub fn run(&self, device: &mut dyn Device, commands: u64) -> Report {
        assert_eq!(device.outstanding(), 0, "the drive is busy with something else");
        assert!(commands > 0 && self.depth > 0, "a load has commands");
        let slots = ((device.blocks() as f64 * self.span) as u64 / u64::from(self.blocks)).max(1);
        let mut rng = Rng::new(self.seed);
        let (start, before) = (device.now(), *device.counters());
        let mut done: Vec<Done> = Vec::new();
        let mut latencies = Vec::with_capacity(commands as usize);
        let mut issued = 0;
        let mut issue = |device: &mut dyn Device, now: Nanos| {
            if issued < commands {
                let slot = if self.pattern == Pattern::Random { rng.below(slots) } else { issued % slots };
                let (lba, blocks) = (slot * u64::from(self.blocks), self.blocks);
                let command = if rng.below(100) < u64::from(self.read_percent) {
                    Command::Read { lba, blocks }
                } else {
                    Command::write(lba, blocks)
                };
                device.submit(now, issued, command);
                issued += 1;
            }
        };
        for _ in 0..self.depth {
            issue(device, start);
        }
        let mut end = start;
        while device.outstanding() > 0 {
            let next = device.next_event().expect("the drive has something outstanding");
            device.advance(next, &mut done);
            for finished in done.drain(..) {
                latencies.push((finished.at - finished.submitted).0);
                end = finished.at;
                issue(device, next);
            }
        }
        latencies.sort_unstable();
        let total: u64 = latencies.iter().sum();
        Report {
            commands,
            bytes: commands * u64::from(self.blocks) * BLOCK as u64,
            elapsed: end - start,
            mean: Nanos(total / commands),
            p99: Nanos(latencies[(latencies.len() * 99).div_ceil(100) - 1]),
            counters: device.counters().since(&before),
        }
    }
}
