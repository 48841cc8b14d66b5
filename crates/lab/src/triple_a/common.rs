//! What Triple-A's experiments have in common: the paper's workloads, its array of modules, and what is measured of a run.

use crate::chart::Scheme;
use crate::experiment::{Findings, Scale, Trial, Trialled};
use crate::outcome::{ClusterRow, Outcome};

/// Blocks of a module's die, and pages of each.
const BLOCKS: f64 = 2048.0;
const PAGES: u32 = 256;

/// How much smaller modules are. What is asked for is far smaller still.
pub const DIVISOR: f64 = 512.0;

/// The scale that modules have when this one is asked for: smaller ones would have no spare blocks to collect with.
pub fn scaled(asked: Scale) -> Scale {
    Scale::new(asked.divisor().min(DIVISOR)).expect("both are in bounds")
}

/// Seeds of all tables and figures.
pub const SEEDS: u32 = 5;

/// Bytes of a module of the paper (section 5.1).
const MODULE: u64 = 64_000_000_000;
/// Modules of a cluster.
const OF_CLUSTER: u32 = 4;
/// What a segment holds: the part of the volume that lies in one cluster. The log fills a segment of each cluster in turn.
const REGION_MIB: u32 = 4;
/// Such a segment on each module: four stripes of 64 rows, each with a row of headers.
const SEGMENT: &str = "1040KiB";

/// What Table 2 says of a workload: microseconds, thousands of requests a second, and microseconds of waiting for links and for modules.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub latency: f64,
    pub kiops: f64,
    pub link: f64,
    pub storage: f64,
}

/// A workload of Table 1.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    pub name: &'static str,
    /// Of Table 2, where it has one.
    pub row: Option<Row>,
    /// Whether Table 1 gives it hot clusters.
    pub is_hot: bool,
}

const fn known(name: &'static str, latency: f64, kiops: f64, link: f64, storage: f64) -> Workload {
    Workload { name, row: Some(Row { latency, kiops, link, storage }), is_hot: true }
}

const fn even(of: Workload) -> Workload {
    Workload { is_hot: false, ..of }
}

/// All workloads, in the order of the tables.
pub const WORKLOADS: [Workload; 13] = [
    even(known("cfs", 940.0, 229.0, 173.0, 637.0)),
    known("fin", 5457.0, 39.0, 4814.0, 550.0),
    known("hm", 1806.0, 112.0, 1270.0, 461.0),
    known("mds", 4064.0, 35.0, 3573.0, 419.0),
    known("msnfs", 1172.0, 152.0, 742.0, 341.0),
    known("prn", 6733.0, 42.0, 6115.0, 532.0),
    known("proj", 2860.0, 87.0, 2384.0, 411.0),
    known("prxy", 2521.0, 119.0, 2021.0, 422.0),
    known("usr", 1772.0, 134.0, 1364.0, 338.0),
    even(known("web", 1148.0, 181.0, 239.0, 768.0)),
    known("websql", 4737.0, 57.0, 4242.0, 431.0),
    Workload { name: "g-eigen", row: None, is_hot: true },
    Workload { name: "l-eigen", row: None, is_hot: true },
];

/// Requests at once where Table 2 has no row: about the middle one of its eleven.
const USUAL_DEPTH: u32 = 215;

impl Workload {
    /// Requests that clients have under way: latency times requests a second.
    pub fn depth(&self) -> u32 {
        self.row.map_or(USUAL_DEPTH, |row| (row.latency * row.kiops / 1e3).round() as u32)
    }

    /// The workload of that name.
    pub fn called(name: &str) -> Self {
        WORKLOADS.into_iter().find(|workload| workload.name == name).unwrap_or_else(|| panic!("{name} is no workload"))
    }
}

/// What both tables' experiments say.
pub const SYNTHESISED: &str = "The workloads are synthesised from Table 1: share of reads, randomness, hot clusters and the share of requests on them; \
    4 KiB each, a closed loop. As many are under way as Table 2's latency times its IOPS says (142 to 300), 215 where it has no row: so latency and \
    IOPS are one finding, not two. How much data there is nobody says: 4 MiB for each cluster here.";

/// What is supposed to make the paper's array slower than ours.
pub const ONE_AT_A_TIME: &str = "A cluster's bus serves one command from its beginning to its answer: modules of a cluster do not work side by side.";

/// The same, and writes go where the address is.
pub const IN_PLACE: &str = "The paper's array has each address in one cluster, writes there and answers when that is done (RAID-0 in place), and a \
    cluster's bus serves one command at a time; a log answers from memory, and writes to whichever cluster is emptiest.";

/// Which array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// The log, whose data stays where it was written.
    Stays,
    /// The log, whose data moves out of the way of contention.
    Moves,
    /// The same, and it is read anew for that.
    MovesNaively,
    /// RAID-0 in place.
    InPlace,
}

