//! Work that goes on to its end whoever waits for it, and rounds of work that many share.
//!
//! A future may be dropped at any await: a client went away, a time limit passed. What has taken things in hand by then
//! (marks of what is dirty, a turn, a number) must not be dropped with it, or nobody would ever do what is left. So such
//! work is a task of its own, and callers only wait for its result.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::rc::Rc;

use crate::executor::Runtime;
use crate::sync::{Event, oneshot};

impl Runtime {
    /// Carries `work` out as a task of its own, which goes on should this future be dropped, and gives its result.
    pub async fn carry_out<T: 'static>(&self, work: impl Future<Output = T> + 'static) -> T {
        let (done, result) = oneshot();
        self.spawn(async move { done.send(work.await) });
        result.await.expect("a reactor that is taken down polls nobody who could ask")
    }
}

/// Group commit: many ask, and a round that began after they did serves them all.
pub struct Rounds<T>(Rc<State<T>>);

struct State<T> {
    running: Cell<bool>,
    begun: Cell<u64>,
    ended: Cell<u64>,
    /// What the last round that has ended came to.
    result: RefCell<Option<T>>,
    changed: Event,
}

impl<T> Default for Rounds<T> {
    fn default() -> Self {
        let (running, begun, ended) = (Cell::new(false), Cell::new(0), Cell::new(0));
        Self(Rc::new(State { running, begun, ended, result: RefCell::new(None), changed: Event::new() }))
    }
}

impl<T: Clone + 'static> Rounds<T> {
    /// Whether a round is under way.
    pub fn is_running(&self) -> bool {
        self.0.running.get()
    }

    /// Begins a round, unless one is under way.
    pub fn begin<F: Future<Output = T> + 'static>(&self, rt: &Runtime, work: impl FnOnce() -> F) {
        if self.0.running.replace(true) {
            return;
        }
        self.0.begun.set(self.0.begun.get() + 1);
        let (state, round, work) = (self.0.clone(), self.0.begun.get(), work());
        rt.spawn(async move {
            let result = work.await;
            *state.result.borrow_mut() = Some(result);
            state.ended.set(round);
            state.running.set(false);
            state.changed.notify();
        });
    }

    /// Waits until the round that is under way, if one is, has ended.
    pub async fn ended(&self) {
        let changed = self.0.changed.wait();
        if self.is_running() {
            changed.await;
        }
    }

    /// Waits until a round of `work` that began after this call has ended, and gives its result, or that of a later one.
    /// One of the callers begins it; it goes on to its end whether or not anybody waits still.
    pub async fn next<F: Future<Output = T> + 'static>(&self, rt: &Runtime, work: impl FnOnce() -> F) -> T {
        let state = &self.0;
        // A round under way may have begun too early to cover us.
        let mine = state.begun.get() + 1;
        let mut work = Some(work);
        loop {
            let changed = state.changed.wait();
            if state.ended.get() >= mine {
                return state.result.borrow().clone().expect("a round that has ended left a result");
            }
            if !state.running.get() {
                self.begin(rt, work.take().expect("a round that this caller has begun is one that it waits for"));
            }
            changed.await;
        }
    }
}
