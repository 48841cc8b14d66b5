//! `cygnus torture`: many seeds, and the story of each that fails.

use crate::args::torture::{PlantedBug, TortureArgs};
use crate::failure::Failure;
use crate::output::Output;
use cygnus_control::show;
use cygnus_torture::{Options, Plant, Report, SeedFailure, run_seeds};
use serde::Serialize;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Time between two remarks on how far it is.
const PROGRESS: Duration = Duration::from_secs(10);

/// What `torture` answers.
#[derive(Debug, Serialize)]
struct Outcome {
    seeds: u64,
    seconds: f64,
    failures: Vec<FailedSeed>,
}

#[derive(Debug, Serialize)]
struct FailedSeed {
    seed: u64,
    story: String,
    replay: String,
}

/// Does it.
pub fn run(args: &TortureArgs, output: Output) -> Result<(), Failure> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let options = Options {
        start: args.start,
        seeds: args.seeds,
        jobs: args.jobs.map_or(cores, usize::from),
        plant: match args.plant {
            None => Plant::Nothing,
            Some(PlantedBug::FlushesIgnored) => Plant::FlushesIgnored,
        },
        stop_at_failure: args.stop_at_failure,
    };
    let begun = Instant::now();
    let said = Mutex::new(begun);
    let report = run_seeds(&options, |done, failed| {
        let mut said = said.lock().expect("no holder panics");
        if said.elapsed() >= PROGRESS {
            *said = Instant::now();
            output.remark(&format!("{} of {} seeds, {failed} failed", show::count(done), show::count(args.seeds)));
        }
    });
    let outcome = outcome(&report, begun.elapsed());
    output.detail(&format!("{:#?}", report.tally));
    output.answer(&outcome, |_| outcome.text())?;
    match (args.plant, report.failures.len()) {
        (None, 0) | (Some(_), 1..) => Ok(()),
        (None, failed) => Err(Failure::Failed(format!("{failed} of {} seeds failed", report.seeds))),
        (Some(_), 0) => Err(Failure::Failed("the planted bug was not caught".into())),
    }
}

fn outcome(report: &Report, took: Duration) -> Outcome {
    let failed = |failure: &SeedFailure| FailedSeed {
        seed: failure.seed,
        story: failure.story.clone(),
        replay: failure.replay.clone(),
    };
    Outcome { seeds: report.seeds, seconds: took.as_secs_f64(), failures: report.failures.iter().map(failed).collect() }
}

impl Outcome {
    fn text(&self) -> String {
        /// Stories beyond this number say little that the first ones do not.
        const STORIES: usize = 3;
        let mut out = String::new();
        for failure in self.failures.iter().take(STORIES) {
            out.push_str(&format!("seed {}:\n{}\nagain: {}\n\n", failure.seed, failure.story, failure.replay));
        }
        out.push_str(&format!(
            "{} seeds in {:.1} s ({:.0} per second), {} failed\n",
            show::count(self.seeds),
            self.seconds,
            self.seeds as f64 / self.seconds.max(1e-9),
            self.failures.len(),
        ));
        out
    }
}
