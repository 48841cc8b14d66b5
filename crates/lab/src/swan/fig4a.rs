//! Figure 4a: random writes to eight drives as RAID-0 in place, as one log, and as groups that take turns.

use super::common::{against_cost_model, log_raid0, raid0, random_writes, random_writes_to, swan0, written};
use super::fig1::PROTOTYPE;
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
            divisor: 32.0,
        }
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        let trial = |name, scheme, array: String| Trial::new(name, scheme, random_writes(scale, &array));
        vec![
            // mdadm gives all of the drives to its users.
            Trial::new("RAID0", Scheme::Raid0, random_writes_to(scale, &raid0(8), 99)),
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
                Number::beside(
                    "RAID0, one drive of eight",
                    "MB/s",
                    Published::Words("\"effective write throughput of 140 MB/s\"".into()),
                    written(in_place) / 8.0,
                ),
            ],
            checks: vec![
                Check::new("SWAN0 4R-2SSD, MB/s", Bound::Between(0.9 * 800.0, 1.1 * 800.0), written(swan)),
                Check::new("Log-RAID0, MB/s", Bound::Between(300.0, 750.0), written(log))
                    .or_because(PROTOTYPE, against_cost_model(log)),
                Check::new("Log-RAID0 / RAID0", Bound::AtLeast(1.0), written(log) / written(in_place)),
                Check::new("SWAN0 / Log-RAID0", Bound::AtLeast(1.0), written(swan) / written(log))
                    .or_because(PROTOTYPE, against_cost_model(log)),
            ],
            notes: vec![
                "RAID0 has a volume of all the drives, as md makes it, the logs one of 60 % of their space, which they need. On \
                 60 % of the drives RAID0 would be faster than any log here: to a drive, blocks that were never written are \
                 spare space."
                    .into(),
                "Below the utilisation at which SWAN's model breaks, four groups of two and one log of eight do the same work \
                 with the same drives, so one log must be faster: it writes with all of them. What SWAN buys with that is that \
                 the rate which it promises does not depend on cleaning."
                    .into(),
            ],
        }
    }
}
