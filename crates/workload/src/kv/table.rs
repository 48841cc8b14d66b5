//! A sorted file of records.

use super::space::UNIT;
use std::ops::Range;

/// Nothing smaller is read or written.
pub(super) const PAGE: u64 = 4096;

/// A sorted file. Values are not kept: a table is a range of positions, a number of entries and its place on the volume.
#[derive(Clone, Debug)]
pub(super) struct Table {
    /// Number of the table, never used twice in a store.
    pub id: u64,
    /// The positions that it may hold.
    pub range: Range<u64>,
    pub entries: u64,
    /// Bytes of an entry.
    pub entry: u64,
    pub units: Vec<u32>,
}

impl Table {
    /// Units that a table of `entries` entries takes.
    pub(super) fn units_for(entries: u64, entry: u64) -> u64 {
        (entries * entry).div_ceil(UNIT)
    }

    /// Its length, in whole pages.
    pub(super) fn bytes(&self) -> u64 {
        (self.entries * self.entry).next_multiple_of(PAGE)
    }

    /// Where an entry of this rank begins, in bytes from the file's start; that of the last entry for those beyond.
    pub(super) fn offset_of_rank(&self, rank: u64) -> u64 {
        rank.min(self.entries - 1) * self.entry
    }

    /// Where a position is in the file. Positions are spread evenly, so that proportion is near enough.
    pub(super) fn offset_of(&self, position: u64) -> u64 {
        let (part, whole) = (position - self.range.start, self.range.end - self.range.start);
        self.offset_of_rank((u128::from(part) * u128::from(self.entries) / u128::from(whole)) as u64)
    }

    /// The bytes of the volume of a part of the file that lies within a unit.
    pub(super) fn place(&self, part: Range<u64>) -> Range<u64> {
        let start = u64::from(self.units[(part.start / UNIT) as usize]) * UNIT + part.start % UNIT;
        start..start + (part.end - part.start)
    }

    /// The bytes of the volume of the whole file, a unit at a time.
    pub(super) fn pieces(&self) -> impl Iterator<Item = Range<u64>> {
        let bytes = self.bytes();
        (0..bytes).step_by(UNIT as usize).map(move |start| self.place(start..(start + UNIT).min(bytes)))
    }
}

/// A table of level 0, as a memtable was written: it may hold any key.
#[derive(Clone, Debug)]
pub(super) struct Fresh {
    pub table: Table,
    /// Its positions in order.
    pub members: Vec<u64>,
}

impl Fresh {
    /// Where the first entry at or after a position is.
    pub(super) fn offset_of(&self, position: u64) -> u64 {
        self.table.offset_of_rank(self.members.partition_point(|&member| member < position) as u64)
    }
}
