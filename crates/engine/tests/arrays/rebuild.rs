//! Members that are lost, replaced, come back: what they lack is restored, and nothing else.

use cygnus_engine::{
    Array, ArrayError, ArrayHealth, FindingKind, Found, JobKind, JobState, MemberError, OpenOptions, check, inspect,
};
use cygnus_format::{MemberState, Superblock};
use cygnus_runtime::{DeviceInfo, IoErrorKind, Runtime};
use cygnus_sim::{DiskId, FaultRates, World};
use cygnus_types::{ByteSize, MemberIx, Nanos, ReactorId};

use crate::common::*;
use crate::sessions::*;

#[test]
fn a_replaced_member_is_as_good_as_the_one_it_replaces() {
    for (groups, k, m) in [(1, 2, 1), (2, 2, 1), (1, 3, 2)] {
        let world = World::new(1);
        let members = groups * usize::from(k + m);
        let disks = make(&world, groups, k, m, 1);
        session(&world.clone(), &disks.clone(), |rt, devices| async move {
            let (array, volume) = open(&rt, &devices[..members]).await;
            fill(&rt, &volume, 0).await;
            let error = array.replace(MemberIx(1), &devices[members], false).await.unwrap_err();
            assert!(matches!(error, MemberError::StillOnline(_)), "{error}");
            world.kill(disks[1]);
            fill(&rt, &volume, 7).await;
            assert_eq!(array.status().health, ArrayHealth::Degraded);
            assert_eq!(states(&array)[1], MemberState::Missing);
            let job = array.replace(MemberIx(1), &devices[members], false).await.unwrap();
            assert_eq!(array.status().health, ArrayHealth::Rebuilding);
            for at in 0..BLOCKS / 2 {
                put(&rt, &volume, at, at + 9).await;
            }
            let job = ended(&rt, &array, job).await;
            assert_eq!((job.kind, job.state.clone()), (JobKind::Rebuild, JobState::Done), "{job:?}");
            assert!(job.done > 0 && job.done == job.total, "{job:?}");
            assert_eq!(array.status().health, ArrayHealth::Online);
            // Now as many others may go as the parity covers.
            for &disk in disks.iter().skip(2).take(usize::from(m)) {
                world.kill(disk);
            }
            verify(&rt, &volume, |at| if at < BLOCKS / 2 { at + 9 } else { at + 7 }).await;
        });
    }
}

#[test]
fn a_rebuilt_array_passes_its_check() {
    let world = World::new(2);
    let disks = make(&world, 2, 2, 1, 1);
    session(&world, &disks, |rt, devices| {
        let (world, dying) = (world.clone(), disks[4]);
        async move {
            let (array, volume) = open(&rt, &devices[..6]).await;
            for round in 0..4 {
                fill(&rt, &volume, round).await;
            }
            world.kill(dying);
            fill(&rt, &volume, 5).await;
            let job = array.replace(MemberIx(4), &devices[6], false).await.unwrap();
            fill(&rt, &volume, 6).await;
            assert_eq!(ended(&rt, &array, job).await.state, JobState::Done);
            array.close().await.unwrap();
        }
    });
    let left: Vec<DiskId> = disks.iter().copied().filter(|&d| d != disks[4]).collect();
    assert_clean(&world, &left);
}

