use super::*;
use crate::constants::MAX_PARITY;
use crate::entry::Kind;
use crate::geometry::Geometry;
use cygnus_types::{Lba, VolumeId};
use proptest::prelude::*;

const TAG: u64 = 0x1234_5678_9abc_def0;

/// A stripe with everything in it that varies.
#[derive(Clone, Debug)]
struct Sample {
    common: StripeCommon,
    stride: u32,
    entries: Vec<Entry>,
    discards: Vec<Discard>,
}

impl Sample {
    fn summary(&self) -> Summary<'_> {
        Summary::new(&self.entries, self.stride)
    }

    fn encode(&self, column: u8) -> Vec<u8> {
        // What was in the buffer before must not matter.
        let mut buf = vec![0xa5; self.common.header_bytes()];
        self.common.encode_into(&mut buf, column, self.summary(), &self.discards);
        buf
    }

    fn entries_of(&self, column: u8) -> &[Entry] {
        self.summary().column(column, self.common.rows)
    }
}

fn decode(bytes: &[u8]) -> Result<StripeHeader<'_>, StripeError> {
    StripeHeader::decode(bytes)?.verify(TAG)
}

fn any_entry() -> impl Strategy<Value = Entry> {
    (0..7_usize, any::<u32>(), 0..1_u64 << 56, any::<u64>(), any::<u32>()).prop_map(|(kind, volume, lba, seq, crc)| {
        let kind =
            [Kind::Void, Kind::Data, Kind::Relocated, Kind::Meta, Kind::Parity, Kind::Packed, Kind::Protections][kind];
        Entry::new(kind, VolumeId(volume), Lba(lba), seq, crc)
    })
}

fn any_discard() -> impl Strategy<Value = Discard> {
    (any::<u32>(), 0..1_u64 << 56, any::<u32>(), any::<u64>())
        .prop_map(|(volume, lba, count, seq)| Discard::new(VolumeId(volume), Lba(lba), count, seq))
}

fn any_common() -> impl Strategy<Value = (StripeCommon, u32)> {
    let shape = (1..=6_u8, 0..=MAX_PARITY, 0..=24_u32, any::<prop::sample::Index>(), any::<prop::sample::Index>());
    (shape, any::<[u64; 4]>(), any::<(u16, u32, u16)>(), 0..1_u32 << 20, 1..=3_u8).prop_map(
        |((data, parity, stride, rows, start), counts, (group, segment, reactor), start_row, stream)| {
            let geometry = Geometry {
                data,
                parity,
                chunk_blocks: 1,
                stripe_rows: 64,
                segment_blocks: 1 << 22,
                transient_blocks: 0,
                lead_blocks: 0,
            };
            let common = StripeCommon {
                array_tag: TAG,
                group: GroupId(group),
                segment: SegmentId(segment),
                segment_seq: counts[0],
                stripe_seq: counts[1],
                session: counts[2],
                durable: counts[3],
                opened: counts[1] / 2,
                start_row,
                header_blocks: geometry.header_blocks(stride),
                rows: rows.index(stride as usize + 1) as u32,
                rotation: geometry.rotation(start.index(usize::from(data + parity)) as u8),
                stream: Stream::from_byte(stream).unwrap(),
                reactor: ReactorId(reactor),
            };
            (common, stride)
        },
    )
}

