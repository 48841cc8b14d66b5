//! Members in trouble for a while: beyond redundancy they are awaited and nothing is recorded against them; within it they are
//! missing, come back by themselves, and get what the write-intent log says. Whatever happens, nothing that was acknowledged
//! is lost, and copies and parity fit in the end.

use std::cell::RefCell;
use std::rc::Rc;

use cygnus_engine::{ArrayHealth, MemberError, Trouble};
use cygnus_format::MemberState;
use cygnus_inplace::{Array, Level, VolumeError};
use cygnus_runtime::{Halt, IoErrorKind, Rng, Runtime};
use cygnus_sim::{DiskId, World};
use cygnus_types::{BLOCK, MemberIx, Nanos};

use crate::oracle::{BLOCKS, Bench, Oracle, PATIENCE, load, members, redundant, versions};

/// What happens to a member, and how it ends.
#[derive(Clone, Copy, Debug)]
enum Passing {
    Hang,
    Away,
    WritesFail,
    MediumFails,
    Full,
}

const ALL: [Passing; 5] = [Passing::Hang, Passing::Away, Passing::WritesFail, Passing::MediumFails, Passing::Full];

impl Passing {
    fn begin(self, world: &World, disk: DiskId) {
        match self {
            Self::Hang => world.hang(disk, None),
            Self::Away => world.kill(disk),
            Self::WritesFail => world.fail_writes(disk, Some(IoErrorKind::Unclear)),
            Self::MediumFails => world.fail_writes(disk, Some(IoErrorKind::Medium)),
            Self::Full => world.fail_writes(disk, Some(IoErrorKind::NoSpace)),
        }
    }

    fn end(self, world: &World, disk: DiskId) {
        match self {
            Self::Hang => world.release(disk),
            Self::Away => world.revive(disk),
            Self::WritesFail | Self::MediumFails | Self::Full => world.fail_writes(disk, None),
        }
    }
}

/// So long that a member that hangs is found out, also by a flush, and then the others of its group.
fn beyond_patience() -> Nanos {
    PATIENCE * 3
}

async fn until_online(rt: &Runtime, array: &Array) {
    let begun = rt.now();
    while array.status().health != ArrayHealth::Online {
        let status = array.status();
        let states: Vec<_> = status.members.iter().map(|member| (member.state, member.trouble)).collect();
        assert!(rt.now().since(begun) < Nanos::secs(600), "{:?}: {states:?}, {:?}", status.health, array.jobs());
        rt.sleep(Nanos::millis(100)).await;
    }
    array.settled().await;
}

/// The last version of each sector; all writes have been answered.
fn last(oracle: &Rc<RefCell<Oracle>>) -> Vec<u64> {
    let oracle = oracle.borrow();
    assert_eq!(oracle.issued, oracle.acknowledged, "a write was never answered");
    oracle.acknowledged.clone()
}

