//! One array on several reactors: they share the map and nothing else.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use cygnus_engine::{Array, ArrayPeer, CreateOptions, OpenOptions, Volume, create};
use cygnus_policy::Preset;
use cygnus_runtime::Runtime;
use cygnus_sim::{Cluster, DiskConfig, DiskId, World};
use cygnus_types::{ByteSize, Nanos};

use crate::sessions::{self, MIB, session};

pub const REACTORS: u16 = 3;

/// As every test opens arrays, for this many reactors.
fn options(reactors: usize) -> OpenOptions {
    // The groups are small: with some segments for each, reactors help each other clean all the same.
    OpenOptions { reactors, segments_per_helper: 8, ..sessions::options() }
}

fn block(tag: u64) -> Vec<u8> {
    tag.to_le_bytes().repeat(512)
}

pub async fn put(rt: &Runtime, volume: &Volume, at: u64, tag: u64) {
    let mut buf = rt.alloc(4096);
    buf.bytes_mut().copy_from_slice(&block(tag));
    volume.write(at * 4096, buf.full()).await.unwrap();
}

pub async fn get(rt: &Runtime, volume: &Volume, at: u64) -> u64 {
    let buf = volume.read(at * 4096, rt.alloc(4096).full()).await.unwrap();
    let tag = u64::from_le_bytes(buf.bytes()[..8].try_into().unwrap());
    assert!(buf.bytes() == block(tag), "a block of one piece");
    tag
}

/// An array of six members with volume "v" on fresh disks.
fn make(world: &World, shape: CreateOptions) -> Vec<DiskId> {
    let disks: Vec<DiskId> = (0..6).map(|i| world.add_disk(DiskConfig::new(format!("d{i}"), 24 * MIB))).collect();
    let shape = CreateOptions { segment: Some(ByteSize(512 << 10)), ..shape };
    session(world, &disks, |rt, devices| async move {
        create(&rt, &devices, &shape).await.unwrap();
        let array = Array::open(&rt, &devices, &options(1)).await.unwrap();
        array.create_volume("v", ByteSize(16 * MIB), 0).await.unwrap();
        array.close().await.unwrap();
    });
    disks
}

/// An array with volume "v", open on several reactors.
pub struct Opened {
    pub world: World,
    pub disks: Vec<DiskId>,
    pub cluster: Cluster,
    pub array: Array,
    peers: Vec<ArrayPeer>,
}

impl Opened {
    /// On fresh disks of a world with this seed.
    pub fn new(seed: u64) -> Self {
        Self::of(seed, CreateOptions::new("tank", Preset::Swan, 2, 2, 1))
    }

    /// The same, of another shape.
    pub fn of(seed: u64, shape: CreateOptions) -> Self {
        let world = World::new(seed);
        let disks = make(&world, shape);
        Self::open(world, disks)
    }

    fn open(world: World, disks: Vec<DiskId>) -> Self {
        let cluster = Cluster::new(&world, REACTORS, &disks);
        let (rt, devices) = (cluster.reactor(0).clone(), world.infos(&disks));
        let opened = async move { Array::open(&rt, &devices, &options(REACTORS.into())).await.unwrap() };
        let array = cluster.run(opened).unwrap();
        let peers = attach(&cluster, &array);
        Self { world, disks, cluster, array, peers }
    }

    /// Loses power in this moment, and is opened again.
    pub fn after_a_power_cut(self) -> Self {
        self.world.cut_power();
        let (world, disks) = (self.world.clone(), self.disks.clone());
        drop(self);
        world.restore_power();
        Self::open(world, disks)
    }

    /// The process is killed in this moment, and the array opened again.
    pub fn after_a_kill(self) -> Self {
        let (world, disks) = (self.world.clone(), self.disks.clone());
        drop(self);
        Self::open(world, disks)
    }

    /// The volume as a reactor has it.
    pub fn volume(&self, reactor: usize) -> Volume {
        let volume = if reactor == 0 { self.array.volume("v") } else { self.peers[reactor - 1].volume("v") };
        volume.unwrap()
    }

    /// The volume and the runtime of the first reactor.
    pub fn first(&self) -> (Volume, Runtime) {
        (self.volume(0), self.cluster.reactor(0).clone())
    }

