//! A table of numbers kept as runs: what a translation looks like whose pages were written in order.
//!
//! Groups of 64 numbers. In a run each number is one more than the one before, or all are 0; of a group those places are
//! kept where a run begins, as bits, and the first number of each. A group that is being written is kept in full, until
//! enough others have been written since; then it is packed again if that gains anything.

use std::collections::VecDeque;

use cygnus_types::prefetch;

/// Numbers in a group.
const GROUP: usize = u64::BITS as usize;
/// Room for the first numbers of runs, in numbers; the last one is for groups kept in full.
const CLASSES: [usize; 8] = [2, 4, 8, 12, 16, 24, 32, GROUP];
const FULL: usize = CLASSES.len() - 1;
/// Numbers that a class's memory grows by, a multiple of all of them.
const CHUNK: usize = 3 << 10;
/// Groups kept in full because they are being written: one in this number of groups ...
const WRITTEN_SHARE: usize = 64;
/// ... and this number more.
const WRITTEN_LEAST: usize = 64;

/// Where a group's runs begin, and their first numbers: their place in the class that has room for that number of runs. A
/// single run's is here.
#[derive(Clone, Copy, Debug)]
struct Group {
    begins: u64,
    first: u32,
    /// Kept in full, and to be packed when its turn comes.
    is_written: bool,
}

impl Group {
    const ZEROS: Group = Group { begins: 1, first: 0, is_written: false };

    fn is_full(&self) -> bool {
        self.begins == u64::MAX
    }
}

/// Pieces of memory of one size.
#[derive(Clone, Debug)]
struct Class {
    room: usize,
    chunks: Vec<Box<[u32]>>,
    free: Vec<u32>,
    made: u32,
}

impl Class {
    fn new(room: usize) -> Self {
        Self { room, chunks: Vec::new(), free: Vec::new(), made: 0 }
    }

    fn take(&mut self) -> u32 {
        if let Some(at) = self.free.pop() {
            return at;
        }
        if self.made as usize * self.room == self.chunks.len() * CHUNK {
            self.chunks.push(vec![0; CHUNK].into_boxed_slice());
        }
        self.made += 1;
        self.made - 1
    }

    #[inline]
    fn of(&self, at: u32) -> &[u32] {
        let from = at as usize * self.room;
        &self.chunks[from / CHUNK][from % CHUNK..][..self.room]
    }

    #[inline]
    fn of_mut(&mut self, at: u32) -> &mut [u32] {
        let from = at as usize * self.room;
        &mut self.chunks[from / CHUNK][from % CHUNK..][..self.room]
    }

    fn memory(&self) -> usize {
        self.chunks.len() * CHUNK * size_of::<u32>() + self.free.capacity() * size_of::<u32>()
    }
}

/// The class with room for the first numbers of `runs` runs.
fn class_for(runs: usize) -> usize {
    CLASSES.iter().position(|&room| runs <= room).expect("a group has no more runs than numbers")
}

/// Where runs begin in a group.
fn begins(numbers: &[u32]) -> u64 {
    let goes_on = |pair: &[u32]| pair[1] == if pair[0] == 0 { 0 } else { pair[0].wrapping_add(1) };
    numbers.windows(2).zip(1..).fold(1, |begins, (pair, n)| begins | u64::from(!goes_on(pair)) << n)
}

/// Numbers that `numbers` would take as runs.
pub(crate) fn room_as_runs(numbers: &[u32]) -> usize {
    numbers.chunks(GROUP).map(|group| CLASSES[class_for(begins(group).count_ones() as usize)]).sum()
}

/// See the module's text.
#[derive(Clone, Debug)]
pub(crate) struct Runs {
    groups: Vec<Group>,
    classes: [Class; CLASSES.len()],
    /// Groups that are being written, the one that has been for longest first.
    written: VecDeque<u32>,
    /// Numbers that all groups take.
    room: usize,
}

impl Runs {
    /// `len` zeros.
    pub(crate) fn zeros(len: usize) -> Self {
        Self {
            groups: vec![Group::ZEROS; len.div_ceil(GROUP)],
            classes: CLASSES.map(Class::new),
            written: VecDeque::new(),
            room: 0,
        }
    }

    /// Numbers that are kept for all of them.
    pub(crate) fn room(&self) -> usize {
        self.room
    }

    #[inline]
    pub(crate) fn get(&self, at: usize) -> u32 {
        let (group, n) = (self.groups[at / GROUP], at % GROUP);
        if group.is_full() {
            return self.classes[FULL].of(group.first)[n];
        }
        let upto = group.begins & (u64::MAX >> (GROUP - 1 - n));
        let runs = group.begins.count_ones() as usize;
        let first = match runs {
            1 => group.first,
            _ => self.classes[class_for(runs)].of(group.first)[upto.count_ones() as usize - 1],
        };
        let begin = u64::BITS - 1 - upto.leading_zeros();
        if first == 0 { 0 } else { first.wrapping_add(n as u32 - begin) }
    }

