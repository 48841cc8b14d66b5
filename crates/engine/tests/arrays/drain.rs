//! Members that still work hand over to spares.

use cygnus_engine::{Array, ArrayHealth, Found, JobKind, JobState, MemberError, inspect};
use cygnus_format::{DATA_START, MemberState};
use cygnus_sim::{DiskConfig, DiskId, FaultRates, World};
use cygnus_types::{MemberIx, Nanos, ReactorId};

use crate::common::*;
use crate::sessions::*;

#[test]
fn a_drained_member_leaves_with_all_redundancy_kept() {
    for (groups, k, m) in [(1, 2, 1), (2, 2, 1), (1, 3, 2)] {
        let world = World::new(1);
        let members = groups * usize::from(k + m);
        let disks = make(&world, groups, k, m, 1);
        session(&world.clone(), &disks.clone(), |rt, devices| async move {
            let (array, volume) = open(&rt, &devices[..members]).await;
            fill(&rt, &volume, 0).await;
            array.add_spare(&devices[members], false).await.unwrap();
            let job = array.drain(MemberIx(1)).await.unwrap();
            rt.sleep(Nanos::millis(2)).await;
            assert_eq!(array.status().health, ArrayHealth::Online);
            assert_eq!(array.status().members[1].successor.as_deref(), Some(devices[members].name.as_str()));
            for at in 0..BLOCKS / 2 {
                put(&rt, &volume, at, at + 9).await;
            }
            let job = ended(&rt, &array, job).await;
            assert_eq!((job.kind, job.state.clone()), (JobKind::Drain, JobState::Done), "{job:?}");
            assert!(job.done > 0 && job.done == job.total, "{job:?}");
            let status = array.status();
            assert_eq!((status.members[1].name.as_str(), status.spares.len()), (devices[members].name.as_str(), 0));
            assert_eq!((status.health, status.members[1].successor.as_deref()), (ArrayHealth::Online, None));
            let left = inspect(&rt, &devices[1]).await.unwrap();
            assert!(!matches!(left, Found::Member(_)), "{left:?}");
            // Now as many others may go as the parity covers.
            for &disk in disks.iter().skip(2).take(usize::from(m)) {
                world.kill(disk);
            }
            verify(&rt, &volume, |at| if at < BLOCKS / 2 { at + 9 } else { at }).await;
        });
    }
}

/// While two members of a group cannot be read in the same places, neither gives what is there. It must not be gone for good by the time
/// that one of them can be read again.
#[test]
fn a_member_whose_blocks_cannot_be_read_now_is_not_relieved() {
    for drained in 0..3 {
        let world = World::new(3);
        let disks = make(&world, 1, 2, 1, 1);
        session(&world.clone(), &disks.clone(), |rt, devices| async move {
            let (array, volume) = open(&rt, &devices[..3]).await;
            fill(&rt, &volume, 0).await;
            array.add_spare(&devices[3], false).await.unwrap();
            let unread = [drained, (drained + 1) % 3];
            let size = devices[0].size;
            unread.iter().for_each(|&n| world.fail_reads(disks[n], DATA_START..size));
            let job = array.drain(MemberIx(drained as u16)).await.unwrap();
            let job = ended(&rt, &array, job).await;
            let JobState::Failed(why) = &job.state else { panic!("{job:?}") };
            assert!(why.contains("stays in its place"), "{why}");
            let status = array.status();
            assert_eq!(
                (status.members[drained].name.as_str(), status.spares.len()),
                (devices[drained].name.as_str(), 1)
            );
            // One of the two is well again, and then the drain is done too.
            world.read_again(disks[unread[1]]);
            verify(&rt, &volume, |at| at).await;
            let job = array.drain(MemberIx(drained as u16)).await.unwrap();
            assert_eq!(ended(&rt, &array, job).await.state, JobState::Done);
            verify(&rt, &volume, |at| at).await;
        });
    }
}

