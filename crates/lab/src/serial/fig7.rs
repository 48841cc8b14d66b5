//! Figure 7: random writes over time to the serial array, while and after it is aged.

use super::common::{AFTER, AGING, DRIVE, SAMPLE, SERIAL, TIME, aged_then_hot, mean, over_time, variation, written};
use crate::Sample;
use crate::chart::{Axis, Chart, Line, Mark, Panel, Scheme};
use crate::experiment::{About, Bound, Check, Experiment, Findings, Number, Published, Scale, Trial, Trialled};
use crate::outcome::per_second;

/// See the module's text.
pub struct Fig7;

/// The paper's 1200 GB are as much as three of its four drives hold. One is in reserve here, a few percent of the others are
/// kept free, and stripes have headers.
const FOOTPRINT: f64 = 1100e9;
/// What a front-end takes of the clients' data: all but the header of each stripe, one block in 65.
const FRONT_END: f64 = DRIVE * 64.0 / 65.0;

/// What may make the array slower for some minutes.
const BETWEEN: &str = "Not measured: we suppose that the first drives emptied after the aging are more than half full of current \
    data, most of it never overwritten again, so that the rule of 'cygnus plan --preset serial' does not hold and writers go at \
    the pace of cleaning until that data lies together. The paper shows nothing of the kind.";

/// What else may vary.
const BURSTS: &str = "Not measured: we suppose the same as for the mean, and that a drive which has just become the front-end takes \
    its first writes into a cache that is not scaled down with it.";

impl Experiment for Fig7 {
    fn about(&self) -> About {
        About {
            id: "serial/fig7",
            title: "Random writes over time to the serial array on four drives",
            published: "Figure 7 and section 3.3: the workload of Figure 3 on the serial array. Throughput is consistent while \
                        the array is aged and afterwards. It changes a little when another drive becomes the front-end, as \
                        no two of the drives are alike; external collection has no effect; there are occasional small dips.",
            divisor: 64.0,
        }
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        let scenario = aged_then_hot(scale, SERIAL, FOOTPRINT);
        vec![Trial::new("serial", Scheme::Serial, scenario)]
    }

    fn findings(&self, scale: Scale, trials: &[Trialled]) -> Findings {
        let [serial] = trials else { unreachable!("as many as were set up") };
        let outcome = serial.outcome;
        let moved = |sample: &Sample| per_second(sample.moved_blocks * 4096, sample.span_ns) as f64 / 1e6;
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
        let rates = |from: f64, to: f64| -> Vec<f64> {
            let within = |sample: &&Sample| {
                let at = scale.papers_seconds(sample.at_ns);
                at > from + 1.5 * SAMPLE && at <= to
            };
            outcome.samples.iter().filter(within).map(written).collect()
        };
        let (aging, after) = (rates(0.0, AGING), rates(AGING, AGING + AFTER));
        let both: Vec<f64> = aging.iter().chain(&after).copied().collect();
        let least = both.iter().copied().fold(f64::MAX, f64::min);
        let collecting = |wanted: bool| {
            let samples = outcome.samples[2..].iter().filter(|sample| (sample.moved_blocks > 0) == wanted);
            samples.map(written).collect::<Vec<_>>()
        };
        let (with, without) = (collecting(true), collecting(false));
        let drive_wa = outcome.drive_write_amplification_milli as f64 / 1000.0;
        Findings {
            charts: vec![Chart::single("throughput", self.about().title, panel.marked(turns))],
            numbers: vec![
                Number::beside("while it is aged", "MB/s", Published::Words("steady".into()), mean(&aging)),
                Number::beside("afterwards", "MB/s", Published::Words("as before".into()), mean(&after)),
                Number::ours("least of any interval", "MB/s", least),
                Number::ours("while external collection is at work", "MB/s", mean(&with)),
                Number::ours("while it is not", "MB/s", mean(&without)),
                Number::ours("front-ends one after the other", "", outcome.rotations as f64 + 1.0),
                Number::ours("valid in what was emptied", "%", outcome.victim_valid_milli as f64 / 10.0),
                Number::ours("drives' own write amplification", "", drive_wa),
            ],
            checks: vec![
                Check::new("all the time: share of a drive's rate", Bound::AtLeast(0.95), mean(&both) / FRONT_END),
                Check::new("coefficient of variation, %", Bound::AtMost(5.0), variation(&both)).or_else(BURSTS),
                Check::new("afterwards / while it is aged", Bound::Between(0.95, 1.05), mean(&after) / mean(&aging))
                    .or_else(BETWEEN),
                Check::new("least / mean: small dips only", Bound::AtLeast(0.8), least / mean(&both)).or_else(BETWEEN),
                Check::new(
                    "external collection has no effect: writes with / without",
                    Bound::Between(0.95, 1.05),
                    mean(&with) / mean(&without),
                )
                .or_else(BETWEEN),
                Check::new("drives collect nothing: their write amplification", Bound::AtMost(1.02), drive_wa),
                Check::new("drives that have been emptied", Bound::AtLeast(2.0), outcome.rotations as f64 - 2.0),
            ],
            notes: vec![
                format!(
                    "The footprint is {:.0} GB instead of 1200: an array that keeps one of four drives in reserve promises no \
                     more than the other three hold.",
                    FOOTPRINT / 1e9
                ),
                "All modelled drives are alike, so nothing changes with the front-end (thin lines).".into(),
            ],
        }
    }
}
