//! Many seeds on many threads, and what to say about those that fail.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::run::{Tally, run_seed};

/// A bug planted on purpose, to see that it is caught.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Plant {
    /// Nothing is wrong.
    #[default]
    Nothing,
    /// Every device acknowledges flushes and does nothing: as if the array skipped its flush barriers.
    FlushesIgnored,
}

/// What [`run_seeds`] is to do.
#[derive(Clone, Debug)]
pub struct Options {
    /// First seed.
    pub start: u64,
    /// How many seeds, one after the other.
    pub seeds: u64,
    /// Threads.
    pub jobs: usize,
    /// Bug to plant.
    pub plant: Plant,
    /// Stop at the first failure instead of collecting them all.
    pub stop_at_failure: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { start: 0, seeds: 1, jobs: 1, plant: Plant::Nothing, stop_at_failure: false }
    }
}

/// A seed that failed.
#[derive(Clone, Debug)]
pub struct SeedFailure {
    /// The seed.
    pub seed: u64,
    /// What was set up and what happened, for people.
    pub story: String,
    /// The command that runs it again.
    pub replay: String,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Seeds run.
    pub seeds: u64,
    /// Sums over all seeds.
    pub tally: Tally,
    /// Those that failed, by seed.
    pub failures: Vec<SeedFailure>,
}

thread_local! {
    /// Where the last panic of this thread happened and why, if the thread tortures.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
    static TORTURES: RefCell<bool> = const { RefCell::new(false) };
}

type Hook = dyn Fn(&PanicHookInfo<'_>) + Send + Sync;

/// Keeps panics of torturing threads from the terminal, since they are results, and puts the old hook back at the end.
struct QuietPanics(Arc<Hook>);

impl QuietPanics {
    fn new() -> Self {
        let old: Arc<Hook> = std::panic::take_hook().into();
        let others = old.clone();
        std::panic::set_hook(Box::new(move |info| {
            if TORTURES.with_borrow(|tortures| *tortures) {
                PANIC.set(Some(info.to_string()));
            } else {
                others(info);
            }
        }));
        Self(old)
    }
}

impl Drop for QuietPanics {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let old = self.0.clone();
            std::panic::set_hook(Box::new(move |info| old(info)));
        }
    }
}

/// Runs seeds and reports; `progress` is told the number of seeds done and of failures, from any of the threads.
pub fn run_seeds(options: &Options, progress: impl Fn(u64, u64) + Sync) -> Report {
    let _quiet = QuietPanics::new();
    let next = AtomicU64::new(options.start);
    let stop = AtomicBool::new(false);
    let report = Mutex::new(Report::default());
    let work = || {
        TORTURES.set(true);
        while !stop.load(Ordering::Relaxed) {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= options.start.saturating_add(options.seeds) {
                break;
            }
            let outcome = guarded(seed, options.plant);
            let mut report = report.lock().expect("no holder panics");
            report.seeds += 1;
            match outcome {
                Ok(tally) => report.tally.add(&tally),
                Err(story) => {
                    report.failures.push(failure(seed, story, options.plant));
                    stop.fetch_or(options.stop_at_failure, Ordering::Relaxed);
                }
            }
            progress(report.seeds, report.failures.len() as u64);
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

fn failure(seed: u64, story: String, plant: Plant) -> SeedFailure {
    let plant = match plant {
        Plant::Nothing => "",
        Plant::FlushesIgnored => " --plant flushes-ignored",
    };
    SeedFailure { seed, story, replay: format!("cygnus torture --start {seed} --seeds 1{plant}") }
}

/// Runs a seed; a panic is a failure like any other.
fn guarded(seed: u64, plant: Plant) -> Result<Tally, String> {
    catch_unwind(AssertUnwindSafe(|| run_seed(seed, plant))).unwrap_or_else(|payload| {
        let text = PANIC.take().unwrap_or_else(|| words_of(&*payload));
        Err(format!("seed {seed}: a panic, which is always a bug:\n{text}"))
    })
}

fn words_of(payload: &dyn Any) -> String {
    let text = payload.downcast_ref::<&str>().map(|s| (*s).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "(no message)".into())
}
