//! Kept memory: what a server that is killed leaves in a file in memory. It has the stripes that were not on the devices yet,
//! with the blocks of clients that were acknowledged and not flushed.
//!
//! The file begins with a sealed block that says whose it is. A block of numbers follows: the first is not zero when some
//! stripe was not kept; each of the others is the last sequence that a reactor gave to a stripe. Then come cells, each
//! for one stripe at a time: a record of what the stripe is, and the stripe's columns as they lie in memory.
//!
//! A record changes while its stripe is filled, so it has no checksum. Each change is made such that the process may be
//! killed in the middle of it: a block's entry is there before it is counted, and the state comes last. The blocks have
//! their checksums in the entries.

use cygnus_types::{BLOCK, GroupId, MemberIx, ReactorId, SegmentId, Uuid};
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, FromZeros, IntoBytes};

use crate::array_state::ArrayState;
use crate::checksum;
use crate::constants::{ENTRY_BYTES, MAX_HEADER_BLOCKS, MAX_MEMBERS, MAX_STRIPE_ROWS, MAX_WIDTH};
use crate::entry::{Discard, Entry};
use crate::protection::Protection;
use crate::stripe::{OpenStripe, Stream};

/// First bytes of kept memory.
pub const KEPT_MAGIC: [u8; 8] = *b"CYGNUSKM";

/// Version of its layout: a newer program does not take it from an older one.
const KEPT_VERSION: u16 = 1;

/// Where the block of numbers is.
pub const KEPT_NUMBERS: u64 = BLOCK as u64;

/// Where the first cell is.
const CELLS: u64 = 2 * BLOCK as u64;

/// Bytes of a record before the entries.
const FIXED: usize = 128;

on_disk! {
    /// The block with which kept memory begins.
    pub(crate) struct RawKept: 112 bytes {
        /// `CYGNUSKM`
        magic: [u8; 8],
        /// CRC32C of the rest of the block
        crc: U32,
        /// 1
        version: U16,
        /// columns of the widest stripe, k + m
        width: U16,
        /// UUID of the array
        array: [u8; 16],
        /// session that wrote it
        session: U64,
        /// blocks of each column in a cell
        column_blocks: U32,
        /// entries that a record has room for
        slots: U32,
        /// discards that a record has room for
        discards: U32,
        /// bit n: member n was in service when the session began; none: nobody noted that
        in_service: [u8; MAX_MEMBERS / 8],
        /// zero
        reserved: [u8; 28],
    }
}

on_disk! {
    /// What a cell's record begins with.
    pub(crate) struct RawRecord: 128 bytes {
        /// 0 no stripe, 1 a stripe is being filled, 2 it has its sequence
        state: U32,
        /// blocks that it has: as many entries count
        used: U32,
        /// discards that it has
        discards: U32,
        /// rows that it was opened for
        rows: U32,
        /// segment within the group
        segment: U32,
        /// row of the segment where its header begins
        start_row: U32,
        /// blocks of its header on each column
        header_blocks: U32,
        /// R-group
        group: U16,
        /// reactor that fills it
        reactor: U16,
        /// data columns, k
        data: u8,
        /// what protects the segment, as in a stripe's header
        protection: u8,
        /// physical column of the first parity column
        parity_start: u8,
        /// 1 client, 2 relocation, 3 meta
        stream: u8,
        /// zero
        reserved_a: [u8; 4],
        /// how often segments were opened before this one
        segment_seq: U64,
        /// stripes closed, array-wide, when this one was opened
        opened: U64,
        /// its sequence, from state 2 on
        seq: U64,
        /// all stripes of this session below this sequence were durable when it got its own
        durable: U64,
        /// zero
        reserved_b: [u8; 56],
    }
}

const _: () = assert!(std::mem::offset_of!(RawKept, crc) == checksum::CRC_OFFSET && size_of::<RawRecord>() == FIXED);

/// States of a record.
const FREE: u32 = 0;
const FILLING: u32 = 1;
const NUMBERED: u32 = 2;

/// How large cells are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptShape {
    /// Columns of a stripe, k + m.
    pub width: u8,
    /// Blocks of each column, header included.
    pub column_blocks: u32,
    /// Blocks of data that a stripe has at most.
    pub slots: u32,
    /// Discards that it has at most.
    pub discards: u32,
}

impl KeptShape {
    /// Bytes of a cell's record, which describes the stripe: fixed part, entries and discards, in whole blocks.
    pub const fn record_bytes(&self) -> usize {
        (FIXED + (self.slots as usize + self.discards as usize) * ENTRY_BYTES).next_multiple_of(BLOCK)
    }

