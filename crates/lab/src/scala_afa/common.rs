//! What ScalaAFA's experiments have in common.

use super::profiles::{FUSION_RAID, MDRAID, Profile, RAID5F, UNLOCKED};
use crate::chart::{Axis, Bars, Panel, Scheme};
use crate::experiment::{Scale, Trial, Trialled};
use crate::outcome::ratio;
use crate::outcome::{DeviceTotals, LatencyRow};

/// Blocks per die of the paper's emulated drive, and pages of each (Table 1).
const BLOCKS: f64 = 352.0;
const PAGES: u32 = 512;
/// What such a drive writes in order, in GB/s, and what Figure 11 calls ideal for 4+1: (k + m) / (m + 1) of it.
pub const DRIVE: f64 = 4.89;
pub const IDEAL: f64 = DRIVE * 5.0 / 2.0;

/// How much smaller drives are. They are fast, and runs short: no figure here is about a full drive.
pub const DIVISOR: f64 = 4.0;
/// Seeds of each.
pub const SEEDS: u32 = 6;

/// The `[devices]` section.
pub fn drives(scale: Scale) -> String {
    scale.devices("scalaafa-femu", BLOCKS, PAGES)
}

/// An array that writes a log.
pub fn log(preset: &str, data: u32, parity: u32) -> String {
    format!("[[array]]\npreset = \"{preset}\"\nraid = \"{data}+{parity}\"\nsegment = \"1MiB\"\n")
}

/// An array in place.
pub fn in_place(level: &str, drives: u32) -> String {
    format!("[[array]]\npreset = \"{level}\"\ndrives = {drives}\n")
}

/// Modelled cores at the lab's usual costs, which are those of `cygnus bench engine`.
pub fn engine_cores(count: u32) -> String {
    format!("[cpu]\ncores = {count}\n")
}

/// Writes in the manner of fio by so many clients.
pub fn writes(pattern: &str, block_kib: u32, depth: u32, clients: u32) -> String {
    format!(
        "[[workload.fio]]\nname = \"writes\"\npattern = \"{pattern}\"\nblock-size = \"{block_kib}KiB\"\ndepth = {depth}\n\
         clients = {clients}\n"
    )
}

/// A scenario of so many milliseconds, the first fifth of which is not measured. The volume is written once before: who
/// reads old parity finds some.
pub fn scenario(devices: &str, array: &str, workload: &str, cpu: &str, millis: u32) -> String {
    format!(
        "name = \"scala-afa\"\n{devices}{array}[volume]\nsize = \"512MiB\"\nack = \"written\"\n[aging]\nfill = \"100%\"\n\
         {workload}{cpu}[run]\nduration = \"{millis}ms\"\nramp = \"{}ms\"\nsample = \"{}us\"\n",
        millis / 5,
        millis * 100
    )
}

/// An engine, with its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    Mdraid,
    ScalaRaid,
    StRaid,
    Raid5f,
    FusionRaid,
    /// Ours with parity computed by the host: the paper's Scala-CO.
    HostConverts,
    /// Ours.
    ScalaAfa,
}

use Engine::{FusionRaid, HostConverts, Mdraid, Raid5f, ScalaAfa, ScalaRaid, StRaid};

impl Engine {
    /// Its name in figures.
    pub fn name(self) -> &'static str {
        match self {
            Mdraid => "mdraid",
            ScalaRaid => "ScalaRAID",
            StRaid => "stRAID",
            Raid5f => "RAID5F",
            FusionRaid => "FusionRAID",
            HostConverts => "ours, host converts",
            ScalaAfa => "ours",
        }
    }

    /// Its colour in this paper's figures.
    pub fn scheme(self) -> Scheme {
        match self {
            Mdraid => Scheme::Raid5,
            ScalaRaid => Scheme::Raid4,
            StRaid => Scheme::Raw,
            Raid5f => Scheme::Serial,
            FusionRaid => Scheme::Raid0,
            HostConverts => Scheme::LogRaid,
            ScalaAfa => Scheme::Swan,
        }
    }

    fn profile(self) -> Option<Profile> {
        match self {
            Mdraid => Some(MDRAID),
            ScalaRaid | StRaid => Some(UNLOCKED),
            Raid5f => Some(RAID5F),
            FusionRaid => Some(FUSION_RAID),
            HostConverts | ScalaAfa => None,
        }
    }

    /// An array for so many drives with data and parity. FusionRAID's copies are RAID-10, which takes an even number of drives:
    /// it gets one more where the number is odd.
    fn array(self, data: u32, parity: u32) -> String {
        match self {
            HostConverts => log("fusion", data, parity),
            ScalaAfa => log("scala-afa", data, parity),
            FusionRaid => in_place("raid10", (data + parity).next_multiple_of(2)),
            _ => in_place(if parity == 1 { "raid5" } else { "raid6" }, data + parity),
        }
    }

    /// The cores of so many threads. A third copy is charged to FusionRAID's core and not written.
    fn cpu(self, parity: u32, threads: u32) -> String {
        let third = if self == FusionRaid { parity - 1 } else { 0 };
        self.profile().map_or_else(|| engine_cores(threads), |profile| profile.cpu_with(threads, third))
    }
}

/// One engine under one load.
#[derive(Clone, Debug)]
pub struct Case {
    pub engine: Engine,
    pub data: u32,
    pub parity: u32,
    pub threads: u32,
    /// What it is asked for, in a word.
    pub load: &'static str,
    pub millis: u32,
    /// Ours without what the paper's engine does not do: copying each block into its stripe, and checksumming it.
    pub bare: bool,
}

