//! Figure 1: random writes over time to one log over eight drives.

use super::common::{drives_of_140, log_raid0_and_swan0, settled, writes_over_time, written};
use crate::chart::{Axis, Chart, Line, Mark, Panel};
use crate::experiment::{About, Experiment, Findings, Scale, Trial, Trialled};
use crate::outcome::{Outcome, Sample};
use crate::series::{NOTHING, TIME, least, most, rate};

/// See the module's text.
pub struct Fig1;

/// "roughly 1 TB", eight drives of 120 GB.
const ARRAY: f64 = 8.0 * 120e9;

const UNTIL: &str = "until cleaning begins";
const ONCE: &str = "once cleaning";

impl Experiment for Fig1 {
    fn about(&self) -> About {
        About {
            id: "swan/fig1",
            title: "Random writes over time to one log over eight drives",
            published: "Figure 1 and section 1: 8 KiB random writes to eight 850 PRO as Log-RAID, each of which exhibits 140 \
                        MB/s. About 1000 s of close to the rate of all eight, until as much was written as the array holds, \
                        then 300 to 750 MB/s.",
            divisor: 64.0,
            seeds: 5,
        }
    }

    fn contradiction(&self) -> Option<&'static str> {
        Some(CONTRADICTION)
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        let log = log_raid0_and_swan0(scale).swap_remove(0);
        let slow = drives_of_140(&log);
        vec![log, slow]
    }

    fn findings(&self, scale: Scale, trials: &[Trialled]) -> Findings {
        let [log, slow] = trials else { unreachable!("as many as were set up") };
        let curve = Curve::of(scale, log);
        let moment = Mark::Moment { at: curve.began, label: "cleaning begins".into() };
        let band = Mark::Band { from: 300.0, to: 750.0, label: "published: 300 to 750".into() };
        let line = Line::new("Log-RAID0", log.trial.scheme, writes_over_time(scale, log.outcome));
        let panel = Panel::lines(Axis::linear(TIME), Axis::linear("user writes (MB/s)"), vec![line]);
        let chart = Chart::single("throughput", self.about().title, panel.marked(vec![band, moment]));
        let dip = "The dip at the very beginning is the drives': they collect what aged them.";
        let mut found = Findings::new(vec![chart], vec![CONTRADICTION.into(), dip.into()]);
        for (panel, series, ours) in curve.numbers() {
            found.published(panel, series, ours);
        }
        for (panel, series, ours) in Curve::of(scale, slow).numbers() {
            found.supposed((panel, series), SLOW_DRIVES, &[(0, 1)], ours);
        }
        found
    }
}

/// What is read off the curve.
struct Curve {
    /// When the first segment was cleaned, in the paper's seconds.
    began: f64,
    /// MB/s until then.
    at_first: f64,
    /// What was written until then, as a share of the array.
    filled: f64,
    /// MB/s once cleaning: the mean, and the least and the greatest of an interval.
    later: (f64, f64, f64),
}

impl Curve {
    fn of(scale: Scale, log: &Trialled) -> Self {
        let before: Vec<&Sample> = log.outcome.samples.iter().take_while(|sample| sample.victims[1] == 0).collect();
        let bytes = before.iter().map(|sample| sample.writes[1]).sum::<u64>() as f64 * scale.divisor();
        let began = before.last().map_or(NOTHING, |sample| scale.papers_seconds(sample.at_ns));
        let (least, most) = ends(log.outcome);
        Self { began, at_first: bytes / began / 1e6, filled: bytes / ARRAY, later: (written(log), least, most) }
    }

    fn numbers(&self) -> [(&'static str, &'static str, f64); 8] {
        let (mean, least, most) = self.later;
        [
            (UNTIL, "rate", self.at_first),
            (UNTIL, "it lasts", self.began),
            (UNTIL, "written until then, of the array's space", self.filled),
            (UNTIL, "rate, what eight drives can do", self.at_first),
            (ONCE, "rate", mean),
            (ONCE, "lowest of an interval", least),
            (ONCE, "highest of an interval", most),
            (ONCE, "rate / before", mean / self.at_first),
        ]
    }
}

/// The least and the greatest rate of an interval of the second half, in MB/s.
fn ends(outcome: &Outcome) -> (f64, f64) {
    let rates = settled(outcome).iter().map(|sample| rate(sample.writes[1], sample.span_ns));
    (least(rates.clone()), most(rates))
}

const CONTRADICTION: &str = "Section 1 has eight drives write at close to their full rate before anything is cleaned, and \
    gives each 140 MB/s. Section 5 measures 400 MB/s for the same drive, and Figure 6b has SWAN0 write them. So whatever held \
    Log-RAID's prototype back was there before cleaning; the paper does not tell. And the array that is full then is \"roughly 1 TB\", which eight drives \
    of 120 GB are not: 1120 MB/s for 1000 s are 1.17 times what they hold, and both numbers cannot be met with the third.";

/// Why a log may write as little as it does there.
pub const SLOW_DRIVES: &str =
    "The drives take 140 MB/s each, as section 1 says, not the 400 MB/s that section 5 measures.";
