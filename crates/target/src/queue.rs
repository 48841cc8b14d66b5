//! Which writes go to a volume next, when it does not take all of them at once.
//!
//! A volume that is short of space, or whose devices are slow, has its writers wait, in the order in which they came. A client
//! that has tens of MiB under way would have all of that go before another one's 4 KiB. So of the writes that have to wait only
//! as much is in the volume's hands as it takes in [`SHORT`]; the others wait here, and the session goes first that has had
//! least ([`Fair`]). How much that is shows in how long writes are in the volume's hands.

use std::cell::Cell;
use std::rc::Rc;

use cygnus_types::Nanos;

use crate::fair::{Fair, Had, Place};

/// How long a write is to be in the volume's hands.
const SHORT: Nanos = Nanos::micros(200);
/// Bytes of waiting writes that a volume has in its hands, at least and at most. A longer write goes alone.
const LEAST: u64 = 32 << 10;
const MOST: u64 = 2 << 20;

/// See the module's text.
pub(crate) struct Queue {
    now: Box<dyn Fn() -> Nanos>,
    /// Bytes in the volumes' hands.
    inside: Cell<u64>,
    /// Bytes that may be there, beside a single write.
    most: Cell<u64>,
    waiting: Fair,
}

/// A write's place, in the queue or in the volume's hands. Gives it up when dropped.
pub(crate) struct Turn {
    queue: Rc<Queue>,
    place: Place,
    bytes: u64,
    /// When the volume got it.
    began: Nanos,
}

impl Queue {
    /// `now` tells the time.
    pub(crate) fn new(now: impl Fn() -> Nanos + 'static) -> Rc<Self> {
        let (inside, most) = (Cell::new(0), Cell::new(MOST));
        Rc::new(Self { now: Box::new(now), inside, most, waiting: Fair::default() })
    }

    /// Waits until a session's write of this many bytes may go to the volume. It is there as long as the turn lasts.
    pub(crate) async fn turn(self: &Rc<Self>, had: &Had, bytes: usize) -> Turn {
        let bytes = bytes as u64;
        let mut turn = Turn { queue: self.clone(), place: self.waiting.enter(had, bytes), bytes, began: Nanos::ZERO };
        self.let_in();
        self.waiting.until_let_in(turn.place).await;
        turn.began = (self.now)();
        turn
    }

    fn let_in(&self) {
        let may = |bytes| self.inside.get() == 0 || self.inside.get() + bytes <= self.most.get();
        while let Some(bytes) = self.waiting.let_in(may) {
            self.inside.set(self.inside.get() + bytes);
        }
        if self.inside.get() == 0 {
            self.waiting.forget();
        }
    }
}

impl Queue {
    /// Tells how long the volume took for a write.
    fn learn(&self, took: Nanos) {
        let most = self.most.get();
        if took > SHORT {
            self.most.set((most - most / 8).max(LEAST));
        } else if took < SHORT / 2 {
            self.most.set((most + most / 8).min(MOST));
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if !self.queue.waiting.leave(self.place) {
            self.queue.inside.set(self.queue.inside.get() - self.bytes);
            self.queue.learn((self.queue.now)().since(self.began));
        }
        self.queue.let_in();
    }
}

#[cfg(test)]
mod tests {
    use std::pin::{Pin, pin};
    use std::task::{Context, Poll, Waker};

    use super::*;

    const KIB: usize = 1 << 10;

    fn queue() -> Rc<Queue> {
        Queue::new(|| Nanos::ZERO)
    }

    /// Whether a write's turn has come, and the turn then.
    fn poll(turn: Pin<&mut impl Future<Output = Turn>>) -> Option<Turn> {
        match turn.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(turn) => Some(turn),
            Poll::Pending => None,
        }
    }

    #[test]
    fn whoever_had_little_goes_before_all_that_a_greedy_one_has_waiting() {
        let (queue, greedy, modest) = (queue(), Had::default(), Had::default());
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
        let (queue, one, other) = (queue(), Had::default(), Had::default());
        let first = poll(pin!(queue.turn(&one, MOST as usize))).expect("nobody is there");
        // The other one has asked nothing before, and now asks for as much.
        let mut turns: Vec<_> = [&one, &one, &one, &one, &other, &other, &other, &other]
            .into_iter()
            .map(|had| (std::ptr::eq(had, &one), Box::pin(queue.turn(had, MOST as usize))))
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
        let (queue, had) = (queue(), Had::default());
        let long = poll(pin!(queue.turn(&had, 3 * MOST as usize))).expect("nobody is there");
        let mut next = Box::pin(queue.turn(&had, MOST as usize));
        let mut last = Box::pin(queue.turn(&had, KIB));
        assert!(poll(next.as_mut()).is_none() && poll(last.as_mut()).is_none());
        drop(next);
        drop(long);
        assert!(poll(last.as_mut()).is_some());
        // One whose turn has come, and that never took note of it.
        let inside = poll(pin!(queue.turn(&had, MOST as usize))).expect("there is room");
        let mut unaware = Box::pin(queue.turn(&had, MOST as usize));
        assert!(poll(unaware.as_mut()).is_none());
        drop(inside);
        drop(unaware);
        assert_eq!((queue.inside.get(), queue.waiting.is_empty()), (0, true));
    }
}
