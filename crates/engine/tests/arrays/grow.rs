//! R-groups that are added while the array serves.

use cygnus_engine::{Array, ArrayError, GroupError, GroupRole, Volume, VolumeError, check, inspect};
use cygnus_runtime::Runtime;
use cygnus_sim::{DiskConfig, DiskId, World};
use cygnus_types::{ByteSize, GroupId};

use crate::common::*;
use crate::sessions::*;

/// As [`make`], and three disks of 24, 32 and 24 MiB that can be added.
fn with_more(world: &World) -> (Vec<DiskId>, Vec<DiskId>) {
    let old = make(world, 2, 2, 1, 0);
    let more = [24, 32, 24].iter().enumerate();
    let more = more.map(|(i, mib)| world.add_disk(DiskConfig::new(format!("n{i}"), mib * MIB)));
    (old, more.collect())
}

#[test]
fn a_group_is_added_takes_over_as_front_end_and_stays() {
    let world = World::new(1);
    let (old, new) = with_more(&world);
    let all: Vec<DiskId> = old.iter().chain(&new).copied().collect();
    session(&world, &all, |rt, devices| async move {
        let (array, volume) = open(&rt, &devices[..6]).await;
        fill(&rt, &volume, 0).await;
        let before = array.status().usable;
        let added = array.add_groups(&devices[6..], false).await.unwrap();
        assert_eq!((added.groups[0].group, added.usable_before), (GroupId(2), before));
        assert_eq!(added.groups[0].unused.0 / MIB, 8, "of the larger one: {added:?}");
        assert!(added.usable.0 > before.0 * 5 / 4 && array.status().usable == added.usable, "{added:?}");
        array.invariants().unwrap();
        // Whatever is front-end now: the next one is the new group.
        let front_end =
            |array: &Array| array.status().groups.iter().position(|group| group.role == GroupRole::FrontEnd).unwrap();
        let first = front_end(&array);
        let mut tag = 1;
        while front_end(&array) == first {
            fill(&rt, &volume, tag).await;
            tag += 1;
        }
        assert_eq!(front_end(&array), 2);
        fill(&rt, &volume, 100).await;
        assert!(array.status().groups[2].live_blocks > 0);
        verify(&rt, &volume, |at| at + 100).await;
        array.invariants().unwrap();
        array.close().await.unwrap();
    });
    session(&world, &all, |rt, devices| async move {
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        assert_eq!((array.status().groups.len(), array.status().members.len()), (3, 9));
        verify(&rt, &array.volume("v").unwrap(), |at| at + 100).await;
        array.close().await.unwrap();
    });
    assert_clean(&world, &all);
}

#[test]
fn data_in_a_new_group_survives_the_loss_of_a_member_and_a_crash() {
    let world = World::new(2);
    let (old, new) = with_more(&world);
    let all: Vec<DiskId> = old.iter().chain(&new).copied().collect();
    let last = session(&world, &all, |rt, devices| async move {
        let array = Array::open(&rt, &devices[..6], &options()).await.unwrap();
        array.add_groups(&devices[6..], false).await.unwrap();
        let mut tag = 0;
        while tag < 3 || array.status().groups[2].live_blocks == 0 {
            tag += 1;
            fill(&rt, &array.volume("v").unwrap(), tag).await;
        }
        tag
    });
    world.cut_power();
    world.restore_power();
    let left: Vec<DiskId> = all.iter().copied().filter(|&disk| disk != new[1]).collect();
    session(&world, &left, |rt, devices| async move {
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        verify(&rt, &array.volume("v").unwrap(), |at| at + last).await;
    });
}

#[test]
fn a_cut_at_any_step_leaves_all_of_it_or_nothing() {
    let (mut with, mut without) = (0, 0);
    for steps in (0..400).step_by(7) {
        let world = World::new(steps);
        let (old, new) = with_more(&world);
        let all: Vec<DiskId> = old.iter().chain(&new).copied().collect();
        let cut = world.clone();
        let rt = world.reactor(cygnus_types::ReactorId(0), &all);
        let (inner, devices) = (rt.clone(), world.infos(&all));
        // The cut ends the run before it is done.
        let _ = rt.run(async move {
            let array = Array::open(&inner, &devices[..6], &options()).await.unwrap();
            fill(&inner, &array.volume("v").unwrap(), 0).await;
            cut.cut_power_after(Some(steps));
            array.add_groups(&devices[6..], false).await.unwrap();
            fill(&inner, &array.volume("v").unwrap(), 0).await;
            std::future::pending::<()>().await;
        });
        rt.drop_tasks();
        world.cut_power_after(None);
        world.cut_power();
        world.restore_power();
        let groups = session(&world, &all, |rt, devices| async move {
            let array = Array::open(&rt, &devices, &options()).await.unwrap();
            verify(&rt, &array.volume("v").unwrap(), |at| at).await;
            if array.status().groups.len() == 2 {
                // What is left on them is no reason to ask for --force.
                array.add_groups(&devices[6..], false).await.unwrap();
                fill(&rt, &array.volume("v").unwrap(), 0).await;
                array.close().await.unwrap();
                return 2;
            }
            array.close().await.unwrap();
            3
        });
        if groups == 3 {
            with += 1
        } else {
            without += 1
        }
        assert_clean(&world, &all);
    }
    assert!(with > 5 && without > 5, "{with} with it, {without} without");
}

