//! Figure 9: the mean latency of YCSB's lookups.

use super::ycsb::{MODELLED, WORKLOADS, bars, beside_rivals, lookups, of_workload, title, trials};
use crate::chart::Chart;
use crate::experiment::{About, Experiment, Findings, Scale, Trial, Trialled};
use crate::series::NOTHING;

/// See the module's text.
pub struct Fig9;

/// All but the load, which looks nothing up.
pub const READING: &[&str] = WORKLOADS.split_at(1).1;

impl Experiment for Fig9 {
    fn about(&self) -> About {
        About {
            id: "swan/fig9",
            title: "YCSB's mean read latency on nine drives: RAID4, RAID5, Log-RAID, SWAN",
            published: "Figure 9 and section 5.3: SWAN's average read latency is similar to the others' or better.",
            divisor: 128.0,
            seeds: 6,
        }
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        READING.iter().flat_map(|workload| trials(scale, workload)).collect()
    }

    fn findings(&self, _: Scale, trials: &[Trialled]) -> Findings {
        let mean = |trialled: &Trialled| lookups(trialled.outcome).map_or(NOTHING, |row| row.mean_ns as f64 / 1e3);
        let panel = bars("mean latency of lookups (us)", READING, trials, mean);
        let chart = Chart::single("latency", self.about().title, panel);
        let mut found = Findings::new(vec![chart], vec![MODELLED.into()]);
        for (w, workload) in READING.iter().enumerate() {
            for (rival, ratio) in beside_rivals(of_workload(trials, w), mean) {
                found.published(&title(workload), format!("SWAN / {rival}"), ratio);
            }
        }
        trials.iter().for_each(|t| found.number(&t.trial.name, "us", mean(t)));
        found
    }
}
