//! Members that are to be written in order, zone by zone: what patches are needed for, and who is refused.

use std::sync::Arc;

use cygnus_engine::{Array, CreateOptions, OpenOptions, VolumeOptions, create};
use cygnus_policy::{Preset, UntilFull};
use cygnus_runtime::{DeviceInfo, Runtime, Zones};
use cygnus_sim::{DiskConfig, DiskId, World};
use cygnus_types::{ByteSize, Constraint, Medium, MemberIx};

use crate::common::{assert_clean, block, ended, fill, open, put, verify};
use crate::sessions::*;

/// Bytes of conventional zones.
const HEAD: u64 = 8 * MIB;
/// Where patches begin to lie.
const PATCHES: u64 = 2 * MIB;

fn zoned(world: &World, name: &str, zone: u64, size: u64) -> DiskId {
    let zones = Zones {
        bytes: zone,
        capacity: zone,
        conventional: Some((HEAD / zone) as u32),
        active_limit: 0,
        commands: true,
    };
    world.add_disk(DiskConfig { zones: Some(zones), ..DiskConfig::new(name, size) })
}

fn how() -> CreateOptions {
    CreateOptions { segment: Some(ByteSize(MIB)), ..CreateOptions::new("tank", Preset::LogRaid, 1, 2, 1) }
}

/// An array of 2+1 devices with zones of half a segment, and a volume "v".
fn made(world: &World) -> Vec<DiskId> {
    let disks: Vec<DiskId> = (0..3).map(|n| zoned(world, &format!("d{n}"), MIB / 2, HEAD + 24 * MIB)).collect();
    session(world, &disks, |rt, devices| async move {
        create(&rt, &devices, &how()).await.unwrap();
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        array.create_volume("v", ByteSize(16 * MIB), 0).await.unwrap();
        array.close().await.unwrap();
    });
    disks
}

/// Whether anything was ever patched on a device.
fn is_patched(world: &World, disk: DiskId) -> bool {
    let mut block = [0; 4096];
    world.peek(disk, PATCHES, &mut block);
    block != [0; 4096]
}

async fn overwrite(rt: &Runtime, devices: &[DeviceInfo], writes: u64) {
    let (array, volume) = open(rt, devices).await;
    fill(rt, &volume, 0).await;
    for n in 0..writes {
        put(rt, &volume, n * 7919 % 3000, n).await;
    }
    fill(rt, &volume, 5).await;
    assert!(array.status().members.iter().all(|member| member.trimmed > 4 * MIB), "it was cleaned");
    array.close().await.unwrap();
}

#[test]
fn a_healthy_array_writes_and_cleans_in_order() {
    let world = World::new(1);
    let disks = made(&world);
    for _ in 0..2 {
        session(&world, &disks, |rt, devices| async move { overwrite(&rt, &devices, 20_000).await });
    }
    session(&world, &disks, |rt, devices| async move {
        let (array, volume) = open(&rt, &devices).await;
        verify(&rt, &volume, |at| at + 5).await;
        let said = array.status().members[0].capabilities.unwrap();
        assert_eq!(said.resets.unwrap().unit, MIB / 2);
        let zones = array.status().members[0].zones.expect("it is written in order");
        let all = zones.empty + zones.partly_written + zones.full + zones.not_asked;
        assert_eq!(all, 48, "24 MiB in zones of 512 KiB: {zones:?}");
        assert!(zones.full > 4 && zones.partly_written > 0, "those that the volume was read from are known: {zones:?}");
        assert!(zones.not_asked > 0, "nobody has looked at the others since it was opened: {zones:?}");
        array.close().await.unwrap();
    });
    for &disk in &disks {
        assert_eq!(world.stats(disk).out_of_order, 0);
        assert!(!is_patched(&world, disk), "nothing of it needs a patch");
    }
    assert_clean(&world, &disks);
}

#[test]
fn a_device_whose_zones_are_full_of_something_else_is_filled_in_order() {
    let world = World::new(2);
    let disks = made(&world);
    let others = made(&world);
    session(&world, &disks, |rt, devices| async move { overwrite(&rt, &devices, 15_000).await });
    session(&world, &others, |rt, devices| async move { overwrite(&rt, &devices, 15_000).await });
    let spare = others[0];
    let (dying, there) = (disks[1], world.clone());
    session(&world, &[&disks[..], &[spare]].concat(), |rt, devices| async move {
        let (array, volume) = open(&rt, &devices[..3]).await;
        there.kill(dying);
        put(&rt, &volume, 0, 5).await;
        let id = array.replace(MemberIx(1), &devices[3], true).await.unwrap();
        for n in 0..2_000 {
            put(&rt, &volume, n % 3000, n % 3000 + 5).await;
        }
        ended(&rt, &array, id).await;
        verify(&rt, &volume, |at| at + 5).await;
        array.close().await.unwrap();
    });
    assert_eq!(world.stats(spare).out_of_order, 0);
    assert!(!is_patched(&world, spare), "each column is forgotten before it is written");
    assert_clean(&world, &[disks[0], spare, disks[2]]);
}

