//! Stripe headers: the self-description at the top of every stripe, on every column.
//!
//! A header is written on each of the k + m columns. The common part says which stripe this is; the entries say what
//! the blocks are. The header on column c holds the entries of columns c, c-1, .. c-m-1 (round the group), so each
//! column's entries exist m + 2 times and survive the loss of any m members and one more spoiled header. A group with one
//! data column is too narrow for that: there every header has the entries of all columns, and is written twice, one copy
//! behind the other.
//!
//! A header is written in the same I/O as the column's blocks and is never changed, so a stripe is either described
//! whole or, if power failed while it was written, recognised as torn by some header's or some block's checksum. What a
//! power cut leaves is something else than the header, what it was before; a header in which bits have changed is like
//! itself still ([`StripeHeader::is_spoiled`]).

use cygnus_types::{BLOCK, GroupId, ReactorId, SegmentId};
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, IntoBytes};

use crate::checksum;
use crate::constants::{
    ENTRY_BYTES, FORMAT_VERSION, MAX_HEADER_BLOCKS, MAX_SEGMENT_BLOCKS, MAX_STRIPE_ROWS, MAX_WIDTH, STRIPE_FIXED,
};
use crate::entry::{Discard, Entry};
use crate::geometry::{self, Rotation};
use crate::layout::Place;
use crate::protection::{Protection, UnknownProtection};

/// First bytes of every stripe header.
pub const STRIPE_MAGIC: [u8; 8] = *b"CYGNUSST";

/// Which kind of traffic filled a stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Stream {
    /// What clients write.
    Clients = 1,
    /// Blocks moved by cleaning.
    Relocation = 2,
    /// Pages of checkpoints.
    Meta = 3,
}

impl Stream {
    pub(crate) const fn from_byte(byte: u8) -> Option<Stream> {
        match byte {
            1 => Some(Stream::Clients),
            2 => Some(Stream::Relocation),
            3 => Some(Stream::Meta),
            _ => None,
        }
    }
}

on_disk! {
    /// The fixed part of a stripe header.
    pub(crate) struct RawStripe: 128 bytes {
        /// `CYGNUSST`
        magic: [u8; 8],
        /// CRC32C of everything that follows, to the end of the header's last block
        crc: U32,
        /// format version
        version: U16,
        /// blocks of this header
        header_blocks: U16,
        /// the array's UUID folded to 64 bits: a header of a former array on this disk is not ours
        array_tag: U64,
        /// how often segments were opened before this one: tells this life of the segment from earlier ones
        segment_seq: U64,
        /// stripes closed before this one, array-wide
        stripe_seq: U64,
        /// session (opening of the array for writing) that wrote the stripe
        session: U64,
        /// all stripes of this session below this sequence were durable when this was written
        durable: U64,
        /// segment within the group
        segment: U32,
        /// row of the segment where this header begins
        start_row: U32,
        /// rows of data and parity below the header
        rows: U32,
        /// discard records behind the entries
        discards: U32,
        /// R-group
        group: U16,
        /// reactor that wrote the stripe
        reactor: U16,
        /// physical column of this copy
        column: u8,
        /// data columns, k
        data: u8,
        /// what protects the segment: 16 + m for full stripes with m parity columns; others are unknown
        protection: u8,
        /// physical column of the first parity column; data columns follow the parity columns round the group
        parity_start: u8,
        /// 1 client, 2 relocation, 3 meta
        stream: u8,
        /// zero
        reserved_a: [u8; 7],
        /// stripes closed, array-wide, when this one was opened: what clients wrote to it came after all that is in those
        opened: U64,
        /// zero
        reserved_b: [u8; 32],
    }
}

const _: () = assert!(size_of::<RawStripe>() == STRIPE_FIXED);
const _: () = assert!(std::mem::offset_of!(RawStripe, crc) == checksum::CRC_OFFSET);

