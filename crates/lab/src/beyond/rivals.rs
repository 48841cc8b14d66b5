//! RAID0 in place, one log, and groups that take turns, on eight drives of some make: what they sustain, and what reads
//! wait for while they are written at a rate that all of them should take.

use crate::chart::{Axis, Bars, Chart, Panel, Scheme};
use crate::experiment::{Bound, Check, Findings, Number, Scale, Trial, Trialled};
use crate::outcome::{LatencyRow, Outcome};
use crate::series::mean;
use crate::swan::common::{log_raid0, raid0, swan0, variation, written};

/// The drives, and what is asked of them.
pub struct Rivals {
    /// The modelled drive.
    pub preset: &'static str,
    /// Its blocks per die, and pages of each.
    pub blocks: f64,
    pub pages: u32,
    /// What it writes in order, in MB/s.
    pub drive_rate: f64,
    /// Reads of 4 KiB per second beside the paced writes.
    pub reads: u32,
    /// How long it takes to fill it at its rate, at full size.
    pub fill_seconds: f64,
}

/// Share of the space that holds live data, in percent, as in SWAN's evaluation.
const UTILISATION: u32 = 60;
/// Paced writes are this share of what SWAN's front-end of two drives can take.
const PACE: f64 = 0.5;
/// How often a front-end of two of the eight drives could have been written, in all and before measuring begins. After a
/// volume was filled in order, victims' valid share settles only once the array has been written through twice.
const FILLS: (f64, f64) = (16.0, 10.0);

const NAMES: [(&str, Scheme); 3] =
    [("RAID0", Scheme::Raid0), ("Log-RAID0", Scheme::LogRaid), ("SWAN0 4R-2SSD", Scheme::Swan)];
const SWAN: usize = 2;

impl Rivals {
    /// First what they sustain, then the same three with paced writes and reads.
    pub fn setup(&self, scale: Scale) -> Vec<Trial> {
        let flood = "[[workload.fio]]\nname = \"writes\"\nblock-size = \"8KiB\"\ndepth = 64\n".to_owned();
        let paced = format!(
            "[[workload.fio]]\nname = \"writes\"\nblock-size = \"8KiB\"\nrate = {{ iops = {}, arrivals = \"poisson\" }}\n\
             [[workload.fio]]\nname = \"reads\"\nread = 100\nrate = {{ iops = {}, arrivals = \"poisson\" }}\n",
            (2.0 * self.drive_rate * 1e6 * PACE / 8192.0) as u64,
            self.reads
        );
        let arrays = || NAMES.into_iter().zip([raid0(8), log_raid0(8), swan0(4, 2)]);
        let trials = |what: &'static str, workload: String| {
            arrays().map(move |((name, scheme), array)| {
                let scenario = self.scenario(scale, &array, &workload);
                Trial::new(&format!("{name}, {what}"), scheme, scenario)
            })
        };
        trials("writes", flood).chain(trials("paced", paced)).collect()
    }

    fn scenario(&self, scale: Scale, array: &str, workload: &str) -> String {
        let devices = scale.devices(self.preset, self.blocks, self.pages);
        format!(
            "name = \"rivals\"\n{devices}{array}[volume]\nsize = \"{UTILISATION}% of data\"\n[aging]\nfill = \"100%\"\n\
             {workload}[run]\nduration = \"{}\"\nramp = \"{}\"\nsample = \"{}\"\n",
            scale.seconds(self.fill_seconds * FILLS.0),
            scale.seconds(self.fill_seconds * FILLS.1),
            scale.seconds(self.fill_seconds / 15.0)
        )
    }

    /// What came of them.
    pub fn findings(&self, title: &str, trials: &[Trialled]) -> Findings {
        let (flooded, paced) = trials.split_at(NAMES.len());
        let swan = paced[SWAN].outcome;
        let offered = 2.0 * self.drive_rate * PACE;
        Findings {
            charts: vec![chart(title, flooded, paced)],
            numbers: numbers(flooded, paced),
            checks: vec![
                self.sustains(&flooded[SWAN]),
                Check::new(
                    "SWAN0 takes this share of the paced writes",
                    Bound::AtLeast(0.98),
                    written(&paced[SWAN]) / offered,
                ),
                Check::new(
                    "pages that SWAN0's drives program for each written",
                    Bound::AtMost(1.1),
                    drives_own(&paced[SWAN]),
                )
                .or_because(
                    "In pauses these drives move what lies in their SLC buffer to where it stays: such pages are programmed twice, \
                     though nothing is collected. Written without a pause they have no time for it.",
                    Check::new("the same, written without a pause", Bound::AtMost(1.05), drives_own(&flooded[SWAN])),
                ),
                Check::new(
                    "reads at 99.99 %: group being cleaned / idle groups of SWAN0",
                    Bound::AtLeast(1.0),
                    tail(swan, "cleaning") / tail(swan, "back-end").max(1e-9),
                ),
            ],
            notes: vec![
                "Reads are counted by what the group that had the data was doing when they were issued. In Log-RAID0 and RAID0 \
                 every drive is cleaned, or collects, all the time: there is no idle one to compare with."
                    .into(),
            ],
        }
    }

    /// Whether SWAN0 writes as fast as its front-end of two drives can, less the header of each stripe.
    fn sustains(&self, swan: &Trialled) -> Check {
        let front_end = 2.0 * self.drive_rate * 64.0 / 65.0;
        let claim = "SWAN0 sustains this share of its front-end's raw rate";
        Check::new(claim, Bound::AtLeast(0.95), written(swan) / front_end)
    }
}

