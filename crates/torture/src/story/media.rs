//! Arrays on several media, and volumes that may be on one of them only, or prefer it. Drawn apart from the rest, so that the other seeds
//! stay what they were.

use cygnus_engine::VolumeOptions;
use cygnus_format::Raid;
use cygnus_policy::{Preset, Rules, Streams, Victim};
use cygnus_runtime::Rng;
use cygnus_types::{Constraint, Medium, Nanos, Tiers};

use super::{RequestKind, Shape, Story, Tier};

/// Tells the draw of media from those of other things.
const MEDIA: u64 = 0x6d65_6469;
/// One array in so many of those that can is on two media.
const MIXED_ONE_IN: u64 = 4;
/// The same of arrays that are nearly full: the room on one medium is no help on another.
const TIGHT_ONE_IN: u64 = 2;
/// Tells the draw of their streams from those of other things.
const STREAMS: u64 = 0x766f_6c73;
/// One of these arrays in so many keeps volumes apart; the others keep hot writes apart, as the preset does.
const STREAMS_OF_VOLUMES_ONE_IN: u64 = 3;
/// One array in so many of those on two media has hybrid volumes.
const HYBRID_ONE_IN: u64 = 3;

impl Shape {
    /// Groups are on flash and on disks, now and then, where none is emptied as a whole.
    pub(super) fn mix(&mut self, seed: u64, tier: Tier) {
        let mut rng = Rng::new(seed ^ MEDIA);
        // Those of preset triple-a stay what they are.
        let stays = matches!(self.preset, Preset::Serial | Preset::TripleA);
        let one_in = if tier == Tier::Tight { TIGHT_ONE_IN } else { MIXED_ONE_IN };
        if stays || !tier.has(Tier::Media, rng.chance(1, one_in)) {
            return;
        }
        let groups = [2, 2, 2, 3, 4][rng.below(5) as usize];
        let first = rng.below(2) as usize;
        let medium = |n: usize| Medium::ALL[if n < 2 { (n + first) % 2 } else { rng.below(2) as usize }];
        let of_volumes = Rng::new(seed ^ STREAMS).chance(1, STREAMS_OF_VOLUMES_ONE_IN);
        let mixed = Self {
            preset: Preset::Salsa,
            streams: None,
            groups,
            media: (0..usize::from(groups)).map(medium).collect(),
            // Each medium has to have room for what a single group would.
            segments: 18 + 14 * u32::from(self.reactors) + self.segments % 14,
            ..self.clone()
        };
        let mixed = if of_volumes { mixed.with_streams(Streams::ByVolume) } else { mixed };
        if crate::array::usable_blocks(&mixed) > 0 {
            *self = mixed;
        }
        self.be_on_more(seed);
    }

    /// Of those on several media some are on others than flash and disks, on three of them or on all. Members of groups on shingled
    /// disks have zones, then, where some have.
    fn be_on_more(&mut self, seed: u64) {
        let mut rng = Rng::new(seed ^ MORE);
        if self.media.is_empty() || !rng.chance(1, MORE_ONE_IN) {
            return;
        }
        let mut media = Medium::ALL;
        (1..media.len()).rev().for_each(|n| media.swap(n, rng.below(n as u64 + 1) as usize));
        let kinds = [2, 3, 3, 4][rng.below(4) as usize];
        let groups = self.groups.max(kinds as u16);
        let any = |n: usize| media[if n < kinds { n } else { rng.below(kinds as u64) as usize }];
        let mut more = Self { groups, media: (0..usize::from(groups)).map(any).collect(), ..self.clone() };
        if rng.chance(1, RULES_ONE_IN) {
            let rules = [Victim::Greedy, Victim::Oldest, Victim::CostBenefit, Victim::Choices { among: 3 }];
            let on = media[..kinds].iter().map(|medium| (*medium, rules[rng.below(4) as usize]));
            more.cleaning = Some(Rules { all: None, on: on.collect() });
        }
        if let Some(zoned) = more.zoned.as_mut().filter(|_| more.media.contains(&Medium::Smr) && rng.chance(2, 3)) {
            (zoned.flash, zoned.on, zoned.but, zoned.every_second_group) = (None, Some(Medium::Smr), 1, false);
            more.leave_room_for_zones();
        }
        if crate::array::usable_blocks(&more) > 0 {
            *self = more;
        }
    }

    /// The media on which there are groups at first, or may be later, each once.
    fn kinds(&self) -> Vec<Medium> {
        Medium::ALL.into_iter().filter(|medium| self.media.contains(medium)).collect()
    }
}

/// Tells the draw of media beside flash and disks from those of other things.
const MORE: u64 = 0x6d6f_7265;
/// One array in so many of those on several media is on others than flash and disks.
const MORE_ONE_IN: u64 = 2;
/// One of these in so many is cleaned by a rule for each medium.
const RULES_ONE_IN: u64 = 4;

/// Tells the draw of shapes by medium from those of other things.
const SHAPES: u64 = 0x7368_6170;
/// One array in so many of those on two media has groups of another shape on disks.
const SHAPED_ONE_IN: u64 = 2;

