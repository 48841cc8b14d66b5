//! Figure 3: random writes over time to four NVMe drives as RAID-0.

use super::common::{AGING, RAID0, aged_then_hot, written};
use crate::chart::{Axis, Chart, Line, Mark, Panel, Scheme};
use crate::experiment::{About, Experiment, Findings, Scale, Trial, Trialled};
use crate::series::{TIME, least, mean, over_time};

/// See the module's text.
pub struct Fig3;

/// Section 3.1.
const FOOTPRINT: f64 = 1200e9;
const NOTE: &str = "The modelled drives collect in step with what is written, so what is left of the rate is even. How and when the \
    paper's drives collect is not told. Drives that collect in bursts have no such dips here, and drives that are slow at times have (docs/lab/swan-and-serial.md).";

impl Experiment for Fig3 {
    fn about(&self) -> About {
        About {
            id: "serial/fig3",
            title: "Random writes over time to four NVMe drives as RAID-0",
            published: "Figure 3 and section 1: four Intel 750 of 400 GB as RAID-0 with chunks of 64 KiB, clean at first. \
                        3.5 GB/s (ideal: 3.6), then, as the drives collect garbage, dips below the 1.25 GB/s of 10 GbE, \
                        and oscillation.",
            divisor: 64.0,
            seeds: 6,
        }
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        vec![Trial::new("RAID-0", Scheme::Raid0, aged_then_hot(scale, RAID0, FOOTPRINT))]
    }

    fn findings(&self, scale: Scale, trials: &[Trialled]) -> Findings {
        let [raid] = trials else { unreachable!("as many as were set up") };
        let points = over_time(scale, raid.outcome, written);
        // Without the first interval, in which the drives' caches fill, and the last, in which the clients end.
        let rates: Vec<f64> = points[1..points.len() - 1].iter().map(|point| point.1).collect();
        let fresh = mean(&rates[..rates.len() / 30]);
        let least = least(rates.iter().copied());
        let panel = Panel::lines(
            Axis::linear(TIME),
            Axis::linear("writes (MB/s)"),
            vec![Line::new("RAID-0", Scheme::Raid0, points)],
        );
        let marks = vec![
            Mark::Level { at: 3500.0, label: "published at first: 3.5 GB/s".into() },
            Mark::Level { at: 1250.0, label: "10 GbE; published dips go below".into() },
            Mark::Moment { at: AGING, label: "64 KiB".into() },
        ];
        let chart = Chart::single("throughput", self.about().title, panel.marked(marks));
        let mut found = Findings::new(vec![chart], vec![NOTE.into()]);
        let lowest = rates.iter().position(|&rate| rate == least).unwrap_or(0);
        let most_after = rates[lowest..].iter().copied().fold(least, f64::max);
        found.published("at first", "rate", fresh);
        found.published("at first", "rate, what four drives can do", fresh);
        found.published("later", "lowest of an interval", least);
        found.published("later", "rise after the lowest", most_after - least);
        found.number("lowest of an interval / at first", "", least / fresh);
        found
    }
}