/// A block device that somebody makes smaller says so to whoever writes behind its end. When it has grown again, zeros are there.
#[test]
fn a_member_that_was_smaller_for_a_while_gets_everything_anew() {
    let world = World::new(9);
    let disks = make(&world, 1, 2, 1, 0);
    session(&world.clone(), &disks.clone(), |rt, devices| async move {
        let (array, volume) = open(&rt, &devices).await;
        fill(&rt, &volume, 0).await;
        volume.flush().await.unwrap();
        world.shorten(disks[1], devices[1].size / 4);
        world.fail_writes(disks[1], Some(IoErrorKind::CutShort));
        for at in 0..40 {
            put(&rt, &volume, at, at + 1).await;
        }
        volume.flush().await.unwrap();
        assert_eq!(states(&array)[1], MemberState::Failed);
        world.fail_writes(disks[1], None);
        world.shorten(disks[1], devices[1].size);
        let job = array.replace(MemberIx(1), &devices[1], true).await.unwrap();
        assert_eq!(ended(&rt, &array, job).await.state, JobState::Done);
        let report = array.scrub(1).await;
        assert_eq!((report.found(), report.lost), (0, 0), "{report:?}");
        verify(&rt, &volume, |at| if at < 40 { at + 1 } else { at }).await;
        array.close().await.unwrap();
    });
}

/// The same while nobody serves the array: an opening sees how small it is, or whoever looks for it while the array is served.
#[test]
fn a_member_that_was_seen_smaller_gets_everything_anew() {
    for is_there in [true, false] {
        let world = World::new(10);
        let disks = make(&world, 1, 2, 1, 0);
        filled(&world, &disks);
        let size = world.infos(&disks)[1].size;
        world.shorten(disks[1], size / 4);
        let here = if is_there { disks.clone() } else { vec![disks[0], disks[2]] };
        session(&world, &here, |rt, mut devices| async move {
            if is_there {
                devices[1].size = size / 4;
            }
            let array = Array::open(&rt, &devices, &options()).await.unwrap();
            assert_eq!(states(&array)[1], MemberState::Missing);
            if !is_there {
                array.is_cut_short(MemberIx(1));
            }
            array.close().await.unwrap();
        });
        world.shorten(disks[1], size);
        session(&world, &disks, |rt, devices| async move {
            let array = Array::open(&rt, &devices, &options()).await.unwrap();
            healed(&rt, &array).await;
            let report = array.scrub(1).await;
            assert_eq!((report.found(), report.lost), (0, 0), "{is_there}: {report:?}");
            array.close().await.unwrap();
        });
    }
}

#[test]
fn a_member_that_was_away_gets_what_changed_and_no_more() {
    let world = World::new(3);
    let disks = make(&world, 1, 2, 1, 0);
    filled(&world, &disks);
    session(&world, &disks[..2], |rt, devices| async move {
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        for at in 0..100 {
            put(&rt, &array.volume("v").unwrap(), at, at + 5).await;
        }
        array.close().await.unwrap();
    });
    let before = world.stats(disks[2]).written_bytes;
    session(&world, &disks, |rt, devices| {
        let (world, disks) = (world.clone(), disks.clone());
        async move {
            let array = Array::open(&rt, &devices, &options()).await.unwrap();
            healed(&rt, &array).await;
            // It ends when it is on record that the member is online.
            let job = ended(&rt, &array, array.jobs().remove(0).id).await;
            assert_eq!((job.kind, job.state), (JobKind::CatchUp, JobState::Done));
            let written = world.stats(disks[2]).written_bytes - before;
            assert!(written < 3 * MIB, "{written} bytes for 100 blocks of 3000");
            world.kill(disks[0]);
            verify(&rt, &array.volume("v").unwrap(), |at| if at < 100 { at + 5 } else { at }).await;
        }
    });
}

