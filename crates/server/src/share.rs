//! How much of a reactor's time the control socket may take: clients are served by the same reactor, and whoever has the right
//! to ask may ask without an end.

use cygnus_runtime::{Event, Runtime};
use cygnus_types::Nanos;
use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::pin;

/// Rest time of the socket after each piece of work, as a multiple of what that took. So clients keep fifteen sixteenths of the
/// reactor under any load of requests, and one request after a rest is answered at once.
const REST: u64 = 15;
/// No rest is longer than after this: a server that is stopped in the midst of a request was not at work.
const LONGEST_WORK: Nanos = Nanos::millis(10);

/// See the module's text. Requests have their turns in the order in which they came, whatever connection they came on.
pub struct Share {
    rt: Runtime,
    /// When the next turn may begin.
    free_at: Cell<Nanos>,
    /// The number of the next request to come, and of the one whose turn is next.
    coming: Cell<u64>,
    next: Cell<u64>,
    moved: Event,
}

impl Share {
    /// The share of one control socket.
    pub fn new(rt: &Runtime) -> Self {
        let (coming, next) = (Cell::new(0), Cell::new(0));
        Self { rt: rt.clone(), free_at: Cell::new(Nanos::ZERO), coming, next, moved: Event::new() }
    }

    /// Does `work` when there is time for it. While it waits for something else, other requests have their turns.
    pub async fn have_done<T>(&self, work: impl Future<Output = T>) -> T {
        self.turn().await;
        let mut work = pin!(work);
        poll_fn(|cx| {
            let began = self.rt.precise_now();
            let polled = work.as_mut().poll(cx);
            self.charge(self.rt.precise_now().since(began));
            polled
        })
        .await
    }

    /// Waits until it is a connection's turn.
    pub async fn turn(&self) {
        let mine = self.coming.get();
        self.coming.set(mine + 1);
        loop {
            let moved = self.moved.wait();
            if self.next.get() == mine {
                break;
            }
            moved.await;
        }
        // Other work may be done meanwhile, and makes the rest longer.
        while self.rt.now() < self.free_at.get() {
            self.rt.sleep_until(self.free_at.get()).await;
        }
        // The next one is not polled before our caller has done the first part of its work, and has paid for it.
        self.next.set(mine + 1);
        self.moved.notify();
    }

    fn charge(&self, took: Nanos) {
        let from = self.free_at.get().max(self.rt.now());
        self.free_at.set(from + took.min(LONGEST_WORK) * (1 + REST));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cygnus_host::HostError;
    use cygnus_host::devices::on_reactor;
    use std::cell::RefCell;
    use std::rc::Rc;
    use std::time::{Duration, Instant};

    /// Keeps the processor for a while, as the rendering of a status does.
    fn toil() {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(1) {
            std::hint::spin_loop();
        }
    }

    #[test]
    fn a_request_of_long_is_not_held_against_the_next_for_long() {
        on_reactor(Vec::new(), async |reactor| {
            let share = Share::new(&reactor.rt);
            share.charge(Nanos::secs(33));
            let rest = share.free_at.get().since(reactor.rt.now());
            assert!(rest <= Nanos::millis(160), "{rest}");
            Ok::<_, HostError>(())
        })
        .unwrap();
    }

    #[test]
    fn many_requests_leave_the_reactor_to_others() {
        on_reactor(Vec::new(), async |reactor| {
            let share = Rc::new(Share::new(&reactor.rt));
            let (order, ended) = (Rc::new(RefCell::new(Vec::new())), Rc::new(Event::new()));
            let begun = reactor.rt.precise_now();
            for n in 0..10 {
                let (share, order, ended) = (share.clone(), order.clone(), ended.clone());
                reactor.rt.spawn(async move {
                    share.have_done(async { toil() }).await;
                    order.borrow_mut().push(n);
                    ended.notify();
                });
            }
            loop {
                let one_more = ended.wait();
                if order.borrow().len() == 10 {
                    break;
                }
                one_more.await;
            }
            assert_eq!(*order.borrow(), (0..10).collect::<Vec<_>>(), "in order");
            let took = reactor.rt.precise_now().since(begun);
            assert!(took >= Nanos::millis(9 * (1 + REST)), "only {took:?} for ten requests of a millisecond");
            Ok::<_, HostError>(())
        })
        .unwrap();
    }
}
