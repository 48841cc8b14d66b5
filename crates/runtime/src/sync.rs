//! Waiting for one another inside a reactor: an event count and a one-shot.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
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

/// Tasks that wait for the next notification, in the order in which they came, each once. One that gives up keeps its place until then.
#[derive(Default)]
struct Waiters {
    parked: Vec<Waker>,
    /// The same ones, if they are many: thousands may wait, and finding one must not take a look at all.
    known: BTreeSet<(usize, usize)>,
}

impl Waiters {
    /// Up to this many are looked through.
    const FEW: usize = 16;

    fn park(&mut self, waker: &Waker) {
        let is_new = if self.parked.len() < Self::FEW {
            !self.parked.iter().any(|parked| parked.will_wake(waker))
        } else {
            if self.known.is_empty() {
                self.known.extend(self.parked.iter().map(Self::task_of));
            }
            self.known.insert(Self::task_of(waker))
        };
        if is_new {
            self.parked.push(waker.clone());
        }
    }

    /// Wakers that are alike in this wake the same task.
    fn task_of(waker: &Waker) -> (usize, usize) {
        (waker.data().addr(), std::ptr::from_ref(waker.vtable()).addr())
    }

    /// Takes out all of them.
    fn take(&mut self) -> Vec<Waker> {
        self.known.clear();
        std::mem::take(&mut self.parked)
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
        waiters.into_iter().for_each(Waker::wake);
    }

    /// Whether anybody is parked here.
    pub fn has_waiters(&self) -> bool {
        !self.waiters.borrow().parked.is_empty()
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
        self.event.waiters.borrow_mut().park(cx.waker());
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
    fn all_who_wait_are_woken_once_in_their_order_however_many_they_are() {
        for count in [1, Waiters::FEW - 1, Waiters::FEW, Waiters::FEW + 1, 1000] {
            let (event, order) = (Event::new(), Arc::new(AtomicUsize::new(0)));
            let woken: Vec<_> = (0..count).map(|_| Arc::new(Woken(AtomicUsize::new(0), order.clone()))).collect();
            for round in 0..3 {
                let mut waits: Vec<_> = (0..count).map(|_| event.wait()).collect();
                for _ in 0..3 {
                    waits.iter_mut().zip(&woken).for_each(|(wait, woken)| assert!(!poll(wait, woken)));
                }
                event.notify();
                let turns: Vec<usize> = woken.iter().map(|woken| woken.0.load(Ordering::Relaxed)).collect();
                assert_eq!(turns, (1 + round * count..=(1 + round) * count).collect::<Vec<_>>());
                waits.iter_mut().zip(&woken).for_each(|(wait, woken)| assert!(poll(wait, woken)));
                assert!(!event.has_waiters());
            }
        }
    }

    #[test]
    fn a_task_that_gives_up_again_and_again_is_there_once() {
        let (event, order) = (Event::new(), Arc::new(AtomicUsize::new(0)));
        let woken: Vec<_> = (0..100).map(|_| Arc::new(Woken(AtomicUsize::new(0), order.clone()))).collect();
        for _ in 0..100 {
            woken.iter().for_each(|woken| assert!(!poll(&mut event.wait(), woken)));
        }
        assert_eq!(event.waiters.borrow().parked.len(), 100);
    }
}
