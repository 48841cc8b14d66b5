//! One array on several reactors: they share the map and nothing else.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use cygnus_engine::{Array, ArrayPeer, CreateOptions, OpenOptions, Volume, create};
use cygnus_policy::Preset;
use cygnus_runtime::Runtime;
use cygnus_sim::{Cluster, DiskConfig, DiskId, World};
use cygnus_types::ByteSize;

use crate::sessions::{self, MIB, session};

const REACTORS: u16 = 3;

/// As every test opens arrays, for this many reactors.
fn options(reactors: usize) -> OpenOptions {
    OpenOptions { reactors, ..sessions::options() }
}

fn block(tag: u64) -> Vec<u8> {
    tag.to_le_bytes().repeat(512)
}

async fn put(rt: &Runtime, volume: &Volume, at: u64, tag: u64) {
    let mut buf = rt.alloc(4096);
    buf.bytes_mut().copy_from_slice(&block(tag));
    volume.write(at * 4096, buf.full()).await.unwrap();
}

async fn get(rt: &Runtime, volume: &Volume, at: u64) -> u64 {
    let buf = volume.read(at * 4096, rt.alloc(4096).full()).await.unwrap();
    let tag = u64::from_le_bytes(buf.bytes()[..8].try_into().unwrap());
    assert!(buf.bytes() == block(tag), "a block of one piece");
    tag
}

/// An array with volume "v" on fresh disks.
fn make(world: &World) -> Vec<DiskId> {
    let disks: Vec<DiskId> = (0..6).map(|i| world.add_disk(DiskConfig::new(format!("d{i}"), 24 * MIB))).collect();
    let shape = CreateOptions::new("tank", Preset::Swan, 2, 2, 1);
    let shape = CreateOptions { segment: Some(ByteSize(512 << 10)), ..shape };
    session(world, &disks, |rt, devices| async move {
        create(&rt, &devices, &shape).await.unwrap();
        let array = Array::open(&rt, &devices, &options(1)).await.unwrap();
        array.create_volume("v", ByteSize(16 * MIB), 0).await.unwrap();
        array.close().await.unwrap();
    });
    disks
}

/// Attaches the cluster's other reactors and keeps all mailboxes read.
fn attach(cluster: &Cluster, array: &Array) -> Vec<ArrayPeer> {
    let home = array.clone();
    let rt = cluster.reactor(0).clone();
    rt.clone().spawn(async move {
        loop {
            assert!(home.handle_message(rt.recv_msg().await).is_none());
        }
    });
    (1..usize::from(REACTORS))
        .map(|n| {
            let rt = cluster.reactor(n).clone();
            let peer = array.handle(REACTORS.into()).attach(&rt);
            let mailbox = peer.clone();
            rt.clone().spawn(async move {
                loop {
                    assert!(mailbox.handle_message(rt.recv_msg().await).is_none());
                }
            });
            peer
        })
        .collect()
}

/// Runs `body(reactor, runtime, volume)` on every reactor and waits for all.
fn on_all<F: Future<Output = ()> + 'static>(
    cluster: &Cluster,
    array: &Array,
    peers: &[ArrayPeer],
    body: impl Fn(u64, Runtime, Volume) -> F,
) {
    let left = Rc::new(Cell::new(REACTORS));
    for n in 0..usize::from(REACTORS) {
        let volume = if n == 0 { array.volume("v") } else { peers[n - 1].volume("v") };
        let rt = cluster.reactor(n).clone();
        let (left, work) = (left.clone(), body(n as u64, rt.clone(), volume.unwrap()));
        rt.spawn(async move {
            work.await;
            left.set(left.get() - 1);
        });
    }
    let rt = cluster.reactor(0).clone();
    let wait = async move {
        while left.get() > 0 {
            rt.sleep(cygnus_types::Nanos::micros(50)).await;
        }
    };
    cluster.run(wait).unwrap();
}

