//! Every fault of the fault model, seen to happen.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use cygnus_runtime::{DeviceIx, Halt, IoErrorKind, Runtime};
use cygnus_sim::{Cluster, DiskConfig, DiskId, FaultKind, FaultRates, World};
use cygnus_types::{BLOCK, ByteSize, Nanos, ReactorId};

const DEV: DeviceIx = DeviceIx(0);

fn one_disk(seed: u64) -> (World, DiskId) {
    let world = World::new(seed);
    let disk = world.add_disk(DiskConfig::new("d", ByteSize::mib(8).bytes()));
    (world, disk)
}

fn at(block: u64) -> u64 {
    block * BLOCK as u64
}

async fn write(rt: &Runtime, block: u64, blocks: usize, tag: u8) {
    let mut buf = rt.alloc(blocks * BLOCK);
    buf.bytes_mut().fill(tag);
    rt.write(DEV, at(block), buf.full()).await.expect("the write succeeds");
}

fn tags(world: &World, disk: DiskId, blocks: u64) -> Vec<u8> {
    let mut bytes = vec![0; blocks as usize * BLOCK];
    world.peek(disk, 0, &mut bytes);
    bytes.chunks(BLOCK).map(|b| if b.iter().all(|&byte| byte == b[0]) { b[0] } else { 0xee }).collect()
}

#[test]
fn a_power_cut_keeps_what_was_flushed_and_any_part_of_the_rest() {
    let mut outcomes = BTreeSet::new();
    for seed in 0..2000 {
        let (world, disk) = one_disk(seed);
        let rt = world.reactor(ReactorId(0), &[disk]);
        let run = rt.run(async {
            write(&rt, 0, 2, 1).await;
            rt.flush(DEV).await.expect("the flush succeeds");
            write(&rt, 1, 1, 2).await;
            write(&rt, 1, 3, 3).await;
            let mut buf = rt.alloc(2 * BLOCK);
            buf.bytes_mut().fill(4);
            let _in_flight = rt.write(DEV, at(3), buf.full());
            world.cut_power();
            rt.sleep(Nanos::secs(1)).await;
        });
        assert_eq!(run, Err(Halt::PowerCut));
        let seen = tags(&world, disk, 5);
        assert_eq!(seen[0], 1, "flushed");
        assert!([1, 2, 3].contains(&seen[1]) && [0, 3].contains(&seen[2]), "{seen:?}");
        assert!([0, 3, 4].contains(&seen[3]) && [0, 4].contains(&seen[4]), "{seen:?}");
        outcomes.insert(seen);
        assert_eq!(world.unflushed(disk), 0);
        drop(rt);
        world.restore_power();
        let rt = world.reactor(ReactorId(0), &[disk]);
        rt.run(write(&rt, 9, 1, 9)).expect("a new reactor works");
    }
    assert_eq!(outcomes.len(), 3 * 2 * 3 * 2, "every mixture occurs");
}

#[test]
fn power_goes_at_the_planned_step_or_time() {
    for steps in 1..12 {
        let (world, disk) = one_disk(steps);
        let rt = world.reactor(ReactorId(0), &[disk]);
        world.cut_power_after(Some(steps));
        let run = rt.run(async {
            for n in 0..5 {
                write(&rt, n, 1, 1).await;
            }
        });
        assert_eq!(run.is_err(), steps <= 10, "five writes are ten steps");
        assert_eq!(world.steps(), steps.min(10));
    }
    let (world, disk) = one_disk(1);
    let rt = world.reactor(ReactorId(0), &[disk]);
    world.cut_power_at(Nanos::millis(3));
    assert_eq!(rt.run(rt.sleep(Nanos::secs(1))), Err(Halt::PowerCut));
    assert_eq!(world.now(), Nanos::millis(3));
}

