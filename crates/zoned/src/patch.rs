//! How patches lie on the device: an area that begins with two copies of a header, and then has patches and free space.
//!
//! A patch is a block that describes it, and behind that the blocks that it has. The description names where these belong and carries the
//! CRC32C of each, so that one of which a power cut left a part is not taken for whole; a block that does not match was not
//! written. It also carries a secret that the header has, drawn when the area was made, and its own place: a client's data,
//! which lies in patches too, cannot pass for a description.
//!
//! Behind the headers are two copies of a record, while a zone is rewritten: it says that the zone's contents lie behind the area.
//!
//! All integers are little-endian.
//!
//! ```text
//! header       0 magic "CYGZAREA"   8 version   16 secret (16)   32 blocks of a zone   40 blocks of the area   4092 CRC32C
//! record       0 magic "CYGZSWAP"   8 zone   16 secret (16)   32 how many blocks of it are written   4092 CRC32C
//! description  0 magic "CYGPATCH"   8 sequence  16 secret (16)   32 its block on the device   40 the first block that it replaces
//!             48 how many (4 bytes)   64 CRC32C of each (4 bytes)   4092 CRC32C
//! ```

use std::ops::Range;

use cygnus_parity::checksum::crc32c;
use cygnus_types::BLOCK;

use crate::sealed::{OWN, is_sealed, put, seal, u32_at, u64_at};

const AREA: u64 = u64::from_le_bytes(*b"CYGZAREA");
const SWAP: u64 = u64::from_le_bytes(*b"CYGZSWAP");
const PATCH: u64 = u64::from_le_bytes(*b"CYGPATCH");
const VERSION: u64 = 1;
/// Where the checksums of a description's blocks begin.
const CHECKSUMS: usize = 64;

/// Most blocks of a patch: longer runs are several.
pub(crate) const MOST_BLOCKS: usize = 256;
const _: () = assert!(CHECKSUMS + MOST_BLOCKS * 4 <= OWN);

/// Copies of the header, at the start of the area, and of the record behind them.
pub(crate) const HEADERS: u64 = 2;
/// Blocks of both.
pub(crate) const FIXED: u64 = 2 * HEADERS;

/// What an area for patches begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AreaHeader {
    /// Drawn when the area was made.
    pub secret: [u8; 16],
    /// Blocks of a zone.
    pub zone: u64,
    /// Blocks of the area.
    pub blocks: u64,
}

/// A zone that is being rewritten: all that it holds lies behind the area too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwapRecord {
    /// Which zone.
    pub zone: u32,
    /// How many blocks of it are written, from its first one on.
    pub blocks: u64,
}

impl SwapRecord {
    /// Writes it to a block.
    pub fn encode_into(&self, secret: &[u8; 16], block: &mut [u8]) {
        block.fill(0);
        put(block, 0, &SWAP.to_le_bytes());
        put(block, 8, &u64::from(self.zone).to_le_bytes());
        put(block, 16, secret);
        put(block, 32, &self.blocks.to_le_bytes());
        seal(block);
    }

    /// The record that a block holds, if it holds one of this area.
    pub fn decode(block: &[u8], secret: &[u8; 16]) -> Option<Self> {
        if !is_sealed(block, SWAP) || block[16..32] != secret[..] {
            return None;
        }
        Some(Self { zone: u32::try_from(u64_at(block, 8)).ok()?, blocks: u64_at(block, 32) })
    }
}

/// The description of a patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// Of two that replace the same block the higher one counts.
    pub sequence: u64,
    /// The block of the device where the description lies.
    pub at: u64,
    /// The first block of the device that is replaced.
    pub first: u64,
    /// The CRC32C of each block.
    pub checksums: Vec<u32>,
}

impl AreaHeader {
    /// Writes it to a block.
    pub fn encode_into(&self, block: &mut [u8]) {
        block.fill(0);
        put(block, 0, &AREA.to_le_bytes());
        put(block, 8, &VERSION.to_le_bytes());
        put(block, 16, &self.secret);
        put(block, 32, &self.zone.to_le_bytes());
        put(block, 40, &self.blocks.to_le_bytes());
        seal(block);
    }

