//! What is known of a block beside the block: two records, of which one fits it.
//!
//! A record has the block's checksum, the bytes beside it, and a number that rises with each write. A write first puts the new
//! record where the one that does not fit is, and then the block. So whenever the server is killed, one of the two records
//! fits the block as it is: the old one if the block was not written any more, else the new one. If both fit, the block was written
//! anew with the contents that it had, and the new record counts. That a record of another write fits by chance takes two
//! blocks of the same CRC32C, one after the other at one place, and a server killed between the two: one kill in 2^32.

use cygnus_ssdlink::crc32c;

/// Most bytes beside a block.
pub(crate) const OOB: usize = 128;
const RECORD: usize = 144;
/// Length of the two records of a block.
pub(crate) const PAIR_BYTES: usize = 2 * RECORD;

/// One record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// Which write of the block it was; from 1.
    pub(crate) number: u64,
    /// CRC32C of the block.
    pub(crate) block_crc: u32,
    /// What is beside the block, continued with zeros.
    pub(crate) oob: [u8; OOB],
}

impl Record {
    fn encode(&self) -> [u8; RECORD] {
        let mut bytes = [0; RECORD];
        bytes[..8].copy_from_slice(&self.number.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.block_crc.to_le_bytes());
        bytes[12..12 + OOB].copy_from_slice(&self.oob);
        let checksum = crc32c(&bytes[..RECORD - 4]);
        bytes[RECORD - 4..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// `None`: nothing was stored there, or it is not whole.
    fn decode(bytes: &[u8]) -> Option<Self> {
        let number = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes"));
        let checksum = u32::from_le_bytes(bytes[RECORD - 4..RECORD].try_into().expect("four bytes"));
        if number == 0 || crc32c(&bytes[..RECORD - 4]) != checksum {
            return None;
        }
        let block_crc = u32::from_le_bytes(bytes[8..12].try_into().expect("four bytes"));
        Some(Self { number, block_crc, oob: bytes[12..12 + OOB].try_into().expect("as many bytes") })
    }
}

/// The two records of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pair([Option<Record>; 2]);

impl Pair {
    pub(crate) fn decode(bytes: &[u8]) -> Self {
        Self([Record::decode(&bytes[..RECORD]), Record::decode(&bytes[RECORD..])])
    }

    /// Of a block that has no records and this checksum: it has nothing beside it, and a write that is cut short leaves it so.
    pub(crate) fn unwritten(block_crc: u32) -> Self {
        Self([Some(Record { number: 1, block_crc, oob: [0; OOB] }), None])
    }

    /// Whether the block was never written, or trimmed since.
    pub(crate) fn is_empty(&self) -> bool {
        self.0 == [None, None]
    }

    /// The newer one.
    pub(crate) fn newest(&self) -> Option<&Record> {
        self.0.iter().flatten().max_by_key(|record| record.number)
    }

    /// The one that fits a block with this checksum.
    pub(crate) fn fitting(&self, block_crc: u32) -> Option<&Record> {
        self.0.iter().flatten().filter(|record| record.block_crc == block_crc).max_by_key(|record| record.number)
    }

    /// The pair after a write whose record is this: in place of the record that does not `count`.
    pub(crate) fn after(mut self, counts: Option<Record>, block_crc: u32, oob: [u8; OOB]) -> Self {
        let number = self.newest().map_or(0, |newest| newest.number) + 1;
        let keep = self.0.iter().position(|record| record.is_some() && *record == counts);
        let place = keep.map_or(0, |keep| 1 - keep);
        self.0[place] = Some(Record { number, block_crc, oob });
        self
    }

    pub(crate) fn encode(&self) -> [u8; PAIR_BYTES] {
        let mut bytes = [0; PAIR_BYTES];
        for (record, place) in self.0.iter().zip(bytes.chunks_exact_mut(RECORD)) {
            if let Some(record) = record {
                place.copy_from_slice(&record.encode());
            }
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_pair_survives_being_written_and_a_torn_record_counts_as_none() {
        let empty = Pair::decode(&[0; PAIR_BYTES]);
        assert!(empty.is_empty());
        let first = empty.after(None, 7, [1; OOB]);
        let second = first.after(first.newest().copied(), 8, [2; OOB]);
        assert_eq!(Pair::decode(&second.encode()), second);
        assert_eq!(second.fitting(7).unwrap().oob, [1; OOB]);
        assert_eq!(second.fitting(8).unwrap().oob, [2; OOB]);
        assert_eq!(second.fitting(9), None);
        let mut torn = second.encode();
        torn[RECORD + 20] ^= 1;
        assert_eq!(Pair::decode(&torn).newest().unwrap().block_crc, 7);
    }

    proptest! {
        /// Writes of few different contents, each of which may be cut short before its block is written.
        #[test]
        fn a_block_has_what_came_with_it_however_often_the_server_is_killed(
            writes in proptest::collection::vec((0_u32..4, any::<u8>(), any::<bool>()), 1..40),
        ) {
            let (mut block, mut beside) = (0, 0);
            let mut pair = Pair::unwritten(block);
            for (content, tag, killed) in writes {
                let counts = pair.fitting(block).copied();
                pair = Pair::decode(&pair.after(counts, content, [tag; OOB]).encode());
                if !killed || block == content {
                    (block, beside) = (content, tag);
                }
                prop_assert_eq!(pair.fitting(block).map(|record| record.oob), Some([beside; OOB]));
            }
        }
    }
}
