//! What an experiment is, and what it finds.

use super::causal::Change;
use super::mechanism::Mechanism;
use super::scale::Scale;
use crate::chart::{Chart, Scheme};
use crate::outcome::Outcome;

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
    /// With how many seeds each array is run unless one asks for another number: six tell the median with 97 %
    /// ([`super::confidence`]); those that take long have fewer.
    pub seeds: u32,
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

/// A published number of ours.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found {
    pub panel: String,
    pub series: String,
    pub ours: f64,
}

/// A number of ours that was not published.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Extra {
    pub what: String,
    pub unit: &'static str,
    pub ours: f64,
}

/// A cause that is supposed, should a published number not be ours.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Supposed {
    pub panel: String,
    pub series: String,
    pub cause: &'static str,
    /// Places of trials: as it is judged, and with the cause changed.
    pub trials: Vec<(usize, usize)>,
    /// What was changed where no trial is run.
    pub changed: Vec<Change>,
    pub ours: f64,
}

/// What an experiment found with one seed.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// Figures.
    pub charts: Vec<Chart>,
    /// What a reader should know about it.
    pub notes: Vec<String>,
    pub(super) found: Vec<Found>,
    pub(super) extra: Vec<Extra>,
    pub(super) supposed: Vec<Supposed>,
}

impl Findings {
    /// Figures and remarks, to which numbers are added.
    pub fn new(charts: Vec<Chart>, notes: Vec<String>) -> Self {
        Self { charts, notes, ..Self::default() }
    }

    /// Ours of the published line with these names.
    pub fn published(&mut self, panel: &str, series: impl Into<String>, ours: f64) {
        self.found.push(Found { panel: panel.into(), series: series.into(), ours });
    }

    /// A number of ours that was not published.
    pub fn number(&mut self, what: impl Into<String>, unit: &'static str, ours: f64) {
        self.extra.push(Extra { what: what.into(), unit, ours });
    }

    /// Should the published line with these names fail: its number when the cause is changed. `trials` are places in the
    /// setup, as it is judged and with the cause changed.
    pub fn supposed(
        &mut self,
        (panel, series): (&str, &str),
        cause: &'static str,
        trials: &[(usize, usize)],
        ours: f64,
    ) {
        let (panel, series) = (panel.into(), series.into());
        self.supposed.push(Supposed { panel, series, cause, trials: trials.into(), changed: Vec::new(), ours });
    }

    /// [`Findings::supposed`] of something that is computed, not run.
    pub fn supposed_of(&mut self, (panel, series): (&str, &str), cause: &'static str, changed: Change, ours: f64) {
        let (panel, series) = (panel.into(), series.into());
        self.supposed.push(Supposed { panel, series, cause, trials: Vec::new(), changed: vec![changed], ours });
    }
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
    /// The scale at which it is run as well, so that the size of its drives decides no verdict: half as large. None where runs are the
    /// same at any scale, since nothing is run or a recording has its own.
    fn second_scale(&self, first: Scale) -> Option<Scale> {
        let second = first.smaller(2.0);
        let scenarios = |scale| self.setup(scale).into_iter().map(|trial| trial.scenario);
        (!scenarios(first).eq(scenarios(second))).then_some(second)
    }
    /// What drives do in it beyond their preset.
    fn mechanism(&self) -> Option<Mechanism> {
        None
    }
    /// Whether it switches mechanisms on by itself, each in trials of its own.
    fn is_about_mechanisms(&self) -> bool {
        false
    }
    /// The arrays to run.
    fn setup(&self, scale: Scale) -> Vec<Trial>;
    /// What their outcomes with one seed, in the order of the setup, amount to.
    fn findings(&self, scale: Scale, trials: &[Trialled]) -> Findings;
}
