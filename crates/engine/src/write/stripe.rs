//! A stripe in memory: filled block by block, closed once, readable until its columns are on the devices.

use std::ops::Range;

use cygnus_format::{Discard, Entry, Geometry, OpenStripe, Rotation, StripeCommon, Summary};
use cygnus_parity as parity;
use cygnus_runtime::{Buf, BufSlice, Runtime};
use cygnus_types::{BLOCK, GroupId, Pba, ReactorId, SegmentId, zeros};

use crate::lsa::{Publish, PublishPage};
use crate::planted::{self, Bug};
use crate::space::segments::SegIx;
use crate::write::kept::{Cell, Record};
use crate::write::lane::Lane;
use crate::write::unflushed::{Copied, Unflushed};

/// Where a stripe begins and how it is arranged; fixed when it is opened, since addresses are given out from then on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StripePlace {
    pub seg: SegIx,
    pub group: GroupId,
    pub segment: SegmentId,
    pub segment_seq: u64,
    /// Address of row 0 of column 0 of the segment.
    pub base: Pba,
    pub start_row: u32,
    pub header_blocks: u32,
    /// Rows it was opened for.
    pub rows: u32,
    /// Which columns hold what.
    pub columns: Rotation,
    /// Stripes that had been closed array-wide when it was opened.
    pub opened: u64,
    pub lane: Lane,
}

impl StripePlace {
    /// The same for what tells of it while it has no header.
    pub(crate) fn described(&self, reactor: ReactorId) -> OpenStripe {
        OpenStripe {
            group: self.group,
            segment: self.segment,
            segment_seq: self.segment_seq,
            start_row: self.start_row,
            header_blocks: self.header_blocks,
            rows: self.rows,
            rotation: self.columns,
            opened: self.opened,
            stream: self.lane.stream(),
            reactor,
        }
    }
}

/// The buffers and entries of one stripe. Objects are reused, so a stripe costs no allocation.
pub(crate) struct Stripe {
    pub place: StripePlace,
    geometry: Geometry,
    /// Logical columns: data 0..k, then parity; each begins with the header's blocks.
    columns: Vec<Buf>,
    /// Physical column-major, `stride` rows each.
    entries: Vec<Entry>,
    stride: u32,
    used: u32,
    /// The slot of the block that was committed last.
    last: u32,
    /// Of the slots used, those that hold nothing, since what came next was to lie together; the last one is the next to be filled.
    left_out: Vec<u32>,
    /// Slots that were left out and will not be filled any more.
    given_up: u32,
    discards: Vec<Discard>,
    discard_capacity: usize,
    copies: Vec<Copied>,
    /// What its headers say.
    closed: Option<StripeCommon>,
    /// What a server that is killed leaves of it.
    record: Option<Record>,
    /// What of it is in its place and backed up, while it is open.
    backed_up: BackedUp,
    /// Where its first slot's copy is on the member of each parity column, if all its copies lie one behind the other there: blocks
    /// of their transient areas.
    pub heroes: Vec<u32>,
    /// Rows below the header whose parity the members compute.
    converted: u32,
    /// Blocks that no client has written now.
    moved: Moved,
}

/// A slot that takes a block, and where that will lie.
pub(crate) struct Spot {
    slot: u32,
    /// Logical.
    column: u8,
    physical: u8,
    /// Below the header.
    row: u32,
    /// Where it is in the array.
    pub pba: Pba,
}

/// Blocks of a stripe that were somewhere before, and that no client has written now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moved {
    /// Out of the way of contention, or from one medium to the other.
    pub rehomed: u32,
    /// Out of segments that are being emptied, or with other blocks of their page.
    pub relocated: u32,
}

/// How much of an open stripe is in its place and backed up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BackedUp {
    /// Slots from the first on.
    pub slots: u32,
    /// Discards likewise.
    pub discards: u32,
    /// Number of the last of its backups.
    pub last: u64,
    /// How the members stood then ([`crate::write::replicate`]).
    pub under: Standing,
}

/// How the members of a group stand: as long as it is the same, none has come, gone or fallen silent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Standing {
    pub membership: u64,
    pub silences: u64,
}