#[test]
fn a_spare_takes_the_place_of_a_lost_member_by_itself() {
    let world = World::new(4);
    let disks = make(&world, 1, 2, 1, 1);
    session(&world, &disks, |rt, devices| async move {
        let array = Array::open(&rt, &devices[..3], &options()).await.unwrap();
        array.add_spare(&devices[3], false).await.unwrap();
        let again = array.add_spare(&devices[3], false).await.unwrap_err();
        assert_eq!(again, MemberError::InService("d3".into()));
        fill(&rt, &array.volume("v").unwrap(), 0).await;
        array.close().await.unwrap();
    });
    // All four: the spare is found by what it says of itself.
    session(&world, &disks, |rt, devices| {
        let (world, disks) = (world.clone(), disks.clone());
        async move {
            let array = Array::open(&rt, &devices, &options()).await.unwrap();
            assert_eq!(array.status().spares.len(), 1);
            let volume = array.volume("v").unwrap();
            world.kill(disks[0]);
            put(&rt, &volume, 0, 0).await;
            volume.flush().await.unwrap();
            healed(&rt, &array).await;
            assert_eq!((array.status().spares.len(), array.status().members[0].name.as_str()), (0, "d3"));
            world.kill(disks[1]);
            verify(&rt, &volume, |at| at).await;
        }
    });
    world.revive(disks[0]);
    world.revive(disks[1]);
    session(&world, &disks, |rt, devices| async move {
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        let remarks = &array.recovery().remarks;
        assert!(remarks.iter().any(|r| r.contains("d0 was replaced")), "{remarks:?}");
        healed(&rt, &array).await;
        verify(&rt, &array.volume("v").unwrap(), |at| at).await;
        array.close().await.unwrap();
    });
    assert_clean(&world, &disks[1..]);
}

#[test]
fn a_spare_does_not_take_the_place_that_an_operator_wants_for_another_device() {
    let world = World::new(10);
    let disks = make(&world, 1, 2, 1, 2);
    session(&world, &disks, |rt, devices| async move {
        let array = Array::open(&rt, &devices[..3], &options()).await.unwrap();
        fill(&rt, &array.volume("v").unwrap(), 0).await;
        array.add_spare(&devices[3], false).await.unwrap();
        let job = array.replace(MemberIx(0), &devices[4], true).await.unwrap();
        let again = array.replace(MemberIx(0), &devices[0], true).await.unwrap_err();
        assert!(matches!(again, MemberError::Rebuilding(_)), "{again}");
        assert_eq!(ended(&rt, &array, job).await.state, JobState::Done);
        assert_eq!((array.status().spares.len(), array.status().members[0].name.as_str()), (1, "d4"));
        array.close().await.unwrap();
    });
}

#[test]
fn a_rebuild_goes_on_after_power_cuts() {
    for seed in 0..10 {
        let world = World::new(seed);
        let disks = make(&world, 1, 2, 1, 1);
        session(&world, &disks, |rt, devices| async move {
            let array = Array::open(&rt, &devices[..3], &options()).await.unwrap();
            fill(&rt, &array.volume("v").unwrap(), 0).await;
            array.close().await.unwrap();
        });
        let left = [disks[0], disks[2], disks[3]];
        let rt = world.reactor(ReactorId(0), &left);
        let infos = world.infos(&left);
        let main = {
            let rt = rt.clone();
            async move {
                let array = Array::open(&rt, &infos[..2], &options()).await.unwrap();
                array.replace(MemberIx(1), &infos[2], false).await.unwrap();
                healed(&rt, &array).await;
            }
        };
        world.cut_power_after(Some(200 + 150 * seed));
        let cut = rt.run(main).is_err();
        rt.drop_tasks();
        world.cut_power_after(None);
        world.restore_power();
        let before = world.stats(disks[3]).written_bytes;
        session(&world, &left, |rt, devices| {
            let (world, other) = (world.clone(), disks[0]);
            async move {
                let array = Array::open(&rt, &devices, &options()).await.unwrap();
                healed(&rt, &array).await;
                world.kill(other);
                verify(&rt, &array.volume("v").unwrap(), |at| at).await;
            }
        });
        let after = world.stats(disks[3]).written_bytes - before;
        // 3000 blocks are 6 MiB of each column.
        assert!(!cut || seed < 8 || after < 5 * MIB, "seed {seed}: {after} bytes written after the cut");
    }
}

