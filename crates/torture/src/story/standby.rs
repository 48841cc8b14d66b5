//! Stories with spares: they take lost members' places by themselves, and members that still work hand over to them.
//! Drawn apart from the rest, as growth is.

use cygnus_runtime::Rng;
use cygnus_types::Nanos;

use super::{Cycle, Harm, Manner, Regroup, Story, Tier, What};

/// One story in so many has it.
const ONE_IN: u64 = 4;

/// Adds spares, if the seed says so.
pub(super) fn draw(story: &mut Story, seed: u64, tier: Tier) {
    let mut rng = Rng::new(seed ^ 0x7370_6172);
    if !tier.has(Tier::Standby, rng.chance(1, ONE_IN)) {
        return;
    }
    story.shape.spares = 1 + rng.below(3) as u16;
    let (members, places) = (story.shape.members() as u64, story.shape.places());
    let spares = usize::from(story.shape.spares);
    for cycle in &mut story.cycles {
        for n in 0..spares {
            if rng.chance(2, 3) {
                cycle.regroups.push((early(&mut rng), Regroup::Spare(n)));
            }
        }
        for _ in 0..rng.below(3) {
            let member = rng.below(members) as usize;
            let at = early(&mut rng);
            cycle.regroups.push((at, Regroup::Drain(member)));
            if rng.chance(1, 2) {
                let spare = places + rng.below(spares as u64) as usize;
                let victim = [member, member, spare, rng.below(members) as usize][rng.below(4) as usize];
                trouble(&mut rng, cycle, victim, at);
            }
        }
        if rng.chance(1, 6) {
            cycle.at_rest.push(Harm { member: rng.below(members) as usize, what: What::Lost });
        }
    }
}

/// Clients are done after some milliseconds.
fn early(rng: &mut Rng) -> Nanos {
    let magnitude = rng.below(21);
    Nanos(rng.below(1 << magnitude))
}

/// Soon after a drain has begun, a device comes to harm.
fn trouble(rng: &mut Rng, cycle: &mut Cycle, member: usize, begun: Nanos) {
    let magnitude = 10 + rng.below(13);
    let at = begun.saturating_add(Nanos(rng.below(1 << magnitude)));
    let what = match rng.below(7) {
        0 | 1 => What::Lost,
        2 => What::FailsWrites,
        3 => What::Hangs([Nanos::millis(100), Nanos::secs(2), Nanos::secs(1000)][rng.below(3) as usize]),
        4 => What::Misbehaves(Manner::LosesWrites, 20_000),
        5 => What::Misbehaves(Manner::CannotRead, 20_000),
        _ => What::Full,
    };
    cycle.during.push((at, Harm { member, what }));
}
