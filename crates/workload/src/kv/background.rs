//! What the store does beside answering: memtables become tables, tables are merged. One of each at a time, as with
//! RocksDB's two background jobs.

use super::space::UNIT;
use super::table::{Fresh, Table};
use super::tree::Merge;
use crate::Kind;
use std::collections::VecDeque;
use std::ops::Range;

/// A part of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Reads or writes a part of a table.
    Move(Kind, Range<u64>),
    /// A table is complete and made durable.
    Sync,
}

/// A job that is being done; when no step is left, its outcome takes effect.
#[derive(Debug)]
pub(super) struct Job<T> {
    pub what: T,
    pub steps: VecDeque<Step>,
}

/// A memtable on its way to level 0.
#[derive(Debug)]
pub(super) struct MemtableFlush {
    pub fresh: Fresh,
    /// The units of its log.
    pub log: Vec<u32>,
}

/// Writes of a new table.
pub(super) fn writes(table: &Table) -> impl Iterator<Item = Step> {
    table.pieces().map(|piece| Step::Move(Kind::Write, piece)).chain([Step::Sync])
}

/// Reads of the inputs and writes of the outputs, side by side: what is written was read before.
pub(super) fn merge_steps<'a>(inputs: impl Iterator<Item = &'a Table>, outputs: &[Table]) -> VecDeque<Step> {
    let reads: Vec<Range<u64>> = inputs.flat_map(Table::pieces).collect();
    let written: u64 = outputs.iter().map(Table::bytes).sum();
    let mut left = reads.iter();
    let (mut steps, mut done) = (VecDeque::new(), 0);
    for step in outputs.iter().flat_map(writes) {
        if let Step::Move(_, piece) = &step {
            done += piece.end - piece.start;
            let due = (u128::from(done) * reads.len() as u128).div_ceil(u128::from(written)) as usize;
            let now = due - (reads.len() - left.len());
            steps.extend(left.by_ref().take(now).map(|read| Step::Move(Kind::Read, read.clone())));
        }
        steps.push_back(step);
    }
    steps
}

/// Jobs, and how fast they are done.
#[derive(Debug, Default)]
pub(super) struct Background {
    pub flush: Option<Job<MemtableFlush>>,
    pub merge: Option<Job<Merge>>,
    /// Nothing to do was found, and nothing has changed since.
    pub idle: bool,
    /// Bytes to move for each byte that clients write.
    pace: f64,
    /// Bytes that may be moved now.
    credit: f64,
}

impl Background {
    /// Paces the jobs so that `debt` bytes are worked off while clients fill half a memtable: in bursts, as
    /// RocksDB without a rate limiter does it, and faster the farther it lags behind.
    pub(super) fn set_pace(&mut self, debt: u64, memtable: u64) {
        self.pace = 2.0 * debt as f64 / memtable as f64;
    }

    /// Clients wrote `bytes` bytes.
    pub(super) fn earn(&mut self, bytes: u64) {
        self.credit += bytes as f64 * self.pace;
    }

    /// Whether a step may be taken.
    pub(super) fn is_due(&self) -> bool {
        !self.idle && self.credit >= UNIT as f64
    }

    /// A step was taken.
    pub(super) fn spend(&mut self, step: &Step) {
        if let Step::Move(_, piece) = step {
            self.credit = (self.credit - (piece.end - piece.start) as f64).max(0.0);
        }
    }

    /// There is nothing to do.
    pub(super) fn rest(&mut self) {
        (self.idle, self.credit) = (true, 0.0);
    }
}
