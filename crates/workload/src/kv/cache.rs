//! The block cache of the store.

use crate::shuffle::mix;

/// Largest number of blocks that compete for one place.
const WAYS: usize = 16;

/// A set-associative cache with least-recently-used replacement: nearly as good as a list over all blocks, and the same
/// on every run.
#[derive(Clone, Debug)]
pub(super) struct Cache {
    /// For each set its blocks, the most recently used first; 0 is none.
    sets: Vec<[u64; WAYS]>,
}

impl Cache {
    /// Room for `blocks` blocks, rounded up to whole sets; no cache if 0.
    pub(super) fn new(blocks: u64) -> Cache {
        Cache { sets: vec![[0; WAYS]; blocks.div_ceil(WAYS as u64) as usize] }
    }

    /// Whether a block of a file is cached. Afterwards it is.
    pub(super) fn touch(&mut self, file: u64, block: u64) -> bool {
        if self.sets.is_empty() {
            return false;
        }
        // Files have fewer than 2^24 blocks of any size, and numbers from 1 on.
        let key = file << 24 | block;
        let index = (u128::from(mix(key)) * self.sets.len() as u128) >> 64;
        let set = &mut self.sets[index as usize];
        let found = set.iter().position(|&cached| cached == key);
        set[..=found.unwrap_or(WAYS - 1)].rotate_right(1);
        set[0] = key;
        found.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_what_is_used() {
        let mut cache = Cache::new(1024);
        assert!(!cache.touch(1, 0) && cache.touch(1, 0) && !cache.touch(2, 0));
        for round in 0..100 {
            for block in 0..256 {
                assert_eq!(cache.touch(7, block), round > 0, "a quarter of its room is always kept");
            }
        }
        let hits = (0..100_000).filter(|&n| cache.touch(8, n)).count();
        assert_eq!(hits, 0);
        assert!(!Cache::new(0).touch(1, 1));
    }
}
