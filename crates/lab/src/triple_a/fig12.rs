//! Figure 12: more and more hot clusters.

use super::common::{
    Case, DIVISOR, Load, Look, Measure, Results, SEEDS, Who, both, effect, kiops, latency, scaled, wear, with_cause,
};
use crate::chart::{Axis, Chart, Line, Panel};
use crate::experiment::{About, Experiment, Findings, Scale, Trial, Trialled};

/// See the module's text.
pub struct Fig12;

/// Hot clusters.
const HOT: [u32; 3] = [1, 4, 8];

/// What all experiments with reads alone say.
pub const READS: &str = "Random reads of 4 KiB, a thousand at a time, a tenth of them in each hot cluster (the share by which Figure 1's caption \
    calls a region hot); how many requests and which share the micro-benchmark has, the paper does not say. Hot clusters are the first ones, all below one \
    switch.";

fn cases() -> Vec<Case> {
    HOT.into_iter().flat_map(|hot| both(Load::Reads(hot))).collect()
}

impl Experiment for Fig12 {
    fn about(&self) -> About {
        About {
            id: "triple-a/fig12",
            title: "Reads while more and more clusters are hot",
            published: "Figure 12 and section 6.4: without moves, latency worsens with the number of hot clusters; with them it is stable, and IOPS better.",
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
        let panel = |title: &str, of: Measure, slowly: bool| {
            let line = |who: Who, name: &str| {
                let point = |hot: u32| {
                    let [stays, moves] = both(Load::Reads(hot));
                    let case = if who == Who::Moves { moves } else { stays };
                    (f64::from(hot), of(results.of(&if slowly { case.one_at_a_time() } else { case })))
                };
                Line::new(name, who.scheme(), HOT.map(point).into())
            };
            let lines = vec![line(Who::Stays, "non-autonomic"), line(Who::Moves, "Triple-A")];
            let how = if slowly { "one command at a time" } else { "as it is" };
            Panel::lines(Axis::linear("hot clusters"), Axis::linear(title), lines).titled(how)
        };
        let panels = [false, true]
            .into_iter()
            .flat_map(|slowly| [panel("latency (us)", latency, slowly), panel("thousands a second", kiops, slowly)])
            .collect();
        let chart = Chart::grid("hot-clusters", self.about().title, 2, (420.0, 220.0), panels);
        let mut found = Findings::new(vec![chart], vec![READS.into()]);
        let ends = |n: usize| [1, 8].map(|hot| both(Load::Reads(hot))[n]);
        for (panel, n) in [("without", 0), ("with", 1)] {
            let [one, eight] = ends(n);
            let rise = |look: &Look| latency(look(&eight)) / latency(look(&one));
            results.line(&mut found, (panel, "latency, 8 hot / 1 hot"), &[one, eight], rise);
        }
        let line = ("with", "IOPS, 8 hot: with / without");
        results.line(&mut found, line, &both(Load::Reads(8)), |look| effect(look, Load::Reads(8), kiops));
        for hot in [1, 8] {
            let [_, moves] = both(Load::Reads(hot));
            found.number(format!("{hot} hot, moves: most written module / mean"), "", wear(results.of(&moves)));
        }
        found
    }
}
