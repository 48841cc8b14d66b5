//! Blocks restored from the other columns of their rows.

use std::rc::Rc;

use cygnus_format::{MapEntry, Place, Rotation};
use cygnus_parity as parity;
use cygnus_runtime::{Buf, BufSlice, DeviceIx, OpFuture};
use cygnus_types::{BLOCK, GroupId, MemberIx};

use crate::reactor::Reactor;
use crate::read::page_check::is_page;

/// The other columns of some rows, on their way.
pub(crate) struct RowReads {
    columns: Vec<Option<(Buf, OpFuture)>>,
    without_slow: bool,
    _mark: ReadMark,
}

/// The other columns of some rows, by logical number; `None` where a column could not be read.
pub(crate) struct Rows {
    /// The wanted column, in its first row.
    pub place: Place,
    columns: Vec<Option<Buf>>,
    /// Whether slow columns were left out, since there are enough others.
    without_slow: bool,
}

/// What the reads brought, in their order; `None` where there was none or it failed.
async fn ended(reads: Vec<Option<(Buf, OpFuture)>>) -> Vec<Option<Buf>> {
    let mut bufs = Vec::with_capacity(reads.len());
    for read in reads {
        bufs.push(match read {
            Some((buf, op)) => op.await.is_ok().then_some(buf),
            None => None,
        });
    }
    bufs
}

impl RowReads {
    /// What they bring. Once only: after that there are none.
    pub(crate) async fn ended(&mut self, place: Place) -> Rows {
        let reads = std::mem::take(&mut self.columns);
        Rows { place, columns: ended(reads).await, without_slow: self.without_slow }
    }
}

impl Reactor {
    /// Reads `blocks` rows from that of `place` on, all columns but its own. Slow ones only where that many are needed.
    pub(crate) fn start_rows(self: &Rc<Self>, place: &Place, blocks: usize) -> RowReads {
        let rotation = self.columns_of(place);
        let others = rotation.others(place.column).filter_map(|column| self.column_to_read(place, column));
        let quick = others.filter(|&(_, dev)| !self.is_slow(dev)).count();
        self.start_columns(place, blocks, !rotation.restores(quick))
    }

    /// Member and device of a column of the segment, unless it is not to be had.
    fn column_to_read(&self, place: &Place, column: u8) -> Option<(MemberIx, DeviceIx)> {
        let (member, _) = self.shared.member(place.group, column);
        Some((member, self.device_holding(member, place.segment)?))
    }

    fn start_columns(self: &Rc<Self>, place: &Place, blocks: usize, slow_too: bool) -> RowReads {
        let geometry = self.shared.layout.geometry();
        let offset = geometry.device_offset(place.segment.0, place.row);
        let mut without_slow = false;
        let columns = self
            .columns_of(place)
            .physical_columns()
            .map(|column| {
                let (member, dev) = self.column_to_read(place, column).filter(|_| column != place.column)?;
                if !slow_too && self.is_slow(dev) {
                    without_slow = true;
                    return None;
                }
                let buf = self.rt.alloc(blocks * BLOCK);
                self.shared.clients.of(self.rt.id()).read_from(member, blocks * BLOCK);
                let op = self.rt.read(dev, offset, buf.full());
                Some((buf, op))
            })
            .collect();
        RowReads { columns, without_slow, _mark: ReadMark::new(self, place.group) }
    }

    /// Rebuilds a block from the other columns of its row.
    pub(crate) async fn rebuild_block(self: &Rc<Self>, place: &Place, entry: MapEntry, into: &BufSlice) -> bool {
        let rows = self.start_rows(place, 1).ended(*place).await;
        if rows.restore(self, 0, entry, into) {
            return true;
        }
        if !rows.without_slow {
            return false;
        }
        // One of the quick columns is wrong too: now the slow ones are needed.
        let all = self.start_columns(place, 1, true).ended(*place).await;
        all.restore(self, 0, entry, into)
    }
}

impl Rows {
    /// Restores the wanted column's block of the `nth` row, if that can be made to match the checksum.
    pub(crate) fn restore(&self, reactor: &Reactor, nth: usize, entry: MapEntry, into: &BufSlice) -> bool {
        self.restore_if(reactor, nth, into, |block| entry.matches(parity::checksum::crc32c(block)))
    }

    /// Restores the wanted column's blocks from the `nth` row on, as many as `into` holds, if they are the page of this entry.
    pub(crate) fn restore_page(&self, reactor: &Reactor, nth: usize, entry: MapEntry, into: &BufSlice) -> bool {
        let part = |n: usize| into.slice(n * BLOCK..(n + 1) * BLOCK);
        let mut each = 0..into.len() / BLOCK;
        each.all(|n| self.restore_if(reactor, nth + n, &part(n), |_| true)) && is_page(entry, into.bytes())
    }

