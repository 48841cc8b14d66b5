//! Scrubs in virtual time: whatever is damaged within redundancy is found, mended and told, and never more than that.

use std::sync::Arc;

use cygnus_engine::{Array, ErrorCounts, FindingKind, LostBlock, OpenOptions, ScrubReport, VolumeError};
use cygnus_format::{Kind, SUPERBLOCK_OFFSETS, Stream};
use cygnus_runtime::{Rng, Runtime};
use cygnus_sim::World;
use cygnus_types::{BLOCK, Lba, Nanos};
use proptest::prelude::*;

use crate::common;
use crate::sample::{B, Sample, Spot, put};
use crate::sessions::{Lines, MIB, options, session};

/// Opens the array, scrubs it, and closes it.
fn scrub(sample: &Sample) -> (ScrubReport, Vec<ErrorCounts>) {
    session(&sample.world, &sample.disks, |rt, devices| async move {
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        let report = array.scrub(1_000_000).await;
        let counts = array.status().members.iter().map(|m| m.errors).collect();
        array.close().await.unwrap();
        (report, counts)
    })
}

/// What the array remembers of losses after a clean stop.
fn losses(sample: &Sample) -> (u64, u64) {
    session(&sample.world, &sample.disks, |rt, devices| async move {
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        let losses = array.status().losses;
        array.close().await.unwrap();
        (losses.found, losses.asked)
    })
}

fn is_consistent(sample: &Sample) -> bool {
    sample.run_check(&sample.disks).is_consistent()
}

#[test]
fn a_sound_array_is_left_as_it_is_and_the_time_is_remembered() {
    let sample = Sample::new(1, 2, 1, true);
    let (report, counts) = scrub(&sample);
    assert!(report.complete && report.found() == 0 && report.moved == 0, "{report:?}");
    assert!(report.blocks >= 680 && report.bytes > 3 * MIB, "{report:?}");
    assert!(counts.iter().all(|c| *c == ErrorCounts::default()), "{counts:?}");
    let last = session(&sample.world, &sample.disks, |rt, devices| async move {
        Array::open(&rt, &devices, &options()).await.unwrap().status().last_scrub_unix
    });
    assert_eq!(last, 1_000_000 + report.took.0 / 1_000_000_000);
}

#[test]
fn bad_data_parity_and_headers_are_mended_and_blamed() {
    for what in ["data", "unreadable", "parity", "header"] {
        let sample = Sample::new(2, 2, 1, true);
        let data = sample.live()[123];
        let spot = if what == "parity" { sample.parity_beside(&data) } else { data };
        let disk = sample.disks[usize::from(spot.column)];
        match what {
            "unreadable" => sample.world.fail_reads(disk, spot.offset..spot.offset + B),
            "header" => sample.world.flip_bit(disk, spot.header + 200, 0),
            _ => sample.flip(&spot),
        }
        let (report, counts) = scrub(&sample);
        let ScrubReport { wrong_blocks, wrong_parity, wrong_headers, moved, rebuilt, lost, .. } = report;
        let expected = match what {
            "data" | "unreadable" => (1, 0, 0, 1),
            "parity" => (0, 1, 0, 0),
            _ => (0, 0, 1, 0),
        };
        assert_eq!((wrong_blocks, wrong_parity, wrong_headers, rebuilt), expected, "{what}: {report:?}");
        assert!(moved > 0 && lost == 0, "{what}: {report:?}");
        let blamed = counts[usize::from(spot.column)];
        match what {
            "data" => assert_eq!((blamed.wrong, blamed.repaired), (1, 1), "{counts:?}"),
            "unreadable" => assert!(blamed.read > 0 && blamed.repaired == 1, "{counts:?}"),
            "parity" => assert_eq!((blamed.wrong, blamed.parity), (0, 1), "{counts:?}"),
            _ => assert_eq!(blamed.wrong, 1, "{counts:?}"),
        }
        let others = counts.iter().enumerate().filter(|(column, _)| *column != usize::from(spot.column));
        assert!(others.into_iter().all(|(_, c)| *c == ErrorCounts::default()), "{what}: {counts:?}");
        assert!(is_consistent(&sample), "{what}");
        assert_eq!(scrub(&sample).0.found(), 0, "{what}: a second scrub finds nothing");
    }
}

#[test]
fn errors_are_remembered_and_make_a_member_suspect() {
    let sample = Sample::new(3, 2, 1, true);
    let victims: Vec<Spot> = sample.live().into_iter().filter(|s| s.column == 1).take(20).collect();
    victims.iter().for_each(|spot| sample.flip(spot));
    let (report, counts) = scrub(&sample);
    assert_eq!((report.wrong_blocks, counts[1].wrong), (20, 20));
    session(&sample.world, &sample.disks, |rt, devices| async move {
        let status = Array::open(&rt, &devices, &options()).await.unwrap().status();
        assert_eq!(status.members[1].lifetime.wrong, 20, "remembered over a stop");
        assert_eq!(status.members[1].errors, ErrorCounts::default(), "since opening");
        assert!(status.members.iter().all(|m| m.suspect.is_none()), "not enough, and not today");
    });
    for spot in sample.live().into_iter().filter(|s| s.column == 1).take(44) {
        sample.flip(&spot);
    }
    session(&sample.world, &sample.disks, |rt, devices| async move {
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        array.scrub(0).await;
        let suspect: Vec<bool> = array.status().members.iter().map(|m| m.suspect.is_some()).collect();
        assert_eq!(suspect, [false, true, false]);
    });
}

