//! Replies on their way out: gathered while one send runs, handed over as one vectored send.
//!
//! A long reply that must not be interrupted, and is not in memory as a whole, goes as a [`Stream`]: what others queue
//! meanwhile stays behind it.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::task::{Poll, Waker};

use cygnus_runtime::{BufSlice, Event, Runtime};

/// Bytes of each buffer that short replies are written into, back to back.
pub(crate) const HEADERS: usize = 16 << 10;
/// Most parts in one send: below the kernel's limit of 1024 vectors per call.
const MAX_PARTS: usize = 512;

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

    /// Copies a reply without data, or what stands before data, behind all else.
    fn push_bytes(&mut self, rt: &Runtime, bytes: &[u8], cost: usize) {
        let fits = self.headers.as_ref().is_some_and(|headers| self.used + bytes.len() <= headers.len());
        if !fits {
            self.seal();
            self.headers = Some(rt.alloc(bytes.len().max(HEADERS)).full());
            (self.open, self.used) = (0, 0);
        }
        let headers = self.headers.as_ref().expect("there is one now");
        headers.copy_from(self.used, bytes);
        self.used += bytes.len();
        self.open_cost += cost;
    }

    fn push_part(&mut self, part: BufSlice, cost: usize) {
        self.seal();
        self.parts.push(part);
        self.costs.push(cost);
    }

    /// As many bytes of the first part as may go now. Its cost goes with its end.
    fn split_first(&mut self, most: usize) -> Option<Batch> {
        let part = self.parts.first_mut()?;
        let rest = part.slice(most..part.len());
        let first = std::mem::replace(part, rest).slice(0..most);
        Some(Batch { parts: vec![first], cost: 0 })
    }

    /// Puts all of `behind` after what is here.
    fn append(&mut self, mut behind: Pending) {
        self.seal();
        behind.seal();
        self.parts.append(&mut behind.parts);
        self.costs.append(&mut behind.costs);
        if behind.headers.is_some() {
            (self.headers, self.open, self.used) = (behind.headers, behind.open, behind.used);
        }
    }
}

/// The queue of one session.
pub(crate) struct Outbox {
    rt: Runtime,
    pending: RefCell<Pending>,
    /// While a stream runs: what others have queued.
    behind: RefCell<Option<Pending>>,
    sender: RefCell<Option<Waker>>,
    closed: Cell<bool>,
    /// Notified when a stream has ended, when all there was of one is sent, and at the end.
    streams: Event,
}

impl Outbox {
    pub(crate) fn new(rt: &Runtime) -> Self {
        Self {
            rt: rt.clone(),
            pending: RefCell::default(),
            behind: RefCell::default(),
            sender: RefCell::default(),
            closed: Cell::new(false),
            streams: Event::new(),
        }
    }

    /// Queues a reply without data (or what stands before data), copied here.
    pub(crate) fn push_bytes(&self, bytes: &[u8], cost: usize) {
        self.push(|pending| pending.push_bytes(&self.rt, bytes, cost));
    }

    /// Queues a part in place, after all that was queued before.
    pub(crate) fn push_part(&self, part: BufSlice, cost: usize) {
        self.push(|pending| pending.push_part(part, cost));
    }

    #[inline]
    fn push(&self, queue: impl FnOnce(&mut Pending)) {
        if self.closed.get() {
            return;
        }
        if let Some(behind) = &mut *self.behind.borrow_mut() {
            return queue(behind);
        }
        queue(&mut self.pending.borrow_mut());
        self.wake();
    }

    /// Begins a reply that is sent piece by piece, after all that was queued before; waits for the one that runs, if any.
    pub(crate) async fn stream(&self) -> Stream<'_> {
        loop {
            let changed = self.streams.wait();
            if self.behind.borrow().is_none() {
                *self.behind.borrow_mut() = Some(Pending::default());
                return Stream(self);
            }
            changed.await;
        }
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
        if let Some(behind) = &mut *self.behind.borrow_mut() {
            *behind = Pending::default();
        }
        self.wake();
        self.streams.notify();
    }

    /// Lets go of the memory that is kept for the next replies, if there are none on their way.
    pub(crate) fn rest(&self) {
        let pending = &mut *self.pending.borrow_mut();
        if pending.parts.is_empty() && pending.used == pending.open && self.behind.borrow().is_none() {
            *pending = Pending::default();
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.get()
    }

    /// Waits for something to send, for the one sender. Returns its bytes; None once closed.
    pub(crate) async fn ready(&self) -> Option<usize> {
        poll_fn(|cx| {
            if self.closed.get() {
                return Poll::Ready(None);
            }
            let pending = &mut *self.pending.borrow_mut();
            pending.seal();
            if pending.parts.is_empty() {
                *self.sender.borrow_mut() = Some(cx.waker().clone());
                if self.streams.has_waiters() {
                    self.streams.notify();
                }
                return Poll::Pending;
            }
            Poll::Ready(Some(pending.parts.iter().take(MAX_PARTS).map(BufSlice::len).sum()))
        })
        .await
    }

    /// The next batch for the sender, of `most` bytes at most; None if there is none any more. A send has to be short: that it
    /// ends shows that the client takes its replies.
    pub(crate) fn next(&self, most: usize) -> Option<Batch> {
        let pending = &mut *self.pending.borrow_mut();
        pending.seal();
        let mut left = most;
        let mut within = |part: &BufSlice| {
            let fits = part.len() <= left;
            left = left.saturating_sub(part.len());
            fits
        };
        let count = pending.parts.iter().take(MAX_PARTS).take_while(|part| within(part)).count();
        if count == 0 {
            return pending.split_first(most);
        }
        // The costs' memory stays here; the parts' goes along with the send.
        let rest = pending.parts.split_off(count);
        let parts = std::mem::replace(&mut pending.parts, rest);
        let cost = pending.costs.drain(..count).sum();
        Some(Batch { parts, cost })
    }
}

/// A reply that is being sent piece by piece.
pub(crate) struct Stream<'a>(&'a Outbox);

impl Stream<'_> {
    /// Sends what stands before the data.
    pub(crate) fn push_bytes(&self, bytes: &[u8]) {
        self.push(|pending, rt| pending.push_bytes(rt, bytes, 0));
    }

    /// Sends a piece of the data. `cost` is room that is free again once it is sent.
    pub(crate) fn push_part(&self, part: BufSlice, cost: usize) {
        self.push(|pending, _| pending.push_part(part, cost));
    }

    fn push(&self, queue: impl FnOnce(&mut Pending, &Runtime)) {
        if !self.0.closed.get() {
            queue(&mut self.0.pending.borrow_mut(), &self.0.rt);
            self.0.wake();
        }
    }

    /// Waits until all of it so far is sent; false if the connection sends no more.
    pub(crate) async fn is_sent(&self) -> bool {
        loop {
            let changed = self.0.streams.wait();
            if self.0.closed.get() {
                return false;
            }
            // The sender waits for something to send.
            if self.0.sender.borrow().is_some() {
                return true;
            }
            changed.await;
        }
    }
}

impl Drop for Stream<'_> {
    fn drop(&mut self) {
        if let Some(behind) = self.0.behind.borrow_mut().take() {
            self.0.pending.borrow_mut().append(behind);
        }
        self.0.wake();
        self.0.streams.notify();
    }
}