    /// Runs `body(reactor, runtime, volume)` on every reactor and waits for all.
    pub fn on_all<F: Future<Output = ()> + 'static>(&self, body: impl Fn(u64, Runtime, Volume) -> F) {
        let left = Rc::new(Cell::new(REACTORS));
        for n in 0..usize::from(REACTORS) {
            let rt = self.cluster.reactor(n).clone();
            let (left, work) = (left.clone(), body(n as u64, rt.clone(), self.volume(n)));
            rt.spawn(async move {
                work.await;
                left.set(left.get() - 1);
            });
        }
        let rt = self.cluster.reactor(0).clone();
        let wait = async move {
            while left.get() > 0 {
                rt.sleep(Nanos::micros(50)).await;
            }
        };
        self.cluster.run(wait).unwrap();
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        (0..usize::from(REACTORS)).for_each(|n| self.cluster.reactor(n).drop_tasks());
    }
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

#[test]
fn every_reactor_reads_what_any_has_written_and_a_flush_covers_all() {
    for seed in 0..20 {
        let opened = Opened::new(seed);
        opened.on_all(|n, rt, volume| async move {
            for i in 0..400 {
                put(&rt, &volume, i * u64::from(REACTORS) + n, 1000 + i).await;
            }
        });
        // Some of these blocks are only in another reactor's memory.
        opened.on_all(|n, rt, volume| async move {
            for i in 0..400 {
                let other = (n + 1) % u64::from(REACTORS);
                assert_eq!(get(&rt, &volume, i * u64::from(REACTORS) + other).await, 1000 + i);
            }
            if n == 1 {
                volume.flush().await.unwrap();
            }
        });
        let opened = opened.after_a_power_cut();
        opened.on_all(|n, rt, volume| async move {
            for i in 0..400 {
                assert_eq!(get(&rt, &volume, i * u64::from(REACTORS) + n).await, 1000 + i, "seed {seed}");
            }
        });
        let close = opened.array.clone();
        opened.cluster.run(async move { close.close().await.unwrap() }).unwrap();
    }
}

#[test]
fn what_was_read_last_survives_though_all_reactors_overwrite_the_same_blocks() {
    for seed in 0..20 {
        let opened = Opened::new(seed);
        // Enough for the front-end to rotate and for cleaning to run beside the writers.
        opened.on_all(|n, rt, volume| async move {
            for i in 0..4000u64 {
                let at = rt.rng_u64() % 900;
                put(&rt, &volume, at, (n + 1) * 1_000_000 + i).await;
                if i % 500 == 499 {
                    volume.flush().await.unwrap();
                }
            }
        });
        let seen = Rc::new(RefCell::new(Vec::new()));
        let (found, (volume, rt)) = (seen.clone(), opened.first());
        opened
            .cluster
            .run(async move {
                volume.flush().await.unwrap();
                for at in 0..900 {
                    let tag = get(&rt, &volume, at).await;
                    found.borrow_mut().push(tag);
                }
            })
            .unwrap();
        let opened = opened.after_a_power_cut();
        let (volume, rt) = opened.first();
        opened
            .cluster
            .run(async move {
                let seen = seen.borrow().clone();
                for (at, &tag) in seen.iter().enumerate() {
                    assert_eq!(get(&rt, &volume, at as u64).await, tag, "seed {seed} block {at}");
                }
            })
            .unwrap();
    }
}

#[test]
fn other_reactors_empty_victims_too_and_nothing_of_what_they_moved_is_lost() {
    for seed in 0..6 {
        let opened = Opened::new(seed);
        let home = opened.array.clone();
        let blocks = home.status().usable.0 * 9 / 10 / 4096;
        let resize = async move { home.resize_volume("v", ByteSize(blocks * 4096)).await.unwrap() };
        opened.cluster.run(resize).unwrap();
        // Each reactor has blocks of its own, so it knows what each of them must read as.
        let newest = Rc::new(RefCell::new(vec![0; blocks as usize]));
        let noted = newest.clone();
        opened.on_all(move |n, rt, volume| {
            let newest = noted.clone();
            async move {
                for i in 0..blocks * 4 / u64::from(REACTORS) {
                    let at = rt.rng_u64() % (blocks / u64::from(REACTORS)) * u64::from(REACTORS) + n;
                    put(&rt, &volume, at, i + 1).await;
                    newest.borrow_mut()[at as usize] = i + 1;
                }
                volume.flush().await.unwrap();
            }
        });
        let traffic = opened.array.traffic();
        assert!(traffic.victims_helped > 20 && traffic.victims > traffic.victims_helped, "{traffic:?}");
        // What they moved and no flush has covered lies in the victims still.
        let mut opened = opened;
        for restart in [Opened::after_a_power_cut as fn(Opened) -> Opened, Opened::after_a_kill] {
            opened = restart(opened);
            let newest = newest.clone();
            opened.on_all(move |n, rt, volume| {
                let newest = newest.clone();
                async move {
                    for at in (n..blocks).step_by(REACTORS.into()) {
                        let wanted = newest.borrow()[at as usize];
                        let found = volume.read(at * 4096, rt.alloc(4096).full()).await.unwrap();
                        let found = u64::from_le_bytes(found.bytes()[..8].try_into().unwrap());
                        assert_eq!(found, wanted, "seed {seed} block {at}");
                    }
                }
            });
        }
    }
}

