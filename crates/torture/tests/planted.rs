//! Bugs planted in the engine are caught, and each becomes a short story that still shows the bug.
//!
//! Each has the stories that are about what it breaks: those catch it after few seeds, where among stories about everything it
//! took hundreds.

// Builds without debug assertions have no such bugs.
#![cfg(debug_assertions)]

use std::time::Instant;

use cygnus_engine::planted::{Bug, plant};
use cygnus_torture::{Effort, Plant, Story, Tier, replay, shorten};

/// Seeds after which a bug must have been caught.
const SEEDS: u64 = 400;
/// Seeds run at a time. The shortest story that fails is made shorter: a few more seeds cost less than making a long one short.
const BATCH: u64 = 32;
/// The same where stories need not be short.
const FEW: u64 = 2;
/// Failing stories that may be made short: in some so much goes on at once that the effort does not suffice.
const TRIES: usize = 4;
/// Runs that making one story short may take.
const RUNS: u64 = 600;
/// A story with fewer lines is short.
const SHORT: usize = 120;
/// The same where a bug shows only after much has been written, or while much goes on at once, and where making a story short takes
/// hundreds of runs.
const LONG: usize = 2000;

/// The stories, of the first seeds that catch a bug, that end badly: those with the fewest lines first.
fn caught(bug: Bug, tier: Tier, from: u64, batch: u64) -> Vec<Story> {
    for start in (from..from + SEEDS).step_by(batch as usize) {
        let stories = (start..start + batch).map(|seed| Story::about(tier, seed));
        let mut failed: Vec<_> =
            stories.filter_map(|story| Some((replay(&story, Plant::Nothing).failure?, story))).collect();
        if let Some((failure, _)) = failed.first() {
            eprintln!("{bug:?}: {} of {batch} seeds from {start} on: {failure}", failed.len());
            failed.sort_by_key(|(_, story)| lines(story));
            return failed.into_iter().map(|(_, story)| story).collect();
        }
    }
    panic!("{bug:?} is not caught by {SEEDS} seeds of {tier:?} from {from} on")
}

fn lines(story: &Story) -> usize {
    story.to_string().lines().count()
}

/// Plants a bug, and sees it caught by stories of a tier, in one of fewer than `most` lines.
fn is_caught(bug: Bug, tier: Tier, most: usize) {
    is_caught_from(0, bug, tier, most);
}

/// The same where the first seeds are known not to catch it: they need not be run each time.
fn is_caught_from(from: u64, bug: Bug, tier: Tier, most: usize) {
    let begun = Instant::now();
    plant(Some(bug));
    let stories = caught(bug, tier, from, if most == SHORT { BATCH } else { FEW });
    let effort = Effort { runs: RUNS, lines: most };
    let short = |story: &Story| shorten(story, Plant::Nothing, effort).expect("the story fails again");
    let short = stories.iter().take(TRIES).map(short).find(|short| lines(&short.story) < most);
    let short = short.unwrap_or_else(|| panic!("{bug:?}: no story of {TRIES} has fewer than {most} lines"));
    let text = short.story.to_string();
    eprintln!("{bug:?}: {} runs, {:?}: {}", short.tried, begun.elapsed(), short.failure);
    let again: Story = text.parse().expect("what is written can be read");
    let failure = replay(&again, Plant::Nothing).failure.expect("it ends badly, as the story that it was written from");
    assert_eq!(failure.kind(), short.failure.kind());
    plant(None);
    assert_eq!(replay(&again, Plant::Nothing).failure, None, "without the bug the story ends well:\n{text}");
}

/// Arrays of members with zones keep backups where a group has none.
#[test]
fn copies_beside_zones_that_nobody_looks_for() {
    is_caught(Bug::BackupsIgnored, Tier::Zoned, LONG);
}

#[test]
fn copies_on_members_with_zones() {
    is_caught(Bug::BackupsInZones, Tier::Zoned, LONG);
}

#[test]
fn checksums_that_are_skipped() {
    is_caught_from(32, Bug::ChecksumSkipped, Tier::Plain, SHORT);
}

#[test]
fn a_victim_freed_too_early() {
    is_caught(Bug::VictimFreedUnflushed, Tier::Plain, SHORT);
}

