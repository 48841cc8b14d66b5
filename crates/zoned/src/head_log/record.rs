//! How the log's records lie on the device: each is a block that says what it is, and behind that the blocks that it has.
//!
//! A side begins with a record of its own, twice, and says in another, twice, that it is complete: until then the other side counts.
//! Records carry a secret that is drawn for each side that is begun, and their own place, so that a client's data, which lies in the log
//! as contents of patches, cannot pass for a record. The blocks of a record are checksummed, as a power cut may leave a part of them.
//!
//! All integers are little-endian.
//!
//! ```text
//! record       0 magic "CYGHEADL"   8 version (4)  12 what: 1 begins, 2 blocks, 3 complete (4)   16 secret (16)   32 its block on the device
//!             40 generation of the side   48 the first block of the head   56 how many (4)   64 CRC32C of each (4 bytes)   4092 CRC32C
//! ```

use cygnus_parity::checksum::crc32c;
use cygnus_types::BLOCK;

use crate::sealed::{OWN, is_sealed, put, seal, u32_at, u64_at};

const MAGIC: u64 = u64::from_le_bytes(*b"CYGHEADL");
const VERSION: u32 = 1;
/// Where the checksums of a record's blocks begin.
const CHECKSUMS: usize = 64;

/// Most blocks of a record: longer runs are several.
pub(crate) const MOST_BLOCKS: u64 = 256;
const _: () = assert!(CHECKSUMS + MOST_BLOCKS as usize * 4 <= OWN);

/// What a record of a head log says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A side begins.
    Begins,
    /// Contents of blocks of the head lie behind it.
    Blocks {
        /// The first of these blocks.
        first: u64,
        /// The CRC32C of each.
        checksums: Vec<u32>,
    },
    /// The side holds all that the head holds, and counts from now on.
    Complete,
}

/// A record of a head log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogRecord {
    /// Which side is newer: the one with the higher number.
    pub generation: u64,
    /// Drawn when the side was begun.
    pub secret: [u8; 16],
    /// The block of the device where the record lies.
    pub at: u64,
    /// What it says.
    pub what: What,
}

impl What {
    /// That these contents lie behind the record.
    pub(crate) fn of(first: u64, blocks: &[u8]) -> Self {
        Self::Blocks { first, checksums: blocks.chunks_exact(BLOCK).map(crc32c).collect() }
    }
}

impl LogRecord {
    /// Writes it to a block.
    pub fn encode_into(&self, block: &mut [u8]) {
        block.fill(0);
        let (kind, first, checksums) = match &self.what {
            What::Begins => (1u32, 0, [].as_slice()),
            What::Blocks { first, checksums } => (2, *first, checksums.as_slice()),
            What::Complete => (3, 0, [].as_slice()),
        };
        assert!(checksums.len() as u64 <= MOST_BLOCKS, "a record of {} blocks", checksums.len());
        put(block, 0, &MAGIC.to_le_bytes());
        put(block, 8, &VERSION.to_le_bytes());
        put(block, 12, &kind.to_le_bytes());
        put(block, 16, &self.secret);
        put(block, 32, &self.at.to_le_bytes());
        put(block, 40, &self.generation.to_le_bytes());
        put(block, 48, &first.to_le_bytes());
        put(block, 56, &(checksums.len() as u32).to_le_bytes());
        for (n, checksum) in checksums.iter().enumerate() {
            put(block, CHECKSUMS + 4 * n, &checksum.to_le_bytes());
        }
        seal(block);
    }

    /// The record that the block `at` of the device holds, if it holds one that was written there.
    pub fn decode(block: &[u8], at: u64) -> Option<Self> {
        if !is_sealed(block, MAGIC) || u32_at(block, 8) != VERSION || u64_at(block, 32) != at {
            return None;
        }
        let count = u64::from(u32_at(block, 56));
        let what = match (u32_at(block, 12), count) {
            (1, 0) => What::Begins,
            (3, 0) => What::Complete,
            (2, 1..=MOST_BLOCKS) => {
                let checksums = (0..count as usize).map(|n| u32_at(block, CHECKSUMS + 4 * n)).collect();
                What::Blocks { first: u64_at(block, 48), checksums }
            }
            _ => return None,
        };
        let secret = block[16..32].try_into().expect("sixteen bytes");
        Some(Self { generation: u64_at(block, 40), secret, at, what })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_record_comes_back_as_it_was(generation: u64, secret: [u8; 16], at: u64, first: u64, count in 0..=MOST_BLOCKS) {
            let checksums: Vec<u32> = (0..count as u32).map(|n| n.wrapping_mul(0x9e37_79b9)).collect();
            let blocks = What::Blocks { first, checksums };
            for what in [What::Begins, What::Complete, blocks].into_iter().take(if count == 0 { 2 } else { 3 }) {
                let record = LogRecord { generation, secret, at, what };
                let mut block = [7; BLOCK];
                record.encode_into(&mut block);
                prop_assert_eq!(LogRecord::decode(&block, at ^ 1), None, "it lies elsewhere");
                prop_assert_eq!(LogRecord::decode(&block, at), Some(record));
            }
        }

        #[test]
        fn a_changed_bit_of_a_record_is_seen(bit in 0..BLOCK * 8) {
            let mut block = [0; BLOCK];
            LogRecord { generation: 3, secret: [9; 16], at: 40, what: What::of(7, &[1; 3 * BLOCK]) }.encode_into(&mut block);
            block[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(LogRecord::decode(&block, 40), None);
        }
    }
}
