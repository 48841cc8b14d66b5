//! RAID0 in place, one log, and groups that take turns, on eight drives of some make: what they sustain, and what reads
//! wait for while they are written at a rate that all of them should take.

use crate::chart::{Axis, Bars, Chart, Panel, Scheme};
use crate::experiment::{Findings, Scale, Trial, Trialled};
use crate::outcome::{LatencyRow, Outcome, Point};
use crate::series::{NOTHING, mean};
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
const RAID0: usize = 0;
const LOG: usize = 1;
const SWAN: usize = 2;

/// The percentiles at which SWAN's tail is compared.
const TAIL: [Point; 2] = [("99.9 %", |row| row.p999_ns), ("99.99 %", |row| row.p9999_ns)];

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
        let mut found = Findings::new(vec![chart(title, flooded, paced)], vec![NOTE.into()]);
        // The header of each stripe is written too: one block in 65.
        let sustained = ("SWAN0 sustains its front-end's rate", written(&flooded[SWAN]));
        found.number(
            "SWAN0 sustains this share of its front-end's rate",
            "",
            sustained.1 / (2.0 * self.drive_rate * 64.0 / 65.0),
        );
        found.published(sustained.0, "rate, what two drives can do", sustained.1);
        let ratio = |more: usize, less: usize| written(&flooded[more]) / written(&flooded[less]);
        found.published("SWAN0 before Log-RAID0", "sustained writes: SWAN0 / Log-RAID0", ratio(SWAN, LOG));
        found.published("Log-RAID0 before RAID0", "sustained writes: Log-RAID0 / RAID0", ratio(LOG, RAID0));
        for (percentile, of) in TAIL {
            for rival in [RAID0, LOG] {
                let ours = reads(&paced[SWAN], of) / reads(&paced[rival], of);
                let panel = format!("reads beside paced writes, {percentile}");
                found.published(&panel, format!("SWAN0 / {}", NAMES[rival].0), ours);
            }
        }
        let offered = 2.0 * self.drive_rate * PACE;
        found.number("SWAN0 takes this share of the paced writes", "", written(&paced[SWAN]) / offered);
        numbers(&mut found, flooded, paced);
        found
    }
}

const NOTE: &str = "Reads are counted by what the group that had the data was doing when they were issued. In Log-RAID0 and RAID0 every drive is \
    cleaned, or collects, all the time: there is no idle one to compare with.";

/// Label of the reads: they are the second job.
const READS: u16 = 1;

/// Percentile 99.99 of the reads that groups of this role served, in microseconds.
fn tail(outcome: &Outcome, role: &str) -> f64 {
    outcome.reads_of(role, READS).map_or(NOTHING, |row| row.p9999_ns as f64 / 1e3)
}

fn reads(trialled: &Trialled, of: fn(&LatencyRow) -> u64) -> f64 {
    trialled.outcome.latency_of("read", READS).map_or(NOTHING, |row| of(row) as f64 / 1e3)
}

/// Mean number of requests in flight on a drive in the intervals that end while it is cleaned.
fn in_flight_while_cleaned(outcome: &Outcome) -> f64 {
    let settled = &outcome.samples[outcome.samples.len() / 2..];
    mean(settled.iter().flat_map(|sample| {
        let cleaned = sample.devices.iter().filter(|device| device.role == "cleaning");
        cleaned.map(|device| device.totals.in_flight_ns as f64 / sample.span_ns as f64)
    }))
}

/// Flash pages programmed for each page that users wrote.
fn amplification(trialled: &Trialled) -> f64 {
    let outcome = trialled.outcome;
    let milli = outcome.array_write_amplification_milli.zip(outcome.drive_write_amplification_milli);
    milli.map_or(NOTHING, |(array, drives)| array as f64 * drives as f64 / 1e6)
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

fn numbers(found: &mut Findings, flooded: &[Trialled], paced: &[Trialled]) {
    let in_flight = in_flight_while_cleaned(flooded[SWAN].outcome);
    found.number("SWAN0: requests in flight on a drive being cleaned", "", in_flight);
    for (trialled, (name, _)) in flooded.iter().zip(NAMES) {
        let (least, most) = wear(trialled);
        found.number(format!("{name}: sustained random writes"), "MB/s", written(trialled));
        found.number(format!("{name}: coefficient of variation"), "%", variation(trialled));
        found.number(format!("{name}: flash pages programmed per page written"), "", amplification(trialled));
        found.number(format!("{name}: least erased block"), "erases", least.into());
        found.number(format!("{name}: most erased block"), "erases", most.into());
    }
    for (trialled, (name, _)) in paced.iter().zip(NAMES) {
        let tail = reads(trialled, |row| row.p9999_ns);
        found.number(format!("{name}: reads beside paced writes, 99.99 %"), "us", tail);
    }
    for (role, what) in
        [("back-end", "idle groups"), ("front-end", "the front-end"), ("cleaning", "the group being cleaned")]
    {
        found.number(format!("SWAN0: reads of {what}, 99.99 %"), "us", tail(paced[SWAN].outcome, role));
    }
}
