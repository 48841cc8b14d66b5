//! Members that were absent when the array was opened, or gave no answer then, come back while it is served, without an
//! operator: whoever serves it shows what is where they were.

use cygnus_engine::{Array, ArrayHealth, JobKind, NotLetIn};
use cygnus_format::MemberState;
use cygnus_runtime::{DeviceInfo, Runtime};
use cygnus_sim::{DiskId, World};
use cygnus_types::{MemberIx, Nanos};

use crate::common::*;
use crate::sessions::*;

/// The member that is absent.
const ABSENT: usize = 1;

/// Devices without the one that is absent.
fn others(devices: &[DeviceInfo]) -> Vec<DeviceInfo> {
    devices.iter().filter(|device| device.ix != devices[ABSENT].ix).cloned().collect()
}

fn sought(array: &Array) -> Vec<MemberIx> {
    array.sought().into_iter().filter(|sought| sought.device.is_none()).map(|sought| sought.member).collect()
}

/// Every second block is written anew.
fn newer(at: u64) -> u64 {
    if at.is_multiple_of(2) { at + 7 } else { at }
}

async fn write_anew(rt: &Runtime, array: &Array) {
    let volume = array.volume("v").unwrap();
    for at in (0..BLOCKS).step_by(2) {
        put(rt, &volume, at, newer(at)).await;
    }
    volume.flush().await.unwrap();
}

/// Everything is there, and the member's part of it too: also without another member.
fn whole_without_another(world: &World, disks: &[DiskId], tag: impl Fn(u64) -> u64) {
    assert_clean(world, disks);
    session(world, disks, |rt, devices| async move {
        let (array, volume) = open(&rt, &devices[1..]).await;
        verify(&rt, &volume, tag).await;
        array.close().await.unwrap();
    });
}

fn is_back(groups: usize, k: u8, m: u8) {
    let world = World::new(3);
    let disks = make(&world, groups, k, m, 0);
    filled(&world, &disks);
    session(&world, &disks, |rt, devices| async move {
        let (array, _) = open(&rt, &others(&devices)).await;
        write_anew(&rt, &array).await;
        assert_eq!(sought(&array), [MemberIx(ABSENT as u16)]);
        array.show(MemberIx(ABSENT as u16), &devices[ABSENT]).await.unwrap();
        assert_eq!(sought(&array), []);
        healed(&rt, &array).await;
        let jobs = array.jobs();
        assert!(jobs.iter().any(|job| job.kind == JobKind::CatchUp), "it gets what it missed, and not all: {jobs:?}");
        array.close().await.unwrap();
    });
    whole_without_another(&world, &disks, newer);
}

#[test]
fn a_member_that_was_absent_comes_back() {
    is_back(1, 2, 1);
    is_back(2, 2, 1);
    is_back(1, 1, 1);
    is_back(1, 3, 2);
}

#[test]
fn a_member_that_gave_no_answer_when_the_array_was_opened_comes_back() {
    let world = World::new(4);
    let disks = make(&world, 1, 2, 1, 0);
    filled(&world, &disks);
    world.hang(disks[ABSENT], None);
    session(&world, &disks, |rt, devices| {
        let (world, disk) = (world.clone(), disks[ABSENT]);
        async move {
            let (array, _) = open(&rt, &devices).await;
            assert_eq!(states(&array)[ABSENT], MemberState::Missing);
            let member = MemberIx(ABSENT as u16);
            // As long as it owes an answer, nothing is asked of it.
            let shown = array.show(member, &devices[ABSENT]).await;
            assert!(matches!(shown, Err(NotLetIn::Silent(_))), "{shown:?}");
            write_anew(&rt, &array).await;
            world.release(disk);
            rt.sleep(Nanos::secs(1)).await;
            array.show(member, &devices[ABSENT]).await.unwrap();
            healed(&rt, &array).await;
            array.close().await.unwrap();
        }
    });
    whole_without_another(&world, &disks, newer);
}

#[test]
fn one_that_has_come_back_and_goes_again_is_looked_after_like_the_others() {
    let world = World::new(5);
    let disks = make(&world, 1, 2, 1, 0);
    filled(&world, &disks);
    session(&world, &disks, |rt, devices| {
        let (world, disk) = (world.clone(), disks[ABSENT]);
        async move {
            let (array, _) = open(&rt, &others(&devices)).await;
            array.show(MemberIx(ABSENT as u16), &devices[ABSENT]).await.unwrap();
            healed(&rt, &array).await;
            for _ in 0..2 {
                world.kill(disk);
                write_anew(&rt, &array).await;
                while array.status().health != ArrayHealth::Degraded {
                    rt.sleep(Nanos::millis(10)).await;
                }
                assert_eq!(sought(&array), [], "its device is known");
                world.revive(disk);
                healed(&rt, &array).await;
            }
            array.close().await.unwrap();
        }
    });
    whole_without_another(&world, &disks, newer);
}

