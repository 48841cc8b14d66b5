//! What members are in a story: how long they take. Drawn apart from the rest, so that the other seeds stay what they were.

use cygnus_runtime::Rng;
use cygnus_sim::Timing;
use cygnus_types::{Medium, Nanos};

use super::{Shape, Tier};

/// Tells the draw of drives from those of other things.
const DRIVES: u64 = 0x6472_6976;

/// How long members take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Drives {
    /// Some time for each operation, as an NVMe drive of no particular make.
    #[default]
    Quick,
    /// As long as a modelled drive does, with its cache and collection.
    Modelled,
    /// As long as a disk's arm: cleaning gains room so slowly that writers are let in at its pace. In an array on several media those of groups
    /// on disks; else all.
    Slow,
}

impl Drives {
    /// By name, as stories have them.
    pub(super) const NAMES: [(Self, &str); 2] = [(Self::Modelled, "modelled"), (Self::Slow, "slow")];

    /// What the members of a seed's story are.
    pub(super) fn draw(seed: u64, tier: Tier) -> Self {
        let mut rng = Rng::new(seed ^ DRIVES);
        match tier {
            Tier::All if rng.chance(1, 8) => Self::Modelled,
            Tier::All if rng.chance(1, 8) => Self::Slow,
            Tier::Media if rng.chance(1, 4) => Self::Slow,
            _ => Self::Quick,
        }
    }
}

impl Shape {
    /// Whether a member takes as long as a disk's arm.
    pub(crate) fn has_arm(&self, member: usize) -> bool {
        self.drives == Drives::Slow && self.medium_of_device(member).is_none_or(Medium::has_arms)
    }

    /// How long a member takes that is not modelled. A hundred times as long, as some become, is less than a device is awaited.
    pub(crate) fn timing(&self, member: usize) -> Timing {
        match self.has_arm(member) {
            false => Timing::default(),
            true => Timing {
                read: Nanos::millis(2),
                write: Nanos::millis(2),
                flush: Nanos::millis(3),
                per_block: Nanos::micros(2),
                jitter: Nanos::millis(1),
                ..Timing::default()
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_sorts_are_drawn() {
        let drawn = |drives, tier| (0..200).filter(|&seed| Drives::draw(seed, tier) == drives).count();
        let of = |tier| [Drives::Quick, Drives::Modelled, Drives::Slow].map(|drives| drawn(drives, tier));
        assert!(of(Tier::All).into_iter().all(|seeds| seeds > 10), "{:?}", of(Tier::All));
        assert_eq!(of(Tier::Rot), [200, 0, 0]);
        // Kept seeds (tests/known.rs) are what they were.
        for seed in [975, 1285, 401_057, 502_084] {
            assert_ne!(Drives::draw(seed, Tier::All), Drives::Slow, "{seed}");
        }
    }
}
