//! Arrays on four media: who finds no room goes on along the order of media, and hybrid volumes are on any two of them.

use cygnus_engine::{
    Array, ArrayError, CreateOptions, OpenOptions, Volume, VolumeAdminError, VolumeError, VolumeOptions, create,
};
use cygnus_format::Raid;
use cygnus_policy::{HybridRule, Preset, Victim, WARMTH_BLOCKS};
use cygnus_runtime::{DeviceInfo, Runtime};
use cygnus_sim::World;
use cygnus_types::{ByteSize, Constraint, GroupId, Medium, Nanos, Tiers};

use crate::common::*;
use crate::media::{add_disks, crashed, make_mixed_as, room_on, salsa, spread_over, stay_where_they_are_wanted};
use crate::sessions::*;

/// A group on each medium, in this order.
const FOUR: &[Medium] = &[Medium::Smr, Medium::Nvm, Medium::Disk, Medium::Flash];

fn constrained(constraint: Constraint) -> VolumeOptions {
    VolumeOptions { constraint, ..VolumeOptions::default() }
}

/// Writes a volume from its begin until there is no room for more; how many blocks that were, and what it was told then.
async fn fill(rt: &Runtime, volume: &Volume) -> (u64, VolumeError) {
    let (data, mut written) = (rt.alloc(4096), 0);
    loop {
        match volume.write(written * 4096, data.full()).await {
            Ok(()) => written += 1,
            Err(error) => return (written, error),
        }
    }
}

/// Blocks of a volume, by the number of their medium: so many on one.
fn all_on(medium: Medium, blocks: u64) -> [u64; Medium::ALL.len()] {
    Medium::ALL.map(|on| if on == medium { blocks } else { 0 })
}

#[test]
fn blocks_stay_on_each_of_four_media() {
    stay_where_they_are_wanted(FOUR);
}

#[test]
fn recovery_keeps_to_constraints_on_four_media() {
    (0..4).for_each(|seed| crashed(seed, FOUR));
    crashed(4, &[Medium::Nvm, Medium::Smr]);
    crashed(5, &[Medium::Disk, Medium::Smr, Medium::Nvm]);
}

#[test]
fn who_prefers_a_full_medium_goes_to_the_nearest() {
    let world = World::new(2);
    let disks = add_disks(&world, 12);
    session(&world, &disks, |rt, devices| async move {
        let array = make_mixed_as(&rt, &devices, ByteSize(64 * MIB), salsa(4, FOUR)).await;
        let volume = |name: &str| array.volume(name).unwrap();
        let mut fell_back = 0;
        // Of each the medium, and what is nearest when it is full, and when that is full too.
        for (medium, nearest) in
            [(Medium::Smr, Medium::Disk), (Medium::Disk, Medium::Flash), (Medium::Flash, Medium::Nvm)]
        {
            let (written, error) = fill(&rt, &volume(&format!("only-{medium}"))).await;
            assert!(matches!(error, VolumeError::NoSpaceOn { medium: on, .. } if on == medium), "{error}");
            assert_eq!(room_on(&array, medium), 0);
            assert_eq!(spread_over(&array, &format!("only-{medium}"), written).await, all_on(medium, written));
            for full in [Medium::Smr, Medium::Disk, Medium::Flash].into_iter().take_while(|full| *full != nearest) {
                let prefers = volume(&format!("prefers-{full}"));
                for at in 0..200 {
                    put(&rt, &prefers, at, at).await;
                }
                prefers.flush().await.unwrap();
                fell_back += 200;
                let spread = spread_over(&array, &format!("prefers-{full}"), 200).await;
                assert_eq!(spread, all_on(nearest, 200), "of what prefers {full} when {medium} is full");
                assert_eq!(array.status().traffic.fell_back, fell_back);
                prefers.trim(0, 200 * 4096).await.unwrap();
            }
        }
        array.close().await.unwrap();
    });
    assert_clean(&world, &disks);
}

