//! Devices whose time a model tells, blank devices, and cores whose work takes time.

use std::cell::Cell;

use cygnus_runtime::conformance::{self, Fixture};
use cygnus_runtime::{DeviceIx, Halt, Runtime};
use cygnus_sim::{CpuModel, DiskConfig, DiskId, World};
use cygnus_ssd::{Command, Device, Model, Preset};
use cygnus_types::{BLOCK, ByteSize, Nanos, ReactorId};

const DEV: DeviceIx = DeviceIx(0);
const HERE: ReactorId = ReactorId(0);

fn ssd() -> Model {
    Model::new(Preset::Samsung850Pro.config().scaled_down(32.0)).expect("the preset is sound")
}

fn config(n: u32) -> DiskConfig {
    DiskConfig::new(format!("ssd{n}"), ByteSize::mib(8).bytes())
}

fn modelled(seed: u64) -> (World, Vec<DiskId>) {
    let world = World::new(seed);
    let disks = (0..2).map(|n| world.add_modelled(config(n), ssd())).collect();
    (world, disks)
}

fn cpu() -> CpuModel {
    let ns = Nanos;
    CpuModel { turn: ns(50), submit: ns(500), complete: ns(300), copy: ns(120), checksum: ns(130), parity: ns(50) }
}

async fn write(rt: &Runtime, block: u64, blocks: usize, tag: u8) {
    let mut buf = rt.alloc(blocks * BLOCK);
    buf.bytes_mut().fill(tag);
    rt.write(DEV, block * BLOCK as u64, buf.full()).await.expect("the write succeeds");
}

#[test]
fn modelled_devices_conform() {
    for seed in 0..5 {
        conformance::run_all(|| {
            let (world, disks) = modelled(seed);
            Fixture { rt: world.reactor(HERE, &disks), devices: world.infos(&disks) }
        });
    }
}

#[test]
fn modelled_cores_conform() {
    for seed in 0..5 {
        conformance::run_all(|| {
            let (world, disks) = modelled(seed);
            Fixture { rt: world.blank_reactor(HERE, &disks, Some(cpu())), devices: world.infos(&disks) }
        });
    }
}

#[test]
fn a_write_takes_what_the_model_says() {
    let (world, disks) = modelled(1);
    let rt = world.reactor(HERE, &disks);
    rt.run(write(&rt, 0, 1, 1)).expect("it ends");
    let mut alone = ssd();
    alone.submit(Nanos::ZERO, 0, Command::write(0, 1));
    let mut done = Vec::new();
    while done.is_empty() {
        let next = alone.next_event().expect("the write ends");
        alone.advance(next, &mut done);
    }
    assert_eq!(world.now(), done[0].at);
    let load = world.load(disks[0]);
    assert_eq!((load.depth, load.busy, load.in_flight), (0, done[0].at, done[0].at));
    assert_eq!(world.model_counters(disks[0]).expect("it has a model").host_writes, 1);
}

/// The fault model holds for modelled devices too: what was flushed stays, the rest may go, and the device works again.
#[test]
fn a_power_cut_during_modelled_operations() {
    let mut lost = 0;
    for seed in 0..300 {
        let (world, disks) = modelled(seed);
        let flushed = Cell::new(0);
        for round in 1..4 {
            let rt = world.reactor(HERE, &disks);
            world.cut_power_at(world.now() + Nanos::micros(100 + 40 * seed));
            let run = rt.run(async {
                write(&rt, 0, 1, round).await;
                rt.flush(DEV).await.expect("the flush succeeds");
                flushed.set(round);
                for n in 1.. {
                    write(&rt, n % 1000 + 1, 3, round).await;
                }
            });
            assert_eq!(run, Err(Halt::PowerCut));
            drop(rt);
            let mut seen = [0; 3 * BLOCK];
            world.peek(disks[0], 0, &mut seen);
            lost += u32::from(seen[2 * BLOCK] != round);
            assert!((flushed.get()..=round).contains(&seen[0]), "what was flushed stays");
            world.restore_power();
        }
        let rt = world.reactor(HERE, &disks);
        rt.run(write(&rt, 9, 1, 9)).expect("it works again");
        assert_eq!(world.load(disks[0]).depth, 0);
    }
    assert!(lost > 0, "no cut took anything");
}

#[test]
fn a_slow_device_is_slow() {
    let time = |factor| {
        let (world, disks) = modelled(1);
        world.slow_down(disks[0], factor);
        let rt = world.reactor(HERE, &disks);
        rt.run(write(&rt, 0, 1, 1)).expect("it ends");
        world.now()
    };
    assert_eq!(time(100).0, time(1).0 * 100);
}

#[test]
fn a_core_works_as_long_as_its_model_says() {
    let (world, disks) = modelled(1);
    let idle = {
        let rt = world.reactor(HERE, &disks);
        rt.run(write(&rt, 0, 8, 1)).expect("it ends");
        world.now()
    };
    let (world, disks) = modelled(1);
    let rt = world.blank_reactor(HERE, &disks, Some(cpu()));
    rt.run(write(&rt, 0, 8, 1)).expect("it ends");
    // The first turn: its own cost, the operation, eight blocks copied, checksummed and added up; then it waited. The
    // last one is over with the run.
    assert_eq!(world.cpu_busy(HERE), Nanos(50 + 500 + 8 * (120 + 130 + 50)));
    assert_eq!(
        world.now(),
        idle + Nanos(500 + 8 * (120 + 130 + 50)),
        "the operation left when the core had come to it"
    );
    world.charge(HERE, Nanos(1_000));
    let before = world.cpu_busy(HERE);
    rt.run(rt.yield_now()).expect("it ends");
    assert!(world.cpu_busy(HERE) - before >= Nanos(1_000));
}

#[test]
fn a_blank_device_returns_what_was_written() {
    let world = World::new(1);
    let disk = world.add_blank(config(0), ssd());
    let rt = world.blank_reactor(HERE, &[disk], None);
    rt.run(async {
        let mut stripe = rt.alloc(4 * BLOCK);
        stripe.part_mut(0..BLOCK).fill(7);
        rt.write(DEV, 0, stripe.full()).await.expect("the write succeeds");
        write(&rt, 2, 1, 3).await;
        let into = rt.alloc(4 * BLOCK);
        rt.read(DEV, 0, into.full()).await.expect("the read succeeds");
        let firsts: Vec<u8> = into.bytes().chunks(BLOCK).map(|block| block[0]).collect();
        assert_eq!(firsts, [7, 0, 3, 0]);
    })
    .expect("it ends");
    // Two blocks of equal words, packed.
    assert!((1..BLOCK as u64).contains(&world.memory().1), "{:?}", world.memory());
}

#[test]
fn a_large_blank_device_returns_what_was_written() {
    let world = World::new(1);
    let disk = world.add_blank(DiskConfig::new("large", 16 << 30), None);
    let rt = world.blank_reactor(HERE, &[disk], None);
    rt.run(async {
        let last = (16 << 30) / BLOCK as u64 - 1;
        write(&rt, last, 1, 3).await;
        write(&rt, 0, 1, 7).await;
        let into = rt.alloc(BLOCK);
        for (block, expected) in [(0, 7), (1, 0), (last - 1, 0), (last, 3)] {
            rt.read(DEV, block * BLOCK as u64, into.full()).await.expect("the read succeeds");
            assert_eq!(into.bytes(), [expected; BLOCK], "block {block}");
        }
    })
    .expect("it ends");
}
