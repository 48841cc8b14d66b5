//! The write-intent log of an array that updates in place: one bit for each region of its members, set durably before
//! anything in the region is written and cleared when it has been quiet and flushed. After a crash only regions whose bit
//! is set can have copies or parity that do not fit their data.
//!
//! The log is a row of blocks in the room between the superblocks and the data, the same on every member. Each block is
//! written by itself, in place: blocks of 4 KiB are not torn, and one that is unreadable all the same, or not what was
//! written, counts as one whose bits are all set.

use cygnus_types::BLOCK;
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, FromZeros, IntoBytes};

use crate::checksum;
use crate::constants::{MAX_SEGMENTS, PROBE_OFFSET, SUPERBLOCK_AREA};

/// First bytes of every block of the log.
pub const INTENT_MAGIC: [u8; 8] = *b"CYGNUSWI";

/// Byte offset of the log on a member.
pub const INTENT_OFFSET: u64 = SUPERBLOCK_AREA;

/// Bytes of the fixed part of a block; the bits follow it.
pub const INTENT_FIXED: usize = 64;

/// Regions that one block tells of.
pub const INTENT_REGIONS: u32 = ((BLOCK - INTENT_FIXED) * 8) as u32;

on_disk! {
    /// The fixed part of a block of the write-intent log.
    pub(crate) struct RawIntent: 64 bytes {
        /// `CYGNUSWI`
        magic: [u8; 8],
        /// CRC32C of the rest of the block
        crc: U32,
        /// number of this block; its first region is 32256 times that
        index: U32,
        /// UUID of the array folded to 64 bits: its two halves exclusive-ored
        array_tag: U64,
        /// session in which it was written
        session: U64,
        /// zero
        reserved: [u8; 32],
    }
}

const _: () = {
    assert!(size_of::<RawIntent>() == INTENT_FIXED && std::mem::offset_of!(RawIntent, crc) == checksum::CRC_OFFSET);
    assert!(INTENT_OFFSET + blocks_for(MAX_SEGMENTS) as u64 * BLOCK as u64 <= PROBE_OFFSET, "the longest log fits");
};

/// Blocks of a log for `regions` regions.
pub const fn blocks_for(regions: u32) -> u32 {
    regions.div_ceil(INTENT_REGIONS)
}

/// A verified block of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntentBlock {
    /// Number of the block.
    pub index: u32,
    /// Session in which it was written.
    pub session: u64,
    bits: Vec<u8>,
}

/// A block whose checksum was not compared yet.
#[derive(Clone, Copy, Debug)]
pub struct UnverifiedIntent<'a> {
    block: &'a [u8; BLOCK],
}

/// Why bytes are no block of a log; all regions of that block count as written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IntentError {
    /// Not 4096 bytes.
    #[error("a block of the write-intent log has 4096 bytes, not {0}")]
    Length(usize),
    /// Something else, or nothing, is here.
    #[error("no block of a write-intent log here")]
    NotALog,
    /// Torn or rotten.
    #[error("write-intent log: checksum is {stored:08x} but should be {computed:08x}")]
    Checksum {
        /// Checksum on disk.
        stored: u32,
        /// Checksum of the bytes.
        computed: u32,
    },
    /// Of another array, or another block.
    #[error("write-intent log: this block belongs elsewhere")]
    Elsewhere,
}

impl IntentBlock {
    /// A block with no bit set.
    pub fn new(index: u32, session: u64) -> Self {
        Self { index, session, bits: vec![0; BLOCK - INTENT_FIXED] }
    }

    /// Sets or clears the bit of the `n`-th region of this block, below [`INTENT_REGIONS`].
    pub fn set(&mut self, n: u32, dirty: bool) {
        let (byte, bit) = ((n / 8) as usize, 1 << (n % 8));
        if dirty {
            self.bits[byte] |= bit;
        } else {
            self.bits[byte] &= !bit;
        }
    }

    /// Whether the bit of the `n`-th region of this block is set.
    pub fn get(&self, n: u32) -> bool {
        self.bits[(n / 8) as usize] >> (n % 8) & 1 == 1
    }

    /// The bytes to write, for the array of this tag.
    pub fn encode(&self, array_tag: u64) -> [u8; BLOCK] {
        let mut block = [0; BLOCK];
        let raw = RawIntent {
            magic: INTENT_MAGIC,
            index: U32::new(self.index),
            array_tag: U64::new(array_tag),
            session: U64::new(self.session),
            ..RawIntent::new_zeroed()
        };
        block[..INTENT_FIXED].copy_from_slice(raw.as_bytes());
        block[INTENT_FIXED..].copy_from_slice(&self.bits);
        checksum::seal(&mut block);
        block
    }

    /// Takes a block for one of a log.
    ///
    /// # Errors
    /// [`IntentError::Length`] or [`IntentError::NotALog`].
    pub fn decode(bytes: &[u8]) -> Result<UnverifiedIntent<'_>, IntentError> {
        let block: &[u8; BLOCK] = bytes.try_into().map_err(|_| IntentError::Length(bytes.len()))?;
        if block[..8] == INTENT_MAGIC { Ok(UnverifiedIntent { block }) } else { Err(IntentError::NotALog) }
    }
}

impl UnverifiedIntent<'_> {
    /// Checks the checksum, and that this is block `index` of the array of this tag.
    ///
    /// # Errors
    /// [`IntentError::Checksum`] or [`IntentError::Elsewhere`].
    pub fn verify(self, array_tag: u64, index: u32) -> Result<IntentBlock, IntentError> {
        let Ok((raw, bits)) = RawIntent::ref_from_prefix(self.block) else {
            return Err(IntentError::Length(self.block.len()));
        };
        let (stored, computed) = (raw.crc.get(), checksum::expected(self.block));
        if stored != computed {
            return Err(IntentError::Checksum { stored, computed });
        }
        if raw.array_tag.get() != array_tag || raw.index.get() != index {
            return Err(IntentError::Elsewhere);
        }
        Ok(IntentBlock { index, session: raw.session.get(), bits: bits.to_vec() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn blocks_round_trip_and_a_flipped_bit_is_seen(
            set in prop::collection::btree_set(0..INTENT_REGIONS, 0..50), tag: u64, session: u64, flip in 0..BLOCK * 8,
        ) {
            let mut block = IntentBlock::new(3, session);
            set.iter().for_each(|&n| block.set(n, true));
            let mut bytes = block.encode(tag);
            let read = IntentBlock::decode(&bytes).unwrap().verify(tag, 3).unwrap();
            prop_assert!((0..INTENT_REGIONS).all(|n| read.get(n) == set.contains(&n)));
            prop_assert_eq!(read, block);
            bytes[flip / 8] ^= 1 << (flip % 8);
            prop_assert!(IntentBlock::decode(&bytes).and_then(|b| b.verify(tag, 3)).is_err());
        }
    }

    #[test]
    fn what_belongs_elsewhere_is_refused() {
        let bytes = IntentBlock::new(0, 1).encode(7);
        assert_eq!(IntentBlock::decode(&bytes).unwrap().verify(8, 0).unwrap_err(), IntentError::Elsewhere);
        assert_eq!(IntentBlock::decode(&bytes).unwrap().verify(7, 1).unwrap_err(), IntentError::Elsewhere);
        assert_eq!(IntentBlock::decode(&[0; BLOCK]).unwrap_err(), IntentError::NotALog);
        assert_eq!(IntentBlock::decode(&[0; 512]).unwrap_err(), IntentError::Length(512));
    }
}
