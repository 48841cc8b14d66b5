//! A superblock slot with any contents: an error or an array that can be written again, never a panic.
#![no_main]

use cygnus_format::{SUPERBLOCK_SLOT, Superblock, crc32c, probe_with_tail, superblock::SUPERBLOCK_MAGIC};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let _ = probe_with_tail(input, input);
    let _ = Superblock::newest([input, input]).map(check);
    let mut sealed = sealed(input);
    let _ = Superblock::decode(&sealed).and_then(|unverified| unverified.verify()).map(check);
    sealed.truncate(sealed.len() / 2);
    let _ = Superblock::decode(&sealed).and_then(|unverified| unverified.verify()).map(check);
});

/// What verifies must survive being written and read again.
fn check(superblock: Superblock) {
    let bytes = superblock.encode().expect("a verified superblock can be written");
    assert!(bytes.len() as u64 <= SUPERBLOCK_SLOT);
    let again = Superblock::decode(&bytes).and_then(|unverified| unverified.verify()).expect("and read");
    assert_eq!(again, Superblock { read_only: false, ..superblock });
}

/// The input as a superblock whose magic, version, length and checksum are right, so that the fuzzer gets behind them.
fn sealed(input: &[u8]) -> Vec<u8> {
    let mut bytes = input.to_vec();
    bytes.resize(input.len().clamp(1, SUPERBLOCK_SLOT as usize).next_multiple_of(4096), 0);
    let length = bytes.len() as u32;
    bytes[..8].copy_from_slice(&SUPERBLOCK_MAGIC);
    bytes[12..14].copy_from_slice(&1_u16.to_le_bytes());
    bytes[16..20].copy_from_slice(&length.to_le_bytes());
    bytes[32..48].fill(0);
    let crc = crc32c(&bytes[12..]);
    bytes[8..12].copy_from_slice(&crc.to_le_bytes());
    bytes
}
