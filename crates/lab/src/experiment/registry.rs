//! All experiments, in the order of the papers.

use super::Experiment;
use crate::{beyond, salsa, scala_afa, serial, swan, triple_a};

/// See the module's text.
pub const EXPERIMENTS: &[&dyn Experiment] = &[
    &swan::Fig1,
    &swan::Fig4a,
    &swan::Fig4b,
    &swan::Fig5,
    &swan::Fig6,
    &swan::Fig7,
    &swan::Fig8,
    &swan::Fig9,
    &swan::Fig10,
    &swan::Fig11,
    &swan::Fig12,
    &swan::Table4,
    &swan::Model,
    &serial::Fig3,
    &serial::Fig6,
    &serial::Fig7,
    &scala_afa::Fig3,
    &scala_afa::Fig9,
    &scala_afa::Fig10,
    &scala_afa::Fig11,
    &scala_afa::Fig12,
    &scala_afa::Fig13,
    &scala_afa::Fig14,
    &scala_afa::Fig15,
    &scala_afa::Fig16,
    &scala_afa::Memory,
    &scala_afa::Amplification,
    &triple_a::Fig1,
    &triple_a::Table2,
    &triple_a::Fig9,
    &triple_a::Fig10,
    &triple_a::Fig11,
    &triple_a::Fig12,
    &triple_a::Fig13,
    &triple_a::Fig14,
    &triple_a::Fig15,
    &triple_a::Fig16,
    &salsa::Table1,
    &salsa::Fig3,
    &salsa::Fig4,
    &salsa::Table2,
    &salsa::Fig5,
    &salsa::Fig6,
    &salsa::Table3,
    &salsa::Table4,
    &salsa::Fig7,
    &beyond::Nvme,
    &beyond::Qlc,
    &beyond::Utilisation,
    &beyond::Mechanisms,
    &beyond::Cores,
    &beyond::Crossover,
    &beyond::AcknowledgedAt,
    &beyond::Regimes,
];

/// The experiment of that id.
pub fn experiment(id: &str) -> Option<&'static dyn Experiment> {
    EXPERIMENTS.iter().copied().find(|experiment| experiment.about().id == id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;
    use crate::experiment::Scale;

    #[test]
    fn experiments_have_ids_of_their_own_and_scenarios_that_make_sense() {
        for (n, experiment) in EXPERIMENTS.iter().enumerate() {
            let about = experiment.about();
            assert!(EXPERIMENTS[..n].iter().all(|other| other.about().id != about.id), "{} twice", about.id);
            assert_eq!(about.id.split('/').count(), 2, "{}", about.id);
            for divisor in [about.divisor, about.divisor * 2.0] {
                for trial in experiment.setup(Scale::new(divisor).expect("it is in bounds")) {
                    let parsed = Scenario::parse(about.id, &trial.scenario);
                    let scenario = parsed.unwrap_or_else(|error| panic!("{error}:\n{}", trial.scenario));
                    assert_eq!(scenario.arrays().len(), 1, "{} {}: one array for a trial", about.id, trial.name);
                }
            }
        }
    }
}
