//! Power is cut while clients write, members are lost, and what was flushed must be there, as far as the level promises it.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use cygnus_engine::{ArrayError, JobState, OpenOptions};
use cygnus_format::{DATA_START, MemberState, SUPERBLOCK_AREA, Superblock, copies_for};
use cygnus_inplace::{Array, Level, VolumeError, repair};
use cygnus_runtime::{Halt, IoErrorKind, Rng, Runtime};
use cygnus_types::{BLOCK, MemberIx, Nanos};

use crate::oracle::{BLOCKS, Bench, Oracle, Quiet, load, members, redundant, versions};

/// Writes until the power fails, and gives it back.
fn load_until_cut(bench: &Bench, oracle: &Rc<RefCell<Oracle>>, seed: u64, steps: u64, there: impl Fn(usize) -> bool) {
    let oracle = oracle.clone();
    bench.world.cut_power_after(Some(steps));
    let ended = bench.with(there, |rt, array| async move {
        let volume = array.volume("v").expect("it is there");
        load(&rt, &volume, &oracle, seed, u64::MAX).await;
    });
    assert_eq!(ended.unwrap_err(), Halt::PowerCut);
    bench.world.restore_power();
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
                load_until_cut(&bench, &oracle, seed * 100 + round, steps, |n| n < members(level));
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
            load_until_cut(&bench, &oracle, seed, 300 + 150 * seed, |n| n < members(level));
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
                array.replace_member(MemberIx(0), &spare, false).await.expect("the spare fits");
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
                        array.replace_member(MemberIx(lost as u16), &spare, false).await.expect("the spare fits");
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
                    array.replace_member(MemberIx(0), &spare, false).await.expect("the spare fits");
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
        load_until_cut(&bench, &oracle, seed, 1500, |n| n < 4);
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
            let options = OpenOptions { read_only: true, ..OpenOptions::new(log) };
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

/// Two copies that were each in service without the other one are not both believed, and neither is dropped in silence.
#[test]
fn copies_that_went_on_without_each_other_are_not_merged() {
    let level = Level::Raid1;
    let bench = Bench::new(level, 5, members(level));
    let mut told = Vec::new();
    for absent in [1, 0] {
        let oracle = Rc::new(RefCell::new(Oracle::new()));
        let there = move |n: usize| n != absent && n < members(level);
        let written = bench.with(there, |rt, array| async move {
            let volume = array.volume("v").unwrap();
            load(&rt, &volume, &oracle, absent as u64, 20).await;
            volume.flush().await.unwrap();
            let found = versions(&rt, &volume).await;
            array.close().await.unwrap();
            found
        });
        told.push(written.unwrap());
    }
    let devices = bench.world.infos(&bench.disks[..members(level)]);
    bench
        .run(|rt| async move {
            let refused = Array::open(&rt, &devices, None, Arc::new(Quiet)).await.err();
            let Some(ArrayError::PartedWays { apart, others }) = refused else { panic!("{refused:?}") };
            assert_eq!((apart.len(), others.len()), (2, 2), "{apart}, {others}");
            let array = Array::open_by_force(&rt, &devices, None, Arc::new(Quiet)).await.unwrap();
            let found = versions(&rt, &array.volume("v").unwrap()).await;
            let side = if others == "d0" { 0 } else { 1 };
            assert!(found == told[side], "what {others} has, and nothing of {apart}");
            array.close().await.unwrap();
        })
        .unwrap();
}
