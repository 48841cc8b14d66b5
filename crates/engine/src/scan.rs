//! Reading stripes back by their headers: for cleaning, recovery, check and dump.

use std::rc::Rc;

use cygnus_format::{Discard, Entry, Place, StripeCommon, StripeError, StripeHeader};
use cygnus_runtime::{Buf, OpFuture};
use cygnus_types::{BLOCK, GroupId, SegmentId};

use crate::reactor::Reactor;

/// A stripe as its headers describe it.
pub(crate) struct FoundStripe {
    pub common: StripeCommon,
    /// Entries by physical column; `None` for a column whose entries no readable header holds.
    pub entries: Vec<Option<Vec<Entry>>>,
    pub discards: Vec<Discard>,
    /// Columns whose own copy of the header is there.
    pub headers: usize,
}

impl FoundStripe {
    /// Every entry that is known, with its column and its row below the header.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = (u8, u32, &Entry)> {
        self.entries.iter().enumerate().flat_map(|(column, entries)| {
            entries.iter().flatten().enumerate().map(move |(row, entry)| (column as u8, row as u32, entry))
        })
    }
}

impl Reactor {
    /// The stripe whose headers begin at `row` of a segment, if any column has a valid one. With `segment_seq`, only a
    /// stripe of that life of the segment; without, of the newest life found.
    pub(crate) async fn stripe_at(
        self: &Rc<Self>,
        group: GroupId,
        segment: SegmentId,
        row: u32,
        segment_seq: Option<u64>,
    ) -> Option<FoundStripe> {
        let geometry = *self.shared.layout.geometry();
        let rows = geometry.full_rows_at(row);
        if rows == 0 {
            return None;
        }
        let bytes = geometry.header_blocks(rows) as usize * BLOCK;
        let offset = geometry.device_offset(segment.0, row);
        let reads: Vec<_> = (0..geometry.width())
            .map(|column| {
                let dev = self.device_holding(self.shared.layout.member(group, column), segment)?;
                let buf = self.rt.alloc(bytes);
                let op = self.rt.read(dev, offset, buf.full());
                Some((buf, op))
            })
            .collect();
        let copies = ended(reads).await;
        let headers: Vec<StripeHeader<'_>> = copies
            .iter()
            .enumerate()
            .filter_map(|(column, copy)| {
                let place = Place { group, segment, column: column as u8, row };
                self.header_at(place, copy.as_ref()?.bytes(), segment_seq).ok()
            })
            .collect();
        merge(&headers, usize::from(geometry.width()))
    }

    /// The header that was read from `place`, if it is one that belongs there.
    pub(crate) fn header_at<'a>(
        &self,
        place: Place,
        bytes: &'a [u8],
        segment_seq: Option<u64>,
    ) -> Result<StripeHeader<'a>, StripeError> {
        let geometry = self.shared.layout.geometry();
        let header = StripeHeader::decode(bytes)?.verify(self.shared.array_tag)?;
        let header = header.at(place.group, place.segment, place.column, place.row)?;
        let (common, rows) = (header.common(), geometry.full_rows_at(place.row));
        match () {
            () if segment_seq.is_some_and(|seq| common.segment_seq != seq) => Err(StripeError::Misplaced("life")),
            () if common.header_blocks != geometry.header_blocks(rows) => Err(StripeError::Misplaced("header length")),
            () if common.rows > rows => Err(StripeError::Misplaced("height")),
            () if common.rotation != self.rotation(place.segment) => Err(StripeError::Misplaced("parity column")),
            () => Ok(header),
        }
    }
}

/// What the reads brought, in their order; `None` where there was none or it failed.
pub(crate) async fn ended(reads: Vec<Option<(Buf, OpFuture)>>) -> Vec<Option<Buf>> {
    let mut bufs = Vec::with_capacity(reads.len());
    for read in reads {
        bufs.push(match read {
            Some((buf, op)) => op.await.is_ok().then_some(buf),
            None => None,
        });
    }
    bufs
}

/// Joins the copies of the newest stripe among `headers`.
pub(crate) fn merge(headers: &[StripeHeader<'_>], width: usize) -> Option<FoundStripe> {
    let newest = headers.iter().max_by_key(|h| (h.common().segment_seq, h.common().stripe_seq))?;
    let common = *newest.common();
    let copies = || headers.iter().filter(|h| *h.common() == common);
    let entries =
        (0..width).map(|column| copies().find_map(|h| h.entries_of(column as u8)).map(<[Entry]>::to_vec)).collect();
    Some(FoundStripe { common, entries, discards: newest.discards().to_vec(), headers: copies().count() })
}