#[test]
fn a_victim_freed_while_stripes_are_being_filled() {
    is_caught(Bug::ReleasedBeforeFull, Tier::Plain, SHORT);
}

#[test]
fn rows_without_parity() {
    is_caught(Bug::LastRowWithoutParity, Tier::Plain, SHORT);
}

#[test]
fn old_writes_that_win() {
    is_caught(Bug::OldestWriteWins, Tier::Plain, SHORT);
}

#[test]
fn scrubs_that_forget_parity() {
    is_caught_from(96, Bug::ScrubForgetsParity, Tier::Scrubs, LONG);
}

#[test]
fn a_successor_that_misses_writes() {
    is_caught_from(52, Bug::SuccessorMissesWrites, Tier::Standby, LONG);
}

#[test]
fn writes_that_are_owed_and_forgotten() {
    is_caught(Bug::OwedIsForgotten, Tier::Passing, SHORT);
}

#[test]
fn members_that_come_back_unseen() {
    is_caught_from(32, Bug::ComesBackUnseen, Tier::Outages, SHORT);
}

#[test]
fn copies_that_nobody_looks_for() {
    is_caught(Bug::BackupsIgnored, Tier::Copies, SHORT);
}

#[test]
fn descriptions_beside_copies_that_nobody_reads() {
    is_caught_from(376, Bug::BesideUnread, Tier::Copies, LONG);
}

#[test]
fn copies_that_are_overwritten_too_early() {
    is_caught(Bug::BackupsOverwritten, Tier::Copies, SHORT);
}

#[test]
fn parity_that_leaves_out_what_rows_held_before() {
    is_caught_from(544, Bug::ParityOfNewOnly, Tier::Copies, LONG);
}

#[test]
fn copies_that_a_member_was_not_there_for() {
    is_caught_from(32, Bug::CopiesOfTheAbsent, Tier::Copies, SHORT);
}

#[test]
fn parity_of_copies_that_are_not_there() {
    is_caught_from(32, Bug::ConvertedUncopied, Tier::Copies, LONG);
}

#[test]
fn zeros_that_a_salvage_invents() {
    is_caught(Bug::SalvageInventsZeros, Tier::Salvage, SHORT);
}

#[test]
fn a_group_that_leaves_too_early() {
    is_caught(Bug::GroupLeavesTooEarly, Tier::Growth, SHORT);
}

#[test]
fn pages_that_are_written_once() {
    is_caught(Bug::PagesOnce, Tier::Rot, SHORT);
}

#[test]
fn sparse_pages_that_are_written_whole() {
    is_caught(Bug::SparsePagesWhole, Tier::Sparse, LONG);
}

#[test]
fn checkpoints_without_a_reserve() {
    is_caught_from(42, Bug::CheckpointUnreserved, Tier::Sparse, LONG);
}

#[test]
fn members_readmitted_as_if_they_had_all() {
    is_caught(Bug::ReadmittedAsWhole, Tier::Force, SHORT);
}

#[test]
fn lost_blocks_that_count_as_unwritten() {
    is_caught(Bug::LostCountsAsUnwritten, Tier::Force, LONG);
}

#[test]
fn losses_that_recovery_overlooks() {
    is_caught(Bug::LossIsOverlooked, Tier::Beyond, SHORT);
}

#[test]
fn remains_of_a_killed_process_that_stay_behind() {
    is_caught(Bug::RemainsStayBehind, Tier::Plain, SHORT);
}

#[test]
fn what_is_replaced_and_counted_on() {
    is_caught(Bug::ReplacedCountsOn, Tier::Plain, SHORT);
}

#[test]
fn answers_that_come_too_early() {
    is_caught(Bug::AnswersTooEarly, Tier::Plain, SHORT);
}

#[test]
fn blocks_that_move_to_and_fro() {
    is_caught_from(96, Bug::MovesUnrested, Tier::Contention, SHORT);
}

#[test]
fn a_constraint_that_is_ignored() {
    is_caught(Bug::ConstraintIgnored, Tier::Media, LONG);
}

#[test]
fn blocks_that_leave_flash_over_what_was_written() {
    is_caught_from(84, Bug::DemotedBlindly, Tier::Hybrid, LONG);
}
