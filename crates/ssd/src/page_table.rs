//! A translation's table of page numbers, in the form that suits how it is written: runs where pages are written in order,
//! as a log does, or plain numbers where they are written anywhere. Both say the same; it turns by itself. Plain numbers
//! are quicker, so a small table, which is in the processor's caches then, has no other form.

use cygnus_types::prefetch;

use crate::runs::{Runs, room_as_runs};

/// Runs that take more than 1/`PLAIN_SHARE` of the memory of plain numbers become plain numbers.
const PLAIN_SHARE: usize = 2;
/// Plain numbers that would take at most 1/`RUNS_SHARE` of their memory as runs become runs.
const RUNS_SHARE: usize = 3;
/// Tables of fewer numbers are plain.
const RUNS_FROM: usize = 1 << 22;

/// A number for each page of a fixed count, 0 at first.
#[derive(Clone, Debug)]
pub(crate) struct PageTable {
    /// All of them, or none: looking for one's place finds out what the form is.
    plain: Vec<u32>,
    /// If not plain.
    runs: Option<Box<Runs>>,
    len: usize,
    /// Numbers to be set before plain ones are looked at again; in a small table, more than ever are.
    left: usize,
}

impl PageTable {
    pub(crate) fn new(len: usize) -> Self {
        Self::with(len, RUNS_FROM)
    }

    fn with(len: usize, runs_from: usize) -> Self {
        let runs = (len >= runs_from).then(|| Box::new(Runs::zeros(len)));
        // Zeros cost no memory until written.
        let plain = if runs.is_some() { Vec::new() } else { vec![0; len] };
        Self { plain, runs, len, left: if len >= runs_from { len } else { usize::MAX } }
    }

    /// Pages in no order are about to be set all over a new table.
    pub(crate) fn expect_disorder(&mut self) {
        (self.plain, self.runs) = (vec![0; self.len], None);
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(crate) fn get(&self, page: u32) -> u32 {
        match self.plain.get(page as usize) {
            Some(&number) => number,
            None => self.get_of_runs(page),
        }
    }

    #[inline(never)]
    fn get_of_runs(&self, page: u32) -> u32 {
        self.runs.as_ref().expect("the page is one of the table's").get(page as usize)
    }

    #[inline]
    pub(crate) fn set(&mut self, page: u32, number: u32) {
        match self.plain.get_mut(page as usize) {
            Some(place) => *place = number,
            None => self.set_in_runs(page, number),
        }
    }

    #[inline(never)]
    fn set_in_runs(&mut self, page: u32, number: u32) {
        let runs = self.runs.as_mut().expect("the page is one of the table's");
        runs.set(page as usize, number);
        if runs.room() * PLAIN_SHARE > self.len {
            self.plain = (0..self.len).map(|page| runs.get(page)).collect();
            (self.runs, self.left) = (None, self.len);
        }
    }

    /// Has the processor fetch what [`PageTable::get`] and [`PageTable::set`] will look at first.
    #[inline]
    pub(crate) fn prefetch(&self, page: u32) {
        match self.plain.get(page as usize) {
            Some(number) => prefetch(number),
            None => self.runs.iter().for_each(|runs| runs.prefetch(page as usize)),
        }
    }

    /// `count` numbers were set since the last call. Now and then, looks whether plain numbers have become runs.
    pub(crate) fn were_set(&mut self, count: u32) {
        self.left = self.left.saturating_sub(count as usize);
        if self.left > 0 {
            return;
        }
        self.left = self.len;
        if self.runs.is_none() && room_as_runs(&self.plain) * RUNS_SHARE < self.len {
            let mut runs = Runs::zeros(self.len);
            self.plain.iter().enumerate().for_each(|(page, &number)| runs.set(page, number));
            (self.plain, self.runs) = (Vec::new(), Some(Box::new(runs)));
        }
    }

    /// Bytes of memory.
    pub(crate) fn memory(&self) -> usize {
        size_of_val(&*self.plain) + self.runs.as_ref().map_or(0, |runs| runs.memory())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cygnus_types::Rng;

    #[test]
    fn turns_to_the_form_that_suits_and_says_the_same() {
        let len = 1 << 17;
        let (mut table, mut plain) = (PageTable::with(len as usize, 0), vec![0; len as usize]);
        let mut rng = Rng::new(1);
        let mut forms = Vec::new();
        for (n, in_order) in [true, false, false, true, true, true].into_iter().enumerate() {
            for at in 0..len {
                let page = if in_order { at } else { rng.below(u64::from(len)) as u32 };
                let number = (at / 8 * 0x9E37 % 4096 + n as u32) * 8 + at % 8;
                table.set(page, number);
                plain[page as usize] = number;
            }
            assert!((0..len).all(|page| table.get(page) == plain[page as usize]), "round {n}");
            table.were_set(len);
            forms.push(table.runs.is_some());
        }
        assert_eq!(forms, [true, false, false, true, true, true]);
        assert!(table.memory() * 2 < len as usize * size_of::<u32>());
    }
}