#[test]
fn who_may_be_anywhere_fills_all_media_alike() {
    let world = World::new(3);
    let disks = add_disks(&world, 12);
    session(&world, &disks, |rt, devices| async move {
        let array = make_mixed_as(&rt, &devices, ByteSize(128 * MIB), salsa(4, FOUR)).await;
        let only = array.volume("only-smr").unwrap();
        for at in 0..500 {
            put(&rt, &only, at, at).await;
        }
        let any = array.volume("v").unwrap();
        for at in 0..4000 {
            put(&rt, &any, at, at).await;
        }
        let spread = spread_over(&array, "v", 4000).await;
        let [flash, disk, nvm, smr] = spread;
        assert!(flash.abs_diff(disk) < 400 && disk.abs_diff(nvm) < 400 && smr + 300 < flash, "{spread:?}");
        let (_, error) = fill(&rt, &any).await;
        assert!(matches!(error, VolumeError::NoSpace { .. }), "{error}");
        assert!(FOUR.iter().all(|medium| room_on(&array, *medium) == 0), "all are full at the same time");
        for at in 0..500 {
            put(&rt, &only, at, 2 * at).await;
            put(&rt, &any, at, at).await;
        }
        array.close().await.unwrap();
    });
    assert_clean(&world, &disks);
}

/// Reads a range until it is hot, and once more.
async fn read_often(rt: &Runtime, volume: &Volume, range: u64) {
    for _ in 0..4 {
        for at in (range * WARMTH_BLOCKS..(range + 1) * WARMTH_BLOCKS).step_by(32) {
            let data = volume.read(at * 4096, rt.alloc(32 * 4096).full()).await.unwrap();
            assert!(data.bytes()[..4096] == block(at), "block {at}");
        }
    }
}

#[test]
fn hybrid_volumes_are_on_the_two_media_that_they_name() {
    let world = World::new(4);
    let disks = add_disks(&world, 12);
    let rule = HybridRule { full_from: 20, at_a_time: 8, cools_after: Nanos::secs(2), ..HybridRule::default() };
    // What is on disks because it is hot comes before what is written there.
    let pairs = [(Medium::Disk, Medium::Smr), (Medium::Nvm, Medium::Disk), (Medium::Flash, Medium::Smr)];
    let pairs = pairs.map(|(one, other)| Tiers::new(one, other).unwrap());
    const RANGES: u64 = 6;
    const SIZE: u64 = RANGES * WARMTH_BLOCKS;
    session(&world, &disks, |rt, devices| async move {
        create(&rt, &devices, &salsa(4, FOUR)).await.unwrap();
        let array = Array::open(&rt, &devices, &OpenOptions { hybrid: rule, ..options() }).await.unwrap();
        for tiers in pairs {
            let name = tiers.to_string().replace(',', "-");
            let constraint = constrained(Constraint::Hybrid(tiers));
            array.create_volume_with(&name, ByteSize::of_blocks(SIZE), constraint, 0).await.unwrap();
            let volume = array.volume(&name).unwrap();
            for at in 0..SIZE {
                put(&rt, &volume, at, at).await;
            }
            volume.flush().await.unwrap();
            assert_eq!(spread_over(&array, &name, SIZE).await, all_on(tiers.slow(), SIZE));
            let on = |array: &Array| array.status().volumes.iter().find(|of| of.name == name).unwrap().on_fast;
            let before = array.status().traffic.demoted;
            for range in 0..RANGES {
                // Time for what is cold to leave.
                for _ in 0..4 {
                    read_often(&rt, &volume, range).await;
                    rt.sleep(Nanos::secs(1)).await;
                }
            }
            let spread = spread_over(&array, &name, SIZE).await;
            let (fast, slow) = (spread[tiers.fast().index()], spread[tiers.slow().index()]);
            assert!(
                fast > WARMTH_BLOCKS / 4 && fast + slow == SIZE,
                "{tiers}: {spread:?}, {:?}",
                array.status().traffic
            );
            assert_eq!(on(&array), Some(ByteSize::of_blocks(fast)));
            let demoted = array.status().traffic.demoted - before;
            assert!(demoted > 0, "{tiers}: what is read no more leaves");
        }
        array.close().await.unwrap();
    });
    world.cut_power();
    world.restore_power();
    session(&world, &disks, |rt, devices| async move {
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        let wants: Vec<Constraint> = array.status().volumes.iter().map(|volume| volume.constraint).collect();
        assert_eq!(wants, pairs.map(Constraint::Hybrid), "it is on record");
        for tiers in pairs {
            let volume = array.volume(&tiers.to_string().replace(',', "-")).unwrap();
            read_often(&rt, &volume, RANGES - 1).await;
        }
        array.close().await.unwrap();
    });
    assert_clean(&world, &disks);
}