#[test]
fn what_does_not_fit_zones_is_refused_with_the_reason() {
    let world = World::new(3);
    let size = HEAD + 24 * MIB;
    let disks = made(&world);
    let coarse = zoned(&world, "coarse", 4 * MIB, size);
    let odd = zoned(&world, "odd", MIB / 4 * 3, size);
    let plain: Vec<DiskId> = (0..3).map(|n| world.add_disk(DiskConfig::new(format!("p{n}"), size))).collect();
    let refused = |disks: [DiskId; 3], how: CreateOptions, words: &str| {
        let why = session(&world, &disks, |rt, devices| async move { create(&rt, &devices, &how).await.unwrap_err() });
        assert!(why.to_string().contains(words), "{why}");
    };
    refused([coarse, plain[0], plain[1]], how(), "a segment of 1 MiB is not whole zones of 4 MiB");
    refused([coarse, odd, plain[1]], how(), "zones of 4 MiB on coarse are not whole zones of 768 KiB on odd");
    let two_phase = CreateOptions { until_full: Some(UntilFull::TwoPhase), ..how() };
    refused([disks[0], plain[0], plain[1]], two_phase, "--protection full-stripe");
    session(&world, &[&disks[..], &[coarse]].concat(), |rt, devices| async move {
        let array = Array::open(&rt, &devices[..3], &options()).await.unwrap();
        let why = array.add_spare(&devices[3], true).await.unwrap_err().to_string();
        assert!(why.contains("coarse is written in order, in zones of 4 MiB"), "{why}");
        array.close().await.unwrap();
    });
}

#[test]
fn devices_with_and_without_zones_make_up_one_array() {
    let world = World::new(4);
    let size = HEAD + 24 * MIB;
    let disks = vec![
        world.add_disk(DiskConfig::new("plain", size)),
        zoned(&world, "half", MIB / 2, size),
        zoned(&world, "whole", MIB, size),
    ];
    session(&world, &disks, |rt, devices| async move {
        create(&rt, &devices, &how()).await.unwrap();
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        array.create_volume("v", ByteSize(16 * MIB), 0).await.unwrap();
        array.close().await.unwrap();
        overwrite(&rt, &devices, 15_000).await;
    });
    disks.iter().for_each(|&disk| assert_eq!(world.stats(disk).out_of_order, 0));
    assert_clean(&world, &disks);
}

#[test]
fn more_open_segments_than_zones_that_may_be_partly_written_are_told_of() {
    for (active_limit, is_told) in [(0, false), (8, false), (6, true)] {
        let world = World::new(8);
        let zones = Zones { bytes: MIB, capacity: MIB, conventional: Some(0), active_limit, commands: true };
        let disk = |n| world.add_disk(DiskConfig { zones: Some(zones), ..DiskConfig::new(format!("d{n}"), 40 * MIB) });
        let disks: Vec<DiskId> = (0..3).map(disk).collect();
        session(&world, &disks, |rt, devices| async move {
            create(&rt, &devices, &how()).await.unwrap();
            let lines = Arc::new(Lines::default());
            let array = Array::open(&rt, &devices, &OpenOptions { log: lines.clone(), ..options() }).await.unwrap();
            let told: Vec<String> =
                lines.0.lock().unwrap().iter().filter(|line| line.contains("zones")).cloned().collect();
            let expected =
                "open: 2 zones of d0 can be partly written at a time, and up to 4 segments are written to at once";
            assert_eq!(told.iter().any(|line| line.starts_with(expected)), is_told, "{active_limit}: {told:?}");
            assert_eq!(told.len(), usize::from(is_told));
            let volume = array.create_volume("v", ByteSize(4 * MIB), 0).await.unwrap();
            put(&rt, &volume, 1, 1).await;
            array.close().await.unwrap();
        });
    }
}

/// Plain devices for group 0 and others with zones for group 1.
fn plain_and_zoned(world: &World) -> Vec<DiskId> {
    let size = HEAD + 40 * MIB;
    let plain = (0..3).map(|n| world.add_disk(DiskConfig::new(format!("p{n}"), size)));
    plain.chain((0..3).map(|n| zoned(world, &format!("z{n}"), MIB / 2, size))).collect()
}

