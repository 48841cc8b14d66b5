//! Where a write is when it is answered: on the members under `written`, durable there under `durable`; and many answers share
//! what they wait for.

use std::rc::Rc;

use cygnus_engine::{Array, Volume, VolumeError};
use cygnus_runtime::{DeviceInfo, Event, IoErrorKind, Runtime};
use cygnus_sim::{DiskId, World};
use cygnus_types::{Acknowledged, Nanos};

use crate::common::{block, make, open, put};
use crate::reactors::Opened;
use crate::sessions::*;

/// Opens the array with its volume at a level.
async fn open_at(rt: &Runtime, devices: &[DeviceInfo], level: Acknowledged) -> (Array, Volume) {
    let (array, volume) = open(rt, devices).await;
    array.set_acknowledged("v", level).await.unwrap();
    drop(volume);
    let volume = array.volume("v").unwrap();
    (array, volume)
}

/// Writes a block and waits until that is answered.
async fn put_answered(rt: &Runtime, volume: &Volume, at: u64, tag: u64) -> Result<(), VolumeError> {
    let terms = volume.terms();
    put(rt, volume, at, tag).await;
    match terms {
        Some(terms) => volume.answerable(terms).await,
        None => Ok(()),
    }
}

async fn holds(rt: &Runtime, volume: &Volume, at: u64, tag: u64) -> bool {
    let data = volume.read(at * 4096, rt.alloc(4096).full()).await.unwrap();
    data.bytes() == block(tag)
}

/// Writes and discards at a level, and ends the process without a word; then perhaps the power goes. Whether all that was answered
/// is there.
fn all_is_there_after(level: Acknowledged, power_cut: bool, seed: u64) -> bool {
    let world = World::new(seed);
    let disks = make(&world, 2, 2, 1, 0);
    session(&world, &disks, |rt, devices| async move {
        let (_array, volume) = open_at(&rt, &devices, level).await;
        for at in 0..20 {
            put_answered(&rt, &volume, at, at + 1).await.unwrap();
        }
        let terms = volume.terms();
        volume.trim(0, 4096).await.unwrap();
        if let Some(terms) = terms {
            volume.answerable(terms).await.unwrap();
        }
    });
    if power_cut {
        world.cut_power();
        world.restore_power();
    }
    session(&world, &disks, |rt, devices| async move {
        let (_array, volume) = open(&rt, &devices).await;
        assert_eq!(volume.acknowledged(), level, "the array remembers");
        let zeros = volume.read(0, rt.alloc(4096).full()).await.unwrap();
        let mut all = zeros.bytes().iter().all(|&byte| byte == 0);
        for at in 1..20 {
            all &= holds(&rt, &volume, at, at + 1).await;
        }
        all
    })
}

#[test]
fn what_was_answered_survives_what_its_level_says() {
    for seed in 0..8 {
        assert!(all_is_there_after(Acknowledged::Written, false, seed));
        assert!(all_is_there_after(Acknowledged::Durable, false, seed));
        assert!(all_is_there_after(Acknowledged::Durable, true, seed));
    }
    assert!(!all_is_there_after(Acknowledged::Memory, false, 0), "nothing is kept here");
    assert!((0..8).any(|seed| !all_is_there_after(Acknowledged::Written, true, seed)), "caches are volatile");
}

/// Blocks of stripe headers written for 32 blocks, and flushes of the first member, when all are asked for at once.
fn cost_of_32(level: Acknowledged) -> (u64, u64) {
    let world = World::new(1);
    let disks = make(&world, 1, 2, 1, 0);
    let (flushed, first) = (world.clone(), disks[0]);
    session(&world, &disks, |rt, devices| async move {
        let (array, volume) = open_at(&rt, &devices, level).await;
        let (headers, flushes) = (array.traffic().header_written, flushed.stats(first).flushes);
        let (left, done) = (Rc::new(std::cell::Cell::new(32)), Rc::new(Event::new()));
        for at in 0..32 {
            let (rt, volume, left, done) = (rt.clone(), volume.clone(), left.clone(), done.clone());
            rt.clone().spawn(async move {
                put_answered(&rt, &volume, at, at).await.unwrap();
                left.set(left.get() - 1);
                done.notify();
            });
        }
        while left.get() > 0 {
            done.wait().await;
        }
        (array.traffic().header_written - headers, flushed.stats(first).flushes - flushes)
    })
}

#[test]
fn requests_that_wait_together_share_a_stripe_and_a_flush() {
    let (headers, flushes) = cost_of_32(Acknowledged::Written);
    assert!(headers <= 2 * 3, "{headers} blocks of headers: of three columns each");
    assert_eq!(flushes, 0);
    let (headers, flushes) = cost_of_32(Acknowledged::Durable);
    assert!(headers <= 2 * 3, "{headers} blocks of headers");
    assert!((1..=2).contains(&flushes), "{flushes} flushes");
}

