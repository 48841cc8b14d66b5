//! Stories whose array is broken beyond redundancy in the end, and salvaged. Drawn apart from the rest, as growth is.

use cygnus_runtime::Rng;

use super::{Story, Tier};

/// One story in so many has it.
const ONE_IN: u64 = 6;

/// Breaks the array in the end, if the seed says so.
pub(super) fn draw(story: &mut Story, seed: u64, tier: Tier) {
    let mut rng = Rng::new(seed ^ 0x7361_6c76);
    if !tier.has(Tier::Salvage, rng.chance(1, ONE_IN)) {
        return;
    }
    let shape = &story.shape;
    let group = rng.below(shape.groups.into()) as usize;
    let most = (shape.parity_of(group) + 2).min(shape.width_of(group));
    let mut left: Vec<usize> = shape.devices_of(group).collect();
    for _ in 0..1 + rng.below(most as u64) {
        story.salvage.push(left.swap_remove(rng.below(left.len() as u64) as usize));
    }
    if rng.chance(1, 4) {
        let any = rng.below(shape.devices() as u64) as usize;
        if !story.salvage.contains(&any) {
            story.salvage.push(any);
        }
    }
}
