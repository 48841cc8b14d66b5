//! The log-structured merge tree: which table holds a key, and which tables are merged next.
//!
//! Keys are positions 0..capacity in key order. Which keys a level holds is a set of bits, so that lookups, duplicates and
//! the sizes of merged tables are exact.

use super::bits::Bits;
use super::space::Space;
use super::table::{Fresh, Table};
use std::collections::BTreeSet;
use std::ops::Range;

/// The shape of a tree. Entries are of one size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// Positions that keys may have: they are numbered from 0.
    pub capacity: u64,
    /// Bytes of an entry.
    pub entry: u64,
    /// Entries of a full table.
    pub table_entries: u64,
    /// Tables of level 0 that call for merging.
    pub level0_tables: usize,
    /// Bytes of level 1.
    pub level1_bytes: u64,
    /// How many times larger each level is than the one above.
    pub ratio: u64,
}

impl Shape {
    /// What level `level` (from 1) should hold at most.
    pub(super) fn target(&self, level: usize) -> u64 {
        self.level1_bytes.saturating_mul(self.ratio.saturating_pow(level as u32 - 1))
    }

    /// Levels needed beside level 0, so that the last one can hold everything.
    pub(super) fn levels(&self) -> usize {
        (1..).find(|&level| self.target(level) >= self.capacity * self.entry).expect("targets grow without bound")
    }
}

#[derive(Clone, Debug)]
struct Level {
    /// In order, none overlapping another.
    tables: Vec<Table>,
    keys: Bits,
}

/// A merge: what is read, what is written, and what is known afterwards.
#[derive(Debug)]
pub(super) struct Merge {
    /// The level that the tables come from; 0 for the fresh ones.
    from: usize,
    /// Which of the oldest fresh tables or of the level's tables.
    upper: Range<usize>,
    /// The tables of the level below that overlap.
    lower: Range<usize>,
    /// What takes their place.
    pub outputs: Vec<Table>,
    /// The keys of the outputs, within this range.
    keys: Bits,
    range: Range<u64>,
}

#[derive(Debug)]
pub(super) struct Tree {
    pub shape: Shape,
    /// Oldest first.
    fresh: Vec<Fresh>,
    /// From level 1.
    levels: Vec<Level>,
    next_id: u64,
}

impl Tree {
    /// An empty tree.
    pub(super) fn new(shape: Shape) -> Tree {
        let level = Level { tables: Vec::new(), keys: Bits::new(0..shape.capacity) };
        Tree { shape, fresh: Vec::new(), levels: vec![level; shape.levels()], next_id: 1 }
    }

    /// Fills the tree as a load followed by merging leaves it: upper levels full, the last one with the rest. `draw` is
    /// uniform in [0, 1). `None` when there is no room.
    pub(super) fn fill(
        &mut self,
        positions: impl ExactSizeIterator<Item = u64>,
        mut draw: impl FnMut() -> f64,
        space: &mut Space,
    ) -> Option<()> {
        let last = self.levels.len() - 1;
        let bytes = (positions.len() as u64 * self.shape.entry).max(1) as f64;
        let shares: Vec<f64> = (1..=last).map(|level| self.shape.target(level) as f64 / bytes).collect();
        for position in positions {
            let mut draw = draw();
            let level = shares.iter().position(|share| {
                draw -= share;
                draw < 0.0
            });
            self.levels[level.unwrap_or(last)].keys.add(position);
        }
        for level in 0..=last {
            let keys = std::mem::replace(&mut self.levels[level].keys, Bits::new(0..0));
            self.levels[level].tables = self.make_tables(&keys, 0..self.shape.capacity, space)?;
            self.levels[level].keys = keys;
        }
        Some(())
    }

