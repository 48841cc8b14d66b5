//! Figure 7: how full victims are, and how many segments are free, over two hours.

use super::common::{TURNS, log_raid0_and_swan0, one_group_at_a_time, turn};
use crate::chart::{Axis, Chart, Line, Panel, Scheme};
use crate::experiment::{About, Experiment, Findings, Scale, Trial, Trialled};
use crate::outcome::Sample;
use crate::series::{NOTHING, TIME, mean, most, over_time, variation};

/// See the module's text.
pub struct Fig7;

/// Drives of a group.
const WIDTH: u64 = 2;

impl Experiment for Fig7 {
    fn about(&self) -> About {
        About {
            id: "swan/fig7",
            title: "Victims' valid share and free segments of SWAN0 over two hours",
            published: "Figure 7 and section 5.2: over 80 minutes, once cleaning begins, after about 800 s, victims are empty at first; \
                        their valid share rises, and it and the number of free segments converge.",
            divisor: 64.0,
            seeds: 5,
        }
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        log_raid0_and_swan0(scale).iter().skip(1).map(one_group_at_a_time).collect()
    }

    fn findings(&self, scale: Scale, trials: &[Trialled]) -> Findings {
        let [swan] = trials else { unreachable!("as many as were set up") };
        let outcome = swan.outcome;
        let cleaned: Vec<&Sample> = outcome.samples.iter().filter(|sample| sample.victims[1] > 0).collect();
        let began = cleaned.first().map_or(NOTHING, |sample| scale.papers_seconds(sample.at_ns));
        let points =
            cleaned.iter().map(|sample| (scale.papers_seconds(sample.at_ns), sample.victims_valid())).collect();
        let free = over_time(scale, outcome, |sample| sample.free_segments as f64);
        let quarter = cleaned.len() / 4;
        let (early, late) = (&cleaned[quarter..2 * quarter], &cleaned[3 * quarter..]);
        // That it converges is that it swings less later than it did before.
        let settles = |value: fn(&Sample) -> f64| swing(late, value).1 / swing(early, value).1;
        let free_segments: fn(&Sample) -> f64 = |sample| sample.free_segments as f64;
        let first = cleaned.first().map_or(NOTHING, |sample| sample.victims_valid());
        let peak = most(cleaned.iter().map(|sample| sample.victims_valid()));
        let line = |name, points| vec![Line::new(name, Scheme::Swan, points)];
        let panels = vec![
            Panel::lines(
                Axis::linear(TIME),
                Axis::linear("valid share of victims (%)").between(0.0, 100.0),
                line("SWAN0 4R-2SSD", points),
            ),
            Panel::lines(Axis::linear(TIME), Axis::linear("free segments"), line("SWAN0 4R-2SSD", free)),
        ];
        let chart = Chart::grid("victims", self.about().title, 1, (760.0, 190.0), panels);
        let mut found = Findings::new(vec![chart], vec![TURNS.into(), NOTE.into()]);
        let victims = "victims' valid share";
        let swings = "swing in the last quarter / in the second quarter";
        found.published(victims, "cleaning begins", began);
        found.published(victims, "first victims", first);
        found.published(victims, "rise over the first victims'", peak - first);
        found.published(victims, swings, settles(Sample::victims_valid));
        found.published(victims, "last quarter", swing(late, Sample::victims_valid).0);
        found.published("free segments", swings, settles(free_segments));
        found.number("free segments, last quarter", "", swing(late, free_segments).0);
        turn(scale, outcome, WIDTH, &mut found);
        found
    }
}

/// Why the published share is not quite comparable.
const NOTE: &str = "The 33 % are those of the paper's model at 60 % utilisation (section 3.5). It leaves out free segments, headers \
    and reserves, which supposedly make the rest of the array fuller than 60 %: how much fuller was not measured. The first victims have supposedly what uniformly \
    random writes leave of what was written first; in the paper they are empty.";

/// The mean of something over samples, and the coefficient of variation around it.
fn swing(samples: &[&Sample], value: fn(&Sample) -> f64) -> (f64, f64) {
    let values: Vec<f64> = samples.iter().map(|sample| value(sample)).collect();
    (mean(&values), variation(&values))
}
