//! Callers that go away: what they began goes on to its end, and nothing that was left undone is told to be done.

use std::sync::Arc;

use cygnus_engine::Log;
use cygnus_inplace::{Array, CreateOptions, Level, Volume, create};
use cygnus_runtime::{Raced, Runtime, race};
use cygnus_sim::{DiskConfig, DiskId, World};
use cygnus_types::{BLOCK, ByteSize, Nanos, ReactorId};

const BLOCKS: u64 = 64;
const MOMENTS: u64 = 24;

struct Quiet;

impl Log for Quiet {
    fn line(&self, _text: &str) {}
}

fn run<T, F: Future<Output = T>>(world: &World, disks: &[DiskId], body: impl FnOnce(Runtime) -> F) -> T {
    let rt = world.reactor(ReactorId(0), disks);
    let result = rt.run(body(rt.clone()));
    rt.drop_tasks();
    result.expect("nothing stalls")
}

async fn open(world: &World, disks: &[DiskId], rt: &Runtime) -> (Array, Volume) {
    let array = Array::open(rt, &world.infos(disks), None, Arc::new(Quiet)).await.unwrap();
    let volume = array.volume("v").unwrap();
    (array, volume)
}

fn make(level: Level, members: usize) -> (World, Vec<DiskId>) {
    let world = World::new(3);
    let disks: Vec<_> = (0..members).map(|i| world.add_disk(DiskConfig::new(format!("d{i}"), 8 << 20))).collect();
    run(&world, &disks, |rt| {
        let devices = world.infos(&disks);
        async move {
            let name = "tank".into();
            let options = CreateOptions { name, level, chunk: ByteSize::kib(16), force: false, blank: true };
            create(&rt, &devices, &options).await.unwrap();
            let array = Array::open(&rt, &devices, None, Arc::new(Quiet)).await.unwrap();
            array.create_volume("v", ByteSize(BLOCKS * BLOCK as u64), 0).await.unwrap();
            array.close().await.unwrap();
        }
    });
    (world, disks)
}

async fn put(rt: &Runtime, volume: &Volume, at: u64) {
    let mut buf = rt.alloc(BLOCK);
    buf.bytes_mut().fill(at as u8 + 1);
    volume.write(at * BLOCK as u64, buf.full()).await.unwrap();
}

async fn dropped_after<T>(rt: &Runtime, at: Nanos, work: impl Future<Output = T>) -> Option<T> {
    match race(work, rt.sleep(at)).await {
        Raced::First(result) => Some(result),
        Raced::Second(()) => None,
    }
}

/// How long a flush took that was waited for, after one that was dropped.
fn flush_after_a_dropped_one(level: Level, members: usize, at: Option<Nanos>) -> Nanos {
    let (world, disks) = make(level, members);
    let took = run(&world, &disks, |rt| {
        let (world, disks) = (world.clone(), disks.clone());
        async move {
            let (_array, volume) = open(&world, &disks, &rt).await;
            for at in 0..BLOCKS {
                put(&rt, &volume, at).await;
            }
            let begun = rt.now();
            if let Some(at) = at {
                dropped_after(&rt, at, volume.flush()).await;
            }
            volume.flush().await.unwrap();
            let took = rt.now().since(begun);
            world.cut_power();
            took
        }
    });
    world.restore_power();
    run(&world, &disks, |rt| {
        let (world, disks) = (world.clone(), disks.clone());
        async move {
            let (_array, volume) = open(&world, &disks, &rt).await;
            for at in 0..BLOCKS {
                let data = volume.read(at * BLOCK as u64, rt.alloc(BLOCK).full()).await.unwrap();
                let whole = data.bytes().iter().all(|&byte| byte == at as u8 + 1);
                assert!(
                    whole,
                    "{}: block {at} was lost after a flush that followed one dropped after {:?}",
                    level.name(),
                    took
                );
            }
        }
    });
    took
}

#[test]
fn a_flush_is_true_whenever_the_one_before_it_was_dropped() {
    for (level, members) in [(Level::Raid0, 2), (Level::Raid1, 2), (Level::Raid5, 3)] {
        let whole = flush_after_a_dropped_one(level, members, None);
        for moment in 0..=MOMENTS {
            flush_after_a_dropped_one(level, members, Some(Nanos(whole.0 * moment / MOMENTS)));
        }
    }
}

/// One copy is written, the other one waits in a device that hangs, and the caller goes away: until both are there a crash
/// must find the region's bit.
#[test]
fn the_intent_of_a_dropped_write_stays_until_all_copies_are_there() {
    let (world, disks) = make(Level::Raid1, 2);
    run(&world, &disks, |rt| {
        let (world, disks) = (world.clone(), disks.clone());
        async move {
            let (array, volume) = open(&world, &disks, &rt).await;
            put(&rt, &volume, 0).await;
            assert_eq!(array.status().dirty_regions, 1);
            world.hang(disks[1], Some(Nanos::secs(20)));
            assert!(dropped_after(&rt, Nanos::millis(5), put(&rt, &volume, 1)).await.is_none(), "it waits");
            rt.sleep(Nanos::secs(15)).await;
            assert_eq!(array.status().dirty_regions, 1, "one copy is not there yet");
            rt.sleep(Nanos::secs(20)).await;
            assert_eq!(array.status().dirty_regions, 0, "all is quiet");
            array.close().await.unwrap();
        }
    });
}
