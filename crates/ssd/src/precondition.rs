//! Filling a drive at once, by what theory says it would look like after being written for long.
//!
//! Under uniformly random writes all blocks lose their pages at the same rate, so greedy collection takes them in the
//! order in which they were written: a block of relative age `a` (0 the newest, 1 the next victim) holds the share
//! `exp(-aT)` of valid pages, where the mean over all closed blocks, `(1 - exp(-T)) / T`, must be the utilisation.
//! Write amplification follows from the victim's share. The tests check this against a drive that was really aged.

use cygnus_types::Rng;

use crate::ftl::Place;
use crate::state::Ssd;

/// The T of the module's description for a utilisation in (0, 1), by bisection.
fn decay(utilisation: f64) -> f64 {
    // The library's own functions: those of the platform differ in the last digit from machine to machine.
    let mean = |t: f64| -libm::expm1(-t) / t;
    let (mut low, mut high) = (1e-9, 1e9);
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if mean(middle) > utilisation { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// NAND writes per host write of greedy collection under uniformly random writes, for a valid share of all closed
/// blocks in (0, 1), with large blocks.
pub fn greedy_write_amplification(utilisation: f64) -> f64 {
    assert!((0.0..1.0).contains(&utilisation) && utilisation > 0.0, "a utilisation lies between 0 and 1");
    -1.0 / libm::expm1(-decay(utilisation))
}

/// A bijection of the numbers below `n` that scatters neighbours, walked cyclically.
struct Scatter {
    n: u64,
    mask: u64,
    shift: u32,
    next: u64,
}

impl Scatter {
    fn new(n: u32) -> Self {
        let bits = u64::from(n).next_power_of_two().trailing_zeros().max(2);
        Self { n: u64::from(n), mask: (1 << bits) - 1, shift: bits / 2, next: 0 }
    }

    /// Odd factors and shifts right are invertible modulo a power of two.
    fn mix(&self, x: u64) -> u64 {
        let x = x.wrapping_mul(0x9E37_79B9_7F4A_7C15) & self.mask;
        let x = (x ^ (x >> self.shift)).wrapping_mul(0xBF58_476D_1CE4_E5B9) & self.mask;
        x ^ (x >> self.shift)
    }
}

impl Iterator for Scatter {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        while self.next <= self.mask {
            let candidate = self.mix(self.next);
            self.next += 1;
            if candidate < self.n {
                return Some(candidate as u32);
            }
        }
        None
    }
}

impl Ssd {
    fn assert_new(&self) {
        let is_new = (0..self.ftl.shape.logical).step_by(997).all(|lpn| self.ftl.place(lpn) == Place::Nowhere);
        assert!(is_new && self.cache.is_empty() && self.outstanding == 0, "only a new drive is preconditioned");
    }

    fn pages_of_share(&self, share: f64) -> u32 {
        assert!((0.0..=1.0).contains(&share), "a share lies between 0 and 1");
        (f64::from(self.ftl.shape.logical) * share) as u32
    }

    /// Blocks per die that ordinary data may fill in the long run: not the SLC buffer's own, and not those below the
    /// watermark around which the free blocks hover.
    fn lasting_blocks(&self) -> u32 {
        let shape = &self.ftl.shape;
        shape.blocks_per_die - shape.slc_reserved - self.config.gc.low - 1
    }

    /// Puts a new drive into the state that uniformly random 4 KiB writes to the first `share` of its blocks end in.
    /// Takes a few tens of nanoseconds per page, no simulated time, and counts nothing.
    pub(crate) fn precondition_random(&mut self, share: f64, seed: u64) {
        self.assert_new();
        let pages = self.pages_of_share(share);
        if pages == 0 {
            return;
        }
        self.ftl.expect_disorder();
        let (dies, per_block) = (self.ftl.shape.dies, self.ftl.shape.pages_per_block);
        let closed = self.lasting_blocks();
        let t = decay(f64::from(pages) / (f64::from(closed) * f64::from(dies) * f64::from(per_block)));
        let mut rng = Rng::new(seed);
        let mut owners = Scatter::new(pages);
        let mut left = u64::from(pages);
        let blocks = u64::from(closed) * u64::from(dies);
        // What the blocks from here on would hold by expectation; scaling by it keeps the sum exact.
        let share_of = |i: u32| libm::exp(-t * (1.0 - (f64::from(i) + 0.5) / f64::from(closed)));
        let mut expected: f64 = (0..closed).map(share_of).sum::<f64>() * f64::from(dies) * f64::from(per_block);
        for (n, (i, die)) in (0..closed).flat_map(|i| (0..dies).map(move |die| (i, die))).enumerate() {
            let mean = share_of(i) * f64::from(per_block);
            let rest = (blocks - 1 - n as u64) * u64::from(per_block);
            let scaled = (mean * left as f64 / expected).round() as u64;
            let valid = scaled.clamp(left.saturating_sub(rest), u64::from(per_block).min(left));
            expected = (expected - mean).max(1.0);
            left -= valid;
            self.lay_random(self.ftl.blocks_of(die).start + i, valid as u32, &mut owners, &mut rng);
        }
        if let Some(map) = &mut self.map {
            map.settle(pages, Scatter::new(map.pages_of(pages)), true);
        }
    }

    /// Fills a block so that `valid` of its pages, anywhere, are valid.
    fn lay_random(&mut self, block: u32, valid: u32, owners: &mut Scatter, rng: &mut Rng) {
        let per_block = self.ftl.shape.pages_per_block;
        let mut wanted = valid;
        self.ftl.lay_down(block, |page| {
            if rng.below(u64::from(per_block - page)) >= u64::from(wanted) {
                return None;
            }
            wanted -= 1;
            owners.next()
        });
    }

    /// Puts a new drive into the state that one sequential pass over the first `share` of its blocks ends in.
    pub(crate) fn precondition_sequential(&mut self, share: f64) {
        self.assert_new();
        let pages = self.pages_of_share(share);
        let (dies, per_block, unit) = (self.ftl.shape.dies, self.ftl.shape.pages_per_block, self.ftl.shape.unit);
        let units_per_block = per_block / unit;
        for i in 0..pages.div_ceil(dies * per_block) {
            for die in 0..dies {
                let block = self.ftl.blocks_of(die).start + i;
                self.ftl.lay_down(block, |page| {
                    let nth = u64::from(i * units_per_block + page / unit) * u64::from(dies) + u64::from(die);
                    let lpn = nth * u64::from(unit) + u64::from(page % unit);
                    (lpn < u64::from(pages)).then_some(lpn as u32)
                });
            }
        }
        if let Some(map) = &mut self.map {
            map.settle(pages, (0..map.pages_of(pages)).rev(), false);
        }
        if let Some(map) = &mut self.block_map {
            map.settle(self.ftl.shape.blocks_per_die, pages.div_ceil(dies * per_block));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scatter_is_a_bijection() {
        for n in [1, 2, 3, 100, 4096, 5000] {
            let mut seen: Vec<u32> = Scatter::new(n).collect();
            seen.sort_unstable();
            assert_eq!(seen, (0..n).collect::<Vec<_>>());
        }
    }

    #[test]
    fn amplification_of_known_utilisations() {
        // Published solutions of the same equation: utilisation 0.8 gives a victim share of 0.629 and 2.69.
        assert!((greedy_write_amplification(0.8) - 2.69).abs() < 0.02, "{}", greedy_write_amplification(0.8));
        assert!(greedy_write_amplification(0.05) < 1.001);
        assert!(greedy_write_amplification(0.95) > 9.0);
    }
}