impl Who {
    pub fn name(self) -> &'static str {
        match self {
            Who::Stays => "non-autonomic",
            Who::Moves => "Triple-A",
            Who::MovesNaively => "naive migration",
            Who::InPlace => "in place",
        }
    }

    /// Its colour in this paper's figures.
    pub fn scheme(self) -> Scheme {
        match self {
            Who::Stays => Scheme::LogRaid,
            Who::Moves => Scheme::Swan,
            Who::MovesNaively => Scheme::Reads,
            Who::InPlace => Scheme::Raid0,
        }
    }

    fn array(self, clusters: u32) -> String {
        let drives = clusters * OF_CLUSTER;
        let log = |more: &str| {
            format!(
                "[[array]]\npreset = \"triple-a\"\ngroups = {clusters}\nraid = \"{OF_CLUSTER}+0\"\nsegment = \"{SEGMENT}\"\n{more}"
            )
        };
        let budget = format!("budget-of = {}\n", u64::from(drives) * MODULE);
        match self {
            Who::Stays => log("autonomics = false\n"),
            // Moves are paid for by the flash that the modules stand for.
            Who::Moves => log(&budget),
            Who::MovesNaively => log(&format!("{budget}migration = \"naive\"\n")),
            Who::InPlace => format!("[[array]]\npreset = \"raid0\"\ndrives = {drives}\nchunk = \"1MiB\"\n"),
        }
    }
}

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub enum Load {
    /// A workload of Table 1.
    Table(Workload),
    /// Reads at random places: a tenth of them go to each of so many clusters, the others anywhere else.
    Reads(u32),
}

/// Reads under way in the micro-benchmark: as many as the largest queue that the paper names for its root complex.
const READS_DEPTH: u32 = 1000;

impl Load {
    fn name(self) -> String {
        match self {
            Load::Table(workload) => workload.name.into(),
            Load::Reads(hot) => format!("{hot} hot clusters"),
        }
    }

    fn workload(self, clusters: u32) -> String {
        match self {
            Load::Table(workload) => {
                format!("[workload.synth]\npreset = \"triple-a/{}\"\ndepth = {}\n", workload.name, workload.depth())
            }
            Load::Reads(0) => reads(""),
            Load::Reads(hot) => {
                let (space, accesses) = (f64::from(hot) * 100.0 / f64::from(clusters), 10 * hot);
                reads(&format!(
                    "distribution = {{ hotspot = {{ space = {space:?}, accesses = {accesses} }} }}\nscramble = false\n"
                ))
            }
        }
    }
}

fn reads(places: &str) -> String {
    format!("[[workload.fio]]\nname = \"read\"\nread = 100\ndepth = {READS_DEPTH}\n{places}")
}

/// One array under one load.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub who: Who,
    pub load: Load,
    /// Switches, and clusters of each.
    pub network: (u32, u32),
    /// Whether the modules of a cluster work side by side.
    pub interleave: bool,
    pub times: Times,
}

/// For how long, in milliseconds: in all, and how much of that is not measured.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    pub all: u32,
    pub ramp: u32,
}

/// While the data lies where it was written.
pub const EARLY: Times = Times { all: 30, ramp: 10 };
/// From before the first move to when data has had the time to move.
pub const WHOLE: Times = Times { all: 150, ramp: 10 };
/// When data has had the time to move.
pub const LATE: Times = Times { all: 150, ramp: 110 };

impl Case {
    /// On the paper's network, with modules that work side by side.
    pub fn new(who: Who, load: Load, times: Times) -> Self {
        Self { who, load, network: (4, 16), interleave: true, times }
    }

    /// The same on another network.
    pub fn on(self, switches: u32, each: u32) -> Self {
        Self { network: (switches, each), ..self }
    }

    /// The same with one command at a time in each cluster.
    pub fn one_at_a_time(self) -> Self {
        Self { interleave: false, ..self }
    }

    fn name(&self) -> String {
        let (switches, each) = self.network;
        let slowly = if self.interleave { "" } else { ", one command at a time" };
        format!("{}, {}, {switches}x{each}{slowly}", self.who.name(), self.load.name())
    }

    /// Its trial.
    pub fn trial(&self, scale: Scale) -> Trial {
        let (switches, each) = self.network;
        let clusters = switches * each;
        let Times { all, ramp } = self.times;
        let text = format!(
            "name = \"triple-a\"\n{}[fabric]\ntopology = \"{switches}x{each}\"\ninterleave = {}\n{}[volume]\nsize = \"{}MiB\"\n\
             [aging]\nfill = \"100%\"\ndepth = 1\n{}[run]\nduration = \"{all}ms\"\nramp = \"{ramp}ms\"\nsample = \"{ramp}ms\"\n",
            scaled(scale).devices("fimm", BLOCKS, PAGES),
            self.interleave,
            self.who.array(clusters),
            REGION_MIB * clusters,
            self.load.workload(clusters),
        );
        Trial::new(&self.name(), self.who.scheme(), text)
    }
}

