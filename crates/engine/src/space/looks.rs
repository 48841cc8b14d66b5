//! Looks: when nobody can have in hand any more what is about to mean something else.
//!
//! What a map says leads to a group, a segment, a member, and whoever follows it may keep these over an `.await`: a read
//! while the device is at work, a scrub while it verifies a segment. That is a *look*. A group that leaves takes its
//! addresses and numbers out of all maps and tables first; then the home reactor waits for a *grace*: until every look, on
//! every reactor, that was under way has ended. Looks that begin meanwhile find nothing of the group. After that its
//! addresses, its number and those of its members may be given to another one.
//!
//! Code without an `.await` needs no look: a reactor answers the home reactor's question between two turns of its tasks. So
//! there is no atomic counter here, and nothing that reads pay for but two additions.

use std::cell::Cell;

use cygnus_runtime::Event;

/// The looks of one reactor.
pub(crate) struct Looks {
    /// Which of the two counts new looks go to.
    count_of_new: Cell<usize>,
    under_way: [Cell<u64>; 2],
    /// Notified when the last look of a count has ended.
    ended: Event,
}

/// A look under way; it ends when this is dropped.
pub(crate) struct Look<'a>(&'a Looks, usize);

impl Looks {
    pub(crate) fn new() -> Self {
        Self { count_of_new: Cell::new(0), under_way: [const { Cell::new(0) }; 2], ended: Event::new() }
    }

    /// A look begins.
    #[inline]
    pub(crate) fn begin(&self) -> Look<'_> {
        let count = self.count_of_new.get();
        self.under_way[count].set(self.under_way[count].get() + 1);
        Look(self, count)
    }

    /// Waits until all looks have ended that are under way. One at a time may wait: looks that begin meanwhile go to the
    /// other count, which nobody waits for.
    pub(crate) async fn end(&self) {
        let count = self.count_of_new.get();
        assert_eq!(self.under_way[1 - count].get(), 0, "one grace at a time");
        self.count_of_new.set(1 - count);
        loop {
            let ended = self.ended.wait();
            if self.under_way[count].get() == 0 {
                return;
            }
            ended.await;
        }
    }
}

impl Drop for Look<'_> {
    #[inline]
    fn drop(&mut self) {
        let Look(looks, count) = *self;
        let left = looks.under_way[count].get() - 1;
        looks.under_way[count].set(left);
        if left == 0 && count != looks.count_of_new.get() {
            looks.ended.notify();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    #[test]
    fn a_grace_ends_with_the_looks_that_were_there_before_it() {
        let looks = Looks::new();
        let mut context = Context::from_waker(Waker::noop());
        let before = [looks.begin(), looks.begin()];
        {
            let mut grace = pin!(looks.end());
            let mut is_over = || grace.as_mut().poll(&mut context) == Poll::Ready(());
            assert!(!is_over());
            let _later = looks.begin();
            let [first, second] = before;
            drop(first);
            assert!(!is_over(), "one is left");
            drop(second);
            assert!(is_over(), "the later one is not waited for");
        }
        assert_eq!(pin!(looks.end()).poll(&mut context), Poll::Ready(()), "nobody looks");
    }

    #[test]
    #[should_panic(expected = "one grace at a time")]
    fn a_grace_within_a_grace_is_a_bug() {
        let looks = Looks::new();
        let mut context = Context::from_waker(Waker::noop());
        let _look = looks.begin();
        assert!(pin!(looks.end()).poll(&mut context).is_pending());
        let _ = pin!(looks.end()).poll(&mut context);
    }
}
