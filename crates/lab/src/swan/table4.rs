//! Table 4: reads of YCSB-A by what the group that served them was doing.

use cygnus_workload::kv::Activity;

use super::ycsb::{MODELLED, SWAN, WIDE_NOTE, trials, unless_narrow};
use crate::chart::{Axis, Bars, Chart, Panel, Scheme};
use crate::experiment::{About, Bound, Check, Experiment, Findings, Number, Published, Scale, Trial, Trialled};
use crate::outcome::{Outcome, RoleRow};

/// See the module's text.
pub struct Table4;

/// Role, as the paper calls it, with its reads in millions and their mean latency in microseconds.
const PUBLISHED: [(&str, &str, f64, f64); 3] = [
    ("front-end", "front-end", 20.3, 98.0),
    ("back-end", "idle back-end", 25.9, 88.0),
    ("cleaning", "back-end being cleaned", 3.93, 103.0),
];

/// Why reads of the front-end wait longer than in the paper.
const WRITES_OF_ALL: &str = "The front-end's three drives take everything that is written, and reads wait for that. With nine \
    drives in the front-end each takes a third of it, and what reads wait there beyond those of idle groups is no more than \
    a third.";

impl Experiment for Table4 {
    fn about(&self) -> About {
        About {
            id: "swan/table4",
            title: "Reads of YCSB-A by what the group that has the data is doing",
            published: "Table 4 and section 5.3: of 50 million reads 40 % go to the front-end (98 us), 52 % to idle back-ends \
                        (88 us) and 8 % to the group being cleaned (103 us).",
            divisor: 128.0,
        }
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        trials(scale, "a").into_iter().skip(SWAN).collect()
    }

    fn findings(&self, _: Scale, trials: &[Trialled]) -> Findings {
        let [swan, wide] = trials else { unreachable!("as many as were set up") };
        let all: f64 = PUBLISHED.iter().map(|(role, ..)| count(swan.outcome, role)).sum();
        let all_published: f64 = PUBLISHED.iter().map(|(_, _, reads, _)| reads).sum();
        let share = |role: &str| 100.0 * count(swan.outcome, role) / all.max(1.0);
        let bars = |value: &dyn Fn(&str) -> f64, published: [f64; 3]| {
            vec![
                Bars::new("SWAN 3R-3SSD", Scheme::Swan, PUBLISHED.iter().map(|(role, ..)| value(role)).collect()),
                Bars::new("published", Scheme::Paper, published.into()),
            ]
        };
        let groups = || PUBLISHED.iter().map(|(_, name, ..)| (*name).into()).collect();
        let shares = PUBLISHED.map(|(_, _, reads, _)| 100.0 * reads / all_published);
        let latency = |role: &str| mean(swan.outcome, role);
        let panels = vec![
            Panel::bars(Axis::linear("lookups (%)"), groups(), bars(&share, shares)),
            Panel::bars(Axis::linear("mean latency (us)"), groups(), bars(&latency, PUBLISHED.map(|row| row.3))),
        ];
        let cleaned = |front_end: &str| format!("mean latency{front_end}: group being cleaned / idle back-ends");
        let excess = |trialled: &Trialled| over_idle(trialled.outcome, "front-end") - 1.0;
        let mut numbers = Vec::new();
        for ((role, name, _, us), percent) in PUBLISHED.into_iter().zip(shares) {
            numbers.push(Number::beside(
                format!("{name}: share of reads"),
                "%",
                Published::About(percent.round()),
                share(role),
            ));
            numbers.push(Number::beside(format!("{name}: mean latency"), "us", Published::About(us), latency(role)));
        }
        Findings {
            charts: vec![Chart::grid("reads", self.about().title, 2, (400.0, 220.0), panels)],
            numbers,
            checks: vec![
                Check::new(
                    "mean latency: front-end / idle back-ends",
                    Bound::AtLeast(1.0),
                    over_idle(swan.outcome, "front-end"),
                ),
                Check::new(
                    "mean latency: front-end / idle back-ends, no worse than",
                    Bound::AtMost(1.5),
                    over_idle(swan.outcome, "front-end"),
                )
                .or_because(
                    WRITES_OF_ALL,
                    Check::new(
                        "what reads of the front-end wait beyond idle ones: nine drives in the front-end / three",
                        Bound::AtMost(1.0 / 3.0),
                        excess(wide) / excess(swan).max(1e-9),
                    ),
                ),
                unless_narrow(
                    cleaned,
                    [swan, wide],
                    |trialled| over_idle(trialled.outcome, "cleaning"),
                    Bound::Between(1.0, 1.5),
                    Bound::AtMost(1.5),
                ),
                Check::new("share of reads that meet cleaning, %", Bound::AtMost(20.0), share("cleaning")),
            ],
            notes: vec![
                MODELLED.into(),
                WIDE_NOTE.into(),
                "The paper's reads in millions are of a run of its size: their shares are what compares. Lookups only; merges read too. A read counts for what its group was doing when it was issued. There is no page \
                 cache here, which in the paper's server answers many reads of what was just written, so the front-end gets \
                 more of them."
                    .into(),
            ],
        }
    }
}

fn row<'a>(outcome: &'a Outcome, role: &str) -> Option<&'a RoleRow> {
    outcome.reads_of(role, Activity::Lookup as u16)
}

fn count(outcome: &Outcome, role: &str) -> f64 {
    row(outcome, role).map_or(0.0, |row| row.count as f64)
}

/// In microseconds.
fn mean(outcome: &Outcome, role: &str) -> f64 {
    row(outcome, role).map_or(0.0, |row| row.mean_ns as f64 / 1e3)
}

/// Mean latency in groups of a role by that in idle ones.
fn over_idle(outcome: &Outcome, role: &str) -> f64 {
    mean(outcome, role) / mean(outcome, "back-end").max(1e-9)
}
