//! Arrays in which volumes have segments of their own.

use cygnus_engine::{Array, CreateOptions, Traffic, Volume, create};
use cygnus_policy::{Preset, Streams};
use cygnus_runtime::{DeviceInfo, Rng, Runtime};
use cygnus_sim::{DiskConfig, DiskId, World};
use cygnus_types::ByteSize;

use crate::common::{block, put};
use crate::sessions::*;

/// Blocks of each volume.
const BLOCKS: u64 = 14_000;
const NAMES: [&str; 2] = ["in-order", "at-random"];

fn disks(world: &World) -> Vec<DiskId> {
    (0..3).map(|i| world.add_disk(DiskConfig::new(format!("d{i}"), 96 * MIB))).collect()
}

fn how(streams: Streams) -> CreateOptions {
    CreateOptions {
        segment: Some(ByteSize(128 << 10)),
        chunk: ByteSize(16 << 10),
        stripe_rows: Some(28),
        streams: Some(streams),
        ..CreateOptions::new("tank", Preset::LogRaid, 1, 2, 1)
    }
}

/// What each block of each volume was last written with.
type Newest = [Vec<u64>; 2];

/// A new array with two volumes, one of which is overwritten in order and the other one at random, by turns.
async fn make(rt: &Runtime, devices: &[DeviceInfo], how: &CreateOptions, writes: u64) -> (Array, [Volume; 2], Newest) {
    create(rt, devices, how).await.unwrap();
    let array = Array::open(rt, devices, &options()).await.unwrap();
    for name in NAMES {
        array.create_volume(name, ByteSize::of_blocks(BLOCKS), 0).await.unwrap();
    }
    let volumes = NAMES.map(|name| array.volume(name).unwrap());
    let mut newest = NAMES.map(|_| vec![0; BLOCKS as usize]);
    let mut rng = Rng::new(1);
    for n in 0..BLOCKS + writes {
        let at_random = if n < BLOCKS { n } else { rng.below(BLOCKS) };
        for (which, at) in [n % BLOCKS, at_random].into_iter().enumerate() {
            let tag = 2 * n + which as u64;
            newest[which][at as usize] = tag;
            put(rt, &volumes[which], at, tag).await;
        }
    }
    volumes[0].flush().await.unwrap();
    (array, volumes, newest)
}

/// All that was written is there.
fn verify(world: &World, disks: &[DiskId], newest: Newest) {
    session(world, disks, |rt, devices| async move {
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        for (name, newest) in NAMES.iter().zip(newest) {
            let volume = array.volume(name).unwrap();
            for (at, tag) in (0..).zip(newest) {
                let data = volume.read(at * 4096, rt.alloc(4096).full()).await.unwrap();
                assert!(data.bytes() == block(tag), "block {at} of {name}");
            }
        }
        array.close().await.unwrap();
    });
}

fn played(streams: Streams) -> Traffic {
    let world = World::new(7);
    let disks = disks(&world);
    let (traffic, newest) = session(&world, &disks, |rt, devices| async move {
        let (array, _, newest) = make(&rt, &devices, &how(streams), 4 * BLOCKS).await;
        let status = array.status();
        assert_eq!(status.streams, streams);
        array.close().await.unwrap();
        (status.traffic, newest)
    });
    verify(&world, &disks, newest);
    traffic
}

/// Segments of what is overwritten in order become empty by themselves, unless blocks of another volume lie between.
#[test]
fn volumes_that_live_differently_are_kept_apart_and_cleaning_moves_less() {
    let (apart, together) = (played(Streams::ByVolume), played(Streams::Together));
    let moved = |traffic: &Traffic| traffic.relocated as f64 / traffic.client_written as f64;
    assert!(moved(&apart) < 0.9 * moved(&together), "{} and {}", moved(&apart), moved(&together));
}

/// A flush makes durable what is in all streams.
#[test]
fn what_was_flushed_outlasts_a_power_cut_in_each_stream() {
    let world = World::new(7);
    let disks = disks(&world);
    let newest = session(&world, &disks, |rt, devices| async move {
        let (_array, volumes, mut newest) = make(&rt, &devices, &how(Streams::ByVolume), BLOCKS).await;
        for at in [3, 700, 1500] {
            for (which, volume) in volumes.iter().enumerate() {
                newest[which][at as usize] = 9_000_000 + at;
                put(&rt, volume, at, 9_000_000 + at).await;
            }
        }
        volumes[1].flush().await.unwrap();
        newest
    });
    world.cut_power();
    world.restore_power();
    verify(&world, &disks, newest);
}
