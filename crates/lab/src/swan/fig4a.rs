//! Figure 4a: random writes to eight drives as RAID-0 in place, as one log, and as groups that take turns.

use super::common::{log_raid0, raid0, swan0, variation, writes_after_cleaning_began, written};
use crate::chart::{Axis, Bars, Chart, Mark, Panel, Scheme};
use crate::experiment::{About, Bound, Check, Experiment, Findings, Number, Published, Scale, Trial, Trialled};

/// See the module's text.
pub struct Fig4a;

impl Experiment for Fig4a {
    fn about(&self) -> About {
        About {
            id: "swan/fig4a",
            title: "Random writes to eight drives: RAID0, Log-RAID0, SWAN0",
            published: "Figure 4a and section 5.1: 8 KiB random writes to eight 850 PRO. RAID0 is slowest because random \
                        writes make the drives collect garbage, Log-RAID0 is faster, and SWAN0 (4R-2SSD) fastest with \
                        close to the full rate of two drives, 800 MB/s.",
            divisor: 64.0,
        }
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        let trial = |name, scheme, array: String| Trial::new(name, scheme, writes_after_cleaning_began(scale, &array));
        vec![
            trial("RAID0", Scheme::Raid0, raid0(8)),
            trial("Log-RAID0", Scheme::LogRaid, log_raid0(8)),
            trial("SWAN0 4R-2SSD", Scheme::Swan, swan0(4, 2)),
        ]
    }

    fn findings(&self, _: Scale, trials: &[Trialled]) -> Findings {
        let [in_place, log, swan] = trials else { unreachable!("as many as were set up") };
        let bars =
            |trialled: &Trialled| Bars::new(&trialled.trial.name, trialled.trial.scheme, vec![written(trialled)]);
        let panel = Panel::bars(
            Axis::linear("user writes (MB/s)"),
            vec!["8 KiB random writes".into()],
            trials.iter().map(bars).collect(),
        );
        let level = Mark::Level { at: 800.0, label: "published for SWAN0: about 800".into() };
        let number =
            |trialled: &Trialled, paper| Number::beside(&trialled.trial.name, "MB/s", paper, written(trialled));
        Findings {
            charts: vec![Chart::single("throughput", self.about().title, panel.marked(vec![level]))],
            numbers: vec![
                number(in_place, Published::Words("below Log-RAID0".into())),
                number(log, Published::Range(300.0, 750.0)),
                number(swan, Published::About(800.0)),
            ],
            checks: vec![
                Check::new("SWAN0 / Log-RAID0", Bound::AtLeast(1.0), written(swan) / written(log)),
                Check::new("SWAN0 against the published 800 MB/s", Bound::Between(0.9, 1.1), written(swan) / 800.0),
                Check::new("Log-RAID0 / RAID0", Bound::AtLeast(1.0), written(log) / written(in_place)).or_else(
                    "The paper gives a drive 140 MB/s of random writes (introduction), so that eight of them in place \
                     should do 1120 MB/s, above its own Log-RAID0. Ours, calibrated on those 140 MB/s over the whole \
                     drive, do even more here, since the 40 % of each drive that were never written are room to collect \
                     in. What else kept the prototype's RAID0 below 300 MB/s, the paper does not tell.",
                ),
                Check::new("RAID0's variation, %, above SWAN0's", Bound::AtLeast(0.0), variation(in_place) - variation(swan)),
            ],
            notes: Vec::new(),
        }
    }
}