fn open(cluster: &Cluster, world: &World, disks: &[DiskId]) -> Array {
    let (rt, devices) = (cluster.reactor(0).clone(), world.infos(disks));
    cluster.run(async move { Array::open(&rt, &devices, &options(REACTORS.into())).await.unwrap() }).unwrap()
}

fn stop(cluster: &Cluster) {
    (0..usize::from(REACTORS)).for_each(|n| cluster.reactor(n).drop_tasks());
}

#[test]
fn every_reactor_reads_what_any_has_written_and_a_flush_covers_all() {
    for seed in 0..20 {
        let world = World::new(seed);
        let disks = make(&world);
        let cluster = Cluster::new(&world, REACTORS, &disks);
        let array = open(&cluster, &world, &disks);
        let peers = attach(&cluster, &array);
        on_all(&cluster, &array, &peers, |n, rt, volume| async move {
            for i in 0..400 {
                put(&rt, &volume, i * u64::from(REACTORS) + n, 1000 + i).await;
            }
        });
        // Some of these blocks are only in another reactor's memory.
        on_all(&cluster, &array, &peers, |n, rt, volume| async move {
            for i in 0..400 {
                let other = (n + 1) % u64::from(REACTORS);
                assert_eq!(get(&rt, &volume, i * u64::from(REACTORS) + other).await, 1000 + i);
            }
            if n == 1 {
                volume.flush().await.unwrap();
            }
        });
        world.cut_power();
        stop(&cluster);
        drop((cluster, array, peers));
        world.restore_power();
        let cluster = Cluster::new(&world, REACTORS, &disks);
        let array = open(&cluster, &world, &disks);
        let peers = attach(&cluster, &array);
        on_all(&cluster, &array, &peers, |n, rt, volume| async move {
            for i in 0..400 {
                assert_eq!(get(&rt, &volume, i * u64::from(REACTORS) + n).await, 1000 + i, "seed {seed}");
            }
        });
        let close = array.clone();
        cluster.run(async move { close.close().await.unwrap() }).unwrap();
        stop(&cluster);
    }
}

#[test]
fn what_was_read_last_survives_though_all_reactors_overwrite_the_same_blocks() {
    for seed in 0..20 {
        let world = World::new(seed);
        let disks = make(&world);
        let cluster = Cluster::new(&world, REACTORS, &disks);
        let array = open(&cluster, &world, &disks);
        let peers = attach(&cluster, &array);
        // Enough for the front-end to rotate and for cleaning to run beside the writers.
        on_all(&cluster, &array, &peers, |n, rt, volume| async move {
            for i in 0..4000u64 {
                let at = rt.rng_u64() % 900;
                put(&rt, &volume, at, (n + 1) * 1_000_000 + i).await;
                if i % 500 == 499 {
                    volume.flush().await.unwrap();
                }
            }
        });
        let seen = Rc::new(RefCell::new(Vec::new()));
        let (found, volume, rt) = (seen.clone(), array.volume("v").unwrap(), cluster.reactor(0).clone());
        cluster
            .run(async move {
                volume.flush().await.unwrap();
                for at in 0..900 {
                    let tag = get(&rt, &volume, at).await;
                    found.borrow_mut().push(tag);
                }
            })
            .unwrap();
        world.cut_power();
        stop(&cluster);
        drop((cluster, array, peers));
        world.restore_power();
        let cluster = Cluster::new(&world, REACTORS, &disks);
        let array = open(&cluster, &world, &disks);
        let (volume, rt) = (array.volume("v").unwrap(), cluster.reactor(0).clone());
        cluster
            .run(async move {
                let seen = seen.borrow().clone();
                for (at, &tag) in seen.iter().enumerate() {
                    assert_eq!(get(&rt, &volume, at as u64).await, tag, "seed {seed} block {at}");
                }
            })
            .unwrap();
        stop(&cluster);
    }
}