/// Label of the reads: they are the second job.
const READS: u16 = 1;

/// Percentile 99.99 of the reads that groups of this role served, in microseconds.
fn tail(outcome: &Outcome, role: &str) -> f64 {
    outcome.reads_of(role, READS).map_or(0.0, |row| row.p9999_ns as f64 / 1e3)
}

fn reads(trialled: &Trialled, of: fn(&LatencyRow) -> u64) -> f64 {
    trialled.outcome.latency_of("read", READS).map_or(0.0, |row| of(row) as f64 / 1e3)
}

/// Mean number of requests in flight on a drive in the intervals that end while it is cleaned.
fn in_flight_while_cleaned(outcome: &Outcome) -> f64 {
    let settled = &outcome.samples[outcome.samples.len() / 2..];
    mean(settled.iter().flat_map(|sample| {
        let cleaned = sample.devices.iter().filter(|device| device.role == "cleaning");
        cleaned.map(|device| device.totals.in_flight_ns as f64 / sample.span_ns as f64)
    }))
}

/// Flash pages programmed for each page that the array wrote.
fn drives_own(trialled: &Trialled) -> f64 {
    trialled.outcome.drive_write_amplification_milli as f64 / 1e3
}

/// Flash pages programmed for each page that users wrote.
fn amplification(trialled: &Trialled) -> f64 {
    let outcome = trialled.outcome;
    outcome.array_write_amplification_milli as f64 * outcome.drive_write_amplification_milli as f64 / 1e6
}

/// Least and most often erased blocks of all drives.
fn wear(trialled: &Trialled) -> (u32, u32) {
    let wear = &trialled.outcome.wear;
    (wear.iter().map(|w| w.0).min().unwrap_or(0), wear.iter().map(|w| w.1).max().unwrap_or(0))
}

fn chart(title: &str, flooded: &[Trialled], paced: &[Trialled]) -> Chart {
    let bars = |trials: &[Trialled], values: &dyn Fn(&Trialled) -> Vec<f64>| {
        trials.iter().zip(NAMES).map(|(trialled, (name, scheme))| Bars::new(name, scheme, values(trialled))).collect()
    };
    let panel = |label: &str, groups: &[&str], series| {
        Panel::bars(Axis::linear(label), groups.iter().map(|&group| group.into()).collect(), series)
    };
    let panels = vec![
        panel("MB/s", &["sustained random writes"], bars(flooded, &|t| vec![written(t)])),
        panel("flash pages per page written", &["write amplification"], bars(flooded, &|t| vec![amplification(t)])),
        panel(
            "reads beside paced writes (us)",
            &["mean", "99.9 %", "99.99 %"],
            bars(paced, &|t| vec![reads(t, |r| r.mean_ns), reads(t, |r| r.p999_ns), reads(t, |r| r.p9999_ns)]),
        ),
    ];
    Chart::grid("rivals", title, 3, (260.0, 220.0), panels)
}

fn numbers(flooded: &[Trialled], paced: &[Trialled]) -> Vec<Number> {
    let in_flight = in_flight_while_cleaned(flooded[SWAN].outcome);
    let mut numbers = vec![Number::ours("SWAN0: requests in flight on a drive being cleaned", "", in_flight)];
    for (trialled, (name, _)) in flooded.iter().zip(NAMES) {
        let (least, most) = wear(trialled);
        numbers.extend([
            Number::ours(format!("{name}: sustained random writes"), "MB/s", written(trialled)),
            Number::ours(format!("{name}: coefficient of variation"), "%", variation(trialled)),
            Number::ours(format!("{name}: flash pages programmed per page written"), "", amplification(trialled)),
            Number::ours(format!("{name}: least erased block"), "erases", least.into()),
            Number::ours(format!("{name}: most erased block"), "erases", most.into()),
        ]);
    }
    for (trialled, (name, _)) in paced.iter().zip(NAMES) {
        numbers.push(Number::ours(
            format!("{name}: reads beside paced writes, 99.99 %"),
            "us",
            reads(trialled, |r| r.p9999_ns),
        ));
    }
    for (role, what) in
        [("back-end", "idle groups"), ("front-end", "the front-end"), ("cleaning", "the group being cleaned")]
    {
        numbers.push(Number::ours(format!("SWAN0: reads of {what}, 99.99 %"), "us", tail(paced[SWAN].outcome, role)));
    }
    numbers
}
