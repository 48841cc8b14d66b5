//! The offline check in virtual time: silent on sound arrays, and exact about planted damage.

use std::cell::Cell;
use std::rc::Rc;

use cygnus_engine::{Array, ArrayError, CheckReport, FindingKind, OpenOptions, Verdict, VolumeError, check};
use cygnus_format::{Kind, SUPERBLOCK_OFFSETS, Stream};
use cygnus_runtime::Rng;
use cygnus_sim::DiskConfig;
use cygnus_types::{BLOCK, Lba, VolumeId};
use proptest::prelude::*;

use crate::sample::{B, Sample, Spot, put};
use crate::sessions::{MIB, options, session};

/// Kind, device and offset of all damage.
fn damage(report: &CheckReport) -> Vec<(FindingKind, String, Option<u64>)> {
    let of = |f: &cygnus_engine::Finding| (f.kind, f.device.clone().unwrap_or_default(), f.offset);
    report.findings.iter().filter(|f| !f.is_remark()).map(of).collect()
}

fn texts(report: &CheckReport) -> String {
    report.findings.iter().map(|f| format!("{}\n", f.text)).collect()
}

fn at(kind: FindingKind, column: u8, offset: u64) -> (FindingKind, String, Option<u64>) {
    (kind, format!("d{column}"), Some(offset))
}

#[test]
fn a_sound_array_has_no_findings_and_stays_as_it_is() {
    for (k, m) in [(2, 1), (3, 2), (2, 0)] {
        let sample = Sample::new(1, k, m, true);
        let before = sample.contents();
        let writes: Vec<_> = sample.disks.iter().map(|&d| sample.world.stats(d).writes).collect();
        let seen = Rc::new(Cell::new((0, 0)));
        let report = session(&sample.world, &sample.disks, |rt, devices| {
            let seen = seen.clone();
            async move { check(&rt, &devices, &options(), move |p| seen.set((p.segments, p.of))).await.unwrap() }
        });
        assert!(report.findings.is_empty() && report.is_consistent(), "{k}+{m}: {}", texts(&report));
        assert_eq!(report.mapped, 680);
        assert!(report.clean && report.segments > 2 && report.stripes > 10 && report.bytes > 3 * MIB, "{report:?}");
        assert_eq!(seen.get(), (sample.segments as usize, sample.segments as usize));
        assert!(sample.contents() == before, "the devices are as they were");
        let after: Vec<_> = sample.disks.iter().map(|&d| sample.world.stats(d).writes).collect();
        assert_eq!(writes, after);
    }
}

#[test]
fn a_crash_is_information_and_nothing_is_written() {
    for seed in 0..10 {
        let sample = Sample::new(seed, 2, 1, false);
        let before = sample.contents();
        let report = sample.run_check(&sample.disks);
        assert!(report.is_consistent() && !report.clean, "seed {seed}: {}", texts(&report));
        assert!(report.findings.iter().any(|f| f.kind == FindingKind::Unclean));
        assert!(sample.contents() == before, "the devices are as they were");
    }
}

#[test]
fn a_flipped_data_bit_is_named_with_its_block() {
    let sample = Sample::new(2, 2, 1, true);
    let spot = sample.live()[123];
    sample.flip(&spot);
    let report = sample.run_check(&sample.disks);
    assert_eq!(damage(&report), [at(FindingKind::Data, spot.column, spot.offset)], "{}", texts(&report));
    let finding = &report.findings[0];
    assert_eq!((finding.volume, finding.lba), (Some(VolumeId(1)), Some(Lba(123))));
    assert!(finding.text.contains("volume v"), "{}", finding.text);
}

#[test]
fn a_flipped_parity_bit_is_told_from_data() {
    for (k, m) in [(2, 1), (3, 2)] {
        let sample = Sample::new(3, k, m, true);
        let spot = sample.parity_beside(&sample.live()[50]);
        sample.flip(&spot);
        let report = sample.run_check(&sample.disks);
        assert_eq!(damage(&report), [at(FindingKind::Parity, spot.column, spot.offset)], "{}", texts(&report));
    }
}

#[test]
fn a_flipped_header_is_one_bad_copy() {
    let sample = Sample::new(4, 2, 1, true);
    let spot = sample.live()[9];
    sample.world.flip_bit(sample.disks[usize::from(spot.column)], spot.header + 200, 0);
    let report = sample.run_check(&sample.disks);
    assert_eq!(damage(&report), [at(FindingKind::Header, spot.column, spot.header)], "{}", texts(&report));
    assert_eq!(report.verdict(), Verdict::Repairable);
}

