//! Rot in what describes the data, of which each thing is there once more than members may be away: drawn after all the rest,
//! so that the rest of a seed's story does not depend on it. It is no more than `docs/decisions/015-never-old-data.md` promises to
//! bear beside m members that came to harm, so nothing of it may be felt.

use cygnus_runtime::Rng;

use super::{Harm, Story, Tier, What};

/// One story in so many rots.
const ONE_IN: u64 = 3;

/// What rots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// A copy of a superblock; of each slot of a device always the same copy.
    Superblock,
    /// A stripe's header; in each group always those of one column.
    Header,
    /// A page of the newest checkpoint, where there is no parity; always the first copy.
    Page,
}

/// How a block rots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decay {
    Flipped,
    Unreadable,
    Zeroed,
}

/// Adds rot to the story of a seed.
pub(super) fn draw(story: &mut Story, seed: u64, tier: Tier) {
    let mut rng = Rng::new(seed ^ 0x0407_0407_0407_0407);
    if !tier.has(Tier::Rot, rng.chance(1, ONE_IN)) {
        return;
    }
    let (members, width, parity) = (story.shape.members(), story.shape.width(), story.shape.geometry.parity);
    let column = rng.below(width as u64) as usize;
    for cycle in &mut story.cycles {
        for _ in 0..rng.below(6) {
            let any = rng.below(members as u64) as usize;
            let (member, part) = match rng.below(3) {
                0 => (any, Part::Superblock),
                1 if parity == 0 => (any, Part::Page),
                _ => (any / width * width + column, Part::Header),
            };
            let decay = [Decay::Flipped, Decay::Unreadable, Decay::Zeroed][rng.below(3) as usize];
            cycle.at_rest.push(Harm { member, what: What::Rots(part, decay, rng.below(1 << 16)) });
        }
    }
}
