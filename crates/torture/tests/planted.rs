//! Bugs planted in the engine are caught, and each failing seed becomes a short story that still shows the bug.

// Builds without debug assertions have no such bugs.
#![cfg(debug_assertions)]

use cygnus_engine::planted::{Bug, plant};
use cygnus_torture::{Options, Plant, Story, replay, run_seeds, shorten};

/// Failing seeds whose stories may be made short: in some so much goes on at once that the budget does not suffice.
const TRIES: u32 = 4;

/// The shortened story of the first seed from `start` on that fails, and where to look for the next.
fn story_of(bug: Bug, start: u64) -> (String, u64) {
    let options = Options { start, seeds: 1000, jobs: 2, stop_at_failure: true, ..Options::default() };
    let report = run_seeds(&options, |_| {});
    let failed = report.failures.first().unwrap_or_else(|| panic!("{bug:?} is not caught by {} seeds", report.seeds));
    let whole = Story::random(failed.seed);
    let short = shorten(&whole, Plant::Nothing, 600).expect("the seed fails again");
    let text = short.story.to_string();
    eprintln!("{bug:?}, seed {}, {} runs:\n{text}{}\n", failed.seed, short.tried, short.failure);
    assert!(text.lines().count() < whole.to_string().lines().count(), "the story is shorter than it was");
    (text, failed.seed + 1)
}

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
        (Bug::ComesBackUnseen, 120),
        (Bug::SalvageInventsZeros, 120),
        (Bug::GroupLeavesTooEarly, 120),
    ] {
        plant(Some(bug));
        let text = (0..TRIES)
            .scan(0, |start, _| {
                let (story, next) = story_of(bug, *start);
                *start = next;
                Some(story)
            })
            .find(|text| text.lines().count() < most);
        let text = text.unwrap_or_else(|| panic!("{bug:?}: no story of {TRIES} has fewer than {most} lines"));
        let again: Story = text.parse().expect("what is written can be read");
        assert!(replay(&again, Plant::Nothing).failure.is_some());
        plant(None);
        assert_eq!(replay(&again, Plant::Nothing).failure, None, "without the bug the story ends well");
    }
}