impl Shape {
    /// Groups on disks have more or fewer members, and more or less parity, now and then.
    pub(super) fn differ_by_medium(&mut self, seed: u64) {
        let mut rng = Rng::new(seed ^ SHAPES);
        if self.media.is_empty() || self.clients_parity.is_some() || !rng.chance(1, SHAPED_ONE_IN) {
            return;
        }
        let [data, parity] = [[1, 2, 2, 3, 4, 6], [0, 1, 1, 2, 2, 3]].map(|of| of[rng.below(6) as usize]);
        let shaped = Self { disks: Some(Raid { data, parity }), ..self.clone() };
        // Without parity there are no copies, and no rot or loss of members beside that of others.
        if (parity == 0) == (self.geometry.parity == 0) && crate::array::usable_blocks(&shaped) > 0 {
            *self = shaped;
        }
    }
}

impl Story {
    /// On which media the blocks of the volume of this name may be.
    pub(crate) fn constraint(&self, volume: &str) -> Constraint {
        self.constraints.iter().find(|(name, _)| name == volume).map_or(Constraint::None, |(_, of)| *of)
    }

    /// What the volume of this name is made with.
    pub(crate) fn volume_options(&self, volume: &str) -> VolumeOptions {
        VolumeOptions {
            acknowledged: self.acknowledged(volume),
            constraint: self.constraint(volume),
            paging: self.paging(volume),
        }
    }
}

/// Most volumes of an array on several media want one of them.
pub(super) fn draw(story: &mut Story, seed: u64) {
    if story.shape.media.is_empty() {
        return;
    }
    let mut rng = Rng::new(seed ^ MEDIA ^ 1);
    let kinds = story.shape.kinds();
    for n in 0..3 {
        let medium = kinds[rng.below(kinds.len() as u64) as usize];
        let constraint = match rng.below(4) {
            0 => continue,
            1 => Constraint::Prefers(medium),
            _ => Constraint::Only(medium),
        };
        story.constraints.push((format!("v{n}"), constraint));
    }
}

/// On some arrays on several media volumes are hybrid, each on two of them, and read as often as written.
pub(super) fn draw_hybrid(story: &mut Story, seed: u64, tier: Tier) {
    let mut rng = Rng::new(seed ^ MEDIA ^ 2);
    if story.shape.media.is_empty() || !tier.has(Tier::Hybrid, rng.chance(1, HYBRID_ONE_IN)) {
        return;
    }
    // One of them may be bound, or want nothing.
    let bound = rng.below(4);
    let (mut rng_of_tiers, kinds) = (Rng::new(seed ^ MEDIA ^ 3), story.shape.kinds());
    for n in (0..3).filter(|n| *n != bound) {
        let name = format!("v{n}");
        story.constraints.retain(|(of, _)| *of != name);
        let first = rng_of_tiers.below(kinds.len() as u64) as usize;
        let other = 1 + rng_of_tiers.below(kinds.len() as u64 - 1) as usize;
        let tiers = Tiers::new(kinds[first], kinds[(first + other) % kinds.len()]).expect("these are two");
        story.constraints.push((name, Constraint::Hybrid(tiers)));
    }
    let clients = story.cycles.iter_mut().flat_map(|cycle| &mut cycle.clients);
    for request in clients.flat_map(|client| &mut client.requests) {
        if request.kind == RequestKind::Write && rng.chance(1, 2) {
            (request.kind, request.fua, request.pause) = (RequestKind::Read, false, Nanos::ZERO);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_arrays_are_on_several_media_and_those_about_media_are() {
        let mixed = |tier, of| (0..of).filter(|&seed| !Story::about(tier, seed).shape.media.is_empty()).count();
        let shaped = (0..30).filter(|&seed| Story::about(Tier::Media, seed).shape.disks.is_some()).count();
        assert!((6..24).contains(&shaped), "{shaped} of 30");
        let by_chance = mixed(Tier::All, 60);
        assert!((4..30).contains(&by_chance), "{by_chance} of 60");
        assert_eq!((mixed(Tier::Media, 8), mixed(Tier::Hybrid, 8)), (8, 8));
        let kinds = |seed| Story::about(Tier::Media, seed).shape.kinds();
        let more = (0..40).map(kinds).filter(|kinds| kinds.len() > 2).count();
        assert!((8..30).contains(&more), "{more} of 40 are on three media or four");
    }

    #[test]
    fn some_arrays_with_zones_are_on_several_media() {
        let stories: Vec<Story> = (0..60).map(|seed| Story::about(Tier::Zoned, seed)).collect();
        let of = |is_such: &dyn Fn(&Shape) -> bool| stories.iter().filter(|story| is_such(&story.shape)).count();
        let mixed = of(&|shape| !shape.media.is_empty());
        let under_some = of(&|shape| shape.zoned.is_some_and(|zoned| zoned.on.is_some()));
        assert!((5..30).contains(&mixed) && under_some > 0, "{mixed} and {under_some} of 60");
    }

    #[test]
    fn volumes_are_hybrid_now_and_then_and_where_stories_are_about_it() {
        let is_hybrid = |story: &Story| story.constraints.iter().any(|(_, of)| of.tiers().is_some());
        let hybrid = |tier, of| (0..of).filter(|&seed| is_hybrid(&Story::about(tier, seed))).count();
        let by_chance = hybrid(Tier::Media, 30);
        assert!((4..20).contains(&by_chance), "{by_chance} of 30");
        assert_eq!(hybrid(Tier::Hybrid, 8), 8);
    }
}
