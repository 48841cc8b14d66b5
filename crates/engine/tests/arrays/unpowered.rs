//! Devices that lose their power for a moment, and with it what they had taken since their last flush, while the array is in
//! service: what the others have is given to them again, and what nobody has is told of.

use cygnus_engine::{Array, ArrayHealth, CreateOptions, Volume, VolumeError, create};
use cygnus_policy::{Preset, UntilFull};
use cygnus_runtime::Runtime;
use cygnus_sim::{DiskConfig, DiskId, World};
use cygnus_types::{ByteSize, Nanos};

use crate::common::*;
use crate::sessions::*;

/// Blocks that are written and not flushed before the power goes.
const NEW: u64 = 200;

/// Writes some blocks anew, lets them reach the devices, and lets members lose their power for a moment.
async fn outage(rt: &Runtime, world: &World, volume: &Volume, concerned: &[DiskId]) {
    for at in 0..NEW {
        put(rt, volume, at, at + 7).await;
    }
    rt.sleep(Nanos::millis(5)).await;
    concerned.iter().for_each(|&disk| world.lose_power_of(disk));
    // Somebody has to notice.
    put(rt, volume, NEW, NEW + 7).await;
    let (rt_later, world, concerned) = (rt.clone(), world.clone(), concerned.to_vec());
    rt.spawn(async move {
        rt_later.sleep(Nanos::secs(3)).await;
        concerned.iter().for_each(|&disk| world.revive(disk));
    });
}

async fn read(rt: &Runtime, volume: &Volume, at: u64) -> Result<Vec<u8>, VolumeError> {
    let buf = rt.alloc(4096);
    volume.read(at * 4096, buf.full()).await.map(|data| data.bytes().to_vec())
}

/// What is lost is told of: by the next flush of each who has the volume, once, and by the status; its blocks are
/// unreadable, also after the power has gone altogether, and all others are as they should be.
fn loses(seed: u64, k: u8, m: u8, concerned: &[usize]) -> u64 {
    let world = World::new(seed);
    let disks = make(&world, 1, k, m, 0);
    let concerned: Vec<DiskId> = concerned.iter().map(|&n| disks[n]).collect();
    let lost = session(&world, &disks, |rt, devices| {
        let world = world.clone();
        async move {
            let array = Array::open(&rt, &devices, &options()).await.unwrap();
            let (volume, other) = (array.volume("v").unwrap(), array.volume("v").unwrap());
            fill(&rt, &volume, 0).await;
            outage(&rt, &world, &volume, &concerned).await;
            let told = match volume.flush().await {
                Ok(()) => 0,
                Err(VolumeError::Lost { blocks, .. }) => blocks,
                Err(error) => panic!("{error}"),
            };
            volume.flush().await.unwrap();
            assert_eq!(other.flush().await.is_err(), told > 0, "each is told");
            other.flush().await.unwrap();
            array.volume("v").unwrap().flush().await.unwrap();
            assert_eq!(array.status().volumes[0].lost, told);
            while array.status().health != ArrayHealth::Online {
                rt.sleep(Nanos::millis(100)).await;
            }
            let mut lost = Vec::new();
            for at in 0..BLOCKS {
                match read(&rt, &volume, at).await {
                    Ok(data) => assert!(data == block(if at <= NEW { at + 7 } else { at }), "block {at}"),
                    Err(VolumeError::Unreadable { .. }) => lost.push(at),
                    Err(error) => panic!("{error}"),
                }
            }
            assert_eq!(lost.len() as u64, told, "{lost:?}");
            assert!(lost.iter().all(|&at| at < NEW), "{lost:?}: some had been flushed");
            lost
        }
    });
    world.cut_power();
    world.restore_power();
    let again = lost.clone();
    session(&world, &disks, |rt, devices| async move {
        let (array, volume) = open(&rt, &devices).await;
        for at in 0..BLOCKS {
            match read(&rt, &volume, at).await {
                Ok(data) => assert!(data == block(if at <= NEW { at + 7 } else { at }), "block {at}"),
                Err(VolumeError::Unreadable { .. }) => assert!(again.contains(&at), "block {at}"),
                Err(error) => panic!("{error}"),
            }
        }
        // Written anew they are as good as any.
        for &at in &again {
            put(&rt, &volume, at, at + 7).await;
        }
        volume.flush().await.unwrap();
        verify(&rt, &volume, |at| if at <= NEW { at + 7 } else { at }).await;
        array.close().await.unwrap();
    });
    if lost.is_empty() {
        assert_clean(&world, &disks);
    }
    lost.len() as u64
}

