//! Every level against a plain copy of what was written, healthy and with devices lost.

use std::cell::RefCell;
use std::rc::Rc;

use cygnus_inplace::{Layout, Level, Raid, RaidError};
use cygnus_runtime::{Event, Rng, Runtime};
use cygnus_sim::{DiskConfig, DiskId, World};
use cygnus_types::{BLOCK, Lba, ReactorId};

const CHUNK: u32 = 4;
const DEVICE_BLOCKS: u64 = 64;

fn session<T, F: Future<Output = T>>(
    world: &World,
    disks: &[DiskId],
    body: impl FnOnce(Runtime, Raid) -> F,
    level: Level,
) -> T {
    let rt = world.reactor(ReactorId(0), disks);
    let devices: Vec<_> = world.infos(disks).iter().map(|info| info.ix).collect();
    let layout = Layout::new(level, disks.len(), CHUNK, DEVICE_BLOCKS).unwrap();
    let raid = Raid::new(rt.clone(), &devices, BLOCK as u64, layout);
    let result = rt.run(body(rt.clone(), raid));
    rt.drop_tasks();
    result.expect("the run does not stall")
}

fn disks(world: &World, n: usize) -> Vec<DiskId> {
    (0..n).map(|i| world.add_disk(DiskConfig::new(format!("d{i}"), (DEVICE_BLOCKS + 1) * BLOCK as u64))).collect()
}

/// Many writers at once, each in blocks of its own but all in the same stripes; afterwards everything is read back.
async fn write_and_check(rt: &Runtime, raid: &Raid, truth: &Rc<RefCell<Vec<u8>>>, seed: u64, rounds: u64) {
    let blocks = raid.size() / BLOCK as u64;
    let (left, done) = (Rc::new(std::cell::Cell::new(8u64)), Rc::new(Event::new()));
    for worker in 0..8 {
        let (rt, raid, truth) = (rt.clone(), raid.clone(), truth.clone());
        let (left, done) = (left.clone(), done.clone());
        rt.clone().spawn(async move {
            let mut rng = Rng::new(seed * 8 + worker);
            let share = blocks / 8;
            for _ in 0..rounds {
                let first = worker * share + rng.below(share);
                let n = 1 + rng.below((worker + 1) * share - first);
                let mut buf = rt.alloc(n as usize * BLOCK);
                rng.fill(&mut buf.bytes_mut()[..n as usize * BLOCK]);
                let at = first as usize * BLOCK;
                truth.borrow_mut()[at..at + n as usize * BLOCK].copy_from_slice(buf.part(0..n as usize * BLOCK));
                raid.write(at as u64, buf.slice(0..n as usize * BLOCK)).await.unwrap();
            }
            left.set(left.get() - 1);
            done.notify();
        });
    }
    while left.get() > 0 {
        done.wait().await;
    }
    let truth = truth.borrow().clone();
    check(rt, raid, &truth).await;
}

async fn check(rt: &Runtime, raid: &Raid, truth: &[u8]) {
    let buf = rt.alloc(truth.len());
    raid.read(0, buf.slice(0..truth.len())).await.unwrap();
    let wrong = (0..truth.len() / BLOCK).find(|&b| {
        let range = b * BLOCK..(b + 1) * BLOCK;
        buf.part(range.clone()) != &truth[range]
    });
    assert_eq!(wrong, None, "first wrong block");
}

#[test]
fn what_was_written_is_read_with_and_without_the_devices_that_may_fail() {
    for level in Level::ALL {
        for n in [4, 6] {
            let world = World::new(7);
            let disks = disks(&world, n);
            session(
                &world.clone(),
                &disks.clone(),
                |rt, raid| async move {
                    let truth = Rc::new(RefCell::new(vec![0; raid.size() as usize]));
                    write_and_check(&rt, &raid, &truth, 1, 40).await;
                    let survives = Layout::new(level, n, CHUNK, DEVICE_BLOCKS).unwrap().survives();
                    for (round, &lost) in disks[1..].iter().take(survives).enumerate() {
                        world.kill(lost);
                        let written = truth.borrow().clone();
                        check(&rt, &raid, &written).await;
                        write_and_check(&rt, &raid, &truth, 2 + round as u64, 40).await;
                    }
                    raid.flush().await.unwrap();
                    assert_eq!(raid.failed(), (1..=survives).collect::<Vec<_>>(), "{level:?}");
                },
                level,
            );
        }
    }
}

