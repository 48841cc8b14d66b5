//! Write sequences: the order in which recovery must see the writes of one block.
//!
//! Two reactors may write the same block at the same time. The one whose map change comes last must also carry the
//! higher sequence, or a crash would bring back the other one's data. So both happen inside a short section, guarded by
//! a lock per region of 16 MiB (hashed onto 1024 words). The lock word *is* the sequence counter of the blocks that hash
//! to it: odd while somebody is inside. On one reactor it is never contended and costs about 5 ns.

use cygnus_types::{Lba, VolumeId};

use crate::atomic::{AtomicU64, Ordering, few, spin_loop};

/// Blocks of one region: one discard record covers at most this much.
pub(crate) const REGION_BLOCKS: u64 = 4096;
const WORDS: usize = few(1024);

/// Padded, so that neighbours do not share a cache line between cores.
#[repr(align(64))]
struct Word(AtomicU64);

/// See the module's text.
pub(crate) struct WriteOrder {
    words: Box<[Word]>,
}

/// Inside the section of one region.
pub(crate) struct Turn<'a> {
    word: &'a AtomicU64,
    seq: u64,
}

impl WriteOrder {
    /// All counters start at `first`: higher than every sequence found on the devices.
    pub(crate) fn new(first: u64) -> Self {
        Self { words: (0..WORDS).map(|_| Word(AtomicU64::new(first * 2))).collect() }
    }

    /// Lifts all counters to at least `seq`; during recovery, when nobody writes yet.
    pub(crate) fn raise(&self, seq: u64) {
        for word in &self.words {
            word.0.fetch_max(seq * 2, Ordering::AcqRel);
        }
    }

    /// Enters the section of the region that holds `lba`. Must not be held across an await or entered twice.
    #[inline]
    pub(crate) fn enter(&self, volume: VolumeId, lba: Lba) -> Turn<'_> {
        let region = (lba.0 / REGION_BLOCKS) ^ (u64::from(volume.0) << 40);
        let hash = region.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - WORDS.trailing_zeros());
        let word = &self.words[hash as usize].0;
        loop {
            let seen = word.load(Ordering::Relaxed);
            if seen.is_multiple_of(2)
                && word.compare_exchange_weak(seen, seen + 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
            {
                return Turn { word, seq: seen / 2 };
            }
            spin_loop();
        }
    }

    /// A sequence higher than all given out so far.
    pub(crate) fn ceiling(&self) -> u64 {
        self.words.iter().map(|w| w.0.load(Ordering::Acquire) / 2 + 1).max().unwrap_or(1)
    }
}

impl Turn<'_> {
    /// This turn's sequence: higher than that of every earlier turn in the region.
    pub(crate) fn seq(&self) -> u64 {
        self.seq
    }
}

impl Drop for Turn<'_> {
    #[inline]
    fn drop(&mut self) {
        self.word.store((self.seq + 1) * 2, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_rise_within_a_region_and_the_ceiling_tops_them() {
        let order = WriteOrder::new(10);
        let first = order.enter(VolumeId(1), Lba(0)).seq();
        let second = order.enter(VolumeId(1), Lba(REGION_BLOCKS - 1)).seq();
        assert_eq!((first, second), (10, 11));
        assert_eq!(order.ceiling(), 13);
    }

    #[test]
    fn last_in_the_section_has_the_highest_sequence() {
        let order = WriteOrder::new(1);
        let cell = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..10_000 {
                        let turn = order.enter(VolumeId(0), Lba(0));
                        let before = cell.swap(turn.seq(), Ordering::Relaxed);
                        assert!(before < turn.seq());
                    }
                });
            }
        });
    }
}
