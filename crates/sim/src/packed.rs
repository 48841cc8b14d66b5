//! Blocks kept small: the engine's own blocks are tables of 24-byte records whose fields hardly differ from one record
//! to the next, and a terabyte of drives has four million of them.
//!
//! A block is taken as 64-bit words, three to a record, eight records to a group. What is kept of each word is its difference
//! from the same field of the record before; and the eight differences of a field take as many bytes each as the largest
//! of them needs. Any contents survive; what has no such records just takes more room. Within a group there is nothing to
//! decide, so it goes as fast as memory.

use cygnus_types::BLOCK;

/// Words in a block.
const WORDS: usize = BLOCK / 8;
/// Words in a record of a stripe's header.
const FIELDS: usize = 3;
/// Records whose fields take the same room.
const RECORDS: usize = 8;
const GROUP: usize = FIELDS * RECORDS;
/// Groups in a block; the last one has fewer words of its own.
const GROUPS: usize = WORDS.div_ceil(GROUP);
/// Bytes that tell how many bytes a field of a group takes: half a byte for each, two bytes for a group.
const LENGTHS: usize = 2 * GROUPS;
/// Whole words are stored and loaded, whatever the length of the last one.
const SLACK: usize = 8;

/// Room to pack a block in.
pub(crate) struct Scratch {
    words: Box<[u64; GROUPS * GROUP]>,
    packed: Box<[u8; LENGTHS + GROUPS * GROUP * 8 + SLACK]>,
}

impl Default for Scratch {
    fn default() -> Self {
        Self { words: Box::new([0; _]), packed: Box::new([0; _]) }
    }
}

/// A block of 4 KiB, packed: lengths, differences, slack.
pub(crate) struct Packed(Box<[u8]>);

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

/// The bits of as many bytes.
fn mask(length: usize) -> u64 {
    if length == 8 { u64::MAX } else { (1 << (8 * length)) - 1 }
}

impl Packed {
    /// Packs a block.
    pub(crate) fn new(block: &[u8], scratch: &mut Scratch) -> Self {
        assert_eq!(block.len(), BLOCK, "contents come in whole blocks");
        let Scratch { words, packed: out } = scratch;
        for (word, bytes) in words.iter_mut().zip(block.chunks_exact(8)) {
            *word = u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
        }
        // What lies behind the block differs from nothing.
        (WORDS..words.len()).for_each(|n| words[n] = words[n - FIELDS]);
        let mut before = [0; FIELDS];
        let mut at = LENGTHS;
        for (n, group) in words.chunks_exact(GROUP).enumerate() {
            let mut lengths = 0_u16;
            for field in 0..FIELDS {
                let mut last = before[field];
                let folded: [u64; RECORDS] = std::array::from_fn(|record| {
                    let word = group[record * FIELDS + field];
                    fold(word.wrapping_sub(std::mem::replace(&mut last, word)))
                });
                before[field] = last;
                let length = length(folded.iter().fold(0, |all, number| all | number));
                lengths |= (length as u16) << (4 * field);
                for (record, number) in folded.iter().enumerate() {
                    out[at + record * length..][..8].copy_from_slice(&number.to_le_bytes());
                }
                at += RECORDS * length;
            }
            out[2 * n..2 * n + 2].copy_from_slice(&lengths.to_le_bytes());
        }
        Self(out[..at + SLACK].into())
    }

    /// Gives the block back.
    pub(crate) fn unpack(&self, block: &mut [u8; BLOCK]) {
        let mut before = [0u64; FIELDS];
        let mut at = LENGTHS;
        for (n, group) in block.chunks_mut(GROUP * 8).enumerate() {
            let lengths = u16::from_le_bytes(self.0[2 * n..2 * n + 2].try_into().expect("two bytes"));
            for (field, word) in before.iter_mut().enumerate() {
                let length = usize::from(lengths >> (4 * field) & 0xf);
                for record in 0..RECORDS {
                    let from = at + record * length;
                    let folded = u64::from_le_bytes(self.0[from..from + 8].try_into().expect("eight bytes"));
                    *word = word.wrapping_add(unfold(folded & mask(length)));
                    let to = (record * FIELDS + field) * 8;
                    if let Some(bytes) = group.get_mut(to..to + 8) {
                        bytes.copy_from_slice(&word.to_le_bytes());
                    }
                }
                at += RECORDS * length;
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
        assert!(packs(&noise) <= LENGTHS + GROUPS * GROUP * 8 + SLACK);
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
        assert!(len < BLOCK * 3 / 10, "{len}");
    }
}
