//! An array's life on modelled devices: made, filled, cleaned, closed, crashed, opened with members missing.

use cygnus_engine::{Array, ArrayError, CreateOptions, Found, Volume, VolumeError, create, inspect};
use cygnus_policy::Preset;
use cygnus_runtime::Runtime;
use cygnus_sim::{DiskConfig, DiskId, FaultRates, World};
use cygnus_types::{ByteSize, Lba};

use crate::sessions::*;

fn disks(world: &World, n: usize, size: u64) -> Vec<DiskId> {
    (0..n).map(|i| world.add_disk(DiskConfig::new(format!("d{i}"), size))).collect()
}

async fn put(rt: &Runtime, volume: &Volume, offset: u64, data: &[u8]) -> Result<(), VolumeError> {
    let mut buf = rt.alloc(data.len());
    buf.bytes_mut().copy_from_slice(data);
    volume.write(offset, buf.full()).await
}

async fn get(rt: &Runtime, volume: &Volume, offset: u64, len: usize) -> Result<Vec<u8>, VolumeError> {
    let buf = volume.read(offset, rt.alloc(len).full()).await?;
    Ok(buf.bytes().to_vec())
}

fn block(tag: u64) -> Vec<u8> {
    let mut data = vec![0; 4096];
    for (i, word) in data.chunks_exact_mut(8).enumerate() {
        word.copy_from_slice(&(tag.wrapping_mul(0x9E37_79B9) ^ i as u64).to_le_bytes());
    }
    data
}

fn make(world: &World, preset: Preset, groups: usize, k: u8, m: u8, size: u64) -> Vec<DiskId> {
    let disks = disks(world, groups * usize::from(k + m), size);
    let options =
        CreateOptions { segment: Some(ByteSize(512 << 10)), ..CreateOptions::new("tank", preset, groups, k, m) };
    session(world, &disks, |rt, devices| async move {
        create(&rt, &devices, &options).await.unwrap();
        let array = Array::open(&rt, &devices, &self::options()).await.unwrap();
        array.create_volume("v", ByteSize(32 * MIB), 0).await.unwrap();
        array.close().await.unwrap();
    });
    disks
}

#[test]
fn what_is_written_is_read_before_and_after_a_clean_stop() {
    let world = World::new(1);
    let disks = make(&world, Preset::LogRaid, 1, 2, 1, 32 * MIB);
    session(&world, &disks, |rt, devices| async move {
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        let volume = array.volume("v").unwrap();
        for i in 0..500 {
            put(&rt, &volume, i * 4096, &block(i)).await.unwrap();
        }
        put(&rt, &volume, 5000, b"unaligned bytes across a block border").await.unwrap();
        for i in 0..500 {
            let data = get(&rt, &volume, i * 4096, 4096).await.unwrap();
            assert!(i == 1 || data == block(i), "block {i}");
        }
        array.close().await.unwrap();
    });
    session(&world, &disks, |rt, devices| async move {
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        assert!(array.recovery().was_clean);
        let volume = array.volume("v").unwrap();
        for i in 2..500 {
            assert_eq!(get(&rt, &volume, i * 4096, 4096).await.unwrap(), block(i), "block {i}");
        }
        assert_eq!(get(&rt, &volume, 5000, 37).await.unwrap(), b"unaligned bytes across a block border");
        assert_eq!(get(&rt, &volume, 20 * MIB, 4096).await.unwrap(), vec![0; 4096]);
        array.close().await.unwrap();
    });
}

