//! Descriptions of backups that lie beside the copies, on members that store bytes beside blocks: they cost no blocks, and are found
//! whoever is lost.

use std::cell::Cell;
use std::rc::Rc;

#[cfg(debug_assertions)]
use cygnus_engine::planted::{Bug, plant};
use cygnus_engine::{Array, Traffic, inspect};
use cygnus_policy::{Preset, Streams};
use cygnus_sim::{DiskId, World};
use cygnus_types::ByteSize;

use crate::common::{block, open, put};
use crate::convert::{Made, SHAPES, all_is_there, make, survives, write};
use crate::sessions::{MIB, options, session};

/// An array whose members all store as much as descriptions need beside each block.
fn made(preset: Preset, (data, parity, chunk): (u8, u8, u64)) -> Made {
    Made { preset, beside: |_| 128, ..Made::of((data, parity, chunk)) }
}

/// What is written for a thousand blocks, each with a flush.
fn traffic(made: Made) -> Traffic {
    let world = World::new(1);
    let disks = make(&world, made);
    session(&world, &disks, |rt, devices| async move {
        let (array, volume) = open(&rt, &devices).await;
        for n in 0..1000 {
            put(&rt, &volume, n % 700, n).await;
            volume.flush().await.unwrap();
        }
        let traffic = array.traffic();
        let report = array.scrub(1).await;
        assert!(report.complete && report.found() == 0, "{report:?}");
        array.close().await.unwrap();
        traffic
    })
}

#[test]
fn a_copy_is_one_block_where_its_description_is_beside_it() {
    for preset in [Preset::Fusion, Preset::ScalaAfa] {
        for (m, shape) in [(1, (4, 1, 16 << 10)), (2, (3, 2, 8 << 10)), (3, (3, 3, 4 << 10))] {
            let in_blocks = traffic(Made { beside: |_| 127, ..made(preset, shape) });
            let beside = traffic(made(preset, shape));
            assert_eq!(in_blocks.described_beside, 0, "there is too little room");
            assert!(beside.described_beside > m * 950, "{preset:?} with m = {m}: {beside:?}");
            // A copy on each of m members, and one block that describes it, where there were m more.
            let each = |traffic: Traffic| traffic.backup_written as f64 / 1000.0;
            let (was, is) = (each(in_blocks), each(beside));
            let (should, spared) = (m as f64 + 1.0, m as f64);
            assert!(is < should * 1.03 && is > should * 0.95, "{preset:?} with m = {m}: {is} blocks");
            assert!(was - is > spared * 0.9, "{preset:?} with m = {m}: {was} blocks were {is}");
        }
    }
}

#[test]
fn flushed_writes_survive_a_power_cut_and_the_loss_of_m_members() {
    for seed in 0..40 {
        let preset = [Preset::Fusion, Preset::ScalaAfa][seed as usize % 2];
        survives(seed, made(preset, SHAPES[seed as usize / 2 % SHAPES.len()]));
    }
}

/// One member stores nothing beside blocks: what it has of copies is described in blocks, and so is what others have for the same stripe.
#[test]
fn members_of_both_kinds_go_together() {
    for seed in 0..16 {
        let preset = [Preset::Fusion, Preset::ScalaAfa][seed as usize % 2];
        let shape = SHAPES[seed as usize / 2 % SHAPES.len()];
        survives(seed, Made { beside: |n| if n == 1 { 64 } else { 128 }, ..made(preset, shape) });
    }
}

/// With the member that has the block which describes a copy, only what is beside the copy tells of it.
#[test]
#[cfg(debug_assertions)]
fn what_nobody_reads_beside_copies_is_lost() {
    let is_lost = |seed: u64| {
        std::panic::catch_unwind(|| survives(seed, made(Preset::Fusion, SHAPES[seed as usize % SHAPES.len()]))).is_err()
    };
    plant(Some(Bug::BesideUnread));
    let lost = (0..40).find(|&seed| is_lost(seed));
    plant(None);
    let seed = lost.expect("some seed finds it");
    assert!(!is_lost(seed), "seed {seed} loses something without the bug too");
}

