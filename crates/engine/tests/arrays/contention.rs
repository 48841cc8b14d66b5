//! Data moves out of the way of contention: nine devices in three groups, and the three of one group behind a link that is slow.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use cygnus_engine::{
    Array, ArrayError, ArrayStatus, Autonomics, AutonomicsStatus, CreateOptions, Link, LinkError, Log, OpenOptions,
    Volume, VolumeOptions, create,
};
use cygnus_policy::{AutonomicsRule, Migration, Preset};
use cygnus_runtime::{DeviceInfo, Event, Rng, Runtime};
use cygnus_sim::{DiskConfig, DiskId, World};
use cygnus_types::{ByteSize, GroupId, Lba, Nanos, Paging, VolumeId};

use crate::common::{assert_clean, block};
use crate::sessions::*;

/// Enough to put data into every group of small disks.
const BLOCKS: u64 = 15_500;

/// Hears of every block that moves.
#[derive(Default)]
struct Moves(Mutex<Vec<(VolumeId, Lba)>>);

impl Log for Moves {
    fn line(&self, text: &str) {
        if std::env::var_os("CYGNUS_TEST_LOG").is_some() {
            eprintln!("{text}");
        }
    }

    fn rehomed(&self, volume: VolumeId, lba: Lba, _at: Nanos) {
        self.0.lock().unwrap().push((volume, lba));
    }
}

fn with(links: &[&str], log: &Arc<Moves>) -> OpenOptions {
    let links = links.iter().map(|text| text.parse::<Link>().unwrap()).collect();
    OpenOptions { autonomics: Autonomics::On, links, ..OpenOptions::new(log.clone()) }
}

fn make(world: &World, groups: usize, mib: u64) -> Vec<DiskId> {
    make_with(world, groups, mib, VolumeOptions::default())
}

fn make_with(world: &World, groups: usize, mib: u64, volume: VolumeOptions) -> Vec<DiskId> {
    make_of(world, Preset::Swan, (groups, mib), volume)
}

fn make_of(world: &World, preset: Preset, (groups, mib): (usize, u64), volume: VolumeOptions) -> Vec<DiskId> {
    let (k, m) = (2, 1);
    let disks: Vec<DiskId> =
        (0..groups * usize::from(k + m)).map(|i| world.add_disk(DiskConfig::new(format!("d{i}"), mib * MIB))).collect();
    let how = CreateOptions { segment: Some(ByteSize(512 << 10)), ..CreateOptions::new("tank", preset, groups, k, m) };
    session(world, &disks, |rt, devices| async move {
        create(&rt, &devices, &how).await.unwrap();
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        array.create_volume_with("v", ByteSize(64 * MIB), volume, 0).await.unwrap();
        let volume = array.volume("v").unwrap();
        for at in 0..BLOCKS {
            put(&rt, &volume, at, 0).await;
        }
        array.close().await.unwrap();
    });
    disks
}

async fn put(rt: &Runtime, volume: &Volume, at: u64, version: u64) {
    let mut buf = rt.alloc(4096);
    buf.bytes_mut().copy_from_slice(&block(at + (version << 32)));
    volume.write(at * 4096, buf.full()).await.unwrap();
}