    /// Bytes that a cell has for one column of a stripe.
    pub const fn column_bytes(&self) -> usize {
        self.column_blocks as usize * BLOCK
    }

    /// Bytes of a cell, which keeps one stripe: its record and all its columns.
    pub const fn cell_bytes(&self) -> u64 {
        (self.record_bytes() + self.width as usize * self.column_bytes()) as u64
    }

    /// Where the record of a cell is.
    pub const fn record_at(&self, cell: u64) -> u64 {
        CELLS + cell * self.cell_bytes()
    }

    /// Where a column of a cell is, counted as in memory: data columns first.
    pub const fn column_at(&self, cell: u64, logical: u8) -> u64 {
        self.record_at(cell) + (self.record_bytes() + logical as usize * self.column_bytes()) as u64
    }

    /// Cells that lie whole in a file of `len` bytes.
    pub const fn cells_in(&self, len: u64) -> u64 {
        len.saturating_sub(CELLS) / self.cell_bytes()
    }

    const fn entry_at(&self, slot: u32) -> usize {
        FIXED + slot as usize * ENTRY_BYTES
    }

    const fn discard_at(&self, n: u32) -> usize {
        self.entry_at(self.slots) + n as usize * ENTRY_BYTES
    }

    const fn is_possible(&self) -> bool {
        let width = self.width >= 1 && self.width <= MAX_WIDTH;
        let height = self.column_blocks >= 1 && self.column_blocks <= MAX_HEADER_BLOCKS + MAX_STRIPE_ROWS;
        let slots = self.slots <= self.width as u32 * MAX_STRIPE_ROWS;
        width && height && slots && self.discards as usize <= MAX_HEADER_BLOCKS as usize * BLOCK / ENTRY_BYTES
    }
}

/// Whose memory it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptHeader {
    /// UUID of the array.
    pub array: Uuid,
    /// Session of the array in which it was written.
    pub session: u64,
    /// Members in service when that began.
    pub in_service: Vec<MemberIx>,
    /// How large its cells are.
    pub shape: KeptShape,
}

/// Why bytes are no kept memory, or no stripe of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeptError {
    /// Something else is there.
    #[error("it is no kept memory of an array")]
    NotKept,
    /// Another program's.
    #[error("it was written by another version of the program")]
    OtherVersion,
    /// Its first block has changed.
    #[error("the checksum of its first block is wrong")]
    Checksum,
    /// It cannot be what it says.
    #[error("its {0} is impossible")]
    Impossible(&'static str),
}

impl KeptHeader {
    /// The first block.
    pub fn encode(&self) -> [u8; BLOCK] {
        assert!(self.shape.is_possible(), "cells of {:?}", self.shape);
        let mut block = [0; BLOCK];
        let mut in_service = [0; MAX_MEMBERS / 8];
        self.in_service.iter().for_each(|member| in_service[member.index() / 8] |= 1 << (member.index() % 8));
        let raw = RawKept {
            magic: KEPT_MAGIC,
            version: U16::new(KEPT_VERSION),
            width: U16::new(self.shape.width.into()),
            array: self.array.0,
            session: U64::new(self.session),
            column_blocks: U32::new(self.shape.column_blocks),
            slots: U32::new(self.shape.slots),
            discards: U32::new(self.shape.discards),
            in_service,
            ..RawKept::new_zeroed()
        };
        block[..size_of::<RawKept>()].copy_from_slice(raw.as_bytes());
        checksum::seal(&mut block);
        block
    }

    /// Whether the session was of members that the array of this state has gone on without: they were in service when it began, and the
    /// state has them leave before. Then copies have parted, and each had a session of this number.
    pub fn is_of_others(&self, state: &ArrayState) -> bool {
        let left =
            |member: &MemberIx| state.members().nth(member.index()).is_some_and(|desc| desc.left_before(self.session));
        self.in_service.iter().any(left)
    }

