//! Stories in which an R-group lacks more members than its parity covers, and members that are on record as out of service take
//! part again by force.
//!
//! First one member leaves, or several, while clients are at work, and the array goes on without. Before the next opening others
//! are gone for good, and those that left are back. Drawn after all the rest, and only for stories in which nothing else is lost:
//! then the check of the stopped array has to foretell every block that cannot be read.

use cygnus_format::Raid;
use cygnus_runtime::Rng;

use super::{Cycle, Ending, Force, Harm, Regroup, Story, Tier, What};

/// Has a group lose too many members, if the story is to be about that and can be.
pub(super) fn draw(story: &mut Story, seed: u64, tier: Tier) {
    let mut rng = Rng::new(seed ^ 0x0066_6F72_6365);
    if tier != Tier::Force || !story.may_go_beyond() {
        return;
    }
    let group = rng.below(story.shape.groups.into()) as usize;
    let (width, parity) = (story.shape.width_of(group), story.shape.parity_of(group));
    let mut members: Vec<usize> = story.shape.devices_of(group).collect();
    let mut take = |rng: &mut Rng| members.swap_remove(rng.below(members.len() as u64) as usize);
    // One of them at least is there all the time, else nobody knows what the others lack.
    let leave = 1 + rng.below(parity.min(width - parity - 1) as u64) as usize;
    let leaving: Vec<usize> = (0..leave).map(|_| take(&mut rng)).collect();
    let gone = parity + 1 - leave + rng.below(leave as u64) as usize;
    let without: Vec<usize> = (0..gone).map(|_| take(&mut rng)).collect();
    let beyond = 1 + rng.below(story.cycles.len() as u64 - 1) as usize;
    story.cycles[beyond - 1].has_leave(&leaving, &mut rng);
    let cuts = if rng.chance(1, 2) { 1 + rng.below(3) } else { 0 };
    let cuts = (0..cuts).map(|_| super::spans::some_steps(&mut rng)).collect();
    story.cycles[beyond].force = Some(Force { without, cuts });
    for cycle in &mut story.cycles[beyond - 1..] {
        cycle.has_no_other_trouble();
    }
    for cycle in &mut story.cycles[beyond..] {
        cycle.scrubs.first = rng.chance(1, 4);
    }
}

impl Cycle {
    /// Members leave while clients are at work, and the session ends before anybody takes their places.
    fn has_leave(&mut self, members: &[usize], rng: &mut Rng) {
        for &member in members {
            let at = super::spans::some_time(rng);
            match rng.below(4) {
                0 => self.during.push((at, Harm { member, what: What::Lost })),
                // It is being filled when the session ends.
                1 if members.len() == 1 => {
                    self.at_rest.push(Harm { member, what: What::New });
                    self.regroups.push((at, Regroup::Replace(member)));
                }
                _ => self.during.push((at, Harm { member, what: What::FailsWrites })),
            }
        }
        // A clean stop takes a checkpoint, and of the pages that the others should have had nobody knows what was in them.
        if matches!(self.ending, Ending::Clean(_)) && rng.chance(3, 4) {
            self.ending = Ending::PowerCut(None);
        }
    }

    /// No member may be away from now on: there is no parity to spare.
    pub(super) fn has_no_other_trouble(&mut self) {
        self.stale &= self.force.is_none();
        self.absent = None;
        self.passing.clear();
        self.suspended_for = None;
    }
}

impl Story {
    /// Whether nothing else is lost, and enough columns hold data that one more tells what the others lack.
    fn may_go_beyond(&self) -> bool {
        let may = |raid: Raid| raid.parity > 0 && raid.data > 1;
        (0..self.shape.groups.into()).all(|group| may(self.shape.raid_of(group)))
            && self.cycles.len() > 1
            && self.loses_nothing()
            && self.places_stay()
            && !self.is_sparse()
    }
}
