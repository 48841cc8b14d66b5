//! A bar on the terminal while experiments run.

use crate::output::Output;
use cygnus_lab::{Progress, Run, Stage};
use indicatif::ProgressBar;
use std::cell::Cell;

/// What the bar divides an array's run into.
const STEPS: u64 = 1000;

/// Shows how far all the runs are; nothing unless standard error is a terminal.
pub(super) struct Bar(ProgressBar);

/// The part of the bar that belongs to one run.
pub(super) struct Part {
    bar: ProgressBar,
    name: String,
    shown: Cell<u64>,
}

impl Bar {
    pub(super) fn new(output: Output, runs: usize) -> Bar {
        Bar(output.bar("[{bar:30}] {percent:>3} %  {msg}", Some(STEPS * runs as u64)))
    }

    pub(super) fn part(&self, run: &Run) -> Part {
        let name = format!("{}: {}", run.experiment, run.name());
        Part { bar: self.0.clone(), name, shown: Cell::new(0) }
    }

    /// Prints between two drawings of the bar.
    pub(super) fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        self.0.suspend(print)
    }

    pub(super) fn end(&self) {
        self.0.finish_and_clear();
    }
}

impl Part {
    /// Shows how far the run is. Aging counts for half of it.
    pub(super) fn show(&self, stage: &Stage) {
        let (share, what) = match stage.progress {
            Progress::Aging(share) => (share / 2.0, "aging".to_owned()),
            Progress::Running(at) => (
                0.5 + at.0 as f64 / stage.duration.0 as f64 / 2.0,
                format!("{at} of {} of virtual time", stage.duration),
            ),
        };
        self.reach((share * STEPS as f64) as u64);
        self.bar.set_message(format!("{}: {what}", self.name));
    }

    fn reach(&self, step: u64) {
        self.bar.inc(step.saturating_sub(self.shown.get()));
        self.shown.set(step.max(self.shown.get()));
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.reach(STEPS);
    }
}
