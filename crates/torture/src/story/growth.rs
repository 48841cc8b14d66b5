//! Stories in which R-groups come and go, and with them numbers and addresses. Drawn apart from the rest, so that a seed without them stays what it was.

use cygnus_runtime::Rng;
use cygnus_types::Nanos;

use super::regroup::Regroup;
use super::{Harm, Story, Tier, What};

/// One story in so many has it.
const ONE_IN: u64 = 5;

/// Adds groups that come and go, if the seed says so.
pub(super) fn draw(story: &mut Story, seed: u64, tier: Tier) {
    let mut rng = Rng::new(seed ^ 0x6772_6f77);
    if !tier.has(Tier::Growth, rng.chance(1, ONE_IN)) {
        return;
    }
    let shape = &mut story.shape;
    shape.more = 1 + rng.below(2) as u16;
    let (groups, first, devices) = (shape.groups + shape.more, shape.members(), shape.devices());
    let may_die = shape.geometry.parity > 0 && rng.chance(1, 3);
    for cycle in &mut story.cycles {
        for _ in 0..rng.below(4) {
            // Mostly early: clients are done after some milliseconds.
            let magnitude = rng.below(23);
            let at = Nanos(rng.below(1 << magnitude));
            let which = rng.below(groups.into()) as u16;
            let what = if rng.chance(1, 2) { Regroup::Add(which) } else { Regroup::Retire(which) };
            cycle.regroups.push((at, what));
        }
        if rng.chance(1, 2) {
            let what = Regroup::Refresh(rng.below(groups.into()) as u16, rng.below(groups.into()) as u16);
            cycle.regroups.push((Nanos(rng.below(1 << 20)), what));
        }
        // Devices that are away when their group leaves come back as if nothing had happened.
        cycle.stale |= rng.chance(1, 4);
        if may_die && rng.chance(1, 3) {
            let member = first + rng.below((devices - first) as u64) as usize;
            let what = if rng.chance(1, 2) { What::Lost } else { What::FailsWrites };
            cycle.during.push((Nanos(rng.below(1 << 22)), Harm { member, what }));
        }
    }
}
