//! Blocks kept small: the engine's own blocks are tables of 24-byte records whose fields hardly differ from one record
//! to the next, and a terabyte of drives has four million of them.
//!
//! A block is taken as 64-bit words. What is kept of each is its difference from the word three before it, the same
//! field of the record before: for every eight words a byte that says which differ, and the differences in as many
//! bytes as they need. Any contents survive; what has no such records just takes more room.

use cygnus_types::BLOCK;

/// Words in a block.
const WORDS: usize = BLOCK / 8;
/// Words in a record of a stripe's header.
const RECORD: usize = 3;
/// Words for which one byte says which differ.
const GROUP: usize = 8;

/// A block of 4 KiB, packed.
pub(crate) struct Packed(Box<[u8]>);

fn word(bytes: &[u8], n: usize) -> u64 {
    u64::from_le_bytes(bytes[n * 8..n * 8 + 8].try_into().expect("eight bytes"))
}

/// Small differences in either direction become small numbers.
fn fold(difference: u64) -> u64 {
    (difference << 1) ^ ((difference as i64 >> 63) as u64)
}

fn unfold(folded: u64) -> u64 {
    (folded >> 1) ^ (folded & 1).wrapping_neg()
}

/// Appends a number, seven bits to a byte.
fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn take(bytes: &mut std::slice::Iter<u8>) -> u64 {
    let (mut number, mut shift) = (0, 0);
    loop {
        let byte = *bytes.next().expect("what was packed ends with a whole number");
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return number;
        }
        shift += 7;
    }
}

impl Packed {
    /// Packs a block. `scratch` is room to work in, whatever it holds.
    pub(crate) fn new(block: &[u8], scratch: &mut Vec<u8>) -> Self {
        assert_eq!(block.len(), BLOCK, "contents come in whole blocks");
        scratch.clear();
        let mut before = [0; RECORD];
        for group in 0..WORDS / GROUP {
            let mask = scratch.len();
            scratch.push(0);
            for bit in 0..GROUP {
                let n = group * GROUP + bit;
                let word = word(block, n);
                let difference = word.wrapping_sub(std::mem::replace(&mut before[n % RECORD], word));
                if difference != 0 {
                    scratch[mask] |= 1 << bit;
                    put(scratch, fold(difference));
                }
            }
        }
        Self(scratch.as_slice().into())
    }

    /// Gives the block back.
    pub(crate) fn unpack(&self, block: &mut [u8; BLOCK]) {
        let mut bytes = self.0.iter();
        let mut before = [0u64; RECORD];
        for group in 0..WORDS / GROUP {
            let mask = *bytes.next().expect("there is a byte for every group");
            for bit in 0..GROUP {
                let n = group * GROUP + bit;
                if mask & (1 << bit) != 0 {
                    before[n % RECORD] = before[n % RECORD].wrapping_add(unfold(take(&mut bytes)));
                }
                block[n * 8..n * 8 + 8].copy_from_slice(&before[n % RECORD].to_le_bytes());
            }
        }
    }

    /// Bytes that it takes.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use cygnus_runtime::Rng;

    use super::*;

    fn packs(block: &[u8]) -> usize {
        let packed = Packed::new(block, &mut vec![7; 3]);
        let mut back = [0xee; BLOCK];
        packed.unpack(&mut back);
        assert!(back == block);
        packed.len()
    }

    #[test]
    fn gives_back_whatever_was_packed() {
        let mut rng = Rng::new(1);
        let mut noise = [0; BLOCK];
        rng.fill(&mut noise);
        assert!(packs(&noise) <= WORDS / GROUP + WORDS * 10);
        assert_eq!(packs(&[0; BLOCK]), WORDS / GROUP);
        let extremes = [u64::MAX, 0, 1 << 63, 1, u64::MAX - 1, i64::MAX as u64];
        let block: Vec<u8> = (0..WORDS).flat_map(|_| extremes[rng.below(6) as usize].to_le_bytes()).collect();
        packs(&block);
    }

    #[test]
    fn records_of_random_addresses_take_a_quarter() {
        let mut rng = Rng::new(2);
        let record = |n| [0x1234_5678_0000_0001, 1 << 56 | rng.below(1 << 28), 1_000_000 + n % 50];
        let block: Vec<u8> = (0..WORDS as u64 / 3).flat_map(record).chain([0; 2]).flat_map(u64::to_le_bytes).collect();
        let len = packs(&block);
        assert!(len < BLOCK / 3, "{len}");
    }
}
