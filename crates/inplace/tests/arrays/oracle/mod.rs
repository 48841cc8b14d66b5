//! Arrays in virtual time against an oracle that knows what was written, answered and flushed.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use cygnus_engine::Log;
use cygnus_inplace::{Array, CreateOptions, Level, Volume, VolumeError, check, create};
use cygnus_runtime::{Event, Halt, Rng, Runtime};
use cygnus_sim::{DiskConfig, DiskId, World};
use cygnus_types::{BLOCK, ByteSize, Nanos, ReactorId};

/// Blocks that the load writes to: regions of their own, and enough stripes to meet.
pub const BLOCKS: u64 = 192;
const DISK: u64 = 8 << 20;
const SECTORS: usize = BLOCK / 512;
/// How long a device may take, in these tests.
pub const PATIENCE: Nanos = Nanos::secs(75);

pub struct Quiet;

impl Log for Quiet {
    fn line(&self, _text: &str) {}
}

/// What is known of each sector of the volume: versions count up, and each is written once.
#[derive(Clone, Default)]
pub struct Oracle {
    pub issued: Vec<u64>,
    pub acknowledged: Vec<u64>,
    pub flushed: Vec<u64>,
}

impl Oracle {
    pub fn new() -> Self {
        let zeros = vec![0; BLOCKS as usize * SECTORS];
        Self { issued: zeros.clone(), acknowledged: zeros.clone(), flushed: zeros }
    }

    /// The first sector, if any, that has neither the flushed version nor one that was issued later.
    pub fn complaint(&self, found: &[u64]) -> Option<String> {
        found.iter().enumerate().find_map(|(sector, version)| {
            let (least, most) = (self.flushed[sector], self.issued[sector]);
            let wrong = !(least..=most).contains(version);
            wrong.then(|| format!("sector {sector} has version {version} of {least} to {most}"))
        })
    }

    /// After a crash each sector has any version from the flushed one to the last issued; that one it keeps.
    pub fn settle_on(&mut self, found: &[u64], what: &str) {
        assert_eq!(self.complaint(found), None, "{what}");
        self.issued.copy_from_slice(found);
        self.acknowledged.copy_from_slice(found);
        self.flushed.copy_from_slice(found);
    }
}

fn fill(bytes: &mut [u8], first_sector: usize, versions: impl Fn(usize) -> u64) {
    for (n, sector) in bytes.chunks_exact_mut(512).enumerate() {
        let stamp = versions(first_sector + n) << 20 | (first_sector + n) as u64;
        sector.chunks_exact_mut(8).for_each(|word| word.copy_from_slice(&stamp.to_le_bytes()));
    }
}

pub async fn versions(rt: &Runtime, volume: &Volume) -> Vec<u64> {
    let mut found = Vec::new();
    for at in (0..BLOCKS * BLOCK as u64).step_by(16 * BLOCK) {
        let into = rt.alloc(16 * BLOCK);
        let read = volume.read(at, into.full()).await.expect("everything can be read");
        for (n, sector) in read.bytes().chunks_exact(512).enumerate() {
            let words: Vec<u64> = sector.chunks_exact(8).map(|w| u64::from_le_bytes(w.try_into().unwrap())).collect();
            let number = at / 512 + n as u64;
            assert!(words.iter().all(|&word| word == words[0]), "sector {number} is torn");
            assert!(words[0] == 0 || words[0] & 0xfffff == number, "sector {number} holds another one");
            found.push(words[0] >> 20);
        }
    }
    found
}