/// Clients that read a part of the volume, and write there now and then, each in blocks of its own; what they read is checked.
/// How long each request took, in order, and all of them.
async fn clients(
    rt: &Runtime,
    volume: &Volume,
    versions: &Rc<RefCell<Vec<u64>>>,
    (requests, writes_one_in): (u64, u64),
) -> (Vec<Nanos>, Nanos) {
    const CLIENTS: u64 = 16;
    let times = Rc::new(RefCell::new(Vec::new()));
    let (left, done, begun) = (Rc::new(Cell::new(CLIENTS)), Rc::new(Event::new()), rt.now());
    for client in 0..CLIENTS {
        let (rt, volume, versions, times) = (rt.clone(), volume.clone(), versions.clone(), times.clone());
        let (left, done, mut rng) = (left.clone(), done.clone(), Rng::new(client + 1));
        rt.clone().spawn(async move {
            for _ in 0..requests / CLIENTS {
                // A hot eighth of each client's blocks gets nearly all of the requests.
                let among = if rng.chance(63, 64) { BLOCKS / CLIENTS / 8 } else { BLOCKS / CLIENTS };
                let at = rng.below(among) * CLIENTS + client;
                let begun = rt.now();
                if rng.chance(1, writes_one_in) {
                    let version = versions.borrow()[at as usize] + 1;
                    put(&rt, &volume, at, version).await;
                    versions.borrow_mut()[at as usize] = version;
                } else {
                    let data = volume.read(at * 4096, rt.alloc(4096).full()).await.unwrap();
                    assert!(data.bytes() == block(at + (versions.borrow()[at as usize] << 32)), "block {at}");
                }
                times.borrow_mut().push(rt.now().since(begun));
            }
            left.set(left.get() - 1);
            done.notify();
        });
    }
    while left.get() > 0 {
        done.wait().await;
    }
    let mut times = times.take();
    times.sort_unstable();
    (times, rt.now().since(begun))
}

async fn verify(rt: &Runtime, volume: &Volume, versions: &RefCell<Vec<u64>>) {
    let versions = versions.borrow().clone();
    for at in 0..BLOCKS {
        let data = volume.read(at * 4096, rt.alloc(4096).full()).await.unwrap();
        assert!(data.bytes() == block(at + (versions[at as usize] << 32)), "block {at}");
    }
}

struct Outcome {
    p999: Nanos,
    took: Nanos,
    status: ArrayStatus,
    moves: Vec<(VolumeId, Lba)>,
}

/// The same clients on the same array with the members of group 0 twenty times slower than the others.
fn beside_a_slow_link(options: impl Fn(&Arc<Moves>) -> OpenOptions) -> Outcome {
    let world = World::new(11);
    let disks = make(&world, 3, 17);
    let log = Arc::new(Moves::default());
    let how = options(&log);
    let outcome = session(&world.clone(), &disks.clone(), |rt, devices| async move {
        disks[..3].iter().for_each(|&disk| world.slow_down(disk, 20));
        let array = Array::open(&rt, &devices, &how).await.unwrap();
        let volume = array.volume("v").unwrap();
        let versions = Rc::new(RefCell::new(vec![0; BLOCKS as usize]));
        let (times, took) = clients(&rt, &volume, &versions, (40_000, 16)).await;
        let status = array.status();
        disks[..3].iter().for_each(|&disk| world.slow_down(disk, 1));
        verify(&rt, &volume, &versions).await;
        array.close().await.unwrap();
        // And again as the next opening finds them.
        let array = Array::open(&rt, &devices, &self::options()).await.unwrap();
        verify(&rt, &array.volume("v").unwrap(), &versions).await;
        array.close().await.unwrap();
        (times[times.len() * 999 / 1000], took, status)
    });
    let moves = std::mem::take(&mut *log.0.lock().unwrap());
    Outcome { p999: outcome.0, took: outcome.1, status: outcome.2, moves }
}

fn told(status: &ArrayStatus) -> &AutonomicsStatus {
    status.autonomics.as_ref().expect("they are on")
}

#[test]
fn a_slow_link_is_hardly_felt_when_data_moves_away_from_it() {
    let without = beside_a_slow_link(|log| OpenOptions::new(log.clone()));
    let with = beside_a_slow_link(|log| with(&["nic0:d0,d1,d2"], log));
    let told = told(&with.status);
    println!(
        "without: {} in all, p99.9 {}; with: {} in all, p99.9 {}; {told:#?}",
        without.took, without.p999, with.took, with.p999
    );
    assert!(without.status.autonomics.is_none() && without.moves.is_empty());
    assert!(told.moved() > 100 && told.moved() == with.moves.len() as u64, "{told:?}");
    let link = &told.clusters[0];
    assert!(link.name == "nic0" && link.members.iter().all(|member| member.burdened.is_some()), "{link:?}");
    assert!(told.clusters[1..].iter().all(|other| !other.hot && other.members[0].burdened.is_none()), "{told:?}");
    assert!(with.took.0 * 10 < without.took.0 * 9, "{} and {}", with.took, without.took);
}