/// A slower medium that is full sends writes of a hybrid volume to the faster one of its two, and only then elsewhere.
#[test]
fn hybrid_volumes_go_to_their_other_medium_first() {
    let world = World::new(5);
    let disks = add_disks(&world, 12);
    session(&world, &disks, |rt, devices| async move {
        let array = make_mixed_as(&rt, &devices, ByteSize(64 * MIB), salsa(4, FOUR)).await;
        let constraint = constrained(Constraint::Hybrid(Tiers::new(Medium::Nvm, Medium::Smr).unwrap()));
        array.create_volume_with("h", ByteSize(64 * MIB), constraint, 0).await.unwrap();
        let hybrid = array.volume("h").unwrap();
        for (full, to) in [(Medium::Smr, Medium::Nvm), (Medium::Nvm, Medium::Disk)] {
            fill(&rt, &array.volume(&format!("only-{full}")).unwrap()).await;
            for at in 0..100 {
                put(&rt, &hybrid, at, at).await;
            }
            hybrid.flush().await.unwrap();
            assert_eq!(spread_over(&array, "h", 100).await, all_on(to, 100));
            hybrid.trim(0, 100 * 4096).await.unwrap();
        }
        array.close().await.unwrap();
    });
    assert_clean(&world, &disks);
}

async fn open_on(rt: &Runtime, devices: &[DeviceInfo], media: &[Medium]) -> Array {
    let how = CreateOptions { force: true, ..salsa(media.len(), media) };
    create(rt, &devices[..3 * media.len()], &how).await.unwrap();
    Array::open(rt, &devices[..3 * media.len()], &options()).await.unwrap()
}

#[test]
fn hybrid_takes_the_fastest_and_the_slowest_where_nothing_is_said() {
    let world = World::new(6);
    let disks = add_disks(&world, 9);
    session(&world, &disks, |rt, devices| async move {
        let array = open_on(&rt, &devices, &[Medium::Disk, Medium::Smr, Medium::Flash]).await;
        assert_eq!(array.widest_tiers("v"), Ok(Tiers::new(Medium::Flash, Medium::Smr).unwrap()));
        let lacking = constrained(Constraint::Hybrid(Tiers::new(Medium::Nvm, Medium::Smr).unwrap()));
        let refused = array.create_volume_with("v", ByteSize(MIB), lacking, 0).await.map(drop).unwrap_err();
        let words = refused.to_string();
        assert!(words.contains("no R-group is on nvm") && words.contains("--media nvm,smr"), "{words}");
        let refused = array.create_volume_with("v", ByteSize(MIB), constrained(Constraint::Only(Medium::Nvm)), 0).await;
        let words = refused.map(drop).unwrap_err().to_string();
        assert!(words.contains("only on nvm") && words.contains("--media nvm"), "{words}");
        array.close().await.unwrap();
        for (only, lacks) in [(Medium::Nvm, Medium::Disk), (Medium::Smr, Medium::Flash), (Medium::Disk, Medium::Flash)]
        {
            let array = open_on(&rt, &devices, &[only]).await;
            let refused = array.widest_tiers("v").unwrap_err();
            let tiers = Tiers::new(only, lacks).unwrap();
            assert_eq!(refused, VolumeAdminError::NotHybrid { volume: "v".into(), tiers, lacks });
            array.close().await.unwrap();
        }
        let swan =
            CreateOptions { force: true, preset: Preset::Swan, ..salsa(3, &[Medium::Nvm, Medium::Nvm, Medium::Smr]) };
        let refused = create(&rt, &devices, &swan).await.unwrap_err().to_string();
        assert!(refused.contains("R-group 0 is on nvm and R-group 2 on smr"), "{refused}");
    });
}

