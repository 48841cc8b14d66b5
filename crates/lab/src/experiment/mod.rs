//! Experiments: each redraws one published figure with the engine on modelled drives, and judges how alike it is.
//!
//! An [`Experiment`] is one file that reads setup, run, metrics, check: [`Experiment::setup`] gives scenarios, the lab
//! runs them, and [`Experiment::findings`] turns their outcomes into charts, numbers beside the published ones, and
//! checks. What a check allows stands in that file, with the reason, and was written before its result was known. A
//! check that fails makes the verdict "deviates". Where the reason is known, and something else that was measured shows
//! that it is the reason, ours "differs" from the paper, which is a result, not a failure.

mod conduct;
mod files;
mod page;
mod registry;
mod scale;
mod verdict;

use crate::chart::{Chart, Scheme};
use crate::outcome::Outcome;

pub use conduct::{Laboratory, Run, Stage};
pub use files::{experiment_files, read_verdict};
pub use page::{Provenance, page};
pub use registry::{EXPERIMENTS, experiment};
pub use scale::Scale;
pub use verdict::{Bound, Check, Explanation, Measured, Number, Published, Verdict};

/// What an experiment is about.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// `PAPER/FIGURE`.
    pub id: &'static str,
    /// In a line.
    pub title: &'static str,
    /// What the paper shows there, and with which machines.
    pub published: &'static str,
    /// How many times smaller than the paper's it is unless one asks for another scale.
    pub divisor: f64,
}

/// One array that is run.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Its name in figures.
    pub name: String,
    /// Its colour in figures.
    pub scheme: Scheme,
    /// A scenario with this array alone.
    pub scenario: String,
}

impl Trial {
    /// A trial of that name.
    pub fn new(name: &str, scheme: Scheme, scenario: String) -> Self {
        Self { name: name.into(), scheme, scenario }
    }
}

/// What came of a trial.
#[derive(Debug)]
pub struct Trialled<'a> {
    /// The trial.
    pub trial: &'a Trial,
    /// Its outcome.
    pub outcome: &'a Outcome,
}

/// What an experiment found.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// Figures.
    pub charts: Vec<Chart>,
    /// Ours beside the paper's.
    pub numbers: Vec<Number>,
    /// What must hold.
    pub checks: Vec<Check>,
    /// What a reader should know about it.
    pub notes: Vec<String>,
}

/// One published figure or table.
pub trait Experiment: Sync {
    /// What it is about.
    fn about(&self) -> About;
    /// Where the paper contradicts itself about it: what no result can agree with.
    fn contradiction(&self) -> Option<&'static str> {
        None
    }
    /// The scale that it has when this one is asked for: a recording keeps its own.
    fn scale(&self, asked: Scale) -> Scale {
        asked
    }
    /// The arrays to run.
    fn setup(&self, scale: Scale) -> Vec<Trial>;
    /// What their outcomes, in the order of the setup, amount to.
    fn findings(&self, scale: Scale, trials: &[Trialled]) -> Findings;
}