#[test]
fn a_drained_array_passes_its_check_and_a_scrub() {
    let world = World::new(2);
    let disks = make(&world, 2, 2, 1, 1);
    session(&world, &disks, |rt, devices| async move {
        let (array, volume) = open(&rt, &devices[..6]).await;
        array.add_spare(&devices[6], false).await.unwrap();
        for round in 0..4 {
            fill(&rt, &volume, round).await;
        }
        let job = array.drain(MemberIx(4)).await.unwrap();
        fill(&rt, &volume, 6).await;
        assert_eq!(ended(&rt, &array, job).await.state, JobState::Done);
        let report = array.scrub(0).await;
        assert!(report.complete && report.found() == 0, "{report:?}");
        array.close().await.unwrap();
    });
    let left: Vec<DiskId> = disks.iter().copied().filter(|&d| d != disks[4]).collect();
    assert_clean(&world, &left);
}

/// What the old device cannot give, or gives wrong, comes from the others; and nobody takes its word for it.
#[test]
fn what_a_rotten_member_cannot_give_comes_from_the_others() {
    let world = World::new(3);
    let disks = make(&world, 1, 2, 1, 1);
    session(&world.clone(), &disks.clone(), |rt, devices| async move {
        let (array, volume) = open(&rt, &devices[..3]).await;
        fill(&rt, &volume, 0).await;
        array.checkpoint().await.unwrap();
        for n in 0..600 {
            let at = DATA_START + n * 10 * 4096;
            match n % 3 {
                0 => world.fail_reads(disks[0], at..at + 4096),
                _ => world.flip_bit(disks[0], at + n, 3),
            }
        }
        array.add_spare(&devices[3], false).await.unwrap();
        let job = array.drain(MemberIx(0)).await.unwrap();
        assert_eq!(ended(&rt, &array, job).await.state, JobState::Done);
        world.kill(disks[1]);
        verify(&rt, &volume, |at| at).await;
    });
}

/// Another member may die while one is drained: there is redundancy for that.
#[test]
fn the_death_of_another_member_does_not_end_a_drain() {
    let world = World::new(4);
    let disks = make(&world, 1, 2, 1, 1);
    session(&world.clone(), &disks.clone(), |rt, devices| async move {
        let (array, volume) = open(&rt, &devices[..3]).await;
        fill(&rt, &volume, 0).await;
        array.add_spare(&devices[3], false).await.unwrap();
        let job = array.drain(MemberIx(0)).await.unwrap();
        world.kill(disks[2]);
        put(&rt, &volume, 0, 5).await;
        volume.flush().await.unwrap();
        // The spare is promised: it is not promoted.
        assert_eq!(ended(&rt, &array, job).await.state, JobState::Done);
        assert_eq!(states(&array), [MemberState::Online, MemberState::Online, MemberState::Missing]);
        assert_eq!(array.status().members[0].name, "d3");
        verify(&rt, &volume, |at| if at == 0 { 5 } else { at }).await;
    });
}

#[test]
fn a_drain_that_makes_no_sense_is_refused_with_the_remedy() {
    let world = World::new(5);
    let mut disks = make(&world, 1, 2, 1, 1);
    disks.push(world.add_disk(DiskConfig::new("small", 8 * MIB)));
    session(&world.clone(), &disks.clone(), |rt, devices| async move {
        let array = Array::open(&rt, &devices[..3], &options()).await.unwrap();
        fill(&rt, &array.volume("v").unwrap(), 0).await;
        let error = array.drain(MemberIx(0)).await.unwrap_err();
        assert!(error.to_string().contains("'cygnus array spare add'"), "{error}");
        array.add_spare(&devices[3], false).await.unwrap();
        let job = array.drain(MemberIx(0)).await.unwrap();
        assert!(matches!(array.drain(MemberIx(0)).await, Err(MemberError::Rebuilding(_))));
        assert!(matches!(array.drain(MemberIx(1)).await, Err(MemberError::NoFittingSpare { .. })), "it is promised");
        assert!(matches!(array.remove_spare("d3").await, Err(MemberError::Successor { .. })));
        assert!(matches!(array.replace(MemberIx(0), &devices[4], true).await, Err(MemberError::Array(_))), "too small");
        assert!(array.cancel_job(job));
        assert_eq!(ended(&rt, &array, job).await.state, JobState::Cancelled);
        assert_eq!((array.status().spares.len(), array.status().members[0].name.as_str()), (1, "d0"));
        array.remove_spare("d3").await.unwrap();
        world.kill(disks[0]);
        put(&rt, &array.volume("v").unwrap(), 0, 0).await;
        array.volume("v").unwrap().flush().await.unwrap();
        let error = array.drain(MemberIx(0)).await.unwrap_err();
        assert!(error.to_string().contains("d0 is missing"), "{error}");
        let error = array.drain(MemberIx(1)).await.unwrap_err();
        assert!(matches!(error, MemberError::GroupLacks { .. }), "a spare is wanted in the lost one's place: {error}");
    });
}

