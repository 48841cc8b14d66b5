//! Figure 5: random writes over time, one log over eight drives beside four groups of two.

use super::common::{drives_of_140, log_raid0_and_swan0, variation, writes_over_time, written};
use super::fig1::SLOW_DRIVES;
use crate::chart::{Axis, Chart, Line, Mark, Panel};
use crate::experiment::{About, Experiment, Findings, Scale, Trial, Trialled};
use crate::outcome::percent;
use crate::outcome::{Sample, per_second};
use crate::series::{NOTHING, TIME};

/// See the module's text.
pub struct Fig5;

impl Experiment for Fig5 {
    fn about(&self) -> About {
        About {
            id: "swan/fig5",
            title: "Random writes over time: Log-RAID0 and SWAN0 on eight drives",
            published: "Figure 5 and section 5.1: 8 KiB random writes to eight 850 PRO. Log-RAID0 starts with the rate \
                        of all eight and, once its space has been written through, falls and fluctuates between 300 \
                        and 750 MB/s (introduction). SWAN0 as four groups of two sustains about 800 MB/s, the full rate \
                        of two drives.",
            divisor: 64.0,
            seeds: 5,
        }
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        let trials = log_raid0_and_swan0(scale);
        let slow: Vec<Trial> = trials.iter().map(drives_of_140).collect();
        trials.into_iter().chain(slow).collect()
    }

    fn findings(&self, scale: Scale, trials: &[Trialled]) -> Findings {
        let [log, swan, slow_log, slow_swan] = trials else { unreachable!("as many as were set up") };
        let panel = |trialled: &Trialled, marks| {
            let line =
                Line::new(&trialled.trial.name, trialled.trial.scheme, writes_over_time(scale, trialled.outcome));
            Panel::lines(Axis::linear(TIME), Axis::linear("user writes (MB/s)"), vec![line])
                .titled(&trialled.trial.name)
                .marked(marks)
        };
        let band = Mark::Band { from: 300.0, to: 750.0, label: "published: 300 to 750".into() };
        let cleaning = swan.outcome.samples.iter().filter(|sample| sample.victims[1] > 0);
        let slowest = cleaning
            .min_by_key(|sample| per_second(sample.writes[1], sample.span_ns))
            .map_or(NOTHING, Sample::victims_valid);
        let level = Mark::Level { at: 800.0, label: "published: about 800".into() };
        let panels = vec![panel(log, vec![band]), panel(swan, vec![level])];
        let chart = Chart::grid("throughput", self.about().title, 1, (760.0, 220.0), panels);
        let mut found = Findings::new(vec![chart], NOTES.map(str::to_owned).into());
        let swings = |log, swan| variation(log) / variation(swan);
        let (rate, swing) =
            (("(a) Log-RAID0", "rate once cleaning"), ("(a) Log-RAID0", "variation of the rate / SWAN0's"));
        let order = ("two drives beat eight", "SWAN0 / Log-RAID0");
        found.published(rate.0, rate.1, written(log));
        found.published(swing.0, swing.1, swings(log, swan));
        found.published("(b) SWAN0", "rate", written(swan));
        found.published("(b) SWAN0", "rate, what two drives can do", written(swan));
        found.published(order.0, order.1, written(swan) / written(log));
        let both = [(0, 2), (1, 3)];
        found.supposed(rate, SLOW_DRIVES, &both[..1], written(slow_log));
        found.supposed(swing, SLOW_DRIVES, &both, swings(slow_log, slow_swan));
        found.supposed(order, SLOW_DRIVES, &both, written(slow_swan) / written(slow_log));
        found.number("SWAN0, coefficient of variation", "%", variation(swan));
        found.number("Log-RAID0, coefficient of variation", "%", variation(log));
        found.number("SWAN0's victims valid in the interval in which it cleans and is slowest", "%", slowest);
        found.number("SWAN0's victims valid, sustained", "%", percent(swan.outcome.victim_valid_milli));
        found
    }
}

const NOTES: [&str; 3] = [
    "The dips in the first 1400 s are the drives': each collects what aged it when a log first writes it through.",
    "SWAN0's short falls after that come once in an array's life: its last two groups are cleaned for the first time soon after \
     they were written, when most of them is still valid.",
    "Here cleaning goes at the pace of the writes from the moment that space runs short, so writes are slowed evenly. The paper's \
     cleaner reads at a steady rate too (section 5.2), and its writes swing all the same. The modelled drives are all alike and \
     collect in step with what is written; whether that is the difference was not tried.",
];
