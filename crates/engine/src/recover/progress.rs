//! How far a long step of an opening is, and how long the rest will take at the pace that the step has had so far.
//!
//! The pace is that of the whole step up to now, so what is told is an average: a step whose parts cost unequally much may go on
//! faster or slower. Before anything is done nothing is estimated.

use std::cell::Cell;
use std::sync::Arc;

use cygnus_runtime::Runtime;
use cygnus_types::Nanos;

use crate::reactor::Reactor;
use crate::shared::Shared;

/// How often a long step says how far it is. Steps that are shorter say nothing.
const TELL: Nanos = Nanos::secs(10);

const SECOND: u128 = 1_000_000_000;

/// See the module's text.
pub(crate) struct Progress {
    rt: Runtime,
    shared: Arc<Shared>,
    step: &'static str,
    /// What is counted, for people.
    what: &'static str,
    of: u64,
    done: Cell<u64>,
    begun: Nanos,
    told: Cell<Nanos>,
}

impl Progress {
    /// A step begins that has `of` things to do.
    pub(crate) fn of(reactor: &Reactor, step: &'static str, what: &'static str, of: u64) -> Self {
        let begun = reactor.rt.precise_now();
        let (rt, shared) = (reactor.rt.clone(), reactor.shared.clone());
        Self { rt, shared, step, what, of, done: Cell::new(0), begun, told: Cell::new(begun) }
    }

    /// So many more are done.
    pub(crate) fn add(&self, more: u64) {
        self.reach(self.done.get() + more);
    }

    /// So many are done in all. Says so, if it was said long ago.
    pub(crate) fn reach(&self, done: u64) {
        self.done.set(done);
        let now = self.rt.precise_now();
        if now.since(self.told.get()) >= TELL {
            self.told.set(now);
            let so_far = so_far(done, self.of, self.what, now.since(self.begun));
            self.shared.log_progress(format!("open: {}: {so_far}", self.step));
        }
    }
}

/// What is done of something after so much time, in words.
fn so_far(done: u64, of: u64, what: &str, took: Nanos) -> String {
    let begun = format!("{done} of {of} {what} so far");
    match left(done, of, took) {
        Some(left) => {
            let rate = u128::from(done) * SECOND / u128::from(took.0.max(1));
            format!("{begun}, {rate} each second; about {left} left")
        }
        None => begun,
    }
}

/// How long the rest takes at the same pace, in full seconds; `None` if there is no pace yet.
fn left(done: u64, of: u64, took: Nanos) -> Option<Nanos> {
    if done == 0 {
        return None;
    }
    let rest = u128::from(took.0) * u128::from(of.saturating_sub(done)) / u128::from(done);
    let seconds = rest.div_ceil(SECOND);
    Some(Nanos::secs(u64::try_from(seconds).unwrap_or(u64::MAX / SECOND as u64)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_takes_as_long_as_the_pace_so_far_says() {
        assert_eq!(left(0, 100, Nanos::secs(10)), None);
        assert_eq!(left(25, 100, Nanos::secs(10)), Some(Nanos::secs(30)));
        assert_eq!(left(99, 100, Nanos::secs(99)), Some(Nanos::secs(1)));
        assert_eq!(left(100, 100, Nanos::secs(10)), Some(Nanos::ZERO));
    }

    #[test]
    fn what_is_done_beyond_all_leaves_nothing_and_what_takes_for_ever_has_a_time() {
        assert_eq!(left(120, 100, Nanos::secs(10)), Some(Nanos::ZERO));
        assert!(left(1, u64::MAX, Nanos::secs(3600)).is_some());
    }

    #[test]
    fn the_words_tell_count_pace_and_time_left() {
        let words = so_far(1200, 4800, "pages of the maps", Nanos::secs(10));
        assert_eq!(words, "1200 of 4800 pages of the maps so far, 120 each second; about 30.0 s left");
        assert_eq!(so_far(0, 7, "segments", Nanos::secs(10)), "0 of 7 segments so far");
    }
}
