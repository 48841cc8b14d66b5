//! Arrays whose groups on disks have another shape than those on flash.

use cygnus_engine::{
    Array, ArrayError, CreateOptions, Finding, FindingKind, GroupError, JobState, Salvage, VolumeOptions, check, create,
};
use cygnus_format::Raid;
use cygnus_policy::{Preset, UntilFull};
use cygnus_runtime::{DeviceInfo, Rng, Runtime};
use cygnus_sim::{DiskConfig, DiskId, World};
use cygnus_types::{ByteSize, Constraint, GroupId, Lba, Medium, MemberIx, ReactorId};

use crate::common::*;
use crate::media::{room, spread};
use crate::sessions::*;

const FLASH: Raid = Raid { data: 2, parity: 1 };
const DISK: Raid = Raid { data: 4, parity: 2 };

/// So small that all of it is cleaned again and again.
fn add_disks(world: &World, n: usize) -> Vec<DiskId> {
    (0..n).map(|i| world.add_disk(DiskConfig::new(format!("d{i}"), 12 * MIB))).collect()
}

/// Groups on these media, of a shape for each medium.
fn shaped(media: &[Medium], flash: Raid, disk: Raid) -> CreateOptions {
    CreateOptions {
        groups: None,
        raid_on: vec![(Medium::Flash, flash), (Medium::Disk, disk)],
        segment: Some(ByteSize(256 << 10)),
        media: media.to_vec(),
        ..CreateOptions::new("tank", Preset::Salsa, 0, flash.data, flash.parity)
    }
}

/// A group on flash and one on disks with two volumes, "flash" and "disk", which are bound, and "v", which may be anywhere.
async fn make(rt: &Runtime, devices: &[DeviceInfo], how: CreateOptions) -> Array {
    create(rt, devices, &how).await.unwrap();
    let array = Array::open(rt, devices, &options()).await.unwrap();
    for medium in BOTH {
        let options = VolumeOptions { constraint: Constraint::Only(medium), ..VolumeOptions::default() };
        array.create_volume_with(medium.word(), ByteSize(4 * MIB), options, 0).await.unwrap();
    }
    array.create_volume("v", ByteSize(4 * MIB), 0).await.unwrap();
    array
}

/// Overwrites random blocks of all volumes; says what each of them holds then.
async fn churn(rt: &Runtime, array: &Array, rng: &mut Rng, writes: u64, flush_one_in: u64, held: &mut [Vec<u64>; 3]) {
    for n in 0..writes {
        let which = rng.below(3) as usize;
        let (volume, at, tag) = (array.volume(NAMES[which]).unwrap(), rng.below(1024), rng.below(u64::MAX - 1) + 1);
        put(rt, &volume, at, tag).await;
        held[which][at as usize] = tag;
        if n + 1 == writes || rng.chance(1, flush_one_in) {
            volume.flush().await.unwrap();
        }
    }
}

const BOTH: [Medium; 2] = [Medium::Flash, Medium::Disk];
const NAMES: [&str; 3] = ["flash", "disk", "v"];

async fn verify_all(rt: &Runtime, array: &Array, held: &[Vec<u64>; 3]) {
    let buf = rt.alloc(4096);
    for (name, held) in NAMES.iter().zip(held) {
        let volume = array.volume(name).unwrap();
        for (at, &tag) in (0..).zip(held) {
            let data = volume.read(at * 4096, buf.full()).await.unwrap();
            let expected = if tag == 0 { vec![0; 4096] } else { block(tag) };
            assert!(data.bytes() == expected, "block {at} of {name}");
        }
    }
}

fn nothing() -> [Vec<u64>; 3] {
    std::array::from_fn(|_| vec![0; 1024])
}

fn assert_flawless(world: &World, disks: &[DiskId]) {
    session(world, disks, |rt, devices| async move {
        let report = check(&rt, &devices, &options(), |_| {}).await.unwrap();
        let is_meant = |f: &Finding| f.is_remark() || f.kind == FindingKind::MemberMissing;
        let damage: Vec<_> = report.findings.iter().filter(|f| !is_meant(f)).collect();
        assert!(damage.is_empty(), "{damage:#?}");
    });
}

