//! What each thing that drives do and the preset's does not, by itself, makes of SWAN's comparison with one log.

use std::iter::once;

use crate::chart::{Axis, Bars, Chart, Panel, Scheme};
use crate::experiment::{About, Experiment, Findings, Mechanism, Scale, Trial, Trialled};
use crate::outcome::LatencyRow;
use crate::series::NOTHING;
use crate::swan::common::{
    RAMP, SECONDS, UTILISATION, aged_drives, log_raid0, random_writes, swan0, variation, written,
};

/// See the module's text.
pub struct Mechanisms;

/// What drives do: nothing beyond their preset, each mechanism alone, and all of them but the smallest spare, since a drive has one.
fn cases() -> Vec<(&'static str, Vec<Mechanism>)> {
    let alone = Mechanism::ALL.map(|mechanism| (mechanism.label(), vec![mechanism]));
    let all = Mechanism::ALL.into_iter().filter(|mechanism| *mechanism != Mechanism::SPARE_7_4).collect();
    once(("as the preset", Vec::new())).chain(alone).chain(once(("all", all))).collect()
}

/// Half of what a front-end of two drives takes, in requests of 8 KiB.
const PACED_WRITES: u32 = 48_800;
/// A tenth of what eight drives read.
const READS: u32 = 80_000;

/// Each mechanism has four trials: both arrays written without a pause, then both at the same load.
const LOG: usize = 0;
const SWAN: usize = 1;
const PACED: usize = 2;
const TRIALS: usize = 4;

/// Places of the jobs under the paced load.
const WRITER: u16 = 0;
const READER: u16 = 1;

impl Experiment for Mechanisms {
    fn about(&self) -> About {
        About {
            id: "beyond/mechanisms",
            title: "Log-RAID0 and SWAN0 on eight drives that stall, slow down and differ",
            published: "Section 5.1: two drives at a time as SWAN0 beat a log over eight in sustained random writes, sections 5.3 and \
                        5.4: SWAN's tail of latencies is the shorter one. The modelled 850 PRO shows neither stalls nor \
                        differences between drives; here it gets each of them by itself, and all at once.",
            divisor: 128.0,
            seeds: 5,
        }
    }

    fn is_about_mechanisms(&self) -> bool {
        true
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        cases().into_iter().flat_map(|(name, mechanisms)| self.trials(scale, name, &mechanisms)).collect()
    }

    fn findings(&self, _: Scale, trials: &[Trialled]) -> Findings {
        let by_mechanism: Vec<&[Trialled]> = trials.chunks(TRIALS).collect();
        let mut found = Findings::new(vec![chart(self.about().title, &by_mechanism)], vec![NOTE.into()]);
        for (of, (name, _)) in by_mechanism.iter().zip(cases()) {
            found.published("two drives beat eight", name, written(&of[SWAN]) / written(&of[LOG]));
            let tail = |trialled| latency(trialled, "read", |row| row.p999_ns);
            let ratio = tail(&of[PACED + SWAN]) / tail(&of[PACED + LOG]);
            found.published("99.9 % of reads at equal load, SWAN0 / Log-RAID0", name, ratio);
            let tail = |trialled| latency(trialled, "write", |row| row.p999_ns);
            let ratio = tail(&of[PACED + SWAN]) / tail(&of[PACED + LOG]);
            found.published("99.9 % of writes at equal load, SWAN0 / Log-RAID0", name, ratio);
            numbers(&mut found, name, of);
        }
        found
    }
}

const NOTE: &str = "Blocks of drives that were made smaller are smaller too, and so are the stalls of a burst: at full size they are longer. How far \
     drives of one make lie apart is not known from the field: 10 % in speed and 20 % in spare and age are ranges to try.";