#[test]
fn data_that_moves_may_be_read_anew_for_that() {
    let usual = AutonomicsRule::for_blocks(9 * 17 * MIB / 4096);
    let moves = |rule| {
        let ended =
            beside_a_slow_link(|log| OpenOptions { autonomics: Autonomics::By(rule), ..with(&["nic0:d0,d1,d2"], log) });
        let told = told(&ended.status).clone();
        println!("{:?}: {} in all, p99.9 {}; {told:#?}", rule.migration, ended.took, ended.p999);
        assert_eq!((told.migration, told.moved()), (rule.migration, ended.moves.len() as u64));
        told
    };
    let cloned = moves(usual);
    assert_eq!((cloned.read_to_move, cloned.too_many), (0, 0), "what moves is in memory");
    let naive = moves(AutonomicsRule { migration: Migration::Naive, ..usual });
    assert!(naive.moved() > 100 && naive.read_to_move >= naive.moved(), "{naive:?}");
    // Where one may be read at a time, others stay, and cost nothing of the budget.
    let one = moves(AutonomicsRule { migration: Migration::Naive, migrations: 1, ..usual });
    assert!(one.moved() > 0 && one.too_many > 0 && one.read_to_move < naive.read_to_move * 2, "{one:?}");
    assert!(one.resting < one.too_many / 4, "blocks that were not begun with may move at once: {one:?}");
}

/// Clients of six groups, each behind a link of its own, of which two are slow: what each link was given by moves, and how many they
/// were. Clients write, or only read; all is still there in the end, and after another opening.
fn given_beside_two_slow_links(rule: AutonomicsRule, writes_one_in: u64) -> (Vec<u64>, u64) {
    let world = World::new(13);
    let disks = make_of(&world, Preset::TripleA, (6, 17), VolumeOptions::default());
    let links = ["n0:d0,d1,d2", "n1:d3,d4,d5", "n2:d6,d7,d8", "n3:d9,d10,d11", "n4:d12,d13,d14", "n5:d15,d16,d17"];
    let how = OpenOptions { autonomics: Autonomics::By(rule), ..with(&links, &Arc::default()) };
    let (drives, slow) = (world.clone(), disks[..6].to_vec());
    let given = session(&world, &disks, |rt, devices| async move {
        slow.iter().for_each(|&disk| drives.slow_down(disk, 20));
        let array = Array::open(&rt, &devices, &how).await.unwrap();
        let volume = array.volume("v").unwrap();
        let versions = Rc::new(RefCell::new(vec![0; BLOCKS as usize]));
        clients(&rt, &volume, &versions, (20_000, writes_one_in)).await;
        let status = array.status();
        slow.iter().for_each(|&disk| drives.slow_down(disk, 1));
        verify(&rt, &volume, &versions).await;
        array.close().await.unwrap();
        let array = Array::open(&rt, &devices, &self::options()).await.unwrap();
        verify(&rt, &array.volume("v").unwrap(), &versions).await;
        array.close().await.unwrap();
        let told = told(&status);
        println!("{told:#?}");
        (told.clusters.iter().map(|cluster| cluster.given).collect(), told.moved())
    });
    assert_clean(&world, &disks);
    given
}

/// The rule of a large array, whose budget is hardly ever spent.
fn generous() -> AutonomicsRule {
    AutonomicsRule { writes_per_day: 10_000 * 86_400, ..AutonomicsRule::for_blocks(1 << 20) }
}

#[test]
fn what_is_hot_in_two_clusters_is_spread_over_the_cold_ones() {
    for writes_one_in in [16, u64::MAX] {
        let (given, moved) = given_beside_two_slow_links(generous(), writes_one_in);
        assert_eq!(given.iter().sum::<u64>(), moved, "{given:?}");
        assert!(moved > 100 && given[2..].iter().all(|&blocks| blocks * 8 > moved), "{given:?}");
        // Some may go to the other slow one before that is known to be slow.
        assert!((given[0] + given[1]) * 10 < moved, "{given:?}");
    }
}

