//! Stories in which members are replaced by new devices. Drawn apart from the rest, as growth is.

use cygnus_runtime::Rng;
use cygnus_types::Nanos;

use super::{Harm, Regroup, Story, Tier, What};

/// One story in so many has it.
const ONE_IN: u64 = 5;

/// Adds replacements, if the seed says so.
pub(super) fn draw(story: &mut Story, seed: u64, tier: Tier) {
    let mut rng = Rng::new(seed ^ 0x7265_6e65);
    if story.shape.geometry.parity == 0 || !tier.has(Tier::Standby, rng.chance(1, ONE_IN)) {
        return;
    }
    let members = story.shape.members() as u64;
    for cycle in &mut story.cycles {
        if !rng.chance(1, 2) {
            continue;
        }
        let member = rng.below(members) as usize;
        if rng.chance(4, 5) {
            cycle.at_rest.push(Harm { member, what: What::New });
        }
        // Early, so that clients are at work meanwhile; sometimes again.
        for _ in 0..1 + rng.below(2) {
            let magnitude = rng.below(18);
            cycle.regroups.push((Nanos(rng.below(1 << magnitude)), Regroup::Replace(member)));
        }
    }
}
