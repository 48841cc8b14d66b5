//! Blocks that say what they are, and whether they are whole: a magic number at their start, their CRC32C at their end.

use cygnus_parity::checksum::crc32c;
use cygnus_types::BLOCK;

/// Where a block's own checksum lies.
pub(crate) const OWN: usize = BLOCK - 4;

pub(crate) fn u64_at(block: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(block[at..at + 8].try_into().expect("eight bytes"))
}

pub(crate) fn u32_at(block: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(block[at..at + 4].try_into().expect("four bytes"))
}

pub(crate) fn put(block: &mut [u8], at: usize, bytes: &[u8]) {
    block[at..at + bytes.len()].copy_from_slice(bytes);
}

pub(crate) fn is_sealed(block: &[u8], magic: u64) -> bool {
    block.len() == BLOCK && u64_at(block, 0) == magic && u32_at(block, OWN) == crc32c(&block[..OWN])
}

pub(crate) fn seal(block: &mut [u8]) {
    let own = crc32c(&block[..OWN]);
    put(block, OWN, &own.to_le_bytes());
}
