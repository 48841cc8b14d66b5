//! Modelled modules behind a modelled network.

use cygnus_fabric::{Stalls, Topology};
use cygnus_runtime::conformance::{self, Fixture};
use cygnus_runtime::{DeviceIx, Halt, Runtime};
use cygnus_sim::{DiskConfig, DiskId, World};
use cygnus_ssd::{Model, Preset};
use cygnus_types::{BLOCK, ByteSize, Nanos, ReactorId};

const HERE: ReactorId = ReactorId(0);

fn module() -> Model {
    let config = Preset::Fimm.config().scaled_down(16.0).ssd().expect("it is flash").bare();
    Model::new(config.into()).expect("the preset is sound")
}

/// So many modules, from the first one of `4x2` on.
fn behind_network(seed: u64, modules: u32) -> (World, Vec<DiskId>) {
    let world = World::new(seed);
    let disk = |n: u32| world.add_modelled(DiskConfig::new(format!("m{n}"), ByteSize::mib(8).bytes()), module());
    let disks: Vec<_> = (0..modules).map(disk).collect();
    world.attach(Topology::from_shorthand("4x2").expect("it is one"), &disks);
    (world, disks)
}

async fn write(rt: &Runtime, dev: u16, block: u64, tag: u8) {
    let mut buf = rt.alloc(BLOCK);
    buf.bytes_mut().fill(tag);
    rt.write(DeviceIx(dev), block * BLOCK as u64, buf.full()).await.expect("the write succeeds");
}

async fn read(rt: &Runtime, dev: u16, block: u64) -> u8 {
    let buf = rt.alloc(BLOCK);
    rt.read(DeviceIx(dev), block * BLOCK as u64, buf.full()).await.expect("the read succeeds");
    buf.bytes()[7]
}

#[test]
fn modules_behind_a_network_conform() {
    for seed in 0..3 {
        conformance::run_all(|| {
            let (world, disks) = behind_network(seed, 5);
            Fixture { rt: world.reactor(HERE, &disks), devices: world.infos(&disks) }
        });
    }
}

#[test]
fn a_power_cut_while_commands_are_on_their_way() {
    for seed in 0..100 {
        let (world, disks) = behind_network(seed, 5);
        for round in 1..4 {
            let rt = world.reactor(HERE, &disks);
            world.cut_power_at(world.now() + Nanos::micros(3 + 7 * seed));
            let run = rt.run(async {
                for n in 1.. {
                    write(&rt, (n % 5) as u16, n % 1000, round).await;
                    rt.flush(DeviceIx(0)).await.expect("the flush succeeds");
                }
            });
            assert_eq!(run, Err(Halt::PowerCut));
            drop(rt);
            world.restore_power();
        }
        let rt = world.reactor(HERE, &disks);
        let seen = rt.run(async {
            write(&rt, 4, 9, 77).await;
            read(&rt, 4, 9).await
        });
        assert_eq!(seen, Ok(77), "it works again");
    }
}

/// How long `each` reads at once of each of these modules take, and what clusters 0 and 1 waited for.
fn reads_of(modules: &[u16], each: u64) -> (Nanos, [Stalls; 2]) {
    let (world, disks) = behind_network(1, 8);
    let rt = world.reactor(HERE, &disks);
    let (modules, count) = (modules.to_vec(), modules.len() as u64 * each);
    let began = rt.run(async {
        for dev in 0..8 {
            for n in 0..512 {
                write(&rt, dev, n, 1).await;
            }
            rt.flush(DeviceIx(dev)).await.expect("the flush succeeds");
        }
        let began = (rt.now(), world.clusters());
        // 37 is prime to everything: reads spread over dies.
        let places = (0..each).flat_map(|n| modules.iter().map(move |&dev| (dev, n * 37 % 512 * BLOCK as u64)));
        let reads: Vec<_> = places.map(|(dev, at)| rt.read(DeviceIx(dev), at, rt.alloc(BLOCK).full())).collect();
        for read in reads {
            read.await.expect("the read succeeds");
        }
        began
    });
    let (at, before) = began.expect("it ends");
    let after = world.clusters();
    assert_eq!((0..4).map(|n| after[n].requests - before[n].requests).sum::<u64>(), count);
    (world.now() - at, [0, 1].map(|n| after[n].stalls - before[n].stalls))
}

#[test]
fn modules_of_a_cluster_share_its_bus_and_clusters_do_not() {
    let four_modules = [0, 1, 2, 3];
    let (together, [waited, _]) = reads_of(&four_modules, 200);
    // 800 x 4 KiB at 800 MB/s: the bus is the bottleneck, and what requests wait for.
    assert!((Nanos::micros(4_000)..Nanos::micros(5_000)).contains(&together), "{together}");
    assert!(waited.link > waited.storage * 2, "{waited:?}");
    let (apart, _) = reads_of(&[0, 1, 4, 5], 200);
    assert!(apart < together * 6 / 10, "{apart} in two clusters, {together} in one");
}

#[test]
fn one_module_is_what_its_requests_wait_for() {
    let (_, [waited, idle]) = reads_of(&[0], 200);
    assert!(waited.storage > waited.link * 2, "{waited:?}");
    assert_eq!(idle, Stalls::default());
}
