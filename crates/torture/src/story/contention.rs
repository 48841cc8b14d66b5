//! Data that moves out of the way of contention: members share links, and all of a link are slow for a while.

use cygnus_format::Geometry;
use cygnus_policy::{Migration, ParityPlacement, Preset};
use cygnus_runtime::Rng;
use cygnus_types::Nanos;

use super::shapes::geometry_of;
use super::spans::some_time;
use super::{Harm, Request, RequestKind, Shape, Story, Tier, What};

/// One story in so many has it.
const ONE_IN: u64 = 4;

/// Tells the draw of arrays of preset `triple-a` from those of other things.
const TRIPLE_A: u64 = 0x7472_6961;
/// One array in so many of those that stories about contention are about is of preset `triple-a`,
const TRIPLE_A_ONE_IN: u64 = 2;
/// and one in so many of those of stories about everything.
const TRIPLE_A_SELDOM_ONE_IN: u64 = 16;

/// Tells the draw of naive migration from those of other things.
const NAIVE: u64 = 0x6e61_6976;
/// One array in so many of those whose data moves reads it anew for that.
const NAIVE_ONE_IN: u64 = 3;

impl Shape {
    /// Some arrays are of preset `triple-a`: one log over several groups, each a cluster behind a link, most without redundancy as the
    /// paper has them. Apart from the rest, so that the other seeds stay what they were.
    pub(super) fn spread_over_clusters(&mut self, seed: u64, tier: Tier) {
        let mut rng = Rng::new(seed ^ TRIPLE_A);
        let is_one = match tier {
            Tier::Contention => rng.chance(1, TRIPLE_A_ONE_IN),
            Tier::All => rng.chance(1, TRIPLE_A_SELDOM_ONE_IN),
            _ => false,
        };
        if !is_one {
            return;
        }
        let Geometry { data, parity, chunk_blocks, stripe_rows, .. } = self.geometry;
        let parity = if rng.chance(2, 3) { 0 } else { parity };
        let placement = if rng.chance(1, 4) { ParityPlacement::Fixed } else { ParityPlacement::Rotated };
        let clusters = Self {
            preset: Preset::TripleA,
            groups: [1, 2, 2, 3, 4][rng.below(5) as usize],
            geometry: geometry_of(data, parity, chunk_blocks, stripe_rows, &mut rng),
            placement,
            // A group alone has room for all that several would share.
            segments: 24 + rng.below(14) as u32,
            ..self.clone()
        };
        if crate::array::usable_blocks(&clusters) > 0 {
            *self = clusters;
        }
    }
}

/// Adds links, and times in which they are slow, to the story of a seed. Apart from the rest.
pub(super) fn draw(story: &mut Story, seed: u64, tier: Tier) {
    let mut rng = Rng::new(seed ^ 0x636f_6e74);
    // Its preset has data move.
    let is_preset = story.shape.preset == Preset::TripleA;
    if !tier.has(Tier::Contention, rng.chance(1, ONE_IN)) && !is_preset {
        return;
    }
    let is_naive = Rng::new(seed ^ NAIVE).chance(1, NAIVE_ONE_IN);
    story.shape.autonomics = Some(if is_naive { Migration::Naive } else { Migration::ShadowCloning });
    // Only members can share a link, and who is one changes there.
    if story.shape.more == 0 && story.shape.spares == 0 {
        story.shape.links = links(&mut rng, &story.shape);
    }
    let members = story.shape.members();
    for cycle in &mut story.cycles {
        for _ in 0..rng.below(3) {
            let slow = match story.shape.links.is_empty() {
                true => vec![rng.below(members as u64) as usize],
                false => story.shape.links[rng.below(story.shape.links.len() as u64) as usize].clone(),
            };
            let (from, factor) = (some_time(&mut rng), [4, 20, 20, 100][rng.below(4) as usize]);
            let until = from + some_time(&mut rng);
            for member in slow {
                cycle.during.push((from, Harm { member, what: What::Slow(factor) }));
                cycle.during.push((until, Harm { member, what: What::Slow(1) }));
            }
        }
        if tier == Tier::Contention {
            let reads = |request: &mut Request| {
                if request.kind == RequestKind::Write && rng.chance(1, 2) {
                    (request.kind, request.fua, request.pause) = (RequestKind::Read, false, Nanos::ZERO);
                }
            };
            cycle.clients.iter_mut().flat_map(|client| &mut client.requests).for_each(reads);
        }
    }
}

/// Some of the members share links: all of a group, or any.
fn links(rng: &mut Rng, shape: &Shape) -> Vec<Vec<usize>> {
    let count = 1 + rng.below(3) as usize;
    let mut links = vec![Vec::new(); count];
    let by_group = rng.chance(1, 2);
    for member in 0..shape.members() {
        let link = if by_group { shape.set_of(member) } else { rng.below(count as u64 + 1) as usize };
        if let Some(link) = links.get_mut(link) {
            link.push(member);
        }
    }
    links.retain(|link| !link.is_empty());
    links
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_stories_about_contention_are_of_triple_a_and_few_about_everything() {
        let is_triple_a = |story: &Story| story.shape.preset == Preset::TripleA;
        let of = |tier, seeds| (0..seeds).map(move |seed| Story::about(tier, seed)).filter(is_triple_a);
        let about = of(Tier::Contention, 40).count();
        assert!((10..30).contains(&about), "{about} of 40");
        let (seldom, moves) = of(Tier::All, 200)
            .fold((0, 0), |(all, moves), story| (all + 1, moves + usize::from(story.shape.autonomics.is_some())));
        assert!((4..25).contains(&seldom), "{seldom} of 200");
        assert_eq!(moves, seldom, "data moves in each of them");
        let linked = of(Tier::Contention, 40).filter(|story| !story.shape.links.is_empty()).count();
        assert!(linked * 2 > about, "{linked} of {about} have links");
    }

    #[test]
    fn some_data_is_read_anew_for_its_move() {
        let naive = |seed: &u64| Story::about(Tier::Contention, *seed).shape.autonomics == Some(Migration::Naive);
        let count = (0..60).filter(naive).count();
        assert!((10..32).contains(&count), "{count} of 60");
    }
}
