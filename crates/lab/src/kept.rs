//! What is kept of a run: enough to see what came out, and to run it again.

use serde::Serialize;

use crate::experiment::Provenance;
use crate::files::result_files;
use crate::outcome::Outcome;
use crate::scenario::Scenario;

/// Version of `run.json`; rises when a field is removed or changes its meaning.
const SCHEMA: u32 = 1;

/// `run.json`: what a run was, and the program that ran it.
#[derive(Serialize)]
struct About<'a> {
    schema: u32,
    scenario: &'a str,
    array: &'a str,
    seed: u64,
    version: &'a str,
    commit: &'a str,
}

/// Files of one run, and the directory that they belong into.
#[derive(Clone, Debug)]
pub struct KeptRun {
    /// `runs/NAME-seedN`.
    pub directory: String,
    /// Each file's name and text; the last one is the scenario, which runs it again.
    pub files: Vec<(String, String)>,
}

impl KeptRun {
    /// Of what came of the array number `which` of a scenario. The name is lower-case letters, digits, dots and dashes of `name`.
    pub fn new(name: &str, scenario: &Scenario, which: usize, outcome: &Outcome, from: &Provenance) -> Self {
        let about = About {
            schema: SCHEMA,
            scenario: &outcome.scenario,
            array: &outcome.array,
            seed: outcome.seed,
            version: &from.version,
            commit: &from.commit,
        };
        let about = serde_json::to_string_pretty(&about).expect("it is a plain struct") + "\n";
        let results = result_files(&scenario.of_run(which, outcome.seed), outcome);
        let files = std::iter::once(("run.json".to_owned(), about)).chain(results).collect();
        Self { directory: format!("runs/{}-seed{}", file_name(name), outcome.seed), files }
    }
}

/// A name that every file system takes and no shell needs quoted.
fn file_name(name: &str) -> String {
    let plain = name.to_ascii_lowercase();
    let words = plain.split(|c: char| !c.is_ascii_alphanumeric() && c != '.');
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{EXPERIMENTS, Scale};
    use std::collections::BTreeSet;

    #[test]
    fn names_are_plain() {
        assert_eq!(file_name("swan/fig5 Log-RAID0, drives of 140 MB/s"), "swan-fig5-log-raid0-drives-of-140-mb-s");
        assert_eq!(file_name("../a b"), "..-a-b");
    }

    #[test]
    fn runs_of_an_experiment_have_names_of_their_own() {
        for experiment in EXPERIMENTS {
            let trials = experiment.setup(Scale::new(experiment.about().divisor).expect("it is in bounds"));
            let names: BTreeSet<String> = trials.iter().map(|trial| file_name(&trial.name)).collect();
            let runs: BTreeSet<_> = trials.iter().map(|trial| (file_name(&trial.name), &trial.scenario)).collect();
            assert_eq!(names.len(), runs.len(), "{}: {names:?}", experiment.about().id);
        }
    }
}
