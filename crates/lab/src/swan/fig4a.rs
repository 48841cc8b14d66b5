//! Figure 4a: random writes to eight drives as RAID-0 in place, as one log, and as groups that take turns.

use super::common::{drives_of_140, log_raid0, raid0, random_writes, random_writes_to, swan0, written};
use super::fig1::SLOW_DRIVES;
use crate::chart::{Axis, Bars, Chart, Mark, Panel, Scheme};
use crate::experiment::{About, Experiment, Findings, Scale, Trial, Trialled};

/// See the module's text.
pub struct Fig4a;

/// What may make RAID0's drives collect.
pub const WHOLE_VOLUME: &str = "RAID0's volume is all of the drives, as mdadm makes it unless told otherwise, not 60 % of them: to a drive, \
    blocks that were never written are spare space.";

impl Experiment for Fig4a {
    fn about(&self) -> About {
        About {
            id: "swan/fig4a",
            title: "Random writes to eight drives: RAID0, Log-RAID0, SWAN0",
            published: "Figure 4a and section 5.1: 8 KiB random writes to eight 850 PRO. RAID0 is slowest because random \
                        writes make the drives collect garbage, Log-RAID0 is faster, and SWAN0 (4R-2SSD) fastest with \
                        close to the full rate of two drives, 800 MB/s.",
            divisor: 64.0,
            seeds: 5,
        }
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        let trial = |name, scheme, array: String| Trial::new(name, scheme, random_writes(scale, &array));
        let log = trial("Log-RAID0", Scheme::LogRaid, log_raid0(8));
        let swan = trial("SWAN0 4R-2SSD", Scheme::Swan, swan0(4, 2));
        let slow = [&log, &swan].map(drives_of_140);
        let whole = Trial::new("RAID0, all of the drives", Scheme::Raid0, random_writes_to(scale, &raid0(8), 99));
        let raid = trial("RAID0", Scheme::Raid0, raid0(8));
        [raid, log, swan, whole].into_iter().chain(slow).collect()
    }

    fn findings(&self, _: Scale, trials: &[Trialled]) -> Findings {
        let [in_place, log, swan, whole, slow_log, slow_swan] = trials else { unreachable!("as many as were set up") };
        let bars =
            |trialled: &Trialled| Bars::new(&trialled.trial.name, trialled.trial.scheme, vec![written(trialled)]);
        let panel = Panel::bars(
            Axis::linear("user writes (MB/s)"),
            vec!["8 KiB random writes".into()],
            trials[..3].iter().map(bars).collect(),
        );
        let level = Mark::Level { at: 800.0, label: "published for SWAN0: about 800".into() };
        let chart = Chart::single("throughput", self.about().title, panel.marked(vec![level]));
        let note = "Below the utilisation at which SWAN's model breaks, four groups of two and one log of eight do the same work \
                    with the same drives, so here one log is faster: it writes with all of them. What SWAN is meant to buy with that, a rate \
                    that does not depend on cleaning, was not tried here; beyond/utilisation fills the array until cleaning decides its rate.";
        let mut found = Findings::new(vec![chart], vec![note.into()]);
        found.published("SWAN0", "rate", written(swan));
        found.published("SWAN0", "rate, what two drives can do", written(swan));
        found.published("Log-RAID0", "rate", written(log));
        found.supposed(("Log-RAID0", "rate"), SLOW_DRIVES, &[(1, 4)], written(slow_log));
        let order = ("Log-RAID0 before RAID0", "Log-RAID0 / RAID0");
        found.published(order.0, order.1, written(log) / written(in_place));
        found.supposed(order, WHOLE_VOLUME, &[(0, 3)], written(log) / written(whole));
        let order = ("SWAN0 before Log-RAID0", "SWAN0 / Log-RAID0");
        found.published(order.0, order.1, written(swan) / written(log));
        found.supposed(order, SLOW_DRIVES, &[(1, 4), (2, 5)], written(slow_swan) / written(slow_log));
        found.number("RAID0", "MB/s", written(in_place));
        found.number("RAID0, all of the drives", "MB/s", written(whole));
        found.number("RAID0, all of the drives, each of them", "MB/s", written(whole) / 8.0);
        found
    }
}
