//! Stripes that a newer program has protected in a way of its own: they are not torn and not rotten, and nothing is done
//! that rests on a guess about them.

use std::collections::BTreeSet;

use cygnus_engine::{Array, ArrayError, FindingKind, Salvage};
use cygnus_format::{Protection, Stream, StripeHeader, crc32c};
use cygnus_types::ByteSize;

use crate::sample::*;
use crate::sessions::*;

/// Where a header says what protects its segment, by `docs/format.md`.
const PROTECTION: usize = 78;
/// Where its checksum is, and where what that covers begins.
const CRC: usize = 8;
/// A protection of a program to come.
const UNKNOWN: u8 = 0x20;

/// Has the stripe whose headers are at this offset be one of a newer program, on all its columns.
fn make_newer(sample: &Sample, header: u64) {
    for column in 0..sample.geometry.width() {
        let mut block = sample.read(column, header);
        let known = sample.geometry.protection().to_byte();
        assert_eq!((block[PROTECTION], Protection::from_byte(UNKNOWN).is_err()), (known, true));
        block[PROTECTION] = UNKNOWN;
        let crc = crc32c(&block[CRC + 4..]);
        block[CRC..CRC + 4].copy_from_slice(&crc.to_le_bytes());
        assert!(StripeHeader::decode(&block).unwrap().verify(sample.tag).is_err());
        sample.overwrite(column, header, &block);
    }
}

fn assert_names_all(why: &str) {
    for part in [" at byte ", "(0x20)", "use a newer version"] {
        assert!(why.contains(part), "{part:?} is not in: {why}");
    }
}

/// The headers of stripes of this kind, in the order in which they were closed.
fn stripes_of(sample: &Sample, stream: Stream) -> Vec<u64> {
    let found: BTreeSet<(u64, u64)> =
        sample.spots().iter().filter(|s| s.stream == stream).map(|s| (s.stripe_seq, s.header)).collect();
    found.into_iter().map(|(_, header)| header).collect()
}

#[test]
fn a_crashed_array_with_newer_stripes_is_not_opened_and_nothing_changes() {
    for (seed, first) in [(1, true), (2, false)] {
        let sample = Sample::new(seed, 2, 1, false);
        let stripes = stripes_of(&sample, Stream::Clients);
        // The first of its segment, or another one; the last ones may be torn.
        let at = if first { stripes[0] } else { stripes[stripes.len() / 2] };
        make_newer(&sample, at);
        let before = sample.contents();
        session(&sample.world, &sample.disks, |rt, devices| async move {
            let opened =
                [Array::open(&rt, &devices, &options()).await, Array::open_by_force(&rt, &devices, &options()).await];
            for opened in opened {
                match opened {
                    Err(ArrayError::Newer(why)) => assert_names_all(&why),
                    Err(other) => panic!("{other}"),
                    Ok(_) => panic!("it was opened"),
                }
            }
            let salvage = Salvage::open(&rt, &devices, &options()).await.unwrap();
            let told: Vec<_> = salvage.remarks().iter().filter(|remark| remark.contains("newer version")).collect();
            assert_names_all(told[0]);
        });
        assert!(sample.contents() == before, "nothing was written");
    }
}

#[test]
fn a_checkpoint_in_newer_stripes_is_named_for_what_it_is() {
    let sample = Sample::new(3, 2, 1, true);
    stripes_of(&sample, Stream::Meta).into_iter().for_each(|at| make_newer(&sample, at));
    session(&sample.world, &sample.disks, |rt, devices| async move {
        match Array::open(&rt, &devices, &options()).await {
            Err(ArrayError::LostCheckpoint { why, .. }) => assert_names_all(&why),
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("it was opened"),
        }
    });
}

#[test]
fn a_check_finds_newer_stripes_and_a_serving_array_that_meets_one_takes_no_writes() {
    let sample = Sample::new(4, 2, 1, true);
    let live = sample.live();
    let at = live.iter().map(|spot| spot.header).min().unwrap();
    let stays: BTreeSet<u64> = live.iter().filter(|s| s.header == at).map(|s| s.entry.lba().0).collect();
    make_newer(&sample, at);
    let report = sample.run_check(&sample.disks);
    let found: Vec<_> = report.findings.iter().filter(|f| f.kind == FindingKind::Unaccounted).collect();
    assert_names_all(&found[0].text);
    session(&sample.world, &sample.disks, |rt, devices| async move {
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        let volume = array.volume("v").unwrap();
        for i in (0..700).filter(|i| !stays.contains(i)) {
            put(&rt, &volume, i, i).await.unwrap();
        }
        // Where no segment is without current blocks any more, cleaning comes by the one that has only the stripe.
        let others = array.create_volume("w", ByteSize(24 * MIB), 0).await.unwrap();
        let mut ended = None;
        for i in 0..40_000 {
            if let Err(error) = put(&rt, &others, rt.rng_u64() % 6144, i).await {
                ended = Some(error.to_string());
                break;
            }
        }
        assert_names_all(&ended.expect("cleaning has met the stripe"));
    });
}
