//! Slow is failed too: reads go on without a member that is late, slow or hung.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use cygnus_engine::{Array, ArrayStatus, CreateOptions, Volume, create};
use cygnus_policy::Preset;
use cygnus_runtime::{Event, Rng, Runtime};
use cygnus_sim::{DiskConfig, DiskId, World};
use cygnus_types::{ByteSize, Nanos};

use crate::common::{healed, open};
use crate::sessions::*;

/// Enough to put data into every group.
pub const BLOCKS: u64 = 15_500;

/// Nine devices in three groups, with a volume.
pub fn make(world: &World, k: u8, m: u8, groups: usize) -> Vec<DiskId> {
    let disks: Vec<DiskId> =
        (0..groups * usize::from(k + m)).map(|i| world.add_disk(DiskConfig::new(format!("d{i}"), 17 * MIB))).collect();
    let options =
        CreateOptions { segment: Some(ByteSize(512 << 10)), ..CreateOptions::new("tank", Preset::Swan, groups, k, m) };
    session(world, &disks, |rt, devices| async move {
        create(&rt, &devices, &options).await.unwrap();
        let array = Array::open(&rt, &devices, &self::options()).await.unwrap();
        array.create_volume("v", ByteSize(64 * MIB), 0).await.unwrap();
        array.close().await.unwrap();
    });
    disks
}

fn block(tag: u64) -> [u8; 4096] {
    let mut bytes = [0; 4096];
    Rng::new(tag).fill(&mut bytes);
    bytes
}

async fn put(rt: &Runtime, volume: &Volume, at: u64, tag: u64) {
    let mut buf = rt.alloc(4096);
    buf.bytes_mut().copy_from_slice(&block(tag));
    volume.write(at * 4096, buf.full()).await.unwrap();
}

pub async fn fill(rt: &Runtime, volume: &Volume) {
    for at in 0..BLOCKS {
        put(rt, volume, at, at).await;
    }
    volume.flush().await.unwrap();
}

/// Reads that `workers` make side by side, each checked; how long each took, in order.
pub async fn read_randomly(rt: &Runtime, volume: &Volume, workers: u64, count: u64) -> Vec<Nanos> {
    let times = Rc::new(RefCell::new(Vec::new()));
    let (left, done) = (Rc::new(Cell::new(workers)), Rc::new(Event::new()));
    for worker in 0..workers {
        let (rt, volume, times) = (rt.clone(), volume.clone(), times.clone());
        let (left, done) = (left.clone(), done.clone());
        let mut rng = Rng::new(worker + 77);
        rt.clone().spawn(async move {
            for _ in 0..count / workers {
                // Now and then several blocks at once.
                let blocks = if rng.chance(1, 8) { 1 + rng.below(40) } else { 1 };
                let at = rng.below(BLOCKS - blocks);
                let begun = rt.now();
                let data = volume.read(at * 4096, rt.alloc(blocks as usize * 4096).full()).await.unwrap();
                times.borrow_mut().push(rt.now().since(begun));
                for (n, found) in data.bytes().chunks_exact(4096).enumerate() {
                    assert!(found == block(at + n as u64), "block {}", at + n as u64);
                }
            }
            left.set(left.get() - 1);
            done.notify();
        });
    }
    while left.get() > 0 {
        done.wait().await;
    }
    let mut times = times.take();
    times.sort_unstable();
    times
}

fn percentile(times: &[Nanos], permille: usize) -> Nanos {
    times[(times.len() * permille / 1000).min(times.len() - 1)]
}

fn slow_members(status: &ArrayStatus) -> Vec<String> {
    status.members.iter().filter(|m| m.pace.slow).map(|m| m.name.clone()).collect()
}