/// Written many times over, cut off several times, and read with as many members of each group lost as its own parity covers.
fn through_cuts_and_losses(seed: u64, flash: Raid, disk: Raid, until_full: UntilFull) {
    let world = World::new(seed);
    let (on_flash, on_disks) = (usize::from(flash.width()), usize::from(disk.width()));
    let disks = add_disks(&world, on_flash + on_disks);
    let mut held = nothing();
    let how = CreateOptions {
        until_full: Some(until_full),
        transient: until_full.has_transient_area().then_some(ByteSize(256 * 4096)),
        ..shaped(&BOTH, flash, disk)
    };
    held = session(&world, &disks, |rt, devices| async move {
        let array = make(&rt, &devices, how).await;
        let shapes: Vec<Raid> = array.status().groups.iter().map(|group| group.raid).collect();
        assert_eq!(shapes, [flash, disk]);
        churn(&rt, &array, &mut Rng::new(seed), 20_000, 400, &mut held).await;
        assert!(array.status().traffic.victims > 20, "{:?}", array.status().traffic);
        assert_eq!(spread(&array, "flash", 1024).await[1] + spread(&array, "disk", 1024).await[0], 0);
        array.invariants().unwrap();
        array.close().await.unwrap();
        held
    });
    assert_flawless(&world, &disks);
    let mut rng = Rng::new(seed);
    for round in 0..4 {
        let (mut of_round, before) = (rng.fork(), held);
        held = session(&world, &disks, |rt, devices| async move {
            let array = Array::open(&rt, &devices, &options()).await.unwrap();
            let mut held = before;
            verify_all(&rt, &array, &held).await;
            let writes = 500 + of_round.below(1500);
            churn(&rt, &array, &mut of_round, writes, 8, &mut held).await;
            // All of it is flushed now, of all volumes.
            held
        });
        world.cut_power();
        world.restore_power();
        assert_flawless(&world, &disks);
        // As many as may be lost, of both groups at once: of those on disks more than the others could do without.
        let lost = |from: usize, width: usize, parity: u8, rng: &mut Rng| -> Vec<usize> {
            let first = rng.below(width as u64) as usize;
            (0..usize::from(parity)).map(|n| from + (first + n) % width).collect()
        };
        let mut gone = lost(0, on_flash, flash.parity, &mut rng);
        gone.extend(lost(on_flash, on_disks, disk.parity, &mut rng));
        let left: Vec<DiskId> = (0..).zip(&disks).filter(|(n, _)| !gone.contains(n)).map(|(_, &disk)| disk).collect();
        held = session(&world, &left, |rt, devices| async move {
            let salvage = Salvage::open(&rt, &devices, &options()).await.unwrap();
            for (name, held) in NAMES.iter().zip(&held) {
                let volume = salvage.volume(name).unwrap();
                for (at, &tag) in (0..).zip(held).filter(|(_, tag)| **tag != 0) {
                    let piece = salvage.read(&volume, Lba(at), 1).await;
                    assert!(piece.lost.is_empty() && piece.data.bytes() == block(tag), "block {at} of {name}");
                }
            }
            held
        });
        if round == 3 {
            // Without those that are gone it goes on.
            session(&world, &left, |rt, devices| async move {
                let array = Array::open(&rt, &devices, &options()).await.unwrap();
                verify_all(&rt, &array, &held).await;
                churn(&rt, &array, &mut rng, 3000, 50, &mut held).await;
                verify_all(&rt, &array, &held).await;
                array.close().await.unwrap();
            });
            return assert_flawless(&world, &left);
        }
    }
}

#[test]
fn each_group_survives_what_its_own_parity_covers() {
    through_cuts_and_losses(1, FLASH, DISK, UntilFull::FullStripe);
    through_cuts_and_losses(2, DISK, FLASH, UntilFull::FullStripe);
    through_cuts_and_losses(3, Raid { data: 1, parity: 1 }, Raid { data: 5, parity: 3 }, UntilFull::FullStripe);
    through_cuts_and_losses(4, Raid { data: 3, parity: 0 }, Raid { data: 3, parity: 1 }, UntilFull::FullStripe);
}

#[test]
fn so_it_does_with_copies_of_open_stripes() {
    through_cuts_and_losses(5, FLASH, DISK, UntilFull::TwoPhase);
    through_cuts_and_losses(6, DISK, Raid { data: 1, parity: 1 }, UntilFull::ParityBuffer);
    through_cuts_and_losses(7, FLASH, Raid { data: 3, parity: 3 }, UntilFull::Offload);
}

#[test]
fn one_more_than_that_is_too_many() {
    let world = World::new(11);
    let disks = add_disks(&world, 9);
    session(&world, &disks, |rt, devices| async move {
        make(&rt, &devices, shaped(&BOTH, FLASH, DISK)).await.close().await.unwrap();
    });
    let without = |gone: &[usize]| -> Vec<DiskId> {
        (0..).zip(&disks).filter(|(n, _)| !gone.contains(n)).map(|(_, &disk)| disk).collect()
    };
    for (gone, group, parity) in [([0, 2].as_slice(), 0, 1), (&[3, 5, 8], 1, 2)] {
        session(&world, &without(gone), |rt, devices| async move {
            let error = Array::open(&rt, &devices, &options()).await.map(drop).unwrap_err();
            let ArrayError::TooManyMissing { group: of, parity: has, .. } = &error else { panic!("{error}") };
            assert_eq!((of.0, *has), (group, parity), "{error}");
        });
    }
}

