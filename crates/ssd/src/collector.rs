//! A die's garbage collector: what it is emptying, what it has read and where that stands.

use std::collections::VecDeque;

use crate::ftl::{Ftl, NO_BLOCK};

#[derive(Clone, Debug)]
pub(crate) struct Collector {
    /// The block being emptied, and the page up to which it has been read.
    victim: u32,
    cursor: u32,
    /// The row being read: its pages come with [`Collector::row_arrived`].
    row: (u32, u32),
    /// Pages read and not yet programmed: flash page and logical page.
    pub(crate) gathered: VecDeque<(u32, u32)>,
    /// Blocks read to the end, some of whose pages are not yet programmed elsewhere.
    drained: Vec<u32>,
    /// Relocations owed for host data already written, in the collection's own fraction of a page.
    pub(crate) debt: i64,
}

impl Default for Collector {
    fn default() -> Self {
        Self { victim: NO_BLOCK, cursor: 0, row: (0, 0), gathered: VecDeque::new(), drained: Vec::new(), debt: 0 }
    }
}

impl Collector {
    pub(crate) fn is_active(&self) -> bool {
        self.victim != NO_BLOCK || !self.gathered.is_empty()
    }

    /// The block being emptied, if there is one.
    pub(crate) fn victim(&self) -> Option<u32> {
        (self.victim != NO_BLOCK).then_some(self.victim)
    }

    pub(crate) fn take_victim(&mut self, victim: u32) {
        (self.victim, self.cursor) = (victim, 0);
    }

    /// The victim's next row with valid pages, which is about to be sensed: how many there are. `None` if there is no such
    /// row: then the victim is drained.
    pub(crate) fn next_row(&mut self, ftl: &Ftl) -> Option<u32> {
        let Some((row, pages)) = ftl.next_row(self.victim, self.cursor) else {
            self.drained.push(self.victim);
            self.victim = NO_BLOCK;
            return None;
        };
        let first = ftl.first_page(self.victim);
        self.cursor = row.end;
        self.row = (first + row.start, first + row.end);
        Some(pages)
    }

    /// The row that was sensed is in the controller.
    pub(crate) fn row_arrived(&mut self, ftl: &Ftl) {
        let (from, to) = self.row;
        self.gathered.extend(ftl.current(from..to));
    }

    /// Forgets gathered pages that the host has overwritten since.
    pub(crate) fn drop_stale(&mut self, ftl: &Ftl) {
        self.gathered.retain(|&(ppn, lpn)| ftl.owner(ppn) == Some(lpn));
    }

    /// A block to be erased as soon as all its pages live elsewhere.
    pub(crate) fn erase_when_empty(&mut self, block: u32) {
        self.drained.push(block);
    }

    /// A drained victim whose pages all live elsewhere by now.
    pub(crate) fn emptied(&mut self, ftl: &Ftl) -> Option<u32> {
        let at = self.drained.iter().position(|&block| ftl.block(block).valid == 0)?;
        Some(self.drained.swap_remove(at))
    }

    /// Forgets what it was doing; blocks that still hold data are no victims any more.
    pub(crate) fn give_up(&mut self, ftl: &mut Ftl) {
        let blocks = self.drained.drain(..).chain((self.victim != NO_BLOCK).then_some(self.victim));
        let (keep, empty): (Vec<u32>, Vec<u32>) = blocks.partition(|&block| ftl.block(block).valid > 0);
        keep.into_iter().for_each(|block| ftl.spare_victim(block));
        *self = Collector { drained: empty, ..Collector::default() };
    }
}