#[test]
fn what_too_many_lost_is_told_of_and_stays_unreadable() {
    let lost: Vec<u64> = (0..6).map(|seed| loses(seed, 2, 1, &[0, 2])).collect();
    assert!(lost.iter().any(|&lost| lost > 0), "{lost:?}");
    let lost: Vec<u64> = (0..6).map(|seed| loses(seed, 2, 1, &[0, 1, 2])).collect();
    assert!(lost.iter().any(|&lost| lost > 0), "{lost:?}");
    let lost: Vec<u64> = (0..6).map(|seed| loses(seed, 2, 0, &[1])).collect();
    assert!(lost.iter().any(|&lost| lost > 0), "{lost:?}");
    let lost: Vec<u64> = (0..6).map(|seed| loses(seed, 3, 2, &[0, 1, 4])).collect();
    assert!(lost.iter().any(|&lost| lost > 0), "{lost:?}");
}

#[test]
fn what_the_others_have_is_not_lost() {
    for seed in 0..6 {
        assert_eq!(loses(seed, 2, 1, &[1]), 0);
        assert_eq!(loses(seed, 3, 2, &[1, 4]), 0);
    }
}

/// One of two that were awaited has lost its power, and the other one only hung: it has the rest.
#[test]
fn one_that_hung_helps_one_that_lost_its_power() {
    for seed in 0..8 {
        let world = World::new(seed);
        let disks = make(&world, 1, 2, 1, 0);
        session(&world, &disks, |rt, devices| {
            let (world, disks) = (world.clone(), disks.clone());
            async move {
                let array = Array::open(&rt, &devices, &options()).await.unwrap();
                rt.set_patience(Nanos::secs(1));
                let volume = array.volume("v").unwrap();
                fill(&rt, &volume, 0).await;
                for at in 0..NEW {
                    put(&rt, &volume, at, at + 7).await;
                }
                rt.sleep(Nanos::millis(5)).await;
                world.hang(disks[1], Some(Nanos::secs(20)));
                world.lose_power_of(disks[0]);
                put(&rt, &volume, NEW, NEW + 7).await;
                rt.sleep(Nanos::secs(4)).await;
                assert_eq!(array.status().health, ArrayHealth::Suspended);
                world.revive(disks[0]);
                volume.flush().await.unwrap();
                verify(&rt, &volume, |at| if at <= NEW { at + 7 } else { at }).await;
                healed(&rt, &array).await;
                array.close().await.unwrap();
            }
        });
        assert_clean(&world, &disks);
    }
}

/// Whether what a flush had covered by backups of an open stripe is there, though the stripe was closed since, one member is gone, and
/// another one, `later` than that, lost what it had of the closed stripe: its parity perhaps.
async fn keeps(rt: &Runtime, world: &World, array: &Array, [goes, loses]: [DiskId; 2], later: Nanos) -> bool {
    const FLUSHED: u64 = 5;
    let volume = array.volume("v").unwrap();
    for at in 0..FLUSHED {
        put(rt, &volume, at, at + 1).await;
    }
    volume.flush().await.unwrap();
    assert!(array.traffic().backup_written > 0, "the stripe is open");
    for at in FLUSHED..NEW {
        put(rt, &volume, at, at + 1).await;
    }
    world.kill(goes);
    let (rt_later, world_later) = (rt.clone(), world.clone());
    rt.spawn(async move {
        rt_later.sleep(later).await;
        world_later.lose_power_of(loses);
        rt_later.sleep(Nanos::secs(3)).await;
        world_later.revive(loses);
        // Had both gone at once the array would wait for this one too.
        rt_later.sleep(Nanos::secs(3)).await;
        world_later.revive(goes);
    });
    put(rt, &volume, NEW, NEW + 1).await;
    rt.sleep(Nanos::secs(9)).await;
    match volume.flush().await {
        Ok(()) | Err(VolumeError::Lost { .. }) => {}
        Err(error) => panic!("{error}"),
    }
    for at in 0..FLUSHED {
        if read(rt, &volume, at).await.ok() != Some(block(at + 1)) {
            return false;
        }
    }
    true
}

#[test]
fn what_backups_had_made_safe_outlasts_the_parity_that_came_after() {
    for until_full in [UntilFull::TwoPhase, UntilFull::ParityBuffer] {
        for seed in 0..120 {
            let world = World::new(seed);
            let disks: Vec<DiskId> =
                (0..3).map(|i| world.add_disk(DiskConfig::new(format!("d{i}"), 24 * MIB))).collect();
            let plain = CreateOptions::new("tank", Preset::LogRaid, 1, 2, 1);
            let how = CreateOptions { segment: Some(ByteSize(512 << 10)), until_full: Some(until_full), ..plain };
            let pair = [(0, 1), (0, 2), (1, 2), (1, 0), (2, 0), (2, 1)][seed as usize % 6];
            let pair = [disks[pair.0], disks[pair.1]];
            let keeps = session(&world, &disks, |rt, devices| {
                let world = world.clone();
                async move {
                    create(&rt, &devices, &how).await.unwrap();
                    let array = Array::open(&rt, &devices, &options()).await.unwrap();
                    array.create_volume("v", ByteSize(16 * MIB), 0).await.unwrap();
                    keeps(&rt, &world, &array, pair, Nanos::micros(100 + seed / 6 * 10)).await
                }
            });
            assert!(keeps, "{until_full:?}, seed {seed}");
        }
    }
}
