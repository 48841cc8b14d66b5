//! Figure 15: what each technique brings: FusionRAID, ours with the host converting, ours with drives converting.

use super::common::{
    Case, DIVISOR, Engine, FULL, FULL_RANDOM, RANDOM, Results, SEEDS, SEQUENTIAL, drives, engine_cores, log,
    programmed, scenario, writes,
};
use crate::chart::{Axis, Bars, Chart, Panel};
use crate::experiment::{About, Experiment, Findings, Scale, Trial, Trialled};
use crate::series::mean;

/// See the module's text.
pub struct Fig15;

const LOADS: [&str; 4] = [SEQUENTIAL, RANDOM, FULL, FULL_RANDOM];
const ENGINES: [Engine; 3] = [Engine::FusionRaid, Engine::HostConverts, Engine::ScalaAfa];
/// One 64 KiB write at a time: what is new in a stripe is few blocks then, and copied.
const ONE: &str = "64 KiB, depth 1";
const NOTES: [&str; 2] = [
    "This array decides by size: at depth 32 so many blocks are new that ending a stripe costs less than copying them (docs/decisions/035), and \
     nothing is copied or converted. Numbers at depth 1, where they are, stand below.",
    "Its host computes parity from memory; the paper's Scala-CO has a daemon that reads data, computes, and writes.",
];

fn cases() -> Vec<Case> {
    LOADS.iter().flat_map(|&load| ENGINES.map(|engine| Case::new(engine, load))).collect()
}

fn one_at_a_time(devices: &str) -> Vec<Trial> {
    let trial = |engine: Engine, preset: &str| {
        let text = scenario(devices, &log(preset, 4, 1), &writes("sequential", 64, 1, 1), &engine_cores(1), 100);
        Trial::new(&format!("{}, {ONE}", engine.name()), engine.scheme(), text)
    };
    vec![trial(Engine::HostConverts, "fusion"), trial(Engine::ScalaAfa, "scala-afa")]
}

impl Experiment for Fig15 {
    fn about(&self) -> About {
        About {
            id: "scala-afa/fig15",
            title: "Where the gain comes from: user space, and drives that convert",
            published: "Figure 15 and section 6.5, 4+1: Scala-CO, whose host converts, writes 58.4 % more than FusionRAID and takes 45.2 % less \
                        time on average; drives that convert bring 39.6, 36.1, 37.9 and 34.0 % more, and 36.1 % less time.",
            divisor: DIVISOR,
            seeds: SEEDS,
        }
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        let devices = drives(scale);
        cases().iter().map(|case| case.trial(&devices)).chain(one_at_a_time(&devices)).collect()
    }

    fn findings(&self, _: Scale, trials: &[Trialled]) -> Findings {
        use Engine::{FusionRaid, HostConverts, ScalaAfa};
        let results = Results(trials);
        let rate = |load, engine| results.rate(&Case::new(engine, load));
        let latency = |load, engine| results.mean(&Case::new(engine, load));
        let panel = |label: &str, value: &dyn Fn(&'static str, Engine) -> f64| {
            let heights = |engine| LOADS.iter().map(|&load| value(load, engine)).collect();
            let series =
                ENGINES.iter().map(|&engine| Bars::new(engine.name(), engine.scheme(), heights(engine))).collect();
            Panel::bars(Axis::linear(label), LOADS.map(str::to_owned).into(), series)
        };
        let panels = vec![panel("GB/s", &rate), panel("mean latency (us)", &latency)];
        let chart = Chart::grid("gain", self.about().title, 1, (640.0, 200.0), panels);
        let mut found = Findings::new(vec![chart], NOTES.map(str::to_owned).into());
        let mean_of = |value: &dyn Fn(&'static str) -> f64| mean(LOADS.iter().map(|&load| value(load)));
        let user_space = "host converts / FusionRAID, mean of all loads";
        found.published(user_space, "rate", mean_of(&|load| rate(load, HostConverts) / rate(load, FusionRaid)));
        found.published(
            user_space,
            "mean latency",
            mean_of(&|load| latency(load, HostConverts) / latency(load, FusionRaid)),
        );
        for load in LOADS {
            found.published("drives convert / host converts", load, rate(load, ScalaAfa) / rate(load, HostConverts));
        }
        let gain = mean_of(&|load| latency(load, ScalaAfa) / latency(load, HostConverts));
        found.published("drives convert / host converts, latency", "mean of all loads", gain);
        let [host, inside] = [HostConverts, ScalaAfa].map(|engine| results.named(&format!("{}, {ONE}", engine.name())));
        let took =
            |trialled: &Trialled| trialled.outcome.latency_of("write", 0).map_or(0.0, |row| row.mean_ns as f64 / 1e3);
        found.number(
            format!("drives convert / host converts, {ONE}: rate"),
            "",
            super::common::gigabytes(inside) / super::common::gigabytes(host),
        );
        found.number(format!("host converts, {ONE}: mean latency"), "us", took(host));
        found.number(format!("drives convert, {ONE}: mean latency"), "us", took(inside));
        found.number(format!("host converts, {ONE}: sent to drives"), "", sent(host));
        found.number(format!("drives convert, {ONE}: sent to drives"), "", sent(inside));
        found.number(format!("drives convert, {ONE}: programmed"), "", programmed(inside));
        for case in cases() {
            found.number(case.name(), "GB/s", results.rate(&case));
        }
        found
    }
}

/// Blocks sent to drives for each block that clients wrote.
fn sent(trialled: &Trialled) -> f64 {
    trialled.outcome.array_write_amplification_milli as f64 / 1e3
}
