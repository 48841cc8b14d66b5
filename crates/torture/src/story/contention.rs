//! Data that moves out of the way of contention: members share links, and all of a link are slow for a while.

use cygnus_runtime::Rng;
use cygnus_types::Nanos;

use super::spans::some_time;
use super::{Harm, Request, RequestKind, Shape, Story, Tier, What};

/// One story in so many has it.
const ONE_IN: u64 = 4;

/// Adds links, and times in which they are slow, to the story of a seed. Apart from the rest.
pub(super) fn draw(story: &mut Story, seed: u64, tier: Tier) {
    let mut rng = Rng::new(seed ^ 0x636f_6e74);
    if !tier.has(Tier::Contention, rng.chance(1, ONE_IN)) {
        return;
    }
    story.shape.autonomics = true;
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
