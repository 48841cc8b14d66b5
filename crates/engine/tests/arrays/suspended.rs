//! Trouble that passes is survived: whatever happens to however many members for a while, nothing is recorded that would keep
//! the array from opening, nothing that was acknowledged is lost, and it goes on by itself.

use cygnus_engine::{Array, ArrayError, ArrayHealth, Trouble, VolumeError};
use cygnus_format::MemberState;
use cygnus_policy::LatencyRule;
use cygnus_runtime::{IoErrorKind, Runtime};
use cygnus_sim::{DiskId, World};
use cygnus_types::Nanos;

use crate::common::*;
use crate::sessions::*;

/// What happens to a member, and how it ends.
#[derive(Clone, Copy, Debug)]
enum Passing {
    Hang,
    Away,
    WritesFail,
    Refused,
}

const ALL: [Passing; 4] = [Passing::Hang, Passing::Away, Passing::WritesFail, Passing::Refused];

impl Passing {
    fn begin(self, world: &World, disk: DiskId) {
        match self {
            Self::Hang => world.hang(disk, None),
            Self::Away => world.kill(disk),
            Self::WritesFail => world.fail_writes(disk, Some(IoErrorKind::Medium)),
            Self::Refused => world.fail_writes(disk, Some(IoErrorKind::NoSpace)),
        }
    }

    fn end(self, world: &World, disk: DiskId) {
        match self {
            Self::Hang => world.release(disk),
            Self::Away => world.revive(disk),
            Self::WritesFail | Self::Refused => world.fail_writes(disk, None),
        }
    }
}

async fn until(rt: &Runtime, what: impl Fn() -> bool) {
    let begun = rt.now();
    while !what() {
        assert!(rt.now().since(begun) < Nanos::secs(300), "it does not come to that");
        rt.sleep(Nanos::millis(100)).await;
    }
}

/// Writes half of the blocks anew while `concerned` members are in trouble for `span`, flushes, and wants everything
/// whole afterwards, without anybody's help.
fn survives(k: u8, m: u8, concerned: &[usize], passing: Passing, span: Nanos) {
    let world = World::new(11);
    let disks = make(&world, 1, k, m, 0);
    let concerned: Vec<DiskId> = concerned.iter().map(|&n| disks[n]).collect();
    let suspends = concerned.len() > usize::from(m);
    session(&world, &disks, |rt, devices| {
        let (world, concerned) = (world.clone(), concerned.clone());
        async move {
            let (array, volume) = open(&rt, &devices).await;
            fill(&rt, &volume, 0).await;
            concerned.iter().for_each(|&disk| passing.begin(&world, disk));
            let begun = rt.now();
            let relief = {
                let (rt, world, concerned) = (rt.clone(), world.clone(), concerned.clone());
                async move {
                    rt.sleep(span).await;
                    concerned.iter().for_each(|&disk| passing.end(&world, disk));
                }
            };
            rt.spawn(relief);
            let health = {
                let (rt, array) = (rt.clone(), array.clone());
                async move {
                    rt.sleep(Nanos(span.0 - 1_000_000)).await;
                    let status = array.status();
                    let waits = status.suspended.map_or(0, |suspended| suspended.awaited.len());
                    assert_eq!(status.health == ArrayHealth::Suspended, suspends, "{passing:?}: {:?}", status.health);
                    assert!(waits == 0 || suspends);
                    let recorded = status.members.iter().filter(|member| !member.is_online()).count();
                    assert!(recorded <= usize::from(m), "{passing:?}: {recorded} members are recorded as lost");
                }
            };
            rt.spawn(health);
            for at in (0..BLOCKS).step_by(2) {
                put(&rt, &volume, at, at + 7).await;
            }
            volume.flush().await.unwrap();
            if suspends {
                assert!(rt.now().since(begun) >= span, "{passing:?}: a flush was answered that could not hold");
            }
            verify(&rt, &volume, |at| if at % 2 == 0 { at + 7 } else { at }).await;
            until(&rt, || rt.now().since(begun) > span).await;
            if !matches!(passing, Passing::WritesFail) || suspends {
                until(&rt, || array.status().health == ArrayHealth::Online).await;
            }
            array.close().await.unwrap();
        }
    });
    session(&world, &disks, |rt, devices| async move {
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        verify(&rt, &array.volume("v").unwrap(), |at| if at % 2 == 0 { at + 7 } else { at }).await;
        array.close().await.unwrap();
    });
    if suspends {
        assert_clean(&world, &disks);
    }
}

