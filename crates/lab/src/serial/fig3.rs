//! Figure 3: random writes over time to four NVMe drives as RAID-0.

use cygnus_policy::planner::valid_share;

use super::common::{AGING, RAID0, aged_then_hot, written};
use crate::chart::{Axis, Chart, Line, Mark, Panel, Scheme};
use crate::experiment::{About, Bound, Check, Experiment, Findings, Number, Published, Scale, Trial, Trialled};
use crate::series::{TIME, mean, over_time};

/// See the module's text.
pub struct Fig3;

/// Section 3.1.
const FOOTPRINT: f64 = 1200e9;
/// Flash of the modelled drives, without their spare blocks and with them.
const CAPACITY: f64 = 1600e9;
const SPARE: f64 = 0.16;

const WHEN_NOT_HOW_MUCH: &str = "What collection costs is what it must cost where 1200 GB are overwritten at random on drives of \
    1600 GB and 16 % of spare flash: the valid share of victims follows from how full the flash is (SWAN's section 3.5 has the \
    terms), and with it the part of the programs that is left to clients. For 1.25 GB/s victims would have to be 65 % valid, \
    which takes drives with less flash than the 1600 GB that they offer. So the published dips are not from how much is \
    collected but from when: drives that put it off and then make up for it. How theirs do that is not told; the modelled ones \
    collect in step with what is written.";

/// What is left of the first rate, of what the terms leave.
fn against_terms(left: f64) -> Check {
    let terms = 1.0 - valid_share(FOOTPRINT / (CAPACITY * (1.0 + SPARE)));
    Check::new("what is left of the first rate / what the terms leave", Bound::Between(0.85, 1.15), left / terms)
}

impl Experiment for Fig3 {
    fn about(&self) -> About {
        About {
            id: "serial/fig3",
            title: "Random writes over time to four NVMe drives as RAID-0",
            published: "Figure 3 and section 1: four Intel 750 of 400 GB as RAID-0 with chunks of 64 KiB, clean at first. \
                        3.5 GB/s (ideal: 3.6), then, as the drives collect garbage, dips below the 1.25 GB/s of 10 GbE, \
                        and oscillation.",
            divisor: 64.0,
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
        let least = rates.iter().copied().fold(f64::MAX, f64::min);
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
        Findings {
            charts: vec![Chart::single("throughput", self.about().title, panel.marked(marks))],
            numbers: vec![
                Number::beside("at first", "MB/s", Published::About(3500.0), fresh),
                Number::beside("least", "MB/s", Published::Below(1250.0), least),
            ],
            checks: vec![
                Check::new("at first, MB/s", Bound::Between(3150.0, 3850.0), fresh),
                Check::new("least / first: collection takes more than half", Bound::AtMost(0.5), least / fresh)
                    .or_because(WHEN_NOT_HOW_MUCH, against_terms(least / fresh)),
                Check::new("least, MB/s", Bound::AtMost(1250.0), least)
                    .or_because(WHEN_NOT_HOW_MUCH, against_terms(least / fresh)),
            ],
            notes: Vec::new(),
        }
    }
}