/// What a stripe says of when it was closed.
pub(crate) struct Closing {
    /// Its sequence. Were it given when the stripe is opened, a copy in a stripe that cleaning had open for long could have
    /// a lower one than what it is a copy of, which recovery would then take for the newer of the two.
    pub seq: u64,
    pub array_tag: u64,
    pub session: u64,
    pub durable: u64,
    pub reactor: ReactorId,
}

impl Stripe {
    /// A stripe object with buffers for the tallest stripe of any segment, which has so many rows, its header included.
    /// They lie in `cell` if there is one.
    pub(crate) fn allocate(
        rt: &Runtime,
        cell: Option<Cell>,
        tallest: u32,
        geometry: Geometry,
        place: StripePlace,
    ) -> Self {
        let rows = geometry.stripe_rows;
        let width = usize::from(geometry.width());
        let (record, columns): (_, Vec<Buf>) = match cell {
            // Cells are as wide as the widest group.
            Some(Cell { record, columns }) => (Some(record), columns.into_iter().take(width).collect()),
            None => (None, (0..width).map(|_| rt.alloc(tallest as usize * BLOCK)).collect()),
        };
        assert_eq!(columns.len(), width, "a buffer for each column");
        if let Some(record) = &record {
            record.opens(&place.described(rt.id()));
        }
        Self {
            place,
            geometry,
            columns,
            entries: vec![Entry::VOID; width * rows as usize],
            stride: rows,
            used: 0,
            last: 0,
            left_out: Vec::new(),
            given_up: 0,
            discards: Vec::new(),
            discard_capacity: geometry.discard_capacity(place.header_blocks, place.rows),
            copies: Vec::new(),
            closed: None,
            record,
            backed_up: BackedUp::default(),
            heroes: Vec::new(),
            converted: 0,
            moved: Moved::default(),
        }
    }

    /// Makes a used object ready for another stripe, of this reactor.
    pub(crate) fn reset(&mut self, reactor: ReactorId, geometry: Geometry, place: StripePlace) {
        self.place = place;
        self.geometry = geometry;
        self.entries.fill(Entry::VOID);
        self.used = 0;
        self.left_out.clear();
        self.given_up = 0;
        self.discards.clear();
        self.copies.clear();
        self.backed_up = BackedUp::default();
        self.heroes.clear();
        self.converted = 0;
        self.moved = Moved::default();
        self.discard_capacity = self.geometry.discard_capacity(place.header_blocks, place.rows);
        self.closed = None;
        if let Some(record) = &self.record {
            record.opens(&place.described(reactor));
        }
    }

    fn rotation(&self) -> Rotation {
        self.place.columns
    }

    pub(crate) fn is_full(&self) -> bool {
        self.left_out.is_empty() && self.used == self.geometry.slots(self.place.rows)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.used == 0 && self.discards.is_empty()
    }

    pub(crate) fn used(&self) -> u32 {
        self.used
    }

    /// Blocks in the slots that are used.
    pub(crate) fn blocks(&self) -> u32 {
        self.used - self.left_out.len() as u32 - self.given_up
    }

    /// The slot that the next block goes to.
    #[inline]
    fn next_slot(&self) -> u32 {
        self.left_out.last().copied().unwrap_or(self.used)
    }

    /// What was left out stays so: the slots used are on their way to the members.
    pub(crate) fn give_up_left_out(&mut self) {
        self.given_up += self.left_out.len() as u32;
        self.left_out.clear();
    }

    /// Where the next block will lie.
    #[inline]
    pub(crate) fn next_spot(&self) -> Spot {
        debug_assert!(!self.is_full());
        self.spot(self.next_slot())
    }

    /// Where the first of several blocks will lie, for which [`Stripe::leave_out_for`] just said yes.
    pub(crate) fn next_run(&self) -> Pba {
        self.spot(self.used).pba
    }

    #[inline]
    fn spot(&self, slot: u32) -> Spot {
        let (column, row) = self.geometry.slot_place(slot, self.place.rows);
        let physical = self.rotation().data_column(column);
        let segment_row = self.place.start_row + self.place.header_blocks + row;
        let within = u64::from(physical) * u64::from(self.geometry.segment_blocks) + u64::from(segment_row);
        Spot { slot, column, physical, row, pba: Pba(self.place.base.0 + within) }
    }

