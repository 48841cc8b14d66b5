//! Back-pressure: writers are let in one after the other, at the pace at which space comes back, and each waits a little
//! more when space is nearly gone. Nobody runs into a wall, and throughput is what cleaning gives.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use cygnus_types::{Medium, Nanos};

/// Nobody is kept at a door for longer, or for two of its periods where these are longer; who would have to be waits for a segment then.
const LONGEST: Nanos = Nanos::millis(20);
/// Whoever waits at a door does not look sooner than this whether it has opened.
const LEAST_LOOK: Nanos = Nanos::millis(1);

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

/// The door to a medium. What a writer gets at it is a number of blocks that come before, and no time: a pace that changes holds for those who
/// wait already. All times are in nanoseconds.
#[derive(Default)]
struct Door {
    /// Whether groups are on the medium.
    is_there: AtomicBool,
    delay: AtomicU64,
    interval: AtomicU64,
    period: AtomicU64,
    /// Blocks that have come to the door while it was not open.
    came: AtomicU64,
    /// Of these, how many had been let in at `since`.
    let_in: AtomicU64,
    since: AtomicU64,
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

    /// Only the home reactor sets the pace. What another one reads meanwhile may be of both paces, until it looks again.
    fn set(&self, pace: Pace, now: Nanos) {
        let (before, came) = (self.pace().interval, self.came.load(Ordering::Relaxed));
        if before != pace.interval {
            let (let_in, since) = match before {
                Nanos::ZERO => (came, now),
                _ => self.let_in_by(before, now),
            };
            // A door that nobody used lets nobody in faster for that.
            let (let_in, since) = if let_in < came { (let_in, since) } else { (came, now) };
            self.let_in.store(let_in, Ordering::Relaxed);
            self.since.store(since.0, Ordering::Relaxed);
        }
        self.delay.store(pace.delay.0, Ordering::Relaxed);
        self.interval.store(pace.interval.0, Ordering::Relaxed);
        self.period.store(pace.period.0, Ordering::Relaxed);
    }

    /// Blocks let in until now at this pace, and when the last of them was.
    fn let_in_by(&self, interval: Nanos, now: Nanos) -> (u64, Nanos) {
        let since = Nanos(self.since.load(Ordering::Relaxed));
        let more = now.since(since).0 / interval.0;
        (self.let_in.load(Ordering::Relaxed) + more, since + interval * more)
    }

    /// A writer comes, behind all that came before.
    fn comes(&self, blocks: u64, now: Nanos) -> AtDoor<'_> {
        let Pace { delay, interval, period } = self.pace();
        let longest = LONGEST.max(period * 2);
        let delay = delay * blocks;
        let mut writer =
            AtDoor { door: self, before: 0, latest: now.saturating_add(longest), delay, is_through: false };
        if interval != Nanos::ZERO {
            let (let_in, _) = self.let_in_by(interval, now);
            let begin = |came: u64| came.clamp(let_in, let_in + longest.0 / interval.0);
            let after = |came| Some(begin(came) + blocks);
            writer.before = self.came.fetch_update(Ordering::Relaxed, Ordering::Relaxed, after).map_or(0, begin);
        }
        writer
    }

    /// When the block is let in that comes behind so many.
    fn opens(&self, before: u64) -> Nanos {
        let Pace { interval, period, .. } = self.pace();
        let still = before.saturating_sub(self.let_in.load(Ordering::Relaxed));
        let turn = self.since.load(Ordering::Relaxed).saturating_add(interval.0.saturating_mul(still));
        if interval == Nanos::ZERO { Nanos::ZERO } else { Nanos(turn - turn.checked_rem(period.0).unwrap_or(0)) }
    }
}

/// A writer at a door.
pub(crate) struct AtDoor<'a> {
    door: &'a Door,
    /// Blocks that came before.
    before: u64,
    /// When it is let in at the latest.
    latest: Nanos,
    /// What it waits beyond the door.
    delay: Nanos,
    is_through: bool,
}

