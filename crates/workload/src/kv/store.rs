//! The store: operations come in, requests to the volume go out.

use super::background::{self, Background, Job, MemtableFlush, Step};
use super::cache::Cache;
use super::log::Log;
use super::operations::{Operation, Operations};
use super::output::Output;
use super::space::{Space, UNIT};
use super::table::{PAGE, Table};
use super::tree::Tree;
use super::{Activity, Settings, Workload};
use crate::random::chance;
use crate::shuffle::Shuffle;
use crate::{Kind, Request, Schedule, Source};
use cygnus_runtime::Rng;
use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;

/// What clients wrote since the last table of level 0.
#[derive(Debug, Default)]
struct Memtable {
    positions: BTreeSet<u64>,
    /// Older versions of a record count too, as they stay in memory.
    bytes: u64,
}

/// A store and its clients.
#[derive(Debug)]
pub(super) struct Store {
    settings: Settings,
    rng: Rng,
    operations: Operations,
    /// From a record's number to its place among the keys.
    keys: Shuffle,
    tree: Tree,
    space: Space,
    cache: Cache,
    memtable: Memtable,
    log: Log,
    writes_since_sync: u64,
    background: Background,
    /// What is there at the start and has still to be written.
    prefill: VecDeque<Step>,
    /// The page of the catalogue that is written next.
    catalogue: u64,
    /// No room was left: like RocksDB after such an error, the store takes no more writes.
    read_only: bool,
    done: u64,
    out: Output,
}

impl Store {
    /// A store that has its records. `None` when its space cannot hold them.
    pub(super) fn new(settings: Settings, mut rng: Rng) -> Option<Store> {
        let Settings { shape, records, .. } = settings;
        let keys = Shuffle::new(shape.capacity, &mut rng);
        let mut space = Space::new(settings.units);
        let mut tree = Tree::new(shape);
        // The catalogue's unit is the first.
        space.take(1)?;
        let mut levels = rng.fork();
        tree.fill(Records { keys: &keys, next: 0, records }, || levels.unit(), &mut space)?;
        let mut prefill = VecDeque::new();
        if settings.prefill && records > 0 {
            prefill.extend(tree.tables().flat_map(background::writes).filter(|step| *step != Step::Sync));
            prefill.push_back(Step::Sync);
        }
        Some(Store {
            operations: Operations::new(settings.workload, settings.popularity, records, shape.capacity),
            cache: Cache::new(settings.cache / settings.block),
            out: Output::new(settings.footprint.start),
            memtable: Memtable::default(),
            log: Log::default(),
            writes_since_sync: 0,
            background: Background::default(),
            catalogue: 0,
            read_only: false,
            done: 0,
            settings,
            rng,
            keys,
            tree,
            space,
            prefill,
        })
    }

    /// Does one thing; `None` when there is nothing left to do.
    fn advance(&mut self) -> Option<()> {
        if let Some(step) = self.prefill.pop_front() {
            self.carry_out(step, Activity::Prefill);
        } else if !self.read_only && self.is_stalled() {
            self.unstall();
        } else if self.background.is_due() {
            if !self.background_step() {
                self.background.rest();
            }
        } else {
            if self.settings.operations.is_some_and(|limit| self.done >= limit) {
                return None;
            }
            let operation = self.operations.next(&mut self.rng)?;
            self.done += 1;
            self.perform(operation)?;
        }
        Some(())
    }

    fn perform(&mut self, operation: Operation) -> Option<()> {
        match operation {
            Operation::Read(record) => self.read(record),
            Operation::Update(record) => self.write(record),
            Operation::Insert(_) if self.read_only && self.settings.workload == Workload::Load => return None,
            Operation::Insert(record) => self.write(record),
            Operation::ReadModifyWrite(record) => {
                self.read(record);
                self.write(record);
            }
            Operation::Scan { from, records } => self.scan(from, records),
        }
        Some(())
    }

    fn read(&mut self, record: u64) {
        let position = self.keys.slot(record);
        let flushing = self.background.flush.as_ref();
        if self.memtable.positions.contains(&position)
            || flushing.is_some_and(|job| job.what.fresh.members.binary_search(&position).is_ok())
        {
            return;
        }
        let Self { tree, rng, cache, out, settings, .. } = self;
        tree.lookup(position, |table, offset, has| {
            if has || chance(rng, settings.false_positives) {
                read_blocks(table, offset..offset + 1, settings.block, Activity::Lookup, cache, out);
            }
        });
    }

    fn scan(&mut self, record: u64, records: u64) {
        let start = self.keys.slot(record);
        // Records are spread evenly over the places for them.
        let capacity = self.settings.shape.capacity;
        let places = u128::from(records) * u128::from(capacity) / u128::from(self.operations.records());
        let end = start.saturating_add(places as u64).clamp(start + 1, capacity);
        let Self { tree, cache, out, settings, .. } = self;
        tree.scan(start..end, |table, first, last| {
            read_blocks(table, first..last + 1, settings.block, Activity::Scan, cache, out);
        });
    }

    fn write(&mut self, record: u64) {
        if self.read_only {
            return;
        }
        let bytes = self.settings.shape.entry;
        self.memtable.positions.insert(self.keys.slot(record));
        self.memtable.bytes += bytes;
        self.background.earn(bytes);
        if self.settings.log {
            self.log.append(bytes, &mut self.out);
            self.writes_since_sync += 1;
            if self.writes_since_sync == self.settings.sync_every {
                self.writes_since_sync = 0;
                self.log.write_all(&mut self.out);
                self.out.flush(&mut self.space, Activity::Log);
            }
        }
    }

