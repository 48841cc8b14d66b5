//! Writers who are held back because room is short.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use cygnus_engine::{Array, CreateOptions, OpenOptions, create};
use cygnus_policy::Preset;
use cygnus_runtime::Rng;
use cygnus_sim::{DiskConfig, DiskId, Timing, World};
use cygnus_types::{ByteSize, Nanos};

use crate::common::put;
use crate::sessions::*;

/// A disk with an arm: each access takes a seek, and a block some time more.
fn with_an_arm(name: String) -> DiskConfig {
    let seek = Nanos::millis(8);
    let timing = Timing { read: seek, write: seek, flush: seek, per_block: Nanos::micros(25), ..Timing::default() };
    DiskConfig { timing, ..DiskConfig::new(name, 96 * MIB) }
}

/// On disks cleaning takes long to gain a segment. Writers get their part of it all the time, and do not wait for the whole of it.
#[test]
fn on_slow_disks_writers_go_on_while_a_segment_is_gained() {
    let world = World::new(3);
    let disks: Vec<DiskId> = (0..3).map(|n| world.add_disk(with_an_arm(format!("d{n}")))).collect();
    let how = CreateOptions {
        segment: Some(ByteSize(2 * MIB)),
        over_provision_permille: 100,
        ..CreateOptions::new("tank", Preset::LogRaid, 1, 2, 1)
    };
    session(&world, &disks, |rt, devices| async move {
        create(&rt, &devices, &how).await.unwrap();
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        let usable = array.status().usable;
        array.create_volume("v", usable, 0).await.unwrap();
        let (volume, blocks) = (array.volume("v").unwrap(), usable.blocks());
        for at in 0..blocks {
            put(&rt, &volume, at, at).await;
        }
        let mut rng = Rng::new(1);
        let mut overwritten = async |count: u64| {
            let (begun, mut longest) = (rt.now(), Nanos::ZERO);
            for n in 0..count {
                let before = rt.now();
                put(&rt, &volume, rng.below(blocks), n).await;
                longest = longest.max(rt.now().since(before));
            }
            (longest, rt.now().since(begun))
        };
        // The room that was left is used up, and cleaning gets into its stride.
        overwritten(blocks / 2).await;
        let (longest, all) = overwritten(blocks / 2).await;
        let segments = (blocks / 2).div_ceil(1000);
        assert!(array.status().traffic.victims > segments, "it was cleaned");
        let for_a_segment = Nanos(all.0 / segments);
        assert!(longest < for_a_segment / 2, "a write took {longest}, and a segment {for_a_segment}");
        array.close().await.unwrap();
    });
}

/// Devices that take a quarter of a minute for a flush, so long does what cleaning has emptied wait.
#[test]
fn the_operator_hears_why_writers_get_no_segment() {
    let world = World::new(7);
    let disk = |n: u64| {
        let timing = Timing { flush: Nanos::secs(15), ..Timing::default() };
        DiskConfig { timing, ..DiskConfig::new(format!("d{n}"), 64 * MIB) }
    };
    let disks: Vec<DiskId> = (0..3).map(|n| world.add_disk(disk(n))).collect();
    let how = CreateOptions {
        segment: Some(ByteSize(MIB)),
        over_provision_permille: 200,
        ..CreateOptions::new("tank", Preset::LogRaid, 1, 2, 1)
    };
    let lines = Arc::new(Lines::default());
    let log = lines.clone();
    let (took, longest) = session(&world, &disks, |rt, devices| async move {
        create(&rt, &devices, &how).await.unwrap();
        let array = Array::open(&rt, &devices, &OpenOptions::new(log)).await.unwrap();
        let usable = array.status().usable;
        array.create_volume("v", usable, 0).await.unwrap();
        let (volume, blocks) = (array.volume("v").unwrap(), usable.blocks());
        let longest = Rc::new(Cell::new(Some(Nanos::ZERO)));
        let (looking, looked, clock) = (array.clone(), longest.clone(), rt.clone());
        rt.spawn(async move {
            while let Some(longest) = looked.get() {
                let waited = looking.status().shortage.map_or(Nanos::ZERO, |shortage| shortage.waited);
                looked.set(Some(longest.max(waited)));
                clock.sleep(Nanos::secs(1)).await;
            }
        });
        let mut rng = Rng::new(1);
        for n in 0..2 * blocks {
            put(&rt, &volume, if n < blocks { n } else { rng.below(blocks) }, n).await;
        }
        assert_eq!(array.status().shortage, None, "all is written");
        let took = rt.now();
        array.close().await.unwrap();
        (took, longest.take().unwrap())
    });
    assert!(longest > Nanos::secs(10), "the status tells of no more than {longest}");
    let lines = lines.0.lock().unwrap();
    let told: Vec<_> = lines.iter().filter(|line| line.contains("no segment for clients' writes")).collect();
    assert!(told.iter().any(|line| line.contains("slow to flush")), "{told:?}");
    assert!(told.len() as u64 <= took.0 / Nanos::secs(10).0, "{} times in {took}", told.len());
}
