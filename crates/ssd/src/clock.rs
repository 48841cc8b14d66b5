//! The drive's time: the stages under way, each of which ends at a time of its own, and how fast the drive is.

use cygnus_types::Nanos;

use crate::event::EventQueue;
use crate::slow::{Pace, SlowPhases};

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
    /// The map's server is done with a job that this command, if any, waits for.
    Map { waiter: u32 },
    /// A command's completion reaches the host.
    Complete(u32),
    /// The XOR engine is done with the first command of its queue.
    Xor,
    /// The drive has had no command since the one of that number.
    Quiet { commands: u64 },
}

#[derive(Clone, Debug)]
pub(crate) struct Clock {
    pub(crate) now: Nanos,
    stages: EventQueue<Stage>,
    /// How fast the drive is at the time, if that changes.
    pace: Option<Pace>,
}

impl Clock {
    pub(crate) fn new(slow: Option<SlowPhases>) -> Self {
        Self { now: Nanos::ZERO, stages: EventQueue::default(), pace: slow.map(Pace::new) }
    }

    /// What takes so long at full pace takes this long if it begins now.
    pub(crate) fn stretched(&mut self, takes: Nanos) -> Nanos {
        self.pace.as_mut().map_or(takes, |pace| pace.stretched(takes, self.now))
    }

    /// Begins a stage that takes so long at full pace.
    pub(crate) fn begin(&mut self, takes: Nanos, stage: Stage) {
        let takes = self.stretched(takes);
        self.end_at(self.now + takes, stage);
    }

    /// A stage that has begun ends then, however fast the drive is.
    pub(crate) fn end_at(&mut self, at: Nanos, stage: Stage) {
        self.stages.push(at, stage);
    }

    pub(crate) fn next_end(&self) -> Option<Nanos> {
        self.stages.next_time()
    }

    /// Goes on to the next end of a stage, if it is not after `until`.
    pub(crate) fn next_ended(&mut self, until: Nanos) -> Option<Stage> {
        let (at, stage) = self.stages.pop_until(until)?;
        self.now = at;
        Some(stage)
    }

    /// Forgets all stages under way.
    pub(crate) fn forget_stages(&mut self) {
        self.stages.clear();
    }

    /// Stages so far.
    pub(crate) fn stages(&self) -> u64 {
        self.stages.count()
    }
}