/// Whoever the superblocks have for a member after a power cut, its device knows of it: the place never goes to one that says
/// nothing, and a spare is a spare or a member.
#[test]
fn a_power_cut_gives_no_place_to_a_device_that_does_not_know_of_it() {
    for is_spare in [true, false] {
        let (mut before, mut after) = (0, 0);
        for cut in 1..240 {
            match place_after_a_cut(is_spare, cut) {
                MemberState::Missing => before += 1,
                _ => after += 1,
            }
        }
        assert!(before > 3 && after > 3, "spare {is_spare}: {before} cuts before, {after} after");
    }
}

/// Cuts the power so many steps after a spare or an operator's device may have the place of a lost member; what the superblocks say
/// of the member then.
fn place_after_a_cut(is_spare: bool, cut: u64) -> MemberState {
    let world = World::new(cut);
    let disks = make(&world, 1, 2, 1, 1);
    let left = [disks[0], disks[2], disks[3]];
    let rt = world.reactor(ReactorId(0), &left);
    let main = {
        let (rt, world, devices) = (rt.clone(), world.clone(), world.infos(&left));
        async move {
            let (array, volume) = open(&rt, &devices[..2]).await;
            put(&rt, &volume, 0, 0).await;
            volume.flush().await.unwrap();
            world.cut_power_after(Some(cut));
            match is_spare {
                true => array.add_spare(&devices[2], false).await.unwrap(),
                false => drop(array.replace(MemberIx(1), &devices[2], false).await.unwrap()),
            }
            rt.sleep(Nanos::secs(5)).await;
        }
    };
    let _ = rt.run(main);
    rt.drop_tasks();
    world.cut_power_after(None);
    world.restore_power();
    session(&world, &left, |rt, devices| async move {
        let newest = superblock(&rt, &devices[0]).await.into_iter().chain(superblock(&rt, &devices[2]).await);
        let newest = newest.max_by_key(Superblock::rank).unwrap().state;
        let member = *newest.members().nth(1).unwrap();
        let own = superblock(&rt, &devices[2]).await.map(|own| own.member_uuid);
        assert!(member.state == MemberState::Missing || own == Some(member.uuid), "cut {cut}: {member:?}, not {own:?}");
        assert!(
            newest.spares.iter().all(|spare| own == Some(spare.uuid)),
            "cut {cut}: {:?}, not {own:?}",
            newest.spares
        );
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        if member.state != MemberState::Missing || !newest.spares.is_empty() {
            healed(&rt, &array).await;
        }
        array.close().await.unwrap();
        member.state
    })
}

async fn superblock(rt: &Runtime, device: &DeviceInfo) -> Option<Superblock> {
    match inspect(rt, device).await.unwrap() {
        Found::Member(own) => Some(*own),
        _ => None,
    }
}

#[test]
fn a_second_failure_during_a_rebuild_is_survived_if_the_parity_allows() {
    let world = World::new(5);
    let disks = make(&world, 1, 3, 2, 2);
    session(&world, &disks, |rt, devices| {
        let (world, disks) = (world.clone(), disks.clone());
        async move {
            let (array, volume) = open(&rt, &devices[..5]).await;
            fill(&rt, &volume, 0).await;
            world.kill(disks[0]);
            put(&rt, &volume, 0, 1).await;
            volume.flush().await.unwrap();
            let first = array.replace(MemberIx(0), &devices[5], false).await.unwrap();
            world.kill(disks[1]);
            put(&rt, &volume, 1, 2).await;
            volume.flush().await.unwrap();
            let second = array.replace(MemberIx(1), &devices[6], false).await.unwrap();
            assert_eq!(ended(&rt, &array, first).await.state, JobState::Done);
            assert_eq!(ended(&rt, &array, second).await.state, JobState::Done);
            world.kill(disks[3]);
            world.kill(disks[4]);
            verify(&rt, &volume, |at| if at < 2 { at + 1 } else { at }).await;
        }
    });
}

