//! Arrays on two media, and volumes that are to be on one of them.

use cygnus_engine::{
    Array, ArrayError, CreateOptions, GroupError, GroupStatus, JobState, VolumeAdminError, VolumeError, VolumeOptions,
    check, create,
};
use cygnus_policy::{Preset, Streams, UntilFull, Victim};
use cygnus_runtime::{DeviceInfo, Rng, Runtime};
use cygnus_sim::{DiskConfig, DiskId, World};
use cygnus_ssd::{Model, ModelConfig, Preset as Drive};
use cygnus_types::{ByteSize, Constraint, GroupId, Lba, Medium, Paging};

use crate::common::*;
use crate::sessions::*;

pub fn salsa(groups: usize, media: &[Medium]) -> CreateOptions {
    CreateOptions {
        segment: Some(ByteSize(256 << 10)),
        media: media.to_vec(),
        ..CreateOptions::new("tank", Preset::Salsa, groups, 2, 1)
    }
}

pub fn add_disks(world: &World, n: usize) -> Vec<DiskId> {
    (0..n).map(|i| world.add_disk(DiskConfig::new(format!("d{i}"), 24 * MIB))).collect()
}

/// An array of one group on flash and one on disks, with a volume of so much for each constraint to one of them: "only-flash",
/// "prefers-disk" and so on; and "v", which may be anywhere.
async fn make_mixed(rt: &Runtime, devices: &[DeviceInfo], size: ByteSize) -> Array {
    make_mixed_as(rt, devices, size, salsa(2, &[Medium::Flash, Medium::Disk])).await
}

/// The same of other groups, or otherwise protected.
pub async fn make_mixed_as(rt: &Runtime, devices: &[DeviceInfo], size: ByteSize, how: CreateOptions) -> Array {
    create(rt, devices, &how).await.unwrap();
    let array = Array::open(rt, devices, &options()).await.unwrap();
    for medium in array.status().media.iter().map(|of| of.medium) {
        for constraint in [Constraint::Only(medium), Constraint::Prefers(medium)] {
            let options = VolumeOptions { constraint, ..VolumeOptions::default() };
            let name = constraint.to_string().replace(' ', "-");
            array.create_volume_with(&name, size, options, 0).await.unwrap();
        }
    }
    array.create_volume("v", size, 0).await.unwrap();
    array
}

/// How many of the first blocks of a volume lie on flash and on disks, of an array on these.
pub async fn spread(array: &Array, volume: &str, blocks: u64) -> [u64; 2] {
    let [flash, disk, others @ ..] = spread_over(array, volume, blocks).await;
    assert_eq!(others, [0; 2]);
    [flash, disk]
}

/// How many of the first blocks of a volume lie on each medium, by their numbers.
pub async fn spread_over(array: &Array, volume: &str, blocks: u64) -> [u64; Medium::ALL.len()] {
    let groups = array.status().groups;
    let mut on = [0; Medium::ALL.len()];
    for at in 0..blocks {
        if let Some(found) = array.locate(volume, Lba(at)).await {
            on[groups[found.group.index()].medium.index()] += 1;
        }
    }
    on
}

pub fn room(array: &Array) -> [u64; 2] {
    [Medium::Flash, Medium::Disk].map(|medium| room_on(array, medium))
}

pub fn room_on(array: &Array, medium: Medium) -> u64 {
    let media = array.status().media;
    let of = media.iter().find(|of| of.medium == medium).unwrap();
    of.usable.blocks() - of.mapped.blocks()
}

#[test]
fn blocks_are_where_their_volume_wants_them_whatever_happens_to_them() {
    stay_where_they_are_wanted(&[Medium::Flash, Medium::Disk]);
}

