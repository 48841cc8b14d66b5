//! Stories of arrays that are nearly full, and in which blocks all over are beyond redundancy, while clients write: blocks that cannot
//! be read keep the segments in which they lie, and may keep all room.

use cygnus_runtime::Rng;
use cygnus_types::BLOCK;

use super::{Cycle, Ending, Request, RequestKind, Ruin, Script, Story, Tier};

const B: u64 = BLOCK as u64;
/// Blocks of the requests that fill a volume.
const FILL: u64 = 16;
/// Blocks that are ruined at most.
const RUINS: u64 = 48;
/// Requests to the full volume.
const REQUESTS: u64 = 400;

/// Makes the story one of these, if it is to be.
pub(super) fn draw(story: &mut Story, seed: u64, tier: Tier) {
    if tier != Tier::Ruined {
        return;
    }
    let mut rng = Rng::new(seed ^ 0x7275_696E);
    let blocks = (crate::array::usable_blocks(&story.shape) * (160 + rng.below(97)) / 256).max(1);
    story.volumes = vec![("v0".into(), blocks)];
    let filled = Cycle { clients: vec![script(fill(blocks))], ending: Ending::Clean(None), ..Cycle::default() };
    let columns = usize::from(story.shape.parities().1) + 1;
    let apart = (blocks / RUINS).max(1) + rng.below(8);
    let ruins = (rng.below(apart)..blocks).step_by(apart as usize);
    let ruins = ruins.map(|block| Ruin { volume: "v0".into(), block, columns }).collect();
    let ending = std::mem::take(&mut story.cycles[0].ending);
    let ruined = Cycle { ruins, clients: vec![script(some_requests(&mut rng, blocks))], ending, ..Cycle::default() };
    let after = Cycle { clients: vec![script(some_requests(&mut rng, blocks))], ..Cycle::default() };
    story.cycles = vec![filled, ruined, after];
}

/// Requests that write all of a volume once.
pub(super) fn fill(blocks: u64) -> Vec<Request> {
    let whole = |at: u64| request(RequestKind::Write, at, FILL.min(blocks - at));
    (0..blocks).step_by(FILL as usize).map(whole).collect()
}

fn script(requests: Vec<Request>) -> Script {
    Script { volume: "v0".into(), reactor: 0, requests }
}

fn request(kind: RequestKind, block: u64, blocks: u64) -> Request {
    Request { kind, offset: block * B, len: blocks * B, fua: false, pause: cygnus_types::Nanos::ZERO }
}

fn some_requests(rng: &mut Rng, blocks: u64) -> Vec<Request> {
    let most = if rng.chance(1, 2) { 1 } else { FILL };
    let trims = [0, 1, 4][rng.below(3) as usize];
    let one = |_| {
        let kind = match rng.below(64) {
            dice if dice < trims => RequestKind::Trim,
            dice if dice < trims + 2 => RequestKind::Flush,
            _ => RequestKind::Write,
        };
        let block = rng.below(blocks);
        request(kind, block, 1 + rng.below(most.min(blocks - block)))
    };
    (0..REQUESTS).map(one).collect()
}