/// A block that is not zeros and has their CRC32C. A checksum is linear in the bits of its data, so 32 of them, flipped as
/// they must be, make up for all others.
fn forged() -> Vec<u8> {
    let crc = cygnus_parity::checksum::crc32c;
    let mut block = block(0xF0E1_D2C3_B4A5_9687);
    let wanted = crc(&[0; 4096]);
    let flip = |block: &mut [u8], bit: usize| block[bit / 8] ^= 1 << (bit % 8);
    let base = crc(&block);
    // Rows of a matrix in echelon form: what flipping these bits does to the checksum, and which bits they are.
    let mut rows: Vec<(u32, u32)> = Vec::new();
    let reduce = |rows: &[(u32, u32)], mut effect: u32, mut bits: u32| {
        for &(other, others) in rows {
            if effect ^ other < effect {
                (effect, bits) = (effect ^ other, bits ^ others);
            }
        }
        (effect, bits)
    };
    for bit in 0..32 {
        flip(&mut block, bit);
        let effect = crc(&block) ^ base;
        flip(&mut block, bit);
        let row = reduce(&rows, effect, 1 << bit);
        assert_ne!(row.0, 0, "any 32 bits in a row tell all checksums apart");
        rows.push(row);
        rows.sort_unstable_by(|a, b| b.cmp(a));
    }
    let (left, bits) = reduce(&rows, wanted ^ base, 0);
    assert_eq!(left, 0);
    (0..32).filter(|bit| bits >> bit & 1 == 1).for_each(|bit| flip(&mut block, bit));
    assert_eq!(crc(&block), wanted);
    block
}

#[test]
fn what_was_acknowledged_is_read_by_every_reactor_though_its_checksum_is_that_of_what_lies_below() {
    let forged = forged();
    for seed in 0..5 {
        let opened = Opened::new(seed);
        let written = Rc::new(Cell::new(0));
        let asked = opened.array.traffic().asked;
        opened.on_all(|n, rt, volume| {
            let (written, forged) = (written.clone(), forged.clone());
            async move {
                let of = |rt: &Runtime| {
                    let mut buf = rt.alloc(4096);
                    buf.bytes_mut().copy_from_slice(&forged);
                    buf.full()
                };
                if n == 0 {
                    // Stripes that end full, and stripes that a flush ends; the readers look at each block all the time.
                    for i in 0..600 {
                        volume.write(i * 4096, of(&rt)).await.unwrap();
                        written.set(i + 1);
                        if i % 64 == 63 {
                            volume.flush().await.unwrap();
                        }
                        rt.sleep(Nanos::micros(rt.rng_u64() % 20)).await;
                    }
                    return;
                }
                while written.get() < 600 {
                    let Some(newest) = written.get().checked_sub(1) else {
                        rt.sleep(Nanos::micros(5)).await;
                        continue;
                    };
                    // One of the last few, alone or with those before it.
                    let last = newest - rt.rng_u64() % 8.min(newest + 1);
                    let blocks = 1 + rt.rng_u64() % 8.min(last + 1);
                    let first = last + 1 - blocks;
                    let data = volume.read(first * 4096, rt.alloc(blocks as usize * 4096).full()).await.unwrap();
                    for (i, found) in data.bytes().chunks_exact(4096).enumerate() {
                        assert!(found == forged, "seed {seed}: block {} of {newest} reads otherwise", first + i as u64);
                    }
                }
            }
        });
        assert!(opened.array.traffic().asked > asked, "some were only in the writer's memory");
        // What is on the devices is read there.
        let (volume, asked) = (opened.volume(0), opened.array.traffic().asked);
        opened.cluster.run(async move { volume.flush().await.unwrap() }).unwrap();
        opened.on_all(|_, rt, volume| async move {
            let data = volume.read(0, rt.alloc(600 * 4096).full()).await.unwrap();
            assert_eq!(data.len(), 600 * 4096);
        });
        assert_eq!(opened.array.traffic().asked, asked);
    }
}