#[test]
fn a_killed_process_loses_nothing_that_completed() {
    let mut in_flight = BTreeSet::new();
    for seed in 0..100 {
        let (world, disk) = one_disk(seed);
        let rt = world.reactor(ReactorId(0), &[disk]);
        let run = rt.run(async {
            write(&rt, 0, 1, 1).await;
            drop(rt.write(DEV, at(1), rt.alloc(BLOCK).full()));
            let mut buf = rt.alloc(BLOCK);
            buf.bytes_mut().fill(2);
            drop(rt.write(DEV, at(2), buf.full()));
        });
        run.expect("the task ends");
        drop(rt);
        let seen = tags(&world, disk, 3);
        assert_eq!(seen[0], 1);
        in_flight.insert(seen[2]);
        world.cut_power();
        world.restore_power();
    }
    assert_eq!(in_flight, BTreeSet::from([0, 2]));
}

#[test]
fn trimmed_blocks_hold_anything() {
    let mut kinds = BTreeSet::new();
    for seed in 0..100 {
        let (world, disk) = one_disk(seed);
        let rt = world.reactor(ReactorId(0), &[disk]);
        let run = rt.run(async {
            write(&rt, 0, 3, 7).await;
            rt.trim(DEV, at(1), at(1)).await.expect("the trim succeeds");
        });
        run.expect("the task ends");
        let seen = tags(&world, disk, 3);
        assert!(seen[0] == 7 && seen[2] == 7);
        kinds.insert(seen[1]);
    }
    assert_eq!(kinds, BTreeSet::from([0, 7, 0xee]), "zeros, old data and garbage");
}

#[test]
fn unreadable_until_written() {
    let (world, disk) = one_disk(1);
    let rt = world.reactor(ReactorId(0), &[disk]);
    world.fail_reads(disk, at(4)..at(6));
    let run = rt.run(async {
        let error = rt.read(DEV, at(3), rt.alloc(4 * BLOCK).full()).await.expect_err("covers a bad block");
        assert_eq!(error.kind, IoErrorKind::Medium);
        rt.read(DEV, at(6), rt.alloc(BLOCK).full()).await.expect("other blocks are fine");
        write(&rt, 4, 2, 1).await;
        rt.read(DEV, at(3), rt.alloc(4 * BLOCK).full()).await.expect("healed by the write");
    });
    run.expect("the task ends");
}

#[test]
fn a_dead_device_answers_gone_and_a_slow_one_late() {
    let (world, disk) = one_disk(1);
    let rt = world.reactor(ReactorId(0), &[disk]);
    world.slow_down(disk, 1000);
    let start = rt.now();
    rt.run(write(&rt, 0, 1, 1)).expect("the task ends");
    assert!(rt.now() > start + Nanos::millis(10));
    let run = rt.run(async {
        let in_flight = rt.write(DEV, 0, rt.alloc(BLOCK).full());
        world.kill(disk);
        assert_eq!(in_flight.await.expect_err("it died").kind, IoErrorKind::Gone);
        assert_eq!(rt.flush(DEV).await.expect_err("it is dead").kind, IoErrorKind::Gone);
    });
    run.expect("the task ends");
}

#[test]
fn faults_that_happen_by_themselves() {
    let world = World::new(3);
    let faults = FaultRates {
        unreadable_per_million: 20_000,
        flipped_per_million: 20_000,
        dies_after: Some(1500),
        ..FaultRates::default()
    };
    let disk = world.add_disk(DiskConfig { faults, ..DiskConfig::new("d", ByteSize::mib(8).bytes()) });
    let rt = world.reactor(ReactorId(0), &[disk]);
    let run = rt.run(async {
        let mut unreadable = 0;
        for n in 0..500 {
            write(&rt, n, 1, 5).await;
            let read = rt.read(DEV, at(n), rt.alloc(BLOCK).full()).await;
            unreadable += u32::from(read.is_err_and(|e| e.kind == IoErrorKind::Medium));
        }
        let flipped = tags(&world, disk, 500).iter().filter(|&&tag| tag == 0xee).count();
        assert!(unreadable > 0 && unreadable < 50 && flipped > 0 && flipped < 50, "{unreadable} {flipped}");
        let mut operations = 1000;
        while rt.flush(DEV).await.is_ok() {
            operations += 1;
        }
        assert_eq!(operations, 1500);
    });
    run.expect("the task ends");
}