/// What is known of a stripe from the moment when it is opened, before anything is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenStripe {
    /// R-group.
    pub group: GroupId,
    /// Segment within the group.
    pub segment: SegmentId,
    /// How often segments were opened before this one.
    pub segment_seq: u64,
    /// Row of the segment where its header begins.
    pub start_row: u32,
    /// Blocks of its header on each column.
    pub header_blocks: u32,
    /// Rows below the header that it has if it is filled; a flush may close it earlier.
    pub rows: u32,
    /// Which columns hold what.
    pub rotation: Rotation,
    /// Stripes closed, array-wide, when it was opened.
    pub opened: u64,
    /// Kind of traffic.
    pub stream: Stream,
    /// Reactor that fills the stripe.
    pub reactor: ReactorId,
}

/// What all columns' headers of one stripe have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StripeCommon {
    /// The array's UUID, folded ([`cygnus_types::Uuid::tag`]).
    pub array_tag: u64,
    /// R-group.
    pub group: GroupId,
    /// Segment within the group.
    pub segment: SegmentId,
    /// Array-wide count of segment openings; all stripes of one life of a segment share it.
    pub segment_seq: u64,
    /// Array-wide count of stripe openings.
    pub stripe_seq: u64,
    /// Session that wrote the stripe.
    pub session: u64,
    /// Every stripe of this session with a lower sequence, by any reactor, was durable when this was written.
    pub durable: u64,
    /// Stripes that had been closed array-wide when this one was opened. Whatever clients wrote to it is newer than what is in
    /// those.
    pub opened: u64,
    /// Row of the segment where the headers begin.
    pub start_row: u32,
    /// Blocks of header on each column, all copies together.
    pub header_blocks: u32,
    /// Rows of data and parity below the headers; zero in a stripe that carries only discards.
    pub rows: u32,
    /// Data columns, parity columns and where they lie.
    pub rotation: Rotation,
    /// Kind of traffic.
    pub stream: Stream,
    /// Reactor that wrote the stripe.
    pub reactor: ReactorId,
}

impl StripeCommon {
    /// Columns of the group, k + m.
    #[inline]
    pub const fn width(&self) -> u8 {
        self.rotation.width()
    }

    /// Bytes of one column's header, all copies together.
    #[inline]
    pub const fn header_bytes(&self) -> usize {
        self.header_blocks as usize * BLOCK
    }

    /// Bytes of one copy of a column's header: each column has as many copies as the rotation says.
    #[inline]
    pub const fn copy_bytes(&self) -> usize {
        self.header_bytes() / self.rotation.copies() as usize
    }

    /// Row of the segment that row 0 of the stripe's data lies in.
    #[inline]
    pub const fn first_data_row(&self) -> u32 {
        self.start_row + self.header_blocks
    }

    /// Row of the segment behind the stripe, where the next one begins.
    #[inline]
    pub const fn end_row(&self) -> u32 {
        self.first_data_row() + self.rows
    }

    /// Discards that the header can carry.
    pub const fn discard_capacity(&self) -> usize {
        let entries = self.entries_per_header();
        ((self.copy_bytes() - STRIPE_FIXED) / ENTRY_BYTES).saturating_sub(entries)
    }

    const fn entries_per_header(&self) -> usize {
        self.rotation.tables() as usize * self.rows as usize
    }

    /// Whether the header on column `holder` has the entries of `column`.
    pub const fn has_entries_of(&self, holder: u8, column: u8) -> bool {
        self.turns_back(holder, column).is_some()
    }

    /// How far behind `holder` the entries of `column` are found in its header, or `None` if not there.
    const fn turns_back(&self, holder: u8, column: u8) -> Option<usize> {
        if column >= self.width() {
            return None;
        }
        let back = (holder + self.width() - column) % self.width();
        if back < self.rotation.tables() { Some(back as usize) } else { None }
    }

