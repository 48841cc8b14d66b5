//! Members that are to be written in order, zone by zone. Only stories about them have any: what is spoiled on such a device may be what
//! a patch hides, and then nothing is spoiled for a reader.

use cygnus_format::DATA_START;
use cygnus_runtime::{Rng, Zones};
use cygnus_sim::DiskConfig;
use cygnus_types::BLOCK;

use super::{Cycle, Shape, Story, Tier, What};

/// Tells the draw of zones from those of other things.
const ZONED: u64 = 0x7a6f_6e65;
/// Blocks of the area for patches, at least: what members miss while they are silent fits.
const PATCHES: u32 = 1500;

/// Which members are to be written in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Zoned {
    /// Blocks of a zone; segments have whole ones.
    pub(crate) zone: u32,
    /// 1: all members are; n: all but every n-th.
    pub(crate) but: usize,
}

impl Zoned {
    /// Zones that may be written anywhere.
    fn conventional(self) -> u32 {
        ((DATA_START / BLOCK as u64) as u32 + PATCHES).div_ceil(self.zone)
    }

    /// Blocks that are left free before the first segment.
    pub(super) fn lead_blocks(self) -> u32 {
        self.conventional() * self.zone - (DATA_START / BLOCK as u64) as u32
    }

    fn has(self, member: usize) -> bool {
        self.but == 1 || !member.is_multiple_of(self.but)
    }
}

impl Shape {
    /// What a member's device is.
    pub(crate) fn disk(&self, n: usize) -> DiskConfig {
        let zones = self.zoned.filter(|zoned| zoned.has(n)).map(|zoned| Zones {
            bytes: u64::from(zoned.zone) * BLOCK as u64,
            conventional: Some(zoned.conventional()),
            open_limit: 0,
            commands: true,
        });
        let (converts, timing) = (self.member_converts(n), self.timing(n));
        DiskConfig { converts, timing, zones, ..DiskConfig::new(format!("d{n}"), self.device_bytes()) }
    }

    /// Members of a story about them have zones: as long as a segment, or several in one.
    pub(super) fn is_written_in_order(&mut self, seed: u64, tier: Tier) {
        if tier != Tier::Zoned {
            return;
        }
        let mut rng = Rng::new(seed ^ ZONED);
        let of_segment = [1, 2, 3][rng.below(3) as usize];
        self.geometry.segment_blocks = self.geometry.segment_blocks.next_multiple_of(of_segment);
        let but = [1, 1, 2, 3][rng.below(4) as usize];
        let but = if but == 1 || self.members() > 1 { but } else { 1 };
        let zoned = Zoned { zone: self.geometry.segment_blocks / of_segment, but };
        self.zoned = Some(zoned);
        self.geometry.lead_blocks = zoned.lead_blocks();
    }
}

impl Story {
    /// Takes out what would spoil single blocks.
    pub(super) fn spoils_no_blocks(&mut self) {
        self.cycles.iter_mut().for_each(Cycle::spoils_no_blocks);
    }
}

impl Cycle {
    fn spoils_no_blocks(&mut self) {
        let is_whole = |what: &What| {
            what.is_harmless() || matches!(what, What::Lost | What::FailsWrites | What::Full | What::Hangs(_))
        };
        self.ruins.clear();
        self.at_rest.retain(|harm| is_whole(&harm.what));
        self.during.retain(|(_, harm)| is_whole(&harm.what));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stories_about_zones_have_some_and_others_none() {
        for seed in 0..40 {
            let story = Story::about(Tier::Zoned, seed);
            let zoned = story.shape.zoned.unwrap();
            assert!(story.shape.geometry.segment_blocks.is_multiple_of(zoned.zone));
            assert!((0..story.shape.members()).any(|n| story.shape.disk(n).zones.is_some()), "seed {seed}");
            assert_eq!(Story::random(seed).shape.zoned, None);
        }
    }
}
