//! Room for files on the volume.

use std::ops::Range;

/// Files are made of pieces of this size, and background work reads and writes them whole: RocksDB writes tables in
/// pieces of 1 MiB (`writable_file_max_buffer_size`).
pub(super) const UNIT: u64 = 1 << 20;

/// Which units of the volume belong to no file. New files go on from where the last one ended, as file systems place
/// them, so that space is written round and round.
#[derive(Clone, Debug)]
pub(super) struct Space {
    free: Vec<bool>,
    count: u64,
    next: usize,
    /// Given back since the last flush: a write there could overtake the trim.
    cooling: Vec<u32>,
}

impl Space {
    /// All of `units` are free.
    pub(super) fn new(units: u64) -> Space {
        Space { free: vec![true; units as usize], count: units, next: 0, cooling: Vec::new() }
    }

    /// Units that can be taken.
    pub(super) fn free(&self) -> u64 {
        self.count
    }

    /// Whether units become free with the next flush.
    pub(super) fn is_cooling(&self) -> bool {
        !self.cooling.is_empty()
    }

    /// Takes `units` units, contiguous where the free ones are; `None` when fewer are free.
    pub(super) fn take(&mut self, units: u64) -> Option<Vec<u32>> {
        if units > self.count {
            return None;
        }
        let mut taken = Vec::with_capacity(units as usize);
        while (taken.len() as u64) < units {
            if std::mem::replace(&mut self.free[self.next], false) {
                taken.push(self.next as u32);
            }
            self.next = (self.next + 1) % self.free.len();
        }
        self.count -= units;
        Some(taken)
    }

    /// Gives units back, to be taken again after a flush, and says which bytes of the volume they were, contiguous ones
    /// together.
    pub(super) fn give_back(&mut self, units: &[u32]) -> Vec<Range<u64>> {
        self.cooling.extend(units);
        let runs = units.chunk_by(|&a, &b| a + 1 == b);
        runs.map(|run| u64::from(run[0]) * UNIT..(u64::from(run[0]) + run.len() as u64) * UNIT).collect()
    }

    /// A flush comes after everything so far.
    pub(super) fn flushed(&mut self) {
        self.count += self.cooling.len() as u64;
        for unit in self.cooling.drain(..) {
            assert!(!std::mem::replace(&mut self.free[unit as usize], true), "unit {unit} was given back twice");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_go_round() {
        let mut space = Space::new(8);
        assert_eq!(space.take(3), Some(vec![0, 1, 2]));
        assert_eq!(space.take(4), Some(vec![3, 4, 5, 6]));
        assert_eq!(space.take(2), None);
        assert_eq!(space.give_back(&[0, 1, 3]), [0..2 * UNIT, 3 * UNIT..4 * UNIT]);
        assert_eq!(space.take(3), None, "not before a flush");
        assert!(space.is_cooling());
        space.flushed();
        assert_eq!(space.take(3), Some(vec![7, 0, 1]));
        assert_eq!((space.free(), space.is_cooling()), (1, false));
    }
}
