//! Figure 11: how latencies are distributed.

use super::common::{
    Case, DIVISOR, Load, Look, Results, SEEDS, SYNTHESISED, WORKLOADS, Who, Workload, both, effect, latency, scaled,
    with_cause,
};
use super::fig9::cases;
use crate::chart::{Axis, Chart, Line, Panel};
use crate::experiment::{About, Experiment, Findings, Scale, Trial, Trialled};
use crate::outcome::Outcome;
use crate::series::{NOTHING, mean};

/// See the module's text.
pub struct Fig11;

/// The workloads of the figure that the text names.
const NAMED: [&str; 4] = ["msnfs", "proj", "websql", "g-eigen"];

/// Why more workloads are drawn than the figure has.
const OTHERS: &str = "The figure has six workloads, and the text names four of them. The other two are among the nine others of Table 1, so all \
    nine are drawn in a second chart and none of them is judged.";

/// The other workloads, of which the figure has two.
fn others() -> impl Iterator<Item = &'static str> {
    WORKLOADS.iter().map(|workload| workload.name).filter(|name| !NAMED.contains(name))
}

impl Experiment for Fig11 {
    fn about(&self) -> About {
        About {
            id: "triple-a/fig11",
            title: "Distribution of latencies with data that moves out of the way and without",
            published: "Figure 11 and section 6.3: the long tail is much shorter; msnfs gains little although it has four hot clusters, proj much.",
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
        let panel = |name: &str, slowly: bool| {
            let line = |case: Case| {
                let case = if slowly { case.one_at_a_time() } else { case };
                let name = if case.who == Who::Moves { "Triple-A" } else { "non-autonomic" };
                Line::new(name, case.who.scheme(), distribution(results.of(&case)))
            };
            let lines = both(load(name)).map(line).into();
            let title = format!("{name}{}", if slowly { ", one command at a time" } else { "" });
            Panel::lines(Axis::logarithmic("latency (us)"), Axis::linear("% of requests"), lines).titled(title)
        };
        let chart = |id: &str, title: &str, names: &mut dyn Iterator<Item = &str>| {
            let panels = names.flat_map(|name| [panel(name, false), panel(name, true)]).collect();
            Chart::grid(id, title, 2, (420.0, 200.0), panels)
        };
        let title = self.about().title;
        let charts = vec![
            chart("latencies", title, &mut NAMED.into_iter()),
            chart("latencies-of-others", &format!("{title}: the other workloads"), &mut others()),
        ];
        let mut found = Findings::new(charts, vec![SYNTHESISED.into(), OTHERS.into()]);
        for (panel, name) in [("msnfs gains less", "msnfs"), ("proj gains more", "proj")] {
            let line = (panel, "its latency ratio / mean of the other hot ones");
            results.line(&mut found, line, &cases(), |look| beside_others(look, name));
        }
        for name in NAMED {
            let series = format!("{name}, 99 %");
            let tail = |look: &Look| effect(look, load(name), |outcome| percentile(outcome, 99.0));
            results.line(&mut found, ("long tail", &series), &both(load(name)), tail);
        }
        for name in others() {
            let tail = effect(&|case| results.of(case), load(name), |outcome| percentile(outcome, 99.0));
            found.number(format!("long tail, {name}, 99 %: with / without"), "", tail);
        }
        found
    }
}

fn load(name: &str) -> Load {
    Load::Table(Workload::called(name))
}

/// The effect on one workload by the mean effect on the others that have hot clusters.
fn beside_others(look: &Look, name: &str) -> f64 {
    let others = WORKLOADS.into_iter().filter(|workload| workload.is_hot && workload.name != name);
    let others: Vec<f64> = others.map(|workload| effect(look, Load::Table(workload), latency)).collect();
    effect(look, load(name), latency) / mean(others)
}

/// Percent of all requests, reads and writes, that took at most so many microseconds.
fn distribution(outcome: &Outcome) -> Vec<(f64, f64)> {
    let mut buckets: Vec<(u64, u64)> =
        outcome.latency.iter().flat_map(|row| row.buckets.iter().map(|&(bound, count)| (bound.0, count))).collect();
    buckets.sort_unstable();
    let mut seen = 0;
    let all = outcome.requests as f64;
    let point = |(bound, count): (u64, u64)| {
        seen += count;
        // What is answered from memory takes no time, which no logarithm has.
        ((bound as f64 / 1e3).max(1.0), seen as f64 * 100.0 / all)
    };
    buckets.into_iter().map(point).collect()
}

/// In microseconds.
fn percentile(outcome: &Outcome, percent: f64) -> f64 {
    distribution(outcome).into_iter().find(|point| point.1 >= percent).map_or(NOTHING, |point| point.0)
}
