//! Members made by hand and found again.

use super::*;
use crate::scratch::Scratch;
use crate::state::MemberRecord;
use cygnus_format::{
    ArrayState, DATA_START, Extent, Geometry, GroupDesc, GroupState, Holdings, Losses, MemberDesc, MemberErrors,
    MemberState, SUPERBLOCK_OFFSETS, copies_for,
};
use cygnus_types::{Medium, MemberIx};
use std::fs::File;
use std::os::unix::fs::FileExt;

const GEOMETRY: Geometry = Geometry {
    data: 2,
    parity: 1,
    chunk_blocks: 4,
    stripe_rows: 16,
    segment_blocks: 64,
    transient_blocks: 0,
    lead_blocks: 0,
};
const SIZE: u64 = DATA_START + 8 * GEOMETRY.segment_bytes();

fn state(name: &str, array: u64) -> ArrayState {
    let member = |n| MemberDesc {
        uuid: Uuid::from_random(array, n),
        size_bytes: SIZE,
        state: MemberState::Online,
        holds: Holdings::default(),
        errors: MemberErrors::default(),
    };
    ArrayState {
        name: name.into(),
        preset: "swan".into(),
        geometry: GEOMETRY,
        over_provisioning_permille: 200,
        policies: Vec::new(),
        groups: (0..2)
            .map(|g| GroupDesc {
                extents: vec![Extent { first: 8 * g as u32, frames: 8 }],
                state: GroupState::InService,
                medium: Medium::Flash,
                raid: GEOMETRY.raid(),
                members: (3 * g..3 * g + 3).map(member).collect(),
            })
            .collect(),
        spares: Vec::new(),
        session: 1,
        clean: true,
        volumes: Vec::new(),
        next_volume_id: 1,
        last_scrub_unix: 0,
        losses: Losses::default(),
        counted_from: 0,
        roots: [None, None],
        in_place: None,
    }
}

/// Writes member `index` of array `array` into `dir/file`.
fn make(dir: &Path, file: &str, array: u64, index: u16, generation: u64) -> PathBuf {
    make_of(state("tank", array), dir, file, array, index, generation)
}

fn make_of(state: ArrayState, dir: &Path, file: &str, array: u64, index: u16, generation: u64) -> PathBuf {
    let superblock = Superblock {
        generation,
        array: Uuid::from_random(array, 99),
        member: MemberIx(index),
        member_uuid: Uuid::from_random(array, u64::from(index)),
        read_only: false,
        state,
    };
    let path = dir.join(file);
    let made = File::options().create(true).truncate(false).write(true).open(&path).unwrap();
    made.set_len(SIZE).unwrap();
    for at in SUPERBLOCK_OFFSETS.into_iter().flatten().filter(|_| generation == 1 || generation == 4) {
        made.write_all_at(&cygnus_format::empty_slot(), at).unwrap();
    }
    for at in copies_for(generation) {
        made.write_all_at(&superblock.encode().unwrap(), at).unwrap();
    }
    path
}

