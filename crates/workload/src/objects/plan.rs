//! What is done to objects, settled before anything runs.

use super::config::Objects;
use super::space::{CHUNK, Slot, Space};
use crate::shuffle::Shuffle;
use cygnus_runtime::Rng;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

/// Clearing the log: so much is written at once.
const CLEARED: u64 = 1 << 20;

/// What happens to one object, in this order. All are ranges of the volume.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Operation {
    /// Read, one after the other.
    pub reads: Vec<Range<u64>>,
    /// Written and made durable: the data, then the record in the log.
    pub stored: Option<[Range<u64>; 2]>,
    /// Written once the operation is over.
    pub written_back: Vec<Range<u64>>,
}

/// What is done to all objects, by several clients by turns.
#[derive(Debug)]
pub(super) struct Plan {
    pub name: &'static str,
    /// Those with smaller numbers come before.
    pub phase: u16,
    pub clients: usize,
    pub operations: Vec<Operation>,
}

impl Plan {
    /// All of them: the log is cleared, objects are stored in their order, updated in a random one, and read in another one.
    pub(super) fn all(objects: &Objects, space: &mut Space, seeds: &mut Rng) -> [Plan; 4] {
        let (updates, reads) = (Shuffle::new(objects.objects, seeds), Shuffle::new(objects.objects, seeds));
        let mut slots: Vec<Slot> = Vec::new();
        let mut journal = Journal::new(objects, space.log());
        let (writers, readers) = (objects.writers.into(), objects.readers.into());
        let plan = |name, phase, clients, operations| Plan { name, phase, clients, operations };
        [
            plan("format", 0, 1, vec![cleared(space.log())]),
            plan("put", 1, writers, put(objects, space, &mut journal, &mut slots)),
            plan("update", 2, writers, update(objects, space, &mut journal, &mut slots, &updates)),
            plan("get", 3, readers, get(objects, space, &slots, &reads)),
        ]
    }
}

fn cleared(log: Range<u64>) -> Operation {
    let pieces = log.clone().step_by(CLEARED as usize).map(|at| at..log.end.min(at + CLEARED));
    Operation { written_back: pieces.collect(), ..Operation::default() }
}

fn put(objects: &Objects, space: &mut Space, journal: &mut Journal, slots: &mut Vec<Slot>) -> Vec<Operation> {
    let stored = |object| {
        let slot = space.take(object);
        slots.push(slot);
        let changed = [space.directory(object), space.inode(slot)];
        journal.operation(Vec::new(), space.data(slot), changed)
    };
    let operations = (0..objects.objects).map(stored).collect();
    journal.end(operations)
}

fn update(
    objects: &Objects,
    space: &mut Space,
    journal: &mut Journal,
    slots: &mut [Slot],
    order: &Shuffle,
) -> Vec<Operation> {
    let mut memory = Memory::default();
    // Files that are replaced by updates under way.
    let mut leaving = VecDeque::new();
    let updated = |rank| {
        let object = order.slot(rank);
        let old = std::mem::replace(&mut slots[object as usize], space.take(object));
        leaving.push_back(old);
        if leaving.len() > usize::from(objects.writers) {
            space.give_up(leaving.pop_front().expect("there are some"));
        }
        let new = slots[object as usize];
        let known = [space.directory(object), space.inode(old)];
        let reads = known.iter().filter(|inodes| memory.lacks(inodes)).cloned().collect();
        journal.operation(reads, space.data(new), known.into_iter().chain([space.inode(new)]))
    };
    let operations = (0..objects.objects).map(updated).collect();
    journal.end(operations)
}

fn get(objects: &Objects, space: &Space, slots: &[Slot], order: &Shuffle) -> Vec<Operation> {
    let mut memory = Memory::default();
    let read = |rank| {
        let object = order.slot(rank);
        let slot = slots[object as usize];
        let inodes = [space.directory(object), space.inode(slot)].into_iter().filter(|inodes| memory.lacks(inodes));
        let Range { start, end } = space.data(slot);
        let pieces = (start..end).step_by(objects.read_size.0 as usize);
        let pieces = pieces.map(|at| at..end.min(at + objects.read_size.0));
        Operation { reads: inodes.chain(pieces).collect(), ..Operation::default() }
    };
    (0..objects.objects).map(read).collect()
}

/// What has been read since memory was cleared.
#[derive(Debug, Default)]
struct Memory(BTreeSet<u64>);

impl Memory {
    /// Whether it has to be read; it stays in memory then.
    fn lacks(&mut self, range: &Range<u64>) -> bool {
        self.0.insert(range.start)
    }
}

/// The log, and what was changed since inodes were written back.
#[derive(Debug)]
struct Journal {
    log: Range<u64>,
    record: u64,
    /// Where the next record goes.
    next: u64,
    every: u64,
    records: u64,
    /// Changed inodes: first byte and the byte after the last.
    changed: BTreeMap<u64, u64>,
}

impl Journal {
    fn new(objects: &Objects, log: Range<u64>) -> Self {
        let (record, every) = (objects.record.0, objects.write_back);
        Self { next: log.start, log, record, every, records: 0, changed: BTreeMap::new() }
    }

    /// An operation that reads, stores and changes this.
    fn operation(
        &mut self,
        reads: Vec<Range<u64>>,
        data: Range<u64>,
        changed: impl IntoIterator<Item = Range<u64>>,
    ) -> Operation {
        if self.next == self.log.end {
            self.next = self.log.start;
        }
        let record = self.next..self.next + self.record;
        self.next = record.end;
        self.records += 1;
        self.changed.extend(changed.into_iter().map(|range| (range.start, range.end)));
        let is_due = self.records.is_multiple_of(self.every);
        let written_back = if is_due { self.write_back() } else { Vec::new() };
        Operation { reads, stored: Some([data, record]), written_back }
    }

    /// These are all: what is still changed is written back behind the last one, as the file system is unmounted or its caches are cleared.
    fn end(&mut self, mut operations: Vec<Operation>) -> Vec<Operation> {
        if let Some(last) = operations.last_mut() {
            last.written_back.extend(self.write_back());
        }
        operations
    }

    /// What is changed, neighbours put together up to a chunk.
    fn write_back(&mut self) -> Vec<Range<u64>> {
        let mut runs: Vec<Range<u64>> = Vec::new();
        for (start, end) in std::mem::take(&mut self.changed) {
            match runs.last_mut() {
                Some(run) if run.end == start && end - run.start <= CHUNK => run.end = end,
                _ => runs.push(start..end),
            }
        }
        runs
    }
}
