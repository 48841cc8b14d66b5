//! Blocks of a volume that are unreadable since the array was opened by force, until they are written anew or discarded.

use std::collections::BTreeMap;

/// What became of a block since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It can be read, and has to be from now on.
    Sound,
    /// Nobody has it.
    Gone,
    /// The same, unless what a power cut took was written or discarded there all the same.
    PerhapsGone,
    /// It was written or discarded at this time: it can be read, but it is as before after a power cut that comes before the
    /// next flush.
    Replaced(u64),
}

/// See the module's text.
#[derive(Default)]
pub(crate) struct Forgone {
    blocks: BTreeMap<u64, State>,
    /// Blocks that are not among these may be unreadable too.
    others_too: bool,
}

impl Forgone {
    /// The array was opened by force, and these blocks can be read, those cannot. `in_doubt`: nor perhaps can others.
    pub(crate) fn begin(&mut self, readable: &[u64], gone: &[u64], in_doubt: bool) {
        self.others_too |= in_doubt;
        self.blocks.extend(gone.iter().map(|&block| (block, State::Gone)));
        if self.others_too {
            self.blocks.extend(readable.iter().map(|&block| (block, State::Sound)));
        } else {
            self.blocks.retain(|block, _| !readable.contains(block));
        }
    }

    pub(crate) fn may_be_unreadable(&self, block: u64) -> bool {
        self.blocks.get(&block).map_or(self.others_too, |state| matches!(state, State::Gone | State::PerhapsGone))
    }

    /// Blocks that are unreadable, and of each whether that is certain and the array knows of this very block.
    pub(crate) fn gone(&self) -> impl Iterator<Item = (u64, bool)> {
        self.blocks.iter().filter_map(|(&block, state)| match state {
            State::Gone => Some((block, !self.others_too)),
            State::PerhapsGone => Some((block, false)),
            State::Sound | State::Replaced(_) => None,
        })
    }

    /// The whole block was written or discarded at `at`, for good if that is `durable`.
    pub(crate) fn replaced(&mut self, block: u64, at: u64, durable: bool) {
        let before = self.blocks.get(&block).copied().or(self.others_too.then_some(State::Gone));
        match before {
            None | Some(State::Sound) => {}
            Some(_) if durable => self.is_sound(block),
            Some(_) => drop(self.blocks.insert(block, State::Replaced(at))),
        }
    }

    /// A flush that began at `since` has succeeded.
    pub(crate) fn flushed(&mut self, since: u64) {
        let covered =
            |(&block, state): (&u64, &State)| matches!(state, State::Replaced(at) if *at < since).then_some(block);
        let covered: Vec<u64> = self.blocks.iter().filter_map(covered).collect();
        covered.into_iter().for_each(|block| self.is_sound(block));
    }

    pub(crate) fn lose_power(&mut self) {
        self.blocks.values_mut().filter(|state| **state != State::Sound).for_each(|state| *state = State::PerhapsGone);
    }

    /// Blocks from `blocks` on are no more. Should they come back, they hold zeros; or nobody knows.
    pub(crate) fn resize(&mut self, blocks: u64) {
        drop(self.blocks.split_off(&blocks));
    }

    fn is_sound(&mut self, block: u64) {
        if self.others_too {
            self.blocks.insert(block, State::Sound);
        } else {
            self.blocks.remove(&block);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_unreadable_until_it_is_durably_replaced() {
        let mut forgone = Forgone::default();
        forgone.begin(&[1], &[2, 3], false);
        assert_eq!([1, 2, 3, 4].map(|block| forgone.may_be_unreadable(block)), [false, true, true, false]);
        assert_eq!(forgone.gone().collect::<Vec<_>>(), [(2, true), (3, true)]);
        forgone.replaced(2, 10, false);
        forgone.replaced(3, 11, true);
        assert_eq!([2, 3].map(|block| forgone.may_be_unreadable(block)), [false, false]);
        forgone.flushed(10);
        forgone.lose_power();
        assert_eq!([2, 3].map(|block| forgone.may_be_unreadable(block)), [true, false], "the flush began before");
        assert_eq!(forgone.gone().collect::<Vec<_>>(), [(2, false)], "it may have got there");
        forgone.replaced(2, 20, false);
        forgone.flushed(21);
        forgone.lose_power();
        assert!(!forgone.may_be_unreadable(2));
    }

    #[test]
    fn of_a_volume_in_doubt_only_what_was_read_or_replaced_is_known() {
        let mut forgone = Forgone::default();
        forgone.begin(&[1], &[2], true);
        assert_eq!([1, 2, 9].map(|block| forgone.may_be_unreadable(block)), [false, true, true]);
        forgone.replaced(9, 5, true);
        forgone.resize(9);
        assert!(forgone.may_be_unreadable(9), "what lay there is no more");
        forgone.replaced(9, 6, true);
        assert!(!forgone.may_be_unreadable(9));
    }
}
