//! Figure 7: how full victims are, and how many segments are free, over two hours.

use super::common::log_raid0_and_swan0;
use crate::chart::{Axis, Chart, Line, Panel, Scheme};
use crate::experiment::{About, Bound, Check, Experiment, Findings, Number, Published, Scale, Trial, Trialled};
use crate::outcome::{Outcome, Sample};
use crate::series::{TIME, mean, over_time};

/// See the module's text.
pub struct Fig7;

impl Experiment for Fig7 {
    fn about(&self) -> About {
        About {
            id: "swan/fig7",
            title: "Victims' valid share and free segments of SWAN0 over two hours",
            published: "Figure 7 and section 5.2: over 80 minutes, once cleaning begins, after about 800 s, victims are empty at first; \
                        their valid share rises, and it and the number of free segments converge.",
            divisor: 32.0,
        }
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        log_raid0_and_swan0(scale).into_iter().skip(1).collect()
    }

    fn findings(&self, scale: Scale, trials: &[Trialled]) -> Findings {
        let [swan] = trials else { unreachable!("as many as were set up") };
        let outcome = swan.outcome;
        let cleaned: Vec<&Sample> = outcome.samples.iter().filter(|sample| sample.victims[1] > 0).collect();
        let began = cleaned.first().map_or(0.0, |sample| scale.papers_seconds(sample.at_ns));
        let points =
            cleaned.iter().map(|sample| (scale.papers_seconds(sample.at_ns), sample.victims_valid())).collect();
        let free = over_time(scale, outcome, |sample| sample.free_segments as f64);
        let last = &outcome.samples[outcome.samples.len() * 3 / 4..];
        let spread = |value: &dyn Fn(&Sample) -> f64| {
            let values: Vec<f64> = last.iter().map(value).collect();
            let average = mean(&values);
            let most = values.iter().map(|value| (value - average).abs()).fold(0.0, f64::max);
            (average, most / average.max(1e-9))
        };
        let ((valid_mean, valid_spread), (free_mean, free_spread)) =
            (spread(&Sample::victims_valid), spread(&|sample| sample.free_segments as f64));
        let first = cleaned.first().map_or(100.0, |sample| sample.victims_valid());
        let peak = cleaned.iter().map(|sample| sample.victims_valid()).fold(0.0, f64::max);
        let expected = 100.0 * left_by_random_writes(outcome);
        let line = |name, points| vec![Line::new(name, Scheme::Swan, points)];
        let panels = vec![
            Panel::lines(
                Axis::linear(TIME),
                Axis::linear("valid share of victims (%)").between(0.0, 100.0),
                line("SWAN0 4R-2SSD", points),
            ),
            Panel::lines(Axis::linear(TIME), Axis::linear("free segments"), line("SWAN0 4R-2SSD", free)),
        ];
        Findings {
            charts: vec![Chart::grid("victims", self.about().title, 1, (760.0, 190.0), panels)],
            numbers: vec![
                Number::beside("cleaning begins", "s", Published::About(800.0), began),
                Number::beside("valid share of victims, last quarter", "%", Published::About(33.0), valid_mean),
                Number::ours("free segments, last quarter", "", free_mean),
            ],
            checks: vec![
                Check::new(
                    "victims' valid share, last quarter: greatest distance from its mean, as a part of it",
                    Bound::AtMost(0.25),
                    valid_spread,
                ),
                Check::new("free segments, last quarter: the same", Bound::AtMost(0.35), free_spread),
                Check::new("greatest rise of the valid share over the first victims', in points", Bound::AtLeast(5.0), peak - first),
                Check::new("first victims' valid share, %", Bound::AtMost(5.0), first).or_because(
                    "Uniformly random writes leave that much: of what was written first, that share was not hit since. For \
                     victims to be empty after three quarters of the array were written, as the paper has it, what is written \
                     at random must be a much smaller part than 60 % of the array, or not random.",
                    Check::new("first victims' valid share / what random writes leave", Bound::Between(0.8, 1.2), first / expected),
                ),
            ],
            notes: vec![
                "The 33 % are those of the paper's model at 60 % utilisation (section 3.5). It leaves out that free \
                 segments, headers and reserves make the rest of the array fuller than 60 %."
                    .into(),
            ],
        }
    }
}

/// Share of the oldest segments that is still valid when cleaning begins: each block of the volume was as likely to be
/// written as any other since then.
fn left_by_random_writes(outcome: &Outcome) -> f64 {
    let before = outcome.samples.iter().take_while(|sample| sample.victims[1] == 0);
    let written: u64 = before.map(|sample| sample.writes[1]).sum();
    let volume = outcome.volume_bytes as f64;
    (-(written as f64) / volume).exp()
}