    /// Writes the header of physical column `column` into `buf`, which is exactly [`StripeCommon::header_bytes`] long: all
    /// copies. All of `buf` is written, so it may hold anything before.
    ///
    /// # Panics
    /// When the parts contradict each other or do not fit: the writer's bug.
    pub fn encode_into(&self, buf: &mut [u8], column: u8, summary: Summary<'_>, discards: &[Discard]) {
        assert_eq!(buf.len(), self.header_bytes(), "buffer is the header");
        assert!(column < self.width() && self.rotation.parity_start < self.width(), "columns exist");
        assert!(self.header_blocks <= MAX_HEADER_BLOCKS && self.rows <= MAX_STRIPE_ROWS, "height is allowed");
        assert!(discards.len() <= self.discard_capacity(), "discards fit");
        let (copy, others) = buf.split_at_mut(self.copy_bytes());
        copy[..STRIPE_FIXED].copy_from_slice(self.raw(column, discards.len() as u32).as_bytes());
        let mut at = STRIPE_FIXED;
        for back in 0..self.rotation.tables() {
            let described = (column + self.width() - back) % self.width();
            at = put(copy, at, summary.column(described, self.rows).as_bytes());
        }
        at = put(copy, at, discards.as_bytes());
        copy[at..].fill(0);
        checksum::seal(copy);
        others.chunks_exact_mut(copy.len()).for_each(|other| other.copy_from_slice(copy));
    }

    fn raw(&self, column: u8, discards: u32) -> RawStripe {
        RawStripe {
            magic: STRIPE_MAGIC,
            crc: U32::new(0),
            version: U16::new(FORMAT_VERSION),
            header_blocks: U16::new(self.header_blocks as u16),
            array_tag: U64::new(self.array_tag),
            segment_seq: U64::new(self.segment_seq),
            stripe_seq: U64::new(self.stripe_seq),
            session: U64::new(self.session),
            durable: U64::new(self.durable),
            segment: U32::new(self.segment.0),
            start_row: U32::new(self.start_row),
            rows: U32::new(self.rows),
            discards: U32::new(discards),
            group: U16::new(self.group.0),
            reactor: U16::new(self.reactor.0),
            column,
            data: self.rotation.data,
            protection: self.rotation.protection().to_byte(),
            parity_start: self.rotation.parity_start,
            stream: self.stream as u8,
            reserved_a: [0; 7],
            opened: U64::new(self.opened),
            reserved_b: [0; 32],
        }
    }
}

fn put(buf: &mut [u8], at: usize, bytes: &[u8]) -> usize {
    let end = at + bytes.len();
    buf[at..end].copy_from_slice(bytes);
    end
}

/// The entries of an open stripe: column after column, each with room for `stride` rows, of which a header takes as
/// many as the stripe was closed at.
#[derive(Clone, Copy, Debug)]
pub struct Summary<'a> {
    entries: &'a [Entry],
    stride: usize,
}

impl<'a> Summary<'a> {
    /// Entry of physical column c, row r at `entries[c * stride + r]`; blocks without content are [`Entry::VOID`].
    #[inline]
    pub const fn new(entries: &'a [Entry], stride: u32) -> Summary<'a> {
        Summary { entries, stride: stride as usize }
    }

    #[inline]
    fn column(&self, column: u8, rows: u32) -> &'a [Entry] {
        assert!(rows as usize <= self.stride, "stripe closed no higher than it was opened");
        let start = usize::from(column) * self.stride;
        &self.entries[start..start + rows as usize]
    }
}

/// Why bytes are not a stripe header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StripeError {
    /// Fewer bytes than the header has; read `need` bytes and decode again.
    #[error("stripe header cut short: {have} bytes of {need}; read more, or take another column's copy")]
    Truncated {
        /// Bytes given.
        have: usize,
        /// Bytes needed.
        need: usize,
    },
    /// No stripe begins here: the chain of stripes in the segment ends.
    #[error("no stripe header here")]
    NotAStripe,
    /// Written by another version.
    #[error("stripe header of format version {0}, this program reads version {FORMAT_VERSION}: use a matching version")]
    UnsupportedVersion(u16),
    /// Torn or rotten.
    #[error("stripe header checksum is {stored:08x} but should be {computed:08x}: take another column's copy")]
    Checksum {
        /// Checksum on disk.
        stored: u32,
        /// Checksum of the bytes.
        computed: u32,
    },
    /// A former array's stripe.
    #[error("stripe header belongs to another array (tag {found:016x}, expected {expected:016x})")]
    OtherArray {
        /// Tag on disk.
        found: u64,
        /// Tag of this array.
        expected: u64,
    },
    /// A well-formed header of some other place: a write that went astray.
    #[error("stripe header describes another place: its {0} differs; take another column's copy")]
    Misplaced(&'static str),
    /// The checksum is right, and a newer program has protected the segment in a way of its own.
    #[error("stripe header cannot be used: {0}")]
    UnknownProtection(#[from] UnknownProtection),
    /// The checksum is right but the contents make no sense.
    #[error("stripe header has an impossible {0}: it was written by a faulty or newer program")]
    Malformed(&'static str),
}

/// A stripe header whose checksum was not compared yet.
#[derive(Clone, Copy, Debug)]
pub struct UnverifiedStripe<'a> {
    bytes: &'a [u8],
}

/// A verified stripe header of one column, borrowing the bytes it was read into.
#[derive(Clone, Copy, Debug)]
pub struct StripeHeader<'a> {
    common: StripeCommon,
    column: u8,
    entries: &'a [Entry],
    discards: &'a [Discard],
}

