//! Replies on their way out: gathered while one send runs, handed over as one vectored send.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::task::{Poll, Waker};

use cygnus_runtime::{BufSlice, Runtime};

/// Bytes of each buffer that short replies are written into, back to back.
pub(crate) const HEADERS: usize = 16 << 10;
/// Most parts in one send: below the kernel's limit of 1024 vectors per call.
const MAX_PARTS: usize = 512;
/// A send of more parts than one ends when it has so many bytes: that a send ends shows that the client takes its replies.
const MAX_BYTES: usize = 1 << 20;

/// What one send takes.
pub(crate) struct Batch {
    pub(crate) parts: Vec<BufSlice>,
    /// Room in the session's window that is free again once this is sent.
    pub(crate) cost: usize,
}

#[derive(Default)]
struct Pending {
    /// Replies with data, and stretches of short ones. The second number is the part's cost.
    parts: Vec<BufSlice>,
    costs: Vec<usize>,
    /// Where short replies are written; `open..used` is not in `parts` yet.
    headers: Option<BufSlice>,
    open: usize,
    used: usize,
    open_cost: usize,
}

impl Pending {
    /// Turns the short replies written since the last part into a part.
    fn seal(&mut self) {
        if let Some(headers) = self.headers.as_ref().filter(|_| self.used > self.open) {
            self.parts.push(headers.slice(self.open..self.used));
            self.costs.push(std::mem::take(&mut self.open_cost));
            self.open = self.used;
        }
    }
}

/// The queue of one session.
pub(crate) struct Outbox {
    rt: Runtime,
    pending: RefCell<Pending>,
    sender: RefCell<Option<Waker>>,
    closed: Cell<bool>,
}

impl Outbox {
    pub(crate) fn new(rt: &Runtime) -> Self {
        Self { rt: rt.clone(), pending: RefCell::default(), sender: RefCell::default(), closed: Cell::new(false) }
    }

    /// Queues a reply without data (or what stands before data), copied here.
    pub(crate) fn push_bytes(&self, bytes: &[u8], cost: usize) {
        if self.closed.get() {
            return;
        }
        let pending = &mut *self.pending.borrow_mut();
        let fits = pending.headers.as_ref().is_some_and(|headers| pending.used + bytes.len() <= headers.len());
        if !fits {
            pending.seal();
            pending.headers = Some(self.rt.alloc(bytes.len().max(HEADERS)).full());
            (pending.open, pending.used) = (0, 0);
        }
        let headers = pending.headers.as_ref().expect("there is one now");
        headers.copy_from(pending.used, bytes);
        pending.used += bytes.len();
        pending.open_cost += cost;
        self.wake();
    }

    /// Queues a part in place, after all that was queued before.
    pub(crate) fn push_part(&self, part: BufSlice, cost: usize) {
        if self.closed.get() {
            return;
        }
        let pending = &mut *self.pending.borrow_mut();
        pending.seal();
        pending.parts.push(part);
        pending.costs.push(cost);
        self.wake();
    }

    fn wake(&self) {
        if let Some(waker) = self.sender.borrow_mut().take() {
            waker.wake();
        }
    }

    /// No more batches: what is queued is dropped, and the sender ends.
    pub(crate) fn close(&self) {
        self.closed.set(true);
        *self.pending.borrow_mut() = Pending::default();
        self.wake();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.get()
    }

    /// The next batch for the one sender; None once closed.
    pub(crate) async fn next(&self) -> Option<Batch> {
        poll_fn(|cx| {
            if self.closed.get() {
                return Poll::Ready(None);
            }
            let pending = &mut *self.pending.borrow_mut();
            pending.seal();
            if pending.parts.is_empty() {
                *self.sender.borrow_mut() = Some(cx.waker().clone());
                return Poll::Pending;
            }
            let mut bytes = 0;
            let mut within = |part: &BufSlice| {
                bytes += part.len();
                bytes <= MAX_BYTES
            };
            let count = pending.parts.iter().take(MAX_PARTS).take_while(|part| within(part)).count().max(1);
            // The costs' memory stays here; the parts' goes along with the send.
            let rest = pending.parts.split_off(count);
            let parts = std::mem::replace(&mut pending.parts, rest);
            let cost = pending.costs.drain(..count).sum();
            Poll::Ready(Some(Batch { parts, cost }))
        })
        .await
    }
}