#[test]
fn it_comes_back_while_the_array_is_suspended() {
    let world = World::new(6);
    let disks = make(&world, 1, 2, 1, 0);
    filled(&world, &disks);
    session(&world, &disks, |rt, devices| {
        let (world, disks) = (world.clone(), disks.clone());
        async move {
            let (array, _) = open(&rt, &others(&devices)).await;
            world.kill(disks[2]);
            let volume = array.volume("v").unwrap();
            put(&rt, &volume, 0, newer(0)).await;
            let flush = {
                let volume = volume.clone();
                async move { volume.flush().await }
            };
            rt.spawn(async move { flush.await.unwrap() });
            while array.status().health != ArrayHealth::Suspended {
                rt.sleep(Nanos::millis(10)).await;
            }
            array.show(MemberIx(ABSENT as u16), &devices[ABSENT]).await.unwrap();
            rt.sleep(Nanos::secs(20)).await;
            assert_eq!(array.status().health, ArrayHealth::Suspended, "it lacks what only the other one has");
            world.revive(disks[2]);
            healed(&rt, &array).await;
            write_anew(&rt, &array).await;
            array.close().await.unwrap();
        }
    });
    whole_without_another(&world, &disks, newer);
}

/// A member is shown, and so long after that the array begins to close.
fn shown_while_it_closes(after: Nanos) {
    let world = World::new(7);
    let disks = make(&world, 1, 2, 1, 0);
    filled(&world, &disks);
    session(&world, &disks, |rt, devices| async move {
        let (array, _) = open(&rt, &others(&devices)).await;
        let (showing, device) = (array.clone(), devices[ABSENT].clone());
        // In time to be let in or not: both end.
        rt.spawn(async move { drop(showing.show(MemberIx(ABSENT as u16), &device).await) });
        rt.sleep(after).await;
        array.clone().close().await.unwrap();
        assert_eq!(sought(&array), []);
        let shown = array.show(MemberIx(ABSENT as u16), &devices[ABSENT]).await;
        assert!(matches!(shown, Err(NotLetIn::NotSought(_))), "{shown:?}");
    });
    session(&world, &disks, |rt, devices| async move {
        let (array, volume) = open(&rt, &devices).await;
        healed(&rt, &array).await;
        verify(&rt, &volume, |at| at).await;
        array.close().await.unwrap();
    });
    assert_clean(&world, &disks);
}

#[test]
fn one_may_come_at_any_time_while_the_array_closes() {
    for micros in [0, 20, 50, 100, 200, 400, 800, 1600, 3200] {
        shown_while_it_closes(Nanos::micros(micros));
    }
}

/// What a device has where superblocks and probes are written.
fn beginning(world: &World, disk: DiskId) -> Vec<u8> {
    session(world, &[disk], |rt, devices| async move {
        let buf = rt.alloc(cygnus_format::DATA_START as usize);
        rt.read(devices[0].ix, 0, buf.full()).await.unwrap();
        buf.bytes().to_vec()
    })
}

/// A device is shown, is refused, and nothing is written to it.
fn stranger(disks: &[DiskId], world: &World, shown: DiskId) -> NotLetIn {
    let before = beginning(world, shown);
    let mut all = disks.to_vec();
    all[ABSENT] = shown;
    let error = session(world, &all, |rt, devices| async move {
        let (array, _) = open(&rt, &others(&devices)).await;
        let error = array.show(MemberIx(ABSENT as u16), &devices[ABSENT]).await.unwrap_err();
        assert_eq!(sought(&array), [MemberIx(ABSENT as u16)], "it is looked for all the same");
        assert_eq!(states(&array)[ABSENT], MemberState::Missing);
        array.close().await.unwrap();
        error
    });
    assert!(before == beginning(world, shown), "something was written to a stranger's device");
    error
}