#[test]
fn a_lying_flush_loses_data() {
    let mut lost = 0;
    for seed in 0..100 {
        let (world, disk) = one_disk(seed);
        world.ignore_flushes(disk, true);
        let rt = world.reactor(ReactorId(0), &[disk]);
        let run = rt.run(async {
            write(&rt, 0, 1, 1).await;
            rt.flush(DEV).await.expect("so it says");
        });
        run.expect("the task ends");
        world.cut_power();
        lost += u32::from(tags(&world, disk, 1) == [0]);
    }
    assert!(lost > 20, "lost {lost} of 100");
}

/// A little of everything on two reactors; returns a trace of what happened when.
fn trace(seed: u64) -> Vec<(u64, u8)> {
    let world = World::new(seed);
    let disks: Vec<DiskId> =
        (0..3).map(|n| world.add_disk(DiskConfig::new(format!("d{n}"), ByteSize::mib(4).bytes()))).collect();
    let cluster = Cluster::new(&world, 2, &disks);
    for n in 0..2 {
        let rt = cluster.reactor(n).clone();
        cluster.reactor(n).spawn(async move {
            loop {
                let buf = rt.alloc(BLOCK);
                let dev = DeviceIx((rt.rng_u64() % 3) as u16);
                let offset = at(rt.rng_u64() % 100);
                let _ = rt.write(dev, offset, buf.full()).await;
                rt.send_msg(ReactorId(0), Box::new(n as u8));
            }
        });
    }
    let rt = cluster.reactor(0).clone();
    let run = cluster.run(async move {
        let mut trace = Vec::new();
        for _ in 0..500 {
            let who = *rt.recv_msg().await.downcast::<u8>().expect("only numbers are sent");
            trace.push((rt.now().0, who));
        }
        trace
    });
    run.expect("the task ends")
}

#[test]
fn the_same_seed_is_the_same_world() {
    assert_eq!(trace(1), trace(1));
    assert_ne!(trace(1), trace(2));
}

/// Four blocks of 1, then one write of 2 over them by a device with these faults; what is there then, and how it ended.
fn overwritten(seed: u64, faults: FaultRates) -> (World, DiskId, Vec<u8>, bool) {
    let (world, disk) = one_disk(seed);
    let rt = world.reactor(ReactorId(0), &[disk]);
    let run = rt.run(async {
        write(&rt, 0, 40, 1).await;
        world.set_faults(disk, faults);
        let mut buf = rt.alloc(4 * BLOCK);
        buf.bytes_mut().fill(2);
        rt.write(DEV, at(18), buf.full()).await.is_ok()
    });
    let seen = tags(&world, disk, 40);
    (world, disk, seen, run.expect("the task ends"))
}

fn sound(world: &World, disk: DiskId, blocks: u64) -> Vec<bool> {
    (0..blocks).map(|block| world.is_sound(disk, at(block))).collect()
}

#[test]
fn a_lost_write_is_acknowledged_and_stores_nothing() {
    let (world, disk, seen, ok) = overwritten(1, FaultRates { lost_per_million: 1_000_000, ..FaultRates::default() });
    assert!(ok && seen.iter().all(|&tag| tag == 1));
    let expected: Vec<bool> = (0..40).map(|block| !(18..22).contains(&block)).collect();
    assert_eq!(sound(&world, disk, 40), expected);
    world.set_faults(disk, FaultRates::default());
    let rt = world.reactor(ReactorId(0), &[disk]);
    rt.run(write(&rt, 18, 4, 3)).expect("the task ends");
    assert!(sound(&world, disk, 40).iter().all(|&sound| sound), "written again, it is as it should be");
}