#[test]
fn an_answer_waits_for_members_and_no_longer_than_it_may() {
    for level in [Acknowledged::Written, Acknowledged::Durable] {
        let world = World::new(3);
        let disks = make(&world, 1, 2, 1, 0);
        session(&world, &disks, |rt, devices| {
            let (world, disks) = (world.clone(), disks.clone());
            async move {
                let (array, volume) = open_at(&rt, &devices, level).await;
                array.set_suspended_for(Nanos::secs(1));
                let away: Vec<DiskId> = disks[..2].to_vec();
                away.iter().for_each(|&disk| world.kill(disk));
                let refused = put_answered(&rt, &volume, 7, 1).await;
                assert!(matches!(refused, Err(VolumeError::Suspended { .. })), "{refused:?}");
                away.iter().for_each(|&disk| world.revive(disk));
                while put_answered(&rt, &volume, 7, 2).await.is_err() {
                    rt.sleep(Nanos::millis(100)).await;
                }
                assert!(holds(&rt, &volume, 7, 2).await);
            }
        });
    }
}

#[test]
fn a_member_that_left_is_on_record_before_anybody_relies_on_what_it_missed() {
    for (gone, other) in [(0, 1), (1, 0), (2, 0), (0, 2), (1, 2), (2, 1)] {
        let world = World::new(5);
        let disks = make(&world, 1, 2, 1, 0);
        session(&world, &disks, |rt, devices| {
            let (world, gone) = (world.clone(), disks[gone]);
            async move {
                let (_array, volume) = open_at(&rt, &devices, Acknowledged::Written).await;
                put_answered(&rt, &volume, 7, 1).await.unwrap();
                volume.flush().await.unwrap();
                world.fail_writes(gone, Some(IoErrorKind::Medium));
                put_answered(&rt, &volume, 7, 2).await.unwrap();
            }
        });
        // It is back with what it had, and says nothing of having been away; and another one is lost, for which there is parity.
        world.fail_writes(disks[gone], None);
        let left: Vec<DiskId> = disks.iter().copied().filter(|&disk| disk != disks[other]).collect();
        session(&world, &left, |rt, devices| async move {
            if let Ok(array) = Array::open(&rt, &devices, &options()).await {
                let volume = array.volume("v").unwrap();
                if let Ok(data) = volume.read(7 * 4096, rt.alloc(4096).full()).await {
                    assert!(data.bytes() == block(2), "old data without {gone} and then {other}");
                }
            }
        });
    }
}

#[test]
fn every_reactor_answers_for_what_it_took() {
    for level in [Acknowledged::Written, Acknowledged::Durable] {
        let opened = Opened::new(9);
        let array = opened.array.clone();
        opened.cluster.run(async move { array.set_acknowledged("v", level).await.unwrap() }).unwrap();
        opened.on_all(|reactor, rt, volume| async move {
            for n in 0..20 {
                let terms = volume.terms().expect("an answer waits");
                crate::reactors::put(&rt, &volume, reactor * 100 + n, n + 1).await;
                volume.answerable(terms).await.unwrap();
            }
        });
        let opened = match level {
            Acknowledged::Durable => opened.after_a_power_cut(),
            _ => opened.after_a_kill(),
        };
        opened.on_all(|reactor, rt, volume| async move {
            for n in 0..20 {
                assert_eq!(crate::reactors::get(&rt, &volume, reactor * 100 + n).await, n + 1, "{level}");
            }
        });
    }
}

#[test]
fn a_level_that_is_raised_covers_what_was_answered_before() {
    let world = World::new(4);
    let disks = make(&world, 1, 2, 1, 0);
    session(&world, &disks, |rt, devices| async move {
        let (array, volume) = open(&rt, &devices).await;
        put(&rt, &volume, 1, 11).await;
        array.set_acknowledged("v", Acknowledged::Durable).await.unwrap();
        // This handle was made before.
        assert_eq!(volume.acknowledged(), Acknowledged::Durable);
        let told = array.volume("v").unwrap();
        array.set_acknowledged("v", Acknowledged::Memory).await.unwrap();
        assert_eq!((volume.acknowledged(), told.acknowledged()), (Acknowledged::Memory, Acknowledged::Durable));
    });
    world.cut_power();
    world.restore_power();
    session(&world, &disks, |rt, devices| async move {
        let (_array, volume) = open(&rt, &devices).await;
        assert!(holds(&rt, &volume, 1, 11).await);
        assert_eq!(volume.acknowledged(), Acknowledged::Memory);
    });
}
