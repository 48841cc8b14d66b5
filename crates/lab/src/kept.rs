//! What is kept of a run: enough to see what came out, and to run it again.

use std::path::Path;

use serde::Serialize;

use crate::experiment::Provenance;
use crate::files::{result_files, result_names};
use crate::outcome::Outcome;
use crate::scenario::Scenario;
use crate::sweep::identity;

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
    /// Everything that the run leaves in its directory, by name.
    files: Vec<String>,
}

/// The file that says what a run was; without it a directory is no run's, or one that was cut short.
pub const RUN_FILE: &str = "run.json";

/// Files of one run, and the directory that they belong into.
#[derive(Clone, Debug)]
pub struct KeptRun {
    /// `runs/NAME-seedN`, see [`KeptRun::new`] and [`KeptRun::of_scenario`].
    pub directory: String,
    /// Each file's name and text; the last one is [`RUN_FILE`].
    pub files: Vec<(String, String)>,
}

impl KeptRun {
    /// Of a run of an experiment, of what came of the array number `which` of a scenario. The name is lower-case letters, digits, dots
    /// and dashes of `name`, which tell the runs of experiments apart.
    pub fn new(name: &str, scenario: &Scenario, which: usize, outcome: &Outcome, from: &Provenance) -> Self {
        Self::at(&plain(name), scenario, which, outcome, from)
    }

    /// Of what came of the array number `which` of somebody's scenario. The name follows from those of the scenario and the array,
    /// and no two pairs of these have the same one.
    pub fn of_scenario(scenario: &Scenario, which: usize, outcome: &Outcome, from: &Provenance) -> Self {
        Self::at(&of_pair(scenario.name(), &outcome.array), scenario, which, outcome, from)
    }

    /// Where a run of the array of that name would be kept, if it is of somebody's scenario.
    pub fn directory_of(scenario: &Scenario, array: &str, seed: u64) -> String {
        directory(&of_pair(scenario.name(), array), seed)
    }

    /// The names that a run of this scenario has in its directory: its files, and that of the trace that it plays, to which a link leads.
    pub fn names(scenario: &Scenario) -> Vec<String> {
        let trace = scenario.trace().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        let results = result_names(scenario).into_iter().map(str::to_owned);
        results.chain(trace).chain([RUN_FILE.to_owned()]).collect()
    }

    fn at(name: &str, scenario: &Scenario, which: usize, outcome: &Outcome, from: &Provenance) -> Self {
        let about = About {
            schema: SCHEMA,
            scenario: &outcome.scenario,
            array: &outcome.array,
            seed: outcome.seed,
            version: &from.version,
            commit: &from.commit,
            files: Self::names(scenario),
        };
        let about = serde_json::to_string_pretty(&about).expect("it is a plain struct") + "\n";
        let results = result_files(&scenario.of_run(which, outcome.seed), outcome);
        let files = results.into_iter().chain([(RUN_FILE.to_owned(), about)]).collect();
        Self { directory: directory(name, outcome.seed), files }
    }
}

fn directory(name: &str, seed: u64) -> String {
    format!("runs/{name}-seed{seed}")
}

/// A name that every file system takes, no shell needs quoted and nobody hides.
fn plain(name: &str) -> String {
    let plain = name.to_ascii_lowercase();
    let words = plain.split(|c: char| !c.is_ascii_alphanumeric() && c != '.');
    let joined = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-");
    joined.trim_start_matches(['.', '-']).into()
}

/// Letters of each name that are kept: file systems take 255 for a name.
const LONGEST: usize = 80;

/// The name for an array of a scenario, another one for each pair. Plain names stay as they are, and are told apart by the first
/// dash, or where the first name has dashes by two of them, which no plain name has. Of all others a number says what is lost.
fn of_pair(scenario: &str, array: &str) -> String {
    let is_plain = |name: &str| !name.is_empty() && name.len() <= LONGEST && plain(name) == name;
    if is_plain(scenario) && is_plain(array) {
        return format!("{scenario}{}{array}", if scenario.contains('-') { "--" } else { "-" });
    }
    let number = identity::of_texts(&[scenario, array]);
    let kept = [scenario, array].map(|name| plain(name).chars().take(LONGEST).collect::<String>());
    let words: Vec<_> = kept.iter().filter(|name| !name.is_empty()).map(String::as_str).collect();
    format!("{}_{number}", words.join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{EXPERIMENTS, Scale};
    use std::collections::BTreeSet;

    #[test]
    fn names_are_plain() {
        assert_eq!(plain("swan/fig5 Log-RAID0, drives of 140 MB/s"), "swan-fig5-log-raid0-drives-of-140-mb-s");
        assert_eq!(plain("../a b"), "a-b");
    }

    #[test]
    fn each_scenario_and_array_has_a_name_of_its_own() {
        for (scenario, array, name) in [
            ("tiny", "swan", "tiny-swan"),
            ("tiny", "log-raid", "tiny-log-raid"),
            ("triple-a", "auto", "triple-a--auto"),
            ("b", "swan", "b-swan"),
        ] {
            assert_eq!(of_pair(scenario, array), name);
        }
        let long = ["x".repeat(300), "x".repeat(301)];
        let names = [
            "b", "\u{e4} b", "\u{f6} b", "B", "a b", "a-b", "a--b", "-b", "b-", ".b", "..", ".", "../x y", "x/y", "",
            " ", "_", "b_", "\u{4e2d}", &long[0], &long[1],
        ];
        let mut found = BTreeSet::new();
        for scenario in names {
            for array in names {
                let name = of_pair(scenario, array);
                let is_good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || ".-_".contains(c);
                assert!(name.chars().all(is_good) && !name.starts_with(['.', '-']) && name.len() < 200, "{name}");
                assert!(found.insert(name.clone()), "{scenario:?} and {array:?}: {name} is another one's");
            }
        }
    }

    #[test]
    fn runs_of_an_experiment_have_names_of_their_own() {
        for experiment in EXPERIMENTS {
            let trials = experiment.setup(Scale::new(experiment.about().divisor).expect("it is in bounds"));
            let names: BTreeSet<String> = trials.iter().map(|trial| plain(&trial.name)).collect();
            let runs: BTreeSet<_> = trials.iter().map(|trial| (plain(&trial.name), &trial.scenario)).collect();
            assert_eq!(names.len(), runs.len(), "{}: {names:?}", experiment.about().id);
        }
    }
}
