//! What makes open stripes of a story's array safe: copies in transient areas, or the parity of rows.

use cygnus_format::Geometry;
use cygnus_runtime::Rng;

use super::shapes::{geometry_of, pick};
use super::{Shape, Tier};

/// One story in so many is of an array whose open stripes are made safe by copies.
const BACKED_UP_ONE_IN: u64 = 3;

impl Shape {
    /// Open stripes are made safe by copies in transient areas, now and then, if there is parity. The areas are small, so that
    /// they are full at times. Apart from the rest too.
    pub(super) fn back_up(&mut self, seed: u64, tier: Tier) {
        let mut rng = Rng::new(seed ^ 0x6261_636b);
        if self.geometry.parity > 0 && tier.has(Tier::Copies, rng.chance(1, BACKED_UP_ONE_IN)) {
            self.keep_backups(seed, tier, &mut rng);
        }
    }

    /// Backups of open stripes are copies, or copies of which drives compute parity, or the parity of rows.
    pub(super) fn keep_backups(&mut self, seed: u64, tier: Tier, rng: &mut Rng) {
        self.geometry.transient_blocks = u32::from(self.reactors) * pick(rng, &[8, 24, 24, 96]);
        self.beside = pick(&mut Rng::new(seed ^ 0x6265_7369), &[0, 0, 1, 1, 2, 3]);
        let way = rng.below(3);
        if way == 0 {
            // Drives compute parity from them. Each stripe takes room for all that it may hold.
            self.converts = pick(rng, &[1, 1, 1, 2, 3]);
            let stripe = 8 + self.geometry.slots(self.geometry.stripe_rows);
            self.geometry.transient_blocks = u32::from(self.reactors) * stripe * pick(rng, &[1, 3, 3, 6]);
            if tier == Tier::Copies {
                self.postponed = pick(&mut Rng::new(seed ^ 0x706f_7374), &[0, 1, 3, 8]);
            }
        } else if way == 1 {
            self.parity_buffer = true;
            let Geometry { data, parity, chunk_blocks, stripe_rows, transient_blocks, .. } = self.geometry;
            // Blocks of one flush share rows, so that parity is less than copies. Pages need longer chunks.
            let chunk_blocks = if tier == Tier::Pages || rng.chance(1, 2) { chunk_blocks } else { 1 };
            let wide = geometry_of(data.max(3), parity, chunk_blocks, stripe_rows, rng);
            self.geometry = Geometry { transient_blocks, ..wide };
        }
    }
}
