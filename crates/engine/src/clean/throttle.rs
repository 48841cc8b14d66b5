//! The pace of background work: measures what clients wait for, and delays the work as the policy has it.

use std::cell::{Cell, RefCell};

use cygnus_policy::Throttle;
use cygnus_runtime::Runtime;
use cygnus_types::Nanos;

use crate::read::client_tally::ClientTallies;

/// How often the pace is decided on.
const INTERVAL: Nanos = Nanos::millis(100);
/// Fewer requests than this in an interval say nothing of the one in a hundred.
const FEW: u32 = 8;
/// Steps of latency: four for each doubling, up to 2^40 ns.
pub(crate) const STEPS: usize = 4 * 40;

/// The 99th percentile of what was counted; `None` if there was too little to tell.
fn p99(counts: &[u32; STEPS]) -> Option<Nanos> {
    let all: u32 = counts.iter().sum();
    let mut left = all / 100;
    let (step, _) = counts.iter().enumerate().rev().find(|&(_, &count)| match left.checked_sub(count) {
        Some(rest) => {
            left = rest;
            false
        }
        None => true,
    })?;
    (all >= FEW).then(|| end_of(step))
}

/// The two bits below the highest one choose among the four steps of a doubling.
pub(crate) fn step_of(waited: Nanos) -> usize {
    let ns = waited.0.max(4);
    let doubling = ns.ilog2();
    let quarter = (ns >> (doubling - 2)) & 3;
    (doubling as usize * 4 + quarter as usize).min(STEPS - 1)
}

/// The latency at which a step ends.
fn end_of(step: usize) -> Nanos {
    Nanos(((step as u64 % 4 + 5) << (step / 4)) / 4)
}

/// What the home reactor keeps of it.
pub(crate) struct ThrottleState {
    since: Cell<Nanos>,
    done: Cell<u64>,
    /// Bytes per second; `None`: no limit.
    rate: Cell<Option<u64>>,
    /// When the next piece may begin.
    next: Cell<Nanos>,
    /// The tallies' counts of waits when it was last decided on.
    seen: RefCell<[u32; STEPS]>,
}

impl Default for ThrottleState {
    fn default() -> Self {
        let (since, done, rate, next) = Default::default();
        Self { since, done, rate, next, seen: RefCell::new([0; STEPS]) }
    }
}

impl ThrottleState {
    /// Waits until so many more bytes may be dealt with.
    pub(crate) async fn wait(&self, rt: &Runtime, rule: Throttle, clients: &ClientTallies, bytes: u64) {
        let now = rt.now();
        let span = now.since(self.since.get());
        if span >= INTERVAL {
            let done = (self.done.replace(0) as f64 / span.as_secs_f64()) as u64;
            self.rate.set(rule.next(self.rate.get(), done, self.p99_since(clients.waited())));
            self.since.set(now);
        }
        self.done.set(self.done.get() + bytes);
        let Some(rate) = self.rate.get() else { return };
        let begin = self.next.get().max(now);
        self.next.set(begin.saturating_add(Nanos((bytes as f64 * 1e9 / rate as f64) as u64)));
        if begin > now {
            rt.sleep(begin.since(now)).await;
        }
    }

    /// The 99th percentile of what was counted since the last call.
    fn p99_since(&self, now: [u32; STEPS]) -> Option<Nanos> {
        let before = self.seen.replace(now);
        p99(&std::array::from_fn(|step| now[step].wrapping_sub(before[step])))
    }
}

#[cfg(test)]
mod tests {
    use cygnus_types::ReactorId;

    use super::*;

    #[test]
    fn steps_contain_what_falls_into_them() {
        for ns in [4, 5, 7, 8, 1000, 1023, 1024, 2_000_000, 123_456_789] {
            let end = end_of(step_of(Nanos(ns)));
            assert!(end.0 > ns && end.0 <= ns + ns / 4 + 1, "{ns}: {end:?}");
        }
    }

    #[test]
    fn one_in_a_hundred_may_be_slow() {
        let (tallies, throttle) = (ClientTallies::new(1), ThrottleState::default());
        let tally = tallies.of(ReactorId(0));
        for _ in 0..99 {
            tally.waited(Nanos::micros(100));
        }
        tally.waited(Nanos::millis(50));
        assert!(throttle.p99_since(tallies.waited()).is_some_and(|p99| p99 < Nanos::micros(130)));
        assert_eq!(throttle.p99_since(tallies.waited()), None, "they are forgotten");
        for _ in 0..20 {
            tally.waited(Nanos::millis(50));
        }
        assert!(throttle.p99_since(tallies.waited()).is_some_and(|p99| p99 > Nanos::millis(50)));
    }
}
