//! Stripes that wait for the parity that members compute from copies ([`cygnus_policy::Postponement`]): which they are, and who wants it now.
//!
//! Such a stripe is in its place but for its parity, and members have copies of all of which that is the parity, so any m members may be
//! lost. It has not landed: it keeps its memory, from which the host computes the parity should a member not do it, and its segment is
//! not sealed. So whoever waits for stripes to land wants the parity of these now: flushes, checkpoints, an array that closes, groups
//! that are left.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use cygnus_runtime::{Event, EventWait};

use crate::write::lane::Lane;

/// See the module's text.
#[derive(Default)]
pub(crate) struct Postponed {
    /// Those that wait, by their sequence.
    waiting: RefCell<BTreeMap<u64, Lane>>,
    /// Stripes that are being converted.
    converting: Cell<u32>,
    /// Somebody waits for the stripes with lower sequences.
    wanted_below: Cell<u64>,
    /// Whether the room for copies runs short.
    pub is_short: Cell<bool>,
    changed: Event,
}

impl Postponed {
    /// A stripe waits until the answer is dropped.
    pub(crate) fn wait(&self, seq: u64, lane: Lane) -> Waiting<'_> {
        self.waiting.borrow_mut().insert(seq, lane);
        Waiting { of: self, seq }
    }

    /// A stripe is being converted until the answer is dropped.
    pub(crate) fn convert(&self) -> Converted<'_> {
        self.converting.set(self.converting.get() + 1);
        Converted(self)
    }

    /// Somebody waits for all stripes with lower sequences.
    pub(crate) fn wanted_below(&self, seq: u64) {
        if seq > self.wanted_below.get() {
            self.wanted_below.set(seq);
            self.look_again();
        }
    }

    /// Whether somebody waits for a stripe.
    pub(crate) fn is_wanted(&self, seq: u64) -> bool {
        seq < self.wanted_below.get()
    }

    /// Whether no other stripe has waited longer.
    pub(crate) fn is_first(&self, seq: u64) -> bool {
        self.waiting.borrow().keys().next() == Some(&seq)
    }

    /// Stripes that wait.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.borrow().len()
    }

    /// Those of a lane.
    pub(crate) fn waiting_in(&self, lane: Lane) -> usize {
        self.waiting.borrow().values().filter(|&&of| of == lane).count()
    }

    /// Stripes that are being converted.
    pub(crate) fn converting(&self) -> u32 {
        self.converting.get()
    }

    /// Completes when those who wait should look again.
    pub(crate) fn changed(&self) -> EventWait<'_> {
        self.changed.wait()
    }

    /// Something has changed that may end the waiting.
    pub(crate) fn look_again(&self) {
        self.changed.notify();
    }
}

/// A stripe that waits.
pub(crate) struct Waiting<'a> {
    of: &'a Postponed,
    seq: u64,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.of.waiting.borrow_mut().remove(&self.seq);
        self.of.look_again();
    }
}

/// A stripe that is being converted.
pub(crate) struct Converted<'a>(&'a Postponed);

impl Drop for Converted<'_> {
    fn drop(&mut self) {
        self.0.converting.set(self.0.converting.get() - 1);
        self.0.look_again();
    }
}

#[cfg(test)]
mod tests {
    use cygnus_types::Medium;

    use super::*;

    #[test]
    fn stripes_wait_in_the_order_in_which_they_were_closed() {
        let (lane, postponed) = (Lane::Clients(Medium::Flash), Postponed::default());
        let (fifth, fourth) = (postponed.wait(5, lane), postponed.wait(4, lane));
        assert!(postponed.is_first(4) && !postponed.is_first(5));
        drop(fourth);
        assert!(postponed.is_first(5));
        assert_eq!((postponed.waiting_in(lane), postponed.waiting_in(Lane::Hot(Medium::Flash))), (1, 0));
        postponed.wanted_below(5);
        assert!(postponed.is_wanted(4) && !postponed.is_wanted(5));
        postponed.wanted_below(3);
        assert!(postponed.is_wanted(4), "somebody still waits for it");
        drop(fifth);
        let converted = postponed.convert();
        assert_eq!((postponed.waiting(), postponed.converting()), (0, 1));
        drop(converted);
        assert_eq!(postponed.converting(), 0);
    }
}