    /// Takes a block for the first one, and looks at its checksum.
    ///
    /// # Errors
    /// When it is none that this program has written.
    pub fn decode(block: &[u8; BLOCK]) -> Result<Self, KeptError> {
        let (raw, _) = RawKept::ref_from_prefix(block).expect("a block is longer");
        if raw.magic != KEPT_MAGIC {
            return Err(KeptError::NotKept);
        }
        if raw.version.get() != KEPT_VERSION {
            return Err(KeptError::OtherVersion);
        }
        if raw.crc.get() != checksum::expected(block) {
            return Err(KeptError::Checksum);
        }
        let shape = KeptShape {
            width: u8::try_from(raw.width.get()).map_err(|_| KeptError::Impossible("width"))?,
            column_blocks: raw.column_blocks.get(),
            slots: raw.slots.get(),
            discards: raw.discards.get(),
        };
        match shape.is_possible() {
            true => Ok(Self {
                array: Uuid(raw.array),
                session: raw.session.get(),
                in_service: (0..MAX_MEMBERS)
                    .filter(|n| raw.in_service[n / 8] >> (n % 8) & 1 != 0)
                    .map(|n| MemberIx(n as u16))
                    .collect(),
                shape,
            }),
            false => Err(KeptError::Impossible("shape")),
        }
    }
}

/// The steps by which a record says what happens to its stripe. They are pure: the caller, who has the memory, stores the bytes.
pub mod steps {
    use super::*;

    const STATE_AT: usize = std::mem::offset_of!(RawRecord, state);
    const USED_AT: usize = std::mem::offset_of!(RawRecord, used);
    const DISCARDS_AT: usize = std::mem::offset_of!(RawRecord, discards);
    const SEQ_AT: usize = std::mem::offset_of!(RawRecord, seq);

    /// Bytes that belong at an offset of the record.
    pub type Bytes<const N: usize> = (usize, [u8; N]);

    /// The cell has no stripe.
    pub const fn free() -> Bytes<4> {
        (STATE_AT, FREE.to_le_bytes())
    }

    /// What an empty stripe is; to be followed by [`filling`].
    pub fn place(place: &OpenStripe) -> Bytes<FIXED> {
        let raw = RawRecord {
            state: U32::new(FREE),
            rows: U32::new(place.rows),
            segment: U32::new(place.segment.0),
            start_row: U32::new(place.start_row),
            header_blocks: U32::new(place.header_blocks),
            group: U16::new(place.group.0),
            reactor: U16::new(place.reactor.0),
            data: place.rotation.data,
            protection: place.rotation.protection().to_byte(),
            parity_start: place.rotation.parity_start,
            stream: place.stream as u8,
            segment_seq: U64::new(place.segment_seq),
            opened: U64::new(place.opened),
            ..RawRecord::new_zeroed()
        };
        (0, raw.as_bytes().try_into().expect("it has its size"))
    }

    /// The stripe is being filled.
    pub const fn filling() -> Bytes<4> {
        (STATE_AT, FILLING.to_le_bytes())
    }

    /// The entry of the block in this slot; to be followed by [`used`].
    pub fn entry(shape: &KeptShape, slot: u32, entry: &Entry) -> Bytes<ENTRY_BYTES> {
        assert!(slot < shape.slots, "slot {slot} of {}", shape.slots);
        (shape.entry_at(slot), entry.as_bytes().try_into().expect("it has its size"))
    }

    /// The entry of a block in a slot that was used and held nothing, in the order in which its parts are to be stored: with the last
    /// one the slot holds the block.
    pub fn entry_of_used(shape: &KeptShape, slot: u32, entry: &Entry) -> [Bytes<8>; 3] {
        let (at, bytes) = self::entry(shape, slot, entry);
        const KIND_AT: usize = std::mem::offset_of!(Entry, lba_and_kind);
        let part = |from: usize| (at + from, bytes[from..from + 8].try_into().expect("eight bytes"));
        const { assert!(KIND_AT == 8 && ENTRY_BYTES == 24) };
        [part(0), part(16), part(KIND_AT)]
    }

    /// Says how many slots of the stripe are used.
    pub const fn used(slots: u32) -> Bytes<4> {
        (USED_AT, slots.to_le_bytes())
    }

    /// Puts the `n`-th discard into the record; to be followed by [`discards`], which makes it count.
    pub fn discard(shape: &KeptShape, n: u32, discard: &Discard) -> Bytes<ENTRY_BYTES> {
        assert!(n < shape.discards, "discard {n} of {}", shape.discards);
        (shape.discard_at(n), discard.as_bytes().try_into().expect("it has its size"))
    }

    /// Says how many discards of the record count.
    pub const fn discards(n: u32) -> Bytes<4> {
        (DISCARDS_AT, n.to_le_bytes())
    }

