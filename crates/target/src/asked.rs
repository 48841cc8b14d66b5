//! A request that was let in, and what it may take.

use cygnus_types::{BLOCK, Nanos};

use crate::nbd::{self, Request};
use crate::pace::UNIT_BYTES;
use cygnus_volume::Terms;

/// Room counted for every reply besides its data: more than any header or error takes.
pub(crate) const REPLY_COST: usize = 256;
const _: () = assert!(nbd::REPLY_BYTES <= REPLY_COST && REPLY_COST < BLOCK);

/// A request that was let in.
#[derive(Clone, Copy)]
pub(crate) struct Asked {
    pub(crate) request: Request,
    /// What was taken for it.
    pub(crate) share: Share,
    /// When it was parsed.
    pub(crate) started: Nanos,
    /// What is to come true before it is answered, if it changes anything.
    pub(crate) terms: Option<Terms>,
}

/// Memory for a request, until its reply is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    /// Bytes of memory.
    pub(crate) room: usize,
    /// Of a read: the bytes that are read and sent at a time.
    pub(crate) piece: usize,
}

/// What a request may make do with, the best one first.
#[derive(Clone, Copy)]
pub(crate) struct Shares {
    list: [Share; 3],
    len: usize,
}

impl Shares {
    /// Only this many bytes of memory will do, for something else than a read.
    #[inline]
    pub(crate) fn one(room: usize) -> Self {
        Self::of_piece(room, 0)
    }

    #[inline]
    pub(crate) fn of_piece(room: usize, piece: usize) -> Self {
        Self { list: [Share { room, piece }; 3], len: 1 }
    }

    /// One more, worse than those before.
    pub(crate) fn or(mut self, room: usize, piece: usize) -> Self {
        self.list[self.len] = Share { room, piece };
        self.len += 1;
        self
    }

    pub(crate) fn as_slice(&self) -> &[Share] {
        &self.list[..self.len]
    }

    pub(crate) fn best(&self) -> Share {
        self.list[0]
    }

    pub(crate) fn least(&self) -> Share {
        self.list[self.len - 1]
    }
}

/// Units of a turn's work that it takes to copy this many bytes.
pub(crate) fn units_for(bytes: usize) -> u32 {
    1 + (bytes / UNIT_BYTES) as u32
}
