//! Figure 12: latencies of random reads and writes on drives with a page-level translation layer.

use super::common::{UTILISATION, drives, raid0, swan0};
use super::fig4a::WHOLE_VOLUME;
use crate::chart::{Axis, Chart, Line, Panel, Scheme};
use crate::experiment::{About, Experiment, Findings, Mechanism, Scale, Trial, Trialled};
use crate::outcome::ratio;
use crate::outcome::{LatencyRow, Outcome, Point};

/// See the module's text.
pub struct Fig12;

/// Requests of each kind per second: half of what RAID0 could do, so that latency tells of collection, not of queues.
const IOPS: u32 = 8000;

/// What is compared of each CDF.
const POINTS: [Point; 4] = [
    ("mean", |row| row.mean_ns),
    ("99 %", |row| row.p99_ns),
    ("99.9 %", |row| row.p999_ns),
    ("99.99 %", |row| row.p9999_ns),
];

const NOTES: [&str; 3] = [
    "Uniform random requests need no recording: they are drawn anew, at a fixed rate, so both schemes get the same requests at the \
     same times, as a trace would have it.",
    "Both answer a write once drives have it (volumes are at level written), as the paper measures at the drive. SWAN0 brings what waits for an answer \
     to its drives in a stripe with a header, and RAID0 each request by itself.",
    "Two of SWAN0's six drives take all the writes, three times as much for each as RAID0 gives its six, and two more take what \
     cleaning moves. RAID0's drives have a quarter of spare flash, and are 60 % full; how much they collect is among the numbers.",
];

/// Nominal spare flash: 128 GiB sold as 128 GB.
const SPARE: &str = "override.ssd.spare = 0.07\n";
const LITTLE_SPARE: &str =
    "The drives have 7 % of spare flash, not 26 %: how much the paper's open-channel SSD has is not told.";

/// What an FTL does that collects when space is short. How the paper's page-level FTL collects is not told.
const BURSTS: &str = "Drives collect in bursts: a die that empties a victim serves nothing else meanwhile, as many drives of the field do.";

/// A trial again, on drives that collect in bursts.
fn in_bursts(trial: &Trial, scale: Scale) -> Trial {
    let with = Mechanism::BURSTS.switched_on(&trial.name, &trial.scenario, scale);
    // Drives that are too small say so when they are to be run.
    let scenario = with.ok().flatten().unwrap_or_else(|| trial.scenario.clone());
    Trial::new(&format!("{}, in bursts", trial.name), trial.scheme, scenario)
}

impl Experiment for Fig12 {
    fn about(&self) -> About {
        About {
            id: "swan/fig12",
            title: "Latencies of random reads and writes on six open-channel drives: RAID0 and SWAN0",
            published: "Figure 12 and section 5.4: traces of fio's random reads and writes to RAID0 and SWAN0 of six SSDs, \
                        replayed on an open-channel SSD (NAND reads 100 us, writes 500 us) with a page-level FTL. SWAN0 \
                        has shorter latency and a shorter tail throughout.",
            divisor: 64.0,
            seeds: 6,
        }
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        let trial = |name, scheme, array: &str, percent: u32, more: &str| {
            // The drive of the other figures with this NAND.
            let devices = drives(scale)
                .replace("override.ssd.flash = {", "override.ssd.flash = { t_read = \"100us\", t_program = \"500us\",");
            let scenario = format!(
                "name = \"fig12\"\n{devices}{more}{array}[volume]\nsize = \"{percent}% of data\"\nack = \"written\"\n[aging]\nfill = \"100%\"\n\
                 overwrite = 1.5\n[[workload.fio]]\nname = \"random\"\nblock-size = \"8KiB\"\nread = 50\n\
                 rate = {{ iops = {}, arrivals = \"poisson\" }}\n[run]\nduration = \"{}\"\nramp = \"{}\"\nsample = \"{}\"\n",
                2 * IOPS,
                scale.seconds(640.0),
                scale.seconds(64.0),
                scale.seconds(6.4)
            );
            Trial::new(name, scheme, scenario)
        };
        let raid = |name, percent, more| trial(name, Scheme::Raid0, &raid0(6), percent, more);
        let swan = |name, more| trial(name, Scheme::Swan, &swan0(3, 2), UTILISATION, more);
        let (raid0, swan0) = (raid("RAID0", UTILISATION, ""), swan("SWAN0 3R-2SSD", ""));
        let in_bursts = [&raid0, &swan0].map(|trial| in_bursts(trial, scale));
        let others = [
            raid0,
            swan0,
            raid("RAID0, 7 % of spare flash", UTILISATION, SPARE),
            swan("SWAN0, 7 % of spare flash", SPARE),
            raid("RAID0, all of the drives", 99, ""),
        ];
        others.into_iter().chain(in_bursts).collect()
    }