/// The array without and with moves, under one load.
pub fn both(load: Load) -> [Case; 2] {
    [Who::Stays, Who::Moves].map(|who| Case::new(who, load, LATE))
}

/// Trials of these cases, and of the same with one command at a time.
pub fn with_cause(cases: &[Case], scale: Scale) -> Vec<Trial> {
    let slowly = cases.iter().map(|case| case.one_at_a_time());
    cases.iter().copied().chain(slowly).map(|case| case.trial(scale)).collect()
}

/// What was measured of cases.
pub struct Results<'a>(pub &'a [Trialled<'a>]);

impl<'a> Results<'a> {
    /// The place of a case's trial.
    pub fn place(&self, case: &Case) -> usize {
        let name = case.name();
        let at = self.0.iter().position(|trialled| trialled.trial.name == name);
        at.unwrap_or_else(|| panic!("{name} was not set up"))
    }

    /// What came of it.
    pub fn of(&self, case: &Case) -> &'a Outcome {
        self.0[self.place(case)].outcome
    }
}

/// Gives what came of a case.
pub type Look<'a, 'b> = dyn Fn(&Case) -> &'a Outcome + 'b;

impl Results<'_> {
    /// A published line that follows from these cases, and the same with one command at a time.
    pub fn line(&self, found: &mut Findings, line: (&str, &str), cases: &[Case], value: impl Fn(&Look) -> f64) {
        found.published(line.0, line.1, value(&|case| self.of(case)));
        let slowly = value(&|case| self.of(&case.one_at_a_time()));
        let places: Vec<_> = cases.iter().map(|case| (self.place(case), self.place(&case.one_at_a_time()))).collect();
        found.supposed(line, ONE_AT_A_TIME, &places, slowly);
        found.number(format!("{}, {}: one command at a time", line.0, line.1), "", slowly);
    }
}

/// Something of an array that moves data by the same of one that does not.
pub fn effect(look: &Look, load: Load, of: Measure) -> f64 {
    let [stays, moves] = both(load);
    ratio(of(look(&moves)), of(look(&stays)))
}

/// No waiting of none is all of it: there was nothing to be gained. Some of none is no number.
pub fn ratio(one: f64, other: f64) -> f64 {
    if (one, other) == (0.0, 0.0) { 1.0 } else { one / other }
}

/// Something of a run.
pub type Measure = fn(&Outcome) -> f64;
/// A mean wait of a cluster's requests, in nanoseconds.
pub type Wait = fn(&ClusterRow) -> Option<u64>;

/// Mean latency of all requests in microseconds.
pub fn latency(outcome: &Outcome) -> f64 {
    let sum: f64 = outcome.latency.iter().map(|row| row.count as f64 * row.mean_ns as f64).sum();
    sum / 1e3 / outcome.requests as f64
}

/// Thousands of requests a second.
pub fn kiops(outcome: &Outcome) -> f64 {
    outcome.requests as f64 * 1e6 / outcome.measured_ns as f64
}

/// Mean of a wait over all requests to modules, in microseconds.
pub fn wait(outcome: &Outcome, of: Wait) -> f64 {
    let requests: u64 = outcome.clusters.iter().map(|row| row.requests).sum();
    let sum: f64 = outcome.clusters.iter().map(|row| row.requests as f64 * of(row).unwrap_or(0) as f64).sum();
    sum / 1e3 / requests as f64
}

/// Waiting for buses and links.
pub fn link(outcome: &Outcome) -> f64 {
    wait(outcome, |row| row.link_ns)
}

/// Waiting for modules.
pub fn storage(outcome: &Outcome) -> f64 {
    wait(outcome, |row| row.storage_ns)
}

/// How unevenly modules wear: what the one that was written most was written, by the mean; 1 if none was written.
pub fn wear(outcome: &Outcome) -> f64 {
    let written = || outcome.devices.iter().map(|device| device.written_bytes);
    let mean = written().sum::<u64>() as f64 / outcome.devices.len() as f64;
    ratio(written().max().unwrap_or(0) as f64, mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_are_under_way_as_the_table_says() {
        let depths: Vec<u32> = WORKLOADS.iter().map(Workload::depth).collect();
        assert_eq!((depths.iter().min(), depths.iter().max()), (Some(&142), Some(&300)));
        let mut known: Vec<u32> = WORKLOADS.iter().filter(|of| of.row.is_some()).map(Workload::depth).collect();
        known.sort_unstable();
        assert_eq!(known[5], USUAL_DEPTH);
    }
}
