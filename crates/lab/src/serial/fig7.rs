//! Figure 7: random writes over time to the serial array, while and after it is aged.

use super::common::{AFTER, AGING, DRIVE, SAMPLE, SERIAL, aged_then_hot, written};
use crate::Sample;
use crate::chart::{Axis, Chart, Line, Mark, Panel, Scheme};
use crate::experiment::{About, Bound, Check, Experiment, Findings, Number, Published, Scale, Trial, Trialled};
use crate::outcome::Outcome;
use crate::series::{TIME, mean, over_time, rate, variation};

/// See the module's text.
pub struct Fig7;

/// The paper's 1200 GB are as much as three of its four drives hold. One is in reserve here, a few percent of the others are
/// kept free, and stripes have headers.
const FOOTPRINT: f64 = 1100e9;
/// What a front-end takes of the clients' data: all but the header of each stripe, one block in 65.
const FRONT_END: f64 = DRIVE * 64.0 / 65.0;

/// About half of it: enough is overwritten while the drives are filled that less than half of each is current.
const SMALLER: f64 = 600e9;

/// What makes the array slower for some minutes.
const BETWEEN: &str = "The first two drives emptied after the aging are more than half full of current data, most of it never \
    overwritten again. Then two must be emptied for the room of one, which takes longer than a front-end lasts (the rule of \
    'cygnus plan --preset serial': valid up to a half), and writers have to wait until that data lies together. Over a footprint of \
    600 GB, of which less is current when its turn comes, the same array does nothing of the kind. The paper's footprint asks for \
    more, and its figure does not show it; when it collects, and where to, is not told.";

impl Experiment for Fig7 {
    fn about(&self) -> About {
        About {
            id: "serial/fig7",
            title: "Random writes over time to the serial array on four drives",
            published: "Figure 7 and section 3.3: the workload of Figure 3 on the serial array. Throughput is consistent while \
                        the array is aged and afterwards. It changes a little when another drive becomes the front-end, as \
                        no two of the drives are alike; external collection has no effect; there are occasional small dips.",
            divisor: 32.0,
        }
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        let trial = |name, footprint| Trial::new(name, Scheme::Serial, aged_then_hot(scale, SERIAL, footprint));
        vec![trial("serial", FOOTPRINT), trial("serial, 600 GB", SMALLER)]
    }

    fn findings(&self, scale: Scale, trials: &[Trialled]) -> Findings {
        let [serial, smaller] = trials else { unreachable!("as many as were set up") };
        let (outcome, pace) = (serial.outcome, Pace::of(scale, serial.outcome));
        let easier = Pace::of(scale, smaller.outcome);
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
        let drive_wa = outcome.drive_write_amplification_milli as f64 / 1000.0;
        // What the array does where the rule holds is asked by the same bounds.
        let because = |claim: &str, bound, of: fn(&Pace) -> f64| {
            let shown = Check::new(format!("over 600 GB: {claim}"), bound, of(&easier));
            Check::new(claim, bound, of(&pace)).or_because(BETWEEN, shown)
        };
        Findings {
            charts: vec![Chart::single("throughput", self.about().title, panel.marked(turns))],
            numbers: vec![
                Number::beside("while it is aged", "MB/s", Published::Words("steady".into()), pace.aging),
                Number::beside("afterwards", "MB/s", Published::Words("as before".into()), pace.after),
                Number::ours("least of any interval", "MB/s", pace.least),
                Number::ours("least of any interval over 600 GB", "MB/s", easier.least),
                Number::ours("while external collection is at work", "MB/s", pace.collecting),
                Number::ours("while it is not", "MB/s", pace.resting),
                Number::ours("front-ends one after the other", "", outcome.rotations as f64 + 1.0),
                Number::ours("valid in the first two drives emptied", "%", first_two(outcome)),
                Number::ours("valid in the first two drives emptied over 600 GB", "%", first_two(smaller.outcome)),
                Number::ours("drives' own write amplification", "", drive_wa),
            ],
            checks: vec![
                because("all the time: share of a drive's rate", Bound::AtLeast(0.95), |pace| pace.mean / FRONT_END),
                because("coefficient of variation, %", Bound::AtMost(5.0), |pace| pace.variation),
                because("afterwards / while it is aged", Bound::Between(0.95, 1.05), |pace| pace.after / pace.aging),
                because("least / mean: small dips only", Bound::AtLeast(0.8), |pace| pace.least / pace.mean),
                because(
                    "external collection has no effect: writes with / without",
                    Bound::Between(0.95, 1.05),
                    |pace| pace.collecting / pace.resting,
                ),
                Check::new(
                    "over 600 GB: valid in the first two drives emptied, %",
                    Bound::AtMost(50.0),
                    first_two(smaller.outcome),
                ),
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
            least: both.iter().copied().fold(f64::MAX, f64::min),
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
    valid as f64 * 100.0 / emptied.max(1) as f64
}