#[test]
fn a_cancelled_drain_leaves_everything_as_it_was_and_can_begin_again() {
    let world = World::new(6);
    let disks = make(&world, 1, 2, 1, 1);
    session(&world, &disks, |rt, devices| async move {
        let (array, volume) = open(&rt, &devices[..3]).await;
        fill(&rt, &volume, 0).await;
        array.add_spare(&devices[3], false).await.unwrap();
        for pause in [0, 200, 1_000, 3_000] {
            let job = array.drain(MemberIx(2)).await.unwrap();
            rt.sleep(Nanos::micros(pause)).await;
            array.cancel_job(job);
            let end = ended(&rt, &array, job).await;
            assert_eq!(end.state, JobState::Cancelled, "after {pause} us");
            fill(&rt, &volume, pause).await;
        }
        let job = array.drain(MemberIx(2)).await.unwrap();
        assert_eq!(ended(&rt, &array, job).await.state, JobState::Done);
        verify(&rt, &volume, |at| at + 3_000).await;
        array.close().await.unwrap();
    });
    assert_clean(&world, &[disks[0], disks[1], disks[3]]);
}

/// The old device, the new one, and a third one die after each number of operations.
#[test]
fn a_device_may_die_at_any_moment_of_a_drain() {
    let (mut failed, mut done) = (0, 0);
    for (dying, step, most) in [(1, 3, 260), (5, 3, 200), (2, 7, 260)] {
        for operations in (1..most).step_by(step) {
            match drain_while_one_dies(dying, operations) {
                JobState::Done => done += 1,
                JobState::Failed(why) => {
                    assert!(why.contains(&format!("d{dying} ")), "d{dying} died: {why}");
                    failed += 1;
                }
                other => panic!("{other:?}"),
            }
        }
    }
    assert!(failed > 20 && done > 20, "{failed} failed, {done} done");
}

/// Member 1 of 3 + 2 is drained onto device 5 or 6, and the device `dying` dies after so many operations. How the drain
/// ended; nothing written before or meanwhile may be lost, and in the end the array is whole again.
fn drain_while_one_dies(dying: usize, operations: u64) -> JobState {
    const FEW: u64 = 300;
    let world = World::new(operations);
    let disks = make(&world, 1, 3, 2, 2);
    let alive: Vec<DiskId> = disks.iter().copied().filter(|&disk| disk != disks[dying]).collect();
    let device = disks[dying];
    let (faulty, after) = (world.clone(), operations);
    let end = session(&world, &disks, |rt, devices| async move {
        let (array, volume) = open(&rt, &devices[..5]).await;
        for at in 0..FEW {
            put(&rt, &volume, at, at).await;
        }
        volume.flush().await.unwrap();
        array.add_spare(&devices[5], false).await.unwrap();
        let taken = faulty.stats(device);
        let dies_after = Some(taken.reads + taken.writes + taken.flushes + taken.trims + after);
        faulty.set_faults(device, FaultRates { dies_after, ..FaultRates::default() });
        let job = array.drain(MemberIx(1)).await.unwrap();
        for at in 0..FEW / 4 {
            put(&rt, &volume, at, at + 9).await;
        }
        let end = ended(&rt, &array, job).await.state;
        volume.flush().await.unwrap();
        for at in 0..FEW {
            let data = volume.read(at * 4096, rt.alloc(4096).full()).await.unwrap();
            let tag = if at < FEW / 4 { at + 9 } else { at };
            assert!(data.bytes() == block(tag), "block {at}, device {dying} dead after {operations} operations");
        }
        // Whatever died, another spare makes the array whole.
        if array.status().spares.is_empty() {
            array.add_spare(&devices[6], false).await.unwrap();
        }
        healed(&rt, &array).await;
        array.close().await.unwrap();
        end
    });
    session(&world, &alive, |rt, devices| async move {
        let (array, volume) = open(&rt, &devices).await;
        healed(&rt, &array).await;
        for at in 0..FEW {
            let data = volume.read(at * 4096, rt.alloc(4096).full()).await.unwrap();
            assert!(data.bytes() == block(if at < FEW / 4 { at + 9 } else { at }), "block {at} after all");
        }
    });
    end
}