#[test]
fn the_death_of_the_new_device_ends_the_job_and_nothing_else() {
    let world = World::new(6);
    let disks = make(&world, 1, 2, 1, 2);
    session(&world, &disks, |rt, devices| {
        let (world, disks) = (world.clone(), disks.clone());
        async move {
            let (array, volume) = open(&rt, &devices[..3]).await;
            fill(&rt, &volume, 0).await;
            let first = array.replace(MemberIx(0), &devices[3], true).await.unwrap();
            world.kill(disks[3]);
            assert!(matches!(ended(&rt, &array, first).await.state, JobState::Failed(_)));
            let second = array.replace(MemberIx(0), &devices[4], false).await.unwrap();
            assert_eq!(ended(&rt, &array, second).await.state, JobState::Done);
            verify(&rt, &volume, |at| at).await;
            array.close().await.unwrap();
        }
    });
    assert_clean(&world, &[disks[1], disks[2], disks[4]]);
}

#[test]
fn a_cancelled_rebuild_can_be_taken_up_again() {
    let world = World::new(7);
    let disks = make(&world, 1, 2, 1, 1);
    session(&world, &disks, |rt, devices| async move {
        let (array, volume) = open(&rt, &devices[..3]).await;
        fill(&rt, &volume, 0).await;
        let job = array.replace(MemberIx(2), &devices[3], true).await.unwrap();
        assert!(array.cancel_job(job));
        assert_eq!(ended(&rt, &array, job).await.state, JobState::Cancelled);
        assert!(!array.cancel_job(job));
        rt.sleep(Nanos::millis(50)).await;
        assert_eq!(states(&array)[2], MemberState::Failed);
        let job = array.replace(MemberIx(2), &devices[3], false).await.unwrap();
        assert_eq!(ended(&rt, &array, job).await.state, JobState::Done);
        verify(&rt, &volume, |at| at).await;
        array.close().await.unwrap();
    });
}

#[test]
fn a_member_that_went_on_without_the_others_is_refused() {
    let world = World::new(8);
    // Any one member of 1 + 2 can go on alone.
    let disks = make(&world, 1, 1, 2, 0);
    for half in [&disks[..2], &disks[2..]] {
        session(&world, half, |rt, devices| async move {
            let array = Array::open(&rt, &devices, &options()).await.unwrap();
            fill(&rt, &array.volume("v").unwrap(), devices.len() as u64).await;
            array.close().await.unwrap();
        });
    }
    session(&world, &disks[..2], |rt, devices| async move {
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        array.close().await.unwrap();
    });
    session(&world, &disks, |rt, devices| async move {
        // Neither side is dropped unless somebody says so.
        let error = Array::open(&rt, &devices, &options()).await.err();
        assert_eq!(error, Some(ArrayError::PartedWays { apart: "d2".into(), others: "d0, d1".into() }));
        let looked_at = Array::open(&rt, &devices, &OpenOptions { read_only: true, ..options() }).await.unwrap();
        assert!(looked_at.recovery().remarks.iter().any(|r| r.contains("d2 is stale: it went on without")));
        drop(looked_at);
        let report = check(&rt, &devices, &options(), |_| ()).await.unwrap();
        assert!(report.findings.iter().any(|f| f.kind == FindingKind::MemberParted), "{:?}", report.findings);
        let array = Array::open_by_force(&rt, &devices, &options()).await.unwrap();
        let remarks = &array.recovery().remarks;
        assert!(remarks.iter().any(|r| r.contains("d2 is stale: it went on without")), "{remarks:?}");
        verify(&rt, &array.volume("v").unwrap(), |at| at + 2).await;
        // By hand it is taken as a device like any other.
        let job = array.replace(MemberIx(2), &devices[2], true).await.unwrap();
        let job = ended(&rt, &array, job).await;
        assert_eq!((job.kind, job.state), (JobKind::Rebuild, JobState::Done));
        array.close().await.unwrap();
    });
    assert_clean(&world, &disks);
}

