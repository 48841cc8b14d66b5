//! R-groups that leave while the array serves.

use cygnus_engine::{Array, Found, GroupError, JobKind, JobState, Salvage, VolumeError, inspect};
use cygnus_format::GroupState;
use cygnus_runtime::{DeviceInfo, Runtime};
use cygnus_sim::{DiskConfig, DiskId, World};
use cygnus_types::{ByteSize, GroupId, Nanos, ReactorId};

use crate::common::*;
use crate::sessions::*;

const GROUP: GroupId = GroupId(1);

/// The disks of the groups that stay.
fn left(disks: &[DiskId]) -> Vec<DiskId> {
    disks.iter().copied().enumerate().filter(|(n, _)| !(3..6).contains(n)).map(|(_, disk)| disk).collect()
}

async fn holds_nothing(rt: &Runtime, devices: &[DeviceInfo]) -> bool {
    for device in devices {
        if !matches!(inspect(rt, device).await.unwrap(), Found::Other(_)) {
            return false;
        }
    }
    true
}

/// Fills until the group that is to leave holds part of the data, among garbage.
async fn fill_its_group(rt: &Runtime, array: &Array) -> u64 {
    let volume = array.volume("v").unwrap();
    let mut tag = 0;
    while tag < 4 || array.status().groups[GROUP.index()].live_blocks == 0 {
        // In parts, so that garbage and live data mix.
        for at in (0..BLOCKS).filter(|at| (at + tag) % 3 != 0) {
            put(rt, &volume, at, at + tag).await;
        }
        tag += 1;
        fill(rt, &volume, tag).await;
    }
    tag
}

#[test]
fn a_group_leaves_with_nothing_lost() {
    let world = World::new(1);
    let disks = make(&world, 3, 2, 1, 0);
    let tag = session(&world, &disks, |rt, devices| async move {
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        fill_its_group(&rt, &array).await;
        let volume = array.volume("v").unwrap();
        volume.trim(0, 4096).await.unwrap();
        let before = array.status();
        let id = array.retire(GROUP).await.unwrap();
        let status = array.status();
        assert_eq!(status.groups[1].state, GroupState::Retiring);
        assert!(status.usable < before.usable, "at once");
        fill(&rt, &volume, 50).await;
        let job = ended(&rt, &array, id).await;
        assert_eq!((job.kind, &job.state, job.subject.as_str()), (JobKind::Retire, &JobState::Done, "R-group 1"));
        let group = array.status().groups[1].clone();
        assert_eq!((group.state, group.live_blocks, group.free), (GroupState::Retired, 0, 0));
        array.invariants().unwrap();
        assert!(holds_nothing(&rt, &devices[3..6]).await);
        verify(&rt, &volume, |at| at + 50).await;
        // Other members may go: those that have left are not missed.
        let error = array.replace(cygnus_types::MemberIx(4), &devices[3], false).await.unwrap_err();
        assert!(error.to_string().contains("has left"), "{error}");
        fill(&rt, &volume, 60).await;
        array.close().await.unwrap();
        60
    });
    let rest = left(&disks);
    assert_clean(&world, &rest);
    session(&world, &disks, |rt, devices| async move {
        let stay: Vec<_> =
            devices.iter().enumerate().filter(|(n, _)| !(3..6).contains(n)).map(|(_, d)| d.clone()).collect();
        let array = Array::open(&rt, &stay, &options()).await.unwrap();
        verify(&rt, &array.volume("v").unwrap(), |at| at + tag).await;
        array.close().await.unwrap();
    });
    assert_clean(&world, &rest);
    let complete = session(&world, &rest, |rt, devices| async move {
        Salvage::open(&rt, &devices, &options()).await.unwrap().knows_all_blocks()
    });
    assert!(complete, "a group that has left is not missed");
}

#[test]
fn what_cannot_leave_is_told_so_with_the_arithmetic() {
    let world = World::new(2);
    let disks = make(&world, 3, 2, 1, 0);
    session(&world, &disks, |rt, devices| async move {
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        assert!(matches!(array.retire(GroupId(3)).await.unwrap_err(), GroupError::NoGroup { groups: 3, .. }));
        let usable = array.status().usable;
        let big = array.create_volume("big", usable, 0).await.unwrap();
        let buf = rt.alloc(1 << 20).full();
        for at in 0..usable.0 * 9 / 10 / MIB {
            big.write(at * MIB, buf.clone()).await.unwrap();
        }
        let error = array.retire(GROUP).await.unwrap_err();
        assert!(matches!(error, GroupError::DoesNotFit { .. }) && error.to_string().contains("too much"), "{error}");
        array.delete_volume("big").await.unwrap();
        let id = array.retire(GROUP).await.unwrap();
        assert!(matches!(array.retire(GROUP).await.unwrap_err(), GroupError::NotInService { state: "retiring", .. }));
        assert_eq!(ended(&rt, &array, id).await.state, JobState::Done);
        let error = array.retire(GroupId(0)).await.unwrap_err();
        assert!(matches!(error, GroupError::TooFewLeft { needed: 2, left: 1, .. }), "{error}");
        array.close().await.unwrap();
    });
    assert_clean(&world, &left(&disks));
}

