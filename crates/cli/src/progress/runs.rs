//! How far many runs are: a bar on the terminal, or lines for those who asked for them.

use crate::output::Output;
use crate::pace::Pace;
use cygnus_lab::Progress;
use cygnus_types::Nanos;
use indicatif::ProgressBar;
use std::cell::Cell;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What the bar divides a run into.
const STEPS: u64 = 1000;
/// Time between two lines.
const BETWEEN_LINES: Duration = Duration::from_secs(5);

/// Shows how far all the runs are, and how long the rest will take: as a bar if standard error is a terminal; under
/// `--verbose`, if not, as a line now and then.
#[derive(Clone)]
pub(super) struct Bar(Arc<Shown>);

struct Shown {
    bar: ProgressBar,
    output: Output,
    runs: usize,
    pace: Pace,
    told: Mutex<Instant>,
}

/// The part of the bar that belongs to one run.
pub(super) struct Part {
    shown: Arc<Shown>,
    name: String,
    reached: Cell<u64>,
}

impl Bar {
    pub(super) fn new(output: Output, runs: usize) -> Bar {
        let bar = output.bar("[{bar:30}] {percent:>3} %  {msg}", Some(STEPS * runs as u64));
        Bar(Arc::new(Shown { bar, output, runs, pace: Pace::begin(), told: Mutex::new(Instant::now()) }))
    }

    /// The part of a run of that name.
    pub(super) fn part(&self, name: String) -> Part {
        Part { shown: self.0.clone(), name, reached: Cell::new(0) }
    }

    /// Prints between two drawings of the bar.
    pub(super) fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        self.0.bar.suspend(print)
    }

    pub(super) fn end(&self) {
        self.0.bar.finish_and_clear();
    }
}

impl Shown {
    fn tell(&self, what: &str) {
        let done = self.bar.position() as f64 / (STEPS * self.runs.max(1) as u64) as f64;
        let left = self.pace.left(done);
        let join = if left.is_empty() { "" } else { ", " };
        self.bar.set_message(format!("{left}{join}{what}"));
        let mut told = self.told.lock().expect("nobody panics while telling");
        if self.bar.is_hidden() && told.elapsed() >= BETWEEN_LINES {
            *told = Instant::now();
            let (percent, runs) = ((done * 100.0) as u64, self.runs);
            self.output.detail(&format!("{percent} % of {runs} runs{join}{left}; {what}"));
        }
    }
}

impl Part {
    /// Shows how far the run is, which is measured for `duration` of virtual time. Aging counts for half of it.
    pub(super) fn show(&self, progress: Progress, duration: Nanos) {
        let (share, what) = match progress {
            Progress::Aging(share) => (share / 2.0, "aging".to_owned()),
            Progress::Running(at) => {
                (0.5 + at.0 as f64 / duration.0.max(1) as f64 / 2.0, format!("{at} of {duration} of virtual time"))
            }
        };
        self.reach((share * STEPS as f64) as u64);
        self.shown.tell(&format!("{}: {what}", self.name));
    }

    fn reach(&self, step: u64) {
        self.shown.bar.inc(step.saturating_sub(self.reached.get()));
        self.reached.set(step.max(self.reached.get()));
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.reach(STEPS);
    }
}
