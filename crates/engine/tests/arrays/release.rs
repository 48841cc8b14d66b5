//! Segments that were emptied, and how they are given back.

use cygnus_engine::{Array, CreateOptions, create};
use cygnus_policy::Preset;
use cygnus_runtime::Rng;
use cygnus_sim::{DiskConfig, DiskId, Timing, World};
use cygnus_types::{ByteSize, Nanos};

use crate::common::put;
use crate::sessions::*;

/// Clients fill a stripe in less time than a release waits, so none of theirs is cut short for its sake.
#[test]
fn what_was_emptied_goes_back_as_stripes_fill() {
    let world = World::new(5);
    let disk = |n: u64| {
        let (read, write, flush) = (Nanos::micros(80), Nanos::micros(40), Nanos::micros(500));
        let timing = Timing { read, write, flush, ..Timing::default() };
        DiskConfig { timing, ..DiskConfig::new(format!("d{n}"), 64 * MIB) }
    };
    let disks: Vec<DiskId> = (0..3).map(|n| world.add_disk(disk(n))).collect();
    let how = CreateOptions {
        chunk: ByteSize(256 << 10),
        segment: Some(ByteSize(MIB)),
        over_provision_permille: 100,
        ..CreateOptions::new("tank", Preset::LogRaid, 1, 2, 1)
    };
    session(&world, &disks, |rt, devices| async move {
        create(&rt, &devices, &how).await.unwrap();
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        let usable = array.status().usable;
        array.create_volume("v", usable, 0).await.unwrap();
        let (volume, blocks) = (array.volume("v").unwrap(), usable.blocks() * 9 / 10);
        let mut rng = Rng::new(1);
        for n in 0..4 * blocks {
            put(&rt, &volume, if n < blocks { n } else { rng.below(blocks) }, n).await;
            rt.sleep(Nanos::micros(40)).await;
        }
        let traffic = array.status().traffic;
        let written = traffic.client_written + traffic.relocated;
        assert!(traffic.victims > 50, "it was cleaned");
        assert!(
            traffic.padding_written * 30 < written,
            "{} blocks of padding beside {written}",
            traffic.padding_written
        );
        array.close().await.unwrap();
    });
}
