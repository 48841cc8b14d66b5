//! The suite every driver passes, over each kind of device.

mod support;

use cygnus_runtime::conformance::{self, Fixture, MIN_DEVICE};
use cygnus_types::{Nanos, ReactorId};
use cygnus_uring::{Access, Config, Device, single_reactor, spawn_reactors};
use support::{LoopDevice, TempPath};

fn run(devices: &[Device], config: Config) {
    conformance::run_all(|| {
        let reactor = single_reactor(&Config { devices: devices.to_vec(), ..config.clone() }).unwrap();
        Fixture { rt: reactor.rt, devices: reactor.devices }
    });
}

#[test]
fn file() {
    let paths = [TempPath::file("a", MIN_DEVICE), TempPath::file("b", MIN_DEVICE)];
    let devices = paths.each_ref().map(|path| Device::open(path, Access::Exclusive).unwrap());
    for device in &devices {
        println!("{}: {}", device.name(), device.fallback().unwrap_or("O_DIRECT"));
    }
    run(&devices, Config::default());
}

/// Buffers from the heap, a queue that always overflows into the backlog, and no spinning: the other branches.
#[test]
fn file_without_arena_spin_or_room() {
    let path = TempPath::file("small", MIN_DEVICE);
    let device = Device::open(&path, Access::Exclusive).unwrap();
    run(&[device], Config { arena_bytes: 0, queue_entries: 4, spin: Nanos::ZERO, ..Config::default() });
}

/// tmpfs, where there may be no direct I/O.
#[test]
fn file_in_memory() {
    let Ok(path) = std::fs::canonicalize("/dev/shm") else { return println!("SKIPPED: no /dev/shm") };
    let path = TempPath::under(&path, "memory");
    cygnus_uring::create_file(&path, MIN_DEVICE).unwrap();
    run(&[Device::open(&path, Access::Exclusive).unwrap()], Config::default());
}

#[test]
fn loop_device() {
    for logical_block in [512, 4096] {
        let Some(device) = LoopDevice::new(2 * MIN_DEVICE, logical_block) else { return };
        let device = Device::open(&device.path, Access::Exclusive).unwrap();
        assert_eq!((device.size(), device.logical_block()), (2 * MIN_DEVICE, logical_block));
        run(&[device], Config::default());
    }
}

#[test]
fn memory() {
    let devices = [true, false].map(|prefault| Device::memory("memory", MIN_DEVICE, prefault).unwrap());
    run(&devices, Config::default());
}

#[test]
fn messages_between_reactors() {
    for spin in [Nanos::ZERO, Nanos::micros(50)] {
        let config = Config { reactors: 2, spin, ..Config::default() };
        let reactors = spawn_reactors(&config, async |reactor| match reactor.rt.id() {
            ReactorId(0) => conformance::ping(reactor.rt, ReactorId(1)).await,
            _ => conformance::pong(reactor.rt, ReactorId(0)).await,
        });
        reactors.unwrap().join();
    }
}
