//! Kept memory with any contents: an error, nothing, or a stripe that fits its cell; never a panic.
#![no_main]

use cygnus_format::{KeptHeader, KeptShape, KeptStripe};
use cygnus_types::BLOCK;
use libfuzzer_sys::fuzz_target;

const SHAPE: KeptShape = KeptShape { width: 5, column_blocks: 20, slots: 64, discards: 30 };

fuzz_target!(|input: &[u8]| {
    let mut block = [0; BLOCK];
    let len = input.len().min(BLOCK);
    block[..len].copy_from_slice(&input[..len]);
    let _ = KeptHeader::decode(&block);
    let mut record = vec![0; SHAPE.record_bytes()];
    let len = input.len().min(record.len());
    record[..len].copy_from_slice(&input[..len]);
    if let Ok(Some(stripe)) = KeptStripe::decode(&record, &SHAPE) {
        assert!(stripe.entries.len() <= 64 && stripe.discards.len() <= 30);
        assert!(stripe.place.header_blocks + stripe.place.rows <= SHAPE.column_blocks);
    }
});
