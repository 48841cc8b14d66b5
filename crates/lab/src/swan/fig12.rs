//! Figure 12: latencies of random reads and writes on drives with a page-level translation layer.

use super::common::UTILISATION;
use crate::chart::Scheme;
use crate::chart::{Axis, Chart, Line, Panel};
use crate::experiment::{About, Bound, Check, Experiment, Findings, Number, Scale, Trial, Trialled};
use crate::outcome::{LatencyRow, Outcome, Sample};

/// See the module's text.
pub struct Fig12;

/// Requests of each kind per second: half of what RAID0 could do, so that latency tells of collection, not of queues.
const IOPS: u32 = 8000;

/// Of SWAN0.
const FRONT_END_DRIVES: u64 = 2;

const BURSTS: &str = "Reads are slow in few intervals: when a group's turn to be cleaned begins, while there is still much to free \
    in it, and when a checkpoint writes the map. Both write several times as fast as users do. The paper's SWAN has no \
    checkpoints: its map is in memory that batteries keep.";

impl Experiment for Fig12 {
    fn about(&self) -> About {
        About {
            id: "swan/fig12",
            title: "Latencies of random reads and writes on six open-channel drives: RAID0 and SWAN0",
            published: "Figure 12 and section 5.4: traces of fio's random reads and writes to RAID0 and SWAN0 of six SSDs, \
                        replayed on an open-channel SSD (NAND reads 100 us, writes 500 us) with a page-level FTL. SWAN0 \
                        has shorter latency and a shorter tail throughout.",
            divisor: 64.0,
        }
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        let trial = |name, scheme, array: &str| {
            // The drive of the other figures with this NAND, and the spare space that such drives have.
            let devices = super::common::drives(scale)
                .replace("override.ssd.flash = {", "override.ssd.flash = { t_read = \"100us\", t_program = \"500us\",");
            let scenario = format!(
                "name = \"fig12\"\n{devices}{array}[volume]\nsize = \"{UTILISATION}% of data\"\n[aging]\nfill = \"100%\"\n\
                 overwrite = 1.5\n[[workload.fio]]\nname = \"random\"\nblock-size = \"8KiB\"\nread = 50\n\
                 rate = {{ iops = {}, arrivals = \"poisson\" }}\n[run]\nduration = \"{}\"\nramp = \"{}\"\nsample = \"{}\"\n",
                2 * IOPS,
                scale.seconds(640.0),
                scale.seconds(64.0),
                scale.seconds(0.64)
            );
            Trial::new(name, scheme, scenario)
        };
        vec![
            trial("RAID0", Scheme::Raid0, &super::common::raid0(6)),
            trial("SWAN0 3R-2SSD", Scheme::Swan, &super::common::swan0(3, 2)),
        ]
    }

    fn findings(&self, _: Scale, trials: &[Trialled]) -> Findings {
        let [raid, swan] = trials else { unreachable!("as many as were set up") };
        let panel = |kind: &str| {
            let line = |trialled: &Trialled| {
                Line::new(&trialled.trial.name, trialled.trial.scheme, percentiles(row(trialled.outcome, kind)))
            };
            Panel::lines(
                Axis::nines("percentile"),
                Axis::logarithmic("latency (ms)"),
                trials.iter().map(line).collect(),
            )
            .titled(format!("{kind}s"))
        };
        let us = |trialled: &Trialled, kind, of: fn(&LatencyRow) -> u64| of(row(trialled.outcome, kind)) as f64 / 1e3;
        let ratio = |kind, of: fn(&LatencyRow) -> u64| us(swan, kind, of) / us(raid, kind, of);
        let slowest = measured(raid.outcome).map(|sample| sample.reads[3]).max().unwrap_or(0);
        let slow: Vec<_> = measured(swan.outcome).filter(|sample| sample.reads[3] > slowest).collect();
        let percent = |part: usize, all: usize| 100.0 * part as f64 / all.max(1) as f64;
        let in_bursts = percent(slow.iter().filter(|sample| is_burst(sample)).count(), slow.len());
        let bursts = measured(swan.outcome).filter(|sample| is_burst(sample)).count();
        let shown_by = || {
            let claim = "of the intervals in which reads are slower than in any of RAID0's, those with a burst, %";
            Check::new(claim, Bound::AtLeast(80.0), in_bursts)
        };
        let read = |what: &str, of: fn(&LatencyRow) -> u64| {
            Check::new(format!("reads, {what}: SWAN0 / RAID0"), Bound::AtMost(1.0), ratio("read", of))
                .or_because(BURSTS, shown_by())
        };
        let all = measured(swan.outcome).count();
        let mut numbers = vec![
            Number::ours("SWAN0: intervals with a burst", "%", percent(bursts, all)),
            Number::ours(
                "SWAN0: intervals in which reads are slower than in any of RAID0's",
                "%",
                percent(slow.len(), all),
            ),
            Number::ours("of these, those with a burst", "%", in_bursts),
        ];
        for role in &swan.outcome.reads_by_role {
            let share = 100.0 * role.count as f64 / row(swan.outcome, "read").count.max(1) as f64;
            numbers.push(Number::ours(format!("SWAN0, {}: share of reads", role.role), "%", share));
            numbers.push(Number::ours(format!("SWAN0, {}: mean", role.role), "us", role.mean_ns as f64 / 1e3));
            numbers.push(Number::ours(format!("SWAN0, {}: 99.9 %", role.role), "us", role.p999_ns as f64 / 1e3));
        }
        for trialled in [raid, swan] {
            let name = &trialled.trial.name;
            for (kind, what, of) in [
                ("read", "reads, mean", (|row| row.mean_ns) as fn(&LatencyRow) -> u64),
                ("read", "reads, 99.9 %", |row| row.p999_ns),
                ("write", "writes, mean", |row| row.mean_ns),
                ("write", "writes, 99.9 %", |row| row.p999_ns),
            ] {
                numbers.push(Number::ours(format!("{name}: {what}"), "us", us(trialled, kind, of)));
            }
        }
        Findings {
            charts: vec![Chart::grid("latency", self.about().title, 2, (360.0, 260.0), vec![panel("read"), panel("write")])],
            numbers,
            checks: vec![
                read("99.9 %", |row| row.p999_ns),
                read("mean", |row| row.mean_ns),
                Check::new("writes, 99.9 %: SWAN0 / RAID0", Bound::AtMost(1.0), ratio("write", |row| row.p999_ns)),
            ],
            notes: vec![
                "Uniform random requests need no recording: they are drawn anew, at a fixed rate, so both schemes get the \
                 same requests at the same times, as a trace would have it."
                    .into(),
            ],
        }
    }
}

fn row<'a>(outcome: &'a Outcome, kind: &str) -> &'a LatencyRow {
    outcome.latency.iter().find(|row| row.kind == kind).expect("half of the requests are of each kind")
}

/// The samples after the ramp.
fn measured(outcome: &Outcome) -> impl Iterator<Item = &Sample> {
    let end = outcome.samples.last().map_or(0, |sample| sample.at_ns);
    outcome.samples.iter().filter(move |sample| sample.at_ns - sample.span_ns + outcome.measured_ns >= end)
}

/// Whether some drive was written to more than twice as fast as users write to a drive of the front-end: in the long run
/// neither cleaning nor checkpoints write as much.
fn is_burst(sample: &Sample) -> bool {
    let users = sample.span_ns * u64::from(IOPS) * 8192 / 1_000_000_000;
    sample.devices.iter().any(|device| device.totals.written_bytes > 2 * users / FRONT_END_DRIVES)
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
