//! The arrays of Figures 8 to 10: YCSB on a key-value store, on nine drives with one parity drive for each group.
//!
//! Throughput is what these figures compare, so the store must wait for its answers as RocksDB does: when a merge is late,
//! writers stall. A recording cannot do that, since it says what was asked and not what waited for what. So the lab's
//! model of RocksDB, a log-structured merge tree down to which key is in which table, asks for the blocks. Its sizes are
//! scaled with the drives, so it has as many levels as the paper's. Figure 11 replays RocksDB itself (`recorded`).

use cygnus_workload::kv::Activity;

use super::common::UTILISATION;
use crate::chart::{Axis, Bars, Panel, Scheme};
use crate::experiment::{Scale, Trial, Trialled};
use crate::outcome::{LatencyRow, Outcome};

/// The workloads that the paper ran, in order (Table 3).
pub const WORKLOADS: [&str; 5] = ["load", "a", "b", "c", "d"];

/// What all of its figures say.
pub const MODELLED: &str = "The key-value store is a model of RocksDB, not RocksDB itself: what reaches the volume is a \
    log, tables and their merges, and lookups through Bloom filters and a cache. Tables have 16 MiB at least: the store waits for \
    a flush after each, which takes as long as at the paper's size. The store's own computing takes no time. Parity rotates over the drives of a \
    group in both log schemes (as in RAID-5, not RAID-4): a parity drive of its own makes no difference to full stripes.";

/// The schemes, in the paper's order.
pub const SCHEMES: [(&str, Scheme, &str); 4] = [
    ("RAID4", Scheme::Raid4, "preset = \"raid4\"\ndrives = 9\n"),
    ("RAID5", Scheme::Raid5, "preset = \"raid5\"\ndrives = 9\n"),
    ("Log-RAID", Scheme::LogRaid, "preset = \"log-raid\"\nraid = \"8+1\"\nsegment = \"1MiB\"\nover-provision = 5\n"),
    (
        "SWAN 3R-3SSD",
        Scheme::Swan,
        "preset = \"swan\"\ngroups = 3\nraid = \"2+1\"\nsegment = \"1MiB\"\nover-provision = 5\n",
    ),
];

/// SWAN's place among them; those before it are its rivals.
pub const SWAN: usize = 3;
/// Trials of a workload.
pub const PER_WORKLOAD: usize = SCHEMES.len();

/// Bytes of a record.
const RECORD: u64 = 1024;

/// Operations at once: as many as the paper's server has cores (two Xeon E5-2609 v3 of six). Its mean latencies of reads,
/// 88 to 103 us (Table 4), are those of drives that hardly queue.
const CLIENTS: u32 = 12;

/// Tables have at least this size. The store waits for a flush after each, which takes as long as it does in the paper's
/// server: with tables scaled like the drives, such waits, and not drives, would decide how fast a store is.
const SMALLEST_TABLE: u64 = 16 << 20;

/// A trial of each scheme; `scenario` makes one of a `[devices]` section and an array.
pub fn each(scale: Scale, workload: &str, scenario: impl Fn(&str, &str) -> String) -> Vec<Trial> {
    let drives = super::common::drives(scale);
    let trial = |(name, scheme, array): (&str, Scheme, &str)| {
        Trial::new(&format!("{name}, {workload}"), scheme, scenario(&drives, array))
    };
    SCHEMES.into_iter().map(trial).collect()
}

/// A workload on every scheme.
pub fn trials(scale: Scale, workload: &str) -> Vec<Trial> {
    each(scale, workload, |drives, array| scenario(scale, drives, array, workload))
}

fn scenario(scale: Scale, drives: &str, array: &str, workload: &str) -> String {
    // 64 GB of records of 1 KiB.
    let records = (64e9 / RECORD as f64 / scale.divisor()) as u64;
    let part = |bytes: u64, least: u64| ((bytes as f64 / scale.divisor()) as u64).max(least) / 4096 * 4096;
    let table = part(64 << 20, SMALLEST_TABLE);
    // The load is measured while all schemes load, which the fastest does not do for much longer. Before the others comes
    // the writing of the records.
    let (seconds, ramp) = if workload == "load" { (180.0, 10.0) } else { (600.0, 360.0) };
    format!(
        "name = \"ycsb\"\n{drives}[[array]]\n{array}[volume]\nsize = \"{UTILISATION}% of data\"\n\
         [aging]\nfill = \"100%\"\noverwrite = 0.5\n[[workload.ycsb]]\nworkload = \"{workload}\"\nrecords = {records}\n\
         depth = {CLIENTS}\nblock-size = \"4KiB\"\nmemtable = {table}\ntable = {table}\nlevel1 = {}\nblock-cache = {}\n\
         [run]\nduration = \"{}\"\nramp = \"{}\"\nsample = \"{}\"\n",
        4 * table,
        part(1 << 30, 1 << 20),
        scale.seconds(seconds),
        scale.seconds(ramp),
        scale.seconds(6.0)
    )
}

/// Records that were inserted or looked up on the volume in a second, in thousands: how fast the store does what its clients
/// ask for, whatever its merges do meanwhile.
pub fn throughput(trialled: &Trialled) -> f64 {
    let Outcome { latency, measured_ns, .. } = trialled.outcome;
    let logged = latency.iter().filter(|row| row.kind == "write" && row.job == Activity::Log as u16);
    let inserted = logged.map(|row| row.bytes / RECORD).sum();
    let records = lookups(trialled.outcome).map_or(inserted, |row| row.count);
    records as f64 / (*measured_ns as f64 / 1e6)
}

/// What the volume was asked to read and write in a second, in MB/s: the store's own work is part of it.
pub fn bytes(trialled: &Trialled) -> f64 {
    trialled.outcome.rate() / 1e6
}

/// Lookups of records.
pub fn lookups(outcome: &Outcome) -> Option<&LatencyRow> {
    outcome.latency_of("read", Activity::Lookup as u16)
}

/// Of all [`trials`] of a figure, those of one workload.
pub fn of_workload<'a, 'b>(trials: &'a [Trialled<'b>], w: usize) -> &'a [Trialled<'b>] {
    &trials[w * PER_WORKLOAD..][..PER_WORKLOAD]
}

/// A bar for each of the paper's schemes, beside one another for each workload.
pub fn bars(axis: &str, workloads: &[&str], trials: &[Trialled], value: impl Fn(&Trialled) -> f64) -> Panel {
    let of = |s: usize| trials.iter().skip(s).step_by(PER_WORKLOAD).map(&value).collect();
    let series = SCHEMES.iter().enumerate().map(|(s, (name, scheme, _))| Bars::new(name, *scheme, of(s))).collect();
    Panel::bars(Axis::linear(axis), workloads.iter().map(|workload| title(workload)).collect(), series)
}

/// The name of a workload in figures.
pub fn title(workload: &str) -> String {
    if workload == "load" { "Load".into() } else { workload.to_uppercase() }
}

/// A number of SWAN by that of each rival, with the rival's name.
pub fn beside_rivals(of_workload: &[Trialled], value: impl Fn(&Trialled) -> f64) -> [(&'static str, f64); SWAN] {
    let swan = value(&of_workload[SWAN]);
    std::array::from_fn(|rival| (SCHEMES[rival].0, swan / value(&of_workload[rival])))
}