#[test]
fn overwriting_the_array_many_times_rotates_and_cleans() {
    for (preset, groups) in [(Preset::Swan, 2), (Preset::Swan, 3), (Preset::Swan, 4), (Preset::LogRaid, 1)] {
        let world = World::new(2);
        let disks = make(&world, preset, groups, 2, 1, 24 * MIB);
        session(&world, &disks, |rt, devices| async move {
            let array = Array::open(&rt, &devices, &options()).await.unwrap();
            let usable = array.status().usable.0;
            let size = usable * 9 / 10 / 4096 * 4096;
            array.resize_volume("v", ByteSize(size)).await.unwrap();
            let volume = array.volume("v").unwrap();
            let blocks = size / 4096;
            let mut newest = vec![0; blocks as usize];
            for i in 0..blocks * 5 {
                let at = rt.rng_u64() % blocks;
                put(&rt, &volume, at * 4096, &block(i + 1)).await.unwrap();
                newest[at as usize] = i + 1;
            }
            for (at, &tag) in newest.iter().enumerate() {
                let expected = if tag == 0 { vec![0; 4096] } else { block(tag) };
                assert_eq!(get(&rt, &volume, at as u64 * 4096, 4096).await.unwrap(), expected, "block {at}");
            }
            let traffic = array.traffic();
            assert!(traffic.victims > 20, "{traffic:?}");
            assert!(preset != Preset::Swan || traffic.rotations >= 3, "{traffic:?}");
            assert_eq!(
                traffic.victims_beside > 0,
                groups > 2,
                "with two groups there is only one to clean: {traffic:?}"
            );
            array.close().await.unwrap();
        });
    }
}

#[test]
fn a_crash_loses_nothing_that_was_flushed_even_with_members_gone() {
    for seed in 0..20 {
        let world = World::new(seed);
        let disks = make(&world, Preset::Swan, 2, 3, 2, 16 * MIB);
        session(&world, &disks, |rt, devices| async move {
            let array = Array::open(&rt, &devices, &options()).await.unwrap();
            let volume = array.volume("v").unwrap();
            for i in 0..300 {
                put(&rt, &volume, i * 4096, &block(i)).await.unwrap();
            }
            volume.flush().await.unwrap();
            for i in 300..600 {
                put(&rt, &volume, i * 4096, &block(i)).await.unwrap();
            }
        });
        world.cut_power();
        world.restore_power();
        let left: Vec<DiskId> = disks[1..4].iter().chain(&disks[5..9]).copied().collect();
        session(&world, &left, |rt, devices| async move {
            let array = Array::open(&rt, &devices, &options()).await.unwrap();
            assert!(!array.recovery().was_clean);
            let volume = array.volume("v").unwrap();
            for i in 0..600 {
                let data = get(&rt, &volume, i * 4096, 4096).await.unwrap();
                assert!(data == block(i) || i >= 300 && data == vec![0; 4096], "seed {seed} block {i}");
            }
            array.close().await.unwrap();
        });
        let error = session(&world, &left[1..], |rt, devices| async move {
            Array::open(&rt, &devices, &options()).await.err().expect("three of five missing")
        });
        assert!(matches!(error, ArrayError::TooManyMissing { .. }), "{error}");
    }
}

#[test]
fn a_flipped_bit_is_repaired_and_counted() {
    let world = World::new(3);
    let disks = make(&world, Preset::LogRaid, 1, 2, 1, 32 * MIB);
    session(&world, &disks, |rt, devices| async move {
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        let volume = array.volume("v").unwrap();
        for i in 0..200 {
            put(&rt, &volume, i * 4096, &block(i)).await.unwrap();
        }
        array.close().await.unwrap();
    });
    for offset in (cygnus_format::DATA_START + 8192..cygnus_format::DATA_START + MIB).step_by(4096) {
        // Column 0 of segment 0 is parity.
        world.flip_bit(disks[1], offset, 3);
    }
    session(&world, &disks, |rt, devices| async move {
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        let volume = array.volume("v").unwrap();
        // Twice, because the first repairs come before a segment has been granted to write to.
        for i in (0..200).chain(0..200) {
            assert_eq!(get(&rt, &volume, i * 4096, 4096).await.unwrap(), block(i), "block {i}");
        }
        let repaired = array.traffic().repaired;
        assert!(repaired > 10, "{repaired}");
        for i in 0..200 {
            get(&rt, &volume, i * 4096, 4096).await.unwrap();
        }
        assert_eq!(array.traffic().repaired, repaired, "repaired once and for all");
        array.close().await.unwrap();
    });
}

