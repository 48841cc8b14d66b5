//! The store's requests, in the order in which they are issued.

use super::activity::Activity;
use super::space::Space;
use crate::{Kind, Request};
use std::collections::VecDeque;
use std::ops::Range;

/// What is to be issued next.
#[derive(Debug)]
pub(super) struct Output {
    /// Where the store's space begins on the volume.
    base: u64,
    queue: VecDeque<Request>,
}

impl Output {
    pub(super) fn new(base: u64) -> Output {
        Output { base, queue: VecDeque::new() }
    }

    /// A request on a range of the store's space.
    pub(super) fn push(&mut self, kind: Kind, range: Range<u64>, activity: Activity) {
        let len = u32::try_from(range.end - range.start).expect("files are shorter than 4 GiB");
        self.queue.push_back(Request::new(kind, self.base + range.start, len, activity as u16));
    }

    /// A flush: whatever is issued afterwards finds everything so far done.
    pub(super) fn flush(&mut self, space: &mut Space, activity: Activity) {
        self.queue.push_back(Request::flush(activity as u16));
        space.flushed();
    }

    pub(super) fn pop(&mut self) -> Option<Request> {
        self.queue.pop_front()
    }
}