/// An array of these with a volume on each medium, "flash" and "smr".
async fn make_with_backups(rt: &Runtime, devices: &[DeviceInfo], until_full: UntilFull) -> Array {
    let how = CreateOptions {
        segment: Some(ByteSize(MIB)),
        until_full: Some(until_full),
        media: vec![Medium::Flash, Medium::Smr],
        ..CreateOptions::new("tank", Preset::Salsa, 2, 2, 1)
    };
    create(rt, devices, &how).await.unwrap();
    let array = Array::open(rt, devices, &options()).await.unwrap();
    for medium in [Medium::Flash, Medium::Smr] {
        let options = VolumeOptions { constraint: Constraint::Only(medium), ..VolumeOptions::default() };
        array.create_volume_with(&medium.to_string(), ByteSize(8 * MIB), options, 0).await.unwrap();
    }
    array
}

/// Writes so many blocks, each with a flush; says how many blocks went to transient areas.
async fn flush_each(rt: &Runtime, array: &Array, volume: &str, blocks: u64) -> u64 {
    let before = array.status().traffic.backup_written;
    let volume = array.volume(volume).unwrap();
    for at in 0..blocks {
        put(rt, &volume, at, at + 3).await;
        volume.flush().await.unwrap();
    }
    array.status().traffic.backup_written - before
}

#[test]
fn copies_are_kept_where_no_member_is_written_in_order() {
    for until_full in [UntilFull::TwoPhase, UntilFull::ParityBuffer, UntilFull::Offload] {
        let world = World::new(9);
        let disks = plain_and_zoned(&world);
        session(&world, &disks, |rt, devices| async move {
            let array = make_with_backups(&rt, &devices, until_full).await;
            assert!(flush_each(&rt, &array, "flash", 100).await > 100, "{until_full}");
            assert_eq!(flush_each(&rt, &array, "smr", 100).await, 0, "{until_full}");
        });
        for &disk in &disks[3..] {
            assert_eq!(world.stats(disk).out_of_order, 0);
            assert!(!is_patched(&world, disk), "{until_full}: a member in zones has copies");
        }
        world.cut_power();
        world.restore_power();
        let left = [disks[0], disks[2], disks[3], disks[5]];
        session(&world, &left, |rt, devices| async move {
            let lines = Arc::new(Lines::default());
            let array = Array::open(&rt, &devices, &OpenOptions { log: lines.clone(), ..options() }).await.unwrap();
            let told = lines
                .0
                .lock()
                .unwrap()
                .iter()
                .any(|line| line.contains("are written in order, in zones, so a flush ends"));
            assert!(told, "{:?}", lines.0.lock().unwrap());
            for name in ["flash", "smr"] {
                let volume = array.volume(name).unwrap();
                for at in 0..100 {
                    let data = volume.read(at * 4096, rt.alloc(4096).full()).await.unwrap();
                    assert_eq!(data.bytes(), block(at + 3), "{until_full}: block {at} of {name}");
                }
            }
            array.close().await.unwrap();
        });
    }
}

/// Copies that the newest flushes made are on the device that goes, and on one that is lost behind that: nobody needs them any more.
#[test]
fn copies_that_went_with_a_replaced_member_are_not_missed() {
    for has_zones in [false, true] {
        let world = World::new(10);
        let disks = plain_and_zoned(&world);
        let size = HEAD + 40 * MIB;
        let fresh = match has_zones {
            true => zoned(&world, "fresh", MIB / 2, size),
            false => world.add_disk(DiskConfig::new("fresh", size)),
        };
        session(&world, &[&disks[..], &[fresh]].concat(), |rt, devices| async move {
            let array = make_with_backups(&rt, &devices[..6], UntilFull::TwoPhase).await;
            assert!(flush_each(&rt, &array, "flash", 100).await > 100);
            let id = array.replace(MemberIx(1), &devices[6], true).await.unwrap();
            ended(&rt, &array, id).await;
            if has_zones {
                assert_eq!(flush_each(&rt, &array, "flash", 50).await, 0, "a member is written in order now");
            }
        });
        assert_eq!(world.stats(fresh).out_of_order, 0);
        assert!(!is_patched(&world, fresh) || !has_zones);
        world.cut_power();
        world.restore_power();
        session(&world, &[fresh, disks[2], disks[3], disks[4], disks[5]], |rt, devices| async move {
            let array = Array::open(&rt, &devices, &options()).await.unwrap();
            let volume = array.volume("flash").unwrap();
            for at in 0..100 {
                let data = volume.read(at * 4096, rt.alloc(4096).full()).await.unwrap();
                assert_eq!(data.bytes(), block(at + 3), "block {at}");
            }
            array.close().await.unwrap();
        });
    }
}
