//! Tables that only grow. The home reactor appends while all others read; nothing ever moves or goes away, so a reference
//! that was lent out stays good, and there is no lock on the way of a read or a write. What an entry says may change: the
//! module `looks` tells when nobody can be looking at it.

use std::ops::Index;

use crate::atomic::{AtomicUsize, OnceLock, Ordering};

/// A table of at most so many entries as it was made for.
pub(crate) struct Grown<T> {
    slots: Box<[OnceLock<T>]>,
    len: AtomicUsize,
}

impl<T> Grown<T> {
    pub(crate) fn new(capacity: usize, entries: impl IntoIterator<Item = T>) -> Self {
        let table = Self { slots: (0..capacity).map(|_| OnceLock::new()).collect(), len: AtomicUsize::new(0) };
        entries.into_iter().for_each(|entry| table.push(entry));
        table
    }

    /// Appends an entry. One reactor appends; the others see it some time later.
    ///
    /// # Panics
    /// When the table is full.
    pub(crate) fn push(&self, entry: T) {
        let at = self.len();
        assert!(self.slots[at].set(entry).is_ok(), "one reactor appends");
        // The entry first: whoever sees the length sees it too.
        self.len.store(at + 1, Ordering::Release);
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len.load(Ordering::Acquire)
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &T> + ExactSizeIterator {
        self.slots[..self.len()].iter().map(|slot| slot.get().expect("entries below the length are there"))
    }
}

impl<T> Index<usize> for Grown<T> {
    type Output = T;

    #[inline]
    fn index(&self, at: usize) -> &T {
        self.slots[at].get().expect("entries below the length are there")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_stay_good_while_the_table_grows() {
        let table = Grown::new(3, [1]);
        let first = &table[0];
        table.push(2);
        table.push(3);
        assert_eq!((*first, table.len()), (1, 3));
        assert!(table.iter().copied().eq([1, 2, 3]));
    }

    #[test]
    #[should_panic(expected = "index out of bounds")]
    fn a_full_table_takes_nothing_more() {
        Grown::new(1, [1, 2]);
    }
}
