//! Figure 11: read latency of YCSB-C over time.

use super::common::{TIME, over_time};
use super::ycsb::{MODELLED, trials};
use crate::chart::{Axis, Chart, Line, Panel};
use crate::experiment::{About, Bound, Check, Experiment, Findings, Number, Scale, Trial, Trialled};
use crate::outcome::Sample;

/// See the module's text.
pub struct Fig11;

impl Experiment for Fig11 {
    fn about(&self) -> About {
        About {
            id: "swan/fig11",
            title: "YCSB-C's read latency over time on nine drives",
            published: "Figure 11 and section 5.3: read latency of SWAN is stable, where RAID4, RAID5 and Log-RAID4 show high \
                        spikes from collection that goes on for a quarter of an hour and more after the load.",
            divisor: 256.0,
        }
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        trials(scale, "c")
    }

    fn findings(&self, scale: Scale, trials: &[Trialled]) -> Findings {
        let p99 = |sample: &Sample| sample.reads[3] as f64 / 1e3;
        let panel = |trialled: &Trialled| {
            let points = over_time(scale, trialled.outcome, p99).into_iter().filter(|point| point.1 > 0.0).collect();
            let line = Line::new(&trialled.trial.name, trialled.trial.scheme, points);
            Panel::lines(Axis::linear(TIME), Axis::logarithmic("99 % (us)").between(100.0, 100_000.0), vec![line])
                .titled(&trialled.trial.name)
        };
        // After the load, that is, in the measured part.
        let worst = |trialled: &Trialled| {
            let samples = &trialled.outcome.samples;
            samples[samples.len() * 6 / 10 + 1..].iter().map(p99).fold(0.0, f64::max)
        };
        let check = |n: usize| {
            let name = format!("worst interval's 99 %: SWAN / {}", trials[n].trial.name);
            Check::new(name, Bound::AtMost(1.0), worst(&trials[3]) / worst(&trials[n]).max(1e-9))
        };
        Findings {
            charts: vec![Chart::grid(
                "latency",
                self.about().title,
                2,
                (380.0, 150.0),
                trials.iter().map(panel).collect(),
            )],
            numbers: trials
                .iter()
                .map(|t| Number::ours(format!("{}: worst interval's 99 %", t.trial.name), "us", worst(t)))
                .collect(),
            checks: (0..3).map(check).collect(),
            notes: vec![MODELLED.into()],
        }
    }
}
