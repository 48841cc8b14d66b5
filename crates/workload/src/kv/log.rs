//! The write-ahead log: one file for each memtable, deleted when the memtable has become a table.

use super::activity::Activity;
use super::output::Output;
use super::space::{Space, UNIT};
use super::table::PAGE;
use crate::Kind;
use std::ops::Range;

/// The log of the memtable that is being filled.
#[derive(Debug, Default)]
pub(super) struct Log {
    units: Vec<u32>,
    /// Bytes appended.
    len: u64,
    /// Bytes of them that were written.
    written: u64,
}

impl Log {
    /// Whether there is room for `bytes` more; takes it.
    pub(super) fn reserve(&mut self, bytes: u64, space: &mut Space) -> bool {
        let wanted = (self.len + bytes).div_ceil(UNIT);
        let missing = wanted.saturating_sub(self.units.len() as u64);
        match space.take(missing) {
            Some(units) => self.units.extend(units),
            None => return false,
        }
        true
    }

    /// Appends bytes for which there is room. Like the page cache, it writes what fills a unit.
    pub(super) fn append(&mut self, bytes: u64, out: &mut Output) {
        self.len += bytes;
        self.write(self.len / UNIT * UNIT, out);
    }

    /// Writes what was appended.
    pub(super) fn write_all(&mut self, out: &mut Output) {
        self.write(self.len, out);
    }

    /// Writes up to `end`, in whole pages. A page that was written when it was not yet full is written again.
    fn write(&mut self, end: u64, out: &mut Output) {
        let mut start = self.written / PAGE * PAGE;
        while self.written < end {
            let piece = start..((start / UNIT + 1) * UNIT).min(end.next_multiple_of(PAGE));
            out.push(Kind::Write, self.place(&piece), Activity::Log);
            self.written = piece.end.min(end);
            start = piece.end;
        }
    }

    fn place(&self, piece: &Range<u64>) -> Range<u64> {
        let start = u64::from(self.units[(piece.start / UNIT) as usize]) * UNIT + piece.start % UNIT;
        start..start + (piece.end - piece.start)
    }

    /// Begins a new file; the units of the old one.
    pub(super) fn rotate(&mut self) -> Vec<u32> {
        std::mem::take(self).units
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_written_again_until_they_are_full() {
        let (mut log, mut space, mut out) = (Log::default(), Space::new(3), Output::new(0));
        let mut writes = || std::iter::from_fn(|| out.pop()).map(|r| (r.offset, r.len)).collect::<Vec<_>>();
        let mut synced = |log: &mut Log, bytes| {
            let mut out = Output::new(0);
            assert!(log.reserve(bytes, &mut space));
            log.append(bytes, &mut out);
            log.write_all(&mut out);
            std::iter::from_fn(|| out.pop()).map(|r| (r.offset, r.len)).collect::<Vec<_>>()
        };
        assert_eq!(synced(&mut log, 1000), [(0, 4096)]);
        assert_eq!(synced(&mut log, 1000), [(0, 4096)]);
        assert_eq!(synced(&mut log, 3000), [(0, 8192)]);
        assert_eq!(synced(&mut log, UNIT), [(4096, (UNIT - 4096) as u32), (UNIT, 8192)]);
        assert_eq!(log.rotate(), [0, 1]);
        assert!(writes().is_empty());
    }

    #[test]
    fn unless_synced_it_is_written_by_the_unit() {
        let (mut log, mut space, mut out) = (Log::default(), Space::new(2), Output::new(0));
        for _ in 0..1500 {
            assert!(log.reserve(1024, &mut space));
            log.append(1024, &mut out);
        }
        assert_eq!(out.pop().map(|r| (r.offset, u64::from(r.len))), Some((0, UNIT)));
        assert_eq!(out.pop(), None);
        log.write_all(&mut out);
        assert_eq!(out.pop().map(|r| (r.offset, r.len)), Some((UNIT, 476 << 10)));
        assert!(!log.reserve(UNIT, &mut space), "no third unit");
    }
}
