//! Many seeds on many threads, and what to say about those that fail.

use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, Once};

use crate::coverage::Coverage;
use crate::failure::{FailureKind, RunFailure};
use crate::journal;
use crate::plant::Plant;
use crate::run::{Outcome, run_story};
use crate::story::{Effort, Story, Tier, shrink};
use crate::tally::Tally;

/// What [`run_seeds`] is to do.
#[derive(Clone, Debug)]
pub struct Options {
    /// First seed.
    pub start: u64,
    /// How many seeds, one after the other; fewer where the numbers end before.
    pub seeds: u64,
    /// Begin no other seed when so many requests of clients have been made.
    pub requests: Option<u64>,
    /// Threads.
    pub jobs: usize,
    /// Bug to plant.
    pub plant: Plant,
    /// What the stories are about.
    pub tier: Tier,
    /// Stop at the first failure instead of collecting them all.
    pub stop_at_failure: bool,
    /// Asked after each seed: whether to begin no other.
    pub has_enough: fn() -> bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            start: 0,
            seeds: 1,
            requests: None,
            jobs: 1,
            plant: Plant::Nothing,
            tier: Tier::All,
            stop_at_failure: false,
            has_enough: || false,
        }
    }
}

/// A seed that failed.
#[derive(Clone, Debug)]
pub struct SeedFailure {
    /// The seed.
    pub seed: u64,
    /// What was set up, what happened, and what is wrong, for people.
    pub journal: String,
    /// What is wrong.
    pub failure: RunFailure,
    /// The command that runs it again.
    pub replay: String,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Seeds run.
    pub seeds: u64,
    /// Sums over all seeds that ended well.
    pub tally: Tally,
    /// Which faults met which steps of the engine.
    pub coverage: Coverage,
    /// Those that failed, by seed.
    pub failures: Vec<SeedFailure>,
}

impl Report {
    /// How many seeds failed, by what was wrong.
    pub fn kinds(&self) -> BTreeMap<FailureKind, u64> {
        let mut kinds = BTreeMap::new();
        for failed in &self.failures {
            *kinds.entry(failed.failure.kind()).or_default() += 1;
        }
        kinds
    }
}

thread_local! {
    /// Where the last panic of this thread happened and why, if the thread tortures.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
    static TORTURES: RefCell<bool> = const { RefCell::new(false) };
}

/// Keeps panics of torturing threads from the terminal from now on, since they are results. Those of others go where they went.
fn quiet_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let others = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if TORTURES.with_borrow(|tortures| *tortures) {
                PANIC.set(Some(info.to_string()));
            } else {
                others(info);
            }
        }));
    });
}

/// Runs seeds and reports; `progress` is told how far it is, from any of the threads.
pub fn run_seeds(options: &Options, progress: impl Fn(&Report) + Sync) -> Report {
    quiet_panics();
    let next = AtomicU64::new(0);
    let stop = AtomicBool::new(false);
    let report = Mutex::new(Report::default());
    let work = || {
        TORTURES.set(true);
        while !stop.load(Ordering::Relaxed) {
            let nth = next.fetch_add(1, Ordering::Relaxed);
            // The largest seed is the last one, however many are wanted.
            let Some(seed) = options.start.checked_add(nth).filter(|_| nth < options.seeds) else { break };
            let outcome = run_seed(seed, options);
            let mut report = report.lock().expect("no holder panics");
            report.seeds += 1;
            match outcome {
                Ok((tally, coverage)) => {
                    report.tally.add(&tally);
                    report.coverage.add(&coverage);
                }
                Err(failure) => {
                    report.failures.push(*failure);
                    stop.fetch_or(options.stop_at_failure, Ordering::Relaxed);
                }
            }
            let enough = options.requests.is_some_and(|most| report.tally.requests() >= most);
            stop.fetch_or(enough || (options.has_enough)(), Ordering::Relaxed);
            progress(&report);
        }
        TORTURES.set(false);
    };
    std::thread::scope(|scope| {
        for _ in 0..options.jobs.max(1) {
            scope.spawn(work);
        }
    });
    let mut report = report.into_inner().expect("no holder panics");
    report.failures.sort_by_key(|failure| failure.seed);
    report
}

fn run_seed(seed: u64, options: &Options) -> Result<Outcome, Box<SeedFailure>> {
    let story = Story::about(options.tier, seed);
    guarded(&story, options.plant).map_err(|failure| {
        let plant = options.plant.name().map_or_else(String::new, |name| format!(" --plant {name}"));
        let about = if options.tier == Tier::All { String::new() } else { format!(" --about {}", options.tier.name()) };
        let shape = &story.shape;
        Box::new(SeedFailure {
            seed,
            journal: format!("seed {seed}: {shape}\n{}\nFAILED ({}): {failure}", journal::so_far(), failure.kind()),
            failure,
            replay: format!("cygnus torture --start {seed} --seeds 1{about}{plant}"),
        })
    })
}

/// Runs a story; a panic is a failure like any other.
fn guarded(story: &Story, plant: Plant) -> Result<Outcome, RunFailure> {
    catch_unwind(AssertUnwindSafe(|| run_story(story, plant))).unwrap_or_else(|payload| {
        let text = PANIC.take().unwrap_or_else(|| words_of(&*payload));
        Err(RunFailure::Panic(text))
    })
}

fn words_of(payload: &dyn Any) -> String {
    let text = payload.downcast_ref::<&str>().map(|s| (*s).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "(no message)".into())
}

/// How a story ended.
#[derive(Clone, Debug)]
pub struct Replay {
    /// What happened, for people.
    pub journal: String,
    /// What is wrong, if anything.
    pub failure: Option<RunFailure>,
}

/// Runs one story.
pub fn replay(story: &Story, plant: Plant) -> Replay {
    quiet_panics();
    TORTURES.set(true);
    let failure = guarded(story, plant).err();
    TORTURES.set(false);
    Replay { journal: journal::so_far(), failure }
}

/// A story that was made shorter.
#[derive(Clone, Debug)]
pub struct Short {
    /// The story.
    pub story: Story,
    /// How it ends: with a failure of the same kind as the story that it was made of.
    pub failure: RunFailure,
    /// Stories run to find it.
    pub tried: u64,
}

/// Makes a story that fails shorter; `None` if it does not fail.
pub fn shorten(story: &Story, plant: Plant, effort: Effort) -> Option<Short> {
    quiet_panics();
    TORTURES.set(true);
    let failure = guarded(story, plant).err();
    let short = failure.map(|failure| {
        let shrunk = shrink(story.clone(), failure, effort, |story| guarded(story, plant).err());
        Short { story: shrunk.story, failure: shrunk.failure, tried: shrunk.tried }
    });
    TORTURES.set(false);
    short
}
