//! The geometry of an array that is small enough for a story.

use cygnus_format::Geometry;
use cygnus_runtime::Rng;

/// A geometry of these columns and rows, with segments of one stripe to several.
pub(super) fn geometry_of(data: u8, parity: u8, chunk_blocks: u32, stripe_rows: u32, rng: &mut Rng) -> Geometry {
    let rough = Geometry {
        data,
        parity,
        chunk_blocks,
        stripe_rows,
        segment_blocks: 1 << 16,
        transient_blocks: 0,
        lead_blocks: 0,
    };
    let stripe = rough.header_blocks(stripe_rows) + stripe_rows;
    // From one stripe to several, and not always a whole number of them.
    let segment_blocks = (stripe * (1 + rng.below(4) as u32)).max(8) + rng.below(4) as u32;
    Geometry { segment_blocks, ..rough }
}

pub(super) fn pick<T: Copy>(rng: &mut Rng, choices: &[T]) -> T {
    choices[rng.below(choices.len() as u64) as usize]
}
