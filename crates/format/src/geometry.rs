//! The shape of an R-group's segments and stripes.
//!
//! A segment is a rectangle of `width` columns (one per member) and `segment_blocks` rows. Stripes lie in it one below
//! the other; each begins with `header_blocks` rows of headers:
//!
//! ```text
//!               column 0   column 1   column 2        (k = 2, m = 1, parity_start = 2)
//!   start_row   header     header     header          header_blocks rows
//!          +1   D0 slot 0  D1 slot 2  P               \  chunk_blocks = 2: slots fill a chunk
//!          +2   D0 slot 1  D1 slot 3  P               |  of data column 0, then of 1, ...
//!          +3   D0 slot 4  D1 slot 6  P               |
//!          +4   D0 slot 5  D1 slot 7  P               |
//!          +5   D0 slot 8  D1 slot 9  P               /  5 rows: the last chunks are short
//!   next stripe ...
//! ```

use std::collections::BTreeSet;
use std::ops::Range;

use cygnus_types::{BLOCK, Paging};

use crate::constants::{
    DATA_START, ENTRY_BYTES, MAX_LEAD_BLOCKS, MAX_PARITY, MAX_SEGMENT_BLOCKS, MAX_STRIPE_ROWS, MAX_TRANSIENT_BLOCKS,
    MAX_WIDTH, MIN_DISCARDS, MIN_DISCARDS_OF_TRIPLE, STRIPE_FIXED,
};
use crate::protection::Protection;
use crate::raid::Raid;

/// Shape of the segments and stripes of an R-group. All R-groups of an array have it in common but for their columns
/// ([`Geometry::with_raid`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Data columns (k), at least 1.
    pub data: u8,
    /// Parity columns (m), at most [`MAX_PARITY`].
    pub parity: u8,
    /// Striping unit in blocks: the number of consecutive slots of a stripe that lie on one column.
    pub chunk_blocks: u32,
    /// Rows of a full stripe; a multiple of `chunk_blocks`.
    pub stripe_rows: u32,
    /// Rows of a segment, that is blocks of a segment column.
    pub segment_blocks: u32,
    /// Blocks of each member's transient area, which lies before its segments and holds backup copies of what open stripes
    /// hold ([`crate::backup`]). 0 if stripes are only written whole.
    pub transient_blocks: u32,
    /// Blocks that are left free behind that and before the first segment, so that segments begin where zones do, behind what a
    /// device that is written in order keeps elsewhere. 0 without such members.
    pub lead_blocks: u32,
}

/// Why a geometry cannot be used; each message names the field and what to set it to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GeometryError {
    /// No data column, so nowhere for data.
    #[error("data columns (k) is 0: use at least 1")]
    NoData,
    /// More parity than the code gives.
    #[error("parity columns (m) is {0}: use 0 to {MAX_PARITY}")]
    TooMuchParity(u8),
    /// More columns than a group may have.
    #[error("group width (k + m) is {0}: use at most {MAX_WIDTH} columns, and more groups instead")]
    TooWide(u16),
    /// A chunk without blocks.
    #[error("chunk is 0 blocks: use at least 1 block (4 KiB)")]
    NoChunk,
    /// Full stripe not made of whole chunks.
    #[error("stripe height of {rows} rows is not a positive multiple of the chunk of {chunk} blocks: use a multiple")]
    StripeNotChunks {
        /// Rows of a full stripe.
        rows: u32,
        /// Blocks of a chunk; rows must be a multiple of these.
        chunk: u32,
    },
    /// More rows than a stripe's header can describe.
    #[error("stripe height is {0} rows: use at most {MAX_STRIPE_ROWS}")]
    StripeTooTall(u32),
    /// Segment too small for one full stripe.
    #[error("segment of {blocks} blocks per column does not hold one full stripe: use at least {needed} blocks")]
    SegmentTooSmall {
        /// Rows of a segment.
        blocks: u32,
        /// Rows a full stripe takes, headers included.
        needed: u32,
    },
    /// A transient area without parity, or too large.
    #[error("transient area of {0} blocks on each member: use at most {MAX_TRANSIENT_BLOCKS}, and none without parity")]
    Transient(u32),
    /// Segments begin too late.
    #[error("{0} blocks are left free before the first segment: use at most {MAX_LEAD_BLOCKS}")]
    Lead(u32),
    /// More rows than a segment may have.
    #[error("segment of {0} blocks per column: use at most {MAX_SEGMENT_BLOCKS} (64 GiB)")]
    SegmentTooLarge(u32),
}

