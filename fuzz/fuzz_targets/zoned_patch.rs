//! The header of the area for patches, descriptions of patches, and records of a head log: any block is one or none, and what was read is written alike.
//!
//! The first byte says which, and whether the block is sealed with the magic, the place and the checksum that it lacks.
#![no_main]

use cygnus_parity::checksum::crc32c;
use cygnus_types::BLOCK;
use cygnus_zoned::{AreaHeader, LogRecord, Patch};
use libfuzzer_sys::fuzz_target;

const SECRET: [u8; 16] = [7; 16];
const AT: u64 = 700;

fuzz_target!(|input: &[u8]| {
    let Some((&mode, rest)) = input.split_first() else { return };
    let (is_patch, is_record) = (mode & 1 != 0, mode & 4 != 0);
    let mut block = [0; BLOCK];
    let len = rest.len().min(BLOCK);
    block[..len].copy_from_slice(&rest[..len]);
    if mode & 2 != 0 {
        block[..8].copy_from_slice(match (is_record, is_patch) {
            (true, _) => b"CYGHEADL",
            (_, true) => b"CYGPATCH",
            _ => b"CYGZAREA",
        });
        if is_patch || is_record {
            block[16..32].copy_from_slice(&SECRET);
            block[32..40].copy_from_slice(&AT.to_le_bytes());
        }
        let checksum = crc32c(&block[..BLOCK - 4]);
        block[BLOCK - 4..].copy_from_slice(&checksum.to_le_bytes());
    }
    let mut again = [0xAA; BLOCK];
    if is_record {
        if let Some(record) = LogRecord::decode(&block, AT) {
            record.encode_into(&mut again);
            assert_eq!(LogRecord::decode(&again, AT), Some(record));
        }
    } else if is_patch {
        if let Some(patch) = Patch::decode(&block, &SECRET, AT) {
            patch.encode_into(&SECRET, &mut again);
            assert_eq!(Patch::decode(&again, &SECRET, AT), Some(patch));
        }
    } else if let Some(header) = AreaHeader::decode(&block) {
        header.encode_into(&mut again);
        assert_eq!(AreaHeader::decode(&again), Some(header));
    }
});
