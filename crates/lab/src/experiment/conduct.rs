//! Conducts experiments: runs what they set up, and hands them what came out.

use std::cell::RefCell;
use std::rc::Rc;

use super::verdict::SCHEMA;
use super::{Experiment, Findings, Measured, Scale, Trial, Trialled, Verdict};
use crate::error::LabError;
use crate::outcome::Outcome;
use crate::run::{Progress, run};
use crate::scenario::Scenario;

/// Where a running experiment is.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The trial's name.
    pub trial: String,
    /// Which one it is, from 0, and of how many.
    pub number: (usize, usize),
    /// Virtual time that it is measured for.
    pub duration: cygnus_types::Nanos,
    /// How far it is.
    pub progress: Progress,
}

/// Runs experiments one after the other. Several figures look at the same runs: each is run once.
#[derive(Default)]
pub struct Laboratory {
    known: RefCell<Vec<(String, u64, Rc<Outcome>)>>,
}

impl Laboratory {
    /// Runs an experiment; `progress` is called now and then.
    ///
    /// # Errors
    /// As of [`run`].
    pub fn conduct(
        &self,
        experiment: &dyn Experiment,
        scale: Scale,
        seed: u64,
        progress: impl Fn(Stage) + Clone + 'static,
    ) -> Result<(Verdict, Findings), LabError> {
        let about = experiment.about();
        let trials = experiment.setup(scale);
        let mut outcomes = Vec::new();
        for (n, trial) in trials.iter().enumerate() {
            outcomes.push(self.outcome(about.id, trial, (n, trials.len()), seed, progress.clone())?);
        }
        let trialled: Vec<Trialled> =
            trials.iter().zip(&outcomes).map(|(trial, outcome)| Trialled { trial, outcome }).collect();
        let findings = experiment.findings(scale, &trialled);
        assert!(!findings.checks.is_empty(), "{}: an experiment without a check cannot fail", about.id);
        let verdict = Verdict {
            schema: SCHEMA,
            id: about.id.into(),
            title: about.title.into(),
            published: about.published.into(),
            scale: scale.divisor(),
            seed,
            holds: findings.checks.iter().all(|check| check.holds),
            checks: findings.checks.clone(),
            numbers: findings.numbers.clone(),
            trials: trialled.iter().map(measured).collect(),
            notes: findings.notes.clone(),
            charts: findings.charts.iter().map(|chart| chart.name.clone()).collect(),
        };
        Ok((verdict, findings))
    }

    fn outcome(
        &self,
        id: &str,
        trial: &Trial,
        number: (usize, usize),
        seed: u64,
        progress: impl Fn(Stage) + 'static,
    ) -> Result<Rc<Outcome>, LabError> {
        let same = |known: &&(String, u64, Rc<Outcome>)| known.0 == trial.scenario && known.1 == seed;
        if let Some((_, _, outcome)) = self.known.borrow().iter().find(same) {
            return Ok(outcome.clone());
        }
        let scenario = Scenario::parse(id, &trial.scenario)?;
        let (duration, name) = (scenario.duration(), trial.name.clone());
        let tell = move |at| progress(Stage { trial: name.clone(), number, duration, progress: at });
        let outcome = Rc::new(run(&scenario, 0, seed, tell)?);
        self.known.borrow_mut().push((trial.scenario.clone(), seed, outcome.clone()));
        Ok(outcome)
    }
}

fn measured(trialled: &Trialled) -> Measured {
    let outcome = trialled.outcome;
    Measured {
        name: trialled.trial.name.clone(),
        drives: format!("{} {}", outcome.drives, outcome.drive),
        write_mb_s: outcome.write_bytes_per_second as f64 / 1e6,
        read_mb_s: outcome.read_bytes_per_second as f64 / 1e6,
        variation_percent: outcome.throughput_variation_milli as f64 / 10.0,
        array_wa: outcome.array_write_amplification_milli as f64 / 1000.0,
        drive_wa: outcome.drive_write_amplification_milli as f64 / 1000.0,
        victims_valid_percent: outcome.victim_valid_milli as f64 / 10.0,
    }
}
