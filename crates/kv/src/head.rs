//! The volume's first block: which half is in force. It is written as a whole or not at all, as each block of an array is.

use cygnus_parity::checksum::crc32c;
use cygnus_types::BLOCK;

use crate::error::Error;
use crate::record::LONGEST;

const MAGIC: [u8; 8] = *b"CYGNUSKV";
const VERSION: u32 = 1;

/// Bytes of the smallest volume: two halves of a record of each kind.
pub(crate) const LEAST: u64 = (BLOCK + 4 * LONGEST.next_multiple_of(BLOCK)) as u64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// Goes up with each opening and each compaction.
    pub(crate) epoch: u64,
    /// Epoch in which the half in force was begun: what is older in there is a leftover.
    pub(crate) base: u64,
    /// Nobody who only has keys and values stored can know this number: see [`crate::record`].
    pub(crate) salt: u64,
    /// 0 or 1.
    pub(crate) half: u64,
    /// Bytes of a half.
    pub(crate) half_bytes: u64,
    /// Bytes of records in the half in force that were there when this was written: fewer are damage.
    pub(crate) end: u64,
}

impl Head {
    pub(crate) fn new(size: u64, salt: u64) -> Result<Self, Error> {
        if size < LEAST {
            return Err(Error::TooSmall { size, least: LEAST });
        }
        let half_bytes = (size - BLOCK as u64) / 2 / BLOCK as u64 * BLOCK as u64;
        Ok(Self { epoch: 1, base: 1, salt, half: 0, half_bytes, end: 0 })
    }

    /// Byte of the volume at which the half begins.
    pub(crate) fn start(&self) -> u64 {
        BLOCK as u64 + self.half * self.half_bytes
    }

    pub(crate) fn encode(&self) -> [u8; BLOCK] {
        let mut block = [0; BLOCK];
        block[..8].copy_from_slice(&MAGIC);
        block[8..12].copy_from_slice(&VERSION.to_le_bytes());
        let words = [self.epoch, self.base, self.salt, self.half, self.half_bytes, self.end];
        for (at, word) in block[16..].chunks_exact_mut(8).zip(words) {
            at.copy_from_slice(&word.to_le_bytes());
        }
        let sum = crc32c(&block[16..]);
        block[12..16].copy_from_slice(&sum.to_le_bytes());
        block
    }

    pub(crate) fn decode(block: &[u8; BLOCK]) -> Result<Self, Error> {
        let number = |at: usize| u32::from_le_bytes(block[at..at + 4].try_into().expect("four bytes"));
        if block[..8] != MAGIC {
            return Err(Error::NoStore);
        }
        if number(8) != VERSION {
            return Err(Error::Version(number(8)));
        }
        let word = |n: usize| u64::from_le_bytes(block[16 + n * 8..][..8].try_into().expect("eight bytes"));
        let [epoch, base, salt, half, half_bytes, end] = std::array::from_fn(word);
        let head = Self { epoch, base, salt, half, half_bytes, end };
        let is_sound =
            half < 2 && (LEAST / 2..u64::MAX / 4).contains(&(half_bytes + BLOCK as u64)) && end <= half_bytes;
        match is_sound && number(12) == crc32c(&block[16..]) {
            true => Ok(head),
            false => Err(Error::Damaged { offset: 0 }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_what_was_encoded_and_says_what_is_wrong() {
        let head = Head { half: 1, end: 4711, epoch: 9, base: 8, ..Head::new(LEAST + 5000, 3).unwrap() };
        let block = head.encode();
        assert_eq!(Head::decode(&block), Ok(head));
        let changed = |at: usize| {
            let mut block = block;
            block[at] ^= 1;
            Head::decode(&block)
        };
        assert_eq!(changed(0), Err(Error::NoStore));
        assert_eq!(changed(8), Err(Error::Version(0)));
        assert!((12..BLOCK).all(|at| changed(at) == Err(Error::Damaged { offset: 0 })));
        assert_eq!(Head::decode(&[0; BLOCK]), Err(Error::NoStore));
        assert_eq!(Head::new(LEAST - 1, 0), Err(Error::TooSmall { size: LEAST - 1, least: LEAST }));
    }
}
