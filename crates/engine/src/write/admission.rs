//! Back-pressure: writers are let in one after the other, at the pace at which space comes back, and each waits a little
//! more when space is nearly gone. Nobody runs into a wall, and throughput is what cleaning gives.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use cygnus_types::{Medium, Nanos};

/// Nobody is kept at a door for longer, or for two of its periods where these are longer; who would have to be waits for a segment then.
const LONGEST: Nanos = Nanos::millis(20);

/// How writers to a medium are let in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pace {
    /// Delay of each block, whoever writes it, while space is short.
    pub delay: Nanos,
    /// Time from one block to the next, over all writers; zero: as they come.
    pub interval: Nanos,
    /// Where room comes back slowly, as on disks, the door opens once in so long, for all who may pass until it opens next: the arm
    /// goes less often between the places of cleaning and of clients than if these passed one by one. Zero: it is always open.
    pub period: Nanos,
}

/// The doors, for all reactors: one to each medium on which groups are.
#[derive(Default)]
pub(crate) struct Admission {
    doors: [Door; Medium::ALL.len()],
    /// Whether writers wait at any of them.
    any_is_shut: AtomicBool,
}

/// The door to a medium. All times are in nanoseconds.
#[derive(Default)]
struct Door {
    /// Whether groups are on the medium.
    is_there: AtomicBool,
    delay: AtomicU64,
    interval: AtomicU64,
    period: AtomicU64,
    /// When the next block may be written.
    next: AtomicU64,
}

impl Door {
    #[inline]
    fn pace(&self) -> Pace {
        let load = |nanos: &AtomicU64| Nanos(nanos.load(Ordering::Relaxed));
        Pace { delay: load(&self.delay), interval: load(&self.interval), period: load(&self.period) }
    }

    #[inline]
    fn is_open(&self) -> bool {
        let Pace { delay, interval, .. } = self.pace();
        (delay, interval) == (Nanos::ZERO, Nanos::ZERO)
    }

    fn wait_for(&self, blocks: u64, now: Nanos) -> Nanos {
        let Pace { delay, interval, period } = self.pace();
        let delay = delay * blocks;
        if interval == Nanos::ZERO {
            return delay;
        }
        let latest = now.saturating_add(LONGEST.max(period * 2)).0;
        let begin = |next: u64| next.clamp(now.0, latest);
        let after = |next| Some(begin(next) + interval.0 * blocks);
        let turn = self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, after).map_or(now.0, begin);
        let opens = turn - turn.checked_rem(period.0).unwrap_or(0);
        delay + Nanos(opens).since(now)
    }
}

impl Admission {
    /// Whether writers need not wait.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        !self.any_is_shut.load(Ordering::Relaxed)
    }

    /// The same for those who write to one medium.
    pub(crate) fn is_open_on(&self, medium: Medium) -> bool {
        self.doors[medium.index()].is_open()
    }

    /// Delay of each block while space is short, on the medium where it is longest.
    pub(crate) fn delay(&self) -> Nanos {
        self.longest(|pace| pace.delay)
    }

    /// Time from one block to the next, on the medium where it is longest.
    pub(crate) fn interval(&self) -> Nanos {
        self.longest(|pace| pace.interval)
    }

    fn longest(&self, of: impl Fn(Pace) -> Nanos) -> Nanos {
        self.doors.iter().map(|door| of(door.pace())).max().unwrap_or(Nanos::ZERO)
    }

    /// Sets the paces, by medium; `None`: no group is on it.
    pub(crate) fn set(&self, paces: [Option<Pace>; Medium::ALL.len()]) {
        for (door, pace) in self.doors.iter().zip(paces) {
            door.is_there.store(pace.is_some(), Ordering::Relaxed);
            let pace = pace.unwrap_or_default();
            door.delay.store(pace.delay.0, Ordering::Relaxed);
            door.interval.store(pace.interval.0, Ordering::Relaxed);
            door.period.store(pace.period.0, Ordering::Relaxed);
        }
        self.any_is_shut.store(!self.doors.iter().all(Door::is_open), Ordering::Relaxed);
    }

    /// How long the writer of so many blocks waits from now on, who names a medium or takes any: that where he waits least. The same where no
    /// group is on the medium that he names.
    pub(crate) fn wait_for(&self, blocks: u64, medium: Option<Medium>, now: Nanos) -> Nanos {
        let is_there = |door: &&Door| door.is_there.load(Ordering::Relaxed);
        let its = medium.map(|medium| &self.doors[medium.index()]).filter(is_there);
        let least = || self.doors.iter().filter(is_there).min_by_key(|door| (door.pace().interval, door.pace().delay));
        its.or_else(least).map_or(Nanos::ZERO, |door| door.wait_for(blocks, now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writers_come_one_after_the_other_and_none_waits_for_ever() {
        let admission = Admission::default();
        assert!(admission.is_open());
        let interval = |interval| Pace { interval, ..Pace::default() };
        admission.set([Some(interval(Nanos::micros(10))), None, None, None]);
        let now = Nanos::secs(1);
        let waits: Vec<_> = (0..3).map(|_| admission.wait_for(2, None, now)).collect();
        assert_eq!(waits, [Nanos::ZERO, Nanos::micros(20), Nanos::micros(40)]);
        assert_eq!(admission.wait_for(1, None, now + Nanos::millis(1)), Nanos::ZERO, "the door was not used");
        (0..10).for_each(|_| assert!(admission.wait_for(1000, None, now) <= LONGEST));
        assert_eq!(admission.wait_for(1, None, now), LONGEST);
        let delay = |delay| Pace { delay, ..Pace::default() };
        admission.set([Some(delay(Nanos::micros(1))), Some(delay(Nanos::micros(3))), None, None]);
        let wait = |medium| admission.wait_for(5, medium, now);
        assert_eq!((wait(None), wait(Some(Medium::Disk))), (Nanos::micros(5), Nanos::micros(15)));
        assert_eq!(wait(Some(Medium::Nvm)), Nanos::micros(5), "no group is there");
        assert_eq!((admission.delay(), admission.is_open()), (Nanos::micros(3), false));
    }

    #[test]
    fn the_door_to_a_slow_medium_opens_now_and_then_for_a_while() {
        let admission = Admission::default();
        const PERIOD: Nanos = Nanos::secs(4);
        let slow = Pace { interval: Nanos::millis(2), period: PERIOD, ..Pace::default() };
        admission.set([Some(Pace::default()), Some(slow), None, None]);
        let wait = |medium| admission.wait_for(500, medium, PERIOD);
        let waits: Vec<_> = (0..40).map(|_| wait(Some(Medium::Disk))).collect();
        assert_eq!(waits[..4], [Nanos::ZERO; 4], "all who may pass in one period");
        assert_eq!(waits[4..8], [PERIOD; 4]);
        assert_eq!(waits[39], PERIOD * 2, "the longest wait");
        assert_eq!((wait(None), wait(Some(Medium::Flash))), (Nanos::ZERO, Nanos::ZERO));
        assert!(admission.is_open_on(Medium::Flash) && !admission.is_open_on(Medium::Disk));
    }
}
