//! The description of a backup with any contents, in a block and beside blocks: an error, or what says the same when it is encoded
//! again; never a panic.
#![no_main]

use cygnus_format::{BACKUP_MAGIC, BESIDE_BLOCK, Backup, Holds, crc32c};
use cygnus_types::BLOCK;
use libfuzzer_sys::fuzz_target;

/// Where the counts of entries and of discards are.
const COUNTS: [usize; 2] = [92, 94];

fuzz_target!(|input: &[u8]| {
    let _ = Backup::decode_beside(input);
    let mut block = [0; BLOCK];
    let len = input.len().min(BLOCK);
    block[..len].copy_from_slice(&input[..len]);
    sealed(&mut block);
    if let Ok(backup) = Backup::decode(&block) {
        let mut again = [0; BLOCK];
        backup.encode_into(&mut again);
        assert_eq!(Backup::decode(&again), Ok(backup));
    }
    let count = |at: usize| usize::from(u16::from_le_bytes([block[at], block[at + 1]]));
    let records: usize = COUNTS.map(count).iter().sum();
    let described = (104 + 24 * records).next_multiple_of(BESIDE_BLOCK);
    let Some(beside) = block.get_mut(..described) else { return };
    sealed(beside);
    let Ok(backup) = Backup::decode_beside(beside) else { return };
    if backup.holds == Holds::Copies && Backup::fits_beside(backup.entries.len(), backup.discards.len()) {
        assert_eq!(Backup::decode_beside(&backup.encode_beside()), Ok(backup));
    }
});

/// Makes magic and checksum right.
fn sealed(bytes: &mut [u8]) {
    bytes[..8].copy_from_slice(&BACKUP_MAGIC);
    let crc = crc32c(&bytes[12..]);
    bytes[8..12].copy_from_slice(&crc.to_le_bytes());
}