#[test]
fn one_of_nine_a_hundred_times_slower_is_hardly_felt() {
    for (k, m, groups) in [(2, 1, 3), (4, 2, 2)] {
        let world = World::new(5);
        let disks = make(&world, k, m, groups);
        let slow = disks[1];
        session(&world.clone(), &disks.clone(), |rt, devices| async move {
            let (array, volume) = open(&rt, &devices).await;
            fill(&rt, &volume).await;
            let healthy = read_randomly(&rt, &volume, 8, 20_000).await;
            let before = array.traffic();
            assert!(before.hedged < 40, "a healthy array hardly hedges: {before:?}");
            assert_eq!(before.read_around, 0);
            world.slow_down(slow, 100);
            let sick = read_randomly(&rt, &volume, 8, 20_000).await;
            let ratio = percentile(&sick, 999).0 as f64 / percentile(&healthy, 999).0 as f64;
            println!(
                "{k}+{m}: p50 {} -> {}, p99 {} -> {}, p99.9 {} -> {} ({ratio:.2}), longest {} -> {}; {} hedged",
                percentile(&healthy, 500),
                percentile(&sick, 500),
                percentile(&healthy, 990),
                percentile(&sick, 990),
                percentile(&healthy, 999),
                percentile(&sick, 999),
                healthy.last().unwrap(),
                sick.last().unwrap(),
                array.traffic().hedged - before.hedged,
            );
            assert!(ratio < 2.0, "{ratio}");
            assert_eq!(slow_members(&array.status()), ["d1"]);
            assert!(array.traffic().read_around > 0);
            assert_eq!(array.traffic().reconstructed, 0, "slow is not lost");
            world.slow_down(slow, 1);
            read_randomly(&rt, &volume, 8, 20_000).await;
            assert!(slow_members(&array.status()).is_empty(), "it serves again");
            array.close().await.unwrap();
        });
    }
}

/// The load that made it slow is over, and no client reads any more: it is tried all the same.
#[test]
fn a_slow_member_of_an_array_at_rest_is_slow_no_longer_than_its_device() {
    let world = World::new(12);
    let disks = make(&world, 2, 1, 3);
    let slow = disks[1];
    session(&world.clone(), &disks.clone(), |rt, devices| async move {
        let (array, volume) = open(&rt, &devices).await;
        fill(&rt, &volume).await;
        read_randomly(&rt, &volume, 8, 4_000).await;
        for _ in 0..2 {
            world.slow_down(slow, 100);
            read_randomly(&rt, &volume, 8, 4_000).await;
            assert_eq!(slow_members(&array.status()), ["d1"]);
            rt.sleep(Nanos::secs(20)).await;
            assert_eq!(slow_members(&array.status()), ["d1"], "it is still slow");
            world.slow_down(slow, 1);
            rt.sleep(Nanos::secs(20)).await;
            assert!(slow_members(&array.status()).is_empty(), "it keeps pace");
        }
        array.close().await.unwrap();
    });
}

#[test]
fn without_a_column_to_spare_nothing_is_read_around() {
    let world = World::new(6);
    let disks = make(&world, 2, 1, 3);
    session(&world.clone(), &disks.clone(), |rt, devices| async move {
        let (array, volume) = open(&rt, &devices).await;
        fill(&rt, &volume).await;
        read_randomly(&rt, &volume, 4, 4_000).await;
        world.kill(disks[0]);
        world.slow_down(disks[1], 100);
        let times = read_randomly(&rt, &volume, 4, 4_000).await;
        assert!(percentile(&times, 990) > Nanos::millis(5), "they wait for it");
        array.close().await.unwrap();
    });
}

#[test]
fn a_hung_member_holds_up_reads_for_a_moment_and_a_flush_for_the_limit() {
    for reactors_patience in [Nanos::secs(30), Nanos::secs(2)] {
        let world = World::new(7);
        let disks = make(&world, 2, 1, 3);
        let hung = disks[4];
        session(&world.clone(), &disks, |rt, devices| {
            let world = world.clone();
            async move {
                rt.set_patience(reactors_patience);
                let (array, volume) = open(&rt, &devices).await;
                fill(&rt, &volume).await;
                read_randomly(&rt, &volume, 4, 4_000).await;
                world.hang(hung, None);
                let times = read_randomly(&rt, &volume, 4, 20_000).await;
                assert!(*times.last().unwrap() < Nanos::millis(2), "{}", times.last().unwrap());
                for at in 0..BLOCKS {
                    put(&rt, &volume, at, at).await;
                }
                let begun = rt.now();
                volume.flush().await.unwrap();
                let took = rt.now().since(begun);
                assert!(took <= reactors_patience + Nanos::secs(1), "{took}");
                let status = array.status();
                assert_eq!(status.hung_after, reactors_patience);
                let out: Vec<_> = status.members.iter().filter(|m| !m.is_online()).map(|m| m.name.as_str()).collect();
                assert_eq!((out, status.fault), (vec!["d4"], None));
                read_randomly(&rt, &volume, 4, 4_000).await;
                array.close().await.unwrap();
            }
        });
        world.release(hung);
        session(&world.clone(), &disks.clone(), |rt, devices| async move {
            let array = Array::open(&rt, &devices, &options()).await.unwrap();
            // It was late, which is no reason not to believe what it has.
            healed(&rt, &array).await;
            read_randomly(&rt, &array.volume("v").unwrap(), 4, 4_000).await;
            array.close().await.unwrap();
        });
    }
}