#[test]
fn a_flipped_page_of_a_checkpoint_is_restored_data() {
    let sample = Sample::new(5, 2, 1, true);
    let spot = *sample.spots().iter().rfind(|s| s.stream == Stream::Meta && s.entry.kind() == Kind::Meta).unwrap();
    sample.flip(&spot);
    let report = sample.run_check(&sample.disks);
    assert_eq!(damage(&report), [at(FindingKind::Data, spot.column, spot.offset)], "{}", texts(&report));
}

#[test]
fn a_flipped_superblock_is_a_damaged_slot() {
    for &copy in SUPERBLOCK_OFFSETS.as_flattened() {
        let sample = Sample::new(6, 2, 1, true);
        sample.world.flip_bit(sample.disks[1], copy + 100, 5);
        let report = sample.run_check(&sample.disks);
        assert_eq!(damage(&report), [at(FindingKind::SuperblockSlot, 1, copy)], "{}", texts(&report));
    }
    for slot in SUPERBLOCK_OFFSETS {
        let sample = Sample::new(6, 2, 1, true);
        slot.iter().for_each(|copy| sample.world.flip_bit(sample.disks[1], copy + 100, 5));
        let report = sample.run_check(&sample.disks);
        assert_eq!(damage(&report), [at(FindingKind::SuperblockLost, 1, slot[0])], "{}", texts(&report));
        assert_eq!(report.verdict(), Verdict::Repairable, "the others tell");
    }
}

/// The check says that an opening is refused where it is, and nowhere else.
#[test]
fn a_lost_superblock_weighs_what_an_opening_makes_of_it() {
    for slot in SUPERBLOCK_OFFSETS {
        let sample = Sample::new(6, 2, 1, true);
        for column in [0, 1] {
            slot.iter().for_each(|copy| sample.world.flip_bit(sample.disks[column], copy + 100, 5));
        }
        let report = sample.run_check(&sample.disks);
        let opens = session(&sample.world, &sample.disks, |rt, devices| async move {
            match Array::open(&rt, &devices, &options()).await {
                Ok(array) => array.close().await.is_ok(),
                Err(ArrayError::LostSuperblock { .. }) => false,
                Err(other) => panic!("{other}"),
            }
        });
        let expected = if opens { Verdict::Repairable } else { Verdict::BeyondRedundancy };
        assert_eq!(report.verdict(), expected, "{}", texts(&report));
        assert!(texts(&report).contains("refuses") != opens, "{}", texts(&report));
    }
}

#[test]
fn zeroed_and_swapped_blocks_are_named_each() {
    let sample = Sample::new(7, 2, 1, true);
    let live = sample.live();
    sample.overwrite(live[7].column, live[7].offset, &[0; BLOCK]);
    let report = sample.run_check(&sample.disks);
    assert_eq!(damage(&report), [at(FindingKind::Data, live[7].column, live[7].offset)], "{}", texts(&report));

    let sample = Sample::new(8, 2, 1, true);
    let live = sample.live();
    let (a, b) = (live[200], *live[201..].iter().find(|s| s.offset != live[200].offset).unwrap());
    let (of_a, of_b) = (sample.read(a.column, a.offset), sample.read(b.column, b.offset));
    sample.overwrite(a.column, a.offset, &of_b);
    sample.overwrite(b.column, b.offset, &of_a);
    let report = sample.run_check(&sample.disks);
    let mut found = damage(&report);
    let mut expected = vec![at(FindingKind::Data, a.column, a.offset), at(FindingKind::Data, b.column, b.offset)];
    found.sort();
    expected.sort();
    assert_eq!(found, expected, "{}", texts(&report));
}

#[test]
fn what_a_device_cannot_read_is_named_block_by_block() {
    let sample = Sample::new(9, 2, 1, true);
    let spot = sample.live()[300];
    sample.world.fail_reads(sample.disks[usize::from(spot.column)], spot.offset..spot.offset + B);
    let report = sample.run_check(&sample.disks);
    assert_eq!(damage(&report), [at(FindingKind::Data, spot.column, spot.offset)], "{}", texts(&report));
    assert!(report.findings[0].text.contains("cannot be read"));
}

