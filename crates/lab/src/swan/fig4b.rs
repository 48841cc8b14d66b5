//! Figure 4b: random writes to three, six and nine drives, as one log and as three groups.

use super::common::{log_raid0, random_writes, swan0, written};
use crate::chart::{Axis, Bars, Chart, Panel, Scheme};
use crate::experiment::{About, Experiment, Findings, Scale, Trial, Trialled};

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
            seeds: 5,
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
        let mut found = Findings::new(vec![Chart::single("throughput", self.about().title, panel)], vec![ALIKE.into()]);
        for (panel, rates) in [("SWAN0 rises", &swan), ("Log-RAID0 falls", &log)] {
            found.published(panel, "6 drives / 3 drives", rates[1] / rates[0]);
            found.published(panel, "9 drives / 6 drives", rates[2] / rates[1]);
        }
        found.published("SWAN0 rises", "6 drives / 3 drives, in proportion", swan[1] / swan[0]);
        found.published("SWAN0 rises", "9 drives / 3 drives, in proportion", swan[2] / swan[0]);
        found.published("SWAN0 rises", "rate of 9 drives, what three can do", swan[2]);
        for trialled in trials {
            found.number(&trialled.trial.name, "MB/s", written(trialled));
        }
        found
    }
}

/// What may make Log-RAID0's fall.
const ALIKE: &str = "The paper explains the fall of Log-RAID0 by the slowest drive. The modelled drives are all alike, so that \
    was not tried here.";