/// The same on other media, a group on each.
pub fn stay_where_they_are_wanted(media: &'static [Medium]) {
    let world = World::new(1);
    let disks = add_disks(&world, 3 * media.len());
    session(&world, &disks, |rt, devices| async move {
        let array = make_mixed_as(&rt, &devices, ByteSize(4 * MIB), salsa(media.len(), media)).await;
        let status = array.status();
        assert_eq!((status.cleaning, status.streams), (Victim::Generalised { alpha_permille: 300 }, Streams::ByHeat));
        let names = array.volume_names();
        let mut rng = Rng::new(1);
        // Many times over, so that all of it is cleaned and moved.
        for n in 0..12_500 * media.len() as u64 {
            let volume = array.volume(&names[n as usize % names.len()]).unwrap();
            let at = if rng.chance(3, 4) { rng.below(64) } else { rng.below(1024) };
            put(&rt, &volume, at, n).await;
        }
        array.volume("v").unwrap().flush().await.unwrap();
        let status = array.status();
        assert!(status.traffic.victims > 20 && status.traffic.relocated > 0, "{:?}", status.traffic);
        assert!(status.groups.iter().all(|group| group.role == cygnus_engine::GroupRole::FrontEnd));
        array.close().await.unwrap();
    });
    session(&world, &disks, |rt, devices| async move {
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        for (name, on) in media.iter().flat_map(|on| ["only", "prefers"].map(|how| (format!("{how}-{on}"), *on))) {
            let spread = spread_over(&array, &name, 1024).await;
            assert!(spread[on.index()] > 500 && spread[on.index()] == spread.iter().sum::<u64>(), "{name}: {spread:?}");
        }
        let spread = spread_over(&array, "v", 1024).await;
        assert!(media.iter().all(|on| spread[on.index()] > 50), "all have room: {spread:?}");
        let held: u64 = array.status().media.iter().map(|of| of.mapped.0).sum();
        assert_eq!(held, array.status().mapped.0);
        array.close().await.unwrap();
    });
    assert_clean(&world, &disks);
}

#[test]
fn a_full_medium_is_full_for_who_may_be_nowhere_else() {
    let world = World::new(2);
    let disks = add_disks(&world, 6);
    session(&world, &disks, |rt, devices| async move {
        let array = make_mixed(&rt, &devices, ByteSize(64 * MIB)).await;
        let [only, prefers] = ["only-flash", "prefers-flash"].map(|name| array.volume(name).unwrap());
        let data = rt.alloc(4096);
        let mut written = 0;
        let error = loop {
            match only.write(written * 4096, data.full()).await {
                Ok(()) => written += 1,
                Err(error) => break error,
            }
        };
        assert!(matches!(error, VolumeError::NoSpaceOn { medium: Medium::Flash, .. }), "{error}");
        assert!(error.to_string().contains("flash") && error.to_string().contains("only-flash"), "{error}");
        let [flash, disk] = room(&array);
        assert!(flash == 0 && disk > 1000, "{flash}, {disk}");
        assert_eq!(spread(&array, "only-flash", written).await, [written, 0]);
        // What is there can be overwritten as often as anybody likes.
        for at in 0..2 * written {
            put(&rt, &only, at % written, at).await;
        }
        // Who only prefers it goes to the other one, and that is counted.
        for at in 0..500 {
            put(&rt, &prefers, at, at).await;
        }
        prefers.flush().await.unwrap();
        assert_eq!(spread(&array, "prefers-flash", 500).await, [0, 500]);
        assert_eq!(array.status().traffic.fell_back, 500);
        only.trim(0, 4096 * 700).await.unwrap();
        array.checkpoint().await.unwrap();
        for at in 0..500 {
            put(&rt, &prefers, at, at).await;
        }
        prefers.flush().await.unwrap();
        assert_eq!(spread(&array, "prefers-flash", 500).await, [500, 0], "it comes back as it is written");
        for at in 0..200 {
            put(&rt, &only, at, at).await;
        }
        array.close().await.unwrap();
    });
    assert_clean(&world, &disks);
}

#[test]
fn who_may_be_anywhere_takes_nothing_from_who_may_not() {
    let world = World::new(3);
    let disks = add_disks(&world, 6);
    session(&world, &disks, |rt, devices| async move {
        let array = make_mixed(&rt, &devices, ByteSize(64 * MIB)).await;
        let (any, only) = (array.volume("v").unwrap(), array.volume("only-disk").unwrap());
        for at in 0..500 {
            put(&rt, &only, at, at).await;
        }
        let (data, mut written) = (rt.alloc(4096), 0);
        let error = loop {
            match any.write(written * 4096, data.full()).await {
                Ok(()) => written += 1,
                Err(error) => break error,
            }
        };
        assert!(matches!(error, VolumeError::NoSpace { .. }), "{error}");
        assert_eq!(room(&array), [0, 0], "both are full at the same time");
        // Overwrites of all volumes go on for ever: each medium has its own reserve.
        let mut rng = Rng::new(3);
        for n in 0..2 * written {
            put(&rt, &any, rng.below(written), n).await;
            put(&rt, &only, rng.below(500), n).await;
        }
        array.close().await.unwrap();
    });
    assert_clean(&world, &disks);
}

