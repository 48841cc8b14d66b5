//! What a reactor's work costs on its simulated core.
//!
//! Without a model a turn of a reactor takes no time but [`crate::TURN`], which is what a search for bugs wants. With
//! one, each turn takes as long as the work done in it: what it submits leaves when the core has come to it, and the
//! reactor sees nothing new before the turn is over, while devices go on working beside it.

use std::collections::VecDeque;

use cygnus_runtime::{Op, OpId};
use cygnus_types::{BLOCK, Nanos};

/// Costs of one core. What is done to payload is charged where it enters or leaves the driver: by the block written or
/// read, since a full stripe's columns together are what was copied, checksummed and added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuModel {
    /// Each turn of the reactor's loop.
    pub turn: Nanos,
    /// Each operation handed to the driver.
    pub submit: Nanos,
    /// Each completion taken from it.
    pub complete: Nanos,
    /// Copying a 4 KiB block.
    pub copy: Nanos,
    /// Checksumming a 4 KiB block.
    pub checksum: Nanos,
    /// Adding a 4 KiB block to the parity.
    pub parity: Nanos,
}

/// A core: its model and what it is at.
#[derive(Default)]
pub(crate) struct Core {
    model: Option<CpuModel>,
    /// Work of this turn so far.
    spent: Nanos,
    /// Work of all turns.
    busy: Nanos,
    /// When the turn that it is in ends, where several cores work side by side.
    pub(crate) busy_until: Nanos,
    /// Operations on their way out of the turn, in order.
    leaving: VecDeque<(OpId, Op)>,
}

fn blocks(bytes: usize) -> u64 {
    (bytes / BLOCK) as u64
}

impl Core {
    pub(crate) fn new(model: Option<CpuModel>) -> Self {
        Self { model, ..Self::default() }
    }

    pub(crate) fn is_modelled(&self) -> bool {
        self.model.is_some()
    }

    /// How far into its turn the core is.
    pub(crate) fn spent(&self) -> Nanos {
        self.spent
    }

    /// Time in which it worked.
    pub(crate) fn busy(&self) -> Nanos {
        self.busy
    }

    pub(crate) fn charge(&mut self, work: Nanos) {
        if self.model.is_some() {
            self.spent += work;
        }
    }

    /// Takes an operation that leaves when the core has come to it, after [`Core::spent`], and runs.
    pub(crate) fn submit(&mut self, id: OpId, op: Op) {
        if let Some(model) = self.model {
            let payload = match &op {
                Op::Write { buf, .. } => (model.copy + model.checksum + model.parity) * blocks(buf.len()),
                _ => Nanos::ZERO,
            };
            self.charge(model.submit + payload);
        }
        self.leaving.push_back((id, op));
    }

    /// The next operation to leave.
    pub(crate) fn leave(&mut self) -> (OpId, Op) {
        self.leaving.pop_front().expect("an operation was submitted for each that leaves")
    }

    /// A completion reaches the reactor, in its next turn; `read` bytes came with it.
    pub(crate) fn completed(&mut self, read: usize) {
        if let Some(model) = self.model {
            self.charge(model.complete + model.checksum * blocks(read));
        }
    }

    /// Ends the turn; says how long it took.
    pub(crate) fn end_turn(&mut self) -> Nanos {
        let Some(model) = self.model else { return Nanos::ZERO };
        let took = std::mem::take(&mut self.spent) + model.turn.max(Nanos(1));
        self.busy += took;
        took
    }
}
