use super::*;
use crate::Kind;
use crate::trace::Record;
use cygnus_types::{Nanos, Uuid};
use proptest::prelude::*;

fn header() -> Header {
    Header { clock: 1_700_000_000_000_000_000, size: 1 << 30, array: Uuid([7; 16]), volume: "tank/vol0".into() }
}

fn read(bytes: &[u8]) -> (Vec<Record>, Damage) {
    let mut frames = Frames::new(bytes, 0, 0);
    let records = std::iter::from_fn(|| frames.next_record().unwrap()).collect();
    (records, frames.damage())
}

fn record(at: u64, kind: Kind, offset: u64, len: u32) -> Record {
    Record { at: Nanos(at), kind, offset, len, volume: 0, fua: false }
}

fn frame(records: &[Record]) -> Vec<u8> {
    let mut builder = FrameBuilder::new(3);
    records.iter().for_each(|record| builder.push(record));
    builder.take().unwrap()
}

fn frames(count: u64) -> Vec<Vec<u8>> {
    (0..count)
        .map(|n| frame(&[record(n * 10, Kind::Write, n << 12, 4096), record(n * 10 + 5, Kind::Flush, 0, 0)]))
        .collect()
}

/// The example of docs/recordings.md, byte for byte: who changes the format must say so there.
#[test]
fn the_documented_example() {
    let document = include_str!("../../../../docs/recordings.md");
    let dump = document.split("```text example\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let hex = dump.lines().flat_map(|line| line.split("  ").next().unwrap().split(' '));
    let documented: Vec<u8> = hex.map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect();
    let written = frame(&[
        record(1000, Kind::Read, 1 << 20, 4096),
        record(1500, Kind::Read, (1 << 20) + 4096, 4096),
        Record { fua: true, ..record(2000, Kind::Write, 1000, 24) },
        record(300_000, Kind::Flush, 0, 0),
    ]);
    let shown: Vec<String> = written.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(documented, written, "{}", shown.join(" "));
}

#[test]
fn headers_are_read_as_written() {
    let bytes = header().encode();
    assert_eq!(Header::decode(&bytes), Ok((header(), bytes.len())));
    let mut more = bytes.clone();
    more.extend([1, 2, 3]);
    assert_eq!(Header::decode(&more), Ok((header(), bytes.len())));
    assert_eq!(Header::decode(b"128166372003061629,usr"), Err(HeaderError::Magic));
    for len in 8..bytes.len() {
        assert_eq!(Header::decode(&bytes[..len]), Err(HeaderError::Damaged));
    }
    for at in 8..bytes.len() {
        let mut bytes = bytes.clone();
        bytes[at] ^= 0x40;
        assert!(Header::decode(&bytes).is_err(), "byte {at}");
    }
    let mut newer = bytes.clone();
    newer[12] = 2;
    assert_eq!(Header::decode(&newer), Err(HeaderError::Version(2)));
    let long = Header { volume: "ä".repeat(600), ..header() };
    assert_eq!(Header::decode(&long.encode()).unwrap().0.volume, "ä".repeat(500));
}

#[test]
fn a_sequential_run_takes_three_bytes_a_request() {
    let run: Vec<Record> = (0..1000).map(|n| record(n * 100, Kind::Write, n << 12, 4096)).collect();
    assert!(frame(&run).len() < 32 + 3 * 1000);
    assert_eq!(read(&frame(&run)).0, run);
}

#[test]
fn a_torn_tail_costs_the_tail() {
    let all = frames(5);
    let bytes = all.concat();
    let whole = read(&bytes).0;
    assert_eq!(whole.len(), 10);
    for cut in 0..bytes.len() {
        let complete = all
            .iter()
            .scan(0, |end, frame| {
                *end += frame.len();
                Some(*end)
            })
            .filter(|&end| end <= cut);
        let (count, end) = complete.fold((0, 0), |(count, _), end| (count + 1, end));
        let (records, damage) = read(&bytes[..cut]);
        assert_eq!(
            (&records[..], damage),
            (&whole[..2 * count], Damage { torn: (cut - end) as u64, ..Damage::default() })
        );
    }
    // A file system may have lengthened the file and not yet written it.
    let zeros = [&bytes[..], &[0; 300_000]].concat();
    assert_eq!(read(&zeros), (whole, Damage { torn: 300_000, ..Damage::default() }));
}

#[test]
fn damage_within_costs_its_frames() {
    let mut all = frames(5);
    let len = all[1].len() as u64;
    all[1][20] ^= 1;
    all[3].insert(8, 0);
    let (records, damage) = read(&all.concat());
    assert_eq!(records.iter().map(|r| r.at.0).collect::<Vec<_>>(), [0, 5, 20, 25, 40, 45]);
    assert_eq!((damage.places, damage.first, damage.bytes, damage.torn), (2, all[0].len() as u64, 2 * len + 1, 0));
}

#[test]
fn what_could_not_be_written_is_counted() {
    let mut builder = FrameBuilder::new(0);
    for n in 0..3 {
        builder.push(&record(n, Kind::Read, 0, 512));
        let frame = builder.take().unwrap();
        builder.lose(&frame);
    }
    builder.push(&record(9, Kind::Read, 0, 512));
    let (records, damage) = read(&builder.take().unwrap());
    assert_eq!((records.len(), damage.lost), (1, 3));
    assert_eq!(builder.take(), None);
}

fn records() -> impl Strategy<Value = Vec<Record>> {
    let kind = prop::sample::select(vec![Kind::Read, Kind::Write, Kind::Flush, Kind::Trim, Kind::WriteZeroes]);
    let offset = prop_oneof![0_u64..1 << 62, (0_u64..1 << 40).prop_map(|n| n << 12), 0_u64..5000];
    let len = prop_oneof![1_u32.., Just(4096), (1_u32..100).prop_map(|n| n * 512)];
    let one = (0_u64..1 << 40, kind, offset, len, any::<bool>());
    prop::collection::vec(one, 1..200).prop_map(|all| {
        let mut at = 0;
        let whole = |(gap, kind, offset, len, fua): (u64, Kind, u64, u32, bool)| {
            at += gap;
            let (offset, len) = if kind.has_range() { (offset, len) } else { (0, 0) };
            Record { at: Nanos(at), kind, offset, len, volume: 0, fua }
        };
        all.into_iter().map(whole).collect()
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read(batches in prop::collection::vec(records(), 1..4)) {
        let bytes: Vec<u8> = batches.iter().flat_map(|batch| frame(batch)).collect();
        prop_assert_eq!(read(&bytes), (batches.concat(), Damage::default()));
    }

    #[test]
    fn any_change_is_noticed(batch in records(), at: prop::sample::Index, bit in 0_u8..8) {
        let mut bytes = [frame(&batch), frame(&[record(1, Kind::Read, 0, 512)])].concat();
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        let (records, damage) = read(&bytes);
        prop_assert!(records.len() <= batch.len());
        prop_assert!(damage.places > 0 || damage.torn > 0);
    }

    #[test]
    fn any_bytes_are_read_to_their_end(bytes in prop::collection::vec(any::<u8>(), 0..3000)) {
        prop_assert_eq!(read(&bytes), (vec![], Damage { torn: bytes.len() as u64, ..Damage::default() }));
    }
}
