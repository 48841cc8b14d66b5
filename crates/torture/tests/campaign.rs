//! A few seeds on the engine as it is, and the proof that a broken flush is noticed.

use cygnus_sim::FaultKind;
use cygnus_torture::{Options, Plant, Tier, run_seeds};

#[test]
fn some_seeds_end_well() {
    let report = run_seeds(&Options { seeds: 30, jobs: 2, ..Options::default() }, |_| {});
    let stories: Vec<String> = report.failures.iter().map(|f| format!("{}\n{}", f.journal, f.replay)).collect();
    assert!(stories.is_empty(), "{}", stories.join("\n\n"));
    assert_eq!(report.seeds, 30);
    let tally = report.tally;
    assert!(tally.power_cuts > 0 && tally.kills > 0 && tally.members_lost > 0, "{tally:?}");
    assert!(tally.victims > 0 && tally.victims_beside > 0 && tally.victims_helped > 0, "{tally:?}");
}

#[test]
fn open_stripes_in_copies_end_well() {
    let report = run_seeds(&Options { seeds: 20, jobs: 2, tier: Tier::Copies, ..Options::default() }, |_| {});
    let stories: Vec<String> = report.failures.iter().map(|f| format!("{}\n{}", f.journal, f.replay)).collect();
    assert!(stories.is_empty(), "{}", stories.join("\n\n"));
    let cuts = |step| report.coverage.of(FaultKind::PowerCut, step);
    assert!(cuts("replication") > 0, "no power cut met copies that were on their way:\n{}", report.coverage.table());
}

#[test]
fn data_that_moves_out_of_the_way_ends_well() {
    let report = run_seeds(&Options { seeds: 40, jobs: 2, tier: Tier::Contention, ..Options::default() }, |_| {});
    let stories: Vec<String> = report.failures.iter().map(|f| format!("{}\n{}", f.journal, f.replay)).collect();
    assert!(stories.is_empty(), "{}", stories.join("\n\n"));
    assert!(report.tally.rehomed > 0 && report.tally.kills > 0 && report.tally.power_cuts > 0, "{:?}", report.tally);
}

#[test]
fn arrays_on_two_media_end_well() {
    let report = run_seeds(&Options { seeds: 40, jobs: 2, tier: Tier::Media, ..Options::default() }, |_| {});
    let stories: Vec<String> = report.failures.iter().map(|f| format!("{}\n{}", f.journal, f.replay)).collect();
    assert!(stories.is_empty(), "{}", stories.join("\n\n"));
    assert!(report.tally.victims > 0 && report.tally.kills > 0 && report.tally.power_cuts > 0, "{:?}", report.tally);
}

#[test]
fn devices_that_ignore_flushes_are_noticed() {
    let options = Options { seeds: 20, jobs: 2, plant: Plant::FlushesIgnored, ..Options::default() };
    let report = run_seeds(&options, |_| {});
    assert!(report.failures.len() >= 5, "caught by {} of 20 seeds", report.failures.len());
    let first = &report.failures[0];
    assert!(first.journal.contains(&format!("seed {}", first.seed)) && first.replay.contains("--start"), "{first:?}");
}

#[test]
fn a_seed_tells_the_same_story_twice() {
    let run = || {
        let options = Options { start: 7, plant: Plant::FlushesIgnored, seeds: 6, ..Options::default() };
        let report = run_seeds(&options, |_| {});
        let stories: Vec<String> = report.failures.into_iter().map(|f| f.journal).collect();
        (stories, report.tally)
    };
    assert_eq!(run(), run());
}

#[test]
fn after_the_largest_seed_there_is_none() {
    for (start, seeds, run) in [(u64::MAX, 1, 1), (u64::MAX - 1, 5, 2), (u64::MAX, 0, 0)] {
        for jobs in [1, 2] {
            let options = Options { start, seeds, jobs, tier: Tier::Copies, ..Options::default() };
            assert_eq!(run_seeds(&options, |_| {}).seeds, run, "{seeds} from {start} with {jobs} jobs");
        }
    }
}
