//! Members that are to be written in order, zone by zone. Only stories about them have any: what is spoiled on such a device may be what
//! a patch hides, and then nothing is spoiled for a reader.

use cygnus_runtime::{Rng, Zones};

use super::{Cycle, Shape, Story, Tier, What};
use crate::zones::{Flash, LEAST_OF_FLASH, Zoned};

/// Tells the draw of zones from those of other things.
const ZONED: u64 = 0x7a6f_6e65;
/// Tells the draw of groups that have none from those of other things.
const GROUPS: u64 = 0x706c_6169;
/// Of arrays of several groups one in so many has zones in every second group only, and copies of open stripes in the others.
const EVERY_SECOND_GROUP_ONE_IN: u64 = 2;

impl Shape {
    /// Members of a story about them have zones: as long as a segment, or several in one.
    pub(super) fn is_written_in_order(&mut self, seed: u64, tier: Tier) {
        if tier != Tier::Zoned {
            return;
        }
        let mut rng = Rng::new(seed ^ ZONED);
        let mut of_groups = Rng::new(seed ^ GROUPS);
        let every_second_group = self.groups > 1 && of_groups.chance(1, EVERY_SECOND_GROUP_ONE_IN);
        if every_second_group && self.geometry.parity > 0 {
            self.keep_backups(seed, tier, &mut of_groups);
        }
        let of_segment = [1, 2, 3][rng.below(3) as usize];
        self.geometry.segment_blocks = self.geometry.segment_blocks.next_multiple_of(of_segment);
        let but = [1, 1, 2, 3][rng.below(4) as usize];
        let but = if but == 1 || self.members() > 1 { but } else { 1 };
        let patches = [256, 256, 1500][rng.below(3) as usize];
        let zone = self.geometry.segment_blocks / of_segment;
        let flash = Flash { hole: [0, 1, 9][rng.below(3) as usize], active: [0, 6, 10, 18][rng.below(4) as usize] };
        let flash = (zone >= LEAST_OF_FLASH && rng.chance(1, 2)).then_some(flash);
        let zoned = Zoned { zone, but, patches, flash, on: None, every_second_group };
        self.zoned = Some(zoned);
        self.leave_room_for_zones();
    }
}

impl Shape {
    /// The zones of a device, if it has any.
    pub(crate) fn zones_of(&self, device: usize) -> Option<Zones> {
        let set = (device < self.places()).then(|| self.set_of(device));
        self.zoned.and_then(|zoned| zoned.of_member(device, set, self.medium_of_device(device)))
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
        let (mut of_flash, mut beside_copies) = (0, 0);
        for seed in 0..40 {
            let story = Story::about(Tier::Zoned, seed);
            let zoned = story.shape.zoned.unwrap();
            assert!(story.shape.geometry.segment_blocks.is_multiple_of(zoned.zone));
            assert!((0..story.shape.members()).any(|n| story.shape.zones_of(n).is_some()), "seed {seed}");
            assert_eq!(Story::random(seed).shape.zoned, None);
            of_flash += u32::from(zoned.flash.is_some());
            beside_copies += u32::from(story.shape.geometry.transient_blocks > 0);
        }
        assert!((10..30).contains(&of_flash), "{of_flash}");
        assert!(beside_copies > 4, "{beside_copies}");
    }
}
