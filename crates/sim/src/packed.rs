//! Blocks kept small: the engine's own blocks are tables of 24-byte records whose fields hardly differ from one record
//! to the next, and a terabyte of drives has four million of them.
//!
//! A block is taken as 64-bit words. What is kept of each is its difference from the word three before it, the same
//! field of the record before: how many bytes that needs, in half a byte, and then those bytes. Any contents survive; what
//! has no such records just takes more room. There is nothing to decide on the way, so it goes as fast as memory.

use cygnus_types::BLOCK;

/// Words in a block.
const WORDS: usize = BLOCK / 8;
/// Words in a record of a stripe's header.
const RECORD: usize = 3;
/// Bytes that hold the lengths of all differences.
const LENGTHS: usize = WORDS / 2;
/// Whole words are stored and loaded, whatever the length of the last one.
const SLACK: usize = 8;

/// Room to pack a block in.
pub(crate) struct Scratch(Box<[u8; LENGTHS + BLOCK + SLACK]>);

impl Default for Scratch {
    fn default() -> Self {
        Self(Box::new([0; LENGTHS + BLOCK + SLACK]))
    }
}

/// A block of 4 KiB, packed: lengths, differences, slack.
pub(crate) struct Packed(Box<[u8]>);

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// Small differences in either direction become small numbers.
fn fold(difference: u64) -> u64 {
    (difference << 1) ^ ((difference as i64 >> 63) as u64)
}

fn unfold(folded: u64) -> u64 {
    (folded >> 1) ^ (folded & 1).wrapping_neg()
}

/// Bytes that a number needs, 0 to 8.
fn length(number: u64) -> usize {
    (71 - number.leading_zeros() as usize) / 8
}

/// The lowest `length` bytes of a number.
fn lowest(number: u64, length: usize) -> u64 {
    if length == 8 { number } else { number & ((1 << (8 * length)) - 1) }
}

impl Packed {
    /// Packs a block.
    pub(crate) fn new(block: &[u8], scratch: &mut Scratch) -> Self {
        assert_eq!(block.len(), BLOCK, "contents come in whole blocks");
        let out = &mut scratch.0;
        let mut before = [0; RECORD];
        let mut at = LENGTHS;
        for pair in 0..LENGTHS {
            let mut lengths = 0;
            for half in 0..2 {
                let word = word(block, (pair * 2 + half) * 8);
                let folded = fold(word.wrapping_sub(before[0]));
                before = [before[1], before[2], word];
                let length = length(folded);
                lengths |= length << (4 * half);
                out[at..at + 8].copy_from_slice(&folded.to_le_bytes());
                at += length;
            }
            out[pair] = lengths as u8;
        }
        Self(out[..at + SLACK].into())
    }

    /// Gives the block back.
    pub(crate) fn unpack(&self, block: &mut [u8; BLOCK]) {
        let mut before = [0u64; RECORD];
        let mut at = LENGTHS;
        for n in 0..WORDS {
            let length = usize::from(self.0[n / 2] >> (4 * (n % 2)) & 0xf);
            let word = before[0].wrapping_add(unfold(lowest(word(&self.0, at), length)));
            before = [before[1], before[2], word];
            block[n * 8..n * 8 + 8].copy_from_slice(&word.to_le_bytes());
            at += length;
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
        let packed = Packed::new(block, &mut Scratch::default());
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
        assert!(packs(&noise) <= LENGTHS + BLOCK + SLACK);
        assert_eq!(packs(&[0; BLOCK]), LENGTHS + SLACK);
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
