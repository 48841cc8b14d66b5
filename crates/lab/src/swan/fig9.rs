//! Figure 9: the mean latency of YCSB's lookups.

use super::ycsb::{
    LOG, MODELLED, SWAN, WIDE_NOTE, WIDE_SWAN, WORKLOADS, bars, lookups, of_workload, title, trials, unless_narrow,
};
use crate::chart::Chart;
use crate::experiment::{About, Bound, Experiment, Findings, Number, Scale, Trial, Trialled};

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
        }
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        READING.iter().flat_map(|workload| trials(scale, workload)).collect()
    }

    fn findings(&self, _: Scale, trials: &[Trialled]) -> Findings {
        let mean = |trialled: &Trialled| lookups(trialled.outcome).map_or(0.0, |row| row.mean_ns as f64 / 1e3);
        let check = |w: usize| {
            let of = of_workload(trials, w);
            let ratio = |swan: &Trialled| mean(swan) / mean(&of[LOG]).max(1e-9);
            let claim = |front_end: &str| format!("{}{front_end}: SWAN / Log-RAID", title(READING[w]));
            unless_narrow(claim, [&of[SWAN], &of[WIDE_SWAN]], ratio, Bound::AtMost(1.1), Bound::AtMost(1.1))
        };
        Findings {
            charts: vec![Chart::single(
                "latency",
                self.about().title,
                bars("mean latency of lookups (us)", READING, trials, mean),
            )],
            numbers: trials.iter().map(|t| Number::ours(&t.trial.name, "us", mean(t))).collect(),
            checks: (0..READING.len()).map(check).collect(),
            notes: vec![MODELLED.into(), WIDE_NOTE.into()],
        }
    }
}
