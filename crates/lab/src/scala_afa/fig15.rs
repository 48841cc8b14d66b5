//! Figure 15: what each technique brings: FusionRAID, ours with the host converting, ours with drives converting.

use super::common::{
    Case, DIVISOR, Engine, FULL, FULL_RANDOM, ONE, ONE_RANDOM, RANDOM, Results, SEEDS, SEQUENTIAL, drives, programmed,
    sent,
};
use crate::chart::{Axis, Bars, Chart, Panel};
use crate::experiment::{About, Experiment, Findings, Scale, Trial, Trialled};
use crate::series::mean;

/// See the module's text.
pub struct Fig15;

const LOADS: [&str; 4] = [SEQUENTIAL, RANDOM, FULL, FULL_RANDOM];
const ENGINES: [Engine; 3] = [Engine::FusionRaid, Engine::HostConverts, Engine::ScalaAfa];
/// What is supposed to make both the same.
const UNCOPIED: &str = "At depth 32 nothing is copied, so there is nothing to convert; one at a time all is copied.";
const NOTES: [&str; 2] = [
    "This array decides by size: at depth 32 so many blocks are new that ending a stripe costs less than copying them (docs/decisions/035-two-phase-writes.md), and \
     nothing is copied or converted. Numbers at depth 1, where they are, stand below.",
    "Its host computes parity from memory; the paper's Scala-CO has a daemon that reads data, computes, and writes.",
];

fn cases() -> Vec<Case> {
    LOADS.iter().flat_map(|&load| ENGINES.map(|engine| Case::new(engine, load))).collect()
}

/// The same one at a time: what is new in a stripe is few blocks then, and copied.
fn one_at_a_time() -> Vec<Case> {
    let both =
        |load| [Engine::HostConverts, Engine::ScalaAfa].map(|engine| Case { millis: 100, ..Case::new(engine, load) });
    [ONE, ONE_RANDOM].into_iter().flat_map(both).collect()
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
        cases().iter().chain(&one_at_a_time()).map(|case| case.trial(&devices)).collect()
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
        for (load, pair) in [SEQUENTIAL, RANDOM].into_iter().zip(one_at_a_time().chunks(2)) {
            let at_depth_32 = [HostConverts, ScalaAfa].map(|engine| results.place(&Case::new(engine, load)));
            let tried: Vec<_> = at_depth_32.into_iter().zip(pair.iter().map(|case| results.place(case))).collect();
            let ratio = results.rate(&pair[1]) / results.rate(&pair[0]);
            found.supposed(("drives convert / host converts", load), UNCOPIED, &tried, ratio);
        }
        for case in one_at_a_time() {
            found.number(format!("{}: rate", case.name()), "GB/s", results.rate(&case));
            found.number(format!("{}: mean latency", case.name()), "us", results.mean(&case));
            found.number(format!("{}: 99 %", case.name()), "us", results.p99(&case));
            found.number(format!("{}: sent to drives", case.name()), "", sent(results.of(&case)));
            found.number(format!("{}: programmed", case.name()), "", programmed(results.of(&case)));
        }
        for case in cases() {
            found.number(case.name(), "GB/s", results.rate(&case));
        }
        found
    }
}