impl AtDoor<'_> {
    /// How long to wait before looking again; `None`: let in.
    pub(crate) fn wait(&mut self, now: Nanos) -> Option<Nanos> {
        let opens = self.door.opens(self.before).min(self.latest);
        if opens > now && !self.is_through {
            // The pace may change: whoever waits looks again when an eighth of the time is over.
            let left = opens.since(now);
            return Some(Nanos(left.0 / 8).max(LEAST_LOOK).min(left));
        }
        self.is_through = true;
        Some(std::mem::take(&mut self.delay)).filter(|&delay| delay > Nanos::ZERO)
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
    pub(crate) fn set(&self, paces: [Option<Pace>; Medium::ALL.len()], now: Nanos) {
        for (door, pace) in self.doors.iter().zip(paces) {
            door.is_there.store(pace.is_some(), Ordering::Relaxed);
            door.set(pace.unwrap_or_default(), now);
        }
        self.any_is_shut.store(!self.doors.iter().all(Door::is_open), Ordering::Relaxed);
    }

    /// A writer of so many blocks comes, who names a medium or takes any: that where he waits least. The same where no group is on the medium
    /// that he names. `None`: no group is there.
    pub(crate) fn comes(&self, blocks: u64, medium: Option<Medium>, now: Nanos) -> Option<AtDoor<'_>> {
        let is_there = |door: &&Door| door.is_there.load(Ordering::Relaxed);
        let its = medium.map(|medium| &self.doors[medium.index()]).filter(is_there);
        let least = || self.doors.iter().filter(is_there).min_by_key(|door| (door.pace().interval, door.pace().delay));
        Some(its.or_else(least)?.comes(blocks, now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How long a writer waits from `now` on, if the pace stays.
    fn wait(admission: &Admission, blocks: u64, medium: Option<Medium>, now: Nanos) -> Nanos {
        let mut writer = admission.comes(blocks, medium, now).expect("there is a group");
        let mut until = now;
        while let Some(wait) = writer.wait(until) {
            assert!(wait > Nanos::ZERO);
            until += wait;
        }
        until.since(now)
    }

    const NOW: Nanos = Nanos::secs(1);

    fn at_interval(interval: Nanos, now: Nanos) -> Admission {
        let admission = Admission::default();
        set_interval(&admission, interval, now);
        admission
    }

    fn set_interval(admission: &Admission, interval: Nanos, now: Nanos) {
        admission.set([Some(Pace { interval, ..Pace::default() }), None, None, None], now);
    }

    #[test]
    fn writers_come_one_after_the_other_and_none_waits_for_ever() {
        assert!(Admission::default().is_open());
        let admission = at_interval(Nanos::micros(10), NOW);
        let waits: Vec<_> = (0..3).map(|_| wait(&admission, 2, None, NOW)).collect();
        assert_eq!(waits, [Nanos::ZERO, Nanos::micros(20), Nanos::micros(40)]);
        assert_eq!(wait(&admission, 1, None, NOW + Nanos::millis(1)), Nanos::ZERO, "the door was not used");
        (0..10).for_each(|_| assert!(wait(&admission, 1000, None, NOW) <= LONGEST));
        assert_eq!(wait(&admission, 1, None, NOW), LONGEST);
    }

    #[test]
    fn who_waits_already_has_the_new_pace() {
        let admission = at_interval(Nanos::millis(1), NOW);
        let mut writers: Vec<_> = (0..8).map(|_| admission.comes(1, None, NOW).expect("it is there")).collect();
        let later = NOW + Nanos::millis(2);
        set_interval(&admission, Nanos::micros(10), later);
        let opens: Vec<_> = writers.iter().map(|writer| writer.door.opens(writer.before).since(NOW).0 / 1000).collect();
        assert_eq!(opens, [2000, 2000, 2000, 2010, 2020, 2030, 2040, 2050]);
        assert_eq!(wait(&admission, 1, None, later), Nanos::micros(60), "behind these");
        // As fast as it may change, as much goes through as the paces give.
        for step in 1..=4 {
            set_interval(&admission, Nanos::micros(10 + step % 2), later + Nanos::micros(5 * step));
        }
        assert_eq!(writers[4].wait(later + Nanos::micros(20)), None);
        assert_eq!(writers[5].wait(later + Nanos::micros(20)), Some(Nanos::micros(10)));
        set_interval(&admission, Nanos::ZERO, later + Nanos::micros(20));
        assert!(writers.iter_mut().all(|writer| writer.wait(later + Nanos::micros(20)).is_none()), "the door is open");
    }

    #[test]
    fn each_block_is_delayed_while_space_is_short() {
        let admission = Admission::default();
        let delay = |delay| Pace { delay, ..Pace::default() };
        admission.set([Some(delay(Nanos::micros(1))), Some(delay(Nanos::micros(3))), None, None], NOW);
        let wait = |medium| wait(&admission, 5, medium, NOW);
        assert_eq!((wait(None), wait(Some(Medium::Disk))), (Nanos::micros(5), Nanos::micros(15)));
        assert_eq!(wait(Some(Medium::Nvm)), Nanos::micros(5), "no group is there");
        assert_eq!((admission.delay(), admission.is_open()), (Nanos::micros(3), false));
    }

    #[test]
    fn the_door_to_a_slow_medium_opens_now_and_then_for_a_while() {
        let admission = Admission::default();
        const PERIOD: Nanos = Nanos::secs(4);
        let slow = Pace { interval: Nanos::millis(2), period: PERIOD, ..Pace::default() };
        admission.set([Some(Pace::default()), Some(slow), None, None], PERIOD);
        let wait = |medium| wait(&admission, 500, medium, PERIOD);
        let waits: Vec<_> = (0..40).map(|_| wait(Some(Medium::Disk))).collect();
        assert_eq!(waits[..4], [Nanos::ZERO; 4], "all who may pass in one period");
        assert_eq!(waits[4..8], [PERIOD; 4]);
        assert_eq!(waits[39], PERIOD * 2, "the longest wait");
        assert_eq!((wait(None), wait(Some(Medium::Flash))), (Nanos::ZERO, Nanos::ZERO));
        assert!(admission.is_open_on(Medium::Flash) && !admission.is_open_on(Medium::Disk));
    }
}
