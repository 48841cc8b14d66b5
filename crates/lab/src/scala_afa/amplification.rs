//! Sections 3.1 and 5.3: what drives program for each byte of the client, 4+1.

use super::common::{DIVISOR, Engine, SEEDS, drives, engine_cores, log, programmed, scenario, sent, writes};
use crate::chart::{Axis, Bars, Chart, Mark, Panel, Scheme};
use crate::experiment::{About, Experiment, Findings, Scale, Trial, Trialled};

/// See the module's text.
pub struct Amplification;

const CONTRADICTION: &str = "Section 3.1 prints 3.5 for 4+1: twice the data, once more, and \"0.5x parity\". One parity chunk for four of data is 0.25: 3.25.";
const NOTES: [&str; 3] = [
    CONTRADICTION,
    "2.25 is printed nowhere. It is what section 5.3 leaves of 3.25: \"avoids extra writes for scattering chunks\".",
    "One 64 KiB write at a time at level written, so that all is copied. Besides data, copies and parity there are 2 blocks for each 16 that say \
     what the copies are, and the stripe's headers: 0.16 in all.",
];

impl Experiment for Amplification {
    fn about(&self) -> About {
        About {
            id: "scala-afa/amplification",
            title: "What drives program for each byte that a client writes, on 4+1",
            published: "Section 3.1: two copies, then data once more and parity, \"3.5\" (by its own terms 3.25). With conversion inside drives \
                        data stay where they are (section 5.3): 2.25.",
            divisor: DIVISOR,
            seeds: SEEDS,
        }
    }

    fn contradiction(&self) -> Option<&'static str> {
        Some(CONTRADICTION)
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        let devices = drives(scale);
        let trial = |engine: Engine, preset: &str| {
            let text = scenario(&devices, &log(preset, 4, 1), &writes("random", 64, 1, 1), &engine_cores(1), 150);
            Trial::new(engine.name(), engine.scheme(), text)
        };
        vec![trial(Engine::HostConverts, "fusion"), trial(Engine::ScalaAfa, "scala-afa")]
    }

    fn findings(&self, _: Scale, trials: &[Trialled]) -> Findings {
        let [host, inside] = trials else { unreachable!("as many as were set up") };
        let bars = vec![
            Bars::new("sent to drives", Scheme::LogRaid, [host, inside].map(sent).into()),
            Bars::new("programmed", Scheme::Swan, [host, inside].map(programmed).into()),
        ];
        let panel = Panel::bars(
            Axis::linear("bytes for each byte"),
            vec!["host converts".into(), "drives convert".into()],
            bars,
        )
        .marked(vec![
            Mark::Level { at: 3.25, label: "published, host: 3.25".into() },
            Mark::Level { at: 2.25, label: "drives: 2.25".into() },
        ]);
        let chart = Chart::single("amplification", self.about().title, panel);
        let mut found = Findings::new(vec![chart], NOTES.map(str::to_owned).into());
        found.published("host converts", "programmed", programmed(host));
        found.published("drives convert", "programmed", programmed(inside));
        found.published("order", "programmed: drives convert / host converts", programmed(inside) / programmed(host));
        found.number("host converts: sent to drives", "", sent(host));
        found.number("drives convert: sent to drives", "", sent(inside));
        found
    }
}