    /// The header that a block holds, if it holds one.
    pub fn decode(block: &[u8]) -> Option<Self> {
        if !is_sealed(block, AREA) || u64_at(block, 8) != VERSION {
            return None;
        }
        let secret = block[16..32].try_into().expect("sixteen bytes");
        Some(Self { secret, zone: u64_at(block, 32), blocks: u64_at(block, 40) })
    }
}

impl Patch {
    /// The description of these blocks.
    pub(crate) fn of(sequence: u64, at: u64, first: u64, blocks: &[u8]) -> Self {
        Self { sequence, at, first, checksums: blocks.chunks_exact(BLOCK).map(crc32c).collect() }
    }

    /// Blocks on the device, the description counted.
    pub(crate) fn extent(&self) -> Range<u64> {
        self.at..self.at + 1 + self.checksums.len() as u64
    }

    /// Writes it to a block.
    pub fn encode_into(&self, secret: &[u8; 16], block: &mut [u8]) {
        assert!(self.checksums.len() <= MOST_BLOCKS, "a patch of {} blocks", self.checksums.len());
        block.fill(0);
        put(block, 0, &PATCH.to_le_bytes());
        put(block, 8, &self.sequence.to_le_bytes());
        put(block, 16, secret);
        put(block, 32, &self.at.to_le_bytes());
        put(block, 40, &self.first.to_le_bytes());
        put(block, 48, &(self.checksums.len() as u32).to_le_bytes());
        for (n, checksum) in self.checksums.iter().enumerate() {
            put(block, CHECKSUMS + 4 * n, &checksum.to_le_bytes());
        }
        seal(block);
    }

    /// The description that the block `at` of the device holds, if it holds one that was written there in this area.
    pub fn decode(block: &[u8], secret: &[u8; 16], at: u64) -> Option<Self> {
        if !is_sealed(block, PATCH) || block[16..32] != secret[..] || u64_at(block, 32) != at {
            return None;
        }
        let count = u32_at(block, 48) as usize;
        if count == 0 || count > MOST_BLOCKS {
            return None;
        }
        let checksums = (0..count).map(|n| u32_at(block, CHECKSUMS + 4 * n)).collect();
        Some(Self { sequence: u64_at(block, 8), at, first: u64_at(block, 40), checksums })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_description_comes_back_as_it_was(sequence: u64, at: u64, first: u64, count in 1..=MOST_BLOCKS, secret: [u8; 16]) {
            let checksums = (0..count as u32).map(|n| n.wrapping_mul(0x9e37_79b9)).collect();
            let patch = Patch { sequence, at, first, checksums };
            let mut block = [7; BLOCK];
            patch.encode_into(&secret, &mut block);
            prop_assert_eq!(Patch::decode(&block, &secret, at), Some(patch));
            prop_assert_eq!(Patch::decode(&block, &secret, at ^ 1), None, "it lies elsewhere");
            let mut other = secret;
            other[3] ^= 1;
            prop_assert_eq!(Patch::decode(&block, &other, at), None, "another area's");
        }

        #[test]
        fn a_changed_bit_is_seen(bit in 0..BLOCK * 8) {
            let (secret, header) = ([9; 16], AreaHeader { secret: [9; 16], zone: 256, blocks: 4096 });
            let mut block = [0; BLOCK];
            Patch::of(3, 700, 9000, &[5; 3 * BLOCK]).encode_into(&secret, &mut block);
            block[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(Patch::decode(&block, &secret, 700), None);
            let record = SwapRecord { zone: 9, blocks: 77 };
            record.encode_into(&secret, &mut block);
            prop_assert_eq!(SwapRecord::decode(&block, &secret), Some(record));
            block[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(SwapRecord::decode(&block, &secret), None);
            header.encode_into(&mut block);
            prop_assert_eq!(AreaHeader::decode(&block), Some(header));
            block[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(AreaHeader::decode(&block), None);
        }
    }
}
