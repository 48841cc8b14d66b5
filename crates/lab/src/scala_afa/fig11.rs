//! Figure 11: throughput by the number of threads, and what one core can do.

use super::common::{COPIES, Case, DIVISOR, Engine, IDEAL, Results, SEEDS, SEQUENTIAL, drives, gigabytes};
use crate::chart::{Axis, Chart, Line, Mark, Panel};
use crate::experiment::{About, Experiment, Findings, Scale, Trial, Trialled};
use crate::series::NOTHING;

/// See the module's text.
pub struct Fig11;

const NOTES: [&str; 2] = [
    "A rival's threads are one modelled core that is as fast as all of them; ours are as many modelled cores with a reactor each.",
    "What the paper calls ideal is for arrays that write everything twice. This one writes 64 KiB at depth 32 as whole stripes, as they are many \
     (docs/decisions/035-two-phase-writes.md), so it may exceed that.",
];
const THREADS: [u32; 5] = [1, 2, 4, 8, 12];
/// One modelled core that answers writes from memory, as volumes usually do.
const FROM_MEMORY: &str = "ours 4+1, answered from memory";

fn rivals() -> Vec<Case> {
    let of = |engine| THREADS.map(|threads| Case::new(engine, SEQUENTIAL).threads(threads));
    [Engine::Mdraid, Engine::ScalaRaid, Engine::StRaid].into_iter().flat_map(of).collect()
}

/// As many cores as rivals have threads. Those beyond four are no faster than the drives.
fn ours() -> [Case; 5] {
    THREADS.map(|threads| Case::new(Engine::ScalaAfa, SEQUENTIAL).threads(threads))
}

/// FusionRAID with one thread, ours with one and two.
fn wide() -> [Case; 3] {
    let of = |engine, threads| Case::new(engine, SEQUENTIAL).on(6, 1).threads(threads);
    [of(Engine::FusionRaid, 1), of(Engine::ScalaAfa, 1), of(Engine::ScalaAfa, 2)]
}

/// Ours on 4+1 with one core, on 6+1 with one and two, should nothing be copied.
fn without_copies() -> [Case; 3] {
    [ours()[0].clone(), wide()[1].clone(), wide()[2].clone()].map(Case::bare)
}

impl Experiment for Fig11 {
    fn about(&self) -> About {
        About {
            id: "scala-afa/fig11",
            title: "Write throughput by the number of threads",
            published: "Figure 11 and section 6.2: ScalaAFA writes 11.4 GB/s with one thread on 4+1, nearly (k + m) / (m + 1) of a drive's \
                        rate, where ScalaRAID and stRAID need twelve for 11.0 and 11.3, and mdraid peaks at eight; on 6+1 it writes \
                        12.0 and 15.7 with one and two, FusionRAID 6.4 with one.",
            divisor: DIVISOR,
            seeds: SEEDS,
        }
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        let devices = drives(scale);
        let mut trials: Vec<Trial> =
            rivals().iter().chain(&ours()).chain(&wide()).map(|case| case.trial(&devices)).collect();
        let one = ours()[0].trial(&devices);
        trials.extend(without_copies().iter().map(|case| case.trial(&devices)));
        let from_memory = one.scenario.replacen("\"written\"", "\"memory\"", 1);
        trials.push(Trial::new(FROM_MEMORY, one.scheme, from_memory));
        trials
    }

    fn findings(&self, _: Scale, trials: &[Trialled]) -> Findings {
        let results = Results(trials);
        let rate = |case: &Case| results.rate(case);
        let curve = |cases: &[Case]| -> Line {
            let points = cases.iter().map(|case| (f64::from(case.threads), rate(case))).collect();
            Line::new(cases[0].engine.name(), cases[0].engine.scheme(), points)
        };
        let (rivals, ours, wide) = (rivals(), ours(), wide());
        let lines = rivals.chunks(THREADS.len()).chain([&ours[..]]).map(curve).collect();
        let ideal = Mark::Level { at: IDEAL, label: "(k + m) / (m + 1) of a drive".into() };
        let panel = Panel::lines(Axis::linear("threads"), Axis::linear("GB/s"), lines).marked(vec![ideal]);
        let chart = Chart::single("threads", self.about().title, panel);
        let mut found = Findings::new(vec![chart], NOTES.map(str::to_owned).into());
        let [mdraid, scalaraid, straid] = [0, 1, 2].map(|n| &rivals[n * THREADS.len()..][..THREADS.len()]);
        found.published("4+1, one thread", "ours", rate(&ours[0]));
        found.published("4+1, twelve threads", "ScalaRAID", rate(&scalaraid[4]));
        found.published("4+1, twelve threads", "stRAID", rate(&straid[4]));
        found.published("4+1, mdraid", "12 threads / 8 threads", rate(&mdraid[4]) / rate(&mdraid[3]));
        found.published("6+1", "FusionRAID, 1 thread", rate(&wide[0]));
        found.published("6+1", "ours, 1 thread", rate(&wide[1]));
        found.published("6+1", "ours, 2 threads", rate(&wide[2]));
        let [bare, bare_wide, bare_wide_two] = without_copies();
        for (line, ours, bare) in [
            (("4+1, one thread", "ours"), &ours[0], &bare),
            (("6+1", "ours, 1 thread"), &wide[1], &bare_wide),
            (("6+1", "ours, 2 threads"), &wide[2], &bare_wide_two),
        ] {
            found.supposed(line, COPIES, &[(results.place(ours), results.place(bare))], rate(bare));
        }
        let from_memory = trials.iter().find(|trialled| trialled.trial.name == FROM_MEMORY).map_or(NOTHING, gigabytes);
        found.number("one core on 4+1 / (k + m) / (m + 1) of a drive", "", rate(&ours[0]) / IDEAL);
        found.number("the same, answered from memory", "", from_memory / IDEAL);
        found.number("the same, nothing copied and no checksums", "", rate(&bare) / IDEAL);
        for case in rivals.iter().chain(&ours).chain(&wide) {
            found.number(case.name(), "GB/s", rate(case));
        }
        found
    }
}