    /// Its sequence, and below which one all were durable; to be followed by [`numbered`].
    pub fn seq(seq: u64, durable: u64) -> Bytes<16> {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&seq.to_le_bytes());
        bytes[8..].copy_from_slice(&durable.to_le_bytes());
        (SEQ_AT, bytes)
    }

    /// The stripe has its sequence.
    pub const fn numbered() -> Bytes<4> {
        (STATE_AT, NUMBERED.to_le_bytes())
    }
}

/// A stripe that a killed server left in its kept memory.
#[derive(Clone, Copy, Debug)]
pub struct KeptStripe<'a> {
    /// Which stripe it is, and where it belongs.
    pub place: OpenStripe,
    /// Its sequence, and below which one all were durable then; none if it was still being filled.
    pub seq: Option<(u64, u64)>,
    /// What its blocks are, in the order of slots.
    pub entries: &'a [Entry],
    /// What it says of discarded blocks.
    pub discards: &'a [Discard],
}

impl<'a> KeptStripe<'a> {
    /// The stripe of a record, [`KeptShape::record_bytes`] long; `None` if it has none, or an empty one.
    ///
    /// # Errors
    /// When it cannot be one.
    pub fn decode(record: &'a [u8], shape: &KeptShape) -> Result<Option<Self>, KeptError> {
        let impossible = |what| Err(KeptError::Impossible(what));
        if record.len() != shape.record_bytes() {
            return impossible("length");
        }
        let (raw, _) = RawRecord::ref_from_prefix(record).expect("a record is longer");
        let (used, discards) = (raw.used.get(), raw.discards.get());
        let seq = match raw.state.get() {
            FREE => return Ok(None),
            FILLING => None,
            NUMBERED => Some((raw.seq.get(), raw.durable.get())),
            _ => return impossible("state"),
        };
        if used == 0 && discards == 0 {
            return Ok(None);
        }
        let protection = Protection::from_byte(raw.protection).map_err(|_| KeptError::Impossible("protection"))?;
        let width = (raw.data as usize).saturating_add(protection.losses());
        let width = u8::try_from(width).unwrap_or(u8::MAX);
        if width > shape.width || raw.parity_start >= width {
            return impossible("columns");
        }
        let Some(rotation) = protection.columns(width, raw.parity_start) else { return impossible("protection") };
        let height = raw.header_blocks.get().checked_add(raw.rows.get());
        let slots = u64::from(raw.rows.get()) * u64::from(rotation.data);
        if raw.header_blocks.get() == 0 || height.is_none_or(|height| height > shape.column_blocks) {
            return impossible("height");
        }
        if u64::from(used) > slots || used > shape.slots || discards > shape.discards {
            return impossible("count");
        }
        let Some(stream) = Stream::from_byte(raw.stream) else { return impossible("stream") };
        let entries = items::<Entry>(record, shape.entry_at(0), used);
        let discards = items::<Discard>(record, shape.discard_at(0), discards);
        if !entries.iter().all(Entry::is_known) || !discards.iter().all(Discard::is_in_range) {
            return impossible("entry");
        }
        let place = OpenStripe {
            group: GroupId(raw.group.get()),
            segment: SegmentId(raw.segment.get()),
            segment_seq: raw.segment_seq.get(),
            start_row: raw.start_row.get(),
            header_blocks: raw.header_blocks.get(),
            rows: raw.rows.get(),
            rotation,
            opened: raw.opened.get(),
            stream,
            reactor: ReactorId(raw.reactor.get()),
        };
        Ok(Some(Self { place, seq, entries, discards }))
    }
}

fn items<T: FromBytes + zerocopy::KnownLayout + zerocopy::Immutable + zerocopy::Unaligned>(
    record: &[u8],
    at: usize,
    count: u32,
) -> &[T] {
    let bytes = &record[at..at + count as usize * size_of::<T>()];
    <[T]>::ref_from_bytes(bytes).expect("whole items")
}

#[cfg(test)]
mod tests {
    use cygnus_types::{Lba, VolumeId};
    use proptest::prelude::*;

    use super::*;
    use crate::entry::Kind;
    use crate::geometry::Rotation;

    const SHAPE: KeptShape = KeptShape { width: 5, column_blocks: 20, slots: 64, discards: 30 };

    fn put<const N: usize>(record: &mut [u8], (at, bytes): (usize, [u8; N])) {
        record[at..at + N].copy_from_slice(&bytes);
    }

    fn place() -> OpenStripe {
        OpenStripe {
            group: GroupId(3),
            segment: SegmentId(17),
            segment_seq: 5,
            start_row: 40,
            header_blocks: 2,
            rows: 16,
            rotation: Rotation { data: 4, parity: 1, parity_start: 2 },
            opened: 99,
            stream: Stream::Clients,
            reactor: ReactorId(1),
        }
    }