#[test]
fn no_more_groups_are_targets_than_the_rule_allows() {
    let (given, moved) = given_beside_two_slow_links(AutonomicsRule { targets: 1, ..generous() }, u64::MAX);
    // A segment holds some 250 blocks, and few clusters take turns as it fills.
    assert!(moved > 100 && given.iter().filter(|&&blocks| blocks > 0).count() < 4, "{given:?}");
}

/// Clients that only read, of a volume mapped like this, and how many blocks moved.
fn moved_by_reads(paging: Paging) -> u64 {
    let world = World::new(12);
    let disks = make_with(&world, 3, 17, VolumeOptions { paging, ..VolumeOptions::default() });
    let how = OpenOptions { autonomics: Autonomics::By(generous()), ..with(&["nic0:d0,d1,d2"], &Arc::default()) };
    session(&world.clone(), &disks.clone(), |rt, devices| async move {
        disks[..3].iter().for_each(|&disk| world.slow_down(disk, 20));
        let array = Array::open(&rt, &devices, &how).await.unwrap();
        let volume = array.volume("v").unwrap();
        let versions = Rc::new(RefCell::new(vec![0; BLOCKS as usize]));
        clients(&rt, &volume, &versions, (20_000, u64::MAX)).await;
        let status = array.status();
        assert_eq!((status.traffic.client_written, status.volumes[0].own_entries), (0, 0));
        disks[..3].iter().for_each(|&disk| world.slow_down(disk, 1));
        verify(&rt, &volume, &versions).await;
        array.close().await.unwrap();
        told(&status).moved()
    })
}

#[test]
fn data_moves_where_clients_only_read_too() {
    let moved = moved_by_reads(Paging::BLOCKS);
    assert!(moved > 100, "{moved}");
}

/// With all of its page, so that this keeps its one entry.
#[test]
fn pages_move_as_a_whole() {
    let moved = moved_by_reads(Paging::new(2, 0).unwrap());
    assert!(moved > 100 && moved.is_multiple_of(2), "{moved}");
}

#[test]
fn what_moves_is_within_the_budget_and_rests() {
    let outcome = beside_a_slow_link(|log| with(&["nic0:d0,d1,d2"], log));
    let (told, written) = (told(&outcome.status), outcome.status.traffic.client_written);
    let earned = written * u64::from(told.write_percent) / 100
        + (outcome.took.0 / 1_000_000_000 + 1) * told.writes_per_day / 86_400
        + told.saved_writes;
    assert!(told.moved() <= earned, "{} of {earned}", told.moved());
    if outcome.took < Nanos::secs(1) {
        let mut times = BTreeMap::new();
        outcome.moves.iter().for_each(|block| *times.entry(*block).or_insert(0) += 1);
        assert!(times.values().all(|&count| count == 1), "within a second");
    }
}

#[test]
fn new_writes_avoid_a_group_that_is_slow_at_writing() {
    let world = World::new(6);
    let disks = make(&world, 3, 40);
    let (how, drives) = (with(&[], &Arc::default()), world.clone());
    let slow = disks[3..6].to_vec();
    session(&world, &disks, |rt, devices| async move {
        let array = Array::open(&rt, &devices, &how).await.unwrap();
        let volume = array.volume("v").unwrap();
        let mut version = 0;
        let mut overwrite = async |count: u64| {
            version += 1;
            for at in 0..count {
                put(&rt, &volume, at, version).await;
            }
            volume.flush().await.unwrap();
        };
        // So that each group is known.
        overwrite(BLOCKS).await;
        slow.iter().for_each(|&disk| drives.slow_down_writes(disk, 400));
        overwrite(BLOCKS).await;
        overwrite(BLOCKS).await;
        let status = array.status();
        let told = told(&status);
        let burdened = |n: usize| told.clusters[n].members[0].burdened.as_deref();
        assert!(burdened(4).is_some_and(|why| why.contains("its writes take")), "{told:#?}");
        assert!(told.steered + told.left_early > 0 && burdened(0).is_none() && burdened(8).is_none(), "{told:#?}");
        array.close().await.unwrap();
    });
    assert_clean(&world, &disks);
}

