//! A set of page numbers, one bit each.

use std::ops::Range;

const WORD: u32 = u64::BITS;

/// Which of a fixed number of pages are in. Zeros cost no memory until a page comes in.
#[derive(Clone, Debug)]
pub(crate) struct Bits(Vec<u64>);

impl Bits {
    /// None of `len` pages.
    pub(crate) fn none(len: usize) -> Self {
        Self(vec![0; len.div_ceil(WORD as usize)])
    }

    #[inline]
    pub(crate) fn contains(&self, at: u32) -> bool {
        self.0[(at / WORD) as usize] & bit(at) != 0
    }

    #[inline]
    pub(crate) fn insert(&mut self, at: u32) {
        self.0[(at / WORD) as usize] |= bit(at);
    }

    #[inline]
    pub(crate) fn remove(&mut self, at: u32) {
        self.0[(at / WORD) as usize] &= !bit(at);
    }

    /// Those of a range, in order.
    #[inline]
    pub(crate) fn within(&self, range: Range<u32>) -> Within<'_> {
        let left = if range.is_empty() {
            0
        } else {
            self.0[(range.start / WORD) as usize] & (u64::MAX << (range.start % WORD))
        };
        Within { bits: self, left, word: range.start / WORD, end: range.end }
    }

    /// How many of a range are in.
    pub(crate) fn count(&self, range: Range<u32>) -> u32 {
        self.within(range).count() as u32
    }

    /// Bytes of state.
    pub(crate) fn memory(&self) -> usize {
        size_of_val(&*self.0)
    }
}

fn bit(at: u32) -> u64 {
    1 << (at % WORD)
}

/// See [`Bits::within`].
pub(crate) struct Within<'a> {
    bits: &'a Bits,
    /// Those of the current word that are still to come.
    left: u64,
    word: u32,
    end: u32,
}

impl Iterator for Within<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        while self.left == 0 {
            self.word += 1;
            if self.word * WORD >= self.end {
                return None;
            }
            self.left = self.bits.0[self.word as usize];
        }
        let at = self.word * WORD + self.left.trailing_zeros();
        self.left &= self.left - 1;
        (at < self.end).then_some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn agrees_with_a_set(
            changes in prop::collection::vec((0_u32..300, any::<bool>()), 0..200), from in 0_u32..300, len in 0_u32..300,
        ) {
            let (mut bits, mut set) = (Bits::none(300), BTreeSet::new());
            for (at, comes) in changes {
                if comes {
                    bits.insert(at);
                    set.insert(at);
                } else {
                    bits.remove(at);
                    set.remove(&at);
                }
            }
            let range = from..(from + len).min(300);
            let expected: Vec<u32> = (0..300).filter(|at| set.contains(at) && range.contains(at)).collect();
            prop_assert!((0..300).all(|at| bits.contains(at) == set.contains(&at)));
            prop_assert_eq!(bits.count(range.clone()) as usize, expected.len());
            prop_assert_eq!(bits.within(range).collect::<Vec<_>>(), expected);
        }
    }
}