/// Clients write while `concerned` members are in trouble; they are awaited or missing, as the level has it, and in the end
/// all is as if nothing had happened.
fn survives(level: Level, concerned: &[usize], passing: Passing, seed: u64) {
    let what = format!("{} {passing:?} {concerned:?}", level.name());
    let n = members(level);
    let bench = Bench::new(level, seed, n);
    let oracle = Rc::new(RefCell::new(Oracle::new()));
    let (world, known) = (bench.world.clone(), oracle.clone());
    let troubled: Vec<DiskId> = concerned.iter().map(|&member| bench.disks[member]).collect();
    let beyond = match level {
        Level::Raid0 => true,
        Level::Raid1 | Level::Raid4 | Level::Raid5 => concerned.len() > 1,
        Level::Raid6 => concerned.len() > 2,
        Level::Raid10 => concerned.iter().any(|member| concerned.contains(&(member ^ 1))),
    };
    let body = |rt: Runtime, array: Array| async move {
        let volume = array.volume("v").unwrap();
        load(&rt, &volume, &known, seed, 20).await;
        troubled.iter().for_each(|&disk| passing.begin(&world, disk));
        let meanwhile = {
            let (rt, array, world, what) = (rt.clone(), array.clone(), world.clone(), what.clone());
            async move {
                rt.sleep(beyond_patience()).await;
                let status = array.status();
                let out = status.members.iter().filter(|member| member.state != MemberState::Online).count();
                assert_eq!(status.health == ArrayHealth::Suspended, beyond, "{what}: {:?}", status.health);
                assert_eq!(status.suspended.is_some(), beyond, "{what}");
                assert_eq!(out, if beyond { 0 } else { troubled.len() }, "{what}: recorded as out of service");
                let state =
                    if matches!(passing, Passing::MediumFails) { MemberState::Failed } else { MemberState::Missing };
                assert!(status.members.iter().all(|m| m.state == MemberState::Online || m.state == state), "{what}");
                troubled.iter().for_each(|&disk| passing.end(&world, disk));
            }
        };
        let relieved = rt.now() + beyond_patience();
        rt.spawn(meanwhile);
        load(&rt, &volume, &known, seed + 1, 20).await;
        volume.flush().await.unwrap();
        assert!(!beyond || rt.now() >= relieved, "{what}: a flush was answered that could not hold");
        rt.sleep_until(relieved + Nanos::secs(1)).await;
        load(&rt, &volume, &known, seed + 2, 5).await;
        assert_eq!(versions(&rt, &volume).await, last(&known), "{what}");
        if beyond || !matches!(passing, Passing::MediumFails) {
            until_online(&rt, &array).await;
            assert_eq!(versions(&rt, &volume).await, last(&known), "{what}");
        }
        array.close().await.unwrap();
    };
    bench.with(|member| member < n, body).unwrap();
    if matches!(passing, Passing::MediumFails) && !beyond {
        return;
    }
    assert_eq!(bench.unfit(), (0, false), "{level:?} {passing:?} {concerned:?}: copies or parity do not fit");
    for lost in (0..n).filter(|_| level != Level::Raid0) {
        let saved: Vec<_> = bench.disks.iter().map(|&disk| bench.world.save(disk)).collect();
        let found = bench.with(
            |member| member < n && member != lost,
            |rt, array| async move { versions(&rt, &array.volume("v").unwrap()).await },
        );
        assert_eq!(found.unwrap(), last(&oracle), "{level:?} {passing:?} {concerned:?} without member {lost}");
        bench.disks.iter().zip(&saved).for_each(|(&disk, saved)| bench.world.put_back(disk, saved));
    }
}

#[test]
fn more_members_than_the_level_survives_may_be_in_trouble_for_a_while() {
    for level in Level::ALL {
        let concerned: &[usize] = match level {
            Level::Raid0 => &[1],
            Level::Raid6 => &[0, 1, 3],
            _ => &[0, 1],
        };
        for (seed, passing) in (0..).zip(ALL) {
            survives(level, concerned, passing, 300 + seed);
        }
    }
}

#[test]
fn all_members_may_be_in_trouble_for_a_while() {
    for level in Level::ALL {
        let all: Vec<usize> = (0..members(level)).collect();
        for (seed, passing) in (0..).zip(ALL) {
            survives(level, &all, passing, 320 + seed);
        }
    }
}

#[test]
fn a_member_that_the_array_can_do_without_is_missing_and_comes_back_by_itself() {
    for level in redundant() {
        for (seed, passing) in (0..).zip(ALL) {
            survives(level, &[1], passing, 340 + seed);
        }
    }
    survives(Level::Raid6, &[0, 2], Passing::Hang, 350);
    survives(Level::Raid10, &[0, 2], Passing::Away, 351);
}

