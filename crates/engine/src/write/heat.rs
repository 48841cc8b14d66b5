//! Heat-separated streams (SALSA section 3.1): what clients write to ranges that are often overwritten goes to segments of its own.
//!
//! Of each range of a volume it is noted how often it is written: two bytes for 128 KiB, in a table that all reactors share. Ranges
//! may share a place there; then they count together. What is noted is a guess at how long data will live, and no more: changes that
//! meet may be lost, and nothing of it is kept when the array closes.

use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};

use cygnus_policy::{EPOCH_WRITES, Heat, RANGE_BLOCKS, Streams};
use cygnus_types::{Lba, VolumeId};

/// Fewest blocks of an epoch: less is written before stripes are closed and counted.
const SHORTEST_EPOCH: u64 = 256;

/// See the module's text.
pub(crate) struct HeatTable {
    ranges: Box<[AtomicU16]>,
    epoch: AtomicU64,
    /// The epoch ends when clients have written so many blocks.
    ends_at: AtomicU64,
}

impl HeatTable {
    /// For volumes that may hold so many blocks; none if streams are not kept apart.
    pub(crate) fn new(streams: Streams, usable: u64) -> Option<Self> {
        let ranges = || (0..usable.div_ceil(RANGE_BLOCKS).max(1)).map(|_| AtomicU16::default()).collect();
        let table = || Self { ranges: ranges(), epoch: AtomicU64::new(0), ends_at: AtomicU64::new(0) };
        (streams == Streams::ByHeat).then(table)
    }

    fn place(&self, volume: VolumeId, lba: Lba) -> &AtomicU16 {
        &self.ranges[place_of(volume, lba.0 / RANGE_BLOCKS, self.ranges.len())]
    }

    /// Clients have written so many blocks since the array was opened, and volumes hold so many.
    pub(crate) fn goes_on(&self, written: u64, held: u64) {
        let ends_at = self.ends_at.load(Ordering::Relaxed);
        let next = written + (held / RANGE_BLOCKS * EPOCH_WRITES).max(SHORTEST_EPOCH);
        let ends = written >= ends_at;
        if ends && self.ends_at.compare_exchange(ends_at, next, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            self.epoch.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn is_hot(&self, volume: VolumeId, lba: Lba) -> bool {
        let heat = Heat { bits: self.place(volume, lba).load(Ordering::Relaxed) };
        heat.is_hot(self.epoch.load(Ordering::Relaxed))
    }

    /// Notes what a client has written.
    pub(crate) fn note(&self, volume: VolumeId, lba: Lba, blocks: u64) {
        let (mut from, end) = (lba.0, lba.0 + blocks);
        while from < end {
            let next = (from / RANGE_BLOCKS + 1) * RANGE_BLOCKS;
            self.note_range(volume, Lba(from), next.min(end) - from);
            from = next;
        }
    }

    fn note_range(&self, volume: VolumeId, lba: Lba, blocks: u64) {
        let place = self.place(volume, lba);
        let heat = Heat { bits: place.load(Ordering::Relaxed) };
        place.store(heat.written(self.epoch.load(Ordering::Relaxed), blocks).bits, Ordering::Relaxed);
    }
}

/// The place of a volume's range in a table that has so many, where ranges may share one. Neighbours stay neighbours, for the cache's
/// sake; volumes begin anywhere.
pub(crate) fn place_of(volume: VolumeId, range: u64, places: usize) -> usize {
    let begin = u64::from(volume.0).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (range.wrapping_add(begin) % places as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_are_written_more_often_than_the_others_are_hot() {
        const RANGES: u64 = 1000;
        let held = RANGES * RANGE_BLOCKS;
        let table = HeatTable::new(Streams::ByHeat, held).unwrap();
        let (volume, mut rng) = (VolumeId(7), cygnus_types::Rng::new(1));
        for written in 0..6 * held {
            // A tenth of the ranges gets half of the writes.
            let range = if rng.chance(1, 2) { rng.below(RANGES / 10) } else { rng.below(RANGES) };
            table.goes_on(written, held);
            table.note_range(volume, Lba(range * RANGE_BLOCKS + 3), 1);
        }
        let hot = |ranges: std::ops::Range<u64>| {
            ranges.filter(|range| table.is_hot(volume, Lba(range * RANGE_BLOCKS))).count() as u64
        };
        assert!(hot(0..RANGES / 10) > RANGES / 10 * 9 / 10, "{}", hot(0..RANGES / 10));
        assert!(hot(RANGES / 10..RANGES) < RANGES / 50, "{}", hot(RANGES / 10..RANGES));
        assert!(HeatTable::new(Streams::Together, held).is_none());
    }
}