#[test]
fn what_cannot_be_added_is_refused_and_changes_nothing() {
    let world = World::new(3);
    let (old, new) = with_more(&world);
    let tiny = world.add_disk(DiskConfig::new("tiny", 2 * MIB));
    let mut all: Vec<DiskId> = old.iter().chain(&new).copied().collect();
    all.push(tiny);
    session(&world, &all, |rt, devices| async move {
        let array = Array::open(&rt, &devices[..6], &options()).await.unwrap();
        let refused = async |pick: &[usize]| {
            let devices: Vec<_> = pick.iter().map(|&n| devices[n].clone()).collect();
            array.add_groups(&devices, false).await.unwrap_err()
        };
        let text = refused(&[6, 7, 8, 9]).await.to_string();
        assert!(text.contains("give 2 more, or leave out 1, which can be added as a spare"), "{text}");
        assert!(matches!(refused(&[]).await, GroupError::NotWhole { .. }));
        assert!(matches!(refused(&[6, 7, 0]).await, GroupError::InService(name) if name == "d0"));
        assert!(matches!(refused(&[6, 7, 6]).await, GroupError::InService(name) if name == "n0"));
        assert!(matches!(refused(&[6, 7, 9]).await, GroupError::Array(ArrayError::TooSmall { .. })));
        let mut used = rt.alloc(4096);
        used.bytes_mut().fill(7);
        rt.write(devices[8].ix, 0, used.full()).await.unwrap();
        assert!(matches!(refused(&[6, 7, 8]).await, GroupError::Array(ArrayError::InUse { .. })));
        assert_eq!(array.status().groups.len(), 2);
        for device in [&devices[6], &devices[7]] {
            let found = inspect(&rt, device).await.unwrap();
            assert!(matches!(found, cygnus_engine::Found::Other(what) if what == "nothing"));
        }
        array.add_groups(&devices[6..9], true).await.unwrap();
        array.close().await.unwrap();
    });
    let report =
        session(
            &world,
            &all[..9],
            |rt, devices| async move { check(&rt, &devices, &options(), |_| {}).await.unwrap() },
        );
    assert!(report.findings.is_empty(), "{:#?}", report.findings);
}

#[test]
fn a_device_that_dies_meanwhile_leaves_the_array_as_it_was() {
    let world = World::new(4);
    let (old, new) = with_more(&world);
    let all: Vec<DiskId> = old.iter().chain(&new).copied().collect();
    world.kill(new[1]);
    session(&world, &all, |rt, devices| async move {
        let array = Array::open(&rt, &devices[..6], &options()).await.unwrap();
        let error = array.add_groups(&devices[6..], true).await.unwrap_err();
        assert!(error.to_string().contains("n1"), "{error}");
        assert_eq!(array.status().groups.len(), 2);
        fill(&rt, &array.volume("v").unwrap(), 0).await;
        array.close().await.unwrap();
    });
    assert_clean(&world, &old);
}

/// Writes block after block until there is no space; says how many there was space for.
async fn write_until_full(rt: &Runtime, volume: &Volume) -> u64 {
    let mut buf = rt.alloc(4096);
    for at in 0.. {
        buf.bytes_mut().copy_from_slice(&block(at));
        match volume.write(at * 4096, buf.full()).await {
            Ok(_) => {}
            Err(VolumeError::NoSpace { .. }) => return at,
            Err(error) => panic!("{error}"),
        }
    }
    unreachable!("the volume is larger than the array")
}

#[test]
fn a_full_array_goes_on_for_ever_and_has_three_ways_out() {
    for groups in [1, 2] {
        let world = World::new(5);
        let disks = make(&world, groups, 2, 1, 3);
        let members = groups * 3;
        let blocks = session(&world, &disks, |rt, devices| async move {
            let array = Array::open(&rt, &devices[..members], &options()).await.unwrap();
            let size = ByteSize(array.status().usable.0 * 2);
            let big = array.create_volume("big", size, 0).await.unwrap();
            let blocks = write_until_full(&rt, &big).await;
            assert_eq!(blocks * 4096, array.status().usable.0);
            // Overwriting needs cleaning, again and again, and no space.
            for i in 0..blocks * 3 {
                put(&rt, &big, rt.rng_u64() % blocks, i).await;
                if i % 4000 == 0 {
                    big.flush().await.unwrap();
                    array.invariants().unwrap();
                }
            }
            big.flush().await.unwrap();
            for at in 0..blocks {
                put(&rt, &big, at, at + 1).await;
            }
            big.flush().await.unwrap();
            blocks
        });
        world.cut_power();
        world.restore_power();
        session(&world, &disks, |rt, devices| async move {
            let array = Array::open(&rt, &devices[..members], &options()).await.unwrap();
            let (big, small) = (array.volume("big").unwrap(), array.volume("v").unwrap());
            assert_eq!(write_until_full(&rt, &small).await, 0, "still full");
            let buf = rt.alloc(4096);
            for at in (0..blocks).step_by(97) {
                assert!(big.read(at * 4096, buf.full()).await.unwrap().bytes() == block(at + 1));
            }
            big.trim(0, 50 * 4096).await.unwrap();
            assert_eq!(write_until_full(&rt, &small).await, 50, "what was trimmed");
            array.add_groups(&devices[members..], false).await.unwrap();
            assert!(
                write_until_full(&rt, &array.create_volume("w", ByteSize(64 * MIB), 0).await.unwrap()).await > 5000
            );
            let mapped = array.status().mapped;
            array.delete_volume("big").await.unwrap();
            assert!(array.status().mapped.0 <= mapped.0 - (blocks - 50) * 4096);
            array.invariants().unwrap();
            array.close().await.unwrap();
        });
        assert_clean(&world, &disks);
    }
}
