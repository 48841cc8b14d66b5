//! A set of keys, one bit each.

use std::ops::Range;

/// Which of the positions of a range are in the set.
#[derive(Clone, Debug)]
pub(super) struct Bits {
    /// Number of the first word; positions are counted from 0 whatever the range.
    first: u64,
    words: Vec<u64>,
}

impl Bits {
    /// None of these positions.
    pub(super) fn new(range: Range<u64>) -> Bits {
        let first = range.start / 64;
        Bits { first, words: vec![0; range.end.div_ceil(64).saturating_sub(first) as usize] }
    }

    fn word(&self, index: u64) -> u64 {
        self.words[(index - self.first) as usize]
    }

    fn word_mut(&mut self, index: u64) -> &mut u64 {
        &mut self.words[(index - self.first) as usize]
    }

    pub(super) fn has(&self, position: u64) -> bool {
        self.word(position / 64) >> (position % 64) & 1 == 1
    }

    pub(super) fn add(&mut self, position: u64) {
        *self.word_mut(position / 64) |= 1 << (position % 64);
    }

    /// Adds the positions of another set that are in a range.
    pub(super) fn add_all(&mut self, other: &Bits, range: Range<u64>) {
        masks(range).for_each(|(index, mask)| *self.word_mut(index) |= other.word(index) & mask);
    }

    /// Removes the positions of a range.
    pub(super) fn clear(&mut self, range: Range<u64>) {
        masks(range).for_each(|(index, mask)| *self.word_mut(index) &= !mask);
    }

    /// Cuts a range, which is not empty, into pieces of about `entries` positions of the set each, none of them empty
    /// unless all are: the ends of the pieces and how many positions each has.
    pub(super) fn cut(&self, range: Range<u64>, entries: u64) -> Vec<(u64, u64)> {
        let (mut pieces, mut count, end) = (Vec::new(), 0, range.end);
        for (index, mask) in masks(range) {
            let found = u64::from((self.word(index) & mask).count_ones());
            // Pieces end between words, a few entries more or less.
            if count > 0 && count + found > entries {
                pieces.push((index * 64, count));
                count = 0;
            }
            count += found;
        }
        pieces.push((end, count));
        pieces
    }
}

/// The words that a range touches, each with the bits of it that are in the range.
fn masks(range: Range<u64>) -> impl Iterator<Item = (u64, u64)> {
    let Range { start, end } = range;
    (start / 64..end.div_ceil(64)).map(move |word| {
        let below = start.saturating_sub(word * 64);
        let above = 64 - (end - word * 64).min(64);
        (word, (u64::MAX << below) & (u64::MAX >> above))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn like_a_plain_set(
            members in prop::collection::btree_set(0_u64..500, 0..100),
            start in 0_u64..499,
            len in 1_u64..500,
            size in 1_u64..50,
        ) {
            let end = (start + len).min(500);
            let mut bits = Bits::new(0..500);
            members.iter().for_each(|&position| bits.add(position));
            let within: BTreeSet<u64> = members.range(start..end).copied().collect();
            let pieces = bits.cut(start..end, size);
            prop_assert_eq!(pieces.last().unwrap().0, end);
            prop_assert_eq!(pieces.iter().map(|piece| piece.1).sum::<u64>(), within.len() as u64);
            let mut from = start;
            for (to, count) in pieces {
                prop_assert_eq!(members.range(from..to).count() as u64, count);
                prop_assert!(count <= size.max(64));
                from = to;
            }
            let mut part = Bits::new(start..end);
            part.add_all(&bits, start..end);
            bits.clear(start..end);
            for position in 0..500 {
                let inside = (start..end).contains(&position);
                prop_assert!(!inside || part.has(position) == members.contains(&position));
                prop_assert_eq!(bits.has(position), members.contains(&position) && !inside);
            }
        }
    }
}
