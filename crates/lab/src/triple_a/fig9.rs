//! Figure 9: latency and IOPS with moves, by those without.

use super::common::{
    Case, DIVISOR, Load, Look, Measure, Results, SEEDS, SYNTHESISED, WORKLOADS, Who, Workload, both, effect, kiops,
    latency, scaled, wear, with_cause,
};
use crate::chart::{Axis, Bars, Chart, Heat, Mark, Panel};
use crate::experiment::{About, Experiment, Findings, Scale, Trial, Trialled};
use crate::outcome::Outcome;
use crate::outcome::ratio;
use crate::series::{mean, most};

/// See the module's text.
pub struct Fig9;

const NOTES: [&str; 2] = [
    "Means over workloads are arithmetic means of ratios. Measured from the 110th to the 150th millisecond. Budget: that of the paper's 16 TB.",
    "Data moves below its own switch, as in the paper, so that websql's hot clusters, all below one, have less room than others.",
];

/// The cases that Figures 9 to 11 look at.
pub fn cases() -> Vec<Case> {
    WORKLOADS.into_iter().flat_map(|workload| both(Load::Table(workload))).collect()
}

/// A measure with moves by the same without, of each workload.
pub fn effects(look: &Look, of: Measure) -> Vec<f64> {
    WORKLOADS.into_iter().map(|workload| effect(look, Load::Table(workload), of)).collect()
}

/// Such ratios as bars.
pub fn bars(title: &str, ratios: Vec<f64>) -> Panel {
    let names = WORKLOADS.iter().map(|workload| workload.name.into()).collect();
    let bars = vec![Bars::new("with moves / without", Who::Moves.scheme(), ratios)];
    let one = Mark::Level { at: 1.0, label: "no effect".into() };
    Panel::bars(Axis::linear("ratio"), names, bars).titled(title).marked(vec![one])
}

impl Experiment for Fig9 {
    fn about(&self) -> About {
        About {
            id: "triple-a/fig9",
            title: "Latency and IOPS with data that moves out of the way, by those without",
            published: "Figure 9 and section 6.1: latency is 5 times shorter on average and IOPS about doubles; g-eigen gains most (98 % shorter, 7.8 \
                        times), cfs and web, which have no hot clusters, nothing.",
            divisor: DIVISOR,
            seeds: SEEDS,
        }
    }

    fn contradiction(&self) -> Option<&'static str> {
        Some("The abstract and the conclusion have 53 % higher throughput, section 6.1 has about 2 times.")
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
        let panels = [("latency", latency as Measure), ("IOPS", kiops)];
        let panels = panels.map(|(title, of)| bars(title, effects(judged, of))).into();
        let chart = Chart::grid("effect", self.about().title, 1, (900.0, 220.0), panels);
        let notes = [SYNTHESISED, NOTES[0], NOTES[1]].map(str::to_owned).into();
        let mut found = Findings::new(vec![chart, load(&results)], notes);
        let all = cases();
        results.line(&mut found, ("latency", "mean of all"), &all, |look| mean(effects(look, latency)));
        for panel in ["IOPS", "abstract"] {
            let series = if panel == "IOPS" { "mean of all" } else { "throughput" };
            results.line(&mut found, (panel, series), &all, |look| mean(effects(look, kiops)));
        }
        let one = |name| Load::Table(Workload::called(name));
        for (line, name, of) in [
            (("g-eigen", "latency"), "g-eigen", latency as Measure),
            (("g-eigen", "IOPS"), "g-eigen", kiops),
            (("websql", "IOPS"), "websql", kiops),
            (("no hot clusters", "cfs, latency"), "cfs", latency),
            (("no hot clusters", "cfs, IOPS"), "cfs", kiops),
            (("no hot clusters", "web, latency"), "web", latency),
            (("no hot clusters", "web, IOPS"), "web", kiops),
        ] {
            results.line(&mut found, line, &both(one(name)), |look| effect(look, one(name), of));
        }
        // Of clients that only read, and of arrays that move nothing, there is no such number.
        let extra = |look: &Look| most(all.iter().map(|case| extra_writes(look(case))).filter(|moved| !moved.is_nan()));
        results.line(&mut found, ("extra writes", "worst of all"), &all, extra);
        for workload in WORKLOADS {
            let [stays, moves] = both(Load::Table(workload));
            for (case, how) in [(stays, ""), (moves, ", moves")] {
                found.number(format!("{}{how}: latency", workload.name), "us", latency(judged(&case)));
                let slowly = results.of(&case.one_at_a_time());
                found.number(format!("{}{how}: latency, one command at a time", workload.name), "us", latency(slowly));
                found.number(format!("{}{how}: most written module / mean", workload.name), "", wear(judged(&case)));
            }
            found.number(format!("{}: blocks moved / written", workload.name), "", extra_writes(judged(&moves)));
            let slowly = extra_writes(results.of(&moves.one_at_a_time()));
            found.number(format!("{}: blocks moved / written, one command at a time", workload.name), "", slowly);
        }
        found
    }
}

/// The workload whose clusters are drawn.
const DRAWN: &str = "prn";

/// How much each cluster was asked for, without moves and with them, as it is and with one command at a time.
fn load(results: &Results) -> Chart {
    let cases = both(Load::Table(Workload::called(DRAWN)));
    let panel = |case: Case| {
        let how = if case.who == Who::Moves { "with moves" } else { "without" };
        let slowly = if case.interleave { "" } else { ", one command at a time" };
        let heat = shares(results.of(&case));
        let switches = Axis::linear("switch");
        Panel::heat(Axis::linear("cluster"), switches, heat).titled(format!("{DRAWN}, {how}{slowly}"))
    };
    let panels = cases.into_iter().chain(cases.map(|case| case.one_at_a_time())).map(panel).collect();
    let title = "Requests to each cluster, as a multiple of an even share (steps at 0.5, 1.5, 3, 6, 12)";
    Chart::grid("load", title, 2, (560.0, 140.0), panels)
}

fn shares(outcome: &Outcome) -> Heat {
    let (switches, each) = (4, 16);
    let all: u64 = outcome.clusters.iter().map(|row| row.requests).sum();
    let even = (all as f64 / outcome.clusters.len() as f64).max(1.0);
    Heat {
        columns: (0..each).map(|n: usize| n.to_string()).collect(),
        rows: (0..switches).map(|n: usize| n.to_string()).collect(),
        values: outcome.clusters.iter().map(|row| row.requests as f64 / even).collect(),
        steps: vec![0.5, 1.5, 3.0, 6.0, 12.0],
    }
}

/// Blocks moved for each that clients wrote; nothing where they only read.
fn extra_writes(outcome: &Outcome) -> f64 {
    ratio(outcome.rehomed_milli)
}
