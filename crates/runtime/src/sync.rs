//! Waiting for one another inside a reactor: an event count and a one-shot.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// An event count: waiters remember the count at which they began, so a notification between "decide to wait" and the
/// first poll is never lost.
#[derive(Default)]
pub struct Event {
    count: Cell<u64>,
    waiters: RefCell<Waiters>,
}

/// Tasks that wait for the next notification, in the order in which they came. Thousands may: finding one must not take a look at all.
#[derive(Default)]
struct Waiters {
    /// Each with its number, in ascending order; without a waker once it waits no more.
    parked: Vec<(u64, Option<Waker>)>,
    /// The next number.
    next: u64,
    /// How many are without a waker.
    gone: usize,
}

impl Waiters {
    /// Parks a task at the end; returns its number.
    fn park(&mut self, waker: &Waker) -> u64 {
        let number = self.next;
        self.next += 1;
        self.parked.push((number, Some(waker.clone())));
        number
    }

    fn of(&mut self, number: u64) -> Option<&mut Option<Waker>> {
        let at = self.parked.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        Some(&mut self.parked[at].1)
    }

    /// A parked task is to be woken by another waker.
    fn park_again(&mut self, number: u64, waker: &Waker) {
        if let Some(Some(parked)) = self.of(number) {
            parked.clone_from(waker);
        }
    }

    /// A task waits no more, if it was not woken.
    fn leave(&mut self, number: u64) {
        if self.of(number).and_then(Option::take).is_none() {
            return;
        }
        self.gone += 1;
        if 2 * self.gone > self.parked.len() {
            self.parked.retain(|(_, waker)| waker.is_some());
            self.gone = 0;
        }
    }

    /// Takes out all wakers.
    fn take(&mut self) -> impl Iterator<Item = Waker> + use<> {
        self.gone = 0;
        std::mem::take(&mut self.parked).into_iter().filter_map(|(_, waker)| waker)
    }
}

impl Event {
    /// An event nobody has waited for yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Wakes everybody who waits now.
    pub fn notify(&self) {
        self.count.set(self.count.get() + 1);
        // Taken out first: a waker may lead straight back here.
        let waiters = self.waiters.borrow_mut().take();
        waiters.for_each(Waker::wake);
    }

    /// Whether anybody is parked here.
    pub fn has_waiters(&self) -> bool {
        !self.waiters.borrow().parked.is_empty()
    }

    /// Completes at the first [`Event::notify`] after this call (not after the first poll).
    pub fn wait(&self) -> EventWait<'_> {
        EventWait { event: self, since: self.count.get(), number: None }
    }
}

/// See [`Event::wait`].
pub struct EventWait<'a> {
    event: &'a Event,
    since: u64,
    /// Its number among the waiters, once it was polled.
    number: Option<u64>,
}

impl Future for EventWait<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.event.count.get() != self.since {
            return Poll::Ready(());
        }
        let event = self.event;
        let mut waiters = event.waiters.borrow_mut();
        match self.number {
            Some(number) => waiters.park_again(number, cx.waker()),
            None => self.number = Some(waiters.park(cx.waker())),
        }
        Poll::Pending
    }
}

impl Drop for EventWait<'_> {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.event.waiters.borrow_mut().leave(number);
        }
    }
}

struct Shared<T> {
    value: Option<T>,
    waker: Option<Waker>,
    closed: bool,
}

/// The giving end of [`oneshot`].
pub struct OneshotSender<T>(Rc<RefCell<Shared<T>>>);

/// The waiting end of [`oneshot`]: a future of the value, or `None` if the sender was dropped without one.
pub struct OneshotReceiver<T>(Rc<RefCell<Shared<T>>>);

/// A value that will be given once, within one reactor.
pub fn oneshot<T>() -> (OneshotSender<T>, OneshotReceiver<T>) {
    let shared = Rc::new(RefCell::new(Shared { value: None, waker: None, closed: false }));
    (OneshotSender(shared.clone()), OneshotReceiver(shared))
}

impl<T> OneshotSender<T> {
    /// Gives the value.
    pub fn send(self, value: T) {
        self.0.borrow_mut().value = Some(value);
    }
}

impl<T> Drop for OneshotSender<T> {
    fn drop(&mut self) {
        let waker = {
            let mut shared = self.0.borrow_mut();
            shared.closed = true;
            shared.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<T> Future for OneshotReceiver<T> {
    type Output = Option<T>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let mut shared = self.0.borrow_mut();
        match shared.value.take() {
            Some(value) => Poll::Ready(Some(value)),
            None if shared.closed => Poll::Ready(None),
            None => {
                shared.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

/// Completes with whichever of the two completes first; the other is dropped.
pub async fn either(first: impl Future<Output = ()>, second: impl Future<Output = ()>) {
    race(first, second).await;
}

/// Which of two came first.
pub enum Raced<A, B> {
    /// The first one.
    First(A),
    /// The second one.
    Second(B),
}

/// Waits for whichever ends first, preferring the first; the other is dropped.
pub async fn race<A, B>(first: impl Future<Output = A>, second: impl Future<Output = B>) -> Raced<A, B> {
    let (mut first, mut second) = (std::pin::pin!(first), std::pin::pin!(second));
    std::future::poll_fn(|cx| match first.as_mut().poll(cx) {
        Poll::Ready(a) => Poll::Ready(Raced::First(a)),
        Poll::Pending => second.as_mut().poll(cx).map(Raced::Second),
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::*;

    /// Counts how often it was woken, and in which order among others.
    struct Woken(AtomicUsize, Arc<AtomicUsize>);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.store(1 + self.1.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    fn poll(wait: &mut EventWait<'_>, woken: &Arc<Woken>) -> bool {
        Pin::new(wait).poll(&mut Context::from_waker(&woken.clone().into())).is_ready()
    }

    #[test]
    fn all_who_wait_are_woken_once_in_their_order_and_those_who_left_are_not() {
        let (event, order) = (Event::new(), Arc::new(AtomicUsize::new(0)));
        let woken: Vec<_> = (0..100).map(|_| Arc::new(Woken(AtomicUsize::new(0), order.clone()))).collect();
        let mut waits: Vec<_> = (0..100).map(|_| Some(event.wait())).collect();
        for _ in 0..3 {
            waits.iter_mut().flatten().zip(&woken).for_each(|(wait, woken)| assert!(!poll(wait, woken)));
        }
        waits.iter_mut().enumerate().filter(|(n, _)| n % 3 != 0).for_each(|(_, wait)| *wait = None);
        assert!(event.has_waiters());
        assert!(event.waiters.borrow().parked.len() <= 2 * 34, "places of those who left are used again");
        event.notify();
        let turns: Vec<usize> = woken.iter().step_by(3).map(|woken| woken.0.load(Ordering::Relaxed)).collect();
        assert_eq!(turns, (1..=34).collect::<Vec<_>>());
        assert_eq!(order.load(Ordering::Relaxed), 34, "nobody else was woken");
        assert!(!event.has_waiters());
        waits.iter_mut().flatten().zip(&woken).for_each(|(wait, woken)| assert!(poll(wait, woken)));
    }

    #[test]
    fn whoever_gives_up_last_leaves_nothing_behind() {
        let (event, order) = (Event::new(), Arc::new(AtomicUsize::new(0)));
        let woken = Arc::new(Woken(AtomicUsize::new(0), order));
        for _ in 0..1000 {
            assert!(!poll(&mut event.wait(), &woken));
            assert!(!event.has_waiters());
        }
    }
}
