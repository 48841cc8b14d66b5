//! An experiment whose drives do one thing more than their preset says.

use super::findings::{About, Experiment, Findings, Trial, Trialled};
use super::mechanism::Mechanism;
use super::scale::{Scale, Scales};
use crate::error::ScenarioError;
use crate::scenario::Scenario;

/// An experiment with a [`Mechanism`] in all modelled drives of flash. It is judged by the same published lines, but no cause of a
/// difference is tried, as causes are about the drives as they are.
pub struct WithMechanism {
    of: &'static dyn Experiment,
    mechanism: Mechanism,
}

/// Why an experiment cannot be run with a mechanism.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Unfit {
    /// It is computed.
    #[error("{0} runs nothing: it has no drives that a mechanism could be switched on in")]
    NothingIsRun(&'static str),
    /// Its drives are others.
    #[error("{0} has no modelled drives of flash, and only these have mechanisms")]
    NoFlash(&'static str),
    /// It is about mechanisms.
    #[error("{0} switches each mechanism on by itself: run it without one")]
    OfMechanisms(&'static str),
    /// Its drives cannot do it.
    #[error(
        "{id}, {divisor} times smaller than the paper's, cannot be run with the mechanism {mechanism}: {}; give a smaller --scale",
        error.message
    )]
    Drives {
        /// Which.
        id: &'static str,
        /// How many times smaller.
        divisor: f64,
        /// Which one its drives cannot have.
        mechanism: &'static str,
        /// Why.
        error: ScenarioError,
    },
}

impl WithMechanism {
    /// An experiment with a mechanism, if that makes sense at these scales.
    ///
    /// # Errors
    /// When it does not.
    pub fn new(of: &'static dyn Experiment, mechanism: Mechanism, scales: impl Into<Scales>) -> Result<Self, Unfit> {
        let (id, scales) = (of.about().id, scales.into());
        if of.is_about_mechanisms() {
            return Err(Unfit::OfMechanisms(id));
        }
        let mut is_anywhere = None;
        for scale in std::iter::once(scales.first).chain(scales.second) {
            let scale = of.scale(scale);
            for trial in of.setup(scale) {
                let with = with(id, mechanism, &trial, scale);
                let unfit = |error| Unfit::Drives { id, divisor: scale.divisor(), mechanism: mechanism.name(), error };
                is_anywhere = Some(is_anywhere.unwrap_or(false) | with.map_err(unfit)?.is_some());
            }
        }
        match is_anywhere {
            None => Err(Unfit::NothingIsRun(id)),
            Some(false) => Err(Unfit::NoFlash(id)),
            Some(true) => Ok(Self { of, mechanism }),
        }
    }
}

/// The scenario of a trial with a mechanism, one that can be run; nothing if it has no drives for it.
fn with(id: &str, mechanism: Mechanism, trial: &Trial, scale: Scale) -> Result<Option<String>, ScenarioError> {
    let with = mechanism.switched_on(id, &trial.scenario, scale)?;
    with.map(|text| Scenario::parse(id, &text).map(|scenario| scenario.text)).transpose()
}

impl Experiment for WithMechanism {
    fn about(&self) -> About {
        self.of.about()
    }

    fn contradiction(&self) -> Option<&'static str> {
        self.of.contradiction()
    }

    fn mechanism(&self) -> Option<Mechanism> {
        Some(self.mechanism)
    }

    fn scale(&self, asked: Scale) -> Scale {
        self.of.scale(asked)
    }

    fn second_scale(&self, first: Scale) -> Option<Scale> {
        self.of.second_scale(first)
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        let switched_on = |trial: Trial| {
            let scenario = self.mechanism.switched_on(self.about().id, &trial.scenario, self.scale(scale));
            let scenario = scenario.ok().flatten().unwrap_or(trial.scenario);
            Trial { scenario, ..trial }
        };
        self.of.setup(scale).into_iter().map(switched_on).collect()
    }

    fn findings(&self, scale: Scale, trials: &[Trialled]) -> Findings {
        let mut found = self.of.findings(scale, trials);
        found.supposed.clear();
        for chart in &mut found.charts {
            chart.title = self.mechanism.titled(&chart.title);
        }
        found.notes.push(format!(
            "{}: that is the mechanism {}, which the drives of this experiment do not have by themselves. The verdict is held \
             against none that was recorded, and no supposed cause was tried.",
            self.mechanism.about(),
            self.mechanism.name()
        ));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::experiment;

    fn with(id: &str, mechanism: Mechanism) -> Result<WithMechanism, Unfit> {
        let of = experiment(id).expect("it is registered");
        WithMechanism::new(of, mechanism, Scale::new(of.about().divisor).expect("it is in bounds"))
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let why = |id, mechanism| with(id, mechanism).err().map(|why| why.to_string()).unwrap_or_default();
        let computed = "swan/model runs nothing: it has no drives that a mechanism could be switched on in";
        assert_eq!(why("swan/model", Mechanism::BURSTS), computed);
        let disk = "salsa/fig4 has no modelled drives of flash, and only these have mechanisms";
        assert_eq!(why("salsa/fig4", Mechanism::BURSTS), disk);
        let itself = "beyond/mechanisms switches each mechanism on by itself: run it without one";
        assert_eq!(why("beyond/mechanisms", Mechanism::BURSTS), itself);
        let small = why("triple-a/fig1", Mechanism::UNEQUAL);
        let begin =
            "triple-a/fig1, 512 times smaller than the paper's, cannot be run with the mechanism unequal: of unequal";
        assert!(small.starts_with(begin) && small.ends_with("; give a smaller --scale"), "{small}");
    }

    #[test]
    fn all_drives_of_an_experiment_get_it_and_trials_keep_their_names() {
        let figure = with("swan/fig12", Mechanism::SPARE_7_4).unwrap_or_else(|why| panic!("{why}"));
        let scale = Scale::new(figure.about().divisor).expect("it is in bounds");
        let (of, trials) = (figure.of.setup(scale), figure.setup(scale));
        assert!(of.iter().zip(&trials).all(|(of, trial)| of.name == trial.name && of.scenario != trial.scenario));
        assert!(trials.iter().all(|trial| trial.scenario.contains("spare = 0.074\n")));
        // What was to show a cause with another spare is the same run as what is judged.
        assert_eq!(trials[0].scenario, trials[2].scenario);
    }
}
