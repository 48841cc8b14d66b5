//! Which writes go to a volume next, when it does not take all of them at once.
//!
//! A volume that is short of space, or whose devices are slow, has its writers wait, in the order in which they came. A client
//! that has tens of MiB under way would have all of that go before another one's 4 KiB. So of the writes that have to wait only
//! [`MOST`] bytes are in the volume's hands; the others wait here, and the session goes first that has had least. That is
//! start-time fair queueing (Goyal, Vin and Cheng, 1996): a write's tag is where the session's last one ended, or what is being
//! let in at the moment if that is more, so that nobody saves up turns while he asks nothing.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

/// Bytes of waiting writes that a volume has in its hands: some milliseconds of what devices write. A longer write goes alone.
const MOST: usize = 2 << 20;

/// Where a write stands: its tag, and when it came among those of the same tag.
type Key = (u64, u64);

/// See the module's text.
#[derive(Default)]
pub(crate) struct Queue {
    /// Bytes in the volumes' hands.
    inside: Cell<usize>,
    /// Tag of what was let in last.
    now: Cell<u64>,
    /// Where the last of all sessions' writes ends.
    end: Cell<u64>,
    came: Cell<u64>,
    waiting: RefCell<BTreeMap<Key, Waiting>>,
}

struct Waiting {
    bytes: usize,
    waker: Waker,
}

/// What a session has had: where its next write stands in the queue.
#[derive(Default)]
pub(crate) struct Had(Cell<u64>);

/// A write's place, in the queue or in the volume's hands. Gives it up when dropped.
pub(crate) struct Turn {
    queue: Rc<Queue>,
    key: Key,
    bytes: usize,
}

impl Queue {
    /// Waits until a session's write of so many bytes may go to the volume. It is there as long as the turn lasts.
    pub(crate) async fn turn(self: &Rc<Self>, had: &Had, bytes: usize) -> Turn {
        let start = had.0.get().max(self.now.get());
        had.0.set(start + bytes as u64);
        self.end.set(self.end.get().max(had.0.get()));
        let came = self.came.replace(self.came.get() + 1);
        let turn = Turn { queue: self.clone(), key: (start, came), bytes };
        self.waiting.borrow_mut().insert(turn.key, Waiting { bytes, waker: Waker::noop().clone() });
        self.let_in();
        poll_fn(|cx| match self.waiting.borrow_mut().get_mut(&turn.key) {
            Some(waiting) => {
                waiting.waker.clone_from(cx.waker());
                Poll::Pending
            }
            None => Poll::Ready(()),
        })
        .await;
        turn
    }

    fn let_in(&self) {
        let mut waiting = self.waiting.borrow_mut();
        while let Some(first) = waiting.first_entry() {
            let inside = self.inside.get() + first.get().bytes;
            if self.inside.get() > 0 && inside > MOST {
                return;
            }
            self.inside.set(inside);
            self.now.set(first.key().0);
            first.remove().waker.wake();
        }
        // There is enough for all: what anybody had is of no account any more.
        if self.inside.get() == 0 {
            self.now.set(self.end.get());
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let still_waited = self.queue.waiting.borrow_mut().remove(&self.key).is_some();
        if !still_waited {
            self.queue.inside.set(self.queue.inside.get() - self.bytes);
        }
        self.queue.let_in();
    }
}

#[cfg(test)]
mod tests {
    use std::pin::{Pin, pin};
    use std::task::Context;

    use super::*;

    const KIB: usize = 1 << 10;

    /// Whether a write's turn has come, and the turn then.
    fn poll(turn: Pin<&mut impl Future<Output = Turn>>) -> Option<Turn> {
        match turn.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(turn) => Some(turn),
            Poll::Pending => None,
        }
    }

    #[test]
    fn whoever_had_little_goes_before_all_that_a_greedy_one_has_waiting() {
        let (queue, greedy, modest) = (Rc::new(Queue::default()), Had::default(), Had::default());
        let mut inside = Vec::new();
        for _ in 0..8 {
            inside.push(poll(pin!(queue.turn(&greedy, 256 * KIB))).expect("there is room"));
        }
        let mut more = [pin!(queue.turn(&greedy, 256 * KIB)), pin!(queue.turn(&greedy, 256 * KIB))];
        assert!(more.iter_mut().all(|turn| poll(turn.as_mut()).is_none()), "the volume has enough to do");
        let mut small = pin!(queue.turn(&modest, 4 * KIB));
        assert!(poll(small.as_mut()).is_none());
        inside.pop();
        inside.push(poll(small.as_mut()).expect("before those that came earlier"));
        assert!(more.iter_mut().all(|turn| poll(turn.as_mut()).is_none()), "256 KiB more are too much now");
        inside.remove(0);
        inside.push(poll(more[0].as_mut()).expect("it came first"));
        assert!(poll(more[1].as_mut()).is_none());
    }

    #[test]
    fn sessions_get_equal_parts_and_nobody_saves_up() {
        let (queue, one, other) = (Rc::new(Queue::default()), Had::default(), Had::default());
        let first = poll(pin!(queue.turn(&one, MOST))).expect("nobody is there");
        // The other one has asked nothing before, and now asks for as much.
        let mut turns: Vec<_> = [&one, &one, &one, &one, &other, &other, &other, &other]
            .into_iter()
            .map(|had| (std::ptr::eq(had, &one), Box::pin(queue.turn(had, MOST))))
            .collect();
        assert!(turns.iter_mut().all(|(_, turn)| poll(turn.as_mut()).is_none()));
        drop(first);
        let mut order = Vec::new();
        while !turns.is_empty() {
            let come = turns.iter_mut().position(|(_, turn)| poll(turn.as_mut()).is_some());
            order.push(turns.remove(come.expect("somebody's turn has come")).0);
        }
        let early = order[..4].iter().filter(|&&one| one).count();
        assert_eq!(early, 2, "{order:?}");
    }

    #[test]
    fn a_long_one_goes_alone_and_one_that_gave_up_holds_nobody() {
        let (queue, had) = (Rc::new(Queue::default()), Had::default());
        let long = poll(pin!(queue.turn(&had, 3 * MOST))).expect("nobody is there");
        let mut next = Box::pin(queue.turn(&had, MOST));
        let mut last = Box::pin(queue.turn(&had, KIB));
        assert!(poll(next.as_mut()).is_none() && poll(last.as_mut()).is_none());
        drop(next);
        drop(long);
        assert!(poll(last.as_mut()).is_some());
        // One whose turn has come, and that never took note of it.
        let inside = poll(pin!(queue.turn(&had, MOST))).expect("there is room");
        let mut unaware = Box::pin(queue.turn(&had, MOST));
        assert!(poll(unaware.as_mut()).is_none());
        drop(inside);
        drop(unaware);
        assert_eq!((queue.inside.get(), queue.waiting.borrow().len()), (0, 0));
    }
}