#[test]
fn damaged_checkpoints_and_superblocks_are_written_anew() {
    let sample = Sample::new(5, 2, 1, true);
    let pages: Vec<Spot> = sample.spots().into_iter().filter(|s| s.entry.kind() == Kind::Meta).collect();
    let page = pages.iter().rfind(|s| s.stream == Stream::Meta).unwrap();
    // Beyond redundancy, which matters not while the map is in memory.
    let (report, _) = session(&sample.world, &sample.disks, |rt, devices| {
        let (world, disks) = (sample.world.clone(), sample.disks.clone());
        let spots = [*page, sample.parity_beside(page)];
        async move {
            let array = Array::open(&rt, &devices, &options()).await.unwrap();
            for spot in spots {
                world.flip_bit(disks[usize::from(spot.column)], spot.offset + 77, 2);
            }
            for copy in SUPERBLOCK_OFFSETS.as_flattened() {
                world.flip_bit(disks[1], copy + 100, 5);
            }
            let report = array.scrub(0).await;
            let second = array.scrub(0).await;
            assert_eq!(second.found(), 0, "{second:?}");
            (report, ())
        }
    });
    assert_eq!((report.wrong_headers, report.lost, report.moved), (4, 0, 0), "{report:?}");
    assert!(report.wrong_blocks > 0);
    sample.world.cut_power();
    sample.world.restore_power();
    assert!(is_consistent(&sample));
}

#[test]
fn blocks_without_headers_are_found_through_the_map() {
    let sample = Sample::new(11, 2, 1, true);
    let spot = sample.live()[10];
    for &disk in &sample.disks {
        sample.world.flip_bit(disk, spot.header + 300, 1);
    }
    let (report, _) = scrub(&sample);
    assert!(report.wrong_headers > 0 && report.moved == report.wrong_headers && report.lost == 0, "{report:?}");
    assert!(is_consistent(&sample));
}

#[test]
fn what_is_beyond_redundancy_is_listed_and_nothing_else_suffers() {
    let sample = Sample::new(10, 2, 1, true);
    let spot = sample.live()[42];
    sample.flip(&spot);
    sample.flip(&sample.parity_beside(&spot));
    let (report, counts) = scrub(&sample);
    let lost = LostBlock { volume: "v".into(), lba: Lba(42) };
    assert_eq!((report.lost, report.lost_blocks), (1, vec![lost]));
    assert_eq!(counts[usize::from(spot.column)].unrepairable, 1);
    assert_eq!(losses(&sample), (1, 0));
    let after = sample.run_check(&sample.disks);
    let left: Vec<_> = after.findings.iter().filter(|f| f.is_damage()).map(|f| (f.kind, f.lba)).collect();
    assert!(left.contains(&(FindingKind::Lost, Some(Lba(42)))), "{left:?}");
    assert!(left.iter().all(|(kind, lba)| *kind != FindingKind::Lost || *lba == Some(Lba(42))), "{left:?}");
    session(&sample.world, &sample.disks, |rt, devices| async move {
        let lines = Arc::new(Lines::default());
        let array = Array::open(&rt, &devices, &OpenOptions::new(lines.clone())).await.unwrap();
        let volume = array.volume("v").unwrap();
        for lba in 0..700 {
            let read = volume.read(lba * B, rt.alloc(BLOCK).full()).await;
            assert_eq!(matches!(read, Err(VolumeError::Unreadable { .. })), lba == 42, "block {lba}");
        }
        // The operator hears of what the client got, by device and address.
        let told: Vec<String> =
            lines.0.lock().unwrap().iter().filter(|line| line.contains("reads of it fail")).cloned().collect();
        let name = &devices[usize::from(spot.column)].name;
        assert!(
            told.len() == 1 && told[0].contains(&format!("lba 42 of volume v cannot be read from {name} at byte")),
            "{told:?}"
        );
        array.close().await.unwrap();
    });
    assert_eq!(losses(&sample), (1, 1), "what a client was refused is remembered too");
    // Written anew it is whole again, and so is the array, which the next scrub knows.
    session(&sample.world, &sample.disks, |rt, devices| async move {
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        put(&rt, &array.volume("v").unwrap(), 42, 4242).await.unwrap();
        assert_eq!(array.scrub(0).await.lost, 0);
        array.close().await.unwrap();
    });
    assert_eq!(losses(&sample), (0, 0));
    assert!(is_consistent(&sample));
}

