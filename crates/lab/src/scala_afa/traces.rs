//! Table 2's traces, synthesised, on three engines: what Figures 12 and 13 look at.
//!
//! Counts, mean sizes and the share of reads are the table's; where requests go is assumed (`crates/workload/src/synth`).

use super::common::{Engine, drives, in_place, log};
use super::profiles::{FUSION_RAID, MDRAID};
use crate::experiment::{Scale, Trial, Trialled};
use crate::outcome::LatencyRow;

/// The table's traces.
pub const TRACES: [&str; 6] = ["proxy0", "prn", "src2", "CFS", "DAP", "webmail"];
/// What a trace is called in scenarios.
pub fn preset(trace: &str) -> String {
    format!("scala-afa/{}", trace.to_lowercase())
}

/// Who plays them.
pub const ENGINES: [Engine; 3] = [Engine::Mdraid, Engine::FusionRaid, Engine::ScalaAfa];
/// What both figures say.
pub const SYNTHESISED: &str = "The traces are synthesised from Table 2: number, sizes and mix of requests are the table's means, sizes have two values, 80 % of \
    requests are random, 80 % go to a fifth of the space. A closed loop of 32 over 1 GiB that was written once.";

/// Every trace on every engine.
pub fn trials(scale: Scale) -> Vec<Trial> {
    let devices = drives(scale);
    let trial = |trace: &str, engine: Engine| {
        let (array, cpu) = match engine {
            Engine::Mdraid => (in_place("raid5", 5), MDRAID.cpu(1)),
            Engine::FusionRaid => (in_place("raid10", 6), FUSION_RAID.cpu(1)),
            _ => (log("scala-afa", 4, 1), super::common::engine_cores(1)),
        };
        let text = format!(
            "name = \"scala-afa-trace\"\n{devices}{array}[volume]\nsize = \"1GiB\"\nack = \"written\"\n[aging]\nfill = \"100%\"\n\
             [workload.synth]\npreset = \"{}\"\ndepth = 32\n{cpu}\
             [run]\nduration = \"60ms\"\nramp = \"10ms\"\nsample = \"10ms\"\n",
            preset(trace)
        );
        Trial::new(&name(trace, engine), engine.scheme(), text)
    };
    TRACES.iter().flat_map(|trace| ENGINES.map(|engine| trial(trace, engine))).collect()
}

fn name(trace: &str, engine: Engine) -> String {
    format!("{} {trace}", engine.name())
}

/// What came of them.
pub struct Played<'a>(pub &'a [Trialled<'a>]);

impl Played<'_> {
    fn of(&self, trace: &str, engine: Engine) -> &Trialled<'_> {
        let name = name(trace, engine);
        self.0.iter().find(|trialled| trialled.trial.name == name).unwrap_or_else(|| panic!("{name} was not set up"))
    }

    /// Written, in GB/s.
    pub fn written(&self, trace: &str, engine: Engine) -> f64 {
        super::common::gigabytes(self.of(trace, engine))
    }

    /// Requests answered: what is left of a trace takes that much less time.
    pub fn requests(&self, trace: &str, engine: Engine) -> f64 {
        self.of(trace, engine).outcome.requests as f64
    }

    /// Latencies of writes.
    pub fn writes(&self, trace: &str, engine: Engine) -> &LatencyRow {
        self.of(trace, engine).outcome.latency_of("write", 0).expect("all traces write")
    }
}