#[test]
fn an_array_opens_without_a_member_that_hangs() {
    let world = World::new(8);
    let disks = make(&world, 2, 1, 3);
    session(&world.clone(), &disks.clone(), |rt, devices| async move {
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        fill(&rt, &array.volume("v").unwrap()).await;
        array.close().await.unwrap();
    });
    world.hang(disks[2], None);
    session(&world.clone(), &disks.clone(), |rt, devices| async move {
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        read_randomly(&rt, &array.volume("v").unwrap(), 4, 4_000).await;
        assert_eq!(array.status().members.iter().filter(|m| !m.is_online()).count(), 1);
        array.close().await.unwrap();
    });
}

/// A member is gone, another slow, and what a third has is wrong: the slow one must be waited for.
#[test]
fn a_slow_column_is_read_when_a_quick_one_proves_wrong() {
    let world = World::new(5);
    let disks = make(&world, 4, 2, 2);
    session(&world, &disks, |rt, devices| {
        let (world, disks) = (world.clone(), disks.clone());
        async move {
            let (array, volume) = open(&rt, &devices).await;
            fill(&rt, &volume).await;
            world.slow_down(disks[1], 100);
            read_randomly(&rt, &volume, 8, 800).await;
            assert_eq!(slow_members(&array.status()), ["d1"]);
            world.kill(disks[0]);
            for offset in (MIB..16 * MIB).step_by(4096) {
                world.flip_bit(disks[2], offset + 77, 1);
            }
            for at in (0..BLOCKS).step_by(5) {
                let data = volume.read(at * 4096, rt.alloc(4096).full()).await.unwrap();
                assert!(data.bytes() == block(at), "block {at}");
            }
        }
    });
}

#[test]
fn a_member_that_is_slow_at_writing_only_is_reported_and_read_as_before() {
    let world = World::new(11);
    let disks = make(&world, 2, 1, 3);
    session(&world.clone(), &disks.clone(), |rt, devices| async move {
        let (array, volume) = open(&rt, &devices).await;
        let rewrite = async |rounds| {
            for round in 0..rounds {
                for at in 0..BLOCKS {
                    put(&rt, &volume, at, at).await;
                    if at % 256 == round {
                        volume.flush().await.unwrap();
                    }
                }
            }
        };
        let lagging = || -> Vec<_> {
            let members = array.status().members;
            let lags = |m: &cygnus_engine::MemberStatus| m.pace.write_lag.is_some() || m.pace.flush_lag.is_some();
            members.iter().filter(|m| lags(m)).map(|m| (m.name.clone(), m.pace)).collect()
        };
        fill(&rt, &volume).await;
        rewrite(4).await;
        assert_eq!(lagging(), [], "all are alike");
        world.slow_down_writes(disks[1], 300);
        rewrite(4).await;
        let found = lagging();
        assert_eq!(found.len(), 1, "{found:?}");
        let (name, pace) = &found[0];
        let (writes, flushes) = (pace.write_lag.expect("its writes lag"), pace.flush_lag.expect("its flushes lag"));
        assert!(name == "d1" && !pace.slow, "{found:?}");
        assert!(writes.own > writes.peers * 20 && flushes.own > flushes.peers * 20, "{found:?}");
        let before = array.traffic();
        read_randomly(&rt, &volume, 8, 4_000).await;
        assert_eq!(array.traffic().read_around, before.read_around, "its reads are as good as ever");
        array.close().await.unwrap();
    });
}
