//! How much the sessions of a reactor do in one turn of its loop.
//!
//! A client may have thousands of requests in the reader's buffer, and a request may ask for the state of gigabytes. So
//! that neither keeps others waiting, work is counted in units, of some microseconds at most, and when a turn's units are
//! used up, those who come later get theirs in the next turns, one after the other.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

use cygnus_runtime::Runtime;

/// Units per turn: a thousand small requests. While all the work there is fits, nobody waits.
const PER_TURN: u32 = 1024;
/// Bytes that are copied at the price of one unit.
pub(crate) const UNIT_BYTES: usize = 16 << 10;

/// See the module's text.
pub(crate) struct Pace {
    rt: Runtime,
    turn: Cell<u64>,
    left: Cell<u32>,
    waiting: RefCell<VecDeque<Rc<Wish>>>,
    ticking: Cell<bool>,
}

struct Wish {
    units: u32,
    granted: Cell<bool>,
    waker: RefCell<Waker>,
}

impl Pace {
    pub(crate) fn new(rt: &Runtime) -> Rc<Self> {
        let (turn, left) = (Cell::new(rt.turn()), Cell::new(PER_TURN));
        Rc::new(Self { rt: rt.clone(), turn, left, waiting: RefCell::default(), ticking: Cell::new(false) })
    }

    /// Takes units of this turn if there are any left and nobody waits for them.
    #[inline]
    pub(crate) fn try_take(&self, units: u32) -> bool {
        let turn = self.rt.turn();
        if self.turn.replace(turn) != turn {
            self.left.set(PER_TURN);
        }
        let may = self.left.get() > 0 && !self.ticking.get();
        if may {
            self.left.set(self.left.get().saturating_sub(units));
        }
        may
    }

    /// Takes units of this turn or, in order, of a later one.
    pub(crate) async fn take(self: &Rc<Self>, units: u32) {
        if self.try_take(units) {
            return;
        }
        let (granted, waker) = (Cell::new(false), RefCell::new(Waker::noop().clone()));
        let wish = Rc::new(Wish { units, granted, waker });
        self.waiting.borrow_mut().push_back(wish.clone());
        if !self.ticking.replace(true) {
            let pace = self.clone();
            self.rt.spawn(async move { pace.tick().await });
        }
        poll_fn(|cx| {
            if wish.granted.get() {
                return Poll::Ready(());
            }
            wish.waker.borrow_mut().clone_from(cx.waker());
            Poll::Pending
        })
        .await;
    }

    /// Hands out the units of each turn for as long as anybody waits.
    async fn tick(&self) {
        loop {
            let mut left = i64::from(PER_TURN);
            while left > 0 {
                let Some(wish) = self.waiting.borrow_mut().pop_front() else {
                    self.ticking.set(false);
                    return;
                };
                // One whose future was dropped wants nothing any more.
                if Rc::strong_count(&wish) > 1 {
                    left -= i64::from(wish.units);
                    wish.granted.set(true);
                    wish.waker.borrow().wake_by_ref();
                }
            }
            self.rt.yield_now().await;
        }
    }
}