#[test]
fn volumes_may_grow_only_into_what_is_left() {
    let world = World::new(3);
    let disks = make(&world, 3, 2, 1, 0);
    session(&world, &disks, |rt, devices| async move {
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        let usable = array.status().usable;
        let id = array.retire(GROUP).await.unwrap();
        let big = array.create_volume("big", usable, 0).await.unwrap();
        let buf = rt.alloc(1 << 20).full();
        let mut written = 0;
        let error = loop {
            match big.write(written, buf.clone()).await {
                Ok(_) => written += MIB,
                Err(error) => break error,
            }
        };
        assert!(matches!(error, VolumeError::NoSpace { .. }), "{error}");
        assert!(ByteSize(written) < usable);
        assert_eq!(ended(&rt, &array, id).await.state, JobState::Done);
        array.invariants().unwrap();
    });
}

#[test]
fn a_cancelled_group_stays() {
    let world = World::new(4);
    let disks = make(&world, 3, 2, 1, 0);
    session(&world, &disks, |rt, devices| async move {
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        let tag = fill_its_group(&rt, &array).await;
        let usable = array.status().usable;
        let id = array.retire(GROUP).await.unwrap();
        rt.sleep(Nanos::micros(300)).await;
        assert!(array.cancel_job(id));
        assert_eq!(ended(&rt, &array, id).await.state, JobState::Cancelled);
        assert_eq!((array.status().groups[1].state, array.status().usable), (GroupState::InService, usable));
        array.invariants().unwrap();
        verify(&rt, &array.volume("v").unwrap(), |at| at + tag).await;
        fill(&rt, &array.volume("v").unwrap(), 90).await;
        array.close().await.unwrap();
    });
    assert_clean(&world, &disks);
}

/// A group that has left needs no space on its devices, and is no measure of a spare.
#[test]
fn a_spare_is_as_large_as_what_stays_needs() {
    let world = World::new(7);
    let mut disks = make(&world, 3, 2, 1, 0);
    disks.push(world.add_disk(DiskConfig::new("small", 8 * MIB)));
    session(&world, &disks, |rt, devices| async move {
        let array = Array::open(&rt, &devices[..9], &options()).await.unwrap();
        let id = array.retire(GROUP).await.unwrap();
        assert_eq!(ended(&rt, &array, id).await.state, JobState::Done);
        let error = array.add_spare(&devices[9], false).await.unwrap_err();
        assert!(error.to_string().contains("too small"), "{error}");
        array.close().await.unwrap();
    });
}

#[test]
fn a_group_that_lost_a_member_leaves_all_the_same() {
    let world = World::new(5);
    let disks = make(&world, 3, 2, 1, 0);
    session(&world, &disks, |rt, devices| {
        let (world, dying) = (world.clone(), disks[4]);
        async move {
            let array = Array::open(&rt, &devices, &options()).await.unwrap();
            let tag = fill_its_group(&rt, &array).await;
            let id = array.retire(GROUP).await.unwrap();
            rt.sleep(Nanos::micros(300)).await;
            world.kill(dying);
            assert_eq!(ended(&rt, &array, id).await.state, JobState::Done);
            verify(&rt, &array.volume("v").unwrap(), |at| at + tag).await;
            assert_eq!(array.status().health, cygnus_engine::ArrayHealth::Online, "nobody misses it");
            array.close().await.unwrap();
        }
    });
    assert_clean(&world, &left(&disks));
}

#[test]
fn a_cut_at_any_step_is_gone_on_with() {
    let mut unfinished = 0;
    for seed in 0..30_u64 {
        let world = World::new(seed);
        let disks = make(&world, 3, 2, 1, 0);
        let rt = world.reactor(ReactorId(0), &disks);
        let (inner, devices, cut) = (rt.clone(), world.infos(&disks), world.clone());
        // The cut ends the run before it is done.
        let _ = rt.run(async move {
            let array = Array::open(&inner, &devices, &options()).await.unwrap();
            fill(&inner, &array.volume("v").unwrap(), 3).await;
            fill(&inner, &array.volume("v").unwrap(), 4).await;
            cut.cut_power_after(Some(1 << (seed / 2)));
            array.retire(GROUP).await.unwrap();
            std::future::pending::<()>().await;
        });
        rt.drop_tasks();
        world.cut_power_after(None);
        world.cut_power();
        world.restore_power();
        let state = session(&world, &disks, |rt, devices| async move {
            let array = Array::open(&rt, &devices, &options()).await.unwrap();
            let found = array.status().groups[1].state;
            verify(&rt, &array.volume("v").unwrap(), |at| at + 4).await;
            if found == GroupState::InService {
                array.retire(GROUP).await.unwrap();
            }
            while array.status().groups[1].state != GroupState::Retired {
                rt.sleep(Nanos::millis(1)).await;
            }
            // Wiping them is the last that happens.
            while !holds_nothing(&rt, &devices[3..6]).await {
                rt.sleep(Nanos::millis(1)).await;
            }
            verify(&rt, &array.volume("v").unwrap(), |at| at + 4).await;
            array.invariants().unwrap();
            array.close().await.unwrap();
            found
        });
        unfinished += u32::from(state == GroupState::Retiring);
        assert_clean(&world, &left(&disks));
    }
    assert!(unfinished > 5, "{unfinished} were found retiring");
}
