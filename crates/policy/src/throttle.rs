//! How fast background work may go beside clients: as fast as their latency allows, but never slower than a floor.

use cygnus_types::Nanos;

/// Rule for the pace of background work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throttle {
    /// Latency that all but one in a hundred of the clients' requests should stay below.
    pub objective: Nanos,
    /// Bytes per second below which it never falls: work that never ends protects no data.
    pub floor: u64,
}

impl Throttle {
    /// Bytes per second for the next interval, after one at `rate` (`None`: without limit) in which `done` bytes per
    /// second were dealt with and clients saw this 99th percentile (`None`: no client waited for anything).
    ///
    /// Quick to give way and slow to come back, as congestion control has it: a queue that has built up must drain before
    /// anybody can tell whether the new rate is right.
    pub fn next(self, rate: Option<u64>, done: u64, p99: Option<Nanos>) -> Option<u64> {
        let p99 = p99?;
        if p99 > self.objective {
            return Some((rate.unwrap_or(done).min(done.max(self.floor)) / 2).max(self.floor));
        }
        // A limit that is far above what is done limits nothing.
        rate.filter(|&rate| rate < done * 4).map(|rate| rate + rate / 8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: Throttle = Throttle { objective: Nanos::millis(2), floor: 10 };

    #[test]
    fn nobody_waiting_means_no_limit() {
        assert_eq!(RULE.next(Some(100), 100, None), None);
    }

    #[test]
    fn it_halves_when_guests_wait_too_long_down_to_the_floor() {
        let slow = Some(Nanos::millis(3));
        assert_eq!(RULE.next(None, 1000, slow), Some(500));
        assert_eq!(RULE.next(Some(500), 490, slow), Some(245));
        assert_eq!(RULE.next(Some(12), 12, slow), Some(10));
    }

    #[test]
    fn it_creeps_up_while_they_do_not_and_forgets_a_limit_that_limits_nothing() {
        let quick = Some(Nanos::millis(1));
        assert_eq!(RULE.next(Some(80), 80, quick), Some(90));
        assert_eq!(RULE.next(Some(500), 100, quick), None);
        assert_eq!(RULE.next(None, 100, quick), None);
    }
}
