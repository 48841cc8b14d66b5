//! R-groups that take turns, cleaned one at a time.

use cygnus_lab::{Outcome, Scale, Scenario, experiment, run};

const PRESET: &str = "preset = \"swan\"\n";
const KEY: &str = "one-group-at-a-time = true\n";

/// SWAN0 of Figure 7 on small drives, with the key or without.
fn swan0(key: &str) -> Outcome {
    let figure = experiment("swan/fig7").expect("it is registered");
    let trials = figure.setup(Scale::new(1024.0).expect("it is in bounds"));
    let text = trials[0].scenario.replacen(KEY, "", 1).replacen(PRESET, &format!("{PRESET}{key}"), 1);
    assert!(text.contains(key), "{text}");
    let scenario = Scenario::parse("swan0.toml", &text).unwrap_or_else(|error| panic!("{error}"));
    run(&scenario, 0, 1, |_| {}).unwrap_or_else(|error| panic!("{error}"))
}

/// The most groups that were being cleaned at the end of an interval.
fn cleaned_at_once(outcome: &Outcome) -> usize {
    let at_once = |sample: &cygnus_lab::Sample| {
        let mut groups: Vec<u64> =
            sample.devices.iter().filter(|device| device.role == "cleaning").map(|device| device.group).collect();
        groups.dedup();
        groups.len()
    };
    outcome.samples.iter().map(at_once).max().unwrap_or(0)
}

#[test]
fn two_groups_are_never_cleaned_at_once_where_the_paper_says_so() {
    let papers = swan0(KEY);
    assert!(papers.victims > 100, "it cleans: {}", papers.victims);
    assert_eq!((papers.victims_beside, cleaned_at_once(&papers)), (0, 1));
    let preset = swan0("");
    assert!(preset.victims_beside > 0, "the preset by itself cleans a second group under this load");
}
