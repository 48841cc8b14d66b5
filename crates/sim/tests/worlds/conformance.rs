//! The virtual-time driver against the suite that every driver passes.

use std::cell::Cell;
use std::rc::Rc;

use cygnus_runtime::conformance::{self, Fixture};
use cygnus_runtime::{Halt, Runtime};
use cygnus_sim::{Cluster, DiskConfig, DiskId, World};
use cygnus_types::{ByteSize, Nanos, ReactorId};

fn world(seed: u64) -> (World, Vec<DiskId>) {
    let world = World::new(seed);
    let disk = |n| world.add_disk(DiskConfig::new(format!("sim{n}"), ByteSize::mib(8).bytes()));
    let disks = (0..2).map(disk).collect();
    (world, disks)
}

#[test]
fn one_reactor() {
    for seed in 0..20 {
        conformance::run_all(|| {
            let (world, disks) = world(seed);
            Fixture { rt: world.reactor(ReactorId(0), &disks), devices: world.infos(&disks) }
        });
    }
}

#[test]
fn messages_between_two_reactors() {
    for seed in 0..20 {
        let (world, disks) = world(seed);
        let cluster = Cluster::new(&world, 2, &disks);
        let answered = Rc::new(Cell::new(false));
        let done = answered.clone();
        let other = cluster.reactor(1).clone();
        other.clone().spawn(async move {
            conformance::pong(other, ReactorId(0)).await;
            done.set(true);
        });
        cluster.run(conformance::ping(cluster.reactor(0).clone(), ReactorId(1))).expect("both get to the end");
        assert!(answered.get());
        assert!(cluster.now() > Nanos::ZERO);
    }
}

#[test]
fn a_wait_for_nothing_is_an_error_and_no_silence() {
    let (world, disks) = world(1);
    let rt: Runtime = world.reactor(ReactorId(0), &disks);
    assert!(matches!(rt.run(rt.recv_msg()), Err(Halt::Stalled)));
    let cluster = Cluster::new(&world, 2, &disks);
    let rt = cluster.reactor(0).clone();
    assert_eq!(cluster.run(async move { drop(rt.recv_msg().await) }), Err(Halt::Stalled));
}

#[test]
fn spinning_for_nothing_is_an_error_too() {
    let (world, disks) = world(1);
    let rt = world.reactor(ReactorId(0), &disks);
    let spin = |rt: Runtime| async move {
        loop {
            rt.yield_now().await;
        }
    };
    assert_eq!(rt.run(spin(rt.clone())), Err::<(), _>(Halt::Stalled));
    let cluster = Cluster::new(&world, 2, &disks);
    assert_eq!(cluster.run(spin(cluster.reactor(0).clone())), Err::<(), _>(Halt::Stalled));
}