    fn entry(n: u64) -> Entry {
        Entry::new(Kind::Data, VolumeId(1), Lba(n), 1000 + n, 7)
    }

    /// Every prefix of what happens to a stripe is what was there then, or a moment before.
    #[test]
    fn whatever_moment_it_is_killed() {
        let record = &mut vec![0; SHAPE.record_bytes()][..];
        let counts = |record: &[u8]| {
            let stripe = KeptStripe::decode(record, &SHAPE).unwrap();
            stripe.map(|stripe| (stripe.entries.len(), stripe.discards.len(), stripe.seq))
        };
        put(record, steps::place(&place()));
        assert_eq!(counts(record), None);
        put(record, steps::filling());
        assert_eq!(counts(record), None, "it is empty");
        for slot in 0..3 {
            put(record, steps::entry(&SHAPE, slot, &entry(slot.into())));
            assert_eq!(counts(record).map_or(0, |(entries, ..)| entries), slot as usize);
            put(record, steps::used(slot + 1));
        }
        // Slot 1 is left out, and filled at last.
        put(record, steps::entry(&SHAPE, 1, &Entry::VOID));
        let in_slot_1 = |record: &[u8]| KeptStripe::decode(record, &SHAPE).unwrap().unwrap().entries[1];
        for (n, part) in steps::entry_of_used(&SHAPE, 1, &entry(1)).into_iter().enumerate() {
            assert_eq!(in_slot_1(record).kind(), Kind::Void, "{n} parts are there");
            put(record, part);
        }
        assert_eq!(in_slot_1(record), entry(1));
        put(record, steps::discard(&SHAPE, 0, &Discard::new(VolumeId(1), Lba(9), 4, 1234)));
        put(record, steps::discards(1));
        assert_eq!(counts(record), Some((3, 1, None)));
        put(record, steps::seq(500, 490));
        assert_eq!(counts(record), Some((3, 1, None)));
        put(record, steps::numbered());
        assert_eq!(counts(record), Some((3, 1, Some((500, 490)))));
        let stripe = KeptStripe::decode(record, &SHAPE).unwrap().unwrap();
        assert_eq!((stripe.place, stripe.entries[2], stripe.discards[0].count()), (place(), entry(2), 4));
        put(record, steps::free());
        assert_eq!(counts(record), None);
    }

    #[test]
    fn a_header_comes_back_and_a_changed_one_does_not() {
        let in_service = [0, 9, MAX_MEMBERS as u16 - 1].map(MemberIx).to_vec();
        let header = KeptHeader { array: Uuid([7; 16]), session: 12, in_service, shape: SHAPE };
        let mut block = header.encode();
        assert_eq!(KeptHeader::decode(&block), Ok(header));
        block[24] ^= 1;
        assert_eq!(KeptHeader::decode(&block), Err(KeptError::Checksum));
        block[0] ^= 1;
        assert_eq!(KeptHeader::decode(&block), Err(KeptError::NotKept));
    }

    #[test]
    fn cells_do_not_touch_each_other() {
        let last = SHAPE.column_at(0, 4) + SHAPE.column_bytes() as u64;
        assert_eq!(last, SHAPE.record_at(1));
        assert_eq!((SHAPE.cells_in(last), SHAPE.cells_in(last - 1), SHAPE.cells_in(0)), (1, 0, 0));
        assert!(SHAPE.discard_at(SHAPE.discards) <= SHAPE.record_bytes());
    }

    proptest! {
        /// Nothing that lies there makes the program panic, or believe in columns and rows that there are not.
        #[test]
        fn no_bytes_do_harm(bytes in proptest::collection::vec(any::<u8>(), 256), state in 0_u32..4, used in 0_u32..80) {
            let mut record = vec![0; SHAPE.record_bytes()];
            record[..256].copy_from_slice(&bytes);
            put(&mut record, (0, state.to_le_bytes()));
            put(&mut record, steps::used(used));
            if let Ok(Some(stripe)) = KeptStripe::decode(&record, &SHAPE) {
                prop_assert!(stripe.entries.len() <= 64 && stripe.place.rotation.width() <= 5);
                prop_assert!(stripe.place.header_blocks + stripe.place.rows <= 20);
            }
            let mut block = [0; BLOCK];
            block[..256].copy_from_slice(&bytes);
            prop_assert!(KeptHeader::decode(&block).is_err());
        }
    }
}