    fn findings(&self, _: Scale, trials: &[Trialled]) -> Findings {
        let [raid, swan, raid_7, swan_7, whole, raid_bursts, swan_bursts] = trials else {
            unreachable!("as many as were set up")
        };
        let panel = |kind: &str| {
            let line = |trialled: &Trialled| {
                Line::new(&trialled.trial.name, trialled.trial.scheme, percentiles(row(trialled.outcome, kind)))
            };
            Panel::lines(
                Axis::nines("percentile"),
                Axis::logarithmic("latency (ms)").between(0.001, 10.0),
                trials[..2].iter().map(line).collect(),
            )
            .titled(format!("{kind}s"))
        };
        let us = |trialled: &Trialled, kind, of: fn(&LatencyRow) -> u64| of(row(trialled.outcome, kind)) as f64 / 1e3;
        let panels = vec![panel("read"), panel("write")];
        let chart = Chart::grid("latency", self.about().title, 2, (360.0, 260.0), panels);
        let mut found = Findings::new(vec![chart], NOTES.map(str::to_owned).into());
        for (panel, kind) in [("reads", "read"), ("writes", "write")] {
            for (what, of) in POINTS {
                let series = format!("{what}: SWAN0 / RAID0");
                let with = |swan, raid| us(swan, kind, of) / us(raid, kind, of);
                found.supposed((panel, &series), LITTLE_SPARE, &[(0, 2), (1, 3)], with(swan_7, raid_7));
                found.supposed((panel, &series), WHOLE_VOLUME, &[(0, 4)], with(swan, whole));
                found.supposed((panel, &series), BURSTS, &[(0, 5), (1, 6)], with(swan_bursts, raid_bursts));
                found.published(panel, series, with(swan, raid));
                for trialled in [raid, swan] {
                    found.number(format!("{}: {panel}, {what}", trialled.trial.name), "us", us(trialled, kind, of));
                }
            }
        }
        let drives_own = ratio(raid.outcome.drive_write_amplification_milli);
        found.number("RAID0: pages that drives program for each written", "", drives_own);
        for role in &swan.outcome.reads_by_role {
            let share = 100.0 * role.count as f64 / row(swan.outcome, "read").count.max(1) as f64;
            found.number(format!("SWAN0, {}: share of reads", role.role), "%", share);
            found.number(format!("SWAN0, {}: mean", role.role), "us", role.mean_ns as f64 / 1e3);
            found.number(format!("SWAN0, {}: 99.9 %", role.role), "us", role.p999_ns as f64 / 1e3);
        }
        found
    }
}

fn row<'a>(outcome: &'a Outcome, kind: &str) -> &'a LatencyRow {
    outcome.latency_of(kind, 0).expect("half of the requests are of each kind")
}

/// Latency in milliseconds at each percentile.
fn percentiles(row: &LatencyRow) -> Vec<(f64, f64)> {
    let mut seen = 0;
    let point = |(bound, count): &(cygnus_types::Nanos, u64)| {
        seen += count;
        (seen as f64 * 100.0 / row.count.max(1) as f64, bound.0.min(row.max_ns) as f64 / 1e6)
    };
    let points: Vec<(f64, f64)> = row.buckets.iter().map(point).collect();
    points.into_iter().filter(|(percent, _)| *percent < 99.9999).collect()
}