/// What comes back gets what was written meanwhile, and not its whole device.
#[test]
fn who_was_away_gets_only_what_the_write_intent_log_says() {
    for level in redundant() {
        let n = members(level);
        let bench = Bench::new(level, 360, n);
        let oracle = Rc::new(RefCell::new(Oracle::new()));
        let (world, disk) = (bench.world.clone(), bench.disks[0]);
        let body = |rt: Runtime, array: Array| async move {
            let volume = array.volume("v").unwrap();
            load(&rt, &volume, &oracle, 1, 30).await;
            // All bits are cleared; then one region is written to, for long enough that its bit would be cleared.
            rt.sleep(Nanos::secs(20)).await;
            assert_eq!(array.status().dirty_regions, 0);
            world.kill(disk);
            let mut sector = rt.alloc(BLOCK);
            sector.zero(0..BLOCK);
            volume.write((BLOCKS - 1) * BLOCK as u64, sector.full()).await.unwrap();
            rt.sleep(Nanos::secs(30)).await;
            let written = array.status().members[0].traffic.written;
            world.revive(disk);
            until_online(&rt, &array).await;
            let (status, filled) = (array.status(), array.status().members[0].traffic.written - written);
            assert!(filled <= status.region.0 && filled > 0, "{}: {filled} bytes", level.name());
            rt.sleep(Nanos::secs(20)).await;
            assert_eq!(array.status().dirty_regions, 0, "{}", level.name());
            array.close().await.unwrap();
        };
        bench.with(|member| member < n, body).unwrap();
        assert_eq!(bench.unfit(), (0, false), "{}", level.name());
    }
}

#[test]
fn requests_wait_for_as_long_as_the_operator_says_and_reads_are_served_meanwhile() {
    for level in [Level::Raid0, Level::Raid1, Level::Raid5] {
        let n = members(level);
        let bench = Bench::new(level, 370, n);
        let oracle = Rc::new(RefCell::new(Oracle::new()));
        let (world, disks) = (bench.world.clone(), bench.disks.clone());
        let body = |rt: Runtime, array: Array| async move {
            let volume = array.volume("v").unwrap();
            load(&rt, &volume, &oracle, 1, 30).await;
            volume.flush().await.unwrap();
            array.set_suspended_for(Nanos::secs(2));
            disks.iter().take(n).for_each(|&disk| Passing::Full.begin(&world, disk));
            let block = rt.alloc(BLOCK);
            let begun = rt.now();
            let refused = volume.write(0, block.full()).await.unwrap_err();
            let VolumeError::Suspended { waits_for } = refused else { panic!("{refused}") };
            assert!(waits_for.contains(Trouble::Full.words()), "{waits_for}");
            let took = rt.now().since(begun);
            assert!(took >= Nanos::secs(2) && took < Nanos::secs(3), "{took}");
            // From now on at once.
            let begun = rt.now();
            assert!(matches!(volume.flush().await, Err(VolumeError::Suspended { .. })));
            assert!(rt.now().since(begun) < Nanos::millis(1));
            let read = volume.read((BLOCKS - 1) * BLOCK as u64, rt.alloc(BLOCK).full()).await;
            assert!(read.is_ok(), "what can be read is read");
            // As long as members take nothing they do not count as back, however often they are asked.
            rt.sleep(Nanos::secs(60)).await;
            assert!(matches!(volume.flush().await, Err(VolumeError::Suspended { .. })));
            disks.iter().for_each(|&disk| Passing::Full.end(&world, disk));
            until_online(&rt, &array).await;
            volume.write(0, block.full()).await.unwrap();
            volume.flush().await.unwrap();
            array.close().await.unwrap();
        };
        bench.with(|member| member < n, body).unwrap();
        assert_eq!(bench.unfit(), (0, false));
    }
}

/// Not even by force: those in trouble may never come back, and then it is the last one with its data.
#[test]
fn no_member_is_replaced_while_the_others_are_in_trouble() {
    for (seed, level) in (375..).zip(redundant()) {
        let n = members(level);
        let bench = Bench::new(level, seed, n);
        let oracle = Rc::new(RefCell::new(Oracle::new()));
        let (world, disks) = (bench.world.clone(), bench.disks.clone());
        let spare = bench.world.infos(&bench.disks)[n].clone();
        let body = |rt: Runtime, array: Array| async move {
            let volume = array.volume("v").unwrap();
            load(&rt, &volume, &oracle, seed, 30).await;
            volume.flush().await.unwrap();
            array.set_suspended_for(Nanos::secs(2));
            disks.iter().take(n).for_each(|&disk| Passing::Full.begin(&world, disk));
            assert!(matches!(volume.write(0, rt.alloc(BLOCK).full()).await, Err(VolumeError::Suspended { .. })));
            let refused = array.replace_member(MemberIx(0), &spare, true).await.unwrap_err();
            assert!(matches!(refused, MemberError::LastCopy { .. }), "{}: {refused}", level.name());
            disks.iter().for_each(|&disk| Passing::Full.end(&world, disk));
            until_online(&rt, &array).await;
            array.close().await.unwrap();
        };
        bench.with(|member| member < n, body).unwrap();
        assert_eq!(bench.unfit(), (0, false));
    }
}