fn member(found: Found) -> Member {
    match found {
        Found::Member(member) => *member,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_newest_superblock_counts_and_a_torn_copy_does_not_matter() {
    let scratch = Scratch::new("members-slots");
    let path = make(scratch.path(), "d0", 1, 0, 4);
    let one_slot = member(look(&path));
    assert_eq!((one_slot.superblock.generation, one_slot.size, one_slot.spoiled), (4, SIZE, None));

    make(scratch.path(), "d0", 1, 0, 5);
    let both = member(look(&path));
    assert_eq!((both.superblock.generation, both.spoiled), (5, None));

    let file = File::options().write(true).open(&path).unwrap();
    let tear = |at: u64| file.write_all_at(b"torn", at + 100).unwrap();
    tear(copies_for(5)[0]);
    let torn = member(look(&path));
    assert_eq!(torn.superblock.generation, 5);
    assert!(matches!(torn.spoiled, Some(SuperblockError::Checksum { .. })));

    tear(copies_for(5)[1]);
    assert_eq!(member(look(&path)).superblock.generation, 4);
    copies_for(4).into_iter().for_each(tear);
    assert!(matches!(look(&path), Found::Other(what) if what.contains("damaged member")));
}

#[test]
fn other_things_are_told_apart() {
    let scratch = Scratch::new("members-other");
    let file = |name: &str, bytes: &[u8], size| {
        let path = scratch.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        File::options().write(true).open(&path).unwrap().set_len(size).unwrap();
        path
    };
    assert!(matches!(look(&file("zero", b"", 4 << 20)), Found::Nothing));
    assert!(matches!(look(&file("xfs", b"XFSB", 4 << 20)), Found::Other(what) if what == "xfs"));
    assert!(matches!(look(&file("noise", b"hello", 4 << 20)), Found::Other(what) if what == "unknown data"));
    assert!(matches!(look(&file("small", b"hello", 8192)), Found::Other(what) if what.contains("too small")));
    assert!(
        matches!(look(&scratch.path().join("none")), Found::Unreadable(why) if why.to_string().contains("no such file"))
    );
    assert!(
        matches!(look(scratch.path()), Found::Unreadable(why) if why.to_string().contains("neither a regular file"))
    );
}

#[test]
fn members_are_sorted_into_arrays_and_missing_ones_named() {
    let scratch = Scratch::new("members-arrays");
    let dir = scratch.path();
    for index in [0, 1, 2, 4, 5] {
        // The order of names is not the order of members.
        make(dir, &format!("f{}", 9 - index), 1, index, 3);
    }
    make(dir, "other", 2, 0, 1);
    std::fs::write(dir.join("notes.txt"), "too small to be a member").unwrap();
    let paths = expand(dir).unwrap();
    assert_eq!(paths.len(), 6);
    let arrays = assemble(paths.iter().map(|path| member(look(path))));
    assert_eq!(arrays.len(), 2);
    let first = &arrays[&Uuid::from_random(1, 99)];
    assert_eq!(first.missing(), [3]);
    assert!(first.oddities.is_empty());
    assert_eq!(first.members[5].as_ref().unwrap().path, dir.join("f4").canonicalize().unwrap());
    assert_eq!(arrays[&Uuid::from_random(2, 99)].missing(), [1, 2, 3, 4, 5]);
}

#[test]
fn copies_and_shrunken_members_are_odd() {
    let scratch = Scratch::new("members-odd");
    let dir = scratch.path();
    let original = make(dir, "d0", 1, 0, 3);
    std::fs::copy(&original, dir.join("copy")).unwrap();
    let shrunk = make(dir, "d1", 1, 1, 3);
    File::options().write(true).open(&shrunk).unwrap().set_len(SIZE - (64 << 10)).unwrap();
    // Given twice, by two names, is no copy.
    std::os::unix::fs::symlink(&original, dir.join("link")).unwrap();
    let arrays = assemble(["d0", "copy", "link", "d1"].map(|name| member(look(&dir.join(name)))));
    let oddities = &arrays.values().next().unwrap().oddities;
    assert_eq!(oddities.len(), 2, "{oddities:?}");
    assert!(oddities[0].contains("the same member 0 (a copy?)") && oddities[1].contains("truncated"));
}

#[test]
fn of_two_copies_of_a_member_the_newer_one_is_taken_whichever_comes_first() {
    let scratch = Scratch::new("members-copies");
    let dir = scratch.path();
    std::fs::create_dir(dir.join("backup")).unwrap();
    let stale = make(&dir.join("backup"), "d1", 1, 1, 3);
    let fresh = make(dir, "d1", 1, 1, 8);
    let first = make(dir, "d0", 1, 0, 8);
    for order in [[&stale, &fresh], [&fresh, &stale]] {
        let arrays = assemble([&first].into_iter().chain(order).map(|path| member(look(path))));
        let assembly = arrays.values().next().unwrap();
        assert_eq!(assembly.members[1].as_ref().unwrap().path, fresh.canonicalize().unwrap());
        assert!(assembly.oddities[0].contains(&format!("{} is taken", fresh.canonicalize().unwrap().display())));
    }
}

#[test]
fn the_newest_superblock_says_what_the_array_is() {
    let scratch = Scratch::new("members-newest");
    let dir = scratch.path();
    let stale = make(dir, "d0", 1, 0, 3);
    let fresh = make(dir, "d1", 1, 1, 8);
    let arrays = assemble([stale, fresh].map(|path| member(look(&path))));
    assert_eq!(arrays.values().next().unwrap().newest.generation, 8);
}

/// A machine on which block devices `sda` and so on are files.
struct Machine {
    scratch: Scratch,
}

impl Machine {
    fn new() -> Self {
        let machine = Self { scratch: Scratch::new("members-moved") };
        std::fs::create_dir(machine.dev()).unwrap();
        machine
    }

    fn dev(&self) -> PathBuf {
        self.scratch.path().canonicalize().unwrap().join("dev")
    }

    /// The kernel tells of a device.
    fn lists(&self, name: &str, size: u64) {
        let about = self.scratch.path().join("sys/class/block").join(name);
        std::fs::create_dir_all(about.join("holders")).unwrap();
        std::fs::write(about.join("size"), format!("{}\n", size / 512)).unwrap();
    }

    fn devices(&self) -> BlockDevices {
        BlockDevices::at(self.scratch.path().join("sys"), self.dev())
    }
}

fn record(array: u64, members: impl IntoIterator<Item = PathBuf>) -> ArrayRecord {
    let members = (0..).zip(members).map(|(index, path)| MemberRecord { index, path }).collect();
    let uuid = Uuid::from_random(array, 99).to_string();
    ArrayRecord { schema: 1, name: "tank".into(), uuid, kept_in: None, spares: Vec::new(), members }
}

#[test]
fn block_devices_that_have_come_to_another_name_are_found() {
    let machine = Machine::new();
    let dev = machine.dev();
    let names = ["sda", "sdb", "sdc", "sdd", "sde", "sdf"];
    let known = record(1, names.map(|name| dev.join(name)));
    // Two have moved, to a name that nobody had and to that of another member; a third one's name is a stranger's now, and it is nowhere.
    for (index, name) in [(0, "sda"), (1, "sdg"), (2, "sde"), (4, "sdh"), (5, "sdf")] {
        make(&dev, name, 1, index, 3);
        machine.lists(name, SIZE + 512);
    }
    make(&dev, "sdd", 2, 3, 3);
    machine.lists("sdd", SIZE);
    let found = Assembly::of_record_among(&known, &machine.devices()).unwrap();
    let paths: Vec<_> = found.members.iter().map(|member| member.as_ref().map(|member| member.path.clone())).collect();
    let at = |name: &str| Some(dev.join(name));
    assert_eq!(paths, [at("sda"), at("sdg"), at("sde"), None, at("sdh"), at("sdf")]);
    let said = |words: &str| found.oddities.iter().any(|oddity| oddity.contains(words));
    assert!(said("sdg is member 1, which was last seen at") && said("sdh is member 4"), "{:?}", found.oddities);
    // One that has grown is a member still. One that has become smaller is not looked at.
    machine.lists("sdg", 2 * SIZE);
    assert_eq!(Assembly::of_record_among(&known, &machine.devices()).unwrap().missing(), [3]);
    machine.lists("sdg", SIZE - 4096);
    assert_eq!(Assembly::of_record_among(&known, &machine.devices()).unwrap().missing(), [1, 3]);
    // Files have the names that somebody gave them, and stay where they are.
    let elsewhere = BlockDevices::at(machine.scratch.path().join("sys"), "/dev");
    assert_eq!(Assembly::of_record_among(&known, &elsewhere).unwrap().missing(), [1, 3, 4]);
}

/// Whoever is missing is looked for among all disks of its size, and there is one that was a member until another took its place.
#[test]
fn a_disk_that_was_a_member_is_not_said_to_be_one() {
    let machine = Machine::new();
    let dev = machine.dev();
    let names = ["sda", "sdb", "sdc", "sdd", "sde", "sdf"];
    let known = record(1, names.map(|name| dev.join(name)));
    let mut now = state("tank", 1);
    now.groups[0].members[0].uuid = Uuid::from_random(1, 50);
    for (index, name) in (1..5).zip(&names[1..]) {
        make_of(now.clone(), &dev, name, 1, index, 4);
    }
    make(&dev, "sdx", 1, 0, 3);
    machine.lists("sdx", SIZE);
    let found = Assembly::of_record_among(&known, &machine.devices()).unwrap();
    assert_eq!(found.missing(), [0, 5]);
    assert!(found.oddities.iter().all(|oddity| !oddity.contains("sdx")), "{:?}", found.oddities);
}

#[test]
fn an_array_of_which_all_members_have_moved_is_found() {
    let machine = Machine::new();
    let dev = machine.dev();
    let known = record(1, ["sda", "sdb", "sdc"].map(|name| dev.join(name)));
    for (index, name) in [(0, "sdx"), (1, "sdy"), (2, "sdz")] {
        make(&dev, name, 1, index, 3);
        machine.lists(name, SIZE);
    }
    let found = Assembly::of_record_among(&known, &machine.devices()).unwrap();
    assert_eq!(found.missing(), [3, 4, 5], "the record has never heard of them");
    std::fs::remove_dir_all(machine.scratch.path().join("sys")).unwrap();
    let nowhere = Assembly::of_record_among(&known, &machine.devices());
    assert!(matches!(nowhere, Err(HostError::NoMember { .. })));
}

/// A command that was cut short has left blank files that were to be members: the array lacks nothing.
#[test]
fn blank_files_are_told_only_where_something_is_missing() {
    let scratch = Scratch::new("members-blank");
    let members: Vec<PathBuf> = (0..6).map(|index| make(scratch.path(), &format!("m{index}"), 1, index, 3)).collect();
    let blank = scratch.path().join("blank");
    File::create(&blank).unwrap().set_len(SIZE).unwrap();
    let known = ArrayRecord { spares: vec![blank.clone()], ..record(1, members.clone()) };
    let found = Assembly::of_record(&known).unwrap();
    assert_eq!((found.oddities, found.blank), (Vec::<String>::new(), vec![blank.clone()]));
    let wiped = record(1, [&blank].into_iter().chain(&members[1..]).cloned());
    let found = Assembly::of_record(&wiped).unwrap();
    assert_eq!((found.oddities.len(), found.missing()), (1, vec![0]), "{:?}", found.oddities);
}

/// A server that is killed right after a group has left, or a member was replaced, has told the record of neither.
#[test]
fn blank_files_of_members_that_have_left_are_not_told() {
    let scratch = Scratch::new("members-left");
    let blanks = ["a", "b", "c"].map(|name| scratch.path().join(name));
    for blank in &blanks {
        File::create(blank).unwrap().set_len(SIZE).unwrap();
    }
    let mut one_left = state("tank", 1);
    one_left.groups[1].state = GroupState::Retired;
    one_left.groups[1].extents.clear();
    let stay = (0..3).map(|index| make_of(one_left.clone(), scratch.path(), &format!("s{index}"), 1, index, 3));
    let left = record(1, stay.chain(blanks.clone()));
    let found = Assembly::of_record(&left).unwrap();
    assert_eq!((found.missing(), found.oddities), (Vec::new(), Vec::new()));
    let all: Vec<PathBuf> = (0..6).map(|index| make(scratch.path(), &format!("m{index}"), 1, index, 3)).collect();
    let before = blanks[..1].iter().chain(&all[1..]).cloned();
    let replaced = ArrayRecord { spares: vec![all[0].clone()], ..record(1, before) };
    let found = Assembly::of_record(&replaced).unwrap();
    assert_eq!((found.missing(), found.oddities), (Vec::new(), Vec::new()));
}

/// A command adds members while another one looks: what is answered fits together.
#[test]
fn an_array_at_rest_is_what_the_record_says_now() {
    let scratch = Scratch::new("members-at-rest");
    let members: Vec<PathBuf> = (0..6).map(|index| make(scratch.path(), &format!("m{index}"), 1, index, 3)).collect();
    let dir = StateDir::new(scratch.path().join("state"));
    let name: ArrayName = "tank".parse().unwrap();
    dir.save(&record(1, members[..3].iter().cloned())).unwrap();
    let taken = Device::open(&members[0], Access::Exclusive).unwrap();
    let (known, found) = std::thread::scope(|scope| {
        let looks = scope.spawn(|| Assembly::at_rest(&dir, &name).unwrap());
        dir.update(&name, |record| record.set_members(3, &members[3..])).unwrap();
        drop(taken);
        looks.join().unwrap()
    });
    assert_eq!((known.members.len(), found.missing().len()), (6, 0));
}