#[test]
fn damage_beyond_redundancy_is_listed_by_volume_and_address() {
    let sample = Sample::new(10, 2, 1, true);
    let spot = sample.live()[42];
    sample.flip(&spot);
    sample.flip(&sample.parity_beside(&spot));
    let report = sample.run_check(&sample.disks);
    assert_eq!(damage(&report), [at(FindingKind::Lost, spot.column, spot.offset)], "{}", texts(&report));
    assert_eq!(report.verdict(), Verdict::BeyondRedundancy);
    assert_eq!(report.findings[0].lba, Some(Lba(42)));

    // With two parities the same damage is borne, and each side told.
    let sample = Sample::new(10, 3, 2, true);
    let (spot, parity) = (sample.live()[42], sample.parity_beside(&sample.live()[42]));
    sample.flip(&spot);
    sample.flip(&parity);
    let report = sample.run_check(&sample.disks);
    let expected =
        [at(FindingKind::Data, spot.column, spot.offset), at(FindingKind::Parity, parity.column, parity.offset)];
    assert_eq!(damage(&report), expected, "{}", texts(&report));
}

#[test]
fn lost_headers_leave_blocks_that_nothing_describes() {
    let sample = Sample::new(11, 2, 1, true);
    let spot = sample.live()[10];
    let hidden: Vec<_> = sample
        .live()
        .iter()
        .filter(|s| s.header >= spot.header && s.header / (512 << 10) == spot.header / (512 << 10))
        .map(|s| s.entry.lba())
        .collect();
    for &disk in &sample.disks {
        sample.world.flip_bit(disk, spot.header + 300, 1);
    }
    let report = sample.run_check(&sample.disks);
    let mut found: Vec<_> = report.findings.iter().map(|f| (f.kind, f.lba.unwrap())).collect();
    found.sort();
    let mut expected: Vec<_> = hidden.iter().map(|&lba| (FindingKind::HeaderLost, lba)).collect();
    expected.sort();
    assert_eq!(found, expected, "{}", texts(&report));
}

#[test]
fn a_missing_member_is_one_finding() {
    let sample = Sample::new(12, 2, 1, true);
    let report = sample.run_check(&sample.disks[..2]);
    assert_eq!(damage(&report), [(FindingKind::MemberMissing, "member 2".into(), None)], "{}", texts(&report));
    assert!(report.is_consistent() && report.verdict() == Verdict::Degraded, "what is there is as it should be");
    assert_eq!(report.mapped, 680);
}

#[test]
fn damage_beside_a_missing_member_is_lost_where_both_meet() {
    let sample = Sample::new(13, 2, 1, true);
    let spot = *sample.live().iter().find(|s| s.column == 0).unwrap();
    sample.flip(&spot);
    let report = sample.run_check(&sample.disks[..2]);
    let lost: Vec<_> = report.findings.iter().filter(|f| f.kind == FindingKind::Lost).collect();
    assert!(lost.iter().any(|f| f.lba == Some(spot.entry.lba())), "{}", texts(&report));
    // The row's other data block is lost too, if it lies on the missing member and is current.
    assert!(lost.len() <= 2 && lost.len() + 1 == report.findings.len(), "{}", texts(&report));
}

#[test]
fn a_stale_member_is_one_finding_and_stays_out_of_service() {
    let sample = Sample::new(14, 2, 1, true);
    let mut old = vec![0; 24 * MIB as usize];
    sample.world.peek(sample.disks[2], 0, &mut old);
    for _ in 0..2 {
        session(&sample.world, &sample.disks, |rt, devices| async move {
            let array = Array::open(&rt, &devices, &options()).await.unwrap();
            let volume = array.volume("v").unwrap();
            for i in 0..200 {
                put(&rt, &volume, i, i + 9000).await.unwrap();
            }
            array.close().await.unwrap();
        });
    }
    sample.overwrite(2, 0, &old);
    let report = sample.run_check(&sample.disks);
    assert_eq!(damage(&report), [(FindingKind::MemberStale, "d2".into(), None)], "{}", texts(&report));
    assert_eq!(report.verdict(), Verdict::Degraded);
    let online = session(&sample.world, &sample.disks, |rt, devices| async move {
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        array.status().members.iter().map(|m| m.is_online()).collect::<Vec<_>>()
    });
    assert_eq!(online, [true, true, false], "the engine does not trust it either");
}

