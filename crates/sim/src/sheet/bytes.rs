//! Blocks packed by bytes: the engine's own blocks are tables of 24-byte records whose fields hardly differ from one record
//! to the next.
//!
//! A block is taken as 64-bit words, three to a record, eight records to a group. What is kept of each word is where its
//! bits differ from the same field of the record before; and of the eight differences of a field those bytes that are not
//! zero in all of them, from the first to the last. Any contents survive; what has no such records just takes more room.
//! Within a group there is nothing to decide, so it goes as fast as memory. (Bits and not sums: addresses and checksums
//! share words, and what is the same in all entries must cost nothing on either side.)

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
/// Bytes that tell which bytes of its words are kept of each field of a group.
const LENGTHS: usize = FIELDS * GROUPS;
/// Whole words are stored and loaded, whatever the length of the last one.
const SLACK: usize = 8;

/// Room to pack a block in.
pub(super) struct Scratch {
    words: Box<[u64; GROUPS * GROUP]>,
    packed: Box<[u8; LENGTHS + GROUPS * GROUP * 8 + SLACK]>,
}

impl Default for Scratch {
    fn default() -> Self {
        Self { words: Box::new([0; _]), packed: Box::new([0; _]) }
    }
}

/// A block of 4 KiB, packed: what is kept, differences, slack.
pub(super) struct Packed(Box<[u8]>);

/// Which bytes of a field's differences are kept: how many, and how many before them are zero in all differences.
#[derive(Clone, Copy)]
struct Kept {
    skipped: usize,
    length: usize,
}

impl Kept {
    /// What differences need whose bits are in `all`.
    fn of(all: u64) -> Self {
        if all == 0 {
            return Self { skipped: 0, length: 0 };
        }
        let skipped = all.trailing_zeros() as usize / 8;
        Self { skipped, length: 8 - all.leading_zeros() as usize / 8 - skipped }
    }

    fn byte(self) -> u8 {
        (self.skipped << 4 | self.length) as u8
    }

    fn from_byte(byte: u8) -> Self {
        Self { skipped: usize::from(byte >> 4), length: usize::from(byte & 0xf) }
    }

    /// The bits of the bytes that are kept, moved down.
    fn mask(self) -> u64 {
        if self.length == 8 { u64::MAX } else { (1 << (8 * self.length)) - 1 }
    }
}

impl Packed {
    /// Packs a block.
    pub(super) fn new(block: &[u8], scratch: &mut Scratch) -> Self {
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
            for field in 0..FIELDS {
                let mut last = before[field];
                let differences: [u64; RECORDS] = std::array::from_fn(|record| {
                    let word = group[record * FIELDS + field];
                    word ^ std::mem::replace(&mut last, word)
                });
                before[field] = last;
                let kept = Kept::of(differences.iter().fold(0, |all, difference| all | difference));
                out[FIELDS * n + field] = kept.byte();
                for (record, difference) in differences.iter().enumerate() {
                    let bytes = (difference >> (8 * kept.skipped)).to_le_bytes();
                    out[at + record * kept.length..][..8].copy_from_slice(&bytes);
                }
                at += RECORDS * kept.length;
            }
        }
        Self(out[..at + SLACK].into())
    }

    /// Gives the block back.
    pub(super) fn unpack(&self, block: &mut [u8; BLOCK]) {
        let mut before = [0u64; FIELDS];
        let mut at = LENGTHS;
        for (n, group) in block.chunks_mut(GROUP * 8).enumerate() {
            for (field, word) in before.iter_mut().enumerate() {
                let kept = Kept::from_byte(self.0[FIELDS * n + field]);
                for record in 0..RECORDS {
                    let from = at + record * kept.length;
                    let bytes = u64::from_le_bytes(self.0[from..from + 8].try_into().expect("eight bytes"));
                    *word ^= (bytes & kept.mask()) << (8 * kept.skipped);
                    let to = (record * FIELDS + field) * 8;
                    if let Some(bytes) = group.get_mut(to..to + 8) {
                        bytes.copy_from_slice(&word.to_le_bytes());
                    }
                }
                at += RECORDS * kept.length;
            }
        }
    }

    /// Bytes that it takes.
    pub(super) fn len(&self) -> usize {
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