#[test]
fn a_torn_write_stores_some_blocks() {
    let mut parts = BTreeSet::new();
    for seed in 0..200 {
        let faults = FaultRates { torn_per_million: 1_000_000, ..FaultRates::default() };
        let (world, disk, seen, ok) = overwritten(seed, faults);
        assert!(ok && seen[..18].iter().chain(&seen[22..]).all(|&tag| tag == 1));
        for block in 18..22 {
            assert_eq!(world.is_sound(disk, at(block)), seen[block as usize] == 2);
        }
        parts.insert(seen[18..22].to_vec());
    }
    assert_eq!(parts.len(), 16, "every subset");
}

#[test]
fn a_misdirected_write_spoils_two_places() {
    for seed in 0..200 {
        let faults = FaultRates { misdirected_per_million: 1_000_000, ..FaultRates::default() };
        let (world, disk, seen, ok) = overwritten(seed, faults);
        assert!(ok);
        for (block, sound) in (0..).zip(sound(&world, disk, 40)) {
            let should_be = if (18..22).contains(&block) { 2 } else { 1 };
            assert!(!sound || seen[block as usize] == should_be, "block {block} of seed {seed}");
            assert!(!sound || !(18..22).contains(&block));
        }
    }
}

#[test]
fn writes_fail_once_or_for_good_or_for_lack_of_space() {
    let (_, _, seen, ok) = overwritten(1, FaultRates { failed_per_million: 1_000_000, ..FaultRates::default() });
    assert!(!ok && seen[18..22].iter().all(|tag| [1, 2].contains(tag)));
    let (world, disk) = one_disk(1);
    let rt = world.reactor(ReactorId(0), &[disk]);
    let run = rt.run(async {
        let one = |block: u64| rt.write(DEV, at(block), rt.alloc(BLOCK).full());
        write(&rt, 0, 1, 1).await;
        world.fail_writes(disk, Some(IoErrorKind::Medium));
        assert_eq!(one(0).await.expect_err("it fails").kind, IoErrorKind::Medium);
        rt.read(DEV, 0, rt.alloc(BLOCK).full()).await.expect("reads work");
        world.fail_writes(disk, None);
        world.fill_up(disk, true);
        assert_eq!(one(1).await.expect_err("no space").kind, IoErrorKind::NoSpace);
        one(0).await.expect("it has its space");
        world.fill_up(disk, false);
        one(1).await.expect("space again");
    });
    run.expect("the task ends");
}

#[test]
fn a_hung_device_goes_on_when_released() {
    let (world, disk) = one_disk(1);
    let rt = world.reactor(ReactorId(0), &[disk]);
    let met = Rc::new(RefCell::new(BTreeSet::new()));
    world.watch_faults({
        let met = met.clone();
        move |fault| {
            met.borrow_mut().insert(fault);
        }
    });
    let run = rt.run(async {
        world.hang(disk, Some(Nanos::secs(3)));
        write(&rt, 0, 1, 1).await;
        assert!(rt.now() >= Nanos::secs(3));
        world.hang(disk, None);
        let begun = rt.now();
        let waiting = rt.write(DEV, 0, rt.alloc(BLOCK).full());
        rt.sleep(Nanos::secs(100)).await;
        world.release(disk);
        waiting.await.expect("it completes");
        assert!(rt.now().since(begun) >= Nanos::secs(100));
        world.hang(disk, None);
        rt.flush(DEV).await
    });
    assert_eq!(run, Err(Halt::Stalled), "never released: said, not waited for");
    assert_eq!(*met.borrow(), BTreeSet::from([FaultKind::Hang]));
}

#[test]
fn a_device_comes_back_with_what_it_held() {
    let (world, disk) = one_disk(1);
    let rt = world.reactor(ReactorId(0), &[disk]);
    rt.run(write(&rt, 0, 3, 1)).expect("the task ends");
    let saved = world.save(disk);
    rt.run(write(&rt, 1, 3, 2)).expect("the task ends");
    world.put_back(disk, &saved);
    assert_eq!(tags(&world, disk, 4), [1, 1, 1, 0]);
    assert_eq!(sound(&world, disk, 4), [true, false, false, false]);
}
