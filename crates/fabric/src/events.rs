//! The stages under way, by the time at which each ends, then by who came first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use cygnus_types::Nanos;

/// A stage whose end is an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// The root complex has taken a request in.
    Issued { passage: u32 },
    /// The last byte of a packet has left.
    Sent { way: u32 },
    /// A packet is where the way leads to, and can go on.
    Landed { way: u32, packet: u32 },
    /// The sender learns of a free place at the other end.
    Credit { way: u32, channel: u8, storage: bool },
    /// A cluster's bus is free.
    Bus { cluster: u32 },
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Events {
    heap: BinaryHeap<Reverse<(Nanos, u64, Stage)>>,
    pushed: u64,
}

impl Events {
    pub(crate) fn push(&mut self, at: Nanos, stage: Stage) {
        self.pushed += 1;
        self.heap.push(Reverse((at, self.pushed, stage)));
    }

    pub(crate) fn next_time(&self) -> Option<Nanos> {
        self.heap.peek().map(|Reverse((at, ..))| *at)
    }

    pub(crate) fn pop_until(&mut self, until: Nanos) -> Option<(Nanos, Stage)> {
        self.next_time().filter(|&at| at <= until)?;
        self.heap.pop().map(|Reverse((at, _, stage))| (at, stage))
    }

    pub(crate) fn clear(&mut self) {
        self.heap.clear();
    }

    pub(crate) fn count(&self) -> u64 {
        self.pushed
    }
}
