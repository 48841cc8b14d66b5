//! What may be done with a member, and how often that has changed, as one word: nobody can see that a member has left service
//! and not see that something has changed.
//!
//! A flush leaves out a member that it sees out of service, and may be answered only when the superblocks say that it is.
//! It compares the count of changes afterwards with the one that the superblocks reflect; were that another word, there
//! would be a moment in which the member has left and nothing counts.

use crate::atomic::{AtomicU64, Ordering};

/// What may be done with a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(crate) enum Service {
    /// Neither read nor written.
    Out = 0,
    /// Gets all writes; is read where its column is whole.
    Filling = 1,
    /// Holds everything it should.
    Online = 2,
}

/// Bits that a [`Service`] takes, the lowest; the count lies above them.
const BITS: u32 = 2;

impl Service {
    fn of(word: u64) -> Self {
        match word & ((1 << BITS) - 1) {
            0 => Self::Out,
            1 => Self::Filling,
            2 => Self::Online,
            _ => unreachable!("only Service values are stored"),
        }
    }
}

/// See the module's text.
pub(crate) struct ServiceWord(AtomicU64);

impl ServiceWord {
    pub(crate) fn new(service: Service) -> Self {
        Self(AtomicU64::new(service as u64))
    }

    #[inline]
    pub(crate) fn get(&self) -> Service {
        Service::of(self.0.load(Ordering::Acquire))
    }

    /// Changes it, if it is `from` something; says whether it was.
    pub(crate) fn turn(&self, from: impl Fn(Service) -> bool, to: Service) -> bool {
        let next = |word: u64| {
            let changes = (word >> BITS) + 1;
            from(Service::of(word)).then_some(changes << BITS | to as u64)
        };
        self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, next).is_ok()
    }

    /// How often it has changed. Whoever has seen a change finds it counted.
    pub(crate) fn changes(&self) -> u64 {
        self.0.load(Ordering::Acquire) >> BITS
    }
}
