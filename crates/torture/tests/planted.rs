//! Bugs planted in the engine are caught, and each failing seed becomes a short story that still shows the bug.

// Builds without debug assertions have no such bugs.
#![cfg(debug_assertions)]

use cygnus_engine::planted::{Bug, plant};
use cygnus_torture::{Options, Plant, Story, replay, run_seeds, shorten};

/// One test, since what is planted is planted for the whole process.
#[test]
fn every_planted_bug_is_caught_and_told_in_a_few_lines() {
    // With the length that a short story may have. What a successor misses shows only where much goes on at once.
    for (bug, most) in [
        (Bug::ChecksumSkipped, 120),
        (Bug::VictimFreedUnflushed, 120),
        (Bug::LastRowWithoutParity, 120),
        (Bug::OldestWriteWins, 120),
        (Bug::ScrubForgetsParity, 120),
        (Bug::SuccessorMissesWrites, 2000),
        (Bug::SalvageInventsZeros, 120),
    ] {
        plant(Some(bug));
        let options = Options { seeds: 400, jobs: 2, stop_at_failure: true, ..Options::default() };
        let report = run_seeds(&options, |_| {});
        let failed =
            report.failures.first().unwrap_or_else(|| panic!("{bug:?} is not caught by {} seeds", report.seeds));
        let short = shorten(&Story::random(failed.seed), Plant::Nothing, 600).expect("the seed fails again");
        let text = short.story.to_string();
        eprintln!(
            "{bug:?}, seed {} after {} seeds, {} runs:\n{text}{}\n",
            failed.seed, report.seeds, short.tried, short.failure
        );
        let (lines, before) = (text.lines().count(), Story::random(failed.seed).to_string().lines().count());
        assert!(lines < most && lines < before, "{lines} lines of {before} are left");
        let again: Story = text.parse().expect("what is written can be read");
        assert!(replay(&again, Plant::Nothing).failure.is_some());
        plant(None);
        assert_eq!(replay(&again, Plant::Nothing).failure, None, "without the bug the story ends well");
    }
}
