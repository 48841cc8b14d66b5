//! The queue of stages under way, of whatever kind a device has.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use cygnus_types::Nanos;

/// The time and, below it, the number of the event: one comparison, and no branch to mispredict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key(Reverse<u128>);

impl Key {
    fn new(at: Nanos, sequence: u64) -> Self {
        Self(Reverse(u128::from(at.0) << 64 | u128::from(sequence)))
    }

    fn at(self) -> Nanos {
        Nanos((self.0.0 >> 64) as u64)
    }
}

#[derive(Clone, Copy, Debug)]
struct Event<S> {
    key: Key,
    stage: S,
}

impl<S> PartialEq for Event<S> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}
impl<S> Eq for Event<S> {}
impl<S> PartialOrd for Event<S> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }

    // What the heap asks; by way of `cmp` it would take two comparisons.
    fn le(&self, other: &Self) -> bool {
        self.key.0.0 >= other.key.0.0
    }
}
impl<S> Ord for Event<S> {
    /// Reversed, because std's heap gives the greatest first.
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.cmp(&other.key)
    }
}

/// Stages by time, then by who came first.
#[derive(Clone, Debug)]
pub(crate) struct EventQueue<S> {
    heap: BinaryHeap<Event<S>>,
    sequence: u64,
}

impl<S> Default for EventQueue<S> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new(), sequence: 0 }
    }
}

impl<S> EventQueue<S> {
    pub(crate) fn push(&mut self, at: Nanos, stage: S) {
        self.sequence += 1;
        self.heap.push(Event { key: Key::new(at, self.sequence), stage });
    }

    pub(crate) fn next_time(&self) -> Option<Nanos> {
        self.heap.peek().map(|event| event.key.at())
    }

    pub(crate) fn pop_until(&mut self, until: Nanos) -> Option<(Nanos, S)> {
        if self.next_time()? > until {
            return None;
        }
        self.heap.pop().map(|event| (event.key.at(), event.stage))
    }

    /// Forgets all stages under way.
    pub(crate) fn clear(&mut self) {
        self.heap.clear();
    }

    /// Stages pushed so far: what the simulator worked through.
    pub(crate) fn count(&self) -> u64 {
        self.sequence
    }
}
