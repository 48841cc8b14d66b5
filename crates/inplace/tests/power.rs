//! Arrays in virtual time against an oracle: power is cut while clients write, members are lost, and what was flushed must
//! be there, as far as the level promises it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use cygnus_engine::{ArrayError, JobState, Log, OpenOptions};
use cygnus_format::{DATA_START, MemberState, SUPERBLOCK_AREA, Superblock, copies_for};
use cygnus_inplace::{Array, CreateOptions, Level, Volume, VolumeError, check, create, repair};
use cygnus_runtime::{Event, Halt, IoErrorKind, Rng, Runtime};
use cygnus_sim::{DiskConfig, DiskId, World};
use cygnus_types::{BLOCK, ByteSize, MemberIx, Nanos, ReactorId};

/// Blocks that the load writes to: regions of their own, and enough stripes to meet.
const BLOCKS: u64 = 192;
const DISK: u64 = 8 << 20;
const SECTORS: usize = BLOCK / 512;

struct Quiet;

impl Log for Quiet {
    fn line(&self, _text: &str) {}
}

/// What is known of each sector of the volume: versions count up, and each is written once.
#[derive(Clone, Default)]
struct Oracle {
    issued: Vec<u64>,
    acknowledged: Vec<u64>,
    flushed: Vec<u64>,
}

impl Oracle {
    fn new() -> Self {
        let zeros = vec![0; BLOCKS as usize * SECTORS];
        Self { issued: zeros.clone(), acknowledged: zeros.clone(), flushed: zeros }
    }

    /// The first sector, if any, that has neither the flushed version nor one that was issued later.
    fn complaint(&self, found: &[u64]) -> Option<String> {
        found.iter().enumerate().find_map(|(sector, version)| {
            let (least, most) = (self.flushed[sector], self.issued[sector]);
            let wrong = !(least..=most).contains(version);
            wrong.then(|| format!("sector {sector} has version {version} of {least} to {most}"))
        })
    }

