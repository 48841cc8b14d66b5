//! Who must wait for whom: one at a time, or only those who touch the same blocks.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use cygnus_runtime::Event;

/// Lets one task in at a time.
#[derive(Default)]
pub(crate) struct Lock {
    held: Cell<bool>,
    freed: Event,
}

/// The right to be alone, until dropped.
pub(crate) struct Held<'a>(&'a Lock);

impl Lock {
    pub(crate) async fn take(&self) -> Held<'_> {
        loop {
            let freed = self.freed.wait();
            if !self.held.replace(true) {
                return Held(self);
            }
            freed.await;
        }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.held.set(false);
        self.0.freed.notify();
    }
}

/// Ranges of blocks that somebody writes or copies. Two writes of one block at once would leave copies of it that
/// differ; two of parts of one block would lose one of the parts.
#[derive(Default)]
pub(crate) struct Ranges {
    /// By first block, the block behind the last one; none overlap.
    busy: RefCell<BTreeMap<u64, u64>>,
    freed: Event,
}

/// A range that nobody else has, until dropped.
pub(crate) struct Range {
    ranges: Rc<Ranges>,
    first: u64,
}

impl Ranges {
    pub(crate) async fn take(self: &Rc<Self>, first: u64, blocks: u64) -> Range {
        loop {
            let freed = self.freed.wait();
            if self.is_free(first, first + blocks) {
                self.busy.borrow_mut().insert(first, first + blocks);
                return Range { ranges: self.clone(), first };
            }
            freed.await;
        }
    }

    fn is_free(&self, first: u64, end: u64) -> bool {
        // Of those that begin before the end, only the last can reach into it.
        self.busy.borrow().range(..end).next_back().is_none_or(|(_, &other)| other <= first)
    }
}

impl Drop for Range {
    fn drop(&mut self) {
        self.ranges.busy.borrow_mut().remove(&self.first);
        self.ranges.freed.notify();
    }
}
