//! Figure 7: random writes over time to the serial array, while and after it is aged.

use super::common::{AFTER, AGING, SAMPLE, SERIAL, aged_then_hot, written};
use crate::Sample;
use crate::chart::{Axis, Chart, Line, Mark, Panel, Scheme};
use crate::experiment::{About, Experiment, Findings, Scale, Trial, Trialled};
use crate::outcome::Outcome;
use crate::outcome::ratio;
use crate::series::{TIME, least, mean, over_time, rate, variation};

/// See the module's text.
pub struct Fig7;

/// The paper's 1200 GB are as much as three of its four drives hold. One is in reserve here, a few percent of the others are
/// kept free, and stripes have headers.
const FOOTPRINT: f64 = 1100e9;
const NOTES: [&str; 3] = [
    "The footprint is 1100 GB instead of 1200: an array that keeps one of four drives in reserve promises no more than the other three \
     hold.",
    "All modelled drives are alike, so nothing changes with the front-end (thin lines).",
    "Where the array is slower for some minutes, the first two drives emptied after the aging are more than half full of current \
     data. Then two must be emptied for the room of one, which takes longer than a front-end lasts (the rule of 'cygnus plan --preset \
     serial': valid up to a half). The paper's footprint asks for more, and its figure does not show it; when it collects, and where \
     to, is not told.",
];

impl Experiment for Fig7 {
    fn about(&self) -> About {
        About {
            id: "serial/fig7",
            title: "Random writes over time to the serial array on four drives",
            published: "Figure 7 and section 3.3: the workload of Figure 3 on the serial array. Throughput is consistent while \
                        the array is aged and afterwards. It changes a little when another drive becomes the front-end, as \
                        no two of the drives are alike; external collection has no effect; there are occasional small dips.",
            divisor: 32.0,
            seeds: 6,
        }
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        vec![Trial::new("serial", Scheme::Serial, aged_then_hot(scale, SERIAL, FOOTPRINT))]
    }

    fn findings(&self, scale: Scale, trials: &[Trialled]) -> Findings {
        let [serial] = trials else { unreachable!("as many as were set up") };
        let (outcome, pace) = (serial.outcome, Pace::of(scale, serial.outcome));
        let moved = |sample: &Sample| rate(sample.moved_blocks * 4096, sample.span_ns);
        let panel = Panel::lines(
            Axis::linear(TIME),
            Axis::linear("MB/s").between(0.0, 1250.0),
            vec![
                Line::new("clients' writes", Scheme::Serial, over_time(scale, outcome, written)),
                Line::new("moved by external collection", Scheme::Reads, over_time(scale, outcome, moved)),
            ],
        );
        let turns = outcome.samples.windows(2).filter(|two| two[0].front_end != two[1].front_end);
        let turns: Vec<Mark> = turns
            .map(|two| Mark::Moment { at: scale.papers_seconds(two[0].at_ns), label: String::new() })
            .chain([Mark::Moment { at: AGING, label: "64 KiB".into() }])
            .collect();
        let drive_wa = ratio(outcome.drive_write_amplification_milli);
        let chart = Chart::single("throughput", self.about().title, panel.marked(turns));
        let mut found = Findings::new(vec![chart], NOTES.map(str::to_owned).into());
        let during = "during and after aging";
        found.published(during, "after / during", pace.after / pace.aging);
        found.published(during, "lowest of an interval / mean", pace.least / pace.mean);
        found.published(during, "rate, what one drive can do", pace.mean);
        let collection = ("external collection has no effect", "writes while it works / while it rests");
        found.published(collection.0, collection.1, pace.collecting / pace.resting);
        found.published("drives collect nothing", "pages that drives program for each written", drive_wa);
        found.number("while it is aged", "MB/s", pace.aging);
        found.number("afterwards", "MB/s", pace.after);
        found.number("least of any interval", "MB/s", pace.least);
        found.number("coefficient of variation", "%", pace.variation);
        found.number("while external collection is at work", "MB/s", pace.collecting);
        found.number("while it is not", "MB/s", pace.resting);
        found.number("front-ends one after the other", "", outcome.rotations as f64 + 1.0);
        found.number("valid in the first two drives emptied", "%", first_two(outcome));
        found
    }
}

/// What clients get, in MB/s.
struct Pace {
    mean: f64,
    aging: f64,
    after: f64,
    least: f64,
    /// In percent of the mean.
    variation: f64,
    /// While external collection is at work, and while it is not.
    collecting: f64,
    resting: f64,
}

impl Pace {
    fn of(scale: Scale, outcome: &Outcome) -> Self {
        let rates = |from: f64, to: f64| -> Vec<f64> {
            let within = |sample: &&Sample| {
                let at = scale.papers_seconds(sample.at_ns);
                at > from + 1.5 * SAMPLE && at <= to
            };
            outcome.samples.iter().filter(within).map(written).collect()
        };
        let (aging, after) = (rates(0.0, AGING), rates(AGING, AGING + AFTER));
        let both: Vec<f64> = aging.iter().chain(&after).copied().collect();
        let collecting = |wanted: bool| {
            let samples = outcome.samples[2..].iter().filter(|sample| (sample.moved_blocks > 0) == wanted);
            mean(samples.map(written))
        };
        Self {
            mean: mean(&both),
            aging: mean(&aging),
            after: mean(&after),
            least: least(both.iter().copied()),
            variation: variation(&both),
            collecting: collecting(true),
            resting: collecting(false),
        }
    }
}

/// Valid share in percent of as much as two drives hold, the first that was emptied.
fn first_two(outcome: &Outcome) -> f64 {
    let (mut valid, mut emptied) = (0, 0);
    for sample in &outcome.samples {
        if emptied * 4096 >= outcome.drive_bytes * 2 * 9 / 10 {
            break;
        }
        valid += sample.victims[0];
        emptied += sample.victims[1];
    }
    valid as f64 * 100.0 / emptied as f64
}