fn any_sample() -> impl Strategy<Value = Sample> {
    any_common().prop_flat_map(|(common, stride)| {
        let entries = prop::collection::vec(any_entry(), usize::from(common.width()) * stride as usize);
        let discards = prop::collection::vec(any_discard(), 0..=common.discard_capacity().min(40));
        (Just(common), Just(stride), entries, discards).prop_map(|(common, stride, entries, discards)| Sample {
            common,
            stride,
            entries,
            discards,
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn round_trip(sample in any_sample()) {
        for column in 0..sample.common.width() {
            let bytes = sample.encode(column);
            let header = decode(&bytes).unwrap();
            prop_assert_eq!(header.common(), &sample.common);
            prop_assert_eq!(header.column(), column);
            prop_assert_eq!(header.discards(), &sample.discards[..]);
            for described in 0..sample.common.width() {
                if let Some(entries) = header.entries_of(described) {
                    prop_assert_eq!(entries, sample.entries_of(described));
                }
            }
            prop_assert_eq!(header.entries_of(sample.common.width()), None);
        }
    }

    /// The reason for writing entries so often.
    #[test]
    fn every_entry_survives_the_loss_of_any_m_columns_and_of_one_more_copy(sample in any_sample()) {
        let (width, rotation) = (sample.common.width(), sample.common.rotation);
        let columns: Vec<_> = (0..width).map(|column| sample.encode(column)).collect();
        let copies_with = |column: &Vec<u8>, described: u8| {
            let has = |copy: &[u8]| decode(copy).unwrap().entries_of(described).is_some();
            column.chunks_exact(sample.common.copy_bytes()).filter(|copy| has(copy)).count()
        };
        for described in 0..width {
            let mut of_columns: Vec<_> = columns.iter().map(|column| copies_with(column, described)).collect();
            of_columns.sort_unstable_by(|a, b| b.cmp(a));
            let left: usize = of_columns[rotation.losses()..].iter().sum();
            prop_assert!(left >= 2, "{of_columns:?}");
        }
    }

    #[test]
    fn a_flipped_bit_is_seen(sample in any_sample(), at: prop::sample::Index, bit in 0..8_u32) {
        let mut bytes = sample.encode(0);
        bytes.truncate(sample.common.copy_bytes());
        let at = at.index(bytes.len());
        bytes[at] ^= 1_u8 << bit;
        prop_assert!(decode(&bytes).is_err());
        let StripeCommon { array_tag, group, segment, start_row: row, .. } = sample.common;
        let is_spoiled = |bytes: &[u8]| StripeHeader::is_spoiled(bytes, array_tag, &Place { group, segment, column: 0, row });
        prop_assert!(is_spoiled(&bytes));
        // What else may lie there.
        prop_assert!(!is_spoiled(&[0; BLOCK]) && !is_spoiled(&[0xff; BLOCK]) && !is_spoiled(&bytes[24..]));
    }

    #[test]
    fn cut_short_is_an_error(sample in any_sample(), at: prop::sample::Index) {
        let bytes = sample.encode(0);
        let cut = at.index(sample.common.copy_bytes());
        let truncated = matches!(decode(&bytes[..cut]), Err(StripeError::Truncated { have, .. }) if have == cut);
        prop_assert!(truncated);
    }

    /// A checksum made right over arbitrary fields reaches the checks behind it.
    #[test]
    fn no_sealed_bytes_panic(
        mut bytes in prop::collection::vec(any::<u8>(), BLOCK..=2 * BLOCK), start in any::<[u8; 16]>(), small: bool,
    ) {
        bytes[..8].copy_from_slice(&STRIPE_MAGIC);
        let blocks = (bytes.len() / BLOCK) as u8;
        bytes[12..16].copy_from_slice(&[FORMAT_VERSION as u8, 0, blocks, 0]);
        bytes[16..24].copy_from_slice(&TAG.to_le_bytes());
        if small {
            // Plausible numbers, to get past the first limits.
            bytes[60..72].copy_from_slice(&[start[0], 0, 0, 0, start[1], start[2] & 3, 0, 0, start[3], 0, 0, 0]);
            bytes[76..81].copy_from_slice(&[start[4] & 15, 1 + (start[5] & 7), 16 | start[6] & 3, start[7] & 7, start[8] & 3]);
        }
        checksum::seal(&mut bytes[..usize::from(blocks) * BLOCK]);
        if let Ok(header) = decode(&bytes) {
            for column in 0..=255 {
                let _ = header.entries_of(column);
            }
            let _ = (header.discards(), header.common().end_row(), header.common().discard_capacity());
        }
    }
}

/// A verified 2+1 stripe of 4 rows, to damage.
fn plain() -> Sample {
    let geometry = Geometry {
        data: 2,
        parity: 1,
        chunk_blocks: 2,
        stripe_rows: 4,
        segment_blocks: 64,
        transient_blocks: 0,
        lead_blocks: 0,
    };
    let common = StripeCommon {
        array_tag: TAG,
        group: GroupId(1),
        segment: SegmentId(2),
        segment_seq: 3,
        stripe_seq: 4,
        session: 5,
        durable: 3,
        opened: 2,
        start_row: 6,
        header_blocks: geometry.header_blocks(4),
        rows: 4,
        rotation: geometry.rotation(2),
        stream: Stream::Clients,
        reactor: ReactorId(0),
    };
    Sample { common, stride: 4, entries: vec![Entry::VOID; 12], discards: vec![] }
}

/// Decodes the plain stripe's first header with one field overwritten and the checksum made right again.
fn with_field(offset: usize, value: &[u8]) -> Result<(), StripeError> {
    let mut bytes = plain().encode(0);
    bytes[offset..offset + value.len()].copy_from_slice(value);
    checksum::seal(&mut bytes);
    decode(&bytes).map(|_| ())
}

#[test]
fn impossible_fields_are_named() {
    use std::mem::offset_of;
    let malformed = |what| Err(StripeError::Malformed(what));
    assert_eq!(with_field(offset_of!(RawStripe, data), &[0]), malformed("group width"));
    assert_eq!(with_field(offset_of!(RawStripe, data), &[255]), malformed("group width"));
    assert_eq!(with_field(offset_of!(RawStripe, column), &[3]), malformed("column"));
    assert_eq!(with_field(offset_of!(RawStripe, parity_start), &[3]), malformed("parity placement"));
    assert_eq!(with_field(offset_of!(RawStripe, stream), &[0]), malformed("stream"));
    assert_eq!(with_field(offset_of!(RawStripe, rows), &[0xff, 0xff]), malformed("height"));
    assert_eq!(with_field(offset_of!(RawStripe, rows), &[0xff, 0]), malformed("height"));
    assert_eq!(with_field(offset_of!(RawStripe, start_row), &[0xff; 4]), malformed("place in the segment"));
    assert_eq!(with_field(offset_of!(RawStripe, discards), &[0xff; 4]), malformed("number of discards"));
    assert_eq!(with_field(offset_of!(RawStripe, header_blocks), &[0, 0]), malformed("header length"));
    assert_eq!(
        with_field(offset_of!(RawStripe, header_blocks), &[MAX_HEADER_BLOCKS as u8 + 1, 0]),
        malformed("header length")
    );
    assert_eq!(with_field(STRIPE_FIXED + 15, &[9]), malformed("kind of block"));
    assert_eq!(with_field(offset_of!(RawStripe, version), &[9, 0]), Err(StripeError::UnsupportedVersion(9)));
    assert_eq!(with_field(offset_of!(RawStripe, magic), b"x"), Err(StripeError::NotAStripe));
}

/// What a newer program may write: with a right checksum it is no header of ours, and none that has rotted either.
#[test]
fn an_unknown_protection_is_told_from_rot() {
    let at = std::mem::offset_of!(RawStripe, protection);
    for byte in 0..=u8::MAX {
        let unknown = Protection::from_byte(byte).err().map(StripeError::UnknownProtection);
        let sealed = with_field(at, &[byte]);
        match unknown {
            Some(unknown) => assert_eq!(sealed, Err(unknown)),
            // Of the known ones some are too wide for the header, or place its tables elsewhere.
            None => assert!(!matches!(sealed, Err(StripeError::UnknownProtection(_)))),
        }
        let mut bytes = plain().encode(0);
        let is_changed = std::mem::replace(&mut bytes[at], byte) != byte;
        let rotten = decode(&bytes).map(|_| ());
        assert_eq!(matches!(rotten, Err(StripeError::Checksum { .. })), is_changed, "{byte:#x}: {rotten:?}");
    }
}

#[test]
fn other_arrays_and_places_are_told_apart() {
    let bytes = plain().encode(1);
    let other = StripeHeader::decode(&bytes).unwrap().verify(7).map(|_| ());
    assert_eq!(other, Err(StripeError::OtherArray { found: TAG, expected: 7 }));

    let at = |g, s, c, r| decode(&bytes).unwrap().at(GroupId(g), SegmentId(s), c, r).map(|_| ());
    assert_eq!(at(1, 2, 1, 6), Ok(()));
    assert_eq!(at(0, 2, 1, 6), Err(StripeError::Misplaced("group")));
    assert_eq!(at(1, 0, 1, 6), Err(StripeError::Misplaced("segment")));
    assert_eq!(at(1, 2, 0, 6), Err(StripeError::Misplaced("column")));
    assert_eq!(at(1, 2, 1, 0), Err(StripeError::Misplaced("start row")));
}

#[test]
fn zeros_end_the_chain() {
    assert_eq!(StripeHeader::decode(&[0; BLOCK]).map(|_| ()), Err(StripeError::NotAStripe));
    assert_eq!(StripeHeader::decode(&[]).map(|_| ()), Err(StripeError::Truncated { have: 0, need: BLOCK }));
}

#[test]
fn rows_follow_each_other() {
    let common = plain().common;
    assert_eq!((common.first_data_row(), common.end_row()), (7, 11));
    assert!(common.discard_capacity() >= crate::MIN_DISCARDS);
}

#[test]
#[should_panic(expected = "discards fit")]
fn too_many_discards_are_the_writers_bug() {
    let mut sample = plain();
    sample.discards = vec![Discard::new(VolumeId(0), Lba(0), 1, 1); sample.common.discard_capacity() + 1];
    sample.encode(0);
}