    fn id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id - 1
    }

    /// A table for a memtable's positions; `None` when there is no room.
    pub(super) fn make_fresh(&mut self, members: &BTreeSet<u64>, space: &mut Space) -> Option<Fresh> {
        let (entries, entry) = (members.len() as u64, self.shape.entry);
        let units = space.take(Table::units_for(entries, entry))?;
        let members = members.iter().copied().collect();
        let table = Table { id: self.id(), range: 0..self.shape.capacity, entries, entry, units };
        Some(Fresh { table, members })
    }

    /// Adds a table to level 0.
    pub(super) fn add_fresh(&mut self, fresh: Fresh) {
        self.fresh.push(fresh);
    }

    /// Tables of level 0.
    pub(super) fn fresh(&self) -> usize {
        self.fresh.len()
    }

    /// Tables for the keys of a range; `None` (and nothing taken) when there is no room.
    fn make_tables(&mut self, keys: &Bits, range: Range<u64>, space: &mut Space) -> Option<Vec<Table>> {
        let entry = self.shape.entry;
        let pieces = keys.cut(range.clone(), self.shape.table_entries);
        let needed: u64 = pieces.iter().map(|&(_, entries)| Table::units_for(entries, entry)).sum();
        if needed > space.free() {
            return None;
        }
        let mut start = range.start;
        let mut tables = Vec::with_capacity(pieces.len());
        for (end, entries) in pieces {
            if entries > 0 {
                let units = space.take(Table::units_for(entries, entry))?;
                tables.push(Table { id: self.id(), range: start..end, entries, entry, units });
            }
            start = end;
        }
        Some(tables)
    }

    /// All tables.
    pub(super) fn tables(&self) -> impl Iterator<Item = &Table> {
        self.fresh.iter().map(|fresh| &fresh.table).chain(self.levels.iter().flat_map(|level| &level.tables))
    }

    /// The tables that a lookup asks, the newest first, each with the entry's place in it and whether it has the key; up
    /// to the first that has it.
    pub(super) fn lookup(&self, position: u64, mut ask: impl FnMut(&Table, u64, bool)) {
        for fresh in self.fresh.iter().rev() {
            let has = fresh.members.binary_search(&position).is_ok();
            ask(&fresh.table, fresh.offset_of(position), has);
            if has {
                return;
            }
        }
        for level in &self.levels {
            let Some(table) = level.table_of(position) else { continue };
            let has = level.keys.has(position);
            ask(table, table.offset_of(position), has);
            if has {
                return;
            }
        }
    }

    /// The tables that a scan of some positions reads, each with the places of the first and the last entry read. A table
    /// in which the scan finds nothing is asked for where it would be.
    pub(super) fn scan(&self, positions: Range<u64>, mut ask: impl FnMut(&Table, u64, u64)) {
        let last = positions.end - 1;
        for fresh in self.fresh.iter().rev() {
            ask(&fresh.table, fresh.offset_of(positions.start), fresh.offset_of(last));
        }
        for level in &self.levels {
            for table in &level.tables[level.overlapping(&positions)] {
                let from = positions.start.max(table.range.start);
                ask(table, table.offset_of(from), table.offset_of(last.min(table.range.end - 1)));
            }
        }
    }

    fn level_bytes(&self, level: usize) -> u64 {
        let entries: u64 = match level {
            0 => self.fresh.iter().map(|fresh| fresh.table.entries).sum(),
            level => self.levels[level - 1].tables.iter().map(|table| table.entries).sum(),
        };
        entries * self.shape.entry
    }

    /// How much a level calls for a merge into the one below: 1 and above does.
    fn pressure(&self, level: usize) -> f64 {
        match level {
            0 => self.fresh.len() as f64 / self.shape.level0_tables as f64,
            level => self.level_bytes(level) as f64 / self.shape.target(level) as f64,
        }
    }

    /// Bytes that merging will read and write until no level is too full, estimated as RocksDB does for its pending
    /// compaction bytes: what is too much in a level goes down, each byte with its share of the level below, and may make
    /// that one too full.
    pub(super) fn debt(&self) -> u64 {
        let (mut debt, mut moved) = (0.0, 0.0);
        if self.fresh.len() >= self.shape.level0_tables {
            moved = self.level_bytes(0) as f64;
            debt += 2.0 * (moved + self.level_bytes(1) as f64);
        }
        for level in 1..self.levels.len() {
            let bytes = self.level_bytes(level) as f64 + moved;
            moved = (bytes - self.shape.target(level) as f64).max(0.0);
            if moved > 0.0 {
                debt += 2.0 * moved * (1.0 + self.level_bytes(level + 1) as f64 / bytes);
            }
        }
        debt as u64
    }

    /// The most pressing merge, if any is called for. Tables that overlap nothing below are moved down on the way, which
    /// costs nothing.
    ///
    /// # Errors
    /// When there is no room for its output.
    pub(super) fn plan(&mut self, space: &mut Space) -> Result<Option<Merge>, NoRoom> {
        loop {
            let pressures = (0..self.levels.len()).map(|level| (level, self.pressure(level)));
            let Some((from, 1.0..)) = pressures.max_by(|a, b| a.1.total_cmp(&b.1)) else { return Ok(None) };
            let upper = match from {
                0 => 0..self.fresh.len(),
                _ => self.cheapest(from),
            };
            let range = self.upper_range(from, &upper);
            let lower = self.levels[from].overlapping(&range);
            if from > 0 && lower.is_empty() {
                self.move_down(from, upper.start);
                continue;
            }
            return self.plan_merge(from, upper, lower, range, space).map(Some).ok_or(NoRoom);
        }
    }

    /// The table of a level (from 1) whose merge rewrites least of the level below for each of its own entries
    /// (`kMinOverlappingRatio`, RocksDB's default).
    fn cheapest(&self, level: usize) -> Range<usize> {
        let below = &self.levels[level];
        let cost = |table: &Table| {
            let overlapping = &below.tables[below.overlapping(&table.range)];
            overlapping.iter().map(|table| table.entries).sum::<u64>() as f64 / table.entries as f64
        };
        let costs = self.levels[level - 1].tables.iter().map(cost).enumerate();
        let (index, _) = costs.min_by(|a, b| a.1.total_cmp(&b.1)).expect("a level that presses is not empty");
        index..index + 1
    }

    fn upper_range(&self, from: usize, upper: &Range<usize>) -> Range<u64> {
        match from {
            0 => 0..self.shape.capacity,
            _ => self.levels[from - 1].tables[upper.start].range.clone(),
        }
    }

    fn move_down(&mut self, from: usize, index: usize) {
        let (above, below) = self.levels.split_at_mut(from);
        let (above, below) = (&mut above[from - 1], &mut below[0]);
        let table = above.tables.remove(index);
        below.keys.add_all(&above.keys, table.range.clone());
        above.keys.clear(table.range.clone());
        let at = below.tables.partition_point(|other| other.range.end <= table.range.start);
        below.tables.insert(at, table);
    }

    fn plan_merge(
        &mut self,
        from: usize,
        upper: Range<usize>,
        lower: Range<usize>,
        own: Range<u64>,
        space: &mut Space,
    ) -> Option<Merge> {
        let tables = &self.levels[from].tables[lower.clone()];
        let start = tables.first().map_or(own.start, |table| table.range.start.min(own.start));
        let end = tables.last().map_or(own.end, |table| table.range.end.max(own.end));
        let mut keys = Bits::new(start..end);
        keys.add_all(&self.levels[from].keys, start..end);
        match from {
            0 => self.fresh.iter().flat_map(|fresh| &fresh.members).for_each(|&member| keys.add(member)),
            _ => keys.add_all(&self.levels[from - 1].keys, own),
        }
        let outputs = self.make_tables(&keys, start..end, space)?;
        Some(Merge { from, upper, lower, outputs, keys, range: start..end })
    }

    /// The tables that a merge reads.
    pub(super) fn inputs<'a>(&'a self, merge: &'a Merge) -> impl Iterator<Item = &'a Table> {
        let (fresh, upper) = match merge.from {
            0 => (&self.fresh[merge.upper.clone()], &[][..]),
            from => (&[][..], &self.levels[from - 1].tables[merge.upper.clone()]),
        };
        let lower = &self.levels[merge.from].tables[merge.lower.clone()];
        fresh.iter().map(|fresh| &fresh.table).chain(upper).chain(lower)
    }

    /// Puts the output of a merge in the place of its inputs, which are returned. Only fresh tables may have been added
    /// since it was planned.
    pub(super) fn commit(&mut self, merge: Merge) -> Vec<Table> {
        let mut gone: Vec<Table> = match merge.from {
            0 => self.fresh.drain(merge.upper).map(|fresh| fresh.table).collect(),
            from => {
                let level = &mut self.levels[from - 1];
                let tables: Vec<Table> = level.tables.drain(merge.upper).collect();
                tables.iter().for_each(|table| level.keys.clear(table.range.clone()));
                tables
            }
        };
        let below = &mut self.levels[merge.from];
        gone.extend(below.tables.splice(merge.lower, merge.outputs));
        below.keys.add_all(&merge.keys, merge.range);
        gone
    }
}

/// There is no room for what a merge would write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoRoom;

impl Level {
    /// The table whose range a position is in.
    fn table_of(&self, position: u64) -> Option<&Table> {
        let table = self.tables.get(self.tables.partition_point(|table| table.range.end <= position))?;
        (table.range.start <= position).then_some(table)
    }

    /// The tables that overlap a range.
    fn overlapping(&self, range: &Range<u64>) -> Range<usize> {
        let first = self.tables.partition_point(|table| table.range.end <= range.start);
        let last = self.tables.partition_point(|table| table.range.start < range.end);
        first..last.max(first)
    }
}

#[cfg(test)]
mod tests;