#[test]
fn a_full_array_refuses_writes_and_recovers_by_trim() {
    let world = World::new(4);
    let disks = make(&world, Preset::LogRaid, 1, 2, 1, 24 * MIB);
    session(&world, &disks, |rt, devices| async move {
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        array.resize_volume("v", ByteSize(200 * MIB)).await.unwrap();
        let volume = array.volume("v").unwrap();
        let mut written = 0;
        let error = loop {
            match put(&rt, &volume, written * 4096, &block(written)).await {
                Ok(()) => written += 1,
                Err(error) => break error,
            }
        };
        assert!(matches!(error, VolumeError::NoSpace { .. }), "{error}");
        assert_eq!(written * 4096, array.status().usable.0);
        // Overwrites need no new space; reads go on.
        put(&rt, &volume, 0, &block(77)).await.unwrap();
        assert_eq!(get(&rt, &volume, 0, 4096).await.unwrap(), block(77));
        volume.trim(4096, 100 * 4096).await.unwrap();
        assert_eq!(get(&rt, &volume, 8192, 4096).await.unwrap(), vec![0; 4096]);
        for i in 0..100 {
            put(&rt, &volume, (written + i) * 4096, &block(i)).await.unwrap();
        }
        array.close().await.unwrap();
    });
}

#[test]
fn a_volume_deleted_while_its_segments_are_cleaned_costs_no_segment() {
    for seed in 0..4 {
        let world = World::new(seed);
        let disks = make(&world, Preset::LogRaid, 1, 2, 1, 24 * MIB);
        session(&world, &disks, |rt, devices| async move {
            let array = Array::open(&rt, &devices, &options()).await.unwrap();
            let size = array.status().usable.0 * 9 / 10 / 2 / 4096 * 4096;
            array.resize_volume("v", ByteSize(size)).await.unwrap();
            array.create_volume("w", ByteSize(size), 0).await.unwrap();
            let (v, w) = (array.volume("v").unwrap(), array.volume("w").unwrap());
            let blocks = size / 4096;
            for i in 0..blocks * 3 {
                put(&rt, &v, rt.rng_u64() % blocks * 4096, &block(i)).await.unwrap();
                put(&rt, &w, rt.rng_u64() % blocks * 4096, &block(i)).await.unwrap();
            }
            let busy = std::rc::Rc::new(std::cell::Cell::new(true));
            rt.spawn({
                let (rt, busy) = (rt.clone(), busy.clone());
                async move {
                    for i in 0..blocks {
                        put(&rt, &v, rt.rng_u64() % blocks * 4096, &block(i)).await.unwrap();
                    }
                    busy.set(false);
                }
            });
            rt.sleep(cygnus_types::Nanos::millis(1 + seed)).await;
            array.delete_volume("w").await.unwrap();
            while busy.get() {
                rt.sleep(cygnus_types::Nanos::millis(5)).await;
            }
            let damaged: u32 = array.status().groups.iter().map(|g| g.damaged).sum();
            assert_eq!(damaged, 0, "seed {seed}: nothing was unreadable");
            array.close().await.unwrap();
        });
    }
}

#[test]
fn what_a_write_puts_behind_the_end_of_a_shrinking_volume_does_not_come_back() {
    for turns in [0, 1, 3, 6, 10, 20, 50] {
        let world = World::new(9);
        let disks = make(&world, Preset::LogRaid, 1, 2, 1, 32 * MIB);
        session(&world, &disks, |rt, devices| async move {
            let array = Array::open(&rt, &devices, &options()).await.unwrap();
            let volume = array.volume("v").unwrap();
            put(&rt, &volume, 0, &[1; 4096]).await.unwrap();
            volume.trim(0, 4096).await.unwrap();
            let ended = std::rc::Rc::new(std::cell::Cell::new(false));
            rt.spawn({
                let (rt, volume, ended) = (rt.clone(), volume.clone(), ended.clone());
                async move {
                    // Whether it is refused half-way or has ended before does not matter.
                    let _ = put(&rt, &volume, 4 * MIB, &vec![7; 4 << 20]).await;
                    ended.set(true);
                }
            });
            // The first block waits for a segment, the others for their turn.
            while volume.mapped().0 == 0 {
                rt.sleep(cygnus_types::Nanos::micros(1)).await;
            }
            for _ in 0..turns {
                rt.yield_now().await;
            }
            array.resize_volume("v", ByteSize(2 * MIB)).await.unwrap();
            while !ended.get() {
                rt.sleep(cygnus_types::Nanos::millis(1)).await;
            }
            assert_eq!(volume.mapped().0, 0, "after {turns} turns");
            array.resize_volume("v", ByteSize(8 * MIB)).await.unwrap();
            let back = get(&rt, &volume, 4 * MIB, 4 << 20).await.unwrap();
            assert!(back.iter().all(|&byte| byte == 0), "after {turns} turns");
            array.close().await.unwrap();
        });
    }
}

