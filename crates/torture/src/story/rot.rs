//! Rot in what describes the data, of which each thing is there once more than members may be away: drawn after all the rest,
//! so that the rest of a seed's story does not depend on it. It is no more than `docs/decisions/015-never-old-data.md` promises to
//! bear beside m members that came to harm, so nothing of it may be felt.

use cygnus_runtime::Rng;
use cygnus_types::Nanos;

use super::decay::{Decay, Part};
use super::{Harm, Shape, Story, Tier, What};

/// One story in so many rots.
const ONE_IN: u64 = 3;

/// Adds rot to the story of a seed.
pub(super) fn draw(story: &mut Story, seed: u64, tier: Tier) {
    let mut rng = Rng::new(seed ^ 0x0407_0407_0407_0407);
    if !tier.has(Tier::Rot, rng.chance(1, ONE_IN)) {
        return;
    }
    let shape = &story.shape;
    let column = rng.below(shape.width_of(0) as u64) as usize;
    let rots = Rots { shape: shape.clone(), column };
    for cycle in &mut story.cycles {
        for _ in 0..rng.below(6) {
            cycle.at_rest.push(rots.random(&mut rng));
        }
    }
    // Drawn last, so that what rots at rest does not depend on it.
    for cycle in &mut story.cycles {
        for _ in 0..rng.below(4) {
            // Clients are done after some milliseconds.
            let magnitude = 10 + rng.below(14);
            let at = Nanos(rng.below(1 << magnitude));
            cycle.during.push((at, rots.random(&mut rng)));
        }
    }
}

/// What may rot in a story.
struct Rots {
    shape: Shape,
    /// Of all groups, as far as they are so wide.
    column: usize,
}

impl Rots {
    fn random(&self, rng: &mut Rng) -> Harm {
        let any = rng.below(self.shape.members() as u64) as usize;
        let of_group = self.shape.devices_of(self.shape.set_of(any));
        let (member, part) = match rng.below(3) {
            0 => (any, Part::Superblock),
            1 if self.shape.parities().0 == 0 => (any, Part::Page),
            _ => (of_group.start + self.column.min(of_group.len() - 1), Part::Header),
        };
        let decay = [Decay::Flipped, Decay::Unreadable, Decay::Zeroed][rng.below(3) as usize];
        Harm { member, what: What::Rots(part, decay, rng.below(1 << 16)) }
    }
}