/// So long that a member that hangs is found out.
fn longer_than_patience() -> Nanos {
    LatencyRule::default().hung_after + Nanos::secs(10)
}

#[test]
fn two_members_of_a_group_may_be_in_trouble_for_a_while() {
    for passing in ALL {
        survives(2, 1, &[0, 2], passing, longer_than_patience());
    }
}

/// While the way to two members is lost their blocks cannot be read either. That says nothing of their media: nobody should have to look
/// at them afterwards.
#[test]
fn what_cannot_be_read_in_the_meantime_makes_nobody_suspect() {
    let world = World::new(12);
    let disks = make(&world, 1, 2, 1, 0);
    session(&world.clone(), &disks.clone(), |rt, devices| async move {
        let (array, volume) = open(&rt, &devices).await;
        fill(&rt, &volume, 0).await;
        for &disk in &disks[..2] {
            world.fail_reads(disk, 0..devices[0].size);
            world.fail_writes(disk, Some(IoErrorKind::Medium));
        }
        let buf = rt.alloc(4096);
        for at in 0..BLOCKS / 4 {
            let _ = volume.read(at * 4096, buf.full()).await;
        }
        let suspects = |array: &Array| array.status().members.iter().filter(|member| member.suspect.is_some()).count();
        let relief = {
            let (rt, array) = (rt.clone(), array.clone());
            async move {
                until(&rt, || array.status().suspended.is_some()).await;
                assert_eq!(suspects(&array), 0, "they are awaited");
                for &disk in &disks[..2] {
                    world.read_again(disk);
                    world.fail_writes(disk, None);
                }
            }
        };
        rt.spawn(relief);
        put(&rt, &volume, 0, 7).await;
        volume.flush().await.unwrap();
        until(&rt, || array.status().health == ArrayHealth::Online).await;
        assert_eq!(suspects(&array), 0);
        array.close().await.unwrap();
    });
}

#[test]
fn all_members_may_be_in_trouble_for_a_while() {
    for passing in ALL {
        survives(2, 1, &[0, 1, 2], passing, longer_than_patience());
        survives(1, 0, &[0], passing, longer_than_patience());
    }
}

#[test]
fn a_member_that_the_group_can_do_without_is_caught_up_by_itself() {
    for passing in ALL {
        survives(2, 1, &[1], passing, longer_than_patience());
        survives(2, 2, &[1, 3], passing, longer_than_patience() * 2);
    }
}

#[test]
fn a_file_system_that_is_full_suspends_and_is_no_members_fault() {
    let world = World::new(3);
    let disks = make(&world, 1, 2, 1, 0);
    session(&world, &disks, |rt, devices| {
        let (world, disks) = (world.clone(), disks.clone());
        async move {
            let (array, volume) = open(&rt, &devices).await;
            disks.iter().for_each(|&disk| world.fill_up(disk, true));
            for at in 0..100 {
                put(&rt, &volume, at, at).await;
            }
            until(&rt, || array.status().health == ArrayHealth::Suspended).await;
            let status = array.status();
            let suspended = status.suspended.unwrap();
            assert!(suspended.awaited.iter().all(|of| of.trouble == Some(Trouble::Full)), "{suspended:?}");
            assert!(suspended.words().contains("the file system below is full"), "{}", suspended.words());
            assert!(status.members.iter().all(|member| member.state != MemberState::Failed), "{:?}", states(&array));
            // What is in memory and on the devices is read meanwhile.
            let buf = rt.alloc(4096);
            assert!(volume.read(5 * 4096, buf.full()).await.unwrap().bytes() == block(5));
            disks.iter().for_each(|&disk| world.fill_up(disk, false));
            volume.flush().await.unwrap();
            healed(&rt, &array).await;
            array.close().await.unwrap();
        }
    });
    assert_clean(&world, &disks);
}

