//! When a story scrubs: drawn after all the rest, so that the rest of a seed's story does not depend on it.

use cygnus_runtime::Rng;
use cygnus_types::Nanos;

use super::{Story, Tier};

/// The array is scrubbed in a cycle.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Scrubs {
    /// To the end, before anything else; then the devices are looked at.
    pub(crate) first: bool,
    /// Beside the clients, from then on.
    pub(crate) beside: Option<Nanos>,
}

/// Adds scrubs to the story of a seed.
pub(super) fn draw(story: &mut Story, seed: u64, tier: Tier) {
    let mut rng = Rng::new(seed ^ 0x5C12_0B5C_120B_5C12);
    if !tier.has(Tier::Scrubs, rng.chance(1, 3)) {
        return;
    }
    for cycle in &mut story.cycles {
        let magnitude = 10 + rng.below(14);
        let at = Nanos(rng.below(1 << magnitude));
        cycle.scrubs = Scrubs { first: rng.chance(1, 4), beside: rng.chance(1, 2).then_some(at) };
    }
}
