//! Requests of a clock that counts seconds, between its steps.

use super::{Record, TraceError};
use cygnus_types::Nanos;
use std::collections::VecDeque;

/// Clocks that are as coarse as that tell nothing of how requests followed one another.
const COARSE: Nanos = Nanos::millis(1);

/// Requests at the beginning that show whether the clock is as coarse as its unit.
const TELLING: usize = 1 << 16;

/// Requests of one step that are spread over it; what is beyond stands at its end. A column that is no time may have one step only,
/// and the memory for a step has to end somewhere.
const MOST: usize = 1 << 22;

/// Spreads the requests of each step of a coarse clock evenly over it, as they did not arrive together. Takes them in the order of
/// their arrival, and gives them in the same order.
pub struct Spread<I> {
    source: I,
    /// The step; nothing if times stay as they are.
    step: Option<Nanos>,
    begun: bool,
    /// Read and not yet looked at.
    ahead: VecDeque<Record>,
    /// Of one step, with the times that they get.
    ready: VecDeque<Record>,
    /// What comes when all these are gone.
    failed: Option<TraceError>,
}

impl<I: Iterator<Item = Result<Record, TraceError>>> Spread<I> {
    /// Of requests whose clock has these steps, if all times are whole ones.
    pub fn new(source: I, tick: Nanos) -> Self {
        let step = is_coarse(tick).then_some(tick);
        Self { source, step, begun: false, ahead: VecDeque::new(), ready: VecDeque::new(), failed: None }
    }

    /// Where the requests come from.
    pub fn source(&self) -> &I {
        &self.source
    }

    /// The step of the clock over which requests are spread, known once the first one is there; nothing if times are left as they are.
    pub fn step(&self) -> Option<Nanos> {
        self.step
    }

    /// Reads one request more; whether there was one.
    fn read(&mut self) -> bool {
        if self.failed.is_some() {
            return false;
        }
        match self.source.next() {
            Some(Ok(record)) => {
                self.ahead.push_back(record);
                true
            }
            Some(Err(error)) => {
                self.failed = Some(error);
                false
            }
            None => false,
        }
    }

    /// A time between two steps among the first requests tells that the clock is finer.
    fn begin(&mut self, step: Nanos) {
        self.begun = true;
        while self.ahead.len() < TELLING && self.read() {}
        if self.ahead.iter().any(|record| record.at.0 % step.0 != 0) {
            self.step = None;
        }
    }

    /// Takes the requests of the next step.
    fn take_step(&mut self, step: Nanos) {
        if self.ahead.is_empty() {
            self.read();
        }
        let Some(at) = self.ahead.front().map(|record| record.at) else { return };
        let next = loop {
            if self.ahead.is_empty() && !self.read() {
                break None;
            }
            match self.ahead.front() {
                Some(record) if record.at != at || self.ready.len() == MOST => break Some(record.at),
                _ => self.ready.extend(self.ahead.pop_front()),
            }
        };
        // Should a time between two steps come late in the file, nothing overtakes it.
        let room = next.filter(|next| *next > at).map_or(step, |next| step.min(next.since(at)));
        let count = self.ready.len() as u64;
        for (index, record) in self.ready.iter_mut().enumerate() {
            record.at += room * index as u64 / count;
        }
    }
}

impl<I: Iterator<Item = Result<Record, TraceError>>> Iterator for Spread<I> {
    type Item = Result<Record, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let (Some(step), false) = (self.step, self.begun) {
            self.begin(step);
        }
        if self.ready.is_empty() {
            match self.step {
                Some(step) => self.take_step(step),
                None if self.ahead.is_empty() => _ = self.read(),
                None => {}
            }
        }
        let record = self.ready.pop_front().or_else(|| if self.step.is_none() { self.ahead.pop_front() } else { None });
        record.map(Ok).or_else(|| self.failed.take().map(Err))
    }
}

/// Whether a clock with these steps is one to be spread.
pub(super) fn is_coarse(tick: Nanos) -> bool {
    tick >= COARSE
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;

    fn spread(times: &[u64], tick: Nanos) -> (Vec<u64>, Option<Nanos>) {
        let record = |&at: &u64| {
            Ok(Record { at: Nanos::millis(at), kind: Kind::Read, offset: 0, len: 1, volume: 0, fua: false })
        };
        let mut spread = Spread::new(times.iter().map(record), tick);
        let times = spread.by_ref().map(|record| record.unwrap().at.0 / 1_000_000).collect();
        (times, spread.step())
    }

    #[test]
    fn coarse_clocks_are_spread() {
        let second = Some(Nanos::secs(1));
        assert_eq!(spread(&[0, 0, 0, 0, 1000], Nanos::secs(1)), (vec![0, 250, 500, 750, 1000], second));
        assert_eq!(spread(&[3000, 7000, 7000], Nanos::secs(1)), (vec![3000, 7000, 7500], second));
        assert_eq!(spread(&[], Nanos::secs(1)).0, []);
        let finer = vec![0, 0, 1500];
        assert_eq!(
            spread(&finer, Nanos::secs(1)),
            (finer.clone(), None),
            "a time between two seconds: the clock is finer"
        );
        assert_eq!(spread(&finer, Nanos(100)), (finer, None));
    }

    #[test]
    fn nothing_overtakes_what_a_late_fraction_shows() {
        let mut times = vec![0; TELLING];
        times.extend([1000, 1000, 1500, 1500, 2000]);
        let (spread, _) = spread(&times, Nanos::secs(1));
        assert!(spread.is_sorted());
        assert_eq!(spread[TELLING..], [1000, 1250, 1500, 1750, 2000]);
    }

    #[test]
    fn what_came_before_an_error_is_given() {
        let record = |at| Record { at: Nanos::secs(at), kind: Kind::Read, offset: 0, len: 1, volume: 0, fua: false };
        for tick in [Nanos::secs(1), Nanos(1)] {
            let error = TraceError::Empty { path: "t.csv".into() };
            let mut spread = Spread::new([Ok(record(1)), Ok(record(1)), Err(error)].into_iter(), tick);
            assert_eq!(spread.by_ref().take(2).filter(Result::is_ok).count(), 2);
            assert!(spread.next().is_some_and(|last| last.is_err()));
            assert!(spread.next().is_none());
        }
    }
}
