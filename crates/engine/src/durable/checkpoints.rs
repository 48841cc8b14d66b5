//! What is known of checkpoints between two of them: how far they cover the log, and who waits for one.

use std::cell::Cell;

use cygnus_runtime::Rounds;

use crate::fault::Fault;

/// See the module's text.
#[derive(Default)]
pub(crate) struct Checkpoints {
    pub rounds: Rounds<Result<(), Fault>>,
    /// A discard in a stripe below this sequence is covered by a checkpoint.
    pub discard_horizon: Cell<u64>,
    /// The superblocks say that stripes from this sequence on must be found, as far as no checkpoint covers them.
    pub counted_from: Cell<u64>,
    /// Tasks that wait for a checkpoint.
    waiters: Cell<u32>,
    /// Somebody needs what the checkpoint that is under way brings.
    pub needed: Cell<bool>,
    /// An opening waits for the checkpoint, and tells how far it is.
    pub ends_opening: Cell<bool>,
}

impl Checkpoints {
    /// Whether a discard in a stripe of this sequence, 0 for none, lives on in a checkpoint.
    pub(crate) fn covers_discard(&self, seq: u64) -> bool {
        seq == 0 || seq < self.discard_horizon.get()
    }

    /// Whether nobody minds how long the checkpoint under way takes.
    pub(crate) fn has_time(&self) -> bool {
        !self.needed.get() && self.waiters.get() == 0
    }
}

/// Somebody waits for a checkpoint, so it does not rest.
pub(crate) struct Awaited<'a>(&'a Cell<u32>);

impl<'a> Awaited<'a> {
    pub(crate) fn new(checkpoints: &'a Checkpoints) -> Self {
        let waiters = &checkpoints.waiters;
        waiters.set(waiters.get() + 1);
        Self(waiters)
    }
}

impl Drop for Awaited<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoint_has_time_until_somebody_waits_for_it() {
        let checkpoints = Checkpoints::default();
        assert!(checkpoints.has_time());
        let waits = Awaited::new(&checkpoints);
        assert!(!checkpoints.has_time());
        drop(waits);
        checkpoints.needed.set(true);
        assert!(!checkpoints.has_time());
    }

    #[test]
    fn a_discard_is_covered_below_the_horizon() {
        let checkpoints = Checkpoints::default();
        checkpoints.discard_horizon.set(5);
        assert_eq!([0, 4, 5].map(|seq| checkpoints.covers_discard(seq)), [true, true, false]);
    }
}