impl Mechanisms {
    fn trials(&self, scale: Scale, case: &str, mechanisms: &[Mechanism]) -> [Trial; TRIALS] {
        // Drives that are too small for it say so when they are to be run.
        let switch_on = |scenario: String, mechanism: &Mechanism| {
            let with = mechanism.switched_on(self.about().id, &scenario, scale);
            with.ok().flatten().unwrap_or(scenario)
        };
        let trial = |name: &str, what: &str, scheme, scenario: String| {
            let scenario = mechanisms.iter().fold(scenario, switch_on);
            Trial::new(&format!("{name}, {case}, {what}"), scheme, scenario)
        };
        let (log, swan) = (log_raid0(8), swan0(4, 2));
        [
            trial("Log-RAID0", "flooded", Scheme::LogRaid, random_writes(scale, &log)),
            trial("SWAN0", "flooded", Scheme::Swan, random_writes(scale, &swan)),
            trial("Log-RAID0", "paced", Scheme::LogRaid, paced(scale, &log)),
            trial("SWAN0", "paced", Scheme::Swan, paced(scale, &swan)),
        ]
    }
}

/// Writes at half of the rate that two drives take, and reads beside them, both at random times.
fn paced(scale: Scale, array: &str) -> String {
    format!(
        "name = \"paced\"\n{}{array}[volume]\nsize = \"{UTILISATION}% of data\"\n[aging]\nfill = \"100%\"\n\
         [[workload.fio]]\nname = \"writes\"\nblock-size = \"8KiB\"\nrate = {{ iops = {PACED_WRITES}, arrivals = \"poisson\" }}\n\
         [[workload.fio]]\nname = \"reads\"\nread = 100\nrate = {{ iops = {READS}, arrivals = \"poisson\" }}\n\
         [run]\nduration = \"{}\"\nramp = \"{}\"\n",
        aged_drives(scale),
        scale.seconds(SECONDS),
        scale.seconds(RAMP)
    )
}

/// Of the requests at the paced load, in microseconds.
fn latency(trialled: &Trialled, op: &str, of: fn(&LatencyRow) -> u64) -> f64 {
    let job = if op == "read" { READER } else { WRITER };
    trialled.outcome.latency_of(op, job).map_or(NOTHING, |row| of(row) as f64 / 1e3)
}

fn chart(title: &str, by_mechanism: &[&[Trialled]]) -> Chart {
    let groups = || cases().into_iter().map(|(name, _)| name.to_owned()).collect();
    let panel = |label: &str, first: usize, value: &dyn Fn(&Trialled) -> f64| {
        let bars = |name: &str, scheme, trial: usize| {
            Bars::new(name, scheme, by_mechanism.iter().map(|of| value(&of[first + trial])).collect())
        };
        let series = vec![bars("Log-RAID0", Scheme::LogRaid, LOG), bars("SWAN0 4R-2SSD", Scheme::Swan, SWAN)];
        Panel::bars(Axis::linear(label), groups(), series)
    };
    let panels = vec![
        panel("sustained random writes (MB/s)", 0, &written),
        panel("reads at equal load, 99.9 % (us)", PACED, &|t| latency(t, "read", |row| row.p999_ns)),
        panel("writes at equal load, 99.9 % (us)", PACED, &|t| latency(t, "write", |row| row.p999_ns)),
    ];
    Chart::grid("mechanisms", title, 1, (760.0, 180.0), panels)
}

fn numbers(found: &mut Findings, mechanism: &str, of: &[Trialled]) {
    for (trial, name) in [(LOG, "Log-RAID0"), (SWAN, "SWAN0")] {
        let tail = |op, percentile| latency(&of[PACED + trial], op, percentile);
        found.number(format!("{mechanism}: {name}, sustained random writes"), "MB/s", written(&of[trial]));
        found.number(format!("{mechanism}: {name}, coefficient of variation"), "%", variation(&of[trial]));
        found.number(
            format!("{mechanism}: {name}, reads at equal load, 99.9 %"),
            "us",
            tail("read", |row| row.p999_ns),
        );
        found.number(
            format!("{mechanism}: {name}, reads at equal load, 99.99 %"),
            "us",
            tail("read", |row| row.p9999_ns),
        );
        found.number(
            format!("{mechanism}: {name}, writes at equal load, 99.9 %"),
            "us",
            tail("write", |row| row.p999_ns),
        );
    }
}