/// Both places of the superblock, in turn and then together.
#[test]
fn a_superblock_that_cannot_be_read_costs_no_more_than_its_member() {
    let world = World::new(5);
    let disks = make(&world, Preset::LogRaid, 1, 2, 1, 32 * MIB);
    let [[first, _], [_, second]] = cygnus_format::SUPERBLOCK_OFFSETS.map(|slot| slot.map(|at| at..at + 4096));
    let open = |disks: &[DiskId]| {
        session(&world, disks, |rt, devices| async move {
            let array = Array::open(&rt, &devices, &options()).await?;
            let remarks = array.recovery().remarks.clone();
            array.close().await.map(|()| remarks)
        })
    };
    for slot in [&first, &second] {
        world.fail_reads(disks[1], slot.clone());
        let found = session(&world, &disks, |rt, devices| async move {
            cygnus_engine::check(&rt, &devices, &options(), |_| {}).await.unwrap().findings
        });
        let kinds: Vec<_> = found.iter().filter(|f| !f.is_remark()).map(|f| f.kind.name()).collect();
        assert_eq!(kinds, ["superblock-slot"], "{found:?}");
        assert_eq!(open(&disks), Ok(Vec::new()), "the other one serves, and this one is written anew");
    }
    world.fail_reads(disks[1], first.start..second.end);
    let remarks = open(&disks).expect("two of three members are enough");
    assert!(remarks.len() == 1 && remarks[0].contains("d1") && remarks[0].contains("counts as missing"), "{remarks:?}");
    world.fail_reads(disks[2], first.start..second.end);
    let error = open(&disks).expect_err("one of three members is not");
    let text = error.to_string();
    assert!(matches!(error, ArrayError::TooManyMissing { .. }), "{text}");
    assert!(text.contains("d1") && text.contains("d2") && text.contains("bring back"), "{text}");
}

/// In a stripe that no flush is known to cover, with no parity: its neighbours in the column have nothing but themselves.
#[test]
fn a_block_that_recovery_cannot_read_costs_no_other() {
    let world = World::new(6);
    let disks = make(&world, Preset::LogRaid, 1, 2, 0, 24 * MIB);
    let bad = session(&world, &disks, |rt, devices| async move {
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        let volume = array.volume("v").unwrap();
        for at in 0..40 {
            put(&rt, &volume, at * 4096, &block(at)).await.unwrap();
        }
        volume.flush().await.unwrap();
        array.locate("v", Lba(17)).await.expect("it was written")
    });
    world.fail_reads(disks[bad.member.index()], bad.offset..bad.offset + 4096);
    session(&world, &disks, |rt, devices| async move {
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        let volume = array.volume("v").unwrap();
        for at in (0..40).filter(|&at| at != 17) {
            assert!(get(&rt, &volume, at * 4096, 4096).await.unwrap() == block(at), "block {at}");
        }
    });
}

#[test]
fn an_array_is_made_whole_or_not_at_all() {
    let world = World::new(17);
    let disks = disks(&world, 3, 64 << 20);
    let (failing, which) = (world.clone(), disks[2]);
    session(&world, &disks, |rt, devices| async move {
        let how = CreateOptions::new("tank", Preset::LogRaid, 1, 2, 1);
        let fails = |failed_per_million| FaultRates { failed_per_million, ..FaultRates::default() };
        failing.set_faults(which, fails(1_000_000));
        let refused = create(&rt, &devices, &how).await.unwrap_err().to_string();
        assert!(refused.contains("d2"), "{refused}");
        for device in &devices[..2] {
            let found = inspect(&rt, device).await.unwrap();
            assert!(matches!(&found, Found::Other(what) if what == "nothing"), "{found:?}");
        }
        failing.set_faults(which, fails(0));
        create(&rt, &devices, &how).await.unwrap();
    });
}