#[test]
fn strangers_are_not_let_in_and_nothing_is_written_to_them() {
    let world = World::new(8);
    let disks = make(&world, 1, 2, 1, 1);
    let (members, blank) = (disks[..3].to_vec(), disks[3]);
    filled(&world, &members);
    assert!(matches!(stranger(&members, &world, blank), NotLetIn::Silent(_)), "a blank one");
    let foreign = make(&world, 1, 2, 1, 0);
    let error = stranger(&members, &world, foreign[ABSENT]).to_string();
    assert!(error.contains("is of another array"), "{error}");
}

#[test]
fn a_device_in_service_is_not_let_in_as_another_member() {
    let world = World::new(9);
    let disks = make(&world, 1, 2, 1, 0);
    filled(&world, &disks);
    session(&world, &disks, |rt, devices| async move {
        let (array, _) = open(&rt, &others(&devices)).await;
        let shown = array.show(MemberIx(ABSENT as u16), &devices[0]).await;
        assert!(matches!(shown, Err(NotLetIn::InUse(_))), "{shown:?}");
        let shown = array.show(MemberIx(0), &devices[ABSENT]).await;
        assert!(matches!(shown, Err(NotLetIn::NotSought(_))), "{shown:?}");
        array.close().await.unwrap();
    });
}

#[test]
fn one_that_went_on_without_the_others_is_not_believed() {
    let world = World::new(10);
    let disks = make(&world, 1, 1, 1, 0);
    filled(&world, &disks);
    // Each of the two copies is opened without the other one.
    session(&world, &disks, |rt, devices| async move {
        let (array, _) = open(&rt, &devices[ABSENT..]).await;
        write_anew(&rt, &array).await;
        array.close().await.unwrap();
    });
    session(&world, &disks, |rt, devices| async move {
        let (array, volume) = open(&rt, &devices[..ABSENT]).await;
        let error = array.show(MemberIx(ABSENT as u16), &devices[ABSENT]).await.unwrap_err().to_string();
        assert!(error.contains("went on without the other"), "{error}");
        verify(&rt, &volume, |at| at).await;
        array.close().await.unwrap();
    });
}

#[test]
fn one_that_does_not_take_a_write_is_not_let_in() {
    let world = World::new(11);
    let disks = make(&world, 1, 2, 1, 0);
    filled(&world, &disks);
    session(&world, &disks, |rt, devices| {
        let (world, disk) = (world.clone(), disks[ABSENT]);
        async move {
            let (array, _) = open(&rt, &others(&devices)).await;
            world.fill_up(disk, true);
            world.fail_writes(disk, Some(cygnus_runtime::IoErrorKind::NoSpace));
            let shown = array.show(MemberIx(ABSENT as u16), &devices[ABSENT]).await;
            assert!(matches!(shown, Err(NotLetIn::Refuses { .. })), "{shown:?}");
            world.fill_up(disk, false);
            world.fail_writes(disk, None);
            array.show(MemberIx(ABSENT as u16), &devices[ABSENT]).await.unwrap();
            healed(&rt, &array).await;
            array.close().await.unwrap();
        }
    });
}

#[test]
fn numbers_of_a_session_that_left_no_trace_are_not_given_out_again() {
    let world = World::new(11);
    let disks = make(&world, 1, 2, 1, 0);
    filled(&world, &disks);
    // A session of which only one member keeps anything: the others lose what no flush had covered.
    let there = world.clone();
    let all = disks.clone();
    let saved = session(&world, &disks, |rt, devices| async move {
        let (_array, volume) = open(&rt, &devices).await;
        let saved: Vec<_> = all.iter().map(|&disk| there.save(disk)).collect();
        for at in 0..BLOCKS {
            put(&rt, &volume, at, at + 7000).await;
        }
        rt.sleep(Nanos::millis(20)).await;
        rt.flush(devices[0].ix).await.unwrap();
        there.cut_power();
        saved
    });
    world.restore_power();
    (1..3).for_each(|n| world.put_back(disks[n], &saved[n]));
    // The others go on without it, and write less; then it comes back.
    session(&world, &disks, |rt, devices| async move {
        let (array, volume) = open(&rt, &devices[1..]).await;
        put(&rt, &volume, 0, 9000).await;
        volume.flush().await.unwrap();
        array.show(MemberIx(0), &devices[0]).await.unwrap();
        healed(&rt, &array).await;
        verify(&rt, &volume, |at| if at == 0 { 9000 } else { at }).await;
        array.close().await.unwrap();
    });
    // What it had of that session could pass for something newer than the last checkpoint.
    assert_clean(&world, &disks);
}
