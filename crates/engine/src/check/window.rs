//! A moving window over a segment: the same rows of all columns, read in large pieces, one after the other.

use std::collections::BTreeSet;

use cygnus_format::Place;
use cygnus_runtime::{Buf, DeviceIx};
use cygnus_types::{BLOCK, GroupId, MemberIx, SegmentId};

use crate::care::member::MemberShared;
use crate::check::checker::Checker;
use crate::counters::count;

/// See the module's text.
pub(crate) struct Window<'a> {
    checker: &'a Checker,
    group: GroupId,
    segment: SegmentId,
    /// First row in memory, and the row behind the last.
    from: u32,
    to: u32,
    /// By physical column; `None` where the member does not have it. Decided once: one that is being filled may get its
    /// column meanwhile.
    devices: Vec<Option<DeviceIx>>,
    /// By physical column.
    columns: Vec<Option<Buf>>,
    /// Blocks that their device will not deliver: column and row.
    unreadable: BTreeSet<(u8, u32)>,
    /// Bytes read.
    pub bytes: u64,
}

impl<'a> Window<'a> {
    pub(crate) fn new(checker: &'a Checker, group: GroupId, segment: SegmentId) -> Self {
        let width = usize::from(checker.reactor.shared.layout.width(group));
        let columns = (0..width).map(|_| None).collect();
        let member = |column| checker.reactor.shared.layout.member(group, column as u8);
        let devices = (0..width).map(|column| checker.reactor.device_holding(member(column), segment)).collect();
        Self { checker, group, segment, from: 0, to: 0, devices, columns, unreadable: BTreeSet::new(), bytes: 0 }
    }

    /// Brings rows `from..to` into memory, and drops those before. Reads on to the size of the window if `ahead`.
    pub(crate) async fn cover(&mut self, from: u32, to: u32, ahead: bool) {
        if from >= self.from && to <= self.to {
            return;
        }
        let end = self.checker.reactor.shared.layout.geometry().segment_blocks;
        let to = if ahead { to.max(from + self.checker.window).min(end) } else { to };
        // What is in memory already is carried over.
        let keep = if from >= self.from && from < self.to { self.to - from } else { 0 };
        let rt = &self.checker.reactor.rt;
        if self.checker.beside_guests {
            let bytes = u64::from(to - from - keep) * BLOCK as u64 * self.columns.len() as u64;
            self.checker.reactor.throttle(bytes).await;
        }
        let mut fresh = Vec::with_capacity(self.columns.len());
        for column in 0..self.columns.len() {
            let Some(dev) = self.devices[column] else {
                fresh.push(None);
                continue;
            };
            let mut buf = rt.alloc((to - from) as usize * BLOCK);
            let kept = keep as usize * BLOCK;
            if let Some(old) = self.columns[column].as_ref().filter(|_| keep > 0) {
                let skip = (from - self.from) as usize * BLOCK;
                buf.bytes_mut()[..kept].copy_from_slice(&old.bytes()[skip..skip + kept]);
            }
            let (_, offset) = self.checker.locate(self.place(column as u8, from + keep));
            let part = buf.slice(kept..buf.len());
            self.bytes += part.len() as u64;
            count(&self.member(column as u8).1.counters.scrub_read, part.len() as u64);
            fresh.push(Some((buf, rt.read(dev, offset, part))));
        }
        for (column, read) in fresh.into_iter().enumerate() {
            self.columns[column] = match read {
                None => None,
                Some((buf, op)) => match op.await {
                    Ok(_) => Some(buf),
                    Err(error) if !error.kind.is_of_range() => {
                        self.devices[column] = None;
                        None
                    }
                    Err(_) => Some(self.read_singly(column as u8, buf, from, from + keep..to).await),
                },
            };
        }
        (self.from, self.to) = (from, to);
    }

    /// Reads block by block what could not be read at once, to know which blocks are to blame.
    async fn read_singly(&mut self, column: u8, buf: Buf, from: u32, rows: std::ops::Range<u32>) -> Buf {
        let Some(dev) = self.devices[usize::from(column)] else { return buf };
        for row in rows {
            let at = (row - from) as usize * BLOCK;
            let (_, offset) = self.checker.locate(self.place(column, row));
            let part = buf.slice(at..at + BLOCK);
            if self.checker.reactor.rt.read(dev, offset, part.clone()).await.is_err() {
                count(&self.member(column).1.counters.read_errors, 1);
                part.zero(0..BLOCK);
                self.unreadable.insert((column, row));
            }
        }
        buf
    }

    /// Whether a column is not to be had at all.
    pub(crate) fn is_absent(&self, column: u8) -> bool {
        self.devices[usize::from(column)].is_none()
    }

    fn member(&self, column: u8) -> (MemberIx, &MemberShared) {
        self.checker.reactor.shared.member(self.group, column)
    }

    fn place(&self, column: u8, row: u32) -> Place {
        Place { group: self.group, segment: self.segment, column, row }
    }

    /// Rows of a column that are in memory; `None` if its member does not have it.
    pub(crate) fn rows(&self, column: u8, from: u32, rows: u32) -> Option<&[u8]> {
        debug_assert!(from >= self.from && from + rows <= self.to);
        let at = (from - self.from) as usize * BLOCK;
        let buf = self.columns[usize::from(column)].as_ref()?;
        Some(&buf.bytes()[at..at + rows as usize * BLOCK])
    }

    /// Whether the device refused to deliver any of these blocks.
    pub(crate) fn any_unreadable(&self, column: u8, from: u32, rows: u32) -> bool {
        self.unreadable.range((column, from)..(column, from + rows)).next().is_some()
    }
}
