//! Numbers and addresses of R-groups that have left, used again.

use cygnus_engine::{Array, Found, Salvage, inspect};
use cygnus_format::{ArrayState, GroupState};
use cygnus_runtime::{DeviceInfo, Runtime};
use cygnus_sim::{DiskConfig, DiskId, World};
use cygnus_types::GroupId;

use crate::common::*;
use crate::sessions::*;

/// Disks for so many more groups of three, of sizes that differ from group to group.
fn more(world: &World, groups: usize) -> Vec<DiskId> {
    let mib = |n: usize| [32, 20, 40, 28][n / 3 % 4];
    (0..3 * groups).map(|n| world.add_disk(DiskConfig::new(format!("n{n}"), mib(n) * MIB))).collect()
}

/// What the superblock of a member says.
async fn state_on(rt: &Runtime, device: &DeviceInfo) -> ArrayState {
    match inspect(rt, device).await.unwrap() {
        Found::Member(superblock) => superblock.state,
        other => panic!("{other:?}"),
    }
}

/// Retires a group and waits until it has left.
async fn retired(rt: &Runtime, array: &Array, group: u16) {
    let id = array.retire(GroupId(group)).await.unwrap();
    assert_eq!(ended(rt, array, id).await.state, cygnus_engine::JobState::Done);
}

fn there(state: &ArrayState) -> usize {
    state.groups.iter().filter(|group| group.state != GroupState::Retired).count()
}

/// Every group is replaced by one of other devices and another size, ten times over: one more number than there are groups
/// at a time is ever in use, and no address above what the groups needed that were there at once.
#[test]
fn ten_refreshes_take_neither_numbers_nor_addresses() {
    let world = World::new(1);
    let mut old = make(&world, 2, 2, 1, 0);
    let mut shelf = more(&world, 3);
    let mut peak = 0;
    for refresh in 0..10 {
        for _ in 0..2 {
            let (leaving, coming): (Vec<DiskId>, Vec<DiskId>) = (old.drain(..3).collect(), shelf.drain(..3).collect());
            let all: Vec<DiskId> = leaving.iter().chain(&old).chain(&coming).copied().collect();
            let segments = session(&world, &all, |rt, devices| async move {
                let array = Array::open(&rt, &devices[..6], &options()).await.unwrap();
                fill(&rt, &array.volume("v").unwrap(), 2 * refresh).await;
                // Those that have left know it, and what else they hold is of no use to anybody.
                array.add_groups(&devices[6..], refresh > 0).await.unwrap();
                let with = state_on(&rt, &devices[3]).await;
                fill(&rt, &array.volume("v").unwrap(), 2 * refresh + 1).await;
                let status = array.status();
                let group = status.members.iter().find(|member| member.name == devices[0].name).unwrap().group;
                retired(&rt, &array, group.0).await;
                array.invariants().unwrap();
                verify(&rt, &array.volume("v").unwrap(), |at| at + 2 * refresh + 1).await;
                let layout = state_on(&rt, &devices[3]).await.layout().unwrap();
                assert!(with.groups.len() == 3 && there(&with) == 3, "no fourth number");
                assert_eq!(layout.segments(group), 0);
                let segments = with.groups.iter().map(|group| group.segments()).sum::<u32>();
                let end = with.layout().unwrap().end_frame();
                // Every other time the array is cut off rather than stopped.
                if refresh % 2 == 0 {
                    array.close().await.unwrap();
                }
                (segments, end)
            });
            peak = peak.max(segments.0);
            assert!(segments.1 <= u64::from(peak), "{} frames in use, at most {peak} segments at once", segments.1);
            if refresh % 2 == 1 {
                world.cut_power();
                world.restore_power();
            }
            old.extend(coming);
            shelf.extend(leaving);
        }
        let left = old.clone();
        session(&world, &left, |rt, devices| async move {
            let array = Array::open(&rt, &devices, &options()).await.unwrap();
            verify(&rt, &array.volume("v").unwrap(), |at| at + 2 * refresh + 1).await;
            array.invariants().unwrap();
            array.close().await.unwrap();
        });
        assert_clean(&world, &left);
    }
}

/// Devices of a group that has left, which were away when it did and still say that they are its members.
fn with_a_group_that_was_away(world: &World) -> (Vec<DiskId>, Vec<DiskId>, Vec<DiskId>) {
    let disks = make(world, 3, 2, 1, 0);
    let (away, new) = (disks[3..6].to_vec(), more(world, 1));
    let stay: Vec<DiskId> = disks[..3].iter().chain(&disks[6..]).copied().collect();
    let all: Vec<DiskId> = disks.iter().chain(&new).copied().collect();
    let images: Vec<_> = session(world, &all, |rt, devices| {
        let (world, away) = (world.clone(), away.clone());
        async move {
            let array = Array::open(&rt, &devices[..9], &options()).await.unwrap();
            fill(&rt, &array.volume("v").unwrap(), 1).await;
            let images = away.iter().map(|&disk| world.save(disk)).collect();
            retired(&rt, &array, 1).await;
            let added = array.add_groups(&devices[9..], false).await.unwrap();
            assert_eq!(added.groups[0].group, GroupId(1), "the number of the one that left");
            // New data, in the new group too, for it is the next front-end.
            let mut tag = 2;
            while tag < 4 || array.status().groups[1].live_blocks == 0 {
                fill(&rt, &array.volume("v").unwrap(), tag).await;
                tag += 1;
            }
            fill(&rt, &array.volume("v").unwrap(), 90).await;
            array.close().await.unwrap();
            images
        }
    });
    for (&disk, image) in away.iter().zip(&images) {
        world.put_back(disk, image);
    }
    (stay, new, away)
}