#[test]
fn groups_on_other_media_come_and_go() {
    let world = World::new(7);
    let disks = add_disks(&world, 12);
    session(&world, &disks, |rt, devices| async move {
        let array = open_on(&rt, &devices, &[Medium::Flash, Medium::Flash]).await;
        array.create_volume("v", ByteSize(8 * MIB), 0).await.unwrap();
        let any = array.volume("v").unwrap();
        for at in 0..1000 {
            put(&rt, &any, at, at).await;
        }
        for (at, medium) in [(6, Medium::Smr), (9, Medium::Nvm)] {
            array.add_groups_on(&devices[at..at + 3], &[medium], false).await.unwrap();
            let only = constrained(Constraint::Only(medium));
            array.create_volume_with(medium.word(), ByteSize(8 * MIB), only, 0).await.unwrap();
            let only = array.volume(medium.word()).unwrap();
            for at in 0..1000 {
                put(&rt, &only, at, at).await;
                put(&rt, &any, at, 3 * at).await;
            }
            assert_eq!(spread_over(&array, medium.word(), 1000).await, all_on(medium, 1000));
        }
        array.retire(GroupId(2)).await.unwrap_err();
        for group in [0, 1] {
            let job = array.retire(GroupId(group)).await.unwrap();
            assert_eq!(ended(&rt, &array, job).await.state, cygnus_engine::JobState::Done);
        }
        let [flash, disk, nvm, smr] = spread_over(&array, "v", 1000).await;
        assert!(flash + disk == 0 && nvm + smr == 1000, "{nvm} {smr}");
        array.close().await.unwrap();
    });
    session(&world, &disks[6..], |rt, devices| async move {
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        assert_eq!(array.widest_tiers("h"), Ok(Tiers::new(Medium::Nvm, Medium::Smr).unwrap()));
        let (any, buf) = (array.volume("v").unwrap(), rt.alloc(4096));
        for at in 0..1000 {
            assert!(any.read(at * 4096, buf.full()).await.unwrap().bytes() == block(3 * at), "block {at}");
        }
        array.close().await.unwrap();
    });
    assert_clean(&world, &disks[6..]);
}

#[test]
fn each_medium_may_have_a_shape_and_a_rule_of_cleaning() {
    let world = World::new(8);
    let disks = add_disks(&world, 10);
    let raid = |data, parity| Raid { data, parity };
    let how = CreateOptions {
        groups: None,
        raid_on: vec![(Medium::Nvm, raid(1, 1)), (Medium::Flash, raid(2, 1)), (Medium::Smr, raid(3, 2))],
        victim_on: vec![(Medium::Smr, Victim::Oldest), (Medium::Nvm, Victim::Choices { among: 3 })],
        ..salsa(3, &[Medium::Nvm, Medium::Flash, Medium::Smr])
    };
    let rules = [(Medium::Nvm, Victim::Choices { among: 3 }), (Medium::Smr, Victim::Oldest)];
    session(&world, &disks, |rt, devices| async move {
        let swan = CreateOptions { preset: Preset::Swan, raid_on: Vec::new(), ..how.clone() };
        let refused = create(&rt, &devices[..9], &swan).await.unwrap_err();
        assert!(matches!(&refused, ArrayError::Invalid(why) if why.contains("by medium")), "{refused}");
        let array = make_mixed_as(&rt, &devices, ByteSize(4 * MIB), how).await;
        assert_eq!(array.status().cleaning_on, rules);
        let names = array.volume_names();
        for n in 0..30_000_u64 {
            let volume = array.volume(&names[n as usize % names.len()]).unwrap();
            put(&rt, &volume, n * 7919 % 1024, n).await;
        }
        assert!(array.status().traffic.victims > 20, "{:?}", array.status().traffic);
        array.close().await.unwrap();
    });
    session(&world, &disks, |rt, devices| async move {
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        let status = array.status();
        assert_eq!(status.cleaning_on, rules, "they are on record");
        let raids: Vec<Raid> = status.groups.iter().map(|group| group.raid).collect();
        assert_eq!(raids, [raid(1, 1), raid(2, 1), raid(3, 2)]);
        array.close().await.unwrap();
    });
    assert_clean(&world, &disks);
}