    /// Whether writes have to wait: for memory, for level 0 or for the log.
    fn is_stalled(&mut self) -> bool {
        self.memtable.bytes >= self.settings.memtable
            || self.tree.fresh() >= self.settings.level0_stop
            || self.settings.log && !self.log.reserve(self.settings.shape.entry, &mut self.space)
    }

    /// Does something about it.
    fn unstall(&mut self) {
        let full = self.memtable.bytes >= self.settings.memtable;
        if full && self.background.flush.is_none() && self.switch_memtable() {
            return;
        }
        if self.background_step() {
            return;
        }
        if self.space.is_cooling() {
            self.out.flush(&mut self.space, Activity::Catalogue);
            return;
        }
        self.read_only = true;
    }

    /// Begins a new memtable; the full one is written. False when there is no room.
    fn switch_memtable(&mut self) -> bool {
        let Some(fresh) = self.tree.make_fresh(&self.memtable.positions, &mut self.space) else { return false };
        self.memtable = Memtable::default();
        self.log.write_all(&mut self.out);
        let steps = background::writes(&fresh.table).collect();
        let what = MemtableFlush { fresh, log: self.log.rotate() };
        self.background.flush = Some(Job { what, steps });
        self.background.idle = false;
        self.set_pace();
        true
    }

    fn set_pace(&mut self) {
        let flush = self.background.flush.as_ref().map_or(0, |job| job.what.fresh.table.bytes());
        self.background.set_pace(flush + self.tree.debt(), self.settings.memtable);
    }

    /// Does a part of a job, memtables first; false when there is nothing that can be done.
    fn background_step(&mut self) -> bool {
        if let Some(job) = &mut self.background.flush {
            match job.steps.pop_front() {
                Some(step) => self.carry_out(step, Activity::Flush),
                None => self.install_memtable(),
            }
            return true;
        }
        if let Some(job) = &mut self.background.merge {
            match job.steps.pop_front() {
                Some(step) => self.carry_out(step, Activity::Compaction),
                None => self.install_merge(),
            }
            return true;
        }
        self.start_merge()
    }

    fn carry_out(&mut self, step: Step, activity: Activity) {
        self.background.spend(&step);
        match step {
            Step::Move(kind, piece) => self.out.push(kind, piece, activity),
            Step::Sync => self.out.flush(&mut self.space, activity),
        }
    }

    fn start_merge(&mut self) -> bool {
        match self.tree.plan(&mut self.space) {
            Ok(Some(merge)) => {
                let steps = background::merge_steps(self.tree.inputs(&merge), &merge.outputs);
                self.background.merge = Some(Job { what: merge, steps });
                true
            }
            _ => false,
        }
    }

    fn install_memtable(&mut self) {
        let Some(Job { what: MemtableFlush { fresh, log }, .. }) = self.background.flush.take() else { return };
        self.tree.add_fresh(fresh);
        self.record_change();
        self.delete(&log);
    }

    fn install_merge(&mut self) {
        let Some(Job { what: merge, .. }) = self.background.merge.take() else { return };
        let gone = self.tree.commit(merge);
        self.record_change();
        gone.iter().for_each(|table| self.delete(&table.units));
    }

    /// The catalogue of files changes, durably; what it no longer names may be deleted.
    fn record_change(&mut self) {
        let page = self.catalogue * PAGE;
        self.catalogue = (self.catalogue + 1) % (UNIT / PAGE);
        self.out.push(Kind::Write, page..page + PAGE, Activity::Catalogue);
        self.out.flush(&mut self.space, Activity::Catalogue);
        self.background.idle = false;
        self.set_pace();
    }

    fn delete(&mut self, units: &[u32]) {
        for range in self.space.give_back(units) {
            if self.settings.trim {
                self.out.push(Kind::Trim, range, Activity::Catalogue);
            }
        }
    }
}

/// Reads the blocks of a table that hold some of its bytes and are not cached, those side by side at once.
fn read_blocks(table: &Table, bytes: Range<u64>, block: u64, activity: Activity, cache: &mut Cache, out: &mut Output) {
    let mut pending: Option<Range<u64>> = None;
    let mut read = |part: Option<Range<u64>>| {
        part.into_iter().for_each(|part| out.push(Kind::Read, table.place(part), activity));
    };
    for number in bytes.start / block..bytes.end.div_ceil(block) {
        let part = number * block..((number + 1) * block).min(table.bytes());
        if cache.touch(table.id, number) {
            read(pending.take());
        } else {
            match &mut pending {
                Some(before) if !part.start.is_multiple_of(UNIT) => before.end = part.end,
                _ => read(pending.replace(part)),
            }
        }
    }
    read(pending);
}

/// The places of the first records, in the order of insertion.
struct Records<'a> {
    keys: &'a Shuffle,
    next: u64,
    records: u64,
}

impl Iterator for Records<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        (self.next < self.records).then(|| {
            self.next += 1;
            self.keys.slot(self.next - 1)
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = (self.records - self.next) as usize;
        (left, Some(left))
    }
}

impl ExactSizeIterator for Records<'_> {}

impl Source for Store {
    fn next(&mut self) -> Option<Request> {
        loop {
            if let Some(request) = self.out.pop() {
                return Some(request);
            }
            self.advance()?;
        }
    }

    fn depth(&self) -> u32 {
        self.settings.depth
    }

    fn footprint(&self) -> Range<u64> {
        self.settings.footprint.clone()
    }

    fn schedule(&self) -> Schedule {
        self.settings.schedule
    }

    fn operations(&self) -> Option<u64> {
        Some(self.done)
    }

    fn name(&self) -> &str {
        &self.settings.name
    }

    fn jobs(&self) -> Vec<(u16, String)> {
        Activity::ALL.map(|activity| (activity as u16, activity.name().into())).into()
    }
}

#[cfg(test)]
mod tests;
