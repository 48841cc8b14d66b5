//! Stories of a volume that is a thousand times the pool, and more, in which single blocks lie far apart: the map of what it
//! holds is as large as that, if it is written by pages. It is filled until the array is full; then clients go on there for
//! long, overwriting, trimming single blocks and all at once. Drawn apart from the rest, as growth is.

use cygnus_runtime::Rng;
use cygnus_types::{BLOCK, Nanos};

use super::{Admin, Ending, Request, RequestKind, Story, Tier};

const B: u64 = BLOCK as u64;

/// One story in so many has it.
const ONE_IN: u64 = 6;

/// Blocks from which a volume counts as one: none of the others is as large.
const LEAST_BLOCKS: u64 = 1 << 17;
/// The engine's largest volume.
const MOST_BLOCKS: u64 = 1 << 34;

/// Most blocks with which a volume is filled, so that a story ends.
const MOST_FILLED: u64 = 4000;

/// Where the blocks lie that clients write.
#[derive(Clone, Copy)]
enum Places {
    /// At equal distances over the whole volume.
    Strided,
    /// The same, and a few together.
    Runs,
    /// Anywhere.
    Scattered,
}

struct Sites {
    places: Places,
    count: u64,
    stride: u64,
}

impl Sites {
    fn nth_block(&self, n: u64) -> u64 {
        match self.places {
            Places::Strided => n * self.stride,
            Places::Runs => n / 3 * self.stride * 3 + n % 3,
            Places::Scattered => n.wrapping_mul(0x9E37_79B9_7F4A_7C15) % (self.count * self.stride),
        }
    }

    fn request(&self, rng: &mut Rng) -> Request {
        let site = self.nth_block(rng.below(self.count));
        let (kind, first, blocks) = match rng.below(64) {
            0 => (RequestKind::Flush, 0, 0),
            1..6 => (RequestKind::Read, site, 1),
            6..12 => (RequestKind::Trim, site, 1),
            12..16 => (RequestKind::Trim, site, self.stride * (1 + rng.below(16))),
            16 if rng.chance(1, 8) => (RequestKind::Trim, 0, self.stride * self.count),
            17..20 => (RequestKind::Zero, site, 1),
            _ => (RequestKind::Write, site, 1),
        };
        let fua = matches!(kind, RequestKind::Write | RequestKind::Zero) && rng.chance(1, 32);
        Request { kind, offset: first * B, len: blocks * B, fua, pause: Nanos::ZERO }
    }
}

impl Story {
    /// What clients write to a volume of this name, if it is so large that trims cannot name each block of it.
    pub(crate) fn sparse_writes(&self, name: &str) -> impl Iterator<Item = &Request> {
        let is_sparse = self.volumes.iter().any(|(known, blocks)| known == name && is_large(*blocks));
        let scripts =
            self.cycles.iter().flat_map(|cycle| &cycle.clients).filter(move |s| is_sparse && s.volume == name);
        scripts.flat_map(|s| &s.requests).filter(|r| !matches!(r.kind, RequestKind::Trim | RequestKind::Flush))
    }

    /// Whether some volume is so large.
    pub(super) fn is_sparse(&self) -> bool {
        self.volumes.iter().any(|(_, blocks)| is_large(*blocks))
    }
}

fn is_large(blocks: u64) -> bool {
    blocks >= LEAST_BLOCKS
}

/// Makes the first volume a sparse one, if the seed says so.
pub(super) fn draw(story: &mut Story, seed: u64, tier: Tier) {
    let mut rng = Rng::new(seed ^ 0x7370_6172_7365);
    if !tier.has(Tier::Sparse, rng.chance(1, ONE_IN)) {
        return;
    }
    let usable = crate::array::usable_blocks(&story.shape).max(1);
    let factor = 1 << (10 + rng.below(12));
    let blocks = (usable * factor).clamp(LEAST_BLOCKS, MOST_BLOCKS);
    let count = usable * 2;
    let sites = Sites {
        places: [Places::Strided, Places::Strided, Places::Runs, Places::Scattered][rng.below(4) as usize],
        count,
        stride: blocks / count / 3 * 3,
    };
    let (name, size) = &mut story.volumes[0];
    *size = blocks;
    let name = name.clone();
    for cycle in &mut story.cycles {
        // It may be deleted, and then there is none of its name any more.
        cycle.admin.take_if(|admin| match admin {
            Admin::Create(of, _) | Admin::Resize(of, _) => *of == name,
            Admin::Delete(_) => false,
        });
        for script in cycle.clients.iter_mut().filter(|script| script.volume == name) {
            script.requests = (0..script.requests.len() * 2).map(|_| sites.request(&mut rng)).collect();
        }
    }
    let first = &mut story.cycles[0];
    if rng.chance(3, 4) {
        // Nothing ends it before it is full.
        first.ending = if rng.chance(1, 2) { Ending::Clean(None) } else { Ending::PowerCut(None) };
        first.admin = None;
    }
    if let Some(script) = first.clients.iter_mut().find(|script| script.volume == name) {
        let filled = (usable + usable / 8).min(MOST_FILLED).min(count);
        let write = |n| Request {
            kind: RequestKind::Write,
            offset: sites.nth_block(n) * B,
            len: B,
            fua: false,
            pause: Nanos::ZERO,
        };
        let go_on: Vec<Request> = (0..filled / 2).map(|_| sites.request(&mut rng)).collect();
        script.requests = (0..filled).map(write).chain(go_on).collect();
    }
}
