//! Recordings: any bytes are read to their end, and what is read survives being written and read again.
#![no_main]

use cygnus_workload::recording::{FrameBuilder, Frames, Header};
use cygnus_workload::trace::Record;
use libfuzzer_sys::fuzz_target;

fn read(bytes: &[u8]) -> Vec<Record> {
    let mut frames = Frames::new(bytes, 0, 0);
    let records: Vec<Record> = std::iter::from_fn(|| frames.next_record().unwrap()).collect();
    assert_eq!(frames.position(), bytes.len() as u64);
    records
}

/// Puts the right checksum on what would be the first frame, so that its contents are looked at.
fn sealed(input: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 32];
    bytes.extend_from_slice(input);
    bytes[..4].copy_from_slice(b"FRME");
    bytes[8..12].copy_from_slice(&(input.len() as u32).to_le_bytes());
    // The number of requests is nearly always wrong, so every one is tried that can be right.
    bytes
}

fuzz_target!(|input: &[u8]| {
    if let Ok((header, _)) = Header::decode(input) {
        assert_eq!(Header::decode(&header.encode()).unwrap().0, header);
    }
    read(input);
    let mut bytes = sealed(input);
    for requests in 1..=input.len().min(64) as u32 {
        bytes[16..20].copy_from_slice(&requests.to_le_bytes());
        let sum = cygnus_parity::checksum::crc32c(&bytes[8..]);
        bytes[4..8].copy_from_slice(&sum.to_le_bytes());
        let records = read(&bytes);
        let mut builder = FrameBuilder::new(0);
        records.iter().for_each(|record| builder.push(record));
        let again = builder.take().map_or(Vec::new(), |frame| read(&frame));
        assert_eq!(again, records);
    }
});
