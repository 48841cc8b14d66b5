//! Figure 10: waiting for links and for modules, with moves and without.

use super::common::{DIVISOR, Look, Measure, Results, SEEDS, SYNTHESISED, link, scaled, storage, with_cause};
use super::fig9::{bars, cases, effects};
use crate::chart::Chart;
use crate::experiment::{About, Experiment, Findings, Scale, Trial, Trialled};
use crate::outcome::Outcome;
use crate::series::mean;

/// See the module's text.
pub struct Fig10;

const NOTE: &str = "Waits are means over all requests to modules, the log's own whole stripes and the moved blocks among them. Queue stall is all waiting, \
    since in Table 2 it is the sum of the other two. Where nothing waits with either array the ratio is 1.";

/// All waiting.
fn stall(outcome: &Outcome) -> f64 {
    link(outcome) + storage(outcome)
}

const MEASURES: [(&str, Measure); 3] =
    [("link contention", link), ("storage contention", storage), ("queue stall", stall)];

impl Experiment for Fig10 {
    fn about(&self) -> About {
        About {
            id: "triple-a/fig10",
            title: "Waiting for links, for modules, and in all, with data that moves out of the way by that without",
            published: "Figure 10 and section 6.2: most of the link contention is gone, storage contention is 15 % less, queue stall 85 %.",
            divisor: DIVISOR,
            seeds: SEEDS,
        }
    }

    fn scale(&self, asked: Scale) -> Scale {
        scaled(asked)
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        with_cause(&cases(), scale)
    }

    fn findings(&self, _: Scale, trials: &[Trialled]) -> Findings {
        let results = Results(trials);
        let judged: &Look = &|case| results.of(case);
        let panels = MEASURES.map(|(title, of)| bars(title, effects(judged, of))).into();
        let chart = Chart::grid("contention", self.about().title, 1, (900.0, 220.0), panels);
        let mut found = Findings::new(vec![chart], vec![SYNTHESISED.into(), NOTE.into()]);
        for (panel, of) in MEASURES {
            results.line(&mut found, (panel, "mean of all"), &cases(), |look| mean(effects(look, of)));
        }
        found
    }
}
