//! Conducts experiments: runs what they set up, and hands them what came out.

use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::rc::Rc;
use std::thread;

use super::findings::{Experiment, Trial};
use super::judge::judged;
use super::judgement::Judgement;
use super::mechanism::Mechanism;
use super::page::Provenance;
use super::scale::{Scale, Scales};
use crate::chart::Chart;
use crate::error::LabError;
use crate::kept::KeptRun;
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
    /// Whether it is run for a second scale's sake.
    is_again: bool,
    mechanism: Option<Mechanism>,
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
    /// The trial's name, and its seed.
    pub fn name(&self) -> String {
        format!("{}, seed {}", self.trial_name(), self.seed)
    }

    /// The trial's name; with the scale, where that is a second one, and with the mechanism, where there is one.
    fn trial_name(&self) -> String {
        let scale = if self.is_again { format!(" at 1/{}", self.scale.divisor()) } else { String::new() };
        let mechanism = self.mechanism.map_or_else(String::new, |mechanism| format!(", {}", mechanism.label()));
        format!("{}{scale}{mechanism}", self.trial.name)
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

    /// What is kept of it, once it was carried out.
    ///
    /// # Errors
    /// As of [`Run::carry_out`].
    pub fn kept(&self, outcome: &Outcome, from: &Provenance) -> Result<KeptRun, LabError> {
        let scenario = Scenario::parse(self.experiment, &self.trial.scenario)?;
        let name = format!("{} {}", self.experiment, self.trial_name());
        Ok(KeptRun::new(&name, &scenario, 0, outcome, from))
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
    /// Asks for the trials of an experiment with `count` seeds from `first` on: those that nobody has asked for yet, each with
    /// its number.
    pub fn ask(
        &mut self,
        experiment: &dyn Experiment,
        scales: impl Into<Scales>,
        first: u64,
        count: u32,
    ) -> Vec<(usize, Run)> {
        let (known, scales) = (self.asked.len(), scales.into());
        self.ask_at(experiment, (scales.first, false), first, count);
        if let Some(second) = scales.second {
            self.ask_at(experiment, (second, true), first, count);
        }
        self.asked.iter().cloned().enumerate().skip(known).collect()
    }

    fn ask_at(&mut self, experiment: &dyn Experiment, (scale, is_again): (Scale, bool), first: u64, count: u32) {
        let trials = experiment.setup(scale);
        for seed in seeds(first, count) {
            for trial in &trials {
                if self.number(trial, seed).is_none() {
                    let (mechanism, trial) = (experiment.mechanism(), trial.clone());
                    let experiment = experiment.about().id;
                    self.asked.push(Run { experiment, trial, scale, is_again, mechanism, seed });
                    self.outcomes.push(None);
                }
            }
        }
    }

    /// Takes what came of the trial of that number.
    pub fn learn(&mut self, number: usize, outcome: Outcome) {
        self.outcomes[number] = Some(Rc::new(outcome));
    }

    /// Judges an experiment, and draws it as it is at the first scale; nothing while a trial of it was not run. With a second scale a
    /// check holds if it does so at both.
    pub fn judge(
        &self,
        experiment: &dyn Experiment,
        scales: impl Into<Scales>,
        first: u64,
        count: u32,
    ) -> Option<(Judgement, Vec<Chart>)> {
        let scales = scales.into();
        let (judgement, charts) = self.judge_at(experiment, scales.first, first, count)?;
        let judgement = match scales.second {
            Some(second) => judgement.checked_at(self.judge_at(experiment, second, first, count)?.0),
            None => judgement,
        };
        Some((judgement, charts))
    }

    fn judge_at(
        &self,
        experiment: &dyn Experiment,
        scale: Scale,
        first: u64,
        count: u32,
    ) -> Option<(Judgement, Vec<Chart>)> {
        let trials = experiment.setup(scale);
        let outcome = |trial, seed| self.number(trial, seed).and_then(|number| self.outcomes[number].clone());
        let of = |seed| trials.iter().map(|trial| outcome(trial, seed)).collect::<Option<Vec<_>>>();
        let by_seed: Vec<Vec<Rc<Outcome>>> = seeds(first, count).map(of).collect::<Option<_>>()?;
        Some(judged(experiment, scale, &seeds(first, count).collect::<Vec<_>>(), &trials, &by_seed))
    }

    /// Runs an experiment's trials, one on each core at a time, and judges it.
    ///
    /// # Errors
    /// As of [`run`].
    pub fn conduct(
        &mut self,
        experiment: &dyn Experiment,
        scales: impl Into<Scales>,
        first: u64,
        count: u32,
    ) -> Result<(Judgement, Vec<Chart>), LabError> {
        let scales = scales.into();
        for (number, outcome) in on_all_cores(&self.ask(experiment, scales, first, count))? {
            self.learn(number, outcome);
        }
        Ok(self.judge(experiment, scales, first, count).expect("all of its trials were run"))
    }

    fn number(&self, trial: &Trial, seed: u64) -> Option<usize> {
        self.asked.iter().position(|run| run.is(trial, seed))
    }
}

/// What came of each of these trials. Which core ran it makes no difference: each is a world of its own.
fn on_all_cores(runs: &[(usize, Run)]) -> Result<Vec<(usize, Outcome)>, LabError> {
    let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let share = |core: usize| -> Result<Vec<_>, LabError> {
        runs.iter().skip(core).step_by(cores).map(|(number, run)| Ok((*number, run.carry_out(|_| {})?))).collect()
    };
    let shares: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..cores).map(|core| scope.spawn(move || share(core))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    shares.into_iter().try_fold(Vec::new(), |all, share| Ok([all, share?].concat()))
}

fn seeds(first: u64, count: u32) -> impl Iterator<Item = u64> {
    (0..u64::from(count)).map(move |n| first.wrapping_add(n))
}