/// Two volumes have streams of their own, so the copies of one's stripe, which lie one behind the other, have numbers between which are the
/// other's. Writes with a flush each until the power goes, and a member with it; whether the array opens, and has what was flushed.
fn opens_with_streams(seed: u64) -> bool {
    let world = World::new(seed);
    let of = Made { transient: MIB, streams: Streams::ByVolume, ..made(Preset::ScalaAfa, (2, 1, 16 << 10)) };
    let disks = make(&world, of);
    session(&world, &disks, |rt, devices| async move {
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        array.create_volume("seldom", ByteSize(MIB), 0).await.unwrap();
        array.close().await.unwrap();
    });
    world.cut_power_after(Some(world.steps() + 5000 + seed * 1931 % 50_000));
    let rt = world.reactor(cygnus_types::ReactorId(0), &disks);
    let flushed = Rc::new(Cell::new(0));
    let _ = rt.run({
        let (rt, devices, flushed) = (rt.clone(), world.infos(&disks), flushed.clone());
        async move {
            let (array, often) = open(&rt, &devices).await;
            let seldom = array.volume("seldom").unwrap();
            for n in 0..4000 {
                if n % 23 == 7 {
                    put(&rt, &seldom, n / 23 % 200, n).await;
                }
                put(&rt, &often, n % 700, n).await;
                if often.flush().await.is_ok() {
                    flushed.set(n + 1);
                }
            }
        }
    });
    rt.drop_tasks();
    world.cut_power();
    world.restore_power();
    let n: u64 = flushed.get();
    let left: Vec<DiskId> = (0..3).filter(|&disk| disk != seed as usize % 3).map(|disk| disks[disk]).collect();
    session(&world, &left, |rt, devices| async move {
        let Ok(array) = Array::open(&rt, &devices, &options()).await else { return false };
        let volume = array.volume("v").unwrap();
        for at in n.saturating_sub(300).min(400)..n.min(700) {
            let data = volume.read(at * 4096, rt.alloc(4096).full()).await.unwrap();
            let known = (n - 1 - at) / 700 * 700 + at;
            assert!([known, known + 700].iter().any(|&tag| data.bytes() == block(tag)), "seed {seed}: block {at}");
        }
        true
    })
}

#[test]
fn room_is_held_for_all_backups_that_lie_there() {
    for seed in 0..30 {
        assert!(opens_with_streams(seed), "seed {seed}");
    }
}

#[test]
#[cfg(debug_assertions)]
fn room_that_is_held_for_the_first_backup_only_is_missed() {
    plant(Some(Bug::HeldForTheFirst));
    let missed = (0..30).filter(|&seed| !opens_with_streams(seed)).count();
    plant(None);
    assert!(missed > 0, "none of 30 power cuts finds it");
}

/// Bits beside blocks rot on one member: others know what there was.
#[test]
fn descriptions_that_rot_are_found_elsewhere() {
    let mut rotten = 0;
    for rots in 0..5 {
        let world = World::new(3);
        let disks = make(&world, made(Preset::Fusion, (3, 2, 8 << 10)));
        session(&world, &disks, |rt, devices| async move {
            let (array, volume) = open(&rt, &devices).await;
            write(&rt, &array, 0, 300).await;
            for n in 300..307 {
                put(&rt, &volume, n, n).await;
                volume.flush().await.unwrap();
            }
            // The process is killed.
        });
        rotten += world.flip_beside(disks[rots], 400);
        session(&world, &disks, |rt, devices| async move {
            let (array, _) = open(&rt, &devices).await;
            all_is_there(&rt, &array, 307).await;
        });
    }
    assert!(rotten > 300, "{rotten} blocks had something beside them");
}

/// A program that knows nothing of descriptions beside blocks has to refuse the array.
#[test]
fn arrays_that_have_them_say_so() {
    for (bytes, says) in [(made(Preset::Fusion, SHAPES[0]).beside, true), ((|_| 0) as fn(usize) -> u16, false)] {
        let world = World::new(4);
        let disks = make(&world, Made { beside: bytes, ..made(Preset::Fusion, SHAPES[0]) });
        session(&world, &disks, |rt, devices| async move {
            let found = inspect(&rt, &devices[0]).await.unwrap();
            let cygnus_engine::Found::Member(superblock) = found else { panic!("it is a member") };
            assert_eq!(superblock.state.describes_beside(), says);
        });
    }
}