/// After a power cut the place has gone to the spare, or the spare is one still; in either case nobody lacks anything.
#[test]
fn a_power_cut_finds_a_drain_done_or_forgotten() {
    let (mut forgotten, mut done) = (0, 0);
    for seed in 0..40 {
        let world = World::new(seed);
        let disks = make(&world, 1, 2, 1, 1);
        session(&world, &disks, |rt, devices| async move {
            let array = Array::open(&rt, &devices[..3], &options()).await.unwrap();
            fill(&rt, &array.volume("v").unwrap(), 0).await;
            array.add_spare(&devices[3], false).await.unwrap();
            array.close().await.unwrap();
        });
        let rt = world.reactor(ReactorId(0), &disks);
        let infos = world.infos(&disks);
        let main = {
            let rt = rt.clone();
            async move {
                let array = Array::open(&rt, &infos, &options()).await.unwrap();
                array.drain(MemberIx(1)).await.unwrap();
                rt.sleep(Nanos::secs(5)).await;
            }
        };
        world.cut_power_after(Some(60 + 40 * seed));
        let _ = rt.run(main);
        rt.drop_tasks();
        world.cut_power_after(None);
        world.restore_power();
        let moved = session(&world, &disks, |rt, devices| {
            let (world, other) = (world.clone(), disks[0]);
            async move {
                let array = Array::open(&rt, &devices, &options()).await.unwrap();
                let status = array.status();
                assert_eq!(status.health, ArrayHealth::Online, "after cut {seed}");
                let moved = status.members[1].name == "d3";
                assert_eq!(status.spares.len(), usize::from(!moved));
                world.kill(other);
                verify(&rt, &array.volume("v").unwrap(), |at| at).await;
                moved
            }
        });
        *if moved { &mut done } else { &mut forgotten } += 1;
    }
    assert!(forgotten > 3 && done > 3, "{forgotten} forgotten, {done} done");
}

/// A copy of a device from when it was a spare holds nothing of what the member holds that it has become since.
#[test]
fn an_old_copy_of_a_spare_is_not_taken_for_the_member() {
    for crash in [false, true] {
        let world = World::new(7);
        let disks = make(&world, 1, 2, 1, 1);
        session(&world, &disks, |rt, devices| async move {
            let array = Array::open(&rt, &devices[..3], &options()).await.unwrap();
            fill(&rt, &array.volume("v").unwrap(), 0).await;
            array.add_spare(&devices[3], false).await.unwrap();
            array.close().await.unwrap();
        });
        let copy = world.save(disks[3]);
        session(&world, &disks, |rt, devices| async move {
            let array = Array::open(&rt, &devices, &options()).await.unwrap();
            let job = array.drain(MemberIx(1)).await.unwrap();
            assert_eq!(ended(&rt, &array, job).await.state, JobState::Done);
            if !crash {
                array.close().await.unwrap();
            }
        });
        world.put_back(disks[3], &copy);
        session(&world, &disks, |rt, devices| async move {
            let array = Array::open(&rt, &devices, &options()).await.unwrap();
            assert_eq!(states(&array)[1], MemberState::Missing);
            let remarks = &array.recovery().remarks;
            assert!(remarks.iter().any(|r| r.contains("d3 is stale: it is an old copy")), "{remarks:?}");
            verify(&rt, &array.volume("v").unwrap(), |at| at).await;
        });
    }
}