#[test]
fn members_are_replaced_and_scrubbed_in_either_shape() {
    let world = World::new(12);
    let disks = add_disks(&world, 11);
    session(&world, &disks, |rt, devices| async move {
        let array = make(&rt, &devices[..9], shaped(&BOTH, FLASH, DISK)).await;
        let mut held = nothing();
        churn(&rt, &array, &mut Rng::new(12), 6000, 100, &mut held).await;
        // The last of either group.
        for (member, with) in [(2, 9), (8, 10)] {
            let job = array.replace(MemberIx(member), &devices[with], true).await.unwrap();
            assert_eq!(ended(&rt, &array, job).await.state, JobState::Done);
        }
        healed(&rt, &array).await;
        verify_all(&rt, &array, &held).await;
        let report = array.scrub(0).await;
        assert!(report.complete && report.found() == 0, "{report:?}");
        array.close().await.unwrap();
    });
    let now: Vec<DiskId> = [0, 1, 9, 3, 4, 5, 6, 7, 10].map(|n| disks[n]).into();
    assert_clean(&world, &now);
}

#[test]
fn groups_of_either_shape_come_and_go() {
    let world = World::new(13);
    let disks = add_disks(&world, 24);
    let held = session(&world, &disks, |rt, devices| async move {
        let array = make(&rt, &devices[..9], shaped(&BOTH, FLASH, DISK)).await;
        let mut held = nothing();
        churn(&rt, &array, &mut Rng::new(13), 4000, 100, &mut held).await;
        let before = room(&array);
        // A group of six on disks, then one of three on flash, whose members come behind them.
        let added = array.add_groups_on(&devices[9..18], &[Medium::Disk, Medium::Flash], false).await.unwrap();
        let got: Vec<_> = added.groups.iter().map(|group| (group.group.0, group.raid, group.first_member.0)).collect();
        assert_eq!(got, [(2, DISK, 9), (3, FLASH, 15)]);
        let after = room(&array);
        assert!(after[0] > before[0] && after[1] > before[1] + (after[0] - before[0]) * 3 / 2, "{before:?}, {after:?}");
        // The first two leave, and others get their numbers: each that of a group as wide as itself.
        for group in [0, 1] {
            let job = array.retire(GroupId(group)).await.unwrap();
            assert_eq!(ended(&rt, &array, job).await.state, JobState::Done);
        }
        verify_all(&rt, &array, &held).await;
        let added = array.add_groups_on(&devices[18..], &[Medium::Disk], true).await.unwrap();
        assert_eq!((added.groups[0].group.0, added.groups[0].first_member.0), (1, 3));
        let added = array.add_groups_on(&devices[..3], &[Medium::Flash], true).await.unwrap();
        assert_eq!((added.groups[0].group.0, added.groups[0].first_member.0), (0, 0));
        churn(&rt, &array, &mut Rng::new(14), 6000, 100, &mut held).await;
        verify_all(&rt, &array, &held).await;
        array.invariants().unwrap();
        held
    });
    world.cut_power();
    world.restore_power();
    let now: Vec<DiskId> = (0..3).chain(9..24).map(|n| disks[n]).collect();
    session(&world, &now, |rt, devices| async move {
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        verify_all(&rt, &array, &held).await;
        array.close().await.unwrap();
    });
    assert_clean(&world, &now);
}

#[test]
fn a_cut_as_a_group_of_either_width_comes_leaves_all_of_it_or_nothing() {
    let (mut with, mut without) = (0, 0);
    for steps in (0..4000).step_by(117) {
        let world = World::new(steps);
        let disks = add_disks(&world, 18);
        let held = session(&world, &disks, |rt, devices| async move {
            let array = make(&rt, &devices[..9], shaped(&BOTH, FLASH, DISK)).await;
            let mut held = nothing();
            churn(&rt, &array, &mut Rng::new(steps), 300, 50, &mut held).await;
            array.close().await.unwrap();
            held
        });
        let (rt, cut) = (world.reactor(ReactorId(0), &disks), world.clone());
        let (inner, devices) = (rt.clone(), world.infos(&disks));
        // The cut ends the run before it is done.
        let _ = rt.run(async move {
            let array = Array::open(&inner, &devices[..9], &options()).await.unwrap();
            cut.cut_power_after(Some(steps));
            array.add_groups_on(&devices[9..], &[Medium::Flash, Medium::Disk], false).await.unwrap();
            std::future::pending::<()>().await;
        });
        rt.drop_tasks();
        world.cut_power_after(None);
        world.cut_power();
        world.restore_power();
        let groups = session(&world, &disks, |rt, devices| async move {
            let array = Array::open(&rt, &devices, &options()).await.unwrap();
            verify_all(&rt, &array, &held).await;
            let groups = array.status().groups.len();
            array.close().await.unwrap();
            groups
        });
        assert!(groups == 2 || groups == 4, "{groups}");
        (with, without) = (with + u32::from(groups == 4), without + u32::from(groups == 2));
    }
    assert!(with > 0 && without > 0, "{with} with, {without} without");
}

