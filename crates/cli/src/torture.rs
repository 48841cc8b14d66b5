//! `cygnus torture`: many seeds, and for each that fails what happened and a short story that does it again.

use crate::args::torture::{PlantedBug, TortureArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt;
use crate::outfile;
use crate::output::Output;
use crate::progress::{Bar, Counts};
use cygnus_control::show;
use cygnus_torture::{Coverage, Effort, Options, Plant, Report, SeedFailure, Short, Story, replay, run_seeds, shorten};
use cygnus_types::counted;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// Requests of a campaign that is not told otherwise.
const CAMPAIGN: u64 = 10_000_000;
/// Seeds of a run that is not told otherwise.
const SEEDS: u64 = 1000;
const NOT_CAUGHT: &str = "the planted bug was not caught";
/// Failures that are told and made short: those beyond say little that the first ones do not.
const TOLD: usize = 3;

/// What `torture` answers.
#[derive(Debug, Serialize)]
struct Outcome {
    seeds: u64,
    /// Whether a signal ended it before all was run that was asked for.
    cut_short: bool,
    seconds: f64,
    seeds_per_minute: f64,
    requests: u64,
    requests_per_second: f64,
    device_operations_per_second: f64,
    figures: BTreeMap<&'static str, u64>,
    /// How many seeds failed, by the kind of what was wrong.
    kinds: BTreeMap<&'static str, u64>,
    /// Which faults met which steps of the engine, and how often.
    coverage: Vec<Met>,
    failures: Vec<FailedSeed>,
    #[serde(skip)]
    table: Option<String>,
}

#[derive(Debug, Serialize)]
struct Met {
    fault: &'static str,
    step: &'static str,
    times: u64,
}

#[derive(Debug, Serialize)]
struct FailedSeed {
    seed: u64,
    /// What happened, the last of it.
    journal: String,
    /// Of which kind what is wrong is: `older-data`, `stall` and so on.
    kind: &'static str,
    /// What is wrong.
    failure: String,
    /// The command that runs the seed again.
    replay: String,
    short: Option<WrittenStory>,
}

/// The story of a failing seed, made short unless that was not wanted.
#[derive(Debug, Serialize)]
struct WrittenStory {
    /// Line by line.
    story: String,
    /// How it ends: badly, and of the same kind as the seed.
    failure: String,
    /// The command that runs it.
    replay: String,
}

/// Carries out `cygnus torture`.
pub fn run(args: &TortureArgs, output: Output) -> Result<Exit, Failure> {
    let plant = match args.plant {
        None => Plant::Nothing,
        Some(PlantedBug::FlushesIgnored) => Plant::FlushesIgnored,
    };
    match &args.replay {
        Some(file) => run_story(file, args, plant, output),
        None => run_many(args, plant, output),
    }
}

fn run_story(file: &Path, args: &TortureArgs, plant: Plant, output: Output) -> Result<Exit, Failure> {
    #[derive(Serialize)]
    struct Answer {
        journal: String,
        /// Of which kind what is wrong is, if anything.
        kind: Option<&'static str>,
        failure: Option<String>,
    }
    let name = file.display();
    let text = std::fs::read_to_string(file).map_err(|error| Failure::Failed(format!("{name}: {error}")))?;
    let story: Story = text.parse().map_err(|error| Failure::Failed(format!("{name}: {error}")))?;
    let ended = replay(&story, plant);
    let kind = ended.failure.as_ref().map(|failure| failure.kind().name());
    let failure = ended.failure.map(|failure| failure.to_string());
    let answer = Answer { journal: ended.journal, kind, failure };
    let (well, end) = match (args.plant, &answer.failure) {
        (_, None) if plant == Plant::Nothing => (true, "The story ends well.".into()),
        (_, None) => (false, NOT_CAUGHT.into()),
        (Some(_), Some(why)) => (true, format!("The planted bug was caught: {why}")),
        (None, Some(why)) => (false, format!("the story ends badly: {why}")),
    };
    output.answer(&answer, |_| {
        format!("{}\n{}", answer.journal, if well { format!("{end}\n") } else { String::new() })
    })?;
    Ok(output.verdict(well, &end))
}

fn run_many(args: &TortureArgs, plant: Plant, output: Output) -> Result<Exit, Failure> {
    refuse_seeds_beyond(args)?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let requests = args.requests.or((args.campaign && args.seeds.is_none()).then_some(CAMPAIGN));
    let options = Options {
        start: args.start,
        seeds: args.seeds.unwrap_or(if requests.is_some() { u64::MAX } else { SEEDS }),
        requests,
        jobs: args.jobs.map_or(cores, usize::from),
        plant,
        tier: args.about,
        stop_at_failure: args.stop_at_failure,
        has_enough: interrupt::requested,
    };
    interrupt::install().map_err(|error| Failure::Failed(format!("signals: {error}")))?;
    let bar = Bar::new(output, Counts::Words, Some(requests.unwrap_or(options.seeds)));
    let begun = Instant::now();
    let report = run_seeds(&options, |report| {
        let done = if requests.is_some() { report.tally.requests() } else { report.seeds };
        bar.reach(done);
        let (seeds, failed) = (show::count(report.seeds), report.failures.len());
        let pace = report.seeds as f64 / begun.elapsed().as_secs_f64() * 60.0;
        bar.say(&format!("{seeds} seeds, {pace:.0} per minute, {failed} failed"));
    });
    drop(bar);
    let took = begun.elapsed();
    let cut_short = interrupt::requested() && !is_whole(&report, &options);
    if cut_short {
        output.warn("stopped by a signal: what was run until then is told, the rest was not run");
    }
    let failures = told(&report, args, plant, output);
    let outcome = Outcome { cut_short, ..outcome(&report, took, failures, args.campaign) };
    output.answer(&outcome, |_| outcome.text())?;
    Ok(match (args.plant, report.failures.len()) {
        (None, 0) if cut_short => output.verdict(false, "cut short by a signal before all was run that was asked for"),
        (None, 0) | (Some(_), 1..) => Exit::Done,
        (None, failed) => output.verdict(false, &format!("{failed} of {} failed", counted(report.seeds, "seed"))),
        (Some(_), 0) => output.verdict(false, NOT_CAUGHT),
    })
}

/// Whether all was run that was asked for.
fn is_whole(report: &Report, options: &Options) -> bool {
    let has_requests = options.requests.is_some_and(|most| report.tally.requests() >= most);
    report.seeds >= options.seeds || has_requests || options.stop_at_failure && !report.failures.is_empty()
}

/// Refuses more seeds than there are from the first one on.
fn refuse_seeds_beyond(args: &TortureArgs) -> Result<(), Failure> {
    let last = u64::MAX;
    match args.seeds.filter(|seeds| seeds.saturating_sub(1) > last - args.start) {
        None => Ok(()),
        Some(seeds) => Err(Failure::Usage(format!(
            "{seeds} seeds from {} on: the last seed is {last}; give fewer --seeds, or a smaller --start",
            args.start
        ))),
    }
}

/// The first failures, each with its story made short and written down.
fn told(report: &Report, args: &TortureArgs, plant: Plant, output: Output) -> Vec<FailedSeed> {
    let tell = |(n, failed): (usize, &SeedFailure)| FailedSeed {
        seed: failed.seed,
        journal: failed.journal.clone(),
        kind: failed.failure.kind().name(),
        failure: failed.failure.to_string(),
        replay: failed.replay.clone(),
        short: (n < TOLD)
            .then(|| short(failed, args, plant, output))
            .flatten()
            .map(|short| write_down(failed.seed, &short, args, plant, output)),
    };
    report.failures.iter().enumerate().map(tell).collect()
}

/// The story of a seed that failed, as short as it may be made.
fn short(failed: &SeedFailure, args: &TortureArgs, plant: Plant, output: Output) -> Option<Short> {
    let (seed, kind, runs) = (failed.seed, failed.failure.kind(), args.shrink);
    let story = Story::about(args.about, seed);
    if runs == 0 {
        return Some(Short { story, failure: failed.failure.clone(), tried: 0 });
    }
    // It may take an hour where the story's array is large.
    let (why, told) = (failed.failure.to_string(), "making its story short by up to");
    output.warn(&format!("seed {seed} failed ({kind}): {}; {told} {runs} runs of it", one_line(&why)));
    shorten(&story, plant, Effort { runs, lines: 0 })
}

fn write_down(seed: u64, short: &Short, args: &TortureArgs, plant: Plant, output: Output) -> WrittenStory {
    let name = format!("seed-{seed}.story");
    let file = args.stories.join(&name);
    let plant = plant.name().map_or_else(String::new, |name| format!(" --plant {name}"));
    let (kind, failure) = (short.failure.kind(), short.failure.to_string());
    let remark = format!("# from seed {seed}, by {} runs; ends with {kind}: {}\n", short.tried, one_line(&failure));
    let story = format!("{remark}{}", short.story);
    if let Err(failure) = outfile::write_all(&args.stories, &[(name, story.clone())]) {
        output.warn(&format!("{failure}: the story is only shown"));
    }
    let replay = format!("cygnus torture --replay {}{plant}", file.display());
    WrittenStory { story, failure, replay }
}

fn one_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

fn outcome(report: &Report, took: Duration, failures: Vec<FailedSeed>, campaign: bool) -> Outcome {
    let seconds = took.as_secs_f64().max(1e-9);
    let requests = report.tally.requests();
    Outcome {
        seeds: report.seeds,
        cut_short: false,
        seconds,
        seeds_per_minute: report.seeds as f64 / seconds * 60.0,
        requests,
        requests_per_second: requests as f64 / seconds,
        // Each is a submission and a completion.
        device_operations_per_second: report.tally.device_steps as f64 / 2.0 / seconds,
        figures: report.tally.figures().into_iter().collect(),
        kinds: report.kinds().into_iter().map(|(kind, seeds)| (kind.name(), seeds)).collect(),
        coverage: report
            .coverage
            .pairs()
            .map(|(fault, step, times)| Met { fault: fault.name(), step, times })
            .collect(),
        failures,
        table: campaign.then(|| told_coverage(report, &report.coverage)),
    }
}

fn told_coverage(report: &Report, coverage: &Coverage) -> String {
    let mut out = String::new();
    for (name, value) in report.tally.figures() {
        out.push_str(&format!("{:<20}{:>14}\n", name.replace('_', " "), show::count(value)));
    }
    out.push_str("\nHow often an operation met a fault while a step was going on:\n");
    out.push_str(&coverage.table());
    out
}

impl Outcome {
    fn text(&self) -> String {
        let mut out = String::new();
        for failure in self.failures.iter().take(TOLD) {
            out.push_str(&format!("{}\nagain: {}\n\n", failure.journal, failure.replay));
            if let Some(short) = &failure.short {
                out.push_str(&format!("The story of seed {}:\n{}\n", failure.seed, short.story));
                out.push_str(&format!("ends with: {}\nagain: {}\n\n", short.failure, short.replay));
            }
        }
        for failure in self.failures.iter().skip(TOLD) {
            out.push_str(&format!(
                "seed {} fails too ({}): {}\n",
                failure.seed,
                failure.kind,
                one_line(&failure.failure)
            ));
            out.push_str(&format!("again: {}\n", failure.replay));
        }
        if let Some(table) = &self.table {
            out.push_str(table);
            out.push('\n');
        }
        out.push_str(&format!(
            "{} seeds in {:.1} s ({:.0} per minute): {} requests ({:.0} per second), {:.0} device operations per second, \
             {} faults met, {} failed{}{}\n",
            show::count(self.seeds),
            self.seconds,
            self.seeds_per_minute,
            show::count(self.requests),
            self.requests_per_second,
            self.device_operations_per_second,
            show::count(self.figures.get("faults_met").copied().unwrap_or(0)),
            self.failures.len(),
            self.words_of_kinds(),
            if self.cut_short { "; cut short by a signal" } else { "" },
        ));
        out
    }

    /// The kinds of what was wrong, those of most seeds first.
    fn words_of_kinds(&self) -> String {
        let mut kinds: Vec<_> = self.kinds.iter().collect();
        kinds.sort_by_key(|&(_, &seeds)| std::cmp::Reverse(seeds));
        let words: Vec<String> = kinds.into_iter().map(|(kind, seeds)| format!("{kind} {seeds}")).collect();
        if words.is_empty() { String::new() } else { format!(" ({})", words.join(", ")) }
    }
}