#[test]
fn an_old_copy_of_a_member_gets_what_it_lacks() {
    let world = World::new(9);
    let disks = make(&world, 1, 2, 1, 0);
    let write = |tag: u64| {
        session(&world, &disks, |rt, devices| async move {
            let array = Array::open(&rt, &devices, &options()).await.unwrap();
            healed(&rt, &array).await;
            fill(&rt, &array.volume("v").unwrap(), tag).await;
            array.close().await.unwrap();
        });
    };
    write(1);
    let copy = world.save(disks[1]);
    write(2);
    world.put_back(disks[1], &copy);
    session(&world, &disks, |rt, devices| {
        let (world, other) = (world.clone(), disks[0]);
        async move {
            let array = Array::open(&rt, &devices, &options()).await.unwrap();
            healed(&rt, &array).await;
            world.kill(other);
            verify(&rt, &array.volume("v").unwrap(), |at| at + 2).await;
        }
    });
}

/// As a backup that is put back, or a clone of a device that is found in its place.
#[test]
fn an_old_copy_is_known_though_the_array_was_never_stopped() {
    let killed = |world: &World, disks: &[DiskId], tag: u64| {
        session(world, disks, |rt, devices| async move {
            let array = Array::open(&rt, &devices, &options()).await.unwrap();
            healed(&rt, &array).await;
            fill(&rt, &array.volume("v").unwrap(), tag).await;
        });
    };
    let world = World::new(10);
    let disks = make(&world, 1, 2, 1, 0);
    killed(&world, &disks, 1);
    let copy = world.save(disks[1]);
    [2, 3].into_iter().for_each(|tag| killed(&world, &disks, tag));
    world.put_back(disks[1], &copy);
    session(&world, &disks, |rt, devices| {
        let (world, other) = (world.clone(), disks[0]);
        async move {
            let array = Array::open(&rt, &devices, &options()).await.unwrap();
            healed(&rt, &array).await;
            world.kill(other);
            verify(&rt, &array.volume("v").unwrap(), |at| at + 3).await;
        }
    });

    // Nobody else has what it lacks, and what it has is not shown for it.
    let world = World::new(11);
    let disks = make(&world, 2, 1, 1, 0);
    killed(&world, &disks, 1);
    let copy = world.save(disks[1]);
    [2, 3].into_iter().for_each(|tag| killed(&world, &disks, tag));
    world.put_back(disks[1], &copy);
    session(&world, &disks[1..], |rt, devices| async move {
        let error = Array::open(&rt, &devices, &options()).await.err();
        assert!(matches!(error, Some(ArrayError::TooManyMissing { .. })), "{error:?}");
    });
    killed(&world, &disks, 4);
}

/// The new device, and then one that it is filled from, die after each number of operations: in the wiping, the
/// restoring, the records of progress and the last steps.
#[test]
fn a_device_may_die_at_any_moment_of_a_rebuild() {
    let (mut refused, mut failed, mut done) = (0, 0, 0);
    for (dying, step, most) in [(5, 1, 80), (2, 4, 260)] {
        for operations in (1..most).step_by(step) {
            match rebuild_while_one_dies(dying, operations) {
                None => refused += 1,
                Some(JobState::Done) => done += 1,
                Some(_) => failed += 1,
            }
        }
    }
    assert!(refused > 10 && failed > 5 && done > 10, "{refused} refused, {failed} failed, {done} done");
}