    /// Leaves slots out until so many that follow lie one behind the other on a column; `false`, and none is left out, if the stripe
    /// has no such slots any more.
    pub(crate) fn leave_out_for(&mut self, blocks: u32) -> bool {
        let Some(from) = self.geometry.run_from(self.used, blocks, self.place.rows) else { return false };
        while self.used < from {
            self.leave_out();
        }
        true
    }

    /// Has the next slot hold nothing for now: zeros, as far as its row's parity goes.
    pub(crate) fn leave_out(&mut self) {
        self.zero_slot(self.used);
        if let Some(record) = &self.record {
            record.holds(self.used, &Entry::VOID);
        }
        self.left_out.insert(0, self.used);
        self.used += 1;
    }

    /// Takes the next slot, which is at this spot.
    ///
    /// The copy comes behind whatever had to be published: it goes to memory that is in no cache, and processors go on meanwhile unless
    /// an atomic operation makes them wait for it.
    #[inline]
    pub(crate) fn commit(&mut self, spot: &Spot, entry: Entry, data: &[u8]) {
        self.fill(spot, entry, data);
        if self.left_out.pop().is_none() {
            return self.took_next(entry);
        }
        if let Some(record) = &self.record {
            record.holds_at_last(spot.slot, &entry);
        }
    }

    /// Takes the next slot of those that lie one behind the other, which is at this place.
    #[inline]
    pub(crate) fn commit_next(&mut self, pba: Pba, entry: Entry, data: &[u8]) {
        let spot = self.spot(self.used);
        assert_eq!(spot.pba, pba, "a run lies on one column");
        self.fill(&spot, entry, data);
        self.took_next(entry);
    }

    #[inline]
    fn took_next(&mut self, entry: Entry) {
        if let Some(record) = &self.record {
            record.holds(self.used, &entry);
        }
        self.used += 1;
    }

    #[inline]
    fn fill(&mut self, spot: &Spot, entry: Entry, data: &[u8]) {
        assert_eq!(data.len(), BLOCK);
        let at = (self.place.header_blocks + spot.row) as usize * BLOCK;
        self.columns[usize::from(spot.column)].write(at, data);
        self.entries[usize::from(spot.physical) * self.stride as usize + spot.row as usize] = entry;
        self.last = spot.slot;
    }

    /// The block that was committed last is a copy of one that lies elsewhere.
    #[inline]
    pub(crate) fn is_copy_of(&mut self, from: Pba) {
        let (column, row) = self.geometry.slot_place(self.last, self.place.rows);
        self.copies.push(Copied { column: self.rotation().data_column(column), row, from });
    }

    /// Notes how the block that was committed last came here.
    #[inline]
    pub(crate) fn note_move(&mut self, publish: Publish) {
        match publish {
            Publish::Rehome(_) => self.moved.rehomed += 1,
            Publish::Move(..) => self.moved.relocated += 1,
            Publish::Always | Publish::IfStill(_) => {}
        }
    }

    /// The same of a block of a page, which holds what it did before.
    pub(crate) fn note_move_of_page(&mut self, publish: &PublishPage<'_>) {
        match publish {
            PublishPage::Rehome { .. } => self.moved.rehomed += 1,
            _ => self.moved.relocated += 1,
        }
    }

    /// Blocks that no client has written now.
    pub(crate) fn moved(&self) -> Moved {
        self.moved
    }

    pub(crate) fn has_discard_room(&self) -> bool {
        self.discards.len() < self.discard_capacity
    }

    pub(crate) fn discard(&mut self, discard: Discard) {
        debug_assert!(self.has_discard_room());
        if let Some(record) = &self.record {
            record.discards(self.discards.len() as u32, &discard);
        }
        self.discards.push(discard);
    }

    pub(crate) fn carries_discards(&self) -> bool {
        !self.discards.is_empty()
    }

    /// What it says of discards.
    pub(crate) fn discards(&self) -> &[Discard] {
        &self.discards
    }

    /// Rows at which it would be closed now.
    pub(crate) fn closing_rows(&self) -> u32 {
        self.geometry.closing_rows(self.used, self.place.rows)
    }

