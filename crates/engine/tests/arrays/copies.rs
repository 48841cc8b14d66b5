//! Copies of what open stripes hold: drives are told that these will soon be invalid, and all members get some.

use cygnus_engine::{Array, CreateOptions, Traffic, create};
use cygnus_policy::Preset;
use cygnus_sim::{DiskConfig, DiskId, World};
use cygnus_ssd::{Model, Preset as Drive};
use cygnus_types::ByteSize;

use crate::common::put;
use crate::sessions::{MIB, options, session};

/// Blocks that each drive was told are copies, and all that they were written, beside what the array says that it sent; while clients
/// write and flush.
fn told(preset: Preset) -> (Vec<u64>, u64, Traffic) {
    let world = World::new(1);
    let mut drive = Drive::ScalaAfaFemu.config().ssd().expect("it is of flash");
    (drive.flash.channels, drive.flash.dies_per_channel, drive.flash.pages_per_block) = (2, 2, 16);
    (drive.capacity, drive.spare) = (64 * MIB, 0.3);
    drive.slc.as_mut().expect("it has a buffer").bytes = 16 * MIB;
    let disk = |n| {
        let model = Model::new(drive.clone().into()).expect("it can be built");
        world.add_modelled(DiskConfig::new(format!("d{n}"), drive.capacity), model)
    };
    let disks: Vec<DiskId> = (0..5).map(disk).collect();
    let how = CreateOptions { segment: Some(ByteSize(MIB)), ..CreateOptions::new("tank", preset, 1, 4, 1) };
    let traffic = session(&world, &disks, |rt, devices| async move {
        create(&rt, &devices, &how).await.unwrap();
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        let volume = array.create_volume("v", ByteSize(16 * MIB), 0).await.unwrap();
        for n in 0..2000 {
            put(&rt, &volume, n * 7 % 4096, n).await;
            if n % 3 == 0 {
                volume.flush().await.unwrap();
            }
        }
        volume.flush().await.unwrap();
        array.traffic()
    });
    let counters: Vec<_> = disks.iter().map(|&disk| world.model_counters(disk).expect("it is modelled")).collect();
    let copies = counters.iter().map(|counters| counters.transient_writes).collect();
    (copies, counters.iter().map(|counters| counters.host_writes).sum(), traffic)
}

#[test]
fn every_copy_is_said_to_be_one_and_nothing_else_is() {
    for preset in [Preset::Fusion, Preset::ScalaAfa] {
        let (transient, all, traffic) = told(preset);
        let transient: u64 = transient.into_iter().sum();
        assert!(traffic.backup_written > 2000, "{preset:?}: {traffic:?}");
        assert_eq!(transient, traffic.backup_written, "{preset:?}");
        assert!(all > 2 * transient - transient / 2, "{preset:?}: {transient} of {all}");
    }
    let (transient, all, traffic) = told(Preset::LogRaid);
    assert_eq!((transient, traffic.backup_written), (vec![0; 5], 0));
    assert!(all > 2000);
}

/// A segment's parity is on one member, and would be the only place for copies until the segment is full.
#[test]
fn no_member_gets_most_of_the_copies() {
    let (copies, _, _) = told(Preset::Fusion);
    let all: u64 = copies.iter().sum();
    assert!(copies.iter().all(|&of| of < all / 4), "{copies:?}");
}
