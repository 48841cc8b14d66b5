//! Figures 13 to 15: larger and larger networks.

use super::common::{
    Case, DIVISOR, Load, Look, Measure, Results, SEEDS, Wait, Who, both, kiops, latency, link, ratio, scaled, storage,
    wait, with_cause,
};
use super::fig12::READS;
use crate::chart::{Axis, Chart, Line, Panel};
use crate::experiment::{About, Experiment, Findings, Scale, Trial, Trialled};
use crate::outcome::Outcome;

/// Figure 13: latency and IOPS.
pub struct Fig13;
/// Figure 14: waiting for links and for modules.
pub struct Fig14;
/// Figure 15: where requests wait.
pub struct Fig15;

/// Clusters below each of four switches.
const EACH: [u32; 3] = [8, 12, 16];
const HOT: u32 = 4;

/// Why the paper's largest one is missing.
const LARGEST: &str = "4x16 is the largest network here: an array has at most 64 groups, and each cluster is one, so 4x20 cannot be built.";

/// Without and with moves, on a network of that size.
fn on(each: u32) -> [Case; 2] {
    both(Load::Reads(HOT)).map(|case| case.on(4, each))
}

fn trials(scale: Scale) -> Vec<Trial> {
    with_cause(&EACH.map(on).concat(), scale)
}

/// Something with moves by the same without, on a network of that size.
fn gain(look: &Look, each: u32, of: Measure) -> f64 {
    let [stays, moves] = on(each);
    ratio(of(look(&moves)), of(look(&stays)))
}

/// How that changes from the smallest network to the largest.
fn trend(look: &Look, of: Measure) -> f64 {
    ratio(gain(look, 16, of), gain(look, 8, of))
}

fn ends() -> Vec<Case> {
    [on(8), on(16)].concat()
}

/// A curve over all sizes for each measure, of one array or of a ratio.
fn panel(title: &str, y: &str, lines: Vec<(&str, Who, [f64; 3])>) -> Panel {
    let line = |(name, who, values): (&str, Who, [f64; 3])| {
        Line::new(name, who.scheme(), EACH.iter().map(|&each| f64::from(each)).zip(values).collect())
    };
    let x = Axis::linear("clusters of each of four switches");
    Panel::lines(x, Axis::linear(y), lines.into_iter().map(line).collect()).titled(title)
}

/// Ratios of two measures, as it is and with one command at a time.
fn ratios(id: &str, title: &str, results: &Results, measures: [(&str, Measure); 2]) -> Chart {
    let one = |(name, of): (&str, Measure)| {
        let judged = EACH.map(|each| gain(&|case| results.of(case), each, of));
        let slowly = EACH.map(|each| gain(&|case| results.of(&case.one_at_a_time()), each, of));
        panel(
            name,
            "with moves / without",
            vec![("as it is", Who::Moves, judged), ("one command at a time", Who::InPlace, slowly)],
        )
    };
    Chart::grid(id, title, 2, (420.0, 220.0), measures.map(one).into())
}

impl Experiment for Fig13 {
    fn about(&self) -> About {
        About {
            id: "triple-a/fig13",
            title: "Latency and IOPS of reads with data that moves out of the way, on larger and larger networks",
            published: "Figure 13 and section 6.4: the larger the network, 4x8 to 4x20 clusters, the more is gained.",
            divisor: DIVISOR,
            seeds: SEEDS,
        }
    }

    fn scale(&self, asked: Scale) -> Scale {
        scaled(asked)
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        trials(scale)
    }

    fn findings(&self, _: Scale, trials: &[Trialled]) -> Findings {
        let results = Results(trials);
        let chart = ratios("network", self.about().title, &results, [("latency", latency), ("IOPS", kiops)]);
        let mut found = Findings::new(vec![chart], vec![READS.into(), LARGEST.into()]);
        for (panel, of) in [("latency", latency as Measure), ("IOPS", kiops)] {
            results.line(&mut found, (panel, "with / without: 4x16 / 4x8"), &ends(), |look| trend(look, of));
            for each in EACH {
                found.number(
                    format!("{panel}, with / without, 4x{each}"),
                    "",
                    gain(&|case| results.of(case), each, of),
                );
            }
        }
        found
    }
}

impl Experiment for Fig14 {
    fn about(&self) -> About {
        About {
            id: "triple-a/fig14",
            title: "Waiting for links and for modules with data that moves out of the way, on larger and larger networks",
            published: "Figure 14 and section 6.4: link contention is almost completely eliminated, storage contention steadily reduced as the network grows.",
            divisor: DIVISOR,
            seeds: SEEDS,
        }
    }

    fn scale(&self, asked: Scale) -> Scale {
        scaled(asked)
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        trials(scale)
    }

    fn findings(&self, _: Scale, trials: &[Trialled]) -> Findings {
        let results = Results(trials);
        let measures = [("link contention", link as Measure), ("storage contention", storage)];
        let mut found = Findings::new(
            vec![ratios("contention", self.about().title, &results, measures)],
            vec![READS.into(), LARGEST.into()],
        );
        let largest = |look: &Look| gain(look, 16, link);
        results.line(&mut found, ("link contention", "with / without, 4x16"), &on(16), largest);
        let line = ("storage contention", "with / without: 4x16 / 4x8");
        results.line(&mut found, line, &ends(), |look| trend(look, storage));
        found
    }
}

/// Where requests wait.
const PLACES: [(&str, Wait); 4] = [
    ("root complex", |row| row.root_ns),
    ("switch", |row| row.switch_ns),
    ("endpoint", |row| row.endpoint_ns),
    ("module", |row| row.module_ns),
];

/// In the three queues: root complex, switches, endpoints.
fn queues(outcome: &Outcome) -> f64 {
    PLACES[..3].iter().map(|(_, of)| wait(outcome, *of)).sum()
}

impl Experiment for Fig15 {
    fn about(&self) -> About {
        About {
            id: "triple-a/fig15",
            title: "Where reads wait, on larger and larger networks",
            published: "Figure 15 and section 6.4: stalls in all three queues fall as the network grows; those of switches and root complex are gone beyond \
                        a size of 20.",
            divisor: DIVISOR,
            seeds: SEEDS,
        }
    }

    fn scale(&self, asked: Scale) -> Scale {
        scaled(asked)
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        trials(scale)
    }

    fn findings(&self, _: Scale, trials: &[Trialled]) -> Findings {
        let results = Results(trials);
        let one = |(name, of): (&str, Wait)| {
            let line = |n: usize| EACH.map(|each| wait(results.of(&on(each)[n]), of));
            panel(name, "us", vec![("non-autonomic", Who::Stays, line(0)), ("Triple-A", Who::Moves, line(1))])
        };
        let chart = Chart::grid("stalls", self.about().title, 2, (420.0, 200.0), PLACES.map(one).into());
        let mut found = Findings::new(vec![chart], vec![READS.into(), LARGEST.into()]);
        let [_, largest] = on(16);
        let [_, smallest] = on(8);
        let fall = |look: &Look| ratio(queues(look(&largest)), queues(look(&smallest)));
        results.line(&mut found, ("stalls fall with size", "all, 4x16 / 4x8"), &[smallest, largest], fall);
        found
    }
}
