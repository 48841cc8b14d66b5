//! What devices say of themselves, and what the engine makes of it.

use cygnus_engine::{Array, CreateOptions, create};
use cygnus_policy::Preset;
use cygnus_runtime::DeviceClass;
use cygnus_sim::{DiskConfig, World};
use cygnus_ssd::{Cache, Mapping, Model, Preset as Drive, ZoneLayout};
use cygnus_types::ByteSize;

use crate::common::put;
use crate::sessions::*;

#[test]
fn only_devices_that_gain_by_it_are_told_of_discards() {
    let world = World::new(1);
    let disks: Vec<_> = [true, false, true]
        .into_iter()
        .map(|can_trim| {
            world.add_disk(DiskConfig { can_trim, ..DiskConfig::new(format!("trim-{can_trim}"), 24 * MIB) })
        })
        .collect();
    let how =
        CreateOptions { segment: Some(ByteSize(512 << 10)), ..CreateOptions::new("tank", Preset::LogRaid, 1, 2, 1) };
    session(&world, &disks, |rt, devices| async move {
        create(&rt, &devices, &how).await.unwrap();
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        let volume = array.create_volume("v", ByteSize(8 * MIB), 0).await.unwrap();
        for i in 0..30_000 {
            put(&rt, &volume, i % 1500, i).await;
        }
        let members = array.status().members;
        let said: Vec<_> = members.iter().map(|member| member.capabilities.unwrap()).collect();
        assert!(said.iter().all(|of| of.class == DeviceClass::Flash));
        assert_eq!(said.iter().map(|of| of.trim).collect::<Vec<_>>(), [true, false, true]);
        let trimmed: Vec<bool> = members.iter().map(|member| member.trimmed > 0).collect();
        assert_eq!(trimmed, [true, false, true], "what is counted was given back");
        array.close().await.unwrap();
    });
    let trims: Vec<bool> = disks.iter().map(|&disk| world.stats(disk).trims > 0).collect();
    assert_eq!(trims, [true, false, true]);
}

#[test]
fn a_device_that_is_written_in_order_becomes_no_member() {
    let world = World::new(1);
    let plain: Vec<_> = (0..3).map(|n| world.add_disk(DiskConfig::new(format!("d{n}"), 24 * MIB))).collect();
    let mut zoned = Drive::Samsung850Pro.config().ssd().unwrap();
    (zoned.flash.channels, zoned.flash.dies_per_channel, zoned.flash.pages_per_block) = (2, 2, 8);
    (zoned.capacity, zoned.spare) = (32 << 20, 0.05);
    zoned.cache = Cache { bytes: 256 << 10, protected: true };
    zoned.mapping = Mapping::Zoned(ZoneLayout { dies: 2, open: 3 });
    let zoned = world.add_modelled(DiskConfig::new("zoned", 24 * MIB), Model::new(zoned.into()).unwrap());
    let how =
        CreateOptions { segment: Some(ByteSize(512 << 10)), ..CreateOptions::new("tank", Preset::LogRaid, 1, 2, 1) };
    session(&world, &[plain[0], plain[1], zoned], {
        let how = how.clone();
        |rt, devices| async move {
            let refused = create(&rt, &devices, &how).await;
            assert_words(&refused.unwrap_err().to_string());
        }
    });
    session(&world, &[&plain[..], &[zoned]].concat(), |rt, devices| async move {
        create(&rt, &devices[..3], &how).await.unwrap();
        let array = Array::open(&rt, &devices[..3], &options()).await.unwrap();
        let refused = array.add_spare(&devices[3], false).await;
        assert_words(&refused.unwrap_err().to_string());
        array.close().await.unwrap();
    });
}

fn assert_words(why: &str) {
    assert!(why.contains("zoned is to be written in order, in zones of 512 KiB"), "{why}");
    assert!(why.contains("give devices without zones"), "{why}");
}
