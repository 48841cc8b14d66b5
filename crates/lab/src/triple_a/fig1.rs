//! Figure 1: eighty drives, and more and more regions of them that are hot.

use super::common::{
    Case, DIVISOR, LATE, Load, Look, Measure, Results, SEEDS, Who, latency, link, ratio, scaled, storage, with_cause,
};
use crate::chart::{Axis, Chart, Line, Panel, Scheme};
use crate::experiment::{About, Experiment, Findings, Scale, Trial, Trialled};

/// See the module's text.
pub struct Fig1;

const NOTE: &str = "Eighty flash modules stand for the drives, on twenty buses below four switches. A hot region is the four modules of a bus, and gets a tenth \
    of a thousand random reads at a time; nine is the most that there can be. How many regions the text's factors are of, it does not say: the most, here. \
    The factor of a wait is what latency would be, by latency without hot regions, had only this wait grown.";

/// Hot regions.
const HOT: [u32; 3] = [0, 5, 9];

fn case(hot: u32) -> Case {
    Case::new(Who::Stays, Load::Reads(hot), LATE).on(4, 5)
}

/// By how much the growth of a wait alone makes latency longer.
fn factor(look: &Look, hot: u32, wait: Measure) -> f64 {
    let (quiet, busy) = (look(&case(0)), look(&case(hot)));
    1.0 + ratio(wait(busy) - wait(quiet), latency(quiet))
}

impl Experiment for Fig1 {
    fn about(&self) -> About {
        About {
            id: "triple-a/fig1",
            title: "Eighty drives while more and more regions of them are hot",
            published: "Figure 1 and its caption: 80 SSDs; as the number of hot regions grows, link contention degrades performance by 2.4 times and storage \
                        contention by 6.5.",
            divisor: DIVISOR,
            seeds: SEEDS,
        }
    }

    fn scale(&self, asked: Scale) -> Scale {
        scaled(asked)
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        with_cause(&HOT.map(case), scale)
    }

    fn findings(&self, _: Scale, trials: &[Trialled]) -> Findings {
        let results = Results(trials);
        let measures =
            [("link contention", link as Measure, Scheme::Swan), ("storage contention", storage, Scheme::LogRaid)];
        let panel = |slowly: bool| {
            let look = |case: &Case| results.of(&if slowly { case.one_at_a_time() } else { *case });
            let line = |(name, wait, scheme)| {
                Line::new(name, scheme, HOT.map(|hot| (f64::from(hot), factor(&look, hot, wait))).into())
            };
            let how = if slowly { "one command at a time" } else { "as it is" };
            let (x, y) = (Axis::linear("hot regions"), Axis::linear("factor of latency"));
            Panel::lines(x, y, measures.map(line).into()).titled(how)
        };
        let panels = vec![panel(false), panel(true)];
        let chart = Chart::grid("regions", self.about().title, 2, (420.0, 220.0), panels);
        let mut found = Findings::new(vec![chart], vec![NOTE.into()]);
        for (name, wait, _) in measures {
            results.line(&mut found, ("factor", name), &[case(0), case(9)], |look| factor(look, 9, wait));
        }
        for hot in HOT {
            found.number(format!("{hot} hot regions: latency"), "us", latency(results.of(&case(hot))));
        }
        found
    }
}
