//! Back-pressure: writers are let in one after the other, at the pace at which space comes back, and each waits a little
//! more when space is nearly gone. Nobody runs into a wall, and throughput is what cleaning gives.

use std::sync::atomic::{AtomicU64, Ordering};

use cygnus_types::{Medium, Nanos};

/// Nobody is kept at the door for longer; who would have to be waits for a segment then.
const LONGEST: Nanos = Nanos::millis(20);

/// The door, for all reactors.
#[derive(Default)]
pub(crate) struct Admission {
    /// Delay of each block written to a medium in nanoseconds, whoever writes it, while space is short there.
    delay: [AtomicU64; Medium::ALL.len()],
    /// Time in nanoseconds from one written block to the next, over all writers; 0: as they come.
    interval: AtomicU64,
    /// When the next block may be written.
    next: AtomicU64,
}

impl Admission {
    /// Whether writers need not wait.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        let [flash, disk] = &self.delay;
        flash.load(Ordering::Relaxed) | disk.load(Ordering::Relaxed) | self.interval.load(Ordering::Relaxed) == 0
    }

    /// The same for those who write to one medium.
    pub(crate) fn is_open_on(&self, medium: Medium) -> bool {
        self.delay_on(Some(medium)) | self.interval() == 0
    }

    /// Delay of each block in nanoseconds while space is short, on the medium where it is longest.
    pub(crate) fn delay(&self) -> u64 {
        self.delay.iter().map(|delay| delay.load(Ordering::Relaxed)).max().unwrap_or(0)
    }

    /// The same on one medium; on the one where it is shortest, for those who may write to any.
    fn delay_on(&self, medium: Option<Medium>) -> u64 {
        let on = |medium: Medium| self.delay[medium.index()].load(Ordering::Relaxed);
        medium.map_or_else(|| Medium::ALL.map(on).into_iter().min().unwrap_or(0), on)
    }

    /// Time from one block to the next in nanoseconds.
    pub(crate) fn interval(&self) -> u64 {
        self.interval.load(Ordering::Relaxed)
    }

    /// Delays by medium; of a medium that no group is on, that of the other one.
    pub(crate) fn set(&self, delays: [Nanos; Medium::ALL.len()], interval: Nanos) {
        for (delay, nanos) in self.delay.iter().zip(delays) {
            delay.store(nanos.0, Ordering::Relaxed);
        }
        self.interval.store(interval.0, Ordering::Relaxed);
    }

    /// How long the writer of so many blocks waits from now on, who names a medium or takes any.
    pub(crate) fn wait_for(&self, blocks: u64, medium: Option<Medium>, now: Nanos) -> Nanos {
        let delay = Nanos(self.delay_on(medium) * blocks);
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
        admission.set([Nanos::ZERO; 2], Nanos::micros(10));
        let now = Nanos::secs(1);
        let waits: Vec<_> = (0..3).map(|_| admission.wait_for(2, None, now)).collect();
        assert_eq!(waits, [Nanos::ZERO, Nanos::micros(20), Nanos::micros(40)]);
        assert_eq!(admission.wait_for(1, None, now + Nanos::millis(1)), Nanos::ZERO, "the door was not used");
        (0..10).for_each(|_| assert!(admission.wait_for(1000, None, now) <= LONGEST));
        assert_eq!(admission.wait_for(1, None, now), LONGEST);
        admission.set([Nanos::micros(1), Nanos::micros(3)], Nanos::ZERO);
        let wait = |medium| admission.wait_for(5, medium, now);
        assert_eq!((wait(None), wait(Some(Medium::Disk))), (Nanos::micros(5), Nanos::micros(15)));
        assert_eq!((admission.delay(), admission.is_open()), (3000, false));
    }
}
