//! Reading stripes back by their headers: for cleaning, recovery, check and dump.
//!
//! Where a stripe may begin there is one of four things: copies of its header; something else, because no stripe begins
//! there or a power cut kept the header from being written; copies that have been spoiled since, which a device cannot
//! read or in which bits have changed; or copies that a newer program has written, of a segment whose protection this one
//! does not know. The last two hide a stripe that was durable, so they are told apart from the second. A newer program's
//! stripe is whole: nothing is concluded from it, and an array in use that meets one takes no writes any more.

use cygnus_format::{Discard, Entry, Geometry, Place, StripeCommon, StripeError, StripeHeader};
use cygnus_runtime::{Buf, DeviceIx, IoErrorKind, OpFuture};
use cygnus_types::{BLOCK, GroupId, SegmentId};

use crate::reactor::Reactor;
use crate::shared::Shared;
use crate::space::segments::SegState;

/// The array is ending, and what was looked for is not known.
pub(crate) struct Ending;

/// Blocks that are read at a time where headers may lie anywhere.
const BLOCKS_BEYOND: u32 = 256;

/// A stripe as its headers describe it.
pub(crate) struct FoundStripe {
    pub common: StripeCommon,
    /// Entries by physical column; `None` for a column whose entries no readable header holds.
    pub entries: Vec<Option<Vec<Entry>>>,
    pub discards: Vec<Discard>,
    /// Copies of the header that are there, over all columns.
    pub copies: usize,
    /// Columns where something else lies in place of a copy, as a bit each.
    vacant: u32,
}

impl FoundStripe {
    /// Every entry that is known, with its column and its row below the header.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = (u8, u32, &Entry)> {
        self.entries.iter().enumerate().flat_map(|(column, entries)| {
            entries.iter().flatten().enumerate().map(move |(row, entry)| (column as u8, row as u32, entry))
        })
    }

    /// Whether each member that is read for this stripe has all of its copies of the header.
    pub(crate) fn has_all_copies(&self, reactor: &Reactor) -> bool {
        let common = &self.common;
        let is_read = |&column: &u8| {
            reactor.device_holding(reactor.shared.layout.member(common.group, column), common.segment).is_some()
        };
        let columns = (0..common.width()).filter(is_read).count();
        self.copies == columns * common.rotation.copies() as usize
    }

    /// Data columns whose entries nobody knows, though they may have been durable. A stripe that need not be there whole may
    /// lack them because their headers were never written, or have been discarded.
    pub(crate) fn unknown_columns(&self, is_whole: bool) -> impl Iterator<Item = u8> {
        let common = self.common;
        let is_vacant = move |column: u8| {
            let holds = |&holder: &u8| common.has_entries_of(holder, column);
            (0..common.width()).filter(holds).any(|holder| self.vacant & 1 << holder != 0)
        };
        (0..common.width()).filter(move |&column| {
            self.entries[usize::from(column)].is_none()
                && common.rows > 0
                && common.rotation.is_data(column)
                && (is_whole || !is_vacant(column))
        })
    }
}

/// A copy of a stripe's header that was there and cannot be used.
pub(crate) struct SpoiledCopy {
    pub place: Place,
    pub why: String,
    /// The life of the segment and the sequence of the stripe, as far as the copy can be believed.
    pub claimed: Option<(u64, u64)>,
}

impl SpoiledCopy {
    /// Where it is and what is the matter with it, for people.
    pub(crate) fn describe(&self, shared: &Shared) -> String {
        let Place { group, segment, column, row } = self.place;
        let offset = shared.layout.geometry().device_offset(segment.0, row);
        let device = shared.member(group, column).1.name();
        format!("{device} at byte {offset}: the header of a stripe in {group} {segment} cannot be used: {}", self.why)
    }
}

/// What there is where a stripe may begin.
#[derive(Default)]
pub(crate) struct Look {
    pub stripe: Option<FoundStripe>,
    /// Copies that have been spoiled.
    pub spoiled: Vec<SpoiledCopy>,
    /// Copies that a newer program has written. Their checksums are right, and so is what they claim.
    pub newer: Vec<SpoiledCopy>,
    /// Columns where something else lies in place of a copy, as a bit each.
    vacant: u32,
}

impl Look {
    /// Whether a durable stripe may have been here of which nothing is known any more: every copy that could be looked at
    /// has been spoiled. One that was never written leaves what was there before.
    pub(crate) fn hides_a_stripe(&self) -> bool {
        self.stripe.is_none() && self.vacant == 0 && !self.spoiled.is_empty()
    }

    /// Whether somebody has something else where a copy would be.
    pub(crate) fn has_something_else(&self) -> bool {
        self.vacant != 0
    }
}

