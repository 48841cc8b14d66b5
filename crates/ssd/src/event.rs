//! The queue of stages under way.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use cygnus_types::Nanos;

/// A stage whose end is an event.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stage {
    /// The firmware is done with the command at the head of its queue.
    Firmware,
    /// A link (0 or 1) moved a chunk.
    Link(u8),
    /// A channel finished a transfer.
    Channel(u16),
    /// A die finished its operation, unless that was suspended meanwhile (then the tickets differ).
    Die { die: u16, ticket: u32 },
    /// A command's completion reaches the host.
    Complete(u32),
}

#[derive(Clone, Copy, Debug)]
struct Event {
    at: Nanos,
    sequence: u64,
    stage: Stage,
}

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.sequence) == (other.at, other.sequence)
    }
}
impl Eq for Event {}
impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Event {
    /// Reversed, because std's heap gives the greatest first.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.sequence).cmp(&(self.at, self.sequence))
    }
}

/// Stages by time, then by who came first.
#[derive(Clone, Debug, Default)]
pub(crate) struct EventQueue {
    heap: BinaryHeap<Event>,
    sequence: u64,
}

impl EventQueue {
    pub(crate) fn push(&mut self, at: Nanos, stage: Stage) {
        self.sequence += 1;
        self.heap.push(Event { at, sequence: self.sequence, stage });
    }

    pub(crate) fn next_time(&self) -> Option<Nanos> {
        self.heap.peek().map(|event| event.at)
    }

    pub(crate) fn pop_until(&mut self, until: Nanos) -> Option<(Nanos, Stage)> {
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
