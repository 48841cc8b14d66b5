//! Back-pressure: writers are let in one after the other, at the pace at which space comes back, and each waits a little
//! more when space is nearly gone. Nobody runs into a wall, and throughput is what cleaning gives.

use std::sync::atomic::{AtomicU64, Ordering};

use cygnus_types::Nanos;

/// Nobody is kept at the door for longer; who would have to be waits for a segment then.
const LONGEST: Nanos = Nanos::millis(20);

/// The door, for all reactors.
#[derive(Default)]
pub(crate) struct Admission {
    /// Delay of each written block in nanoseconds, whoever writes it, while space is short.
    delay: AtomicU64,
    /// Time in nanoseconds from one written block to the next, over all writers; 0: as they come.
    interval: AtomicU64,
    /// When the next block may be written.
    next: AtomicU64,
}

impl Admission {
    /// Whether writers need not wait.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.delay.load(Ordering::Relaxed) | self.interval.load(Ordering::Relaxed) == 0
    }

    /// Delay of each block in nanoseconds while space is short.
    pub(crate) fn delay(&self) -> u64 {
        self.delay.load(Ordering::Relaxed)
    }

    /// Time from one block to the next in nanoseconds.
    pub(crate) fn interval(&self) -> u64 {
        self.interval.load(Ordering::Relaxed)
    }

    pub(crate) fn set(&self, delay: Nanos, interval: Nanos) {
        self.delay.store(delay.0, Ordering::Relaxed);
        self.interval.store(interval.0, Ordering::Relaxed);
    }

    /// How long the writer of so many blocks waits from now on.
    pub(crate) fn wait_for(&self, blocks: u64, now: Nanos) -> Nanos {
        let delay = Nanos(self.delay() * blocks);
        let interval = self.interval();
        if interval == 0 {
            return delay;
        }
        let latest = now.saturating_add(LONGEST).0;
        let begin = |next: u64| next.clamp(now.0, latest);
        let after = |next| Some(begin(next) + interval * blocks);
        let next = self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, after);
        delay + Nanos(next.map_or(now.0, begin)).since(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writers_come_one_after_the_other_and_none_waits_for_ever() {
        let admission = Admission::default();
        assert!(admission.is_open());
        admission.set(Nanos::ZERO, Nanos::micros(10));
        let now = Nanos::secs(1);
        let waits: Vec<_> = (0..3).map(|_| admission.wait_for(2, now)).collect();
        assert_eq!(waits, [Nanos::ZERO, Nanos::micros(20), Nanos::micros(40)]);
        assert_eq!(admission.wait_for(1, now + Nanos::millis(1)), Nanos::ZERO, "the door was not used");
        (0..10).for_each(|_| assert!(admission.wait_for(1000, now) <= LONGEST));
        assert_eq!(admission.wait_for(1, now), LONGEST);
        admission.set(Nanos::micros(1), Nanos::ZERO);
        assert_eq!(admission.wait_for(5, now), Nanos::micros(5));
    }
}
