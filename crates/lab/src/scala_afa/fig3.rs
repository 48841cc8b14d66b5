//! Figure 3: FusionRAID on five 980 PRO, while it copies and while it converts.

use super::common::{gigabytes, in_place, log, scenario, writes};
use super::profiles::FUSION_RAID;
use crate::Sample;
use crate::chart::{Axis, Chart, Line, Mark, Panel, Scheme};
use crate::experiment::{About, Experiment, Findings, Scale, Trial, Trialled};
use crate::series::{NOTHING, TIME, over_time, rate};

/// See the module's text.
pub struct Fig3;

const THREADS: [u32; 4] = [1, 2, 8, 12];
/// Milliseconds of each run, and of the one with conversion.
const MILLIS: u32 = 50;
const CONVERTING: u32 = 200;
const NOTES: [&str; 3] = [
    "The costs of FusionRAID's host were fitted to the figure's one and two threads (docs/decisions/043-scala-afa-in-the-lab.md): those two \
     rates are shown and not judged, the others are not fitted.",
    "Copying is RAID-10 in place, which takes an even number of drives: six. None of them is the limit.",
    "Converting is this array with copies and parity by the host, on the same core. It computes parity from memory and leaves data where \
     they are; FusionRAID reads all copies and writes data anew.",
];

impl Experiment for Fig3 {
    fn about(&self) -> About {
        About {
            id: "scala-afa/fig3",
            title: "FusionRAID on five 980 PRO: threads, and conversion by the host",
            published: "Figure 3 and section 3.1: 64 KiB sequential writes to 4+1 Samsung 980 PRO. Copying 4.8, 7.2 and 12.2 GB/s with \
                        1, 2 and 8 threads, less with more; once it converts 550 MB/s, and 5.9 ms instead of 0.4.",
            divisor: 16.0,
            seeds: 6,
        }
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        let devices = scale.devices("980-pro", 2732.0, 384);
        let copying = |threads: u32| {
            let load = writes("sequential", 64, 32 * threads, 1);
            let text = scenario(&devices, &in_place("raid10", 6), &load, &FUSION_RAID.cpu(threads), MILLIS);
            Trial::new(&format!("copying, {threads} threads"), Scheme::Raid0, text)
        };
        let load = writes("sequential", 64, 32, 1);
        let text = scenario(&devices, &log("fusion", 4, 1), &load, &FUSION_RAID.cpu(1), CONVERTING);
        let converting = Trial::new("converting, 1 thread", Scheme::LogRaid, text);
        THREADS.into_iter().map(copying).chain([converting]).collect()
    }

    fn findings(&self, scale: Scale, trials: &[Trialled]) -> Findings {
        let (copying, converting) = trials.split_at(THREADS.len());
        let points: Vec<_> = THREADS.iter().map(|&n| f64::from(n)).zip(copying.iter().map(gigabytes)).collect();
        let written = |sample: &Sample| rate(sample.writes[1], sample.span_ns) / 1e3;
        let over_time = over_time(scale, converting[0].outcome, written);
        let level = |at: f64, label: &str| Mark::Level { at, label: label.into() };
        let panels = vec![
            Panel::lines(
                Axis::linear("threads"),
                Axis::linear("GB/s"),
                vec![
                    Line::new("copying", Scheme::Raid0, points.clone()),
                    Line::new("published", Scheme::Paper, vec![(1.0, 4.8), (2.0, 7.2), (8.0, 12.2)]),
                ],
            ),
            Panel::lines(
                Axis::linear(TIME),
                Axis::linear("GB/s"),
                vec![Line::new("converting", Scheme::LogRaid, over_time)],
            )
            .marked(vec![level(4.8, "published, copying: 4.8"), level(0.55, "published, converting: 0.55")]),
        ];
        let chart = Chart::grid("fusionraid", self.about().title, 2, (380.0, 240.0), panels);
        let mut found = Findings::new(vec![chart], NOTES.map(str::to_owned).into());
        let mean =
            |trialled: &Trialled| trialled.outcome.latency_of("write", 0).map_or(NOTHING, |row| row.mean_ns as f64);
        found.number("copying, 1 thread: fitted to the published 4.8", "GB/s", points[0].1);
        found.number("copying, 2 threads: fitted to the published 7.2", "GB/s", points[1].1);
        found.published("copying, 8 threads", "rate", points[2].1);
        found.published("copying, latency", "1 thread", mean(&copying[0]) / 1e6);
        found.published("copying, more than 8 threads", "12 threads / 8 threads", points[3].1 / points[2].1);
        found.published("converting", "rate", gigabytes(&converting[0]));
        found.published("converting", "latency", mean(&converting[0]) / 1e6);
        found.number(
            "converting: programmed for each block that clients wrote",
            "",
            super::common::programmed(&converting[0]),
        );
        found
    }
}
