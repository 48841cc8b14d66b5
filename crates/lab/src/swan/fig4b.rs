//! Figure 4b: random writes to three, six and nine drives, as one log and as three groups.

use super::common::{against_cost_model, log_raid0, random_writes, swan0, written};
use crate::chart::{Axis, Bars, Chart, Panel, Scheme};
use crate::experiment::{About, Bound, Check, Experiment, Findings, Number, Scale, Trial, Trialled};

/// See the module's text.
pub struct Fig4b;

/// Drives of each group of three.
const WIDTHS: [u32; 3] = [1, 2, 3];

impl Experiment for Fig4b {
    fn about(&self) -> About {
        About {
            id: "swan/fig4b",
            title: "Random writes to 3, 6 and 9 drives: Log-RAID0 and SWAN0",
            published: "Figure 4b and section 5.1: SWAN0 as three groups of 1, 2 and 3 drives becomes faster with each \
                        drive added to its groups; Log-RAID0 on 3, 6 and 9 drives becomes slower, because cleaning is as \
                        slow as the slowest drive. No numbers are printed.",
            divisor: 64.0,
        }
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        let trial = |width: u32| {
            let writes = |array: String| random_writes(scale, &array);
            [
                Trial::new(&format!("Log-RAID0, {}", 3 * width), Scheme::LogRaid, writes(log_raid0(3 * width))),
                Trial::new(&format!("SWAN0 3R-{width}SSD"), Scheme::Swan, writes(swan0(3, width))),
            ]
        };
        WIDTHS.into_iter().flat_map(trial).collect()
    }

    fn findings(&self, _: Scale, trials: &[Trialled]) -> Findings {
        let of = |which: usize| -> Vec<f64> { trials.iter().skip(which).step_by(2).map(written).collect() };
        let (log, swan) = (of(0), of(1));
        let panel = Panel::bars(
            Axis::linear("user writes (MB/s)"),
            WIDTHS.map(|width| format!("{} drives", 3 * width)).into(),
            vec![
                Bars::new("Log-RAID0", Scheme::LogRaid, log.clone()),
                Bars::new("SWAN0, three groups", Scheme::Swan, swan.clone()),
            ],
        );
        let numbers = trials.iter().map(|trialled| Number::ours(&trialled.trial.name, "MB/s", written(trialled)));
        Findings {
            charts: vec![Chart::single("throughput", self.about().title, panel)],
            numbers: numbers.collect(),
            checks: vec![
                Check::new("SWAN0, 6 drives / 3 drives", Bound::Between(1.7, 2.3), swan[1] / swan[0]),
                Check::new("SWAN0, 9 drives / 3 drives", Bound::Between(2.5, 3.5), swan[2] / swan[0]),
                Check::new("Log-RAID0, 9 drives / 3 drives", Bound::AtMost(1.0), log[2] / log[0]).or_because(
                    "Drives that are alike add up: nine do what the paper's own terms for the cost of cleaning give nine. The \
                     paper explains its fall by the slowest drive; drives that differ are not modelled, nor is a prototype \
                     that writes one segment of 1 MiB at a time, of which each of nine drives gets a ninth.",
                    against_cost_model(&trials[4]),
                ),
            ],
            notes: Vec::new(),
        }
    }
}