impl Geometry {
    /// How many columns it has of either kind.
    #[inline]
    pub const fn raid(&self) -> Raid {
        Raid { data: self.data, parity: self.parity }
    }

    /// The shape of a group of the same array that has these columns.
    #[inline]
    pub const fn with_raid(&self, raid: Raid) -> Geometry {
        Geometry { data: raid.data, parity: raid.parity, ..*self }
    }

    /// Columns of an R-group, k + m.
    #[inline]
    pub const fn width(&self) -> u8 {
        self.data + self.parity
    }

    /// Bytes of a segment column, the unit a device is divided into.
    pub const fn segment_bytes(&self) -> u64 {
        self.segment_blocks as u64 * BLOCK as u64
    }

    /// Blocks of a segment over all its columns, headers and parity counted.
    #[inline]
    pub const fn frame_blocks(&self) -> u64 {
        (self.data as u64 + self.parity as u64) * self.segment_blocks as u64
    }

    /// Checks every field against its limits and against the others.
    pub fn validate(&self) -> Result<(), GeometryError> {
        let width = u16::from(self.data) + u16::from(self.parity);
        if self.data == 0 {
            return Err(GeometryError::NoData);
        }
        if self.parity > MAX_PARITY {
            return Err(GeometryError::TooMuchParity(self.parity));
        }
        if width > u16::from(MAX_WIDTH) {
            return Err(GeometryError::TooWide(width));
        }
        if self.chunk_blocks == 0 {
            return Err(GeometryError::NoChunk);
        }
        if self.stripe_rows == 0 || !self.stripe_rows.is_multiple_of(self.chunk_blocks) {
            return Err(GeometryError::StripeNotChunks { rows: self.stripe_rows, chunk: self.chunk_blocks });
        }
        if self.stripe_rows > MAX_STRIPE_ROWS {
            return Err(GeometryError::StripeTooTall(self.stripe_rows));
        }
        let needed = self.header_blocks(self.stripe_rows) + self.stripe_rows;
        if self.segment_blocks < needed {
            return Err(GeometryError::SegmentTooSmall { blocks: self.segment_blocks, needed });
        }
        if self.segment_blocks > MAX_SEGMENT_BLOCKS {
            return Err(GeometryError::SegmentTooLarge(self.segment_blocks));
        }
        if self.transient_blocks > MAX_TRANSIENT_BLOCKS || self.transient_blocks > 0 && self.parity == 0 {
            return Err(GeometryError::Transient(self.transient_blocks));
        }
        if self.lead_blocks > MAX_LEAD_BLOCKS {
            return Err(GeometryError::Lead(self.lead_blocks));
        }
        Ok(())
    }

    /// Whole segment columns that fit on a device of `bytes`.
    pub const fn segments_on(&self, bytes: u64) -> u64 {
        bytes.saturating_sub(self.segments_start()) / self.segment_bytes()
    }

    /// Byte offset, on any member of the group, of row `row` of segment `segment`.
    #[inline]
    pub const fn device_offset(&self, segment: u32, row: u32) -> u64 {
        self.segments_start() + (segment as u64 * self.segment_blocks as u64 + row as u64) * BLOCK as u64
    }

    /// Byte offset of the first segment on any member.
    #[inline]
    pub const fn segments_start(&self) -> u64 {
        DATA_START + (self.transient_blocks as u64 + self.lead_blocks as u64) * BLOCK as u64
    }