    /// A block that was committed: its physical column, its row of the segment, what it is, and itself.
    pub(crate) fn slot(&self, slot: u32) -> (u8, u32, Entry, &[u8]) {
        debug_assert!(slot < self.used);
        let (column, row) = self.geometry.slot_place(slot, self.place.rows);
        let physical = self.rotation().data_column(column);
        let entry = self.entries[usize::from(physical) * self.stride as usize + row as usize];
        let below = self.place.header_blocks + row;
        let at = below as usize * BLOCK;
        (physical, self.place.start_row + below, entry, self.columns[usize::from(column)].part(at..at + BLOCK))
    }

    pub(crate) fn backed_up(&self) -> BackedUp {
        self.backed_up
    }

    pub(crate) fn is_backed_up(&mut self, what: BackedUp) {
        assert!(what.slots <= self.used && what.discards as usize <= self.discards.len());
        self.backed_up = what;
    }

    /// Its shape.
    pub(crate) fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// The members are to compute the parity of so many rows below the header, from the first on. Said before [`Stripe::close`].
    pub(crate) fn is_converted(&mut self, rows: u32) {
        assert!(self.closed.is_none() && self.geometry.slots(rows) <= self.used, "whole rows of blocks");
        self.converted = rows;
    }

    /// Rows below the header whose parity is not in memory, for the members compute it.
    pub(crate) fn converted(&self) -> u32 {
        self.converted
    }

    /// Rows of a physical column, from the first below the header on, that are in place already, if members stand as they
    /// did, or will be there without being sent. Slots are filled in an order that goes down every column.
    pub(crate) fn rows_in_place(&self, physical: u8, standing: Standing) -> u32 {
        if !self.rotation().is_data(physical) {
            return self.converted;
        }
        let BackedUp { slots, under, .. } = self.backed_up;
        if slots == 0 || under != standing {
            return 0;
        }
        let column = self.rotation().logical(physical) as u8;
        let rows = self.place.rows;
        (0..rows).take_while(|&row| self.geometry.slot_at(column, row, rows) < slots).count() as u32
    }

    /// Closes the stripe at the height reached: zeros in the slots left over, parity, headers. From here on it only
    /// changes by being reset.
    pub(crate) fn close(&mut self, closing: Closing) {
        let Closing { seq, array_tag, session, durable, reactor } = closing;
        // Before anything is on its way: written again after the process was killed, it is the same to the byte.
        if let Some(record) = &self.record {
            record.is_numbered(seq, durable);
        }
        let rows = self.closing_rows();
        self.zero_unused(rows);
        self.compute_parity(rows);
        let common = StripeCommon {
            array_tag,
            group: self.place.group,
            segment: self.place.segment,
            segment_seq: self.place.segment_seq,
            stripe_seq: seq,
            session,
            durable,
            opened: self.place.opened,
            start_row: self.place.start_row,
            header_blocks: self.place.header_blocks,
            rows,
            rotation: self.rotation(),
            stream: self.place.lane.stream(),
            reactor,
        };
        self.closed = Some(common);
        let header = self.place.header_blocks as usize * BLOCK;
        for (logical, buf) in self.columns.iter_mut().enumerate() {
            let physical = common.rotation.physical(logical as u8);
            let summary = Summary::new(&self.entries, self.stride);
            common.encode_into(buf.part_mut(0..header), physical, summary, &self.discards);
        }
    }

    /// Unused slots are written as zeros, so that any block can be rebuilt from its row alone, without knowing the
    /// stripe it belongs to.
    fn zero_unused(&mut self, rows: u32) {
        let opened = self.place.rows;
        for slot in self.used..self.geometry.slots(opened) {
            if self.geometry.slot_place(slot, opened).1 < rows {
                self.zero_slot(slot);
            }
        }
    }

    fn zero_slot(&mut self, slot: u32) {
        let (column, row) = self.geometry.slot_place(slot, self.place.rows);
        let at = (self.place.header_blocks + row) as usize * BLOCK;
        self.columns[usize::from(column)].zero(at..at + BLOCK);
    }