/// Reads of members that are silent beyond redundancy wait, and are no errors.
#[test]
fn a_read_waits_for_members_that_are_silent() {
    for level in Level::ALL {
        let n = members(level);
        for passing in [Passing::Hang, Passing::Away] {
            let bench = Bench::new(level, 380, n);
            let oracle = Rc::new(RefCell::new(Oracle::new()));
            let (world, disks) = (bench.world.clone(), bench.disks.clone());
            let body = |rt: Runtime, array: Array| async move {
                let volume = array.volume("v").unwrap();
                load(&rt, &volume, &oracle, 1, 30).await;
                disks.iter().for_each(|&disk| passing.begin(&world, disk));
                let (clock, span) = (rt.clone(), beyond_patience());
                rt.spawn(async move {
                    clock.sleep(span).await;
                    disks.iter().for_each(|&disk| passing.end(&world, disk));
                });
                assert_eq!(versions(&rt, &volume).await, last(&oracle), "{} {passing:?}", level.name());
                array.close().await.unwrap();
            };
            bench.with(|member| member < n, body).unwrap();
        }
    }
}

#[test]
fn closing_a_suspended_array_ends_and_records_nothing() {
    for level in Level::ALL {
        let n = members(level);
        let bench = Bench::new(level, 390, n);
        let oracle = Rc::new(RefCell::new(Oracle::new()));
        let (world, disks, known) = (bench.world.clone(), bench.disks.clone(), oracle.clone());
        let body = |rt: Runtime, array: Array| async move {
            let volume = array.volume("v").unwrap();
            load(&rt, &volume, &known, 1, 30).await;
            volume.flush().await.unwrap();
            {
                let Oracle { acknowledged, flushed, .. } = &mut *known.borrow_mut();
                flushed.copy_from_slice(acknowledged);
            }
            disks.iter().for_each(|&disk| Passing::Away.begin(&world, disk));
            let begun = rt.now();
            let error = array.close().await.unwrap_err().to_string();
            assert!(error.contains("closed while it waited for d0 (it is gone)"), "{error}");
            assert!(rt.now().since(begun) < Nanos::secs(15));
        };
        bench.with(|member| member < n, body).unwrap();
        bench.disks.iter().for_each(|&disk| Passing::Away.end(&bench.world, disk));
        let body = |rt: Runtime, array: Array| async move {
            assert!(
                array.status().members.iter().all(|member| member.state == MemberState::Online),
                "{}",
                level.name()
            );
            array.settled().await;
            let found = versions(&rt, &array.volume("v").unwrap()).await;
            oracle.borrow_mut().settle_on(&found, level.name());
            array.close().await.unwrap();
        };
        bench.with(|member| member < n, body).unwrap();
        assert_eq!(bench.unfit(), (0, false), "{}", level.name());
    }
}