/// The bytes of one column's header, all copies of it, and which blocks of them its device cannot read.
struct HeaderBytes {
    buf: Buf,
    unreadable: Vec<bool>,
}

/// Finds stripes by their headers: see the module's text.
pub(crate) struct Scanner<'a> {
    reactor: &'a Reactor,
}

impl<'a> Scanner<'a> {
    pub(crate) fn of(reactor: &'a Reactor) -> Self {
        Self { reactor }
    }

    /// The stripe whose headers begin at `row` of a segment, if any column has a valid one. With `segment_seq`, only a
    /// stripe of that life of the segment; without, of the newest life found.
    pub(crate) async fn stripe_at(
        &self,
        group: GroupId,
        segment: SegmentId,
        row: u32,
        segment_seq: Option<u64>,
    ) -> Option<FoundStripe> {
        self.look_at(group, segment, row, segment_seq).await.stripe
    }

    /// The stripe that holds a place, found along its segment; with `life`, only in that life of it.
    pub(crate) async fn stripe_with(&self, place: Place, life: Option<u64>) -> Option<FoundStripe> {
        let (mut row, mut life) = (0, life);
        loop {
            let stripe = self.stripe_at(place.group, place.segment, row, life).await?;
            if place.row < stripe.common.end_row() {
                return Some(stripe);
            }
            (row, life) = (stripe.common.end_row(), Some(stripe.common.segment_seq));
        }
    }

    /// As [`Scanner::stripe_at`], and what else there is.
    pub(crate) async fn look_at(&self, group: GroupId, segment: SegmentId, row: u32, segment_seq: Option<u64>) -> Look {
        let layout = &self.reactor.shared.layout;
        let blocks = self.reactor.shared.shapes(group).header_blocks_at(row) as usize;
        if blocks == 0 {
            return Look::default();
        }
        let offset = layout.geometry().device_offset(segment.0, row);
        let reads: Vec<_> = layout
            .members_of(group)
            .map(|member| {
                let dev = self.reactor.device_holding(member, segment)?;
                let buf = self.reactor.rt.alloc(blocks * BLOCK);
                let op = self.reactor.rt.read(dev, offset, buf.full());
                Some((dev, buf, op))
            })
            .collect();
        let mut columns = Vec::with_capacity(reads.len());
        for read in reads {
            columns.push(match read {
                Some((dev, buf, op)) => self.header_bytes(dev, offset, buf, op).await,
                None => None,
            });
        }
        let look = self.judge_headers(Place { group, segment, column: 0, row }, &columns, segment_seq);
        self.heed_newer(&look.newer);
        look
    }

    /// What is in use must not be changed by a program that does not know what it is. (An opening sees for itself what it
    /// needs: nothing is in use yet.)
    fn heed_newer(&self, newer: &[SpoiledCopy]) {
        let Some(copy) = newer.first() else { return };
        let seg = self.reactor.shared.segments.index(copy.place.group, copy.place.segment);
        if matches!(self.reactor.shared.segments.state(seg), SegState::Sealed | SegState::Meta | SegState::Damaged) {
            let why = copy.describe(&self.reactor.shared);
            self.reactor.shared.log_repeated("newer stripe", &copy.place.group.to_string(), &why);
            self.reactor.shared.set_fault(why);
        }
    }

    /// As [`Scanner::stripe_at`], from a group all of whose members in service answer: what it does not find is not there.
    /// An error: the array is ending.
    pub(crate) async fn stripe_surely_at(
        &self,
        group: GroupId,
        segment: SegmentId,
        row: u32,
        segment_seq: Option<u64>,
    ) -> Result<Option<FoundStripe>, Ending> {
        loop {
            let silences = self.reactor.silences(group);
            let found = self.stripe_at(group, segment, row, segment_seq).await;
            if self.reactor.shared.fault().is_some() {
                return Err(Ending);
            }
            if !self.reactor.was_disturbed(group, silences) {
                return Ok(found);
            }
            if !self.reactor.until_it_answers(group).await {
                return Err(Ending);
            }
        }
    }

    /// What a column's header reads as; block by block if there are any that its device cannot read.
    async fn header_bytes(&self, dev: DeviceIx, offset: u64, buf: Buf, op: OpFuture) -> Option<HeaderBytes> {
        let blocks = buf.len() / BLOCK;
        match op.await {
            Ok(_) => return Some(HeaderBytes { buf, unreadable: vec![false; blocks] }),
            Err(error) if matches!(error.kind, IoErrorKind::Medium | IoErrorKind::CutShort) => {}
            Err(_) => return None,
        }
        // Memory of its own: what the whole was to be read into may be anything now.
        let whole = self.reactor.rt.alloc(blocks * BLOCK);
        let mut unreadable = Vec::with_capacity(blocks);
        for at in (0..blocks).map(|block| block * BLOCK) {
            let part = whole.slice(at..at + BLOCK);
            let failed = self.reactor.rt.read(dev, offset + at as u64, part.clone()).await.is_err();
            if failed {
                part.zero(0..BLOCK);
            }
            unreadable.push(failed);
        }
        Some(HeaderBytes { buf: whole, unreadable })
    }