#[test]
fn a_device_of_something_else_is_named() {
    let sample = Sample::new(15, 2, 1, true);
    let other = sample.world.add_disk(DiskConfig::new("spare", 24 * MIB));
    let disks: Vec<_> = sample.disks.iter().copied().chain([other]).collect();
    let report = sample.run_check(&disks);
    let remarks: Vec<_> = report.findings.iter().map(|f| (f.kind, f.device.as_deref(), f.is_remark())).collect();
    assert_eq!(remarks, [(FindingKind::NotAMember, Some("spare"), true)], "{}", texts(&report));
    assert_eq!(report.verdict(), Verdict::Consistent, "nothing of the array is missing");
}

#[test]
fn a_member_that_was_cut_short_is_told_by_its_sizes() {
    let sample = Sample::new(18, 2, 1, true);
    let report = session(&sample.world, &sample.disks, |rt, mut devices| async move {
        devices[1].size /= 2;
        check(&rt, &devices, &options(), |_| {}).await.unwrap()
    });
    assert_eq!(damage(&report), [(FindingKind::MemberTruncated, "d1".into(), None)], "{}", texts(&report));
    assert!(texts(&report).contains("MiB: truncated"), "{}", texts(&report));
    assert_eq!(report.verdict(), Verdict::Degraded);
}

#[test]
fn superblocks_from_before_leave_stripes_unaccounted_for() {
    let sample = Sample::new(16, 2, 1, true);
    let mut heads = vec![vec![0; MIB as usize]; 3];
    for (head, &disk) in heads.iter_mut().zip(&sample.disks) {
        sample.world.peek(disk, 0, head);
    }
    session(&sample.world, &sample.disks, |rt, devices| async move {
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        let volume = array.volume("v").unwrap();
        for i in 0..200 {
            put(&rt, &volume, i, i + 9000).await.unwrap();
        }
        array.close().await.unwrap();
    });
    for (column, head) in heads.iter().enumerate() {
        sample.overwrite(column as u8, 0, head);
    }
    let report = sample.run_check(&sample.disks);
    assert!(report.findings.iter().any(|f| f.kind == FindingKind::Unaccounted), "{}", texts(&report));
}

#[test]
fn without_its_checkpoint_an_array_opens_by_force_only_and_shows_nothing_old() {
    let sample = Sample::new(17, 2, 1, true);
    session(&sample.world, &sample.disks, |rt, devices| async move {
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        let volume = array.volume("v").unwrap();
        for i in 0..300 {
            put(&rt, &volume, i, i + 9000).await.unwrap();
        }
        array.close().await.unwrap();
    });
    let pages: Vec<Spot> = sample.spots().into_iter().filter(|s| s.entry.kind() == Kind::Meta).collect();
    let newest = pages.iter().map(|s| s.entry.seq()).max().unwrap();
    let page = pages.iter().find(|s| s.entry.seq() == newest).unwrap();
    sample.flip(page);
    sample.flip(&sample.parity_beside(page));
    let report = sample.run_check(&sample.disks);
    let found: Vec<_> = damage(&report).into_iter().map(|(kind, _, _)| kind).collect();
    assert_eq!(found, [FindingKind::Checkpoint], "{}", texts(&report));
    session(&sample.world, &sample.disks, |rt, devices| async move {
        let refused = Array::open(&rt, &devices, &options()).await.map(drop);
        assert!(matches!(refused, Err(ArrayError::LostCheckpoint { .. })), "{refused:?}");
        let array = Array::open_by_force(&rt, &devices, &options()).await.unwrap();
        let volume = array.volume("v").unwrap();
        let mut unknown = 0;
        for i in 0..300 {
            let mut expected = [0; BLOCK];
            Rng::new(i + 9000).fill(&mut expected);
            match volume.read(i * B, rt.alloc(BLOCK).full()).await {
                Ok(data) => assert!(data.bytes() == expected, "block {i} is as it was before the stop"),
                Err(VolumeError::Unknown { .. }) => unknown += 1,
                Err(error) => panic!("{error}"),
            }
        }
        assert!(unknown > 0, "the page that was lost had some of them");
        // What was never written may have been, for all that anybody knows.
        assert!(matches!(volume.read(1500 * B, rt.alloc(BLOCK).full()).await, Err(VolumeError::Unknown { .. })));
        for i in 0..300 {
            put(&rt, &volume, i, i).await.unwrap();
        }
        volume.trim(1500 * B, B).await.unwrap();
        array.close().await.unwrap();
    });
    session(&sample.world, &sample.disks, |rt, devices| async move {
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        let volume = array.volume("v").unwrap();
        assert_eq!(volume.read(1500 * B, rt.alloc(BLOCK).full()).await.unwrap().bytes(), [0; BLOCK]);
        assert!(volume.read(1501 * B, rt.alloc(BLOCK).full()).await.is_err());
        for i in 0..300 {
            let mut expected = [0; BLOCK];
            Rng::new(i).fill(&mut expected);
            assert!(volume.read(i * B, rt.alloc(BLOCK).full()).await.unwrap().bytes() == expected, "block {i}");
        }
        // The status tells how much is unreadable, until nothing is.
        let unknown = || {
            let status = array.status();
            status.volumes.iter().find(|volume| volume.name == "v").unwrap().unknown.unwrap().blocks()
        };
        let mut lost = 0;
        for i in 0..volume.size() / B {
            lost += u64::from(volume.read(i * B, rt.alloc(BLOCK).full()).await.is_err());
        }
        assert!(lost > 0);
        assert_eq!(unknown(), lost);
        volume.trim(0, volume.size()).await.unwrap();
        assert_eq!(unknown(), 0);
        array.close().await.unwrap();
    });
    assert!(sample.run_check(&sample.disks).is_consistent());
}