/// Each medium, and what is hot there, has an open stripe: with an odd seed copies make these safe.
pub fn crashed(seed: u64, media: &'static [Medium]) {
    let world = World::new(seed);
    let disks = add_disks(&world, 3 * media.len());
    let two_phase = seed % 2 == 1;
    let flush_one_in = if two_phase { 8 } else { 400 };
    session(&world, &disks, |rt, devices| async move {
        let how = CreateOptions {
            until_full: two_phase.then_some(UntilFull::TwoPhase),
            transient: two_phase.then_some(ByteSize(48 * media.len() as u64 * 4096)),
            ..salsa(media.len(), media)
        };
        make_mixed_as(&rt, &devices, ByteSize(4 * MIB), how).await.close().await.unwrap();
    });
    let mut rng = Rng::new(seed);
    for round in 0..4 {
        let mut rng = rng.fork();
        session(&world, &disks, |rt, devices| async move {
            let array = Array::open(&rt, &devices, &options()).await.unwrap();
            let names = array.volume_names();
            for n in 0..1000 + rng.below(2000) {
                let volume = array.volume(&names[n as usize % names.len()]).unwrap();
                put(&rt, &volume, rng.below(1024), n).await;
                if rng.chance(1, flush_one_in) {
                    volume.flush().await.unwrap();
                }
            }
            if round == 3 {
                array.close().await.unwrap();
            }
        });
        if round < 3 {
            world.cut_power();
            world.restore_power();
        }
        session(&world, &disks, |rt, devices| async move {
            let report = check(&rt, &devices, &options(), |_| {}).await.unwrap();
            let damage: Vec<_> = report.findings.iter().filter(|f| !f.is_remark()).collect();
            assert!(damage.is_empty(), "{damage:#?}");
        });
    }
}

#[test]
fn recovery_keeps_to_constraints() {
    (0..4).for_each(|seed| crashed(seed, &[Medium::Flash, Medium::Disk]));
}

#[test]
fn what_no_group_is_on_is_refused() {
    let world = World::new(4);
    let disks = add_disks(&world, 9);
    session(&world, &disks[..6], |rt, devices| async move {
        create(&rt, &devices, &salsa(2, &[])).await.unwrap();
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        let all = array.status().groups;
        assert!(all.iter().all(|group: &GroupStatus| group.medium == Medium::Flash), "as they say");
        let on_disks = VolumeOptions { constraint: Constraint::Only(Medium::Disk), ..VolumeOptions::default() };
        let refused = array.create_volume_with("v", ByteSize(MIB), on_disks, 0).await.map(drop).unwrap_err();
        assert_eq!(refused, VolumeAdminError::NoSuchMedium { volume: "v".into(), medium: Medium::Disk });
        array.close().await.unwrap();
    });
    session(&world, &disks, |rt, devices| async move {
        let words = async |how: CreateOptions| {
            create(&rt, &devices, &CreateOptions { force: true, ..how }).await.unwrap_err().to_string()
        };
        let swan = CreateOptions { preset: Preset::Swan, ..salsa(3, &[Medium::Flash, Medium::Disk, Medium::Disk]) };
        let refused = words(swan).await;
        assert!(refused.contains("R-group 1 on disk,") && refused.contains("salsa"), "{refused}");
        let refused = words(salsa(3, &[Medium::Flash, Medium::Disk])).await;
        assert!(refused.contains("2 media are given for 3 R-groups"), "{refused}");
    });
}

