//! Figure 13: latency of writes with traces.

use super::common::{DIVISOR, Engine, SEEDS};
use super::traces::{ENGINES, Played, SYNTHESISED, TRACES, trials};
use crate::chart::{Axis, Bars, Chart, Panel};
use crate::experiment::{About, Experiment, Findings, Scale, Trial, Trialled};
use crate::outcome::LatencyRow;
use crate::series::mean;

/// See the module's text.
pub struct Fig13;

const MEAN: fn(&LatencyRow) -> u64 = |row| row.mean_ns;
const P99: fn(&LatencyRow) -> u64 = |row| row.p99_ns;

impl Experiment for Fig13 {
    fn about(&self) -> About {
        About {
            id: "scala-afa/fig13",
            title: "Latency of writes with synthesised traces on 4+1",
            published: "Figure 13 and section 6.3: FusionRAID takes 13.8 % less than mdraid on average, 59.7 % less at the 99th percentile. \
                        ScalaAFA takes 24.2 and 26.9 % of FusionRAID's mean in proxy0 and prn, and 59.1, 65.1, 72.5 % less at the \
                        99th percentile in src2, CFS and webmail.",
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
        let micros = |trace: &str, engine, of: fn(&LatencyRow) -> u64| of(played.writes(trace, engine)) as f64 / 1e3;
        let panel = |title: &str, of: fn(&LatencyRow) -> u64| {
            let heights = |engine| TRACES.iter().map(|trace| micros(trace, engine, of)).collect();
            let series = ENGINES.iter().map(|&engine| Bars::new(engine.name(), engine.scheme(), heights(engine)));
            Panel::bars(Axis::linear("us"), TRACES.map(str::to_owned).into(), series.collect()).titled(title)
        };
        let panels = vec![panel("mean", MEAN), panel("99 %", P99)];
        let chart = Chart::grid("latency", self.about().title, 1, (640.0, 200.0), panels);
        let mut found = Findings::new(vec![chart], vec![SYNTHESISED.into()]);
        let ratio = |trace: &str, of, beside, what| micros(trace, of, what) / micros(trace, beside, what);
        for (what, of) in [("mean", MEAN), ("99 %", P99)] {
            let fusion = mean(TRACES.iter().map(|trace| ratio(trace, FusionRaid, Mdraid, of)));
            found.published("FusionRAID / mdraid", format!("{what}, mean of all traces"), fusion);
        }
        for trace in ["proxy0", "prn"] {
            found.published("ours / FusionRAID, mean", trace, ratio(trace, ScalaAfa, FusionRaid, MEAN));
        }
        for trace in ["src2", "CFS", "webmail"] {
            found.published("ours / FusionRAID, 99 %", trace, ratio(trace, ScalaAfa, FusionRaid, P99));
        }
        for trace in TRACES {
            for engine in ENGINES {
                let name = format!("{} {trace}", engine.name());
                found.number(format!("{name}: mean"), "us", micros(trace, engine, MEAN));
                found.number(format!("{name}: 99 %"), "us", micros(trace, engine, P99));
            }
        }
        found
    }
}
