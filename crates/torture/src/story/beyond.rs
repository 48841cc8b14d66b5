//! Rot of what describes the data beyond what is promised to be borne: more copies of one thing than there may be. Then an
//! opening has to stop with words, and by force whatever may be concerned has to be unreadable, and never old.
//!
//! Drawn after all the rest, and only for stories in which nothing else is lost for good.

use cygnus_runtime::Rng;

use super::{Beyond, Cycle, Decay, Part, Scrubs, Story, Tier};

/// Volumes that nobody writes to: with them a superblock takes more than one block.
const BYSTANDERS: u64 = 24;

/// Has something rot, if the story is to be about that and can be.
pub(super) fn draw(story: &mut Story, seed: u64, tier: Tier) {
    let mut rng = Rng::new(seed ^ 0x0062_6579_6F6E_6421);
    if tier != Tier::Beyond || !story.may_rot_beyond() {
        return;
    }
    let shape = &story.shape;
    let part = [Part::Superblock, Part::Header, Part::Header, Part::Page][rng.below(4) as usize];
    // Zeros in place of the headers of the last stripes are what a power cut leaves.
    let decays = if part == Part::Superblock { 3 } else { 2 };
    let decay = [Decay::Flipped, Decay::Unreadable, Decay::Zeroed][rng.below(decays) as usize];
    let group = rng.below(shape.groups.into()) as usize;
    let of_group = if part == Part::Superblock { 0..shape.members() } else { shape.devices_of(group) };
    let mut members: Vec<usize> = of_group.collect();
    let spared = if rng.chance(1, 2) { 0 } else { rng.below(members.len() as u64) };
    for _ in 0..spared {
        members.swap_remove(rng.below(members.len() as u64) as usize);
    }
    let cuts = if rng.chance(1, 2) { 1 + rng.below(3) } else { 0 };
    let cuts = (0..cuts).map(|_| super::spans::some_steps(&mut rng)).collect();
    if part == Part::Superblock && rng.chance(1, 2) {
        story.volumes.extend((0..BYSTANDERS).map(|n| (format!("bystander{n}"), 1)));
    }
    let at = rng.below(story.cycles.len() as u64) as usize;
    story.cycles[at].beyond = Some(Beyond { part, decay, nth: rng.below(1 << 16), members, cuts });
    story.cycles[at..].iter_mut().for_each(Cycle::has_nothing_beside_rot);
}

impl Cycle {
    fn has_nothing_beside_rot(&mut self) {
        self.has_no_other_trouble();
        self.scrubs = Scrubs::default();
    }
}

impl Story {
    fn may_rot_beyond(&self) -> bool {
        // A volume that only the lost superblock knew is not known any more.
        let administers = self.cycles.iter().any(|cycle| cycle.admin.is_some());
        self.loses_nothing() && self.places_stay() && !self.is_sparse() && !administers
    }
}
