//! The numbers of stripes, and below which of them all are on the devices, though reactors close and write them each at
//! its own pace.

use crate::atomic::{AtomicU64, Ordering};

/// See the module's text.
pub(crate) struct StripeNumbers {
    /// What the next stripe to be closed gets.
    next: AtomicU64,
    /// Per reactor: no stripe of it below this is on its way; `u64::MAX` if none is at all.
    incomplete: Vec<AtomicU64>,
}

impl StripeNumbers {
    pub(crate) fn new(first: u64, reactors: usize) -> Self {
        let incomplete = (0..reactors).map(|_| AtomicU64::new(u64::MAX)).collect();
        Self { next: AtomicU64::new(first), incomplete }
    }

    pub(crate) fn reactors(&self) -> usize {
        self.incomplete.len()
    }

    /// The number of a stripe that this reactor closes. `lowest` is the lowest one it still has on its way.
    pub(crate) fn take(&self, reactor: usize, lowest: Option<u64>) -> u64 {
        if lowest.is_none() {
            // Published before the number is taken, so that whoever sees the higher counter sees this too.
            self.incomplete[reactor].store(self.next.load(Ordering::SeqCst), Ordering::SeqCst);
        }
        self.next.fetch_add(1, Ordering::SeqCst)
    }

    /// Says which stripe of this reactor is now the lowest on its way.
    pub(crate) fn set_incomplete(&self, reactor: usize, lowest: Option<u64>) {
        self.incomplete[reactor].store(lowest.unwrap_or(u64::MAX), Ordering::SeqCst);
    }

    /// Every stripe below this number is on the devices, if not yet durable.
    pub(crate) fn complete_below(&self) -> u64 {
        let next = self.next.load(Ordering::SeqCst);
        self.incomplete.iter().map(|i| i.load(Ordering::SeqCst)).fold(next, u64::min)
    }

    /// The number that the next stripe to be closed will get.
    pub(crate) fn next(&self) -> u64 {
        self.next.load(Ordering::SeqCst)
    }

    /// Lifts the counter to at least `number`; during recovery, when nobody writes yet.
    pub(crate) fn raise(&self, number: u64) {
        self.next.fetch_max(number, Ordering::SeqCst);
    }
}