    /// The shape of the segment that begins a stripe here: by the newest of its headers where segments differ, as long as
    /// there is any. Else it is as the table has it.
    fn shape_at(&self, at: Place, columns: &[Option<HeaderBytes>], segment_seq: Option<u64>) -> Geometry {
        let known = self.reactor.shape(at.group, at.segment);
        let possible = self.reactor.shared.shapes(at.group);
        if !possible.differ() {
            return known;
        }
        let shapes: Vec<Geometry> = possible.each().filter(|shape| shape.full_rows_at(at.row) > 0).collect();
        let mut newest = None;
        for (column, header) in (0..).zip(columns) {
            let Some(HeaderBytes { buf, .. }) = header else { continue };
            for shape in &shapes {
                let bytes = shape.header_blocks(shape.full_rows_at(at.row)) as usize * BLOCK;
                for copy in buf.bytes()[..bytes].chunks_exact(bytes / shape.header_copies() as usize) {
                    let Ok(header) = self.header_at(Place { column, ..at }, copy, segment_seq) else { continue };
                    let common = header.common();
                    let age = (common.segment_seq, common.stripe_seq);
                    if common.rotation.protection() == shape.protection() && newest.is_none_or(|(of, _)| of < age) {
                        newest = Some((age, *shape));
                    }
                }
            }
        }
        let by_table = shapes.iter().copied().find(|shape| *shape == known);
        newest
            .map(|(_, shape)| shape)
            .or(by_table)
            .or(shapes.first().copied())
            .expect("one begins here, or none was read")
    }

    fn judge_headers(&self, at: Place, columns: &[Option<HeaderBytes>], segment_seq: Option<u64>) -> Look {
        let shape = self.shape_at(at, columns, segment_seq);
        let copies = shape.header_copies();
        let blocks = shape.header_blocks(shape.full_rows_at(at.row)) / copies;
        let mut headers = Vec::new();
        let mut look = Look::default();
        for (column, header) in (0..).zip(columns) {
            let Some(HeaderBytes { buf, unreadable }) = header else { continue };
            let parts = buf.bytes().chunks_exact(blocks as usize * BLOCK).zip(unreadable.chunks_exact(blocks as usize));
            for (copy, (bytes, unreadable)) in (0..copies).zip(parts) {
                let place = Place { column, ..at };
                let spoiled = |why: String, claimed| SpoiledCopy {
                    place: Place { row: at.row + copy * blocks, ..place },
                    why,
                    claimed,
                };
                if unreadable.contains(&true) {
                    look.spoiled.push(spoiled("its device cannot read it".into(), None));
                    continue;
                }
                match self.header_at(place, bytes, segment_seq) {
                    Ok(header) => headers.push(header),
                    Err(error @ StripeError::UnknownProtection(_)) => {
                        look.newer.push(spoiled(error.to_string(), Some(StripeHeader::claimed(bytes))));
                    }
                    // A longer one may have been torn by a power cut.
                    Err(error) if blocks == 1 && self.is_spoiled(place, bytes, &error) => {
                        look.spoiled.push(spoiled(error.to_string(), Some(StripeHeader::claimed(bytes))));
                    }
                    Err(_) => look.vacant |= 1 << column,
                }
            }
        }
        look.vacant |= self.drop_doomed(at, &mut headers);
        look.stripe = merge(&headers, columns.len(), look.vacant);
        // What an earlier life left there is of no account.
        let life = segment_seq.or(look.stripe.as_ref().map(|stripe| stripe.common.segment_seq));
        look.newer.retain(|copy| copy.claimed.is_some_and(|(of, _)| of >= life.unwrap_or(0)));
        look
    }

    /// Leaves out headers that are gone when the columns of members are made good that are re-admitted only to see what would
    /// come of it; the answer is in which columns they were, as a bit each. Those who were there all the time tell which
    /// stripes are, and what else such a member has in the place of one that it lacks, or behind the last one, is written over.
    fn drop_doomed(&self, at: Place, headers: &mut Vec<StripeHeader<'_>>) -> u32 {
        if !self.reactor.is_home() {
            // There are none any more when others than the home reactor read.
            return 0;
        }
        let unwritten = self.reactor.home().records.unwritten.borrow();
        let of_column =
            |column| unwritten.iter().find(|of| self.reactor.shared.layout.column_of(of.member) == (at.group, column));
        let there = headers.iter().filter(|header| of_column(header.column()).is_none()).map(|header| *header.common());
        let told = there.max_by_key(|common| (common.segment_seq, common.stripe_seq));
        let mut doomed = 0;
        headers.retain(|header| {
            let Some(of) = of_column(header.column()) else { return true };
            let is_left = told.is_some_and(|told| {
                let has_it =
                    || of.holds.has(told.segment, told.stripe_seq) && header.common().segment_seq <= told.segment_seq;
                *header.common() == told || has_it()
            });
            doomed |= u32::from(!is_left) << header.column();
            is_left
        });
        doomed
    }