#[test]
fn a_read_only_array_tells_where_blocks_lie_and_writes_nothing() {
    let sample = Sample::new(18, 2, 1, true);
    let before = sample.contents();
    let live = sample.live();
    let spot = live[77];
    sample.flip(&live[5]);
    let damaged = sample.contents();
    let expected = spot;
    session(&sample.world, &sample.disks, |rt, devices| async move {
        let array = Array::open(&rt, &devices, &OpenOptions { read_only: true, ..options() }).await.unwrap();
        let found = array.locate("v", Lba(77)).await.unwrap();
        assert_eq!((found.device, found.offset), (format!("d{}", expected.column), expected.offset));
        let summary = found.summary.unwrap();
        assert_eq!((summary.crc, summary.write_seq), (expected.entry.crc(), expected.entry.seq()));
        assert!(found.intact);
        assert!(array.locate("v", Lba(655)).await.is_none(), "trimmed");
        assert!(array.locate("w", Lba(0)).await.is_none(), "no such volume");
        assert_eq!(array.segments().iter().map(|s| s.live).sum::<u32>(), 680);
        // A read that finds damage would repair it, and a write is refused.
        let volume = array.volume("v").unwrap();
        let read = volume.read(0, rt.alloc(64 * BLOCK).full()).await.unwrap();
        assert_eq!(read.len(), 64 * BLOCK);
        assert!(matches!(put(&rt, &volume, 0, 1).await, Err(VolumeError::ReadOnly(_))));
        assert!(!array.locate("v", Lba(5)).await.unwrap().intact);
    });
    assert!(sample.contents() == damaged && damaged != before, "the devices are as they were");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// Any few blocks of data or parity that are damaged in different rows are found, each as what it is, and nothing
    /// else.
    #[test]
    fn any_damage_within_redundancy_is_found_exactly(seed in 0u64..1000, picks in prop::collection::vec(0usize..100_000, 1..12)) {
        let sample = Sample::new(seed, 3, 2, true);
        let live = sample.live();
        let rows: std::collections::BTreeSet<u64> = live.iter().map(|s| s.offset).collect();
        let mut taken = std::collections::BTreeSet::new();
        let mut expected = Vec::new();
        let all: Vec<Spot> = sample.spots().into_iter().filter(|s| rows.contains(&s.offset)).collect();
        for pick in picks {
            let spot = all[pick % all.len()];
            if taken.insert(spot.offset) {
                sample.flip(&spot);
                let kind = if spot.is_parity { FindingKind::Parity } else { FindingKind::Data };
                expected.push(at(kind, spot.column, spot.offset));
            }
        }
        let report = sample.run_check(&sample.disks);
        let mut found = damage(&report);
        found.sort();
        expected.sort();
        prop_assert_eq!(found, expected, "{}", texts(&report));
    }
}
