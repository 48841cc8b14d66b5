//! Figure 10: the tail of the latency of YCSB's lookups.

use super::common::ONE_STEP;
use super::fig9::{Fig9, READING};
use super::ycsb::{
    LOG, MODELLED, RAID5, SCHEMES, SWAN, WIDE_NOTE, WIDE_SWAN, bars, lookups, of_workload, title, unless_narrow,
};
use crate::chart::Chart;
use crate::experiment::{About, Bound, Experiment, Findings, Number, Scale, Trial, Trialled};

/// See the module's text.
pub struct Fig10;

impl Experiment for Fig10 {
    fn about(&self) -> About {
        About {
            id: "swan/fig10",
            title: "YCSB's read latency at 99.9 % on nine drives: RAID4, RAID5, Log-RAID, SWAN",
            published: "Figure 10 and section 5.3: SWAN has the shortest tail in all workloads, much shorter at 99.9 % and \
                        above.",
            divisor: 128.0,
        }
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        Fig9.setup(scale)
    }

    fn findings(&self, _: Scale, trials: &[Trialled]) -> Findings {
        let tail = |trialled: &Trialled| lookups(trialled.outcome).map_or(0.0, |row| row.p999_ns as f64 / 1e3);
        let check = |w: usize, rival: usize| {
            let of = of_workload(trials, w);
            let ratio = |swan: &Trialled| tail(swan) / tail(&of[rival]).max(1e-9);
            let claim =
                |front_end: &str| format!("{}{front_end}, 99.9 %: SWAN / {}", title(READING[w]), SCHEMES[rival].0);
            unless_narrow(claim, [&of[SWAN], &of[WIDE_SWAN]], ratio, Bound::AtMost(1.0), Bound::AtMost(ONE_STEP))
        };
        Findings {
            charts: vec![Chart::single(
                "tail",
                self.about().title,
                bars("lookups, 99.9 % (us)", READING, trials, tail),
            )],
            numbers: trials.iter().map(|t| Number::ours(&t.trial.name, "us", tail(t))).collect(),
            checks: (0..READING.len()).flat_map(|w| [check(w, RAID5), check(w, LOG)]).collect(),
            notes: vec![MODELLED.into(), WIDE_NOTE.into()],
        }
    }
}