    /// After a crash each sector has any version from the flushed one to the last issued; that one it keeps.
    fn settle_on(&mut self, found: &[u64], what: &str) {
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

async fn versions(rt: &Runtime, volume: &Volume) -> Vec<u64> {
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
async fn load(rt: &Runtime, volume: &Volume, oracle: &Rc<RefCell<Oracle>>, seed: u64, rounds: u64) {
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

struct Bench {
    world: World,
    disks: Vec<DiskId>,
}

impl Bench {
    fn new(level: Level, seed: u64, members: usize) -> Self {
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

    fn run<T, F: Future<Output = T>>(&self, body: impl FnOnce(Runtime) -> F) -> Result<T, Halt> {
        let rt = self.world.reactor(ReactorId(0), &self.disks);
        let result = rt.run(body(rt.clone()));
        rt.drop_tasks();
        result
    }

    /// Opens the array from those of its members that `there` names, and has `body` done to it.
    fn with<T, F: Future<Output = T>>(
        &self,
        there: impl Fn(usize) -> bool,
        body: impl FnOnce(Runtime, Array) -> F,
    ) -> Result<T, Halt> {
        let devices: Vec<_> =
            self.world.infos(&self.disks).into_iter().enumerate().filter(|(n, _)| there(*n)).map(|(_, d)| d).collect();
        self.run(|rt| async move {
            let array = Array::open(&rt, &devices, None, Arc::new(Quiet)).await.expect("enough members are there");
            body(rt, array).await
        })
    }

    /// Writes until the power fails, and gives it back.
    fn load_until_cut(&self, oracle: &Rc<RefCell<Oracle>>, seed: u64, steps: u64, there: impl Fn(usize) -> bool) {
        let oracle = oracle.clone();
        self.world.cut_power_after(Some(steps));
        let ended = self.with(there, |rt, array| async move {
            let volume = array.volume("v").expect("it is there");
            load(&rt, &volume, &oracle, seed, u64::MAX).await;
        });
        assert_eq!(ended.unwrap_err(), Halt::PowerCut);
        self.world.restore_power();
    }

    fn unfit(&self) -> (usize, bool) {
        let devices = self.world.infos(&self.disks);
        let report = self.run(|rt| async move { check(&rt, &devices, None, |_| ()).await.unwrap() }).unwrap();
        let notes: Vec<&str> = report.findings.iter().filter(|f| f.is_remark()).map(|f| f.text.as_str()).collect();
        let unfit = notes.iter().any(|text| text.contains("resyncs") && !text.contains("of which 0 do not fit"));
        (report.damage(), unfit)
    }
}

fn members(level: Level) -> usize {
    if level == Level::Raid1 { 2 } else { 4 }
}

fn redundant() -> impl Iterator<Item = Level> {
    Level::ALL.into_iter().filter(|&level| level != Level::Raid0)
}

#[test]
fn what_was_flushed_survives_power_cuts_and_after_the_resync_any_member() {
    for level in Level::ALL {
        let mut left_unfit = false;
        for seed in 0..3 {
            let bench = Bench::new(level, seed, members(level));
            let oracle = Rc::new(RefCell::new(Oracle::new()));
            for round in 0..4u64 {
                let what = format!("{} seed {seed} round {round}", level.name());
                let steps = 60 + Rng::new(seed * 7 + round).below(2500);
                bench.load_until_cut(&oracle, seed * 100 + round, steps, |n| n < members(level));
                let (damage, unfit) = bench.unfit();
                assert_eq!(damage, 0, "{what}: only regions whose bits are set may be unfit");
                left_unfit |= unfit;
                let settled_on = oracle.clone();
                let found = bench.with(
                    |_| true,
                    |rt, array| async move {
                        let volume = array.volume("v").unwrap();
                        let found = versions(&rt, &volume).await;
                        settled_on.borrow_mut().settle_on(&found, &what);
                        array.settled().await;
                        assert_eq!(versions(&rt, &volume).await, found, "{what}: a resync changes nothing");
                        found
                    },
                );
                let found = found.unwrap();
                assert_eq!(bench.unfit(), (0, false), "after the resync everything fits");
                for lost in (0..members(level)).filter(|_| level != Level::Raid0) {
                    let saved = bench.disks.iter().map(|&disk| bench.world.save(disk)).collect::<Vec<_>>();
                    let without = bench.with(
                        |n| n != lost,
                        |rt, array| async move { versions(&rt, &array.volume("v").unwrap()).await },
                    );
                    assert_eq!(without.unwrap(), found, "{} without member {lost}", level.name());
                    bench.disks.iter().zip(&saved).for_each(|(&disk, saved)| bench.world.put_back(disk, saved));
                }
            }
        }
        // Else nothing above has shown that the resync was needed.
        assert_eq!(left_unfit, level != Level::Raid0, "{}", level.name());
    }
}

#[test]
fn mirrors_bear_a_power_cut_and_the_loss_of_a_member_at_once() {
    for level in [Level::Raid1, Level::Raid10] {
        for seed in 0..12 {
            let bench = Bench::new(level, 50 + seed, members(level));
            let oracle = Rc::new(RefCell::new(Oracle::new()));
            bench.load_until_cut(&oracle, seed, 300 + 150 * seed, |n| n < members(level));
            let lost = seed as usize % members(level);
            bench
                .with(
                    |n| n != lost,
                    |rt, array| async move {
                        let found = versions(&rt, &array.volume("v").unwrap()).await;
                        oracle.borrow_mut().settle_on(&found, &format!("{} seed {seed}", level.name()));
                        array.settled().await;
                        assert_eq!(versions(&rt, &array.volume("v").unwrap()).await, found);
                    },
                )
                .unwrap();
        }
    }
}

#[test]
fn a_member_that_failed_is_never_believed_again() {
    for level in redundant() {
        for seed in 0..8 {
            let bench = Bench::new(level, 90 + seed, members(level));
            let oracle = Rc::new(RefCell::new(Oracle::new()));
            let bad = bench.disks[seed as usize % members(level)];
            let (world, known) = (bench.world.clone(), oracle.clone());
            bench
                .with(
                    |n| n < members(level),
                    |rt, array| async move {
                        let volume = array.volume("v").unwrap();
                        load(&rt, &volume, &known, seed, 20).await;
                        world.fail_writes(bad, Some(IoErrorKind::Medium));
                        load(&rt, &volume, &known, seed + 1, 20).await;
                        world.fail_writes(bad, None);
                        load(&rt, &volume, &known, seed + 2, 20).await;
                        volume.flush().await.unwrap();
                        let Oracle { acknowledged, flushed, .. } = &mut *known.borrow_mut();
                        flushed.copy_from_slice(acknowledged);
                        // Not closed: the process is killed.
                    },
                )
                .unwrap();
            bench
                .with(
                    |_| true,
                    |rt, array| async move {
                        let found = versions(&rt, &array.volume("v").unwrap()).await;
                        oracle.borrow_mut().settle_on(&found, &format!("{} seed {seed}", level.name()));
                        let failed = array.status().members.iter().filter(|m| m.state == MemberState::Failed).count();
                        assert_eq!(failed, 1, "{}", level.name());
                    },
                )
                .unwrap();
        }
    }
}

#[test]
fn what_a_member_cannot_read_is_written_anew() {
    for level in redundant() {
        for seed in 0..4 {
            let n = members(level);
            let bench = Bench::new(level, 210 + seed, n);
            let oracle = Rc::new(RefCell::new(Oracle::new()));
            let (world, disks, known) = (bench.world.clone(), bench.disks.clone(), oracle.clone());
            // Not a mirror's second copy, which a reader alone never reads, nor the parity drive.
            let bad = seed as usize * 2 % n;
            let last = bench
                .with(
                    |m| m < n,
                    |rt, array| async move {
                        let volume = array.volume("v").unwrap();
                        load(&rt, &volume, &known, seed, 30).await;
                        let from = DATA_START + seed * 3 * BLOCK as u64;
                        world.fail_reads(disks[bad], from..from + 7 * BLOCK as u64);
                        let last = known.borrow().acknowledged.clone();
                        assert_eq!(versions(&rt, &volume).await, last, "{} seed {seed}", level.name());
                        rt.sleep(Nanos::secs(1)).await;
                        let traffic = array.status().members[bad].traffic;
                        assert!(traffic.mended > 0 && traffic.lost == 0, "{} seed {seed}: {traffic:?}", level.name());
                        array.close().await.unwrap();
                        last
                    },
                )
                .unwrap();
            // Nobody has read the parity that could not be read either; a repair does.
            let devices = bench.world.infos(&bench.disks[..n]);
            let repair = |rt: Runtime| async move { repair(&rt, &devices, None, Arc::new(Quiet), |_, _| ()).await };
            bench.run(repair).unwrap().unwrap();
            let lost = (bad + 1) % n;
            let found = bench.with(
                |m| m < n && m != lost,
                |rt, array| async move { versions(&rt, &array.volume("v").unwrap()).await },
            );
            assert_eq!(found.unwrap(), last, "{} seed {seed}", level.name());
        }
    }
}

#[test]
fn what_no_device_yields_is_an_error_and_ends_a_rebuild_with_the_place() {
    let level = Level::Raid5;
    let n = members(level);
    let bench = Bench::new(level, 230, n);
    let oracle = Rc::new(RefCell::new(Oracle::new()));
    let spare = bench.world.infos(&bench.disks)[n].clone();
    let (world, disks, known) = (bench.world.clone(), bench.disks.clone(), oracle.clone());
    bench
        .with(
            |m| m < n,
            |rt, array| async move {
                let volume = array.volume("v").unwrap();
                load(&rt, &volume, &known, 1, 30).await;
                world.kill(disks[0]);
                load(&rt, &volume, &known, 2, 30).await;
                world.fail_reads(disks[1], DATA_START + 4 * BLOCK as u64..DATA_START + 5 * BLOCK as u64);
                array.replace(MemberIx(0), &spare, false).await.expect("the spare fits");
                array.settled().await;
                let jobs = array.jobs();
                let Some(JobState::Failed(why)) = jobs.last().map(|job| &job.state) else { panic!("{jobs:?}") };
                assert!(why.contains("of volume v"), "{why}");
                assert_eq!(array.status().members[0].state, MemberState::Rebuilding);
                let mut unreadable = 0;
                for block in 0..BLOCKS {
                    let into = rt.alloc(BLOCK);
                    match volume.read(block * BLOCK as u64, into.full()).await {
                        Ok(_) => {}
                        Err(VolumeError::Unreadable { .. }) => unreadable += 1,
                        Err(error) => panic!("{error}"),
                    }
                }
                assert!((1..=2).contains(&unreadable), "{unreadable}");
            },
        )
        .unwrap();
}

#[test]
fn two_places_of_one_row_that_cannot_be_read_are_looked_at_once() {
    for level in [Level::Raid1, Level::Raid5] {
        let n = members(level);
        let bench = Bench::new(level, 240, n);
        let oracle = Rc::new(RefCell::new(Oracle::new()));
        let (world, disks, known) = (bench.world.clone(), bench.disks.clone(), oracle.clone());
        let looks = |rt: Runtime, array: Array| async move {
            let volume = array.volume("v").unwrap();
            load(&rt, &volume, &known, 1, 30).await;
            disks.iter().take(n).for_each(|&disk| world.fail_reads(disk, DATA_START..DATA_START + BLOCK as u64));
            let error = volume.read(0, rt.alloc(BLOCK).full()).await.unwrap_err();
            assert!(matches!(error, VolumeError::Unreadable { .. }), "{error}");
            rt.sleep(Nanos::secs(10)).await;
            let members = array.status().members;
            let lost: Vec<_> = members.iter().map(|member| member.traffic.lost).collect();
            assert!(lost.iter().all(|&lost| lost <= 1) && lost.contains(&1), "{}: {lost:?}", level.name());
        };
        bench.with(|m| m < n, looks).unwrap();
    }
}

#[test]
fn a_replacement_holds_everything_while_clients_go_on() {
    for level in redundant() {
        for seed in 0..4 {
            let n = members(level);
            let bench = Bench::new(level, 130 + seed, n);
            let oracle = Rc::new(RefCell::new(Oracle::new()));
            let spare = bench.world.infos(&bench.disks)[n].clone();
            let (world, disks, known) = (bench.world.clone(), bench.disks.clone(), oracle.clone());
            let lost = seed as usize % n;
            bench
                .with(
                    |m| m < n,
                    |rt, array| async move {
                        let volume = array.volume("v").unwrap();
                        load(&rt, &volume, &known, seed, 30).await;
                        world.kill(disks[lost]);
                        load(&rt, &volume, &known, seed + 1, 30).await;
                        array.replace(MemberIx(lost as u16), &spare, false).await.expect("the spare fits");
                        load(&rt, &volume, &known, seed + 2, 60).await;
                        array.settled().await;
                        assert!(array.status().members.iter().all(|m| m.state == MemberState::Online));
                        let last = known.borrow().acknowledged.clone();
                        assert_eq!(versions(&rt, &volume).await, last);
                        // Whatever another member had must be in the new one, or made from it.
                        world.kill(disks[(lost + 1) % n]);
                        assert_eq!(versions(&rt, &volume).await, last, "{} seed {seed}", level.name());
                    },
                )
                .unwrap();
        }
    }
}

#[test]
fn a_rebuild_that_power_ended_begins_anew() {
    for level in redundant() {
        for seed in 0..6 {
            let n = members(level);
            let bench = Bench::new(level, 170 + seed, n);
            let oracle = Rc::new(RefCell::new(Oracle::new()));
            let spare = bench.world.infos(&bench.disks)[n].clone();
            let known = oracle.clone();
            // Without clients at the moment of the cut: with a member away that is where the write hole is.
            bench
                .with(
                    |m| m < n,
                    |rt, array| async move {
                        load(&rt, &array.volume("v").unwrap(), &known, seed, 40).await;
                        array.close().await.unwrap();
                    },
                )
                .unwrap();
            let state = oracle.borrow().acknowledged.clone();
            bench.world.cut_power_after(Some(60 + seed * 60));
            let cut = bench.with(
                |m| m < n && m != 0,
                |_, array| async move {
                    array.replace(MemberIx(0), &spare, false).await.expect("the spare fits");
                    array.settled().await;
                },
            );
            assert_eq!(cut.unwrap_err(), Halt::PowerCut);
            bench.world.restore_power();
            bench
                .with(
                    |m| m != 0,
                    |rt, array| async move {
                        array.settled().await;
                        assert_eq!(
                            versions(&rt, &array.volume("v").unwrap()).await,
                            state,
                            "{} seed {seed}",
                            level.name()
                        );
                    },
                )
                .unwrap();
        }
    }
}

#[test]
fn devices_that_lie_about_flushes_are_noticed() {
    let mut noticed = 0;
    for seed in 0..6 {
        let bench = Bench::new(Level::Raid5, 210 + seed, 4);
        let oracle = Rc::new(RefCell::new(Oracle::new()));
        bench.disks.iter().for_each(|&disk| bench.world.ignore_flushes(disk, true));
        bench.load_until_cut(&oracle, seed, 1500, |n| n < 4);
        let found =
            bench.with(|_| true, |rt, array| async move { versions(&rt, &array.volume("v").unwrap()).await }).unwrap();
        noticed += u32::from(oracle.borrow().complaint(&found).is_some());
    }
    assert!(noticed > 0, "an oracle that never complains proves nothing");
}

#[test]
fn it_is_no_log() {
    let bench = Bench::new(Level::Raid6, 230, 4);
    let devices = bench.world.infos(&bench.disks);
    bench
        .run(|rt| async move {
            let log = Arc::new(Quiet);
            let options =
                OpenOptions { array: None, reactors: 1, read_only: true, map: cygnus_engine::MapRule::default(), log };
            let error = cygnus_engine::Array::open(&rt, &devices, &options).await.err().expect("it is refused");
            assert_eq!(
                error.to_string(),
                "tank is raid6, updated in place, and cannot be used as a log-structured array"
            );
        })
        .unwrap();
}

/// That a member had failed stands in the newest superblocks of the others alone.
#[test]
fn rot_in_a_superblock_does_not_bring_back_a_member_that_failed() {
    for seed in 0..4 {
        for both in [false, true] {
            let bench = Bench::new(Level::Raid1, 240 + seed, 2);
            let oracle = Rc::new(RefCell::new(Oracle::new()));
            let (world, known, bad) = (bench.world.clone(), oracle.clone(), bench.disks[1]);
            bench
                .with(
                    |n| n < 2,
                    |rt, array| async move {
                        let volume = array.volume("v").unwrap();
                        load(&rt, &volume, &known, seed, 20).await;
                        world.fail_writes(bad, Some(IoErrorKind::Medium));
                        load(&rt, &volume, &known, seed + 1, 20).await;
                        volume.flush().await.unwrap();
                        let Oracle { acknowledged, flushed, .. } = &mut *known.borrow_mut();
                        flushed.copy_from_slice(acknowledged);
                        world.fail_writes(bad, None);
                    },
                )
                .unwrap();
            let mut head = vec![0; SUPERBLOCK_AREA as usize];
            bench.world.peek(bench.disks[0], 0, &mut head);
            let copies = copies_for(Superblock::newest(&head).unwrap().generation);
            let spoiled = if both { &copies[..] } else { &copies[seed as usize % 2..][..1] };
            spoiled.iter().for_each(|at| bench.world.flip_bit(bench.disks[0], at + 300, 1));
            if !both {
                let opened =
                    |rt: Runtime, array: Array| async move { versions(&rt, &array.volume("v").unwrap()).await };
                let found = bench.with(|n| n < 2, opened).unwrap();
                oracle.borrow_mut().settle_on(&found, "one copy is enough");
                continue;
            }
            let devices = bench.world.infos(&bench.disks[..2]);
            bench
                .run(|rt| async move {
                    let refused = Array::open(&rt, &devices, None, Arc::new(Quiet)).await.err();
                    assert!(matches!(refused, Some(ArrayError::LostSuperblock { .. })), "{refused:?}");
                    let array = Array::open_by_force(&rt, &devices, None, Arc::new(Quiet)).await.unwrap();
                    array.close().await.unwrap();
                    Array::open(&rt, &devices, None, Arc::new(Quiet)).await.expect("all is written anew");
                })
                .unwrap();
        }
    }
}
