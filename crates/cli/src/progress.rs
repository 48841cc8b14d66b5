//! How far something long is, for a person who looks on: all commands show it in this one way.

mod pace;
mod runs;

pub use runs::Runs;

use crate::output::Output;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use pace::Pace;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Time between two lines.
const BETWEEN_LINES: Duration = Duration::from_secs(5);
/// Things of which so many are done one after the other that the bar is told only now and then.
const STEP: u64 = 1 << 14;

/// What stands behind a bar.
#[derive(Clone, Copy, Debug)]
pub enum Counts {
    /// Bytes that are done, and all of them.
    Bytes,
    /// Things of this name that are done, and all of them.
    Things(&'static str),
    /// What was said last, and before it the time that the rest may take.
    Words,
    /// What was said last: whoever does it knows better how long the rest may take.
    OwnWords,
}

impl Counts {
    /// As indicatif wants it.
    fn template(self) -> String {
        let behind = match self {
            Self::Bytes => "{binary_bytes} of {binary_total_bytes}, {eta} left".to_owned(),
            Self::Things(name) => format!("{{human_pos}} of {{human_len}} {name}, {{eta}} left  {{msg}}"),
            Self::Words | Self::OwnWords => "{msg}".to_owned(),
        };
        format!("[{{bar:30}}] {{percent:>3}} %  {behind}")
    }
}

/// A bar that shows how far something is: on standard error, if a person looks on. What was said is a line now and then where
/// there is no bar and `--verbose` asks for it. The bar goes when it is dropped.
#[derive(Debug)]
pub struct Bar {
    bar: ProgressBar,
    output: Output,
    /// How fast it goes, where nobody knows better.
    pace: Option<Pace>,
    told: Mutex<Instant>,
    ticks: u64,
}

impl Bar {
    /// `whole` is what 100 % is, if that is known already.
    pub fn new(output: Output, counts: Counts, whole: Option<u64>) -> Self {
        let target = match output.shows_progress() {
            // Drawn only if standard error is a terminal too.
            true => ProgressDrawTarget::stderr(),
            false => ProgressDrawTarget::hidden(),
        };
        let style = ProgressStyle::with_template(&counts.template()).expect("templates are constants");
        let bar = ProgressBar::with_draw_target(whole, target).with_style(style.progress_chars("=> "));
        let pace = matches!(counts, Counts::Words).then(Pace::begin);
        Self { bar, output, pace, told: Mutex::new(Instant::now()), ticks: 0 }
    }

    /// This much is done, of what was given as the whole.
    pub fn reach(&self, done: u64) {
        self.bar.set_position(done);
    }

    /// This much is done, and that is the whole.
    pub fn reach_of(&self, done: u64, whole: u64) {
        self.bar.set_length(whole);
        self.bar.set_position(done);
    }

    /// So much more is done.
    pub fn advance(&self, by: u64) {
        self.bar.inc(by);
    }

    /// One more thing is done of many; now and then `done` is asked how much that is, and gets the number of things.
    pub fn tick(&mut self, done: impl FnOnce(u64) -> u64) {
        self.ticks += 1;
        if self.ticks.is_multiple_of(STEP) {
            self.reach(done(self.ticks));
        }
    }

    /// What is being done.
    pub fn say(&self, what: &str) {
        let done = self.bar.position() as f64 / self.bar.length().unwrap_or(0).max(1) as f64;
        let left = self.pace.map_or_else(String::new, |pace| pace.left(done));
        let join = if left.is_empty() { "" } else { ", " };
        self.bar.set_message(format!("{left}{join}{what}"));
        let mut told = self.told.lock().expect("nobody panics while telling");
        if self.bar.is_hidden() && told.elapsed() >= BETWEEN_LINES {
            *told = Instant::now();
            let percent = (done * 100.0) as u64;
            self.output.detail(&format!("{percent} %{join}{left}; {what}"));
        }
    }

    /// Prints between two drawings of the bar.
    pub fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
