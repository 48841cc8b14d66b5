//! Conducts experiments: runs what they set up, and hands them what came out.

use std::rc::Rc;

use super::verdict::SCHEMA;
use super::{Check, Experiment, Findings, Measured, Scale, Trial, Trialled, Verdict};
use crate::error::LabError;
use crate::outcome::Outcome;
use crate::run::{Progress, run};
use crate::scenario::Scenario;

/// A trial that is to be run. Trials do not know of one another: any number may run side by side, on threads or
/// machines of their own, and what comes out is the same.
#[derive(Clone, Debug)]
pub struct Run {
    /// The experiment that asked for it first.
    pub experiment: &'static str,
    trial: Trial,
    scale: Scale,
    seed: u64,
}

/// Where a running trial is.
#[derive(Clone, Debug)]
pub struct Stage {
    /// Virtual time that it is measured for.
    pub duration: cygnus_types::Nanos,
    /// How far it is.
    pub progress: Progress,
}

impl Run {
    /// The trial's name.
    pub fn name(&self) -> &str {
        &self.trial.name
    }

    /// Runs it; `progress` is called now and then.
    ///
    /// # Errors
    /// As of [`run`]; and when its arrays cannot be so small.
    pub fn carry_out(&self, progress: impl Fn(Stage) + 'static) -> Result<Outcome, LabError> {
        let scenario = Scenario::parse(self.experiment, &self.trial.scenario)?;
        let duration = scenario.duration();
        let ended = run(&scenario, 0, self.seed, move |at| progress(Stage { duration, progress: at }));
        ended.map_err(|error| match error {
            LabError::Scenario(error) => {
                LabError::Scale { experiment: self.experiment, divisor: self.scale.divisor(), error }
            }
            error => error,
        })
    }

    fn is(&self, trial: &Trial, seed: u64) -> bool {
        self.trial.scenario == trial.scenario && self.seed == seed
    }
}

/// What is known of trials. Several figures look at the same ones: each is run once.
#[derive(Default)]
pub struct Laboratory {
    asked: Vec<Run>,
    /// Of each of them, once it was run.
    outcomes: Vec<Option<Rc<Outcome>>>,
}

impl Laboratory {
    /// Asks for the trials of an experiment: those that nobody has asked for yet, each with its number.
    pub fn ask(&mut self, experiment: &dyn Experiment, scale: Scale, seed: u64) -> Vec<(usize, Run)> {
        let first = self.asked.len();
        for trial in experiment.setup(scale) {
            if self.number(&trial, seed).is_none() {
                self.asked.push(Run { experiment: experiment.about().id, trial, scale, seed });
                self.outcomes.push(None);
            }
        }
        self.asked.iter().cloned().enumerate().skip(first).collect()
    }

    /// Takes what came of the trial of that number.
    pub fn learn(&mut self, number: usize, outcome: Outcome) {
        self.outcomes[number] = Some(Rc::new(outcome));
    }

    /// Judges an experiment; nothing while a trial of it was not run.
    pub fn judge(&self, experiment: &dyn Experiment, scale: Scale, seed: u64) -> Option<(Verdict, Findings)> {
        let trials = experiment.setup(scale);
        let known = |trial| self.number(trial, seed).and_then(|number| self.outcomes[number].clone());
        let outcomes: Vec<_> = trials.iter().map(known).collect::<Option<_>>()?;
        let trialled: Vec<Trialled> =
            trials.iter().zip(&outcomes).map(|(trial, outcome)| Trialled { trial, outcome }).collect();
        Some(judged(experiment, scale, seed, &trialled))
    }

    /// Runs an experiment's trials one after the other and judges it.
    ///
    /// # Errors
    /// As of [`run`].
    pub fn conduct(
        &mut self,
        experiment: &dyn Experiment,
        scale: Scale,
        seed: u64,
    ) -> Result<(Verdict, Findings), LabError> {
        for (number, run) in self.ask(experiment, scale, seed) {
            let outcome = run.carry_out(|_| {})?;
            self.learn(number, outcome);
        }
        Ok(self.judge(experiment, scale, seed).expect("all of its trials were run"))
    }

    fn number(&self, trial: &Trial, seed: u64) -> Option<usize> {
        self.asked.iter().position(|run| run.is(trial, seed))
    }
}

fn judged(experiment: &dyn Experiment, scale: Scale, seed: u64, trialled: &[Trialled]) -> (Verdict, Findings) {
    let about = experiment.about();
    let findings = experiment.findings(scale, trialled);
    assert!(!findings.checks.is_empty(), "{}: an experiment without a check cannot fail", about.id);
    let verdict = Verdict {
        schema: SCHEMA,
        id: about.id.into(),
        title: about.title.into(),
        published: about.published.into(),
        scale: experiment.scale(scale).divisor(),
        seed,
        holds: findings.checks.iter().all(|check| check.holds),
        stands: findings.checks.iter().all(Check::stands),
        checks: findings.checks.clone(),
        numbers: findings.numbers.clone(),
        trials: trialled.iter().map(measured).collect(),
        notes: findings.notes.clone(),
        charts: findings.charts.iter().map(|chart| chart.name.clone()).collect(),
    };
    (verdict, findings)
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