#[test]
fn what_makes_no_whole_groups_is_refused() {
    let world = World::new(14);
    let disks = add_disks(&world, 12);
    session(&world, &disks, |rt, devices| async move {
        let words = async |devices: &[DeviceInfo], how: CreateOptions| {
            create(&rt, devices, &how).await.map(drop).unwrap_err().to_string()
        };
        let refused = words(&devices[..8], shaped(&BOTH, FLASH, DISK)).await;
        assert!(
            refused.contains("new R-group 1, on disk, takes 6 devices (4+2), and 5 are left for it of 8"),
            "{refused}"
        );
        let swan = CreateOptions { preset: Preset::Swan, ..shaped(&[Medium::Flash], FLASH, DISK) };
        assert!(words(&devices[..6], swan).await.contains("takes all groups for alike"));
        let two =
            CreateOptions { groups: Some(2), ..shaped(&[Medium::Flash, Medium::Disk, Medium::Flash], FLASH, DISK) };
        let refused = words(&devices, two).await;
        assert!(refused.contains("12 devices make 3 R-groups, and not 2"), "{refused}");
        let bare =
            CreateOptions { until_full: Some(UntilFull::TwoPhase), ..shaped(&BOTH, Raid { data: 3, parity: 0 }, DISK) };
        assert!(words(&devices[..9], bare).await.contains("none without parity"));
        let array = make(&rt, &devices[..9], shaped(&BOTH, FLASH, DISK)).await;
        let refused = array.add_groups_on(&devices[9..], &[Medium::Disk], false).await.map(drop).unwrap_err();
        assert!(matches!(refused, GroupError::Array(ArrayError::Invalid(_))), "{refused:?}");
        assert!(refused.to_string().contains("takes 6 devices (4+2), and 3 are left"), "{refused}");
        array.close().await.unwrap();
    });
}

/// The shape of a medium is the array's to say, whether or not a group is there.
#[test]
fn a_medium_without_groups_has_its_shape_all_the_same() {
    let world = World::new(16);
    let disks = add_disks(&world, 9);
    session(&world, &disks, |rt, devices| async move {
        create(&rt, &devices[..3], &shaped(&[Medium::Flash], FLASH, DISK)).await.unwrap();
        let array = Array::open(&rt, &devices[..3], &options()).await.unwrap();
        array.close().await.unwrap();
        let array = Array::open(&rt, &devices[..3], &options()).await.unwrap();
        let added = array.add_groups_on(&devices[3..], &[Medium::Disk], false).await.unwrap();
        assert_eq!(added.groups[0].raid, DISK);
        let job = array.retire(GroupId(1)).await.unwrap();
        assert_eq!(ended(&rt, &array, job).await.state, JobState::Done);
        array.close().await.unwrap();
    });
    session(&world, &disks, |rt, devices| async move {
        let array = Array::open(&rt, &devices[..3], &options()).await.unwrap();
        let refused = array.add_groups_on(&devices[3..6], &[Medium::Disk], true).await.map(drop).unwrap_err();
        assert!(refused.to_string().contains("takes 6 devices (4+2)"), "{refused}");
        array.close().await.unwrap();
    });
}

/// Members that say what they are need no words of anybody: the first of a group tells how wide it is.
#[test]
fn members_say_how_wide_their_group_is() {
    use cygnus_ssd::{Model, ModelConfig, Preset as Drive};
    let world = World::new(15);
    let arms = Drive::ALL.into_iter().map(Drive::config).find(|config| matches!(config, ModelConfig::Disk(_))).unwrap();
    let arm = |n: usize| {
        let model = Model::new(arms.clone()).unwrap();
        world.add_modelled(DiskConfig::new(format!("arm{n}"), 12 * MIB), model)
    };
    let mut disks: Vec<DiskId> = (0..6).map(arm).collect();
    disks.extend(add_disks(&world, 3));
    session(&world, &disks, |rt, devices| async move {
        create(&rt, &devices, &shaped(&[], FLASH, DISK)).await.unwrap();
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        let groups: Vec<_> = array.status().groups.iter().map(|group| (group.medium, group.raid)).collect();
        assert_eq!(groups, [(Medium::Disk, DISK), (Medium::Flash, FLASH)]);
        array.close().await.unwrap();
    });
}