#[test]
fn requests_wait_for_as_long_as_the_operator_says_and_reads_are_served_meanwhile() {
    let world = World::new(4);
    let disks = make(&world, 1, 2, 1, 0);
    session(&world, &disks, |rt, devices| {
        let (world, disks) = (world.clone(), disks.clone());
        async move {
            let array = Array::open(&rt, &devices, &options()).await.unwrap();
            array.set_suspended_for(Nanos::secs(20));
            let volume = array.volume("v").unwrap();
            fill(&rt, &volume, 0).await;
            [disks[0], disks[1]].iter().for_each(|&disk| world.kill(disk));
            put(&rt, &volume, 0, 99).await;
            let begun = rt.now();
            let failed = volume.flush().await.unwrap_err();
            assert!(matches!(&failed, VolumeError::Suspended { waits_for } if waits_for.contains("d0")), "{failed}");
            let took = rt.now().since(begun);
            assert!((Nanos::secs(20)..Nanos::secs(22)).contains(&took), "{took}");
            // What is in memory is still read; what is on a device that answers, too; the rest fails, and at once.
            let buf = rt.alloc(4096);
            assert!(volume.read(0, buf.full()).await.unwrap().bytes() == block(99));
            let (mut served, mut refused) = (0, 0);
            for at in 1..300 {
                match volume.read(at * 4096, buf.full()).await {
                    Ok(data) => {
                        assert!(data.bytes() == block(at));
                        served += 1;
                    }
                    Err(VolumeError::Suspended { .. }) => refused += 1,
                    Err(error) => panic!("{error}"),
                }
            }
            assert!(served > 50 && refused > 50, "{served} served, {refused} refused");
            [disks[0], disks[1]].iter().for_each(|&disk| world.revive(disk));
            until(&rt, || array.status().health != ArrayHealth::Suspended).await;
            volume.flush().await.unwrap();
            verify(&rt, &volume, |at| if at == 0 { 99 } else { at }).await;
            array.close().await.unwrap();
        }
    });
}

/// Members that never come back: closing ends, says what it could not do, and the array opens when they are there.
#[test]
fn closing_a_suspended_array_ends() {
    for passing in ALL {
        let world = World::new(5);
        let disks = make(&world, 1, 2, 1, 0);
        session(&world, &disks, |rt, devices| {
            let (world, disks) = (world.clone(), disks.clone());
            async move {
                let (array, volume) = open(&rt, &devices).await;
                fill(&rt, &volume, 0).await;
                disks.iter().for_each(|&disk| passing.begin(&world, disk));
                put(&rt, &volume, 0, 99).await;
                let begun = rt.now();
                let error = array.close().await.unwrap_err();
                let took = rt.now().since(begun);
                assert!(took < Nanos::secs(150), "{passing:?}: {took}");
                assert!(matches!(&error, ArrayError::Suspended(why) if why.contains("may not be durable")), "{error}");
            }
        });
        disks.iter().for_each(|&disk| passing.end(&world, disk));
        session(&world, &disks, |rt, devices| async move {
            let (array, volume) = open(&rt, &devices).await;
            let buf = rt.alloc(4096);
            for at in 1..BLOCKS {
                assert!(volume.read(at * 4096, buf.full()).await.unwrap().bytes() == block(at), "block {at}");
            }
            assert_eq!(array.status().health, ArrayHealth::Online);
            array.close().await.unwrap();
        });
    }
}

#[test]
fn an_opening_with_too_few_members_says_which_and_records_nothing() {
    let world = World::new(6);
    let disks = make(&world, 1, 2, 1, 0);
    filled(&world, &disks);
    let before: Vec<_> = disks.iter().map(|&disk| world.stats(disk).writes).collect();
    [disks[1], disks[2]].iter().for_each(|&disk| world.kill(disk));
    session(&world, &disks, |rt, devices| async move {
        let Err(error) = Array::open(&rt, &devices, &options()).await else { panic!("it is opened") };
        assert!(error.to_string().contains("member 1") && error.to_string().contains("member 2"), "{error}");
    });
    [disks[1], disks[2]].iter().for_each(|&disk| world.revive(disk));
    let after: Vec<_> = disks.iter().map(|&disk| world.stats(disk).writes).collect();
    assert_eq!(before, after, "nothing was written");
    session(&world, &disks, |rt, devices| async move {
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        verify(&rt, &array.volume("v").unwrap(), |at| at).await;
        assert_eq!(array.status().health, ArrayHealth::Online);
        array.close().await.unwrap();
    });
}

