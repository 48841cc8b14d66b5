//! How warm each range of the hybrid volumes is: four bytes for a MiB, in a table that all reactors share.
//!
//! Ranges may share a place there; then they warm each other. What is noted is a guess at what will be read again, and no more: changes
//! that meet may be lost, and nothing of it is kept when the array closes.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use cygnus_policy::{HybridRule, Temperature, WARMTH_BLOCKS};
use cygnus_types::{Lba, Medium, Nanos, VolumeId};

use crate::write::heat::place_of;

/// See the module's text.
pub(crate) struct Temperatures {
    pub rule: HybridRule,
    ranges: Box<[AtomicU32]>,
    /// Temperatures are halved with each.
    epoch: AtomicU64,
    /// When the present one ends, in nanoseconds.
    ends_at: AtomicU64,
    /// By medium: whether something hot found no room there.
    wants_room: [AtomicBool; Medium::ALL.len()],
}

impl Temperatures {
    /// For volumes that may hold so many blocks.
    pub(crate) fn new(rule: HybridRule, usable: u64) -> Self {
        let ranges = (0..usable.div_ceil(WARMTH_BLOCKS).max(1)).map(|_| AtomicU32::default()).collect();
        let (epoch, ends_at) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { rule, ranges, epoch, ends_at, wants_room: Default::default() }
    }

    fn place(&self, volume: VolumeId, range: u64) -> &AtomicU32 {
        &self.ranges[place_of(volume, range, self.ranges.len())]
    }

    /// Whether a block is in a hot range.
    pub(crate) fn is_hot(&self, volume: VolumeId, lba: Lba) -> bool {
        let bits = self.place(volume, lba.0 / WARMTH_BLOCKS).load(Ordering::Relaxed);
        Temperature { bits }.at(self.epoch.load(Ordering::Relaxed)) >= self.rule.hot_from
    }

    /// Notes what a client reads.
    pub(crate) fn read(&self, volume: VolumeId, lba: Lba, blocks: u64, now: Nanos) {
        self.goes_on(now);
        let epoch = self.epoch.load(Ordering::Relaxed);
        for (range, blocks) in by_range(lba, blocks) {
            let place = self.place(volume, range);
            let warmth = Temperature { bits: place.load(Ordering::Relaxed) };
            place.store(warmth.read(epoch, blocks).bits, Ordering::Relaxed);
        }
    }

    /// Notes what a client discards: a range of which nothing is left is cold.
    pub(crate) fn discarded(&self, volume: VolumeId, lba: Lba, blocks: u64) {
        let whole = by_range(lba, blocks).filter(|&(_, blocks)| blocks == WARMTH_BLOCKS);
        whole.for_each(|(range, _)| self.place(volume, range).store(0, Ordering::Relaxed));
    }

    fn goes_on(&self, now: Nanos) {
        let ends_at = self.ends_at.load(Ordering::Relaxed);
        let next = now.saturating_add(self.rule.half_life).0;
        let ends = now.0 >= ends_at
            && self.ends_at.compare_exchange(ends_at, next, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        // The first one only begins.
        if ends && ends_at > 0 {
            self.cool();
        }
    }

    /// Halves all.
    pub(crate) fn cool(&self) {
        self.epoch.fetch_add(1, Ordering::Relaxed);
    }

    /// Something hot finds no room on a medium; says whether that was known.
    pub(crate) fn lacks_room(&self, on: Medium) -> bool {
        self.wants_room[on.index()].swap(true, Ordering::Relaxed)
    }

    /// Whether something hot has found no room on a medium since some was made there last.
    pub(crate) fn has_lacked_room(&self, on: Medium) -> bool {
        self.wants_room[on.index()].load(Ordering::Relaxed)
    }

    /// Room was made on a medium, as far as that goes.
    pub(crate) fn room_was_made(&self, on: Medium) {
        self.wants_room[on.index()].store(false, Ordering::Relaxed);
    }
}

/// The ranges of some blocks, and how many of the blocks are in each.
fn by_range(lba: Lba, blocks: u64) -> impl Iterator<Item = (u64, u64)> {
    let (from, end) = (lba.0, lba.0 + blocks);
    (from / WARMTH_BLOCKS..end.div_ceil(WARMTH_BLOCKS)).map(move |range| {
        let (first, behind) = (range * WARMTH_BLOCKS, (range + 1) * WARMTH_BLOCKS);
        (range, behind.min(end) - first.max(from))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const VOLUME: VolumeId = VolumeId(3);

    fn table() -> Temperatures {
        Temperatures::new(HybridRule::default(), 100 * WARMTH_BLOCKS)
    }

    #[test]
    fn blocks_are_dealt_out_to_their_ranges() {
        let ranges = |lba, blocks| by_range(Lba(lba), blocks).collect::<Vec<_>>();
        assert_eq!(ranges(255, 258), [(0, 1), (1, 256), (2, 1)]);
        assert_eq!(ranges(256, 256), [(1, 256)]);
        assert_eq!(ranges(300, 1), [(1, 1)]);
    }

    #[test]
    fn what_is_read_twice_is_hot_until_it_is_discarded_or_has_cooled() {
        let temperatures = table();
        let (whole, day) = (WARMTH_BLOCKS, HybridRule::default().half_life);
        let is_hot = |range: u64| temperatures.is_hot(VOLUME, Lba(range * whole + 7));
        temperatures.read(VOLUME, Lba(whole), 2 * whole, Nanos(1));
        assert!(!is_hot(1) && !is_hot(2));
        temperatures.read(VOLUME, Lba(whole), 2 * whole, Nanos(2));
        assert!(!is_hot(0) && is_hot(1) && is_hot(2) && !is_hot(3));
        temperatures.discarded(VOLUME, Lba(whole + 1), 2 * whole - 1);
        assert!(is_hot(1) && !is_hot(2), "a part of a range is left");
        temperatures.read(VOLUME, Lba(0), 1, Nanos(3) + day);
        assert!(!is_hot(1));
    }
}
