//! Figure 12: throughput with traces.

use super::common::{DIVISOR, Engine, SEEDS};
use super::traces::{ENGINES, Played, SYNTHESISED, TRACES, trials};
use crate::chart::{Axis, Bars, Chart, Panel};
use crate::experiment::{About, Experiment, Findings, Scale, Trial, Trialled};
use crate::series::{least, mean, most};

/// See the module's text.
pub struct Fig12;

impl Experiment for Fig12 {
    fn about(&self) -> About {
        About {
            id: "scala-afa/fig12",
            title: "Write throughput with synthesised traces on 4+1",
            published: "Figure 12 and section 6.3: depth 32. FusionRAID is 34.1 % ahead of mdraid on average; ScalaAFA writes 2.9, 2.2, \
                        1.2 and 2.8 times as much as FusionRAID in prn, src2, DAP and webmail, 4.8 GB/s in DAP, and takes 30 % of its time.",
            divisor: DIVISOR,
            seeds: SEEDS,
        }
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        trials(scale)
    }

    fn findings(&self, _: Scale, trials: &[Trialled]) -> Findings {
        use Engine::{FusionRaid, Mdraid, ScalaAfa};
        let played = Played(trials);
        let series = ENGINES.iter().map(|&engine| {
            Bars::new(
                engine.name(),
                engine.scheme(),
                TRACES.iter().map(|trace| played.written(trace, engine)).collect(),
            )
        });
        let panel = Panel::bars(Axis::linear("GB/s written"), TRACES.map(str::to_owned).into(), series.collect());
        let chart = Chart::single("throughput", self.about().title, panel);
        let mut found = Findings::new(vec![chart], vec![SYNTHESISED.into()]);
        let ratio = |trace: &str, of, beside| played.written(trace, of) / played.written(trace, beside);
        let fusion = mean(TRACES.iter().map(|trace| ratio(trace, FusionRaid, Mdraid)));
        found.published("FusionRAID / mdraid", "mean of all traces", fusion);
        for trace in ["prn", "src2", "DAP", "webmail"] {
            found.published("ours / FusionRAID", trace, ratio(trace, ScalaAfa, FusionRaid));
        }
        let ours = |trace: &str| played.written(trace, ScalaAfa);
        let but = |trace: &str| TRACES.into_iter().filter(move |&other| other != trace).collect::<Vec<_>>();
        let most = most(but("DAP").into_iter().map(ours));
        found.published("DAP", "ours", ours("DAP"));
        found.published("DAP", "ours / the next trace", ours("DAP") / most);
        for engine in ENGINES {
            let written = |trace: &str| played.written(trace, engine);
            let least = least(but("webmail").into_iter().map(written));
            let series = format!("{}: webmail / the next trace", engine.name());
            found.published("webmail is slowest", series, written("webmail") / least);
        }
        let time = mean(TRACES.iter().map(|t| played.requests(t, FusionRaid) / played.requests(t, ScalaAfa)));
        found.published("completion time", "ours / FusionRAID, mean of all traces", time);
        for trace in TRACES {
            for engine in ENGINES {
                found.number(format!("{} {trace}", engine.name()), "GB/s", played.written(trace, engine));
            }
        }
        found
    }
}
