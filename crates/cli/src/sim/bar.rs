//! A bar on the terminal while a scenario runs.

use crate::output::Output;
use cygnus_lab::Progress;
use cygnus_types::Nanos;
use indicatif::ProgressBar;

/// What the bar divides each phase into.
const STEPS: u64 = 1000;

/// Shows how far one array's run is; nothing unless standard error is a terminal.
#[derive(Clone)]
pub struct Bar {
    bar: ProgressBar,
    array: String,
    duration: Nanos,
}

impl Bar {
    pub fn new(output: Output, array: &str, duration: Nanos) -> Bar {
        let bar = output.bar("[{bar:30}] {percent:>3} %  {msg}", Some(STEPS));
        Bar { bar, array: array.into(), duration }
    }

    /// Shows it.
    pub fn show(&self, progress: Progress) {
        let (share, what) = match progress {
            Progress::Aging(share) => (share, "aging".to_owned()),
            Progress::Running(at) => {
                (at.0 as f64 / self.duration.0 as f64, format!("{at} of {} of virtual time", self.duration))
            }
        };
        self.bar.set_position((share * STEPS as f64) as u64);
        self.bar.set_message(format!("{}: {what}", self.array));
    }

    pub fn end(&self) {
        self.bar.finish_and_clear();
    }
}