    #[inline]
    pub(crate) fn set(&mut self, at: usize, number: u32) {
        if !self.groups[at / GROUP].is_written {
            if self.get(at) == number {
                return;
            }
            self.begin_writing(at / GROUP);
        }
        let first = self.groups[at / GROUP].first;
        self.classes[FULL].of_mut(first)[at % GROUP] = number;
    }

    pub(crate) fn prefetch(&self, at: usize) {
        prefetch(&self.groups[at / GROUP]);
    }

    fn numbers(&self, group: usize) -> [u32; GROUP] {
        std::array::from_fn(|n| self.get(group * GROUP + n))
    }

    /// Keeps a group in full.
    fn begin_writing(&mut self, group: usize) {
        if !self.groups[group].is_full() {
            let numbers = self.numbers(group);
            self.give_up(group);
            self.keep(group, u64::MAX, &numbers);
        }
        self.groups[group].is_written = true;
        self.written.push_back(group as u32);
        if self.written.len() > self.groups.len() / WRITTEN_SHARE + WRITTEN_LEAST {
            let longest = self.written.pop_front().expect("there are some");
            self.end_writing(longest as usize);
        }
    }

    /// Packs a group, if it is runs.
    fn end_writing(&mut self, group: usize) {
        self.groups[group].is_written = false;
        let numbers = self.numbers(group);
        let begins = begins(&numbers);
        let runs = begins.count_ones() as usize;
        if class_for(runs) < FULL {
            self.give_up(group);
            let mut firsts = [0; GROUP];
            let places = (0..GROUP).filter(|n| begins & 1 << n != 0);
            firsts.iter_mut().zip(places).for_each(|(first, n)| *first = numbers[n]);
            self.keep(group, begins, &firsts[..runs]);
        }
    }

    fn keep(&mut self, group: usize, begins: u64, firsts: &[u32]) {
        let first = match *firsts {
            [first] => first,
            ref firsts => {
                let class = &mut self.classes[class_for(firsts.len())];
                let at = class.take();
                class.of_mut(at)[..firsts.len()].copy_from_slice(firsts);
                self.room += class.room;
                at
            }
        };
        self.groups[group] = Group { begins, first, is_written: false };
    }

    fn give_up(&mut self, group: usize) {
        let Group { begins, first, .. } = self.groups[group];
        let runs = begins.count_ones() as usize;
        if runs > 1 {
            let class = &mut self.classes[class_for(runs)];
            class.free.push(first);
            self.room -= class.room;
        }
    }

    /// Bytes of memory.
    pub(crate) fn memory(&self) -> usize {
        size_of_val(&*self.groups) + self.classes.iter().map(Class::memory).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LEN: usize = 20_000;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn agrees_with_a_plain_table(
            writes in prop::collection::vec((0..LEN, prop_oneof![Just(0_u32), any::<u32>(), 0..9_u32], 1_usize..400), 1..300),
        ) {
            let (mut runs, mut plain) = (Runs::zeros(LEN), vec![0_u32; LEN]);
            for (at, number, len) in writes {
                for n in 0..len.min(LEN - at) {
                    let number = if number == 0 { 0 } else { number.wrapping_add(n as u32) };
                    runs.set(at + n, number);
                    plain[at + n] = number;
                }
                prop_assert!((at.saturating_sub(70)..(at + len + 70).min(LEN)).all(|n| runs.get(n) == plain[n]));
            }
            prop_assert!((0..LEN).all(|n| runs.get(n) == plain[n]));
            let kept = |group: &Group| match group.begins.count_ones() as usize {
                1 => 0,
                begun => CLASSES[class_for(begun)],
            };
            prop_assert_eq!(runs.room(), runs.groups.iter().map(kept).sum::<usize>());
        }
    }

    #[test]
    fn what_was_written_in_units_takes_a_number_for_each() {
        let len = 1 << 16;
        let mut runs = Runs::zeros(len);
        for at in 0..len {
            // Behind one another here, far from one another there; and somewhere else before.
            runs.set(at, u32::MAX - (at as u32).reverse_bits());
            runs.set(at, (at as u32 / 8 * 0x9E37 % 8192) * 8 + at as u32 % 8 + 1);
        }
        let written = runs.written.len() * GROUP;
        assert!(runs.room() <= written + len / 8, "{} numbers", runs.room());
    }
}