    /// Byte offset, on any member, of a block of its transient area.
    #[inline]
    pub const fn transient_offset(&self, block: u32) -> u64 {
        DATA_START + block as u64 * BLOCK as u64
    }

    /// Columns whose entries each copy of a header has: see [`Rotation::tables`].
    #[inline]
    pub const fn header_tables(&self) -> u8 {
        tables(self.data, self.parity)
    }

    /// Copies of a header on each column: see [`Rotation::copies`].
    #[inline]
    pub const fn header_copies(&self) -> u32 {
        copies(self.data)
    }

    /// How often each page of a checkpoint is written: twice where no parity restores it.
    #[inline]
    pub const fn checkpoint_copies(&self) -> u32 {
        if self.parity == 0 { 2 } else { 1 }
    }

    /// Blocks of header, on each column, of a stripe opened for `rows` rows: in each copy the fixed part, the entries of
    /// [`Geometry::header_tables`] columns and room for [`Geometry::min_discards`]. A stripe closed at a lower height keeps the
    /// header it was opened with, since the addresses of its blocks were given out before.
    #[inline]
    pub const fn header_blocks(&self, rows: u32) -> u32 {
        let entries = self.header_tables() as usize * rows as usize;
        self.header_copies() * (STRIPE_FIXED + (entries + self.min_discards()) * ENTRY_BYTES).div_ceil(BLOCK) as u32
    }

    /// Discards that a header has room for beside the entries of its stripe.
    pub const fn min_discards(&self) -> usize {
        if self.parity < MAX_PARITY { MIN_DISCARDS } else { MIN_DISCARDS_OF_TRIPLE }
    }

    /// Discards that fit in a header of `header_blocks` blocks beside the entries of a stripe of `rows` rows.
    pub const fn discard_capacity(&self, header_blocks: u32, rows: u32) -> usize {
        let room = (header_blocks / self.header_copies()) as usize * BLOCK - STRIPE_FIXED;
        (room / ENTRY_BYTES).saturating_sub(self.header_tables() as usize * rows as usize)
    }

    /// Greatest height of a stripe that begins at `start_row` of a segment: `stripe_rows`, or what the segment has
    /// left after the header. Zero when not one row of data fits.
    pub const fn full_rows_at(&self, start_row: u32) -> u32 {
        let left = self.segment_blocks.saturating_sub(start_row);
        let mut rows = if left < self.stripe_rows { left } else { self.stripe_rows };
        // A row less frees at least a row, so this ends after as many steps as the header has blocks.
        while rows > 0 && self.header_blocks(rows) + rows > left {
            rows -= 1;
        }
        rows
    }

    /// Whether each page of a volume can lie on one column, one behind the other.
    pub const fn holds_pages_of(&self, paging: Paging) -> bool {
        self.chunk_blocks.is_multiple_of(paging.blocks() as u32)
    }

    /// Data blocks of a stripe of `rows` rows.
    #[inline]
    pub const fn slots(&self, rows: u32) -> u32 {
        rows * self.data as u32
    }

    /// Where the `slot`-th data block of a stripe opened for `rows` rows goes: (data column, row below the header).
    /// A bijection from `0..slots(rows)`; `slot` must lie in that range.
    #[inline]
    pub const fn slot_place(&self, slot: u32, rows: u32) -> (u8, u32) {
        debug_assert!(slot < self.slots(rows));
        let band = slot / (self.chunk_blocks * self.data as u32);
        let top = band * self.chunk_blocks;
        let height = self.band_height(top, rows);
        let within = slot - top * self.data as u32;
        ((within / height) as u8, top + within % height)
    }

    /// The slot at a data column and row of a stripe opened for `rows` rows; the inverse of [`Geometry::slot_place`].
    #[inline]
    pub const fn slot_at(&self, column: u8, row: u32, rows: u32) -> u32 {
        debug_assert!(column < self.data && row < rows);
        let top = row / self.chunk_blocks * self.chunk_blocks;
        top * self.data as u32 + column as u32 * self.band_height(top, rows) + (row - top)
    }