/// Bits by which the first fields of a header may differ from what stands in every header of that place, and it is taken
/// for a header with changed bits: of the 232, something else differs in half of them.
const SPOILED_BITS: u32 = 48;

impl<'a> StripeHeader<'a> {
    /// Whether `block`, which is no valid header, was one of this place, of which some bits have changed since: a power cut
    /// leaves what was there before the write, or all of a block.
    pub fn is_spoiled(block: &[u8], array_tag: u64, place: &Place) -> bool {
        let Ok((raw, _)) = RawStripe::ref_from_prefix(block) else { return false };
        let differ = |a: &[u8], b: &[u8]| a.iter().zip(b).map(|(a, b)| (a ^ b).count_ones()).sum::<u32>();
        let changed = differ(&raw.magic, &STRIPE_MAGIC)
            + (raw.version.get() ^ FORMAT_VERSION).count_ones()
            + (raw.array_tag.get() ^ array_tag).count_ones()
            + (raw.segment.get() ^ place.segment.0).count_ones()
            + (raw.start_row.get() ^ place.row).count_ones()
            + (raw.group.get() ^ place.group.0).count_ones()
            + (raw.column ^ place.column).count_ones();
        changed <= SPOILED_BITS
    }

    /// The life of the segment and the sequence of the stripe, as a block that is no valid header has them.
    pub fn claimed(block: &[u8]) -> (u64, u64) {
        RawStripe::ref_from_prefix(block).map_or((0, 0), |(raw, _)| (raw.segment_seq.get(), raw.stripe_seq.get()))
    }

    /// Recognises a copy of a header at the start of `bytes`, which may go on behind it. One block suffices to learn how
    /// long the copy is ([`StripeError::Truncated`] says).
    pub fn decode(bytes: &'a [u8]) -> Result<UnverifiedStripe<'a>, StripeError> {
        let Ok((raw, _)) = RawStripe::ref_from_prefix(bytes) else {
            return Err(StripeError::Truncated { have: bytes.len(), need: BLOCK });
        };
        if raw.magic != STRIPE_MAGIC {
            return Err(StripeError::NotAStripe);
        }
        if raw.version.get() != FORMAT_VERSION {
            return Err(StripeError::UnsupportedVersion(raw.version.get()));
        }
        let (blocks, copies) = (u32::from(raw.header_blocks.get()), geometry::copies(raw.data));
        if blocks == 0 || blocks > MAX_HEADER_BLOCKS || !blocks.is_multiple_of(copies) {
            return Err(StripeError::Malformed("header length"));
        }
        let need = (blocks / copies) as usize * BLOCK;
        match bytes.get(..need) {
            Some(bytes) => Ok(UnverifiedStripe { bytes }),
            None => Err(StripeError::Truncated { have: bytes.len(), need }),
        }
    }

    /// The part common to all columns.
    #[inline]
    pub fn common(&self) -> &StripeCommon {
        &self.common
    }

    /// Physical column this copy was written for.
    #[inline]
    pub fn column(&self) -> u8 {
        self.column
    }

    /// Entries of physical column `column`, one for each row, or `None` if this copy does not hold them.
    pub fn entries_of(&self, column: u8) -> Option<&'a [Entry]> {
        let back = self.common.turns_back(self.column, column)?;
        let rows = self.common.rows as usize;
        Some(&self.entries[back * rows..(back + 1) * rows])
    }

