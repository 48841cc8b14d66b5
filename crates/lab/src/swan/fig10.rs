//! Figure 10: the tail of the latency of YCSB's lookups.

use super::fig9::{Fig9, READING};
use super::ycsb::{MODELLED, bars, beside_rivals, lookups, of_workload, title};
use crate::chart::{Chart, Panel};
use crate::experiment::{About, Experiment, Findings, Scale, Trial, Trialled};
use crate::outcome::{LatencyRow, Point};
use crate::series::NOTHING;

/// See the module's text.
pub struct Fig10;

/// The percentiles from which on SWAN's tail is said to be much shorter.
const TAIL: [Point; 2] = [("99.9 %", |row| row.p999_ns), ("99.99 %", |row| row.p9999_ns)];

impl Experiment for Fig10 {
    fn about(&self) -> About {
        About {
            id: "swan/fig10",
            title: "YCSB's read latency at 99.9 % on nine drives: RAID4, RAID5, Log-RAID, SWAN",
            published: "Figure 10 and section 5.3: SWAN has the shortest tail in all workloads, much shorter at 99.9 % and \
                        above.",
            divisor: 128.0,
            seeds: 6,
        }
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        Fig9.setup(scale)
    }

    fn findings(&self, _: Scale, trials: &[Trialled]) -> Findings {
        let at = |of: fn(&LatencyRow) -> u64| {
            move |trialled: &Trialled| lookups(trialled.outcome).map_or(NOTHING, |row| of(row) as f64 / 1e3)
        };
        let panel =
            |(percentile, of)| -> Panel { bars(&format!("lookups, {percentile} (us)"), READING, trials, at(of)) };
        let panels = TAIL.into_iter().map(panel).collect();
        let chart = Chart::grid("tail", self.about().title, 1, (640.0, 240.0), panels);
        let mut found = Findings::new(vec![chart], vec![MODELLED.into()]);
        for (percentile, of) in TAIL {
            for (w, workload) in READING.iter().enumerate() {
                for (rival, ratio) in beside_rivals(of_workload(trials, w), at(of)) {
                    found.published(&title(workload), format!("{percentile}: SWAN / {rival}"), ratio);
                }
            }
            trials.iter().for_each(|t| found.number(format!("{}: {percentile}", t.trial.name), "us", at(of)(t)));
        }
        found
    }
}
