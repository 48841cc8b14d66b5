//! The arrays of Figures 8 to 10: YCSB on a key-value store, on nine drives with one parity drive for each group.
//!
//! Throughput is what these figures compare, so the store must wait for its answers as RocksDB does: when a merge is late,
//! writers stall. A recording cannot do that, since it says what was asked and not what waited for what. So the lab's
//! model of RocksDB, a log-structured merge tree down to which key is in which table, asks for the blocks. Its sizes are
//! scaled with the drives, so it has as many levels as the paper's. Figure 11 replays RocksDB itself (`recorded`).

use cygnus_workload::kv::Activity;

use super::common::UTILISATION;
use crate::chart::Scheme;
use crate::experiment::{Bound, Check, Scale, Trial, Trialled};
use crate::outcome::{LatencyRow, Outcome};

/// The workloads that the paper ran, in order (Table 3).
pub const WORKLOADS: [&str; 5] = ["load", "a", "b", "c", "d"];

/// What all of its figures say.
pub const MODELLED: &str = "The key-value store is a model of RocksDB, not RocksDB itself: what reaches the volume is a \
    log, tables and their merges, and lookups through Bloom filters and a cache. Parity rotates over the drives of a \
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

/// Place of SWAN among them.
pub const SWAN: usize = 3;

/// Operations at once: as many as the paper's server has cores (two Xeon E5-2609 v3 of six). Its mean latencies of reads,
/// 88 to 103 us (Table 4), are those of drives that hardly queue.
const CLIENTS: u32 = 12;

/// A workload on every scheme.
pub fn trials(scale: Scale, workload: &str) -> Vec<Trial> {
    SCHEMES
        .map(|(name, scheme, array)| {
            Trial::new(&format!("{name}, {workload}"), scheme, scenario(scale, array, workload))
        })
        .into()
}

fn scenario(scale: Scale, array: &str, workload: &str) -> String {
    // 64 GB of records of 1 KiB.
    let records = (64e9 / 1024.0 / scale.divisor()) as u64;
    let part = |bytes: u64, least: u64| ((bytes as f64 / scale.divisor()) as u64).max(least) / 4096 * 4096;
    let table = part(64 << 20, 1 << 20);
    // Loading the records takes the ramp; the load itself has none to speak of.
    let (seconds, ramp) = if workload == "load" { (120.0, 10.0) } else { (600.0, 360.0) };
    format!(
        "name = \"ycsb\"\n{}[[array]]\n{array}[volume]\nsize = \"{UTILISATION}% of data\"\n\
         [aging]\nfill = \"100%\"\noverwrite = 0.5\n[[workload.ycsb]]\nworkload = \"{workload}\"\nrecords = {records}\n\
         depth = {CLIENTS}\nblock-size = \"4KiB\"\nmemtable = {table}\ntable = {table}\nlevel1 = {}\nblock-cache = {}\n\
         [run]\nduration = \"{}\"\nramp = \"{}\"\nsample = \"{}\"\n",
        super::common::drives(scale),
        4 * table,
        part(1 << 30, 1 << 20),
        scale.seconds(seconds),
        scale.seconds(ramp),
        scale.seconds(6.0)
    )
}

/// User bytes read and written, in MB/s.
pub fn throughput(trialled: &Trialled) -> f64 {
    (trialled.outcome.read_bytes_per_second + trialled.outcome.write_bytes_per_second) as f64 / 1e6
}

/// Lookups of records.
pub fn lookups(outcome: &Outcome) -> Option<&LatencyRow> {
    outcome.latency.iter().find(|row| row.kind == "read" && row.job == Activity::Lookup as u16)
}

/// The name of a workload in figures.
pub fn title(workload: &str) -> String {
    if workload == "load" { "Load".into() } else { workload.to_uppercase() }
}

/// Why lookups in SWAN are slower than in arrays that spread everything over nine drives.
pub const IN_FRONT: &str = "Most lookups go to the drives of the front-end, which take all the writes beside them: what the \
    store has written lately is there, and three drives serve what nine serve in the others. In the paper's server the page \
    cache answers most of these (Table 4 has 40 % of the reads on the front-end, and says why it is not more).";

/// What shows [`IN_FRONT`].
pub fn lookups_in_front(swan: &Trialled) -> Check {
    let rows = || swan.outcome.reads_by_role.iter().filter(|row| row.job == Activity::Lookup as u16);
    let all: u64 = rows().map(|row| row.count).sum();
    let in_front: u64 = rows().filter(|row| row.role == "front-end").map(|row| row.count).sum();
    let share = 100.0 * in_front as f64 / all.max(1) as f64;
    Check::new("lookups that the front-end serves, %", Bound::AtLeast(50.0), share)
}