/// Hung while it is being read at the opening, and more than the parity covers: nothing may be concluded from that.
#[test]
fn members_that_fall_silent_while_the_array_is_opened_are_no_reason_to_write_anything() {
    let world = World::new(7);
    let disks = make(&world, 1, 2, 1, 0);
    session(&world, &disks, |rt, devices| async move {
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        fill(&rt, &array.volume("v").unwrap(), 0).await;
    });
    for after in [1, 3, 10, 20] {
        let before: Vec<_> = disks.iter().map(|&disk| world.stats(disk).writes).collect();
        session(&world, &disks, |rt, devices| {
            let (world, disks) = (world.clone(), disks.clone());
            async move {
                let (waker, hung) = (rt.clone(), [disks[0], disks[1]]);
                rt.spawn({
                    let world = world.clone();
                    async move {
                        waker.sleep(Nanos::micros(100 * after)).await;
                        hung.iter().for_each(|&disk| world.hang(disk, None));
                    }
                });
                if let Err(error) = Array::open(&rt, &devices, &options()).await {
                    let text = error.to_string();
                    assert!(text.contains("d0") || text.contains("member 0"), "{text}");
                }
            }
        });
        [disks[0], disks[1]].iter().for_each(|&disk| world.release(disk));
        let after: Vec<_> = disks.iter().map(|&disk| world.stats(disk).writes).collect();
        assert_eq!(before, after, "nothing was written");
    }
    session(&world, &disks, |rt, devices| async move {
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        verify(&rt, &array.volume("v").unwrap(), |at| at).await;
        array.close().await.unwrap();
    });
}

/// A late write must not land on what was written since: while anything is on its way, nobody is let in.
#[test]
fn a_member_is_let_in_only_when_everything_submitted_before_has_ended() {
    let world = World::new(8);
    let disks = make(&world, 1, 2, 1, 0);
    session(&world, &disks, |rt, devices| {
        let (world, disks) = (world.clone(), disks.clone());
        async move {
            rt.set_patience(Nanos::secs(2));
            let (array, volume) = open(&rt, &devices).await;
            fill(&rt, &volume, 0).await;
            world.hang(disks[1], None);
            fill(&rt, &volume, 1).await;
            assert_eq!(array.status().members[1].state, MemberState::Missing);
            assert!(rt.in_flight(devices[1].ix) > 0);
            rt.sleep(Nanos::secs(100)).await;
            assert_eq!(array.status().members[1].state, MemberState::Missing);
            world.release(disks[1]);
            healed(&rt, &array).await;
            verify(&rt, &volume, |at| at + 1).await;
            array.close().await.unwrap();
        }
    });
    assert_clean(&world, &disks);
}

/// The power goes while the array is suspended: as after any crash, what was flushed is there.
#[test]
fn a_power_cut_while_suspended_loses_nothing_that_was_flushed() {
    for passing in ALL {
        let world = World::new(9);
        let disks = make(&world, 1, 2, 1, 0);
        session(&world, &disks, |rt, devices| {
            let (world, disks) = (world.clone(), disks.clone());
            async move {
                let (array, volume) = open(&rt, &devices).await;
                fill(&rt, &volume, 0).await;
                [disks[0], disks[1]].iter().for_each(|&disk| passing.begin(&world, disk));
                for at in 0..200 {
                    put(&rt, &volume, at, at + 5).await;
                }
                until(&rt, || array.status().health == ArrayHealth::Suspended).await;
                rt.sleep(Nanos::secs(10)).await;
            }
        });
        world.cut_power();
        world.restore_power();
        [disks[0], disks[1]].iter().for_each(|&disk| passing.end(&world, disk));
        session(&world, &disks, |rt, devices| async move {
            let (array, volume) = open(&rt, &devices).await;
            let buf = rt.alloc(4096);
            for at in 0..BLOCKS {
                let data = volume.read(at * 4096, buf.full()).await.unwrap();
                let new = at < 200 && data.bytes() == block(at + 5);
                assert!(new || data.bytes() == block(at), "{passing:?}: block {at}");
            }
            array.close().await.unwrap();
        });
        assert_clean(&world, &disks);
    }
}