impl Case {
    /// One thread on 4+1.
    pub fn new(engine: Engine, load: &'static str) -> Self {
        Self { engine, data: 4, parity: 1, threads: 1, load, millis: 50, bare: false }
    }

    /// The same on another array.
    pub fn on(self, data: u32, parity: u32) -> Self {
        Self { data, parity, ..self }
    }

    /// The same with more threads.
    pub fn threads(self, threads: u32) -> Self {
        Self { threads, ..self }
    }

    /// The same without copying and checksums.
    pub fn bare(self) -> Self {
        Self { bare: true, ..self }
    }

    /// The name of its trial.
    pub fn name(&self) -> String {
        let threads = if self.threads == 1 { String::new() } else { format!(", {} threads", self.threads) };
        let bare = if self.bare { ", nothing copied and no checksums" } else { "" };
        format!("{} {}+{}, {}{threads}{bare}", self.engine.name(), self.data, self.parity, self.load)
    }

    /// Its trial on drives.
    pub fn trial(&self, devices: &str) -> Trial {
        // A thread that is pooled asks for what all do; ours has a client on each core.
        let clients = if self.engine.profile().is_some() { 1 } else { self.threads };
        let depth = |each: u32| each * self.threads / clients;
        let stripe = 64 * self.data;
        let workload = match self.load {
            SEQUENTIAL => writes("sequential", 64, depth(32), clients),
            RANDOM => writes("random", 64, depth(32), clients),
            FULL => writes("sequential", stripe, depth(32), clients),
            FULL_RANDOM => writes("random", stripe, depth(32), clients),
            ONE => writes("sequential", 64, depth(1), clients),
            ONE_RANDOM => writes("random", 64, depth(1), clients),
            SMALL => writes("random", 4, depth(1), clients),
            load => panic!("{load} is no load"),
        };
        let array = self.engine.array(self.data, self.parity);
        let bare = if self.bare { "copy = \"0ns\"\nchecksum = \"0ns\"\n" } else { "" };
        let cpu = self.engine.cpu(self.parity, self.threads) + bare;
        Trial::new(&self.name(), self.engine.scheme(), scenario(devices, &array, &workload, &cpu, self.millis))
    }
}

/// What is supposed to make ours slower than the paper's.
pub const COPIES: &str = "Each block is copied into its stripe and checksummed; ScalaAFA does neither.";

/// Loads: 64 KiB and whole stripes at depth 32, 64 and 4 KiB at depth 1.
pub const SEQUENTIAL: &str = "64 KiB sequential";
pub const RANDOM: &str = "64 KiB random";
pub const FULL: &str = "full-stripe sequential";
pub const FULL_RANDOM: &str = "full-stripe random";
pub const ONE: &str = "64 KiB sequential, depth 1";
pub const ONE_RANDOM: &str = "64 KiB random, depth 1";
pub const SMALL: &str = "4 KiB, depth 1";

/// What was measured of a case.
pub struct Results<'a>(pub &'a [Trialled<'a>]);

impl<'a> Results<'a> {
    /// The place of a case's trial.
    pub fn place(&self, case: &Case) -> usize {
        let name = case.name();
        let at = self.0.iter().position(|trialled| trialled.trial.name == name);
        at.unwrap_or_else(|| panic!("{name} was not set up"))
    }

    /// Its trial.
    pub fn of(&self, case: &Case) -> &Trialled<'a> {
        &self.0[self.place(case)]
    }

    fn writes(&self, case: &Case) -> &LatencyRow {
        self.of(case).outcome.latency_of("write", 0).expect("there were writes")
    }

    /// Writes in GB/s.
    pub fn rate(&self, case: &Case) -> f64 {
        gigabytes(self.of(case))
    }

    /// Mean latency of writes in microseconds.
    pub fn mean(&self, case: &Case) -> f64 {
        self.writes(case).mean_ns as f64 / 1e3
    }

    /// 99th percentile of it.
    pub fn p99(&self, case: &Case) -> f64 {
        self.writes(case).p99_ns as f64 / 1e3
    }
}

/// Clients' writes in GB/s.
pub fn gigabytes(trialled: &Trialled) -> f64 {
    trialled.outcome.write_rate() / 1e9
}

/// Blocks sent to drives for each block that clients wrote.
pub fn sent(trialled: &Trialled) -> f64 {
    ratio(trialled.outcome.array_write_amplification_milli)
}

/// The same with parity that drives computed, as they programmed it first: what they moved later, out of their buffers too, is
/// left out.
pub fn programmed(trialled: &Trialled) -> f64 {
    let sum = |of: fn(&DeviceTotals) -> u64| trialled.outcome.devices.iter().map(of).sum::<u64>() as f64;
    let first = sum(|device| device.pages_programmed - device.pages_collected);
    sent(trialled) * first / sum(|device| device.written_bytes / 4096)
}

/// A bar for each case.
pub fn bars(label: &str, title: &str, cases: &[Case], value: impl Fn(&Case) -> f64) -> Panel {
    let mut engines: Vec<Engine> = Vec::new();
    cases.iter().for_each(|case| {
        if !engines.contains(&case.engine) {
            engines.push(case.engine)
        }
    });
    let heights = |engine: Engine| cases.iter().filter(|case| case.engine == engine).map(&value).collect();
    let series = engines.iter().map(|&engine| Bars::new(engine.name(), engine.scheme(), heights(engine))).collect();
    let mut groups: Vec<String> = Vec::new();
    for case in cases.iter().filter(|case| case.engine == engines[0]) {
        groups.push(format!("{}+{}", case.data, case.parity));
    }
    Panel::bars(Axis::linear(label), groups, series).titled(title)
}
