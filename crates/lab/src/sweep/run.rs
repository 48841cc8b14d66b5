//! One run of a sweep.

use super::identity::{Traces, identity};
use crate::error::LabError;
use crate::outcome::Outcome;
use crate::run::{Progress, run};
use crate::scenario::Scenario;
use std::fmt;
use std::path::Path;
use toml::Value;

/// Why a run of a sweep did not come to its end. Its words have no file and line: those of a scenario that was made up for a run are of
/// no use to anybody.
#[derive(Debug)]
pub struct RunFailed(pub LabError);

impl fmt::Display for RunFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            LabError::Scenario(error) => f.write_str(&error.message),
            error => error.fmt(f),
        }
    }
}

impl std::error::Error for RunFailed {}

/// One array under one seed, with one value of each key that varies.
#[derive(Clone, Debug)]
pub struct SweepRun {
    /// Follows from what is simulated, and from nothing else.
    pub id: String,
    /// Decides all random choices.
    pub seed: u64,
    /// Keys that vary, and their values here.
    pub values: Vec<(String, Value)>,
    scenario: Scenario,
}

impl SweepRun {
    pub(super) fn new(scenario: Scenario, seed: u64, values: Vec<(String, Value)>, traces: &mut Traces) -> Self {
        let trace = scenario.trace().and_then(|path| traces.of(path));
        Self { id: identity(&scenario.whole_text(), trace, seed), seed, values, scenario }
    }

    /// The array's name.
    pub fn array(&self) -> &str {
        self.scenario.arrays().next().expect("the scenario has this one array").name()
    }

    /// What is run: a scenario of the one array, with the seed and the values in it.
    pub fn scenario(&self) -> Scenario {
        self.scenario.of_run(0, self.seed)
    }

    /// Runs it; `progress` is called now and then.
    ///
    /// # Errors
    /// As of [`run`].
    pub fn carry_out(&self, progress: impl Fn(Progress) + 'static) -> Result<Outcome, RunFailed> {
        run(&self.scenario, 0, self.seed, progress).map_err(RunFailed)
    }

    /// The trace that it plays, if that is a file.
    pub fn trace(&self) -> Option<&Path> {
        self.scenario.trace()
    }

    /// Virtual time that is measured.
    pub fn duration(&self) -> cygnus_types::Nanos {
        self.scenario.duration()
    }
}

impl fmt::Display for SweepRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (key, value) in &self.values {
            write!(f, "{key} = {value}, ")?;
        }
        write!(f, "array {}, seed {}", self.array(), self.seed)
    }
}