    /// Headers of a life of a segment in the rows from `row` on, whether or not anything leads there; of one column, since
    /// each has all of them.
    pub(crate) async fn headers_beyond(
        &self,
        group: GroupId,
        segment: SegmentId,
        row: u32,
        life: u64,
    ) -> Vec<StripeCommon> {
        let geometry = *self.reactor.shared.layout.shape(group);
        let mut found = Vec::new();
        let holding =
            |column: &u8| self.reactor.device_holding(self.reactor.shared.layout.member(group, *column), segment);
        let Some(column) = (0..geometry.width()).find(|column| holding(column).is_some()) else { return found };
        let mut row = row;
        while self.reactor.shared.shapes(group).rows_at(row) > 0 {
            let Some(dev) = holding(&column) else { return found };
            let blocks = (geometry.segment_blocks - row).min(BLOCKS_BEYOND);
            let offset = geometry.device_offset(segment.0, row);
            let buf = self.reactor.rt.alloc(blocks as usize * BLOCK);
            let op = self.reactor.rt.read(dev, offset, buf.full());
            let Some(HeaderBytes { buf, .. }) = self.header_bytes(dev, offset, buf, op).await else { return found };
            for at in 0..blocks {
                let place = Place { group, segment, column, row: row + at };
                // One that goes on behind what was read counts as none.
                if let Ok(header) = self.header_at(place, &buf.bytes()[at as usize * BLOCK..], Some(life)) {
                    found.push(*header.common());
                }
            }
            row += blocks;
        }
        found
    }

    /// Whether bytes that are no header of this place were one.
    fn is_spoiled(&self, place: Place, bytes: &[u8], error: &StripeError) -> bool {
        // With a checksum that is right it is a header still, of another life for example.
        let is_sound = StripeHeader::decode(bytes).and_then(|h| h.verify(self.reactor.shared.array_tag)).is_ok();
        !is_sound
            && !matches!(error, StripeError::OtherArray { .. })
            && StripeHeader::is_spoiled(bytes, self.reactor.shared.array_tag, &place)
    }

    /// The copy of a header that was read from `place`, if it is one that belongs there.
    pub(crate) fn header_at<'h>(
        &self,
        place: Place,
        bytes: &'h [u8],
        segment_seq: Option<u64>,
    ) -> Result<StripeHeader<'h>, StripeError> {
        let header = StripeHeader::decode(bytes)?.verify(self.reactor.shared.array_tag)?;
        let header = header.at(place.group, place.segment, place.column, place.row)?;
        let common = header.common();
        let Some(geometry) = self.reactor.shared.shapes(place.group).shape(common.rotation.protection()) else {
            return Err(StripeError::Misplaced("protection"));
        };
        let rows = geometry.full_rows_at(place.row);
        match () {
            () if segment_seq.is_some_and(|seq| common.segment_seq != seq) => Err(StripeError::Misplaced("life")),
            () if common.header_blocks != geometry.header_blocks(rows) => Err(StripeError::Misplaced("header length")),
            () if common.rows > rows => Err(StripeError::Misplaced("height")),
            () if common.rotation != self.reactor.columns_of_shape(&geometry, place.segment) => {
                Err(StripeError::Misplaced("parity column"))
            }
            () => Ok(header),
        }
    }
}

/// Joins the copies of the newest stripe among `headers`.
pub(crate) fn merge(headers: &[StripeHeader<'_>], width: usize, vacant: u32) -> Option<FoundStripe> {
    let newest = headers.iter().max_by_key(|h| (h.common().segment_seq, h.common().stripe_seq))?;
    let common = *newest.common();
    let copies = || headers.iter().filter(|h| *h.common() == common);
    let entries =
        (0..width).map(|column| copies().find_map(|h| h.entries_of(column as u8)).map(<[Entry]>::to_vec)).collect();
    // A header of something older is something else too.
    let others = headers.iter().filter(|h| *h.common() != common).fold(0, |others, h| others | 1 << h.column());
    let discards = newest.discards().to_vec();
    Some(FoundStripe { common, entries, discards, copies: copies().count(), vacant: vacant | others })
}