    fn compute_parity(&mut self, rows: u32) {
        let needed = self.rotation().needed();
        if needed == self.columns.len() || rows == 0 {
            return;
        }
        let rows = rows - u32::from(planted::is(Bug::LastRowWithoutParity));
        let range = self.bytes_of(self.converted..rows);
        if range.is_empty() {
            return;
        }
        let (data, parities) = self.columns.split_at_mut(needed);
        let mut sources = [&[][..]; cygnus_format::MAX_WIDTH as usize];
        for (source, buf) in sources.iter_mut().zip(data.iter()) {
            *source = buf.part(range.clone());
        }
        let sources = &sources[..data.len()];
        if sources.iter().all(|source| zeros::are_known(source)) {
            return parities.iter_mut().for_each(|buf| buf.zero(range.clone()));
        }
        match parities {
            [p] => parity::generate(sources, &mut [p.part_mut(range)]),
            [p, q] => parity::generate(sources, &mut [p.part_mut(range.clone()), q.part_mut(range)]),
            [p, q, r] => {
                let made = &mut [p.part_mut(range.clone()), q.part_mut(range.clone()), r.part_mut(range)];
                parity::generate(sources, made);
            }
            _ => unreachable!("the geometry allows at most three parity columns"),
        }
    }

    /// Where rows below the header are in a column.
    fn bytes_of(&self, rows: Range<u32>) -> Range<usize> {
        let header = self.place.header_blocks;
        (header + rows.start) as usize * BLOCK..(header + rows.end) as usize * BLOCK
    }

    /// What a parity column has in the rows that its member was to compute, for the case that it does not.
    pub(crate) fn parity_of_converted(&self, rt: &Runtime, physical: u8) -> BufSlice {
        let (needed, range) = (self.rotation().needed(), self.bytes_of(0..self.converted));
        let row = self.rotation().logical(physical) - needed;
        let sources: Vec<&[u8]> = self.columns[..needed].iter().map(|buf| buf.part(range.clone())).collect();
        let mut made: Vec<Buf> = (0..=row).map(|_| rt.alloc(range.len())).collect();
        if sources.iter().all(|source| zeros::are_known(source)) {
            made[row].zero(0..range.len());
        } else {
            let mut parities: Vec<&mut [u8]> = made.iter_mut().map(|buf| buf.part_mut(0..range.len())).collect();
            parity::generate(&sources, &mut parities);
        }
        made[row].slice(0..range.len())
    }

    /// The devices have it: a server that is killed need not leave it.
    pub(crate) fn is_on_devices(&self) {
        if let Some(record) = &self.record {
            record.is_free();
        }
    }

    /// What the parity columns have in some rows below the header if only these slots hold anything: for each column a block to be
    /// filled, and the rows behind it.
    pub(crate) fn parity_of_rows(&self, rt: &Runtime, rows: &[u32], slots: Range<u32>) -> Vec<BufSlice> {
        let (data, parities) = self.columns.split_at(self.rotation().needed());
        let mut made: Vec<Buf> = parities.iter().map(|_| rt.alloc((1 + rows.len()) * BLOCK)).collect();
        for (nth, &row) in rows.iter().enumerate() {
            let at = (1 + nth) * BLOCK..(2 + nth) * BLOCK;
            let holds = |column: usize| slots.contains(&self.geometry.slot_at(column as u8, row, self.place.rows));
            let block = self.bytes_of(row..row + 1);
            let mut sources = vec![&[][..]; data.len()];
            // What is shorter than the parity counts as zeros.
            for (column, source) in sources.iter_mut().enumerate().filter(|(column, _)| holds(*column)) {
                *source = data[column].part(block.clone());
            }
            if sources.iter().all(|source| source.is_empty() || zeros::are_known(source)) {
                made.iter_mut().for_each(|buf| buf.zero(at.clone()));
            } else {
                let mut parts: Vec<&mut [u8]> = made.iter_mut().map(|buf| buf.part_mut(at.clone())).collect();
                parity::generate(&sources, &mut parts);
            }
        }
        made.into_iter().map(|buf| buf.slice(0..(1 + rows.len()) * BLOCK)).collect()
    }