    /// The rows in which these slots of a stripe opened for `rows` rows lie, in ascending order, each once.
    pub fn rows_of(&self, slots: Range<u32>, rows: u32) -> impl Iterator<Item = u32> + use<> {
        let of_slots: BTreeSet<u32> = slots.map(|slot| self.slot_place(slot, rows).1).collect();
        of_slots.into_iter()
    }

    /// The first slot at or after `slot` from which on this many lie one behind the other on one column of a stripe opened for `rows`
    /// rows, if there are such slots.
    pub const fn run_from(&self, slot: u32, blocks: u32, rows: u32) -> Option<u32> {
        let mut slot = slot;
        while slot + blocks <= self.slots(rows) {
            let (_, row) = self.slot_place(slot, rows);
            let top = row / self.chunk_blocks * self.chunk_blocks;
            let left = top + self.band_height(top, rows) - row;
            // On a single column bands follow each other.
            if left >= blocks || self.data == 1 {
                return Some(slot);
            }
            slot += left;
        }
        None
    }

    /// Height at which a stripe opened for `rows` rows closes when its first `used` slots are filled: the least that
    /// covers them all.
    pub const fn closing_rows(&self, used: u32, rows: u32) -> u32 {
        if used == 0 {
            return 0;
        }
        let (column, row) = self.slot_place(used - 1, rows);
        if column == 0 {
            return row + 1;
        }
        let top = row / self.chunk_blocks * self.chunk_blocks;
        top + self.band_height(top, rows)
    }

    /// Rows of the band of chunks that begins at row `top`: a chunk, or less at the end of the stripe.
    #[inline]
    const fn band_height(&self, top: u32, rows: u32) -> u32 {
        let left = rows - top;
        if left < self.chunk_blocks { left } else { self.chunk_blocks }
    }

    /// The assignment of data and parity to physical columns for a stripe with this `parity_start`.
    pub const fn rotation(&self, parity_start: u8) -> Rotation {
        Rotation { data: self.data, parity: self.parity, parity_start }
    }

    /// What segments of this shape are protected by.
    #[inline]
    pub const fn protection(&self) -> Protection {
        Protection::FullStripe { parity: self.parity }
    }

    /// The shape of segments of the same array that are protected so; `None` if the columns are too few for that.
    #[inline]
    pub const fn protected_by(&self, protection: Protection) -> Option<Geometry> {
        match protection.columns(self.width(), 0) {
            Some(Rotation { data, parity, .. }) => Some(Geometry { data, parity, ..*self }),
            None => None,
        }
    }

    /// Data blocks that a segment holds when it is filled with full stripes.
    pub const fn capacity(&self) -> u32 {
        let (mut row, mut blocks) = (0, 0);
        loop {
            let rows = self.full_rows_at(row);
            if rows == 0 {
                return blocks;
            }
            blocks += self.slots(rows);
            row += self.header_blocks(rows) + rows;
        }
    }

    /// Data blocks that a segment holds for certain when full stripes are filled with pages of `page` blocks and with single blocks, in
    /// any order: a page that does not fit behind the blocks before it leaves slots out, which later blocks fill.
    pub const fn capacity_of_pages(&self, page: u32) -> u32 {
        let (mut row, mut blocks) = (0, 0);
        loop {
            let rows = self.full_rows_at(row);
            if rows == 0 {
                return blocks;
            }
            let in_last_band = rows % self.chunk_blocks / page * page;
            let slots = self.slots(rows / self.chunk_blocks * self.chunk_blocks + in_last_band);
            blocks += slots.saturating_sub(page - 1);
            row += self.header_blocks(rows) + rows;
        }
    }

    /// Members of a group that may be lost, any of them, and everything can be restored.
    #[inline]
    pub const fn losses(&self) -> usize {
        self.protection().losses()
    }
}

/// What a physical column holds in one stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The data column of this number, `0..k`.
    Data(u8),
    /// The parity column of this number, `0..m` (0 is P, 1 is Q, 2 is R).
    Parity(u8),
}

