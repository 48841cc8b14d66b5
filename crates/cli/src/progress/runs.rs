//! How far runs in virtual time are.

use super::{Bar, Counts};
use crate::output::Output;
use cygnus_lab::Progress;
use cygnus_types::Nanos;
use std::cell::Cell;
use std::sync::Arc;

/// What the bar divides a run into.
const STEPS: u64 = 1000;

/// Shows how far several runs are, together, and how long the rest will take.
#[derive(Clone, Debug)]
pub struct Runs(Arc<Bar>);

/// The part of the bar that belongs to one run. It is full when it is dropped.
#[derive(Debug)]
pub struct Part {
    bar: Arc<Bar>,
    name: String,
    reached: Cell<u64>,
}

impl Runs {
    /// Of this number of runs.
    pub fn new(output: Output, runs: usize) -> Self {
        Self(Arc::new(Bar::new(output, Counts::Words, Some(STEPS * runs as u64))))
    }

    /// The part of a run of that name.
    pub fn part(&self, name: String) -> Part {
        Part { bar: self.0.clone(), name, reached: Cell::new(0) }
    }

    /// Prints between two drawings of the bar.
    pub fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        self.0.suspend(print)
    }
}

impl Part {
    /// Shows how far the run is, which is measured for `duration` of virtual time. Aging counts for half of it.
    pub fn show(&self, progress: Progress, duration: Nanos) {
        let (share, what) = match progress {
            Progress::Aging(share) => (share / 2.0, "aging".to_owned()),
            Progress::Running(at) => {
                (0.5 + at.0 as f64 / duration.0.max(1) as f64 / 2.0, format!("{at} of {duration} of virtual time"))
            }
        };
        self.reach((share * STEPS as f64) as u64);
        self.bar.say(&format!("{}: {what}", self.name));
    }

    fn reach(&self, step: u64) {
        self.bar.advance(step.saturating_sub(self.reached.get()));
        self.reached.set(step.max(self.reached.get()));
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.reach(STEPS);
    }
}
