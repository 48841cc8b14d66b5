//! A random permutation of 0..n that needs no memory.

use cygnus_runtime::Rng;

/// Scatters ranks over slots, one to one: the hottest rank is hot wherever it lands, and no two ranks share a slot.
///
/// Four rounds of a Feistel network on the smallest even number of bits that holds `n`, walked until the value is
/// below `n` again (fewer than four steps on average).
#[derive(Clone, Debug)]
pub(crate) struct Shuffle {
    n: u64,
    half_bits: u32,
    keys: [u64; 4],
}

impl Shuffle {
    /// A permutation of 0..`n`, chosen by `rng`. `n` is from 1 to 2^62.
    pub(crate) fn new(n: u64, rng: &mut Rng) -> Shuffle {
        assert!((1..=1 << 62).contains(&n), "a permutation of {n} slots");
        let bits = u64::BITS - (n - 1).leading_zeros();
        Shuffle { n, half_bits: bits.div_ceil(2).max(1), keys: [(); 4].map(|()| rng.next_u64()) }
    }

    /// Where `rank` stands.
    pub(crate) fn slot(&self, rank: u64) -> u64 {
        debug_assert!(rank < self.n);
        let mut value = rank;
        loop {
            value = self.rounds(value);
            if value < self.n {
                return value;
            }
        }
    }

    fn rounds(&self, value: u64) -> u64 {
        let mask = (1 << self.half_bits) - 1;
        let (mut left, mut right) = (value >> self.half_bits, value & mask);
        for key in self.keys {
            (left, right) = (right, left ^ (mix(right ^ key) & mask));
        }
        left << self.half_bits | right
    }
}

/// SplitMix64's finaliser: every bit of the result depends on every bit of `z`.
pub(crate) fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cygnus_runtime::Rng;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_slot_once(n in 1_u64..3000, seed: u64) {
            let shuffle = Shuffle::new(n, &mut Rng::new(seed));
            let mut seen = vec![false; n as usize];
            for rank in 0..n {
                prop_assert!(!std::mem::replace(&mut seen[shuffle.slot(rank) as usize], true));
            }
        }
    }

    #[test]
    fn neighbours_part() {
        const N: u64 = 1 << 20;
        let shuffle = Shuffle::new(N, &mut Rng::new(5));
        let near = (1..N).filter(|&rank| shuffle.slot(rank).abs_diff(shuffle.slot(rank - 1)) < 100).count();
        assert!(near < 400, "{near} of {N} neighbours are still near each other, about 200 are by chance");
    }
}
