//! Figure 5: random writes over time, one log over eight drives beside four groups of two.

use super::common::{against_cost_model, log_raid0_and_swan0, variation, writes_over_time, written};
use super::fig1::PROTOTYPE;
use crate::chart::{Axis, Chart, Line, Mark, Panel};
use crate::experiment::{About, Bound, Check, Experiment, Findings, Number, Published, Scale, Trial, Trialled};
use crate::outcome::{Outcome, Sample, per_second, variation_milli};
use crate::series::TIME;

/// See the module's text.
pub struct Fig5;

/// Two drives at 400 MB/s each (section 5), less the header of each stripe (one block in 65).
const FRONT_END: f64 = 800.0 * 64.0 / 65.0;

impl Experiment for Fig5 {
    fn about(&self) -> About {
        About {
            id: "swan/fig5",
            title: "Random writes over time: Log-RAID0 and SWAN0 on eight drives",
            published: "Figure 5 and section 5.1: 8 KiB random writes to eight 850 PRO. Log-RAID0 starts with the rate \
                        of all eight and, once its space has been written through, falls and fluctuates between 300 \
                        and 750 MB/s (introduction). SWAN0 as four groups of two sustains about 800 MB/s, the full rate \
                        of two drives.",
            divisor: 32.0,
        }
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        log_raid0_and_swan0(scale)
    }

    fn findings(&self, scale: Scale, trials: &[Trialled]) -> Findings {
        let [log, swan] = trials else { unreachable!("as many as were set up") };
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
            .map_or(0.0, Sample::victims_valid);
        let level = Mark::Level { at: 800.0, label: "published: about 800".into() };
        let panels = vec![panel(log, vec![band]), panel(swan, vec![level])];
        Findings {
            charts: vec![Chart::grid("throughput", self.about().title, 1, (760.0, 220.0), panels)],
            numbers: vec![
                Number::beside("SWAN0, sustained", "MB/s", Published::About(800.0), written(swan)),
                Number::beside("Log-RAID0, once cleaning", "MB/s", Published::Range(300.0, 750.0), written(log)),
                Number::ours("SWAN0, coefficient of variation", "%", variation(swan)),
                Number::ours("Log-RAID0, coefficient of variation", "%", variation(log)),
                Number::ours("SWAN0's victims valid in the interval in which it cleans and is slowest", "%", slowest),
                Number::ours("SWAN0's victims valid, sustained", "%", swan.outcome.victim_valid_milli as f64 / 10.0),
            ],
            checks: vec![
                // The model of section 3.5 says that two groups would do at this utilisation; these are four.
                Check::new(
                    "SWAN0 sustains this share of its front-end's raw rate",
                    Bound::AtLeast(0.95),
                    written(swan) / FRONT_END,
                ),
                Check::new("SWAN0's coefficient of variation, %", Bound::AtMost(5.0), variation(swan)),
                Check::new("two drives beat eight: SWAN0 / Log-RAID0", Bound::AtLeast(1.0), written(swan) / written(log))
                    .or_because(PROTOTYPE, against_cost_model(log)),
                Check::new("Log-RAID0, once cleaning, MB/s", Bound::Between(300.0, 750.0), written(log))
                    .or_because(PROTOTYPE, against_cost_model(log)),
                Check::new("Log-RAID0's variation / SWAN0's", Bound::AtLeast(2.0), variation(log) / variation(swan).max(0.1))
                    .or_because(
                        "Here cleaning goes at the pace of the writes from the moment that space runs short, and moves the same \
                         amount in every interval, so writes are slowed evenly. The paper's cleaner reads at a steady rate \
                         too (section 5.2), and its writes swing all the same; it lays that to writes and cleaning that \
                         meet on drives, and to the slowest drive. Modelled drives are all alike, and we suppose that this is \
                         the difference.",
                        Check::new(
                            "variation of what Log-RAID0's cleaning moves in an interval, %",
                            Bound::AtMost(10.0),
                            variation_of_cleaning(log.outcome),
                        ),
                    ),
            ],
            notes: vec![
                "The dips in the first 1400 s are the drives': each collects what aged it when a log first writes it through.".into(),
                "SWAN0's short falls after that come once in an array's life: its last two groups are cleaned for the first time \
                 soon after they were written, when most of them is still valid."
                    .into(),
            ],
        }
    }
}

/// Coefficient of variation of the blocks that cleaning moves in the intervals of the second half, in percent.
fn variation_of_cleaning(outcome: &Outcome) -> f64 {
    let samples = &outcome.samples[outcome.samples.len() / 2..];
    let moved: Vec<u64> = samples.iter().map(|sample| per_second(sample.moved_blocks, sample.span_ns)).collect();
    variation_milli(&moved) as f64 / 10.0
}
