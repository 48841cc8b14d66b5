//! Groups that are filled one after the other, and emptied and discarded as a whole.

use cygnus_engine::{Array, ArrayHealth, CreateOptions, GroupStatus, Traffic, create};
use cygnus_policy::{LatencyRule, Preset};
use cygnus_runtime::Runtime;
use cygnus_sim::{DiskConfig, DiskId, World};
use cygnus_types::{ByteSize, Nanos};

use crate::common::{assert_clean, block, put};
use crate::sessions::*;

const DEVICE: u64 = 24 * MIB;
const SEGMENT: u64 = 512 << 10;

fn make(world: &World, groups: usize, parity: u8) -> Vec<DiskId> {
    make_of(world, groups, parity, |_| {})
}

/// An array of devices that are as `adapt` makes them.
fn make_of(world: &World, groups: usize, parity: u8, adapt: impl Fn(&mut DiskConfig)) -> Vec<DiskId> {
    let members = groups * usize::from(1 + parity);
    let disk = |i| {
        let mut config = DiskConfig::new(format!("d{i}"), DEVICE);
        adapt(&mut config);
        world.add_disk(config)
    };
    let disks: Vec<DiskId> = (0..members).map(disk).collect();
    let how = CreateOptions {
        segment: Some(ByteSize(SEGMENT)),
        ..CreateOptions::new("tank", Preset::Serial, groups, 1, parity)
    };
    session(world, &disks, |rt, devices| async move {
        create(&rt, &devices, &how).await.unwrap();
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        array.create_volume("v", ByteSize(MIB), 0).await.unwrap();
        array.close().await.unwrap();
    });
    disks
}

fn segments(of: &GroupStatus) -> u32 {
    of.free + of.open + of.sealed + of.pending + of.meta + of.damaged + of.withheld
}

/// Overwrites `percent` of what volumes may hold `times` over, and reads all of it back.
async fn overwrite(rt: &Runtime, array: &Array, percent: u64, times: u64) -> Traffic {
    let blocks = array.status().usable.0 * percent / 100 / 4096;
    array.resize_volume("v", ByteSize(blocks * 4096)).await.unwrap();
    let volume = array.volume("v").unwrap();
    let mut newest = vec![0; blocks as usize];
    for i in 0..blocks * times {
        // All of it once, then at random.
        let at = if i < blocks { i } else { rt.rng_u64() % blocks };
        put(rt, &volume, at, i + 1).await;
        newest[at as usize] = i + 1;
    }
    let buf = rt.alloc(4096);
    for (at, &tag) in newest.iter().enumerate() {
        assert!(volume.read(at as u64 * 4096, buf.full()).await.unwrap().bytes() == block(tag), "block {at}");
    }
    array.traffic()
}

#[test]
fn whole_devices_are_emptied_and_discarded_and_nothing_else_is() {
    for parity in [0, 1] {
        let world = World::new(11);
        let disks = make(&world, 4, parity);
        session(&world, &disks, |rt, devices| async move {
            let array = Array::open(&rt, &devices, &options()).await.unwrap();
            let traffic = overwrite(&rt, &array, 60, 8).await;
            assert!(traffic.evacuations >= 6 && traffic.evacuations_given_up == 0, "{traffic:?}");
            let status = array.status();
            for group in &status.groups {
                let whole = u64::from(segments(group)) * SEGMENT;
                for member in status.members.iter().filter(|member| member.group == group.id) {
                    assert!(member.trimmed.is_multiple_of(whole), "{} of {whole}", member.trimmed);
                }
            }
            array.close().await.unwrap();
        });
        assert_clean(&world, &disks);
    }
}

/// Drives that write zeros in place of trimming take long for a whole device. Reads and writes may not take so long; trims may.
#[test]
fn a_whole_group_may_take_longer_to_trim_than_a_read_may_take() {
    for trim in [Nanos::secs(32), LatencyRule::default().hung_after + Nanos::secs(30)] {
        let world = World::new(14);
        let disks = make_of(&world, 4, 1, |config| config.timing.trim = trim);
        session(&world, &disks, |rt, devices| async move {
            let array = Array::open(&rt, &devices, &options()).await.unwrap();
            let begun = rt.now();
            let traffic = overwrite(&rt, &array, 60, 4).await;
            assert!(traffic.evacuations >= 2 && traffic.evacuations_given_up == 0, "{traffic:?}");
            assert!(rt.now().since(begun) > trim, "nobody has waited for a trim");
            let status = array.status();
            assert!(status.suspended.is_none() && status.health == ArrayHealth::Online, "{:?}", status.health);
            assert!(status.members.iter().all(|member| member.is_online() && member.trouble.is_none()));
            array.close().await.unwrap();
        });
        assert_clean(&world, &disks);
    }
}

#[test]
fn an_array_that_is_full_goes_on_by_segments_and_never_stops() {
    for groups in [3, 4] {
        let world = World::new(12);
        let disks = make(&world, groups, 0);
        session(&world, &disks, |rt, devices| async move {
            let array = Array::open(&rt, &devices, &options()).await.unwrap();
            overwrite(&rt, &array, 100, 6).await;
            array.close().await.unwrap();
        });
        session(&world, &disks, |rt, devices| async move {
            let array = Array::open(&rt, &devices, &options()).await.unwrap();
            overwrite(&rt, &array, 100, 3).await;
            array.close().await.unwrap();
        });
        assert_clean(&world, &disks);
    }
}

#[test]
fn one_device_stays_clean_across_sessions() {
    let world = World::new(13);
    let disks = make(&world, 4, 0);
    for _ in 0..6 {
        session(&world, &disks, |rt, devices| async move {
            let array = Array::open(&rt, &devices, &options()).await.unwrap();
            overwrite(&rt, &array, 40, 1).await;
            let groups = array.status().groups;
            assert!(groups.iter().any(|group| group.free == segments(group)), "{groups:?}");
            array.close().await.unwrap();
        });
    }
}