/// Writes tags and reads them back while a scrub runs.
async fn client(rt: Runtime, array: Array, rounds: u64) {
    let volume = array.volume("v").unwrap();
    for round in 0..rounds {
        let lba = rt.rng_u64() % 700;
        put(&rt, &volume, lba, round + 50_000).await.unwrap();
        let (buf, mut expected) = (rt.alloc(BLOCK), [0; BLOCK]);
        let got = volume.read(lba * B, buf.full()).await.unwrap();
        Rng::new(round + 50_000).fill(&mut expected);
        assert!(got.bytes() == expected, "block {lba} in round {round}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// One damaged block in any number of rows, while a client overwrites and cleaning moves the same blocks: at the end
    /// nothing is wrong any more, and nothing was taken for damage that was not.
    #[test]
    fn any_damage_within_redundancy_is_mended_beside_guests(seed in 0u64..1000, picks in prop::collection::vec(0usize..100_000, 0..40)) {
        let sample = Sample::new(seed, 3, 2, true);
        let all = sample.spots();
        let mut rows = std::collections::BTreeSet::new();
        let picked: Vec<Spot> = picks.iter().map(|pick| all[pick % all.len()]).filter(|s| rows.insert(s.offset)).collect();
        picked.iter().for_each(|spot| sample.flip(spot));
        let report = session(&sample.world, &sample.disks, |rt, devices| async move {
            let array = Array::open(&rt, &devices, &options()).await.unwrap();
            array.start_scrub(0);
            client(rt.clone(), array.clone(), 2000).await;
            while array.scrub_report().is_none() {
                rt.sleep(Nanos::millis(1)).await;
            }
            let report = array.scrub_report().unwrap();
            array.close().await.unwrap();
            report
        });
        prop_assert!(report.complete && report.lost == 0, "{report:?}");
        prop_assert!(report.found() <= picked.len() as u64, "{report:?}");
        prop_assert!(is_consistent(&sample));
    }
}

#[test]
fn closing_ends_a_scrub_and_a_power_cut_in_it_harms_nothing() {
    for seed in 0..20 {
        let sample = Sample::new(seed, 2, 1, true);
        let mut rng = Rng::new(seed);
        let live = sample.live();
        let mut rows = std::collections::BTreeSet::new();
        for _ in 0..30 {
            let spot = live[rng.below(live.len() as u64) as usize];
            if rows.insert(spot.offset) {
                sample.flip(&spot);
            }
        }
        let rt = sample.world.reactor(cygnus_types::ReactorId(0), &sample.disks);
        let infos = sample.world.infos(&sample.disks);
        sample.world.cut_power_after((seed % 4 > 0).then(|| 100 + rng.below(900)));
        let main = rt.clone();
        let ended = rt.run(async move {
            let array = Array::open(&main, &infos, &options()).await.unwrap();
            array.start_scrub(0);
            main.sleep(Nanos::micros(500)).await;
            array.clone().close().await.unwrap();
            array.scrub_report().unwrap()
        });
        rt.drop_tasks();
        match ended {
            Ok(report) => assert!(seed % 4 > 0 || !report.complete, "seed {seed}: {report:?}"),
            Err(_) => sample.world.restore_power(),
        }
        sample.world.cut_power_after(None);
        let (report, _) = scrub(&sample);
        assert!(report.complete && report.lost == 0, "seed {seed}: {report:?}");
        assert!(is_consistent(&sample), "seed {seed}");
    }
}

/// A segment that cleaning gave up is space again as soon as nobody misses what could not be read.
#[test]
fn a_segment_that_was_given_up_comes_back_when_its_blocks_are_overwritten() {
    let world = World::new(11);
    let disks = common::make(&world, 1, 2, 1, 0);
    let (flipped, all) = (world.clone(), disks.clone());
    session(&world, &disks, |rt, devices| async move {
        let (array, volume) = common::open(&rt, &devices).await;
        common::fill(&rt, &volume, 0).await;
        let at = array.locate("v", Lba(7)).await.unwrap();
        // Not the same bit everywhere, which would leave the parity right.
        (0..).zip(all).for_each(|(bit, disk)| flipped.flip_bit(disk, at.offset, bit));
        let damaged = || array.status().groups[0].damaged;
        for round in 0..40 {
            // At random, so that no segment empties by itself.
            for _ in 0..common::BLOCKS {
                let block = 8 + rt.rng_u64() % (common::BLOCKS - 8);
                common::put(&rt, &volume, block, block + round).await;
            }
            volume.flush().await.unwrap();
            if damaged() > 0 {
                break;
            }
        }
        assert_eq!(damaged(), 1, "cleaning has met it and given it up");
        for round in 0..40 {
            common::fill(&rt, &volume, round).await;
        }
        assert_eq!(damaged(), 0);
        array.close().await.unwrap();
    });
    common::assert_clean(&world, &disks);
}