/// Six clients, each in sectors of its own that share blocks and stripes with the others', and a seventh that flushes.
pub async fn load(rt: &Runtime, volume: &Volume, oracle: &Rc<RefCell<Oracle>>, seed: u64, rounds: u64) {
    const CLIENTS: usize = 6;
    let left = Rc::new(Cell::new(CLIENTS));
    let done = Rc::new(Event::new());
    for client in 0..CLIENTS {
        let (rt, volume, oracle) = (rt.clone(), volume.clone(), oracle.clone());
        let (left, done) = (left.clone(), done.clone());
        rt.clone().spawn(async move {
            let mut rng = Rng::new(seed * 31 + client as u64);
            let share = BLOCKS as usize * SECTORS / CLIENTS;
            let odd = share * client + client;
            for _ in 0..rounds {
                if rng.below(8) == 0 {
                    let before = oracle.borrow().acknowledged.clone();
                    if volume.flush().await.is_ok() {
                        let flushed = &mut oracle.borrow_mut().flushed;
                        flushed.iter_mut().zip(before).for_each(|(now, then)| *now = then.max(*now));
                    }
                    continue;
                }
                let first = odd + rng.below(share as u64 - 8) as usize;
                let most = (share * (client + 1)).min(BLOCKS as usize * SECTORS) - first;
                let longest = if rng.below(4) == 0 { 200 } else { 12 };
                let sectors = (1 + rng.below(longest) as usize).min(most);
                let mut buf = rt.alloc(sectors * 512);
                {
                    let mut oracle = oracle.borrow_mut();
                    oracle.issued[first..first + sectors].iter_mut().for_each(|version| *version += 1);
                    fill(buf.part_mut(0..sectors * 512), first, |sector| oracle.issued[sector]);
                }
                let data = buf.slice(0..sectors * 512);
                match volume.write(first as u64 * 512, data).await {
                    Ok(()) => {
                        let Oracle { issued, acknowledged, .. } = &mut *oracle.borrow_mut();
                        acknowledged[first..first + sectors].copy_from_slice(&issued[first..first + sectors]);
                    }
                    Err(VolumeError::ReadOnly) => break,
                    Err(error) => panic!("a write failed: {error}"),
                }
            }
            left.set(left.get() - 1);
            done.notify();
        });
    }
    while left.get() > 0 {
        let ended = done.wait();
        if left.get() > 0 {
            ended.await;
        }
    }
}

pub struct Bench {
    pub world: World,
    pub disks: Vec<DiskId>,
}

impl Bench {
    pub fn new(level: Level, seed: u64, members: usize) -> Self {
        let world = World::new(seed);
        let disks = (0..members + 1).map(|i| world.add_disk(DiskConfig::new(format!("d{i}"), DISK))).collect();
        let bench = Self { world, disks };
        bench
            .run(|rt| {
                let devices = bench.world.infos(&bench.disks);
                async move {
                    let options = CreateOptions {
                        name: "tank".into(),
                        level,
                        chunk: ByteSize::kib(16),
                        force: false,
                        blank: true,
                    };
                    create(&rt, &devices[..members], &options).await.expect("it can be made");
                    let array = Array::open(&rt, &devices[..members], None, Arc::new(Quiet)).await.unwrap();
                    array.create_volume("v", ByteSize(BLOCKS * BLOCK as u64), 0).await.unwrap();
                    array.close().await.unwrap();
                }
            })
            .expect("no power is cut");
        bench
    }

    pub fn run<T, F: Future<Output = T>>(&self, body: impl FnOnce(Runtime) -> F) -> Result<T, Halt> {
        let rt = self.world.reactor(ReactorId(0), &self.disks);
        let result = rt.run(body(rt.clone()));
        rt.drop_tasks();
        result
    }

    /// Opens the array from those of its members that `there` names, and has `body` done to it.
    pub fn with<T, F: Future<Output = T>>(
        &self,
        there: impl Fn(usize) -> bool,
        body: impl FnOnce(Runtime, Array) -> F,
    ) -> Result<T, Halt> {
        let devices: Vec<_> =
            self.world.infos(&self.disks).into_iter().enumerate().filter(|(n, _)| there(*n)).map(|(_, d)| d).collect();
        self.run(|rt| async move {
            rt.set_patience(PATIENCE);
            let array = Array::open(&rt, &devices, None, Arc::new(Quiet)).await.expect("enough members are there");
            body(rt, array).await
        })
    }

    pub fn unfit(&self) -> (usize, bool) {
        let devices = self.world.infos(&self.disks);
        let report = self.run(|rt| async move { check(&rt, &devices, None, |_| ()).await.unwrap() }).unwrap();
        let notes: Vec<&str> = report.findings.iter().filter(|f| f.is_remark()).map(|f| f.text.as_str()).collect();
        let unfit = notes.iter().any(|text| text.contains("resyncs") && !text.contains("of which 0 do not fit"));
        (report.damage(), unfit)
    }
}

pub fn members(level: Level) -> usize {
    if level == Level::Raid1 { 2 } else { 4 }
}

pub fn redundant() -> impl Iterator<Item = Level> {
    Level::ALL.into_iter().filter(|&level| level != Level::Raid0)
}
