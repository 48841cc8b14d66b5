//! Figure 6: how long operations of Swift's object server take on a shingled disk as it is and below SALSA.

use super::common::{RAW, SALSA, SEEDS};
use super::objects::{self, JUDGED, NOTES, OPERATIONS, Served, Setup};
use crate::chart::{Axis, Chart, Line, Mark, Panel};
use crate::experiment::{About, Experiment, Findings, Scale, Trial, Trialled};
use crate::outcome::OperationRow;
use crate::series::NOTHING;
use cygnus_types::Nanos;

/// See the module's text.
pub struct Fig6;

/// Published medians in ms of small and of large objects: as it is, and below SALSA.
const PUBLISHED: [[[f64; 2]; 3]; 2] =
    [[[109.0, 30.8], [276.0, 36.8], [9.5, 9.5]], [[6500.0, 3300.0], [16_100.0, 3500.0], [84.8, 111.1]]];

impl Experiment for Fig6 {
    fn about(&self) -> About {
        About {
            id: "salsa/fig6",
            title: "An object server on a shingled disk as it is and below SALSA: latency",
            published: "Figure 6 and section 5.3: the runs of Figure 5. Medians as it is and below SALSA: 128 KiB PUT 109 and 30.8 ms, UPDATE 276 and 36.8 ms, GET 9.5 ms \
                        both; 10 MiB PUT 6.5 and 3.3 s, UPDATE 16.1 and 3.5 s, GET 84.8 and 111.1 ms, with a wider spread as it is.",
            divisor: objects::DIVISOR,
            seeds: SEEDS,
        }
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        objects::trials(scale)
    }

    fn findings(&self, _: Scale, trials: &[Trialled]) -> Findings {
        let sizes = Served::of(trials);
        let mut found = Findings::new(vec![chart(self.about().title, &sizes)], NOTES.map(str::to_owned).into());
        for served in &sizes {
            served.judge(&mut found, median);
            tell(&mut found, served);
        }
        let ratio = |served: &Served, operation, of: fn(&OperationRow) -> f64| {
            let latency = |setup| served.operations(setup, operation).map_or(NOTHING, of);
            latency(Setup::Log) / latency(Setup::Raw)
        };
        let [small, large] = &sizes;
        for (name, operation) in &OPERATIONS[..2] {
            for served in &sizes {
                let series = format!("{name}, {}: SALSA / raw", served.size.name);
                found.published("SALSA stores and updates sooner", series, ratio(served, operation, median));
            }
        }
        found.published("GET of 128 KiB is similar", "SALSA / raw", ratio(small, "get", median));
        found.published("GET of 10 MiB takes longer with SALSA", "SALSA / raw", ratio(large, "get", median));
        let spread = ratio(large, "get", |row| ms(row.p75_ns - row.p25_ns));
        found.published("GET of 10 MiB is spread wider without SALSA", "between quartiles: SALSA / raw", spread);
        found
    }
}

fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

fn median(row: &OperationRow) -> f64 {
    ms(row.p50_ns)
}

/// Nanoseconds of some operations.
type Latency = fn(&OperationRow) -> u64;

/// What is told beside the medians: the ends of the figure's boxes, and the mean.
const BESIDE: [(&str, Latency); 3] =
    [("first quartile", |row| row.p25_ns), ("third quartile", |row| row.p75_ns), ("mean", |row| row.mean_ns)];

fn tell(found: &mut Findings, served: &Served) {
    for setup in JUDGED {
        for (name, operation) in OPERATIONS {
            for (kind, latency) in BESIDE {
                let ours = served.operations(setup, operation).map_or(NOTHING, |row| ms(latency(row)));
                found.number(format!("{}: {name}, {kind}", served.trial(setup).trial.name), "ms", ours);
            }
        }
    }
}

fn chart(title: &str, sizes: &[Served; 2]) -> Chart {
    let panel = |n: usize, at: usize| {
        let (served, (name, operation)) = (&sizes[n], OPERATIONS[at]);
        let line = |name, scheme, setup| {
            Line::new(name, scheme, served.operations(setup, operation).map_or(Vec::new(), shares))
        };
        let lines = vec![line("raw", RAW, Setup::Raw), line("SALSA", SALSA, Setup::Log)];
        let [raw, log] = PUBLISHED[n][at];
        let y = Axis::linear("% of operations").between(0.0, 100.0);
        Panel::lines(Axis::logarithmic("ms"), y, lines)
            .titled(format!("{name}, {} (published: {raw}, {log} ms)", served.size.name))
            .marked([raw, log].map(|at| Mark::Moment { at, label: String::new() }).into())
    };
    let panels = (0..sizes.len()).flat_map(|n| (0..OPERATIONS.len()).map(move |at| (n, at)));
    Chart::grid("latency", title, 3, (260.0, 200.0), panels.map(|(n, at)| panel(n, at)).collect())
}

/// The percentage of operations that took at most so many ms.
fn shares(row: &OperationRow) -> Vec<(f64, f64)> {
    let mut seen = 0;
    let share = |&(bound, count): &(Nanos, u64)| {
        seen += count;
        (bound.0 as f64 / 1e6, seen as f64 * 100.0 / row.count as f64)
    };
    row.buckets.iter().map(share).collect()
}