/// Begins and ends trouble of random members at random moments, and ends all of it when `enough` says so.
async fn torment(rt: &Runtime, bench: &(World, Vec<DiskId>), seed: u64, times: u64) {
    let (world, disks) = bench;
    let mut rng = Rng::new(seed);
    let mut troubled: Vec<(Passing, DiskId)> = Vec::new();
    for _ in 0..times {
        rt.sleep(Nanos::millis(1 + rng.below(4000))).await;
        if rng.below(3) == 0 {
            rt.sleep(Nanos::secs(rng.below(120))).await;
        }
        let disk = disks[rng.below(disks.len() as u64) as usize];
        match troubled.iter().position(|&(_, other)| other == disk) {
            Some(at) => {
                let (passing, disk) = troubled.swap_remove(at);
                passing.end(world, disk);
            }
            None => {
                // Errors of the medium would make it leave for good.
                let passing = [Passing::Hang, Passing::Away, Passing::Full][rng.below(3) as usize];
                passing.begin(world, disk);
                troubled.push((passing, disk));
            }
        }
    }
    troubled.into_iter().for_each(|(passing, disk)| passing.end(world, disk));
}

#[test]
fn whatever_happens_to_whomever_nothing_acknowledged_is_lost() {
    for level in redundant() {
        for seed in 0..8 {
            let n = members(level);
            let bench = Bench::new(level, 400 + seed, n);
            let oracle = Rc::new(RefCell::new(Oracle::new()));
            let all = (bench.world.clone(), bench.disks[..n].to_vec());
            let known = oracle.clone();
            let body = |rt: Runtime, array: Array| async move {
                let volume = array.volume("v").unwrap();
                let other = rt.clone();
                rt.spawn(async move { torment(&other, &all, seed, 12).await });
                for round in 0..30 {
                    load(&rt, &volume, &known, seed * 100 + round, 8).await;
                    rt.sleep(Nanos::millis(700)).await;
                }
                rt.sleep(Nanos::secs(1000)).await;
                until_online(&rt, &array).await;
                assert_eq!(versions(&rt, &volume).await, last(&known), "{} seed {seed}", level.name());
                array.close().await.unwrap();
            };
            bench.with(|member| member < n, body).unwrap();
            assert_eq!(bench.unfit(), (0, false), "{} seed {seed}", level.name());
        }
    }
}

#[test]
fn power_cuts_while_members_are_in_trouble_lose_nothing_that_was_flushed() {
    for level in Level::ALL {
        for seed in 0..6 {
            let n = members(level);
            let bench = Bench::new(level, 500 + seed, n);
            let oracle = Rc::new(RefCell::new(Oracle::new()));
            let all = (bench.world.clone(), bench.disks[..n].to_vec());
            let (known, world, disks) = (oracle.clone(), bench.world.clone(), bench.disks.clone());
            let passing = ALL[seed as usize % 2];
            let body = |rt: Runtime, array: Array| async move {
                let volume = array.volume("v").unwrap();
                load(&rt, &volume, &known, seed, 10).await;
                // Beyond redundancy at once: a member that left before the cut would open the write hole.
                all.1.iter().for_each(|&disk| passing.begin(&all.0, disk));
                let (clock, span) = (rt.clone(), beyond_patience());
                rt.spawn(async move {
                    clock.sleep(span).await;
                    all.1.iter().for_each(|&disk| passing.end(&all.0, disk));
                });
                // Some time while they are awaited, or when they have been asked and are being given what they are owed.
                let early = Nanos::secs(if seed % 4 < 2 { 40 * seed } else { 0 });
                world.cut_power_at(rt.now() + span.since(early) + Nanos::millis(seed * 200));
                load(&rt, &volume, &known, seed + 1, u64::MAX).await;
            };
            let ended = bench.with(|member| member < n, body);
            assert_eq!(ended.unwrap_err(), Halt::PowerCut);
            bench.world.restore_power();
            disks.iter().for_each(|&disk| passing.end(&bench.world, disk));
            let body = |rt: Runtime, array: Array| async move {
                let found = versions(&rt, &array.volume("v").unwrap()).await;
                oracle.borrow_mut().settle_on(&found, &format!("{} seed {seed}", level.name()));
                assert!(array.status().members.iter().all(|member| member.state == MemberState::Online));
                array.settled().await;
                assert_eq!(versions(&rt, &array.volume("v").unwrap()).await, found);
                array.close().await.unwrap();
            };
            bench.with(|member| member < n, body).unwrap();
            assert_eq!(bench.unfit(), (0, false), "{} seed {seed}", level.name());
        }
    }
}