    /// What is to be written: physical column, and the header with the rows below it. Valid after [`Stripe::close`].
    pub(crate) fn column_writes(&self) -> impl Iterator<Item = (u8, BufSlice)> + '_ {
        let (bytes, rotation) = (self.column_bytes() as usize, self.rotation());
        self.columns
            .iter()
            .enumerate()
            .map(move |(logical, buf)| (rotation.physical(logical as u8), buf.slice(0..bytes)))
    }

    /// The same of one physical column, with the parity that is not in memory.
    pub(crate) fn whole_column(&self, rt: &Runtime, physical: u8) -> BufSlice {
        let column = self.column_writes().find(|(column, _)| *column == physical).expect("every column is written").1;
        if self.converted == 0 || self.rotation().is_data(physical) {
            return column;
        }
        let whole = rt.alloc(column.len()).full().slice(0..column.len());
        let missing = self.bytes_of(0..self.converted);
        whole.copy_from(0, column.part(0..missing.start));
        whole.copy_from(missing.start, self.parity_of_converted(rt, physical).bytes());
        whole.copy_from(missing.end, column.part(missing.end..column.len()));
        whole
    }

    /// The blocks of some slots, neighbours of a column together: the first slot of each piece, and its bytes.
    pub(crate) fn pieces(&self, slots: Range<u32>) -> Vec<(u32, BufSlice)> {
        let place = |slot: u32| self.geometry.slot_place(slot, self.place.rows);
        let mut pieces = Vec::new();
        let mut next = slots.start;
        while next < slots.end {
            let (first, (column, row)) = (next, place(next));
            while next < slots.end && place(next) == (column, row + next - first) {
                next += 1;
            }
            pieces.push((first, self.columns[usize::from(column)].slice(self.bytes_of(row..row + next - first))));
        }
        pieces
    }

    /// Bytes of a column that are to be written, so many rows below the header being in place. Valid after [`Stripe::close`].
    pub(crate) fn parts_left(&self, rows_in_place: u32) -> impl Iterator<Item = Range<usize>> + use<> {
        let header = self.place.header_blocks as usize * BLOCK;
        let (from, end) = (header + rows_in_place as usize * BLOCK, self.column_bytes() as usize);
        let (first, second) = if rows_in_place == 0 { (0..end, end..end) } else { (0..header, from..end) };
        [first, second].into_iter().filter(|part| !part.is_empty())
    }

    /// Bytes of each column. Valid after [`Stripe::close`].
    pub(crate) fn column_bytes(&self) -> u64 {
        u64::from(self.place.header_blocks + self.closed_height()) * BLOCK as u64
    }

    /// Row of the segment behind the stripe. Valid after [`Stripe::close`].
    pub(crate) fn end_row(&self) -> u32 {
        self.place.start_row + self.place.header_blocks + self.closed_height()
    }

    fn closed_height(&self) -> u32 {
        self.closed().rows
    }

    /// Its sequence. Valid after [`Stripe::close`].
    pub(crate) fn seq(&self) -> u64 {
        self.closed().stripe_seq
    }

    /// What its headers say. Valid after [`Stripe::close`].
    pub(crate) fn closed(&self) -> StripeCommon {
        self.closed.expect("asked only after it was closed")
    }

    /// What it consists of besides its data. Valid after [`Stripe::close`].
    pub(crate) fn describe(&self, into: &mut Unflushed) {
        let (rows, stride) = (self.closed_height() as usize, self.stride as usize);
        into.entries.reserve_exact(self.entries.len() / stride * rows);
        self.entries.chunks_exact(stride).for_each(|column| into.entries.extend_from_slice(&column[..rows]));
        into.discards.extend_from_slice(&self.discards);
        into.copies.extend_from_slice(&self.copies);
    }

    /// Whether nothing else holds the buffers, so that the object can be reused.
    pub(crate) fn is_idle(&self) -> bool {
        self.columns.iter().all(Buf::is_unshared)
    }

    /// The block at a place of this segment, if this stripe holds it.
    pub(crate) fn block(&self, physical: u8, segment_row: u32) -> Option<&[u8]> {
        let first = self.place.start_row + self.place.header_blocks;
        // Once closed, what lies behind the rows reached belongs to the next stripe.
        let rows = self.closed.map_or(self.place.rows, |closed| closed.rows);
        let row = segment_row.checked_sub(first).filter(|&row| row < rows)?;
        let rotation = self.rotation();
        if !rotation.is_data(physical) {
            return None;
        }
        let at = (self.place.header_blocks + row) as usize * BLOCK;
        Some(self.columns[rotation.logical(physical)].part(at..at + BLOCK))
    }
}