    /// Discards made while this stripe was open; the same on all columns.
    #[inline]
    pub fn discards(&self) -> &'a [Discard] {
        self.discards
    }

    /// Confirms that the header was read from where it says it is.
    pub fn at(self, group: GroupId, segment: SegmentId, column: u8, start_row: u32) -> Result<Self, StripeError> {
        let differs = match () {
            _ if self.common.group != group => "group",
            _ if self.common.segment != segment => "segment",
            _ if self.column != column => "column",
            _ if self.common.start_row != start_row => "start row",
            _ => return Ok(self),
        };
        Err(StripeError::Misplaced(differs))
    }
}

impl<'a> UnverifiedStripe<'a> {
    /// Checks the checksum, that the stripe belongs to the array with this tag, and that all fields make sense
    /// together.
    pub fn verify(self, array_tag: u64) -> Result<StripeHeader<'a>, StripeError> {
        let bytes = self.bytes;
        let Ok((raw, records)) = RawStripe::ref_from_prefix(bytes) else {
            return Err(StripeError::Truncated { have: bytes.len(), need: BLOCK });
        };
        let (stored, computed) = (raw.crc.get(), checksum::expected(bytes));
        if stored != computed {
            return Err(StripeError::Checksum { stored, computed });
        }
        let found = raw.array_tag.get();
        if found != array_tag {
            return Err(StripeError::OtherArray { found, expected: array_tag });
        }
        let common = raw.common()?;
        let (entries, discards) = raw.records(&common, records)?;
        Ok(StripeHeader { common, column: raw.column, entries, discards })
    }
}

impl RawStripe {
    fn common(&self) -> Result<StripeCommon, StripeError> {
        let Protection::FullStripe { parity } = Protection::from_byte(self.protection)?;
        let rotation = Rotation { data: self.data, parity, parity_start: self.parity_start };
        let width = u16::from(self.data) + u16::from(parity);
        let stream = Stream::from_byte(self.stream).ok_or(StripeError::Malformed("stream"))?;
        let end_row =
            u64::from(self.start_row.get()) + u64::from(self.header_blocks.get()) + u64::from(self.rows.get());
        let wrong = match () {
            _ if self.data == 0 || width > u16::from(MAX_WIDTH) => "group width",
            _ if u16::from(self.column) >= width => "column",
            _ if u16::from(self.parity_start) >= width => "parity placement",
            _ if self.rows.get() > MAX_STRIPE_ROWS => "height",
            _ if end_row > u64::from(MAX_SEGMENT_BLOCKS) => "place in the segment",
            _ => {
                return Ok(StripeCommon {
                    array_tag: self.array_tag.get(),
                    group: GroupId(self.group.get()),
                    segment: SegmentId(self.segment.get()),
                    segment_seq: self.segment_seq.get(),
                    stripe_seq: self.stripe_seq.get(),
                    session: self.session.get(),
                    durable: self.durable.get(),
                    opened: self.opened.get(),
                    start_row: self.start_row.get(),
                    header_blocks: u32::from(self.header_blocks.get()),
                    rows: self.rows.get(),
                    rotation,
                    stream,
                    reactor: ReactorId(self.reactor.get()),
                });
            }
        };
        Err(StripeError::Malformed(wrong))
    }

    fn records<'a>(
        &self,
        common: &StripeCommon,
        records: &'a [u8],
    ) -> Result<(&'a [Entry], &'a [Discard]), StripeError> {
        let count = common.entries_per_header();
        let (entries, rest) =
            <[Entry]>::ref_from_prefix_with_elems(records, count).map_err(|_| StripeError::Malformed("height"))?;
        let (discards, _) = <[Discard]>::ref_from_prefix_with_elems(rest, self.discards.get() as usize)
            .map_err(|_| StripeError::Malformed("number of discards"))?;
        if !entries.iter().all(Entry::is_known) {
            return Err(StripeError::Malformed("kind of block"));
        }
        if !discards.iter().all(Discard::is_in_range) {
            return Err(StripeError::Malformed("discarded address"));
        }
        Ok((entries, discards))
    }
}

#[cfg(test)]
#[path = "stripe_tests.rs"]
mod tests;
