//! Who goes next when there is not enough for all: start-time fair queueing (Goyal, Vin and Cheng, 1996).
//!
//! A request's tag is where its session's last one ended, or the tag of what was let in last if that is more, so that no session
//! saves up turns while it asks nothing. The lowest tag goes first. What a request counts (units of work, bytes) is its user's
//! affair, and so is how much is let in at a time.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::task::{Poll, Waker};

/// Where a request stands: its tag, and when it came among those of the same tag.
pub(crate) type Place = (u64, u64);

/// What a session has had: its next request's tag.
#[derive(Default)]
pub(crate) struct Had(Cell<u64>);

/// See the module's text.
#[derive(Default)]
pub(crate) struct Fair {
    /// Tag of what was let in last.
    now: Cell<u64>,
    /// Where the last of all sessions' requests ends.
    end: Cell<u64>,
    came: Cell<u64>,
    waiting: RefCell<BTreeMap<Place, Waiting>>,
}

struct Waiting {
    size: u64,
    waker: Waker,
}

impl Fair {
    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.borrow().is_empty()
    }

    /// Counts a request that goes without having waited.
    pub(crate) fn count(&self, had: &Had, size: u64) {
        self.tag(had, size);
    }

    /// A request that waits from now on.
    pub(crate) fn enter(&self, had: &Had, size: u64) -> Place {
        let came = self.came.replace(self.came.get() + 1);
        let place = (self.tag(had, size), came);
        self.waiting.borrow_mut().insert(place, Waiting { size, waker: Waker::noop().clone() });
        place
    }

    fn tag(&self, had: &Had, size: u64) -> u64 {
        let start = had.0.get().max(self.now.get());
        had.0.set(start + size);
        self.end.set(self.end.get().max(start + size));
        start
    }

    /// Waits until the request is let in.
    pub(crate) async fn until_let_in(&self, place: Place) {
        poll_fn(|cx| match self.waiting.borrow_mut().get_mut(&place) {
            Some(waiting) => {
                waiting.waker.clone_from(cx.waker());
                Poll::Pending
            }
            None => Poll::Ready(()),
        })
        .await;
    }

    /// Lets the next request in, if its size `may` come in now. Returns its size.
    pub(crate) fn let_in(&self, may: impl FnOnce(u64) -> bool) -> Option<u64> {
        let mut waiting = self.waiting.borrow_mut();
        let first = waiting.first_entry().filter(|first| may(first.get().size))?;
        self.now.set(first.key().0);
        let Waiting { size, waker } = first.remove();
        waker.wake();
        Some(size)
    }

    /// A request wants nothing any more. Returns whether it still waited.
    pub(crate) fn leave(&self, place: Place) -> bool {
        self.waiting.borrow_mut().remove(&place).is_some()
    }

    /// There is enough for all: what anybody had is of no account any more.
    pub(crate) fn forget(&self) {
        self.now.set(self.end.get());
    }
}
