//! `cygnus sim run`

use super::bar::Bar;
use super::{shipped, show};
use crate::args::sim::RunArgs;
use crate::failure::Failure;
use crate::outfile;
use crate::output::Output;
use cygnus_lab::{LabError, Outcome, Scenario, result_files};
use serde::Serialize;

/// What `sim run` answers.
#[derive(Debug, Serialize)]
struct Answer {
    scenario: String,
    seed: u64,
    /// One for each array of the scenario.
    outcomes: Vec<Outcome>,
}

pub(super) fn run(args: &RunArgs, output: Output) -> Result<(), Failure> {
    let scenario = load(args)?;
    let seed = args.seed.unwrap_or(scenario.seed());
    let names: Vec<String> = scenario.arrays().map(|array| array.name().to_owned()).collect();
    let mut outcomes = Vec::new();
    for (which, name) in names.iter().enumerate() {
        output.detail(&format!("{name} ..."));
        let bar = Bar::new(output, name, scenario.duration());
        let shown = bar.clone();
        let outcome = cygnus_lab::run(&scenario, which, seed, move |progress| shown.show(progress));
        bar.end();
        let outcome = outcome.map_err(failure)?;
        if let Some(dir) = &args.out {
            outfile::write_all(&dir.join(name), &result_files(&scenario, &outcome))?;
        }
        outcomes.push(outcome);
    }
    let answer = Answer { scenario: scenario.name().into(), seed, outcomes };
    let place = args.out.as_ref().map_or(String::new(), |dir| format!("Results are in {}.\n", dir.display()));
    output.answer(&answer, |paint| show::text(&answer.outcomes, paint) + &place)
}

/// The file, or the scenario of that name that comes with the program if there is no such file.
fn load(args: &RunArgs) -> Result<Scenario, Failure> {
    let path = &args.scenario;
    let name = path.display().to_string();
    let text = match (std::fs::read_to_string(path), shipped(&name)) {
        (Ok(text), _) => text,
        (Err(error), Some(example)) if error.kind() == std::io::ErrorKind::NotFound => example.text.into(),
        (Err(error), _) => {
            let remedy = "name a scenario file, or one that 'cygnus sim list' shows";
            return Err(Failure::Usage(format!("{name}: {error}; {remedy}")));
        }
    };
    Scenario::parse(&name, &text).map_err(|error| Failure::Usage(error.to_string()))
}

fn failure(error: LabError) -> Failure {
    match error {
        LabError::Scenario(error) => Failure::Usage(error.to_string()),
        error => Failure::of(error),
    }
}
