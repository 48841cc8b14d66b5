//! Puts a nearly ordered trace in order without holding all of it.

use super::{Record, TraceError};
use cygnus_types::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Requests that are held back, waiting for earlier ones.
const WINDOW: usize = 1 << 16;

/// Orders requests by their arrival, as far as a window of 65536 reaches. Traces are often written in the order of
/// completion. Requests with the same arrival keep their order.
pub struct Reorder<I> {
    source: I,
    exhausted: bool,
    held: BinaryHeap<Reverse<(Nanos, u64, Record)>>,
    read: u64,
    newest: Nanos,
    last: Nanos,
    moved: u64,
    late: u64,
}

impl<I: Iterator<Item = Result<Record, TraceError>>> Reorder<I> {
    /// Orders what `source` gives.
    pub fn new(source: I) -> Self {
        Self {
            source,
            exhausted: false,
            held: BinaryHeap::new(),
            read: 0,
            newest: Nanos::ZERO,
            last: Nanos::ZERO,
            moved: 0,
            late: 0,
        }
    }

    /// Where the requests come from.
    pub fn source(&self) -> &I {
        &self.source
    }

    /// Requests that were found behind a later one.
    pub fn out_of_order(&self) -> u64 {
        self.moved
    }

    /// Requests that came too late for the window, and were given the time of the one before.
    pub fn late(&self) -> u64 {
        self.late
    }

    fn fill(&mut self) -> Result<(), TraceError> {
        while !self.exhausted && self.held.len() < WINDOW {
            match self.source.next().transpose()? {
                None => self.exhausted = true,
                Some(record) => {
                    self.moved += u64::from(record.at < self.newest);
                    self.newest = self.newest.max(record.at);
                    self.held.push(Reverse((record.at, self.read, record)));
                    self.read += 1;
                }
            }
        }
        Ok(())
    }
}

impl<I: Iterator<Item = Result<Record, TraceError>>> Iterator for Reorder<I> {
    type Item = Result<Record, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Err(error) = self.fill() {
            self.exhausted = true;
            self.held.clear();
            return Some(Err(error));
        }
        let Reverse((_, _, mut record)) = self.held.pop()?;
        self.late += u64::from(record.at < self.last);
        record.at = record.at.max(self.last);
        self.last = record.at;
        Some(Ok(record))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;

    fn record(at: u64) -> Result<Record, TraceError> {
        Ok(Record { at: Nanos(at), kind: Kind::Read, offset: at * 512, len: 512, volume: 0, fua: false })
    }

    #[test]
    fn orders_within_the_window_and_counts_beyond_it() {
        let times = [5, 3, 4, 9, 1, 7];
        let mut ordered = Reorder::new(times.into_iter().map(record));
        let got: Vec<u64> = ordered.by_ref().map(|record| record.unwrap().at.0).collect();
        assert_eq!((got, ordered.out_of_order(), ordered.late()), (vec![1, 3, 4, 5, 7, 9], 4, 0));

        let many = (10..10 + WINDOW as u64 + 5).chain([1]);
        let mut ordered = Reorder::new(many.map(record));
        let got: Vec<Record> = ordered.by_ref().map(Result::unwrap).collect();
        assert!(got.is_sorted_by_key(|record| record.at));
        assert_eq!((ordered.out_of_order(), ordered.late()), (1, 1));
    }
}
