//! The receive buffer: filled at the end, taken from the front, moved together only when it must be.

use cygnus_runtime::{Buf, BufSlice, Runtime};

/// Size in bytes during the negotiation: most options fit, and whoever connects without a word holds no more.
const SMALL: usize = 4 << 10;
/// Size in bytes from which a transmission starts and to which it returns: one receive takes dozens of 4 KiB writes, and the
/// buffer still fits into a core's second-level cache.
pub(crate) const BASE: usize = 256 << 10;
/// An empty buffer above this size is exchanged for one of the base size.
const KEEP: usize = 4 << 20;
/// Receive only into at least this much room, unless the message is known to be shorter.
const ROOM: usize = BASE / 2;

pub(crate) struct ReceiveBuffer {
    rt: Runtime,
    buf: Buf,
    start: usize,
    end: usize,
}

impl ReceiveBuffer {
    pub(crate) fn new(rt: &Runtime) -> Self {
        Self { rt: rt.clone(), buf: rt.alloc(SMALL), start: 0, end: 0 }
    }

    /// Makes the buffer fit for transmission.
    pub(crate) fn widen(&mut self) {
        if self.buf.len() < BASE {
            self.grow(BASE);
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

    /// Where to receive, given that the message at the front takes `message` bytes in all.
    pub(crate) fn room(&mut self, message: usize) -> BufSlice {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            if self.buf.len() > KEEP && message <= BASE {
                self.buf = self.rt.alloc(BASE);
            }
        }
        if message > self.buf.len() {
            self.grow(message);
        } else if self.start + message > self.buf.len() || self.buf.len() - self.end < ROOM.min(self.start) {
            let (start, end) = (self.start, self.end);
            self.buf.bytes_mut().copy_within(start..end, 0);
            (self.start, self.end) = (0, end - start);
        }
        self.buf.slice(self.end..self.buf.len())
    }

    fn grow(&mut self, message: usize) {
        let mut larger = self.rt.alloc(message.next_power_of_two());
        larger.bytes_mut()[..self.end - self.start].copy_from_slice(self.filled());
        (self.start, self.end) = (0, self.end - self.start);
        self.buf = larger;
    }

    /// So many bytes were received into [`ReceiveBuffer::room`].
    pub(crate) fn received(&mut self, bytes: usize) {
        self.end += bytes;
        assert!(self.end <= self.buf.len(), "more received than there was room for");
    }
}
