//! A stripe header with any contents: an error or a header whose every accessor works and which encodes to an equal
//! one, never a panic.
#![no_main]

use cygnus_format::{
    Entry, FORMAT_VERSION, Kind, MAX_HEADER_BLOCKS, Rotation, Stream, StripeCommon, StripeHeader, Summary, crc32c,
    stripe::STRIPE_MAGIC,
};
use cygnus_types::{GroupId, Lba, ReactorId, SegmentId, VolumeId};
use libfuzzer_sys::fuzz_target;

const TAG: u64 = 0x0102_0304_0506_0708;

fuzz_target!(|input: &[u8]| {
    check(input);
    check(&sealed(input));
    let is_good = check(&edited(input));
    assert!(is_good || !input.is_empty(), "without an edit the header is good: else no input gets anywhere");
});

/// Whether the bytes are a header.
fn check(bytes: &[u8]) -> bool {
    let Ok(header) = StripeHeader::decode(bytes).and_then(|unverified| unverified.verify(TAG)) else { return false };
    let common = header.common();
    assert!(header.discards().len() <= common.discard_capacity());
    assert!(common.end_row() >= common.first_data_row());
    // The columns this copy does not describe stay void; those it does must come back.
    let mut entries = vec![Entry::VOID; usize::from(common.width()) * common.rows as usize];
    for column in 0..=u8::MAX {
        let Some(described) = header.entries_of(column) else { continue };
        let start = usize::from(column) * common.rows as usize;
        entries[start..start + described.len()].copy_from_slice(described);
    }
    let mut again = vec![0; common.header_bytes()];
    common.encode_into(&mut again, header.column(), Summary::new(&entries, common.rows), header.discards());
    let decoded = StripeHeader::decode(&again).and_then(|unverified| unverified.verify(TAG)).expect("was encoded");
    assert_eq!(decoded.common(), common);
    assert_eq!(decoded.discards(), header.discards());
    assert_eq!(decoded.entries_of(header.column()), header.entries_of(header.column()));
    true
}

/// A good header with bytes of the input written over it: each three are an offset and a value.
fn edited(input: &[u8]) -> Vec<u8> {
    let mut bytes = good();
    for edit in input.chunks_exact(3) {
        let offset = usize::from(u16::from_le_bytes([edit[0], edit[1]])) % bytes.len();
        bytes[offset] = edit[2];
    }
    let crc = crc32c(&bytes[12..]);
    bytes[8..12].copy_from_slice(&crc.to_le_bytes());
    bytes
}

/// A header of a stripe of 2+1 columns with eight rows of data.
fn good() -> Vec<u8> {
    let common = StripeCommon {
        array_tag: TAG,
        group: GroupId(1),
        segment: SegmentId(2),
        segment_seq: 3,
        stripe_seq: 40,
        session: 5,
        durable: 30,
        opened: 0,
        start_row: 16,
        header_blocks: 1,
        rows: 8,
        rotation: Rotation { data: 2, parity: 1, parity_start: 2 },
        stream: Stream::Clients,
        reactor: ReactorId(0),
    };
    let entry = |n: u64| match n / 8 {
        2 => Entry::parity(n as u32),
        _ => Entry::new(Kind::Data, VolumeId(1), Lba(n), 100 + n, n as u32),
    };
    let entries: Vec<Entry> = (0..24).map(entry).collect();
    let mut bytes = vec![0; common.header_bytes()];
    common.encode_into(&mut bytes, 0, Summary::new(&entries, common.rows), &[]);
    bytes
}

/// The input as a header whose magic, version, length, tag and checksum are right, so that the fuzzer gets behind them.
fn sealed(input: &[u8]) -> Vec<u8> {
    let mut bytes = input.to_vec();
    let blocks = input.len().div_ceil(4096).clamp(1, MAX_HEADER_BLOCKS as usize);
    bytes.resize(blocks * 4096, 0);
    bytes[..8].copy_from_slice(&STRIPE_MAGIC);
    bytes[12..14].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
    bytes[14..16].copy_from_slice(&(blocks as u16).to_le_bytes());
    bytes[16..24].copy_from_slice(&TAG.to_le_bytes());
    let crc = crc32c(&bytes[12..]);
    bytes[8..12].copy_from_slice(&crc.to_le_bytes());
    bytes
}
