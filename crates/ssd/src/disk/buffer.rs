//! A disk's write buffer: blocks that the host has written and the platters have not.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Dirty blocks by address. Flushes divide time into epochs, as in the write cache of an SSD.
#[derive(Clone, Debug)]
pub(crate) struct Buffer {
    room: u64,
    /// Waiting blocks, and the epoch each was written in.
    dirty: BTreeMap<u64, u64>,
    /// Of these, those that a flush waits for. They go first: a sweep that follows a host's sequential writes would never
    /// come to what lies behind it.
    due: BTreeSet<u64>,
    /// Blocks on their way to the platters: first, count, and their epochs.
    in_flight: Vec<(u64, Vec<u64>)>,
    /// Blocks per epoch, from `first_epoch` on.
    in_use: VecDeque<u64>,
    first_epoch: u64,
}

impl Buffer {
    pub(crate) fn new(room: u64) -> Buffer {
        Buffer {
            room,
            dirty: BTreeMap::new(),
            due: BTreeSet::new(),
            in_flight: Vec::new(),
            in_use: VecDeque::from([0]),
            first_epoch: 0,
        }
    }

    fn used(&self) -> u64 {
        self.in_use.iter().sum()
    }

    /// Takes in a block that does not wait here yet, if there is room.
    pub(crate) fn insert(&mut self, lba: u64) -> bool {
        if self.used() == self.room {
            return false;
        }
        let epoch = self.first_epoch + self.in_use.len() as u64 - 1;
        *self.in_use.back_mut().expect("there is a current epoch") += 1;
        self.dirty.insert(lba, epoch);
        true
    }

    /// Drops waiting blocks.
    pub(crate) fn discard(&mut self, lba: u64, blocks: u64) {
        while let Some((&at, &epoch)) = self.dirty.range(lba..lba + blocks).next() {
            self.remove(at);
            self.release(epoch);
        }
    }

    /// A block waits no more; gives its epoch.
    fn remove(&mut self, lba: u64) -> Option<u64> {
        self.due.remove(&lba);
        self.dirty.remove(&lba)
    }

    fn release(&mut self, epoch: u64) {
        self.in_use[(epoch - self.first_epoch) as usize] -= 1;
        while self.in_use.len() > 1 && self.in_use[0] == 0 {
            self.in_use.pop_front();
            self.first_epoch += 1;
        }
    }

    /// The first run of neighbouring waiting blocks at or behind `from`, else from the beginning, that begins with one
    /// that is due if any is: first and count, at most `limit`.
    pub(crate) fn run(&self, from: u64, limit: u64) -> Option<(u64, u64)> {
        let due = self.due.range(from..).next().or_else(|| self.due.first());
        let first = due.or_else(|| self.dirty.range(from..).map(|(lba, _)| lba).next());
        let first = *first.or_else(|| self.dirty.keys().next())?;
        let run = self.dirty.range(first..).map(|(lba, _)| *lba);
        let count = run.zip(first..first.saturating_add(limit)).take_while(|(lba, expected)| lba == expected).count();
        Some((first, count as u64))
    }

    /// Blocks of a run are on their way to the platters.
    pub(crate) fn take(&mut self, lba: u64, blocks: u64) {
        let epochs = (lba..lba + blocks).map(|at| self.remove(at).expect("the run waits")).collect();
        self.in_flight.push((lba, epochs));
    }

    /// All that was taken is written.
    pub(crate) fn written(&mut self) {
        for (_, epochs) in std::mem::take(&mut self.in_flight) {
            epochs.into_iter().for_each(|epoch| self.release(epoch));
        }
    }

    /// Whether a block can be read from here.
    pub(crate) fn holds(&self, lba: u64) -> bool {
        let in_flight = |(first, epochs): &(u64, Vec<u64>)| (*first..first + epochs.len() as u64).contains(&lba);
        self.dirty.contains_key(&lba) || self.in_flight.iter().any(in_flight)
    }

    /// Everything not on the platters, in order.
    pub(crate) fn blocks(&self) -> Vec<u64> {
        let in_flight = self.in_flight.iter().flat_map(|(first, epochs)| *first..first + epochs.len() as u64);
        let mut all: Vec<u64> = self.dirty.keys().copied().chain(in_flight).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Whether more than half is in use.
    pub(crate) fn is_filling(&self) -> bool {
        self.used() * 2 > self.room
    }

    /// Whether it holds nothing that is not on the platters.
    pub(crate) fn is_empty(&self) -> bool {
        self.used() == 0
    }

    /// Whether a block waits here, so that a new version of it needs no more room.
    pub(crate) fn holds_waiting(&self, lba: u64) -> bool {
        self.dirty.contains_key(&lba)
    }

    /// Bytes of host memory that a full buffer takes, roughly.
    pub(crate) fn memory(&self) -> u64 {
        self.room * 2 * size_of::<(u64, u64)>() as u64
    }

    /// Ends the current epoch; its number is what [`Buffer::has_written`] takes.
    pub(crate) fn close_epoch(&mut self) -> u64 {
        let epoch = self.first_epoch + self.in_use.len() as u64 - 1;
        self.due.extend(self.dirty.keys());
        self.in_use.push_back(0);
        if epoch == self.first_epoch && self.in_use[0] == 0 {
            self.in_use.pop_front();
            self.first_epoch += 1;
        }
        epoch
    }

    /// Whether everything of an epoch and those before is on the platters.
    pub(crate) fn has_written(&self, epoch: u64) -> bool {
        self.first_epoch > epoch
    }
}
