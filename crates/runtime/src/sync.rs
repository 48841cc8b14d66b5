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
    waiters: RefCell<Vec<Waker>>,
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
        let waiters = std::mem::take(&mut *self.waiters.borrow_mut());
        for waker in waiters {
            waker.wake();
        }
    }

    /// Whether anybody is parked here.
    pub fn has_waiters(&self) -> bool {
        !self.waiters.borrow().is_empty()
    }

    /// Completes at the first [`Event::notify`] after this call (not after the first poll).
    pub fn wait(&self) -> EventWait<'_> {
        EventWait { event: self, since: self.count.get() }
    }
}

/// See [`Event::wait`].
pub struct EventWait<'a> {
    event: &'a Event,
    since: u64,
}

impl Future for EventWait<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.event.count.get() != self.since {
            return Poll::Ready(());
        }
        let mut waiters = self.event.waiters.borrow_mut();
        if !waiters.iter().any(|w| w.will_wake(cx.waker())) {
            waiters.push(cx.waker().clone());
        }
        Poll::Pending
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