#[test]
fn nothing_moves_while_all_are_alike() {
    let world = World::new(3);
    let disks = make(&world, 3, 17);
    let how = with(&["nic0:d0,d1,d2", "nic1:d3,d4,d5", "nic2:d6,d7,d8"], &Arc::default());
    session(&world.clone(), &disks.clone(), |rt, devices| async move {
        let array = Array::open(&rt, &devices, &how).await.unwrap();
        let versions = Rc::new(RefCell::new(vec![0; BLOCKS as usize]));
        clients(&rt, &array.volume("v").unwrap(), &versions, (20_000, 4)).await;
        let status = array.status();
        let told = told(&status);
        assert_eq!((told.moved(), told.steered, told.read_around), (0, 0, 0), "{told:#?}");
        array.close().await.unwrap();
    });
    assert_clean(&world, &disks);
}

#[test]
fn reads_go_around_a_contended_link_where_redundancy_allows() {
    let world = World::new(9);
    let disks = make(&world, 3, 17);
    // One member of each group, so every group can do without.
    let how = with(&["nic0:d0,d3,d6"], &Arc::default());
    session(&world.clone(), &disks.clone(), |rt, devices| async move {
        [0, 3, 6].iter().for_each(|&n| world.slow_down(disks[n], 4));
        let array = Array::open(&rt, &devices, &how).await.unwrap();
        let volume = array.volume("v").unwrap();
        let versions = Rc::new(RefCell::new(vec![0; BLOCKS as usize]));
        clients(&rt, &volume, &versions, (20_000, 4)).await;
        let status = array.status();
        let told = told(&status);
        assert!(told.read_around > 0, "{told:#?}");
        verify(&rt, &volume, &versions).await;
        array.close().await.unwrap();
    });
}

#[test]
fn links_that_make_no_sense_are_refused_and_nothing_is_opened() {
    let world = World::new(4);
    let disks = make(&world, 2, 40);
    let refused = |links: &[&str], on: bool| {
        let how = OpenOptions {
            autonomics: if on { Autonomics::On } else { Autonomics::Off },
            ..with(links, &Arc::default())
        };
        session(&world, &disks, |rt, devices: Vec<DeviceInfo>| async move {
            match Array::open(&rt, &devices, &how).await {
                Err(ArrayError::Link(error)) => error,
                Err(other) => panic!("{other}"),
                Ok(_) => panic!("it was opened"),
            }
        })
    };
    assert!(matches!(refused(&["n:d0", "n:d1"], true), LinkError::Twice(_)));
    assert!(matches!(refused(&["n:d0,d1", "m:d1"], true), LinkError::Shared { .. }));
    assert!(matches!(refused(&["n:d0,d1"], false), LinkError::Unused(_)));
    session(&world, &disks, |rt, devices| async move {
        let array = Array::open(&rt, &devices, &with(&["n:d0,d1"], &Arc::default())).await.unwrap();
        assert_eq!(array.status().groups.iter().map(|group| group.id).collect::<Vec<_>>(), [GroupId(0), GroupId(1)]);
        array.close().await.unwrap();
    });
    // A link goes without a member that is missing, and without one that was replaced since the link was written down.
    session(&world, &disks, |rt, devices| async move {
        let array = Array::open(&rt, &devices, &with(&["n:d0,d9"], &Arc::default())).await.unwrap();
        assert_eq!(told(&array.status()).clusters[0].members.len(), 1);
        array.close().await.unwrap();
    });
    session(&world, &disks[1..], |rt, devices| async move {
        let array = Array::open(&rt, &devices, &with(&["n:d0,d1"], &Arc::default())).await.unwrap();
        assert_eq!(told(&array.status()).clusters[0].members.len(), 1);
        array.close().await.unwrap();
    });
}