    fn restore_if(&self, reactor: &Reactor, nth: usize, into: &BufSlice, matches: impl Fn(&[u8]) -> bool) -> bool {
        let rotation = reactor.columns_of(&self.place);
        let wanted = rotation.logical(self.place.column);
        let mut row = [None; cygnus_format::MAX_WIDTH as usize];
        for (block, column) in row.iter_mut().zip(&self.columns) {
            *block = column.as_ref().map(|buf| buf.part(nth * BLOCK..(nth + 1) * BLOCK));
        }
        let mut out = reactor.rt.alloc(BLOCK);
        let found = restore_block(rotation, &row[..self.columns.len()], wanted, out.bytes_mut(), matches);
        if found {
            into.copy_from(0, out.bytes());
        }
        found
    }
}

/// Restores the block of column `wanted` of a row, given in logical order, so that `matches` accepts it. When what all
/// the others give together does not match, some of them are suspected too: first each, then each two, as long as the rest is
/// enough.
pub(crate) fn restore_block(
    of: Rotation,
    row: &[Option<&[u8]>],
    wanted: usize,
    out: &mut [u8],
    matches: impl Fn(&[u8]) -> bool,
) -> bool {
    let mut sources = [None; cygnus_format::MAX_WIDTH as usize];
    let sources = &mut sources[..row.len()];
    sources.copy_from_slice(row);
    sources[wanted] = None;
    let mut attempt =
        |sources: &[Option<&[u8]>]| parity::reconstruct(of.needed(), sources, wanted, out).is_ok() && matches(out);
    let to_spare = sources.iter().flatten().count().saturating_sub(of.needed());
    (0..=to_spare).any(|suspects| without(sources, suspects, 0, &mut attempt))
}

/// Whether an attempt succeeds without some of the columns from number `from` on: any set of `suspects` of them.
fn without<'a>(
    sources: &mut [Option<&'a [u8]>],
    suspects: usize,
    from: usize,
    attempt: &mut impl FnMut(&[Option<&'a [u8]>]) -> bool,
) -> bool {
    let Some(others) = suspects.checked_sub(1) else { return attempt(sources) };
    (from..sources.len()).any(|suspect| {
        let taken = sources[suspect].take();
        let found = taken.is_some() && without(sources, others, suspect + 1, attempt);
        sources[suspect] = taken;
        found
    })
}

/// Counts a client's read on its group while it lasts, so that cleaning there gives way.
pub(crate) struct ReadMark(Rc<Reactor>, GroupId);

impl ReadMark {
    pub(crate) fn new(reactor: &Rc<Reactor>, group: GroupId) -> Self {
        reactor.shared.clients.of(reactor.rt.id()).begins(group);
        Self(reactor.clone(), group)
    }
}

impl Drop for ReadMark {
    fn drop(&mut self) {
        self.0.shared.clients.of(self.0.rt.id()).ends(self.1);
    }
}

#[cfg(test)]
mod tests {
    use cygnus_runtime::Rng;

    use super::*;

    fn noise(seed: u64) -> Vec<u8> {
        let mut bytes = vec![0; 64];
        Rng::new(seed).fill(&mut bytes);
        bytes
    }

    /// Every set of columns that are lost or wrong, in all shapes up to 6+3.
    #[test]
    fn wrong_columns_are_found_as_far_as_the_parity_goes() {
        for (k, m) in [(1, 1), (2, 1), (2, 2), (1, 3), (6, 3)] {
            let of = Rotation { data: k as u8, parity: m as u8, parity_start: 0 };
            let data: Vec<Vec<u8>> = (0..k as u64).map(noise).collect();
            let mut parities = vec![vec![0; 64]; m];
            let sources: Vec<&[u8]> = data.iter().map(Vec::as_slice).collect();
            parity::generate(&sources, &mut parities.iter_mut().map(Vec::as_mut_slice).collect::<Vec<_>>());
            let whole: Vec<&[u8]> = data.iter().chain(&parities).map(Vec::as_slice).collect();
            let rotten: Vec<Vec<u8>> = (0..(k + m) as u64).map(|column| noise(100 + column)).collect();
            for bad in 0_u32..1 << (k + m) {
                for lost in [bad, bad & 0x5555, 0] {
                    let column = |c: usize| match (lost >> c & 1, bad >> c & 1) {
                        (1, _) => None,
                        (0, 1) => Some(&rotten[c][..]),
                        _ => Some(whole[c]),
                    };
                    let row: Vec<_> = (0..k + m).map(column).collect();
                    let wanted = bad.trailing_zeros() as usize % (k + m);
                    let mut out = [0; 64];
                    let found = restore_block(of, &row, wanted, &mut out, |block| block == whole[wanted]);
                    let others = (bad & !(1 << wanted)).count_ones() as usize;
                    assert_eq!(found, others < m, "{k}+{m}, lost {lost:b}, bad {bad:b}");
                }
            }
        }
    }
}
