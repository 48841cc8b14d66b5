//! What the headers of one stripe have in common, for those who keep very many of them and would keep equal parts once.
//!
//! Nothing here verifies anything: whatever the bytes are, the parts cover the block, so it can be put together again.

use std::ops::Range;

use cygnus_types::BLOCK;
use zerocopy::FromBytes;

use crate::checksum::CRC_OFFSET;
use crate::constants::{ENTRY_BYTES, STRIPE_FIXED};
use crate::protection::Protection;
use crate::stripe::{RawStripe, STRIPE_MAGIC};

/// Bytes of the fixed part in which each column's header differs from the others': its checksum, its column.
pub const OWN_BYTES: [Range<usize>; 2] = [CRC_OFFSET..CRC_OFFSET + 4, COLUMN..COLUMN + 1];

const COLUMN: usize = std::mem::offset_of!(RawStripe, column);

/// How the first block of a stripe's header divides: the fixed part, tables of entries, the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderParts {
    table_bytes: usize,
    tables: usize,
}

impl HeaderParts {
    /// The parts of a block that begins as a stripe's header does. The fixed part alone tells.
    pub fn of(block: &[u8]) -> Option<Self> {
        let (raw, _) = RawStripe::read_from_prefix(block).ok()?;
        let protection = Protection::from_byte(raw.protection).ok()?;
        let parts = Self {
            table_bytes: (raw.rows.get() as usize).min(BLOCK / ENTRY_BYTES) * ENTRY_BYTES,
            // As `Rotation::tables` has it, for bytes that may be anything.
            tables: protection.losses() + if raw.data > 1 { 2 } else { 1 },
        };
        (raw.magic == STRIPE_MAGIC).then_some(parts)
    }

    /// Where the table of each column that is described lies, whole or as far as the block goes; in order, from the end
    /// of the fixed part on, without gaps. Each table is in several columns' headers.
    pub fn tables(self) -> impl Iterator<Item = Range<usize>> {
        let start = move |n: usize| (STRIPE_FIXED + n * self.table_bytes).min(BLOCK);
        (0..self.tables).map(move |n| start(n)..start(n + 1)).take_while(|range| !range.is_empty())
    }

    /// What lies behind the tables: discards, zeros.
    pub fn rest(self) -> Range<usize> {
        (STRIPE_FIXED + self.tables * self.table_bytes).min(BLOCK)..BLOCK
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_any_header_cover_its_block() {
        for (rows, parity, tables) in [(49_u32, 1_u8, 3), (37, 2, 4), (0, 1, 0), (u32::MAX, 3, 1), (1, 3, 5)] {
            let mut block = [0; BLOCK];
            block[..8].copy_from_slice(&STRIPE_MAGIC);
            let rows_at = std::mem::offset_of!(RawStripe, rows);
            block[rows_at..rows_at + 4].copy_from_slice(&rows.to_le_bytes());
            block[std::mem::offset_of!(RawStripe, protection)] = Protection::FullStripe { parity }.to_byte();
            block[std::mem::offset_of!(RawStripe, data)] = 7;
            let parts = HeaderParts::of(&block[..STRIPE_FIXED]).expect("it begins like a header");
            let ranges: Vec<_> = parts.tables().chain([parts.rest()]).collect();
            assert_eq!(ranges[0].start, STRIPE_FIXED);
            assert!(ranges.windows(2).all(|pair| pair[0].end == pair[1].start), "{ranges:?}");
            assert_eq!(ranges.last().map(|rest| rest.end), Some(BLOCK));
            assert!(ranges.len() > tables, "{rows} rows, {parity} parity columns: {ranges:?}");
        }
        assert_eq!(HeaderParts::of(&[0; BLOCK]), None);
        assert_eq!(HeaderParts::of(&STRIPE_MAGIC), None);
        let mut unknown = [0xff; BLOCK];
        unknown[..8].copy_from_slice(&STRIPE_MAGIC);
        assert_eq!(HeaderParts::of(&unknown), None);
    }
}
