//! Which segments have changed since somebody looked. All reactors mark segments, the home reactor takes the marks: so what it
//! keeps by segments' counts costs a change of a count one bit, and needs no lock.

use cygnus_format::MAX_SEGMENTS;

use crate::atomic::{AtomicU64, Ordering, few};

/// Marks in a word.
const BITS: usize = 64;
/// Words of marks.
const WORDS: usize = few(MAX_SEGMENTS as usize / BITS);

/// See the module's text.
///
/// Everything here is sequentially consistent, and so must be the changes of what is marked and the looks at it: then whoever
/// finds a mark set and leaves it at that knows that the mark is yet to be taken, and that whoever takes it sees the change.
pub(crate) struct Changed {
    marks: Box<[AtomicU64]>,
    /// Has a bit for each word of marks that may have some.
    summary: Box<[AtomicU64]>,
}

impl Changed {
    pub(crate) fn new() -> Self {
        let words = |count| (0..count).map(|_| AtomicU64::new(0)).collect();
        Self { marks: words(WORDS), summary: words(WORDS.div_ceil(BITS)) }
    }

    /// Something about a segment has changed just before.
    #[inline]
    pub(crate) fn mark(&self, seg: u32) {
        let (word, bit) = (seg as usize / BITS, 1 << (seg as usize % BITS));
        if self.marks[word].load(Ordering::SeqCst) & bit == 0 {
            self.mark_anew(word, bit);
        }
    }

    fn mark_anew(&self, word: usize, bit: u64) {
        if self.marks[word].fetch_or(bit, Ordering::SeqCst) == 0 {
            self.summary[word / BITS].fetch_or(1 << (word % BITS), Ordering::SeqCst);
        }
    }

    /// Takes all marks away and gives each marked segment to `of`, in their order.
    pub(crate) fn take(&self, mut of: impl FnMut(u32)) {
        for (at, summary) in self.summary.iter().enumerate() {
            // Most of it stays as it is: no line of it need be owned for that.
            if summary.load(Ordering::SeqCst) == 0 {
                continue;
            }
            for word in ones(summary.swap(0, Ordering::SeqCst)) {
                let word = at * BITS + word;
                for bit in ones(self.marks[word].swap(0, Ordering::SeqCst)) {
                    of((word * BITS + bit) as u32);
                }
            }
        }
    }
}

/// The numbers of the bits that are set.
fn ones(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let one = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
        bits &= bits - 1;
        Some(one)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mark_is_taken_once_and_in_order() {
        let changed = Changed::new();
        let taken = || {
            let mut taken = Vec::new();
            changed.take(|seg| taken.push(seg));
            taken
        };
        for seg in [MAX_SEGMENTS - 1, 0, 63, 64, 0, 4096, 63] {
            changed.mark(seg);
        }
        assert_eq!(taken(), [0, 63, 64, 4096, MAX_SEGMENTS - 1]);
        assert_eq!(taken(), []);
        changed.mark(64);
        assert_eq!(taken(), [64]);
    }

    #[test]
    fn no_change_is_missed_by_who_takes_marks_meanwhile() {
        let (changed, count) = (Changed::new(), AtomicU64::new(0));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..100_000 {
                    count.fetch_add(1, Ordering::SeqCst);
                    changed.mark(70);
                }
            });
            let mut seen = 0;
            while seen < 100_000 {
                changed.take(|_| seen = count.load(Ordering::SeqCst));
                std::thread::yield_now();
            }
        });
    }
}
