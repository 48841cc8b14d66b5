//! Table 4: reads of YCSB-A by what the group that served them was doing.

use cygnus_workload::kv::Activity;

use super::common::{TURNS, one_group_at_a_time, turn};
use super::ycsb::{MODELLED, SWAN, trials};
use crate::chart::{Axis, Bars, Chart, Panel, Scheme};
use crate::experiment::{About, Experiment, Findings, Scale, Trial, Trialled};
use crate::outcome::{Outcome, RoleRow};
use crate::series::NOTHING;

/// See the module's text.
pub struct Table4;

/// Role, as the paper calls it, with its reads in millions and their mean latency in microseconds.
const PUBLISHED: [(&str, &str, f64, f64); 3] = [
    ("front-end", "front-end", 20.3, 98.0),
    ("back-end", "idle back-end", 25.9, 88.0),
    ("cleaning", "back-end being cleaned", 3.93, 103.0),
];

/// Of a group of 2+1.
const DATA_DRIVES: u64 = 2;

const NOTE: &str = "The paper's reads in millions are of a run of its size: their shares are what compares. Lookups only; merges read \
    too. A read counts for what its group was doing when it was issued. There is no page cache here, which in the paper's server \
    answers many reads of what was just written, so the front-end gets more of them.";

impl Experiment for Table4 {
    fn about(&self) -> About {
        About {
            id: "swan/table4",
            title: "Reads of YCSB-A by what the group that has the data is doing",
            published: "Table 4 and section 5.3: of 50 million reads 40 % go to the front-end (98 us), 52 % to idle back-ends \
                        (88 us) and 8 % to the group being cleaned (103 us).",
            divisor: 128.0,
            seeds: 6,
        }
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        trials(scale, "a").iter().skip(SWAN).map(one_group_at_a_time).collect()
    }

    fn findings(&self, scale: Scale, trials: &[Trialled]) -> Findings {
        let [swan] = trials else { unreachable!("as many as were set up") };
        let all: f64 = PUBLISHED.iter().map(|(role, ..)| count(swan.outcome, role)).sum();
        let all_published: f64 = PUBLISHED.iter().map(|(_, _, reads, _)| reads).sum();
        let share = |role: &str| 100.0 * count(swan.outcome, role) / all;
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
        let chart = Chart::grid("reads", self.about().title, 2, (400.0, 220.0), panels);
        let mut found = Findings::new(vec![chart], vec![MODELLED.into(), TURNS.into(), NOTE.into()]);
        for (role, name, ..) in PUBLISHED {
            found.published(name, "share of reads", share(role));
            found.published(name, "mean latency", latency(role));
        }
        let ratio = |more: usize, less: usize| {
            let series = format!("mean latency: {} / {}", PUBLISHED[more].1, PUBLISHED[less].1);
            (series, latency(PUBLISHED[more].0) / latency(PUBLISHED[less].0))
        };
        for (series, ours) in [ratio(0, 1), ratio(2, 1), ratio(2, 0)] {
            found.published("order", series, ours);
        }
        turn(scale, swan.outcome, DATA_DRIVES, &mut found);
        found
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
    row(outcome, role).map_or(NOTHING, |row| row.mean_ns as f64 / 1e3)
}
