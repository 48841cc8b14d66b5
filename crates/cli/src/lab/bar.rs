//! A bar on the terminal while an experiment runs.

use crate::output::Output;
use cygnus_lab::{Progress, Stage};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// What the bar divides an array's run into.
const STEPS: u64 = 1000;

/// Shows how far an experiment is; nothing unless standard error is a terminal.
#[derive(Clone)]
pub(super) struct Bar {
    bar: ProgressBar,
    id: &'static str,
}

impl Bar {
    pub(super) fn new(output: Output, id: &'static str) -> Bar {
        let target = if output.shows_progress() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(STEPS), target);
        let style =
            ProgressStyle::with_template("[{bar:30}] {percent:>3} %  {msg}").expect("the template is a constant");
        bar.set_style(style.progress_chars("=> "));
        Bar { bar, id }
    }

    /// Shows it.
    pub(super) fn show(&self, stage: &Stage) {
        let (share, what) = match stage.progress {
            Progress::Aging(share) => (share, "aging".to_owned()),
            Progress::Running(at) => {
                (at.0 as f64 / stage.duration.0 as f64, format!("{at} of {} of virtual time", stage.duration))
            }
        };
        let (number, of) = stage.number;
        self.bar.set_length(STEPS * of as u64);
        self.bar.set_position(STEPS * number as u64 + (share * STEPS as f64) as u64);
        self.bar.set_message(format!("{}: {}: {what}", self.id, stage.trial));
    }

    pub(super) fn end(&self) {
        self.bar.finish_and_clear();
    }
}