#[test]
fn one_device_more_is_an_error_for_reads_of_it_and_for_every_write() {
    for level in [Level::Raid0, Level::Raid5, Level::Raid6] {
        let world = World::new(3);
        let disks = disks(&world, 5);
        session(
            &world.clone(),
            &disks.clone(),
            |rt, raid| async move {
                let survives = Layout::new(level, 5, CHUNK, DEVICE_BLOCKS).unwrap().survives();
                for &disk in &disks[..=survives] {
                    world.kill(disk);
                }
                let all = rt.alloc(raid.size() as usize);
                let failed = raid.read(0, all.slice(0..raid.size() as usize)).await;
                assert!(matches!(failed, Err(RaidError::Unreadable(Lba(_)))), "{level:?}: {failed:?}");
                for _ in 0..2 {
                    let _ = raid.write(0, all.slice(0..raid.size() as usize)).await;
                }
                assert_eq!(raid.write(0, all.slice(0..BLOCK)).await, Err(RaidError::Failed), "{level:?}");
                assert_eq!(raid.flush().await, Err(RaidError::Failed));
            },
            level,
        );
    }
}

#[test]
fn small_writes_read_and_large_ones_do_not() {
    let world = World::new(1);
    let disks = disks(&world, 5);
    session(
        &world.clone(),
        &disks.clone(),
        |rt, raid| async move {
            let stripe = 4 * CHUNK as usize * BLOCK;
            let buf = rt.alloc(stripe);
            raid.write(0, buf.slice(0..stripe)).await.unwrap();
            let full = raid.counters();
            assert_eq!((full.read_for_parity, full.device_written, full.full), (0, 5 * u64::from(CHUNK), 1));
            raid.write(0, buf.slice(0..BLOCK)).await.unwrap();
            let small = raid.counters();
            assert_eq!(small.read_for_parity, 2, "the old block and the old parity");
            assert_eq!(small.device_written - full.device_written, 2);
            assert_eq!((small.read_modify, small.reconstruct), (1, 0));
        },
        Level::Raid5,
    );
}

/// The write hole, shown: a crash between data and parity, then a lost device; a resynchronisation in between closes it.
#[test]
fn a_resynchronisation_makes_parity_fit_again() {
    for resync in [false, true] {
        let world = World::new(11);
        let disks = disks(&world, 4);
        let wrong = session(
            &world.clone(),
            &disks.clone(),
            |rt, raid| async move {
                let truth = Rc::new(RefCell::new(vec![0; raid.size() as usize]));
                write_and_check(&rt, &raid, &truth, 5, 20).await;
                // A write that reached its data device and not the parity, as a crash leaves it behind.
                let mut torn = rt.alloc(BLOCK);
                torn.bytes_mut().fill(0x5a);
                let dev = world.infos(&disks)[0].ix;
                rt.write(dev, BLOCK as u64, torn.full()).await.unwrap();
                if resync {
                    raid.resync(|_| {}).await.unwrap();
                }
                world.kill(disks[1]);
                let block = rt.alloc(BLOCK);
                let bystander = u64::from(CHUNK) * BLOCK as u64;
                raid.read(bystander, block.full()).await.unwrap();
                block.bytes() != &truth.borrow()[bystander as usize..][..BLOCK]
            },
            Level::Raid5,
        );
        assert_eq!(wrong, !resync, "the hole is there without, and gone with it");
    }
}

#[test]
fn requests_that_cannot_be_are_refused() {
    let world = World::new(1);
    let disks = disks(&world, 3);
    session(
        &world.clone(),
        &disks.clone(),
        |rt, raid| async move {
            let buf = rt.alloc(2 * BLOCK);
            let end = raid.size();
            assert!(matches!(raid.read(512, buf.full()).await, Err(RaidError::Misaligned { offset: 512, .. })));
            let outside = raid.write(end - BLOCK as u64, buf.full()).await;
            assert_eq!(outside, Err(RaidError::OutOfRange { offset: end - 4096, end: end + 4096, size: end }));
        },
        Level::Raid5,
    );
}
