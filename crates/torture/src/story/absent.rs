//! A member that is not there when the array is opened, and is back while it is served.
//!
//! Drawn after all the rest, and only for stories in which nothing is lost for good and nobody else takes a member's place: then
//! it must come back without an operator.

use cygnus_runtime::Rng;
use cygnus_types::Nanos;

use super::{Absent, Cycle, Sort, Story, Tier, What};

/// One story in so many of those that may has it, and then every other opening.
const ONE_IN: u64 = 3;

/// Adds members that are absent, if the seed says so.
pub(super) fn draw(story: &mut Story, seed: u64, tier: Tier) {
    let mut rng = Rng::new(seed ^ 0x6162_7365_6E74);
    let may = story.loses_nothing() && story.places_stay() && story.shape.geometry.parity > 0;
    // What only backups make safe is missed most without a member.
    if !may || !matches!(tier, Tier::Copies | Tier::Tight) && !tier.has(Tier::Passing, rng.chance(1, ONE_IN)) {
        return;
    }
    let members = story.shape.members() as u64;
    for cycle in &mut story.cycles {
        let magnitude = rng.below(31);
        let absent = Absent { member: rng.below(members) as usize, until: Nanos(rng.below(1 << magnitude)) };
        cycle.absent = rng.chance(1, 2).then_some(absent);
    }
}

impl Story {
    /// Whether every place keeps its device, and every device what it has taken.
    pub(super) fn places_stay(&self) -> bool {
        let keeps = |cycle: &Cycle| {
            let unpowered = cycle.passing.iter().any(|(_, trouble)| trouble.sort == Sort::Unpowered);
            let mut harms = cycle.at_rest.iter().chain(cycle.during.iter().map(|(_, harm)| harm));
            let rots = harms.any(|harm| matches!(harm.what, What::Rots(..)));
            !unpowered && !rots && !cycle.scrubs.first && cycle.regroups.is_empty()
        };
        self.salvage.is_empty() && self.shape.spares == 0 && self.cycles.iter().all(keeps)
    }
}
