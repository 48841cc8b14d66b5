//! The queue of stages under way, of whatever kind a device has.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use cygnus_types::Nanos;

#[derive(Clone, Copy, Debug)]
struct Event<S> {
    at: Nanos,
    sequence: u64,
    stage: S,
}

impl<S> PartialEq for Event<S> {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.sequence) == (other.at, other.sequence)
    }
}
impl<S> Eq for Event<S> {}
impl<S> PartialOrd for Event<S> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<S> Ord for Event<S> {
    /// Reversed, because std's heap gives the greatest first.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.sequence).cmp(&(self.at, self.sequence))
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
        self.heap.push(Event { at, sequence: self.sequence, stage });
    }

    pub(crate) fn next_time(&self) -> Option<Nanos> {
        self.heap.peek().map(|event| event.at)
    }

    pub(crate) fn pop_until(&mut self, until: Nanos) -> Option<(Nanos, S)> {
        if self.next_time()? > until {
            return None;
        }
        self.heap.pop().map(|event| (event.at, event.stage))
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