#[test]
fn members_say_what_a_group_is_on_and_must_agree() {
    let world = World::new(5);
    let arms = Drive::ALL.into_iter().map(Drive::config).find_map(|config| match config {
        ModelConfig::Disk(disk) => Some(disk),
        ModelConfig::Ssd(_) => None,
    });
    let arms = arms.unwrap();
    let mut disks = add_disks(&world, 4);
    for n in 0..2 {
        let model = Model::new(ModelConfig::Disk(arms.clone())).unwrap();
        disks.push(world.add_modelled(DiskConfig::new(format!("arm{n}"), 24 * MIB), model));
    }
    let segment = Some(ByteSize(512 << 10));
    let pairs = |media: &[Medium]| CreateOptions { data: 1, segment, ..salsa(3, media) };
    session(&world, &disks, |rt, devices| async move {
        create(&rt, &devices, &pairs(&[])).await.unwrap();
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        let media: Vec<Medium> = array.status().groups.iter().map(|group| group.medium).collect();
        assert_eq!(media, [Medium::Flash, Medium::Flash, Medium::Disk]);
        array.close().await.unwrap();
        let mut devices = devices;
        devices.swap(3, 4);
        let force = |media: &[Medium]| CreateOptions { force: true, ..pairs(media) };
        let refused = create(&rt, &devices, &force(&[])).await.unwrap_err();
        assert!(matches!(refused, ArrayError::Invalid(_)));
        let words = refused.to_string();
        assert!(words.contains("R-group 1") && words.contains("arm0") && words.contains("--media"), "{words}");
        create(&rt, &devices, &force(&[Medium::Flash])).await.unwrap();
        // Where media are not kept apart, nobody has to say anything.
        create(&rt, &devices, &CreateOptions { preset: Preset::Swan, ..force(&[]) }).await.unwrap();
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        assert!(array.status().groups.iter().all(|group| group.medium == Medium::Disk));
        array.close().await.unwrap();
    });
}

#[test]
fn groups_come_and_go_by_their_medium() {
    let world = World::new(6);
    let disks = add_disks(&world, 12);
    session(&world, &disks, |rt, devices| async move {
        let array = make_mixed(&rt, &devices[..6], ByteSize(8 * MIB)).await;
        let only = array.volume("only-flash").unwrap();
        for at in 0..2048 {
            put(&rt, &only, at, at).await;
        }
        let refused = array.retire(GroupId(0)).await.unwrap_err();
        assert!(matches!(refused, GroupError::LastOfMedium { medium: Medium::Flash, .. }), "{refused}");
        assert!(refused.to_string().contains("only-flash"), "{refused}");
        let before = room(&array);
        array.add_groups_on(&devices[6..9], &[Medium::Disk], false).await.unwrap();
        let with_disks = room(&array);
        assert!(with_disks[0] == before[0] && with_disks[1] > before[1]);
        array.retire(GroupId(0)).await.unwrap_err();
        array.add_groups_on(&devices[9..], &[Medium::Flash], false).await.unwrap();
        for at in 0..2048 {
            put(&rt, &only, at, 2 * at).await;
        }
        let job = array.retire(GroupId(0)).await.unwrap();
        assert_eq!(ended(&rt, &array, job).await.state, JobState::Done);
        assert_eq!(spread(&array, "only-flash", 2048).await, [2048, 0]);
        array.close().await.unwrap();
    });
    session(&world, &disks, |rt, devices| async move {
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        let media: Vec<Medium> = array.status().groups.iter().skip(1).map(|group| group.medium).collect();
        assert_eq!(media, [Medium::Disk, Medium::Disk, Medium::Flash], "it is on record");
        let (volume, buf) = (array.volume("only-flash").unwrap(), rt.alloc(4096));
        for at in 0..2048 {
            assert!(volume.read(at * 4096, buf.full()).await.unwrap().bytes() == block(2 * at), "block {at}");
        }
        array.close().await.unwrap();
    });
    assert_clean(&world, &disks[3..]);
}

/// Pages leave room at the ends of stripes, where such a volume may be, and nowhere else.
#[test]
fn a_volume_with_pages_takes_room_only_of_the_media_it_may_be_on() {
    let world = World::new(77);
    let disks = add_disks(&world, 6);
    session(&world, &disks, |rt, devices| async move {
        create(&rt, &devices, &salsa(2, &[Medium::Flash, Medium::Disk])).await.unwrap();
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        let [flash, disk] = room(&array);
        let paging = Paging::new(16, 0).unwrap();
        let on_disks = VolumeOptions { constraint: Constraint::Only(Medium::Disk), paging, ..VolumeOptions::default() };
        array.create_volume_with("on-disks", ByteSize(MIB), on_disks, 0).await.unwrap();
        let with = room(&array);
        assert!(with[0] == flash && with[1] < disk, "{with:?} of {flash} and {disk}");
        let anywhere = VolumeOptions { paging, ..VolumeOptions::default() };
        array.create_volume_with("anywhere", ByteSize(MIB), anywhere, 0).await.unwrap();
        assert!(room(&array)[0] < flash);
        array.delete_volume("anywhere").await.unwrap();
        array.delete_volume("on-disks").await.unwrap();
        assert_eq!(room(&array), [flash, disk]);
        array.close().await.unwrap();
    });
}