/// Which physical column holds what in one stripe: parity from `parity_start` on, then the data, both round the group.
/// A constant `parity_start` is RAID-4, one that moves with the stripe RAID-5 or RAID-6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rotation {
    /// Data columns, k.
    pub data: u8,
    /// Parity columns, m.
    pub parity: u8,
    /// Physical column of the first parity column; less than k + m.
    pub parity_start: u8,
}

impl Rotation {
    /// Physical column of data column `d`.
    #[inline]
    pub const fn data_column(&self, d: u8) -> u8 {
        (self.parity_start + self.parity + d) % (self.data + self.parity)
    }

    /// Physical column of parity column `p`.
    #[inline]
    pub const fn parity_column(&self, p: u8) -> u8 {
        (self.parity_start + p) % (self.data + self.parity)
    }

    /// What physical column `column` holds.
    #[inline]
    pub const fn role(&self, column: u8) -> Role {
        let width = self.data + self.parity;
        let turned = (column + width - self.parity_start) % width;
        if turned < self.parity { Role::Parity(turned) } else { Role::Data(turned - self.parity) }
    }

    /// Columns of the group, k + m.
    #[inline]
    pub const fn width(&self) -> u8 {
        self.data + self.parity
    }

    /// What the segment is protected by.
    #[inline]
    pub const fn protection(&self) -> Protection {
        Protection::FullStripe { parity: self.parity }
    }

    /// Columns that may be lost, any of them, and everything can be restored.
    #[inline]
    pub const fn losses(&self) -> usize {
        self.protection().losses()
    }

    /// Columns from which all others can be restored, any of them; and how many hold data.
    #[inline]
    pub const fn needed(&self) -> usize {
        self.data as usize
    }

    /// Whether this many columns are enough to restore the others.
    #[inline]
    pub const fn restores(&self, columns: usize) -> bool {
        columns >= self.needed()
    }

    /// Physical column of a logical one: first come those of data, then those that are redundant.
    #[inline]
    pub const fn physical(&self, logical: u8) -> u8 {
        if logical < self.data { self.data_column(logical) } else { self.parity_column(logical - self.data) }
    }

    /// The logical column of a physical one, the inverse of [`Rotation::physical`].
    #[inline]
    pub const fn logical(&self, column: u8) -> usize {
        match self.role(column) {
            Role::Data(d) => d as usize,
            Role::Parity(p) => self.data as usize + p as usize,
        }
    }

    /// The physical columns, in the order of the logical ones.
    #[inline]
    pub fn physical_columns(self) -> impl Iterator<Item = u8> {
        (0..self.width()).map(move |logical| self.physical(logical))
    }

    /// Whether a physical column holds data.
    #[inline]
    pub const fn is_data(&self, column: u8) -> bool {
        matches!(self.role(column), Role::Data(_))
    }

    /// The physical columns from which one that is lost is restored, in the order of the logical ones.
    #[inline]
    pub fn others(self, lost: u8) -> impl Iterator<Item = u8> {
        self.physical_columns().filter(move |&column| column != lost)
    }

    /// Columns whose entries each copy of a stripe's header has: its own column's and those of the columns before it, round
    /// the group. With m + 2 of them, any m members can be away and one more copy be spoiled, and every entry is still
    /// known. A group with one data column has fewer columns than that; each of its headers is there twice instead.
    #[inline]
    pub const fn tables(&self) -> u8 {
        tables(self.data, self.parity)
    }

    /// Copies of the header on each column, one behind the other.
    #[inline]
    pub const fn copies(&self) -> u32 {
        copies(self.data)
    }
}

const fn tables(data: u8, parity: u8) -> u8 {
    if data > 1 { parity + 2 } else { data + parity }
}

pub(crate) const fn copies(data: u8) -> u32 {
    if data == 1 { 2 } else { 1 }
}

#[cfg(test)]
#[path = "geometry_tests.rs"]
mod tests;
