//! Stories of arrays that are nearly full and opened over and over, as the power goes amid service and amid openings: what an opening needs
//! room for may be all the room that there is. Nothing is lost for good; members are away.

use cygnus_runtime::Rng;

use super::draw::Habits;
use super::ruined::fill;
use super::spans::{some_steps, some_time};
use super::{Cycle, Ending, Script, Story, Tier};

/// Of 1000, what these arrays keep free; the least that other stories have.
pub(super) const OVER_PROVISION: u16 = 50;
/// Sessions after the one that fills the volumes, at most.
const CYCLES: u64 = 5;
/// Openings in a row that are cut short, less one.
const CUTS: u64 = 12;
/// Requests to each volume in a session.
const REQUESTS: u64 = 250;

/// Makes the story one of these, if it is to be.
pub(super) fn draw(story: &mut Story, seed: u64, tier: Tier) {
    if tier != Tier::Tight {
        return;
    }
    let mut rng = Rng::new(seed ^ 0x7469_6768);
    let mut left = crate::array::usable_blocks(&story.shape) * (200 + rng.below(57)) / 256;
    let names = 1 + rng.below(3);
    story.volumes.clear();
    for n in 0..names {
        let blocks = if n + 1 == names { left } else { left / (2 + rng.below(2)) };
        left -= blocks;
        story.volumes.push((format!("v{n}"), blocks.max(1)));
    }
    let reactors = usize::from(story.shape.reactors);
    let volumes: Vec<(u16, &str, u64)> = story
        .volumes
        .iter()
        .enumerate()
        .map(|(n, (name, blocks))| ((n % reactors) as u16, &name[..], *blocks))
        .collect();
    let script = |reactor, volume: &str, requests| Script { volume: volume.to_owned(), reactor, requests };
    let filled = volumes.iter().map(|&(reactor, name, blocks)| script(reactor, name, fill(blocks))).collect();
    let habits = Habits::of_small_writes(&mut rng);
    let clients = |rng: &mut Rng| {
        let requests = |rng: &mut Rng, blocks: u64| (0..REQUESTS).map(|_| habits.request(rng, blocks)).collect();
        volumes.iter().map(|&(reactor, name, blocks)| script(reactor, name, requests(rng, blocks))).collect()
    };
    let mut cycles = vec![Cycle { clients: filled, ending: ending(&mut rng), ..Cycle::default() }];
    for _ in 0..2 + rng.below(CYCLES - 1) {
        let cuts = (0..rng.below(CUTS)).map(|_| some_steps(&mut rng)).collect();
        let cycle = Cycle { cuts, clients: clients(&mut rng), ending: ending(&mut rng), ..Cycle::default() };
        cycles.push(cycle);
    }
    story.cycles = cycles;
}

fn ending(rng: &mut Rng) -> Ending {
    match rng.below(8) {
        0 => Ending::Clean(None),
        1 => Ending::Kill(some_time(rng), rng.chance(1, 2)),
        _ => Ending::PowerCut(rng.chance(7, 8).then(|| some_steps(rng))),
    }
}
