//! Copies of what is new in unfinished stripes: by the rule, and always.

use cygnus_lab::{Outcome, Scale, Scenario, experiment, run};

/// Writes of 256 KiB with a flush each to 4+1 drives, with copies always or by the rule.
fn flushed_writes(how: &str) -> Outcome {
    let figure = experiment("beyond/crossover").expect("it is registered");
    let trials = figure.setup(Scale::new(16.0).expect("it is in bounds"));
    let name = format!("fusion, {how}, 4+1, 256 KiB");
    let trial = trials.iter().find(|trial| trial.name == name).expect("it is set up");
    let text = trial.scenario.replacen("duration = \"250ms\"", "duration = \"60ms\"", 1);
    let scenario = Scenario::parse("copies.toml", &text).unwrap_or_else(|error| panic!("{error}"));
    run(&scenario, 0, 1, |_| {}).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn large_writes_are_copied_only_where_a_scenario_says_so() {
    let [always, by_rule] = ["always copies", "by its rule"].map(flushed_writes);
    let sent = |outcome: &Outcome| outcome.array_write_amplification_milli.expect("clients wrote");
    assert!(sent(&by_rule) < 1500, "a row of chunks and its parity: {}", sent(&by_rule));
    assert!(sent(&always) > 1900, "each block is written twice: {}", sent(&always));
}