/// Member 1 of 3 + 2 is replaced by device 5, and the device `dying` dies after so many operations. How the rebuild
/// ended, if it began; nothing written before or meanwhile may be lost.
fn rebuild_while_one_dies(dying: usize, operations: u64) -> Option<JobState> {
    const FEW: u64 = 300;
    let world = World::new(operations);
    let disks = make(&world, 1, 3, 2, 1);
    session(&world.clone(), &disks.clone(), |rt, devices| async move {
        let (array, volume) = open(&rt, &devices[..5]).await;
        for at in 0..FEW {
            put(&rt, &volume, at, at).await;
        }
        world.kill(disks[1]);
        while states(&array)[1] != MemberState::Missing {
            put(&rt, &volume, 0, 0).await;
            volume.flush().await.unwrap();
        }
        let taken = world.stats(disks[dying]);
        let taken = taken.reads + taken.writes + taken.flushes + taken.trims;
        let dies_after = Some(taken + operations);
        world.set_faults(disks[dying], FaultRates { dies_after, ..FaultRates::default() });
        let (mut end, mut overwritten) = (None, 0);
        if let Ok(job) = array.replace(MemberIx(1), &devices[5], false).await {
            overwritten = FEW / 4;
            for at in 0..overwritten {
                put(&rt, &volume, at, at + 9).await;
            }
            end = Some(ended(&rt, &array, job).await.state);
        }
        for at in 0..FEW {
            let data = volume.read(at * 4096, rt.alloc(4096).full()).await.unwrap();
            let tag = if at < overwritten { at + 9 } else { at };
            assert!(data.bytes() == block(tag), "block {at}, device {dying} dead after {operations} operations");
        }
        end
    })
}

#[test]
fn a_device_that_takes_no_writes_takes_no_member_s_place() {
    let world = World::new(12);
    let disks = make(&world, 1, 2, 1, 1);
    session(&world.clone(), &disks.clone(), |rt, devices| async move {
        let (array, volume) = open(&rt, &devices[..3]).await;
        fill(&rt, &volume, 0).await;
        world.set_faults(disks[3], FaultRates { failed_per_million: 1_000_000, ..FaultRates::default() });
        let refused = array.replace(MemberIx(2), &devices[3], true).await.unwrap_err();
        assert!(refused.to_string().contains("d3"), "{refused}");
        assert_eq!(states(&array), [MemberState::Online; 3]);
        // Nor is what it lacks of rights or of redundancy found out too late.
        world.set_faults(disks[3], FaultRates::default());
        let refused = array.replace(MemberIx(2), &devices[3], false).await.unwrap_err();
        assert!(matches!(refused, MemberError::StillOnline(_)), "{refused}");
        let job = array.replace(MemberIx(2), &devices[3], true).await.unwrap();
        assert_eq!(ended(&rt, &array, job).await.state, JobState::Done);
        verify(&rt, &volume, |at| at).await;
        array.close().await.unwrap();
    });
}

#[test]
fn a_spare_whose_device_fails_is_missed_and_is_one_again_when_it_is_back() {
    let world = World::new(13);
    let disks = make(&world, 1, 2, 1, 1);
    let spares =
        |array: &Array| array.status().spares.into_iter().map(|spare| (spare.uuid, spare.name)).collect::<Vec<_>>();
    let (failing, which) = (world.clone(), disks[3]);
    let uuid = session(&world, &disks, |rt, devices| async move {
        let array = Array::open(&rt, &devices[..3], &options()).await.unwrap();
        array.add_spare(&devices[3], false).await.unwrap();
        let uuid = array.status().spares[0].uuid;
        let fails = |failed_per_million| FaultRates { failed_per_million, ..FaultRates::default() };
        failing.set_faults(which, fails(1_000_000));
        array.create_volume("w", ByteSize(MIB), 0).await.unwrap();
        assert_eq!(spares(&array), [(uuid, None)]);
        failing.set_faults(which, fails(0));
        array.add_spare(&devices[3], false).await.unwrap();
        assert_eq!(spares(&array), [(uuid, Some("d3".into()))]);
        failing.set_faults(which, fails(1_000_000));
        array.create_volume("x", ByteSize(MIB), 0).await.unwrap();
        assert_eq!(spares(&array), [(uuid, None)]);
        failing.set_faults(which, fails(0));
        array.close().await.unwrap();
        uuid
    });
    session(&world.clone(), &disks.clone(), |rt, devices| async move {
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        assert_eq!(spares(&array), [(uuid, Some("d3".into()))]);
        world.kill(disks[1]);
        healed(&rt, &array).await;
        array.close().await.unwrap();
    });
}