#[test]
fn devices_of_a_group_that_left_are_no_members_of_the_one_with_its_number() {
    let world = World::new(2);
    let (stay, new, away) = with_a_group_that_was_away(&world);
    // One of the new members is not there, and a device with its number is.
    let given: Vec<DiskId> = stay.iter().chain(&new[1..]).chain(&away).copied().collect();
    session(&world, &given, |rt, devices| async move {
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        let remarks = array.recovery().remarks.join("\n");
        assert_eq!(remarks.matches("has left the array with its R-group: leave it out").count(), 3, "{remarks}");
        assert_eq!(array.status().members.iter().filter(|member| !member.is_online()).count(), 1);
        verify(&rt, &array.volume("v").unwrap(), |at| at + 90).await;
        for device in &devices[8..] {
            assert!(matches!(inspect(&rt, device).await.unwrap(), Found::Member(_)), "not ours to wipe any more");
        }
        array.close().await.unwrap();
    });
    // Two are not: beyond redundancy, whatever else is there.
    let given: Vec<DiskId> = stay.iter().chain(&new[2..]).chain(&away).copied().collect();
    session(&world, &given, |rt, devices| async move {
        let error = Array::open(&rt, &devices, &options()).await.err().unwrap();
        assert!(error.to_string().contains("member 3"), "{error}");
        let salvage = Salvage::open(&rt, &devices, &options()).await.unwrap();
        let remarks = salvage.remarks().join("\n");
        assert!(!remarks.contains("is used as member"), "{remarks}");
        assert_eq!(remarks.matches("has left the array with its R-group, and is not needed").count(), 3, "{remarks}");
    });
}

#[test]
fn the_same_devices_may_come_back_as_a_new_group() {
    let world = World::new(3);
    let disks = make(&world, 3, 2, 1, 0);
    session(&world, &disks, |rt, devices| async move {
        let (array, volume) = open(&rt, &devices).await;
        for tag in 0..5 {
            fill(&rt, &volume, tag).await;
            volume.trim(0, 64 * 4096).await.unwrap();
            retired(&rt, &array, 1).await;
            // Old stripes of these very segments lie on them.
            let added = array.add_groups(&devices[3..6], true).await.unwrap();
            assert_eq!(added.groups[0].group, GroupId(1));
            array.invariants().unwrap();
        }
        fill(&rt, &volume, 40).await;
    });
    world.cut_power();
    world.restore_power();
    session(&world, &disks, |rt, devices| async move {
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        verify(&rt, &array.volume("v").unwrap(), |at| at + 40).await;
        array.invariants().unwrap();
        array.close().await.unwrap();
    });
    assert_clean(&world, &disks);
}

#[test]
fn a_cut_while_a_number_changes_hands_leaves_a_whole_array() {
    let mut found = [0; 3];
    for seed in 0..24_u64 {
        let world = World::new(seed);
        let (disks, new) = (make(&world, 3, 2, 1, 0), more(&world, 1));
        let all: Vec<DiskId> = disks.iter().chain(&new).copied().collect();
        let rt = world.reactor(cygnus_types::ReactorId(0), &all);
        let (inner, devices, cut) = (rt.clone(), world.infos(&all), world.clone());
        // The cut ends the run before it is done.
        let _ = rt.run(async move {
            let array = Array::open(&inner, &devices[..9], &options()).await.unwrap();
            fill(&inner, &array.volume("v").unwrap(), 3).await;
            let id = array.retire(GroupId(1)).await.unwrap();
            while array.status().groups[1].state != GroupState::Retired {
                inner.sleep(cygnus_types::Nanos::micros(50)).await;
            }
            cut.cut_power_after(Some(seed * 40));
            array.add_groups(&devices[9..], false).await.unwrap();
            fill(&inner, &array.volume("v").unwrap(), 3).await;
            ended(&inner, &array, id).await;
            std::future::pending::<()>().await;
        });
        rt.drop_tasks();
        world.cut_power_after(None);
        world.cut_power();
        world.restore_power();
        let state = session(&world, &all, |rt, devices| async move {
            let array = Array::open(&rt, &devices, &options()).await.unwrap();
            verify(&rt, &array.volume("v").unwrap(), |at| at + 3).await;
            while array.status().groups[1].state == GroupState::Retiring {
                rt.sleep(cygnus_types::Nanos::millis(1)).await;
            }
            if array.status().groups[1].state == GroupState::Retired {
                array.add_groups(&devices[9..], false).await.unwrap();
                array.close().await.unwrap();
                return 0;
            }
            let coming = array.status().members[3].name == devices[9].name;
            array.invariants().unwrap();
            array.close().await.unwrap();
            1 + usize::from(coming)
        });
        found[state] += 1;
        let members: Vec<DiskId> = disks[..3].iter().chain(&disks[6..]).chain(&new).copied().collect();
        assert_clean(&world, &members);
    }
    assert!(found[0] > 3 && found[2] > 3 && found[1] == 0, "{found:?}");
}
