//! Rounds of flush by number: what a reactor had on its devices when a round asked it is durable when that round has ended.

use std::sync::atomic::{AtomicU64, Ordering};

/// See the module's text.
#[derive(Default)]
pub(crate) struct FlushNumbers {
    begun: AtomicU64,
    ended: AtomicU64,
}

impl FlushNumbers {
    /// A round begins, on the home reactor, where there is one at a time.
    pub(crate) fn begin(&self) -> u64 {
        self.begun.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// A round has made durable what it was to make durable.
    pub(crate) fn end(&self, round: u64) {
        self.ended.store(round, Ordering::Release);
    }

    /// The newest round that has.
    pub(crate) fn ended(&self) -> u64 {
        self.ended.load(Ordering::Acquire)
    }
}
