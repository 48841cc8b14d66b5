//! The receive buffer: filled at the end, taken from the front, moved together only when it must be.
//!
//! Memory follows what has arrived, never what was announced: the buffer grows when it is full, and shrinks when for a
//! while little has come at a time.

use std::rc::Rc;

use cygnus_runtime::{Buf, BufSlice, Runtime};

use crate::purse::Account;

/// Size in bytes during the negotiation, and what it shrinks to: a connection without a word holds no more.
const SMALL: usize = 4 << 10;
/// Smallest size in bytes for requests: some whole blocks fit besides a header, so that a write larger than the buffer can
/// be taken block by block.
const ENOUGH: usize = 16 << 10;
/// As far as this many bytes it lives on the session's own memory, of which the rest is for requests. Beyond, it has to be
/// lent some.
pub(crate) const OWN: usize = 32 << 10;
/// Size in bytes that a busy connection comes to: one receive takes dozens of 4 KiB writes, and the buffer still fits into
/// a core's second-level cache.
const BASE: usize = 256 << 10;
/// Receives in a row that used less than a quarter of the buffer, after which it is halved once it is empty.
const LEAN: u8 = 64;

pub(crate) struct ReceiveBuffer {
    rt: Runtime,
    account: Rc<Account>,
    buf: Buf,
    start: usize,
    end: usize,
    lean: u8,
    /// The last receive filled it.
    filled_up: bool,
}

impl ReceiveBuffer {
    /// A buffer for the negotiation.
    pub(crate) fn new(rt: &Runtime, account: &Rc<Account>) -> Self {
        let taken = account.try_take(SMALL);
        debug_assert!(taken, "a connection's reserve has room for its first buffer");
        Self {
            rt: rt.clone(),
            account: account.clone(),
            buf: rt.alloc(SMALL),
            start: 0,
            end: 0,
            lean: 0,
            filled_up: false,
        }
    }

    /// What was received and not consumed yet.
    pub(crate) fn filled(&self) -> &[u8] {
        &self.buf.bytes()[self.start..self.end]
    }

    pub(crate) fn consume(&mut self, bytes: usize) {
        self.start += bytes;
        assert!(self.start <= self.end, "more consumed than was received");
    }

    fn len(&self) -> usize {
        self.end - self.start
    }

    /// Makes the buffer fit for requests.
    pub(crate) fn widen(&mut self) {
        let widened = self.buf.len() >= ENOUGH || self.resize(ENOUGH);
        debug_assert!(widened, "a connection's reserve has room for its buffer");
    }

    /// Makes room for more of the message at the front, which takes `message` bytes in all, of which no more than `most`
    /// need be here at once. False if there is none: it is full, as large as it may be or as memory allows.
    pub(crate) fn make_room(&mut self, message: usize, most: usize) -> bool {
        let len = self.buf.len();
        if self.len() == 0 {
            (self.start, self.end) = (0, 0);
            if len > BASE && message <= BASE {
                self.resize(BASE);
            } else if self.lean >= LEAN && len > ENOUGH {
                self.lean = 0;
                self.resize(len / 2);
            }
        } else if self.start > 0 && (len - self.end < self.start || self.start + message > len) {
            let (start, end) = (self.start, self.end);
            self.buf.bytes_mut().copy_within(start..end, 0);
            (self.start, self.end) = (0, end - start);
        }
        if std::mem::take(&mut self.filled_up) && (ENOUGH..BASE).contains(&len) {
            // More was there than it could take. Where memory is short it stays as it is.
            self.resize(len * 2);
        }
        let is_full = self.end == self.buf.len();
        if is_full && self.buf.len() < message.min(most) {
            return self.resize(self.buf.len() * 2);
        }
        !is_full
    }

    /// Where to receive at most `most` bytes, after [`ReceiveBuffer::make_room`].
    pub(crate) fn room(&self, most: usize) -> BufSlice {
        self.buf.slice(self.end..self.buf.len().min(self.end.saturating_add(most)))
    }

    /// Takes in this many bytes that were received into [`ReceiveBuffer::room`].
    pub(crate) fn received(&mut self, bytes: usize) {
        self.end += bytes;
        assert!(self.end <= self.buf.len(), "more received than there was room for");
        self.filled_up = self.end == self.buf.len();
        self.lean = if bytes * 4 <= self.buf.len() { self.lean.saturating_add(1) } else { 0 };
    }

    /// Keeps what is enough for one request. Nothing is in it, and no receive is under way.
    pub(crate) fn rest(&mut self) {
        assert!(self.filled().is_empty(), "a buffer with a request in it is needed");
        if self.buf.len() > ENOUGH {
            self.resize(ENOUGH);
        }
        (self.lean, self.filled_up) = (0, false);
    }

    fn resize(&mut self, wanted: usize) -> bool {
        let len = self.buf.len();
        if wanted > len && !grow(&self.account, len, wanted) {
            return false;
        }
        let mut other = self.rt.alloc(wanted);
        other.part_mut(0..self.len()).copy_from_slice(self.filled());
        (self.start, self.end) = (0, self.len());
        self.buf = other;
        if wanted < len {
            shrink(&self.account, len, wanted);
        }
        true
    }
}

fn grow(account: &Account, from: usize, to: usize) -> bool {
    let own = to.min(OWN) - from.min(OWN);
    let lent = to - from - own;
    if own > 0 && !account.try_take(own) {
        return false;
    }
    let granted = lent == 0 || account.try_lend(lent);
    if !granted && own > 0 {
        account.give(own);
    }
    granted
}

fn shrink(account: &Account, from: usize, to: usize) {
    let own = from.min(OWN) - to.min(OWN);
    let lent = from - to - own;
    if own > 0 {
        account.give(own);
    }
    if lent > 0 {
        account.return_lent(lent);
    }
}

impl Drop for ReceiveBuffer {
    fn drop(&mut self) {
        shrink(&self.account, self.buf.len(), 0);
    }
}
