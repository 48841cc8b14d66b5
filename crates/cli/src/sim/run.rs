//! `cygnus sim run`

use super::show;
use crate::args::sim::RunArgs;
use crate::failure::Failure;
use crate::kept;
use crate::output::Output;
use crate::progress::Runs;
use cygnus_lab::{KeptRun, LabError, Outcome, Scenario};
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
    let (name, text) = super::load(&args.scenario)?;
    let scenario = Scenario::parse(&name, &text).map_err(|error| Failure::Usage(error.to_string()))?;
    let seed = args.seed.unwrap_or(scenario.seed());
    if let Some(dir) = &args.out {
        kept::may_be_left(dir, &scenario, seed)?;
    }
    let names: Vec<String> = scenario.arrays().map(|array| array.name().to_owned()).collect();
    let mut outcomes = Vec::new();
    for (which, name) in names.iter().enumerate() {
        output.detail(&format!("{name} ..."));
        let (part, duration) = (Runs::new(output, 1).part(name.clone()), scenario.duration());
        let outcome = cygnus_lab::run(&scenario, which, seed, move |progress| part.show(progress, duration));
        outcomes.push(outcome.map_err(failure)?);
    }
    // Only now: results of a run that failed would lie beside those of an earlier one.
    for (which, outcome) in outcomes.iter().enumerate() {
        if let Some(dir) = &args.out {
            kept::leave(dir, &KeptRun::of_scenario(&scenario, which, outcome, &kept::provenance()), scenario.trace())?;
        }
    }
    let answer = Answer { scenario: scenario.name().into(), seed, outcomes };
    let place = args.out.as_ref().map_or(String::new(), |dir| format!("Results are in {}/runs.\n", dir.display()));
    output.answer(&answer, |paint| show::text(&answer.outcomes, paint) + &place)
}

fn failure(error: LabError) -> Failure {
    match error {
        LabError::Scenario(error) => Failure::Usage(error.to_string()),
        error => Failure::of(error),
    }
}
