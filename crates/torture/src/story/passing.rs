//! Trouble that passes: any number of members, all of them too, do not do their work for a while.
//!
//! Drawn after all the rest, and only for stories in which nothing is lost for good: then nothing excuses an error, and the
//! array must serve again by itself when the trouble is over.

use cygnus_runtime::Rng;
use cygnus_types::Nanos;

use super::away::{Passing, Sort};
use super::regroup::Regroup;
use super::{Shape, Story, Tier};

/// One story in so many of those in which nothing is lost has trouble that passes.
const ONE_IN: u64 = 2;

/// Adds trouble that passes to the story of a seed.
pub(super) fn draw(story: &mut Story, seed: u64, tier: Tier) {
    let mut rng = Rng::new(seed ^ 0x7061_7373);
    if !tier.has(Tier::Passing, rng.chance(1, ONE_IN)) || !story.loses_nothing() {
        return;
    }
    let shape = story.shape.clone();
    for cycle in &mut story.cycles {
        for _ in 0..rng.below(3) {
            let magnitude = 10 + rng.below(16);
            let at = Nanos(rng.below(1 << magnitude));
            let sort = |rng: &mut Rng| Sort::LOSSLESS[rng.below(Sort::LOSSLESS.len() as u64) as usize];
            let passing = random(&mut rng, &shape, sort);
            cycle.passing.push((at, passing));
        }
        // As an operator who wants errors rather than patience.
        if !cycle.passing.is_empty() && rng.chance(1, 4) {
            cycle.suspended_for = Some(Nanos::millis([0, 100, 3_000][rng.below(3) as usize]));
        }
    }
}

/// One story in so many of those that may has members that lose their power for a moment.
const OUTAGES_ONE_IN: u64 = 3;

/// Adds outages of members to the story of a seed. A scrub that is judged by what devices hold, and a group that cannot leave
/// because of blocks that are lost, are left to other stories.
pub(super) fn draw_outages(story: &mut Story, seed: u64, tier: Tier) {
    let mut rng = Rng::new(seed ^ 0x6F75_7461);
    let leaves = |(_, what): &(Nanos, Regroup)| matches!(what, Regroup::Retire(_) | Regroup::Refresh(..));
    let may = |cycle: &super::Cycle| !cycle.scrubs.first && !cycle.regroups.iter().any(leaves);
    let may = story.loses_nothing() && story.salvage.is_empty() && story.cycles.iter().all(may);
    let is_drawn = match tier {
        // In the other half of these, members are absent when the array is opened.
        Tier::Copies | Tier::Tight => rng.chance(1, 2),
        _ => tier.has(Tier::Outages, rng.chance(1, OUTAGES_ONE_IN)),
    };
    if !may || !is_drawn {
        return;
    }
    let shape = story.shape.clone();
    for cycle in &mut story.cycles {
        let outages = if tier == Tier::Copies { 2 + rng.below(6) } else { rng.below(4) };
        for _ in 0..outages {
            let magnitude = 10 + rng.below(16);
            let at = Nanos(rng.below(1 << magnitude));
            cycle.passing.push((at, random(&mut rng, &shape, |_| Sort::Unpowered)));
        }
    }
}

fn random(rng: &mut Rng, shape: &Shape, sort: impl Fn(&mut Rng) -> Sort) -> Passing {
    let (members, group) = (shape.members(), rng.below(shape.groups.into()) as usize);
    let of_group: Vec<usize> = shape.devices_of(group).collect();
    let mut some = |all: Vec<usize>| -> Vec<usize> { all.into_iter().filter(|_| rng.chance(1, 2)).collect() };
    let (few, scattered) = (some(of_group.clone()), some((0..members).collect()));
    let mut concerned = match rng.below(4) {
        0 => (0..members).collect(),
        1 => of_group,
        2 => few,
        _ => scattered,
    };
    if concerned.is_empty() {
        concerned.push(rng.below(members as u64) as usize);
    }
    let span = Nanos::millis([1, 50, 900, 1_500, 5_000, 20_000][rng.below(6) as usize]);
    Passing { sort: sort(rng), span, members: concerned }
}

impl Story {
    /// Whether no device and nothing on a device is ever lost for good.
    pub(super) fn loses_nothing(&self) -> bool {
        let harmless = |cycle: &super::Cycle| {
            cycle.ruins.is_empty()
                && cycle.at_rest.iter().all(|harm| harm.what.is_harmless())
                && cycle.during.iter().all(|(_, harm)| harm.what.is_harmless())
        };
        self.cycles.iter().all(harmless)
    }
}
