//! Hybrid volumes: on disks, and on flash what is often read.

use cygnus_engine::{Array, CreateOptions, OpenOptions, Volume, VolumeAdminError, VolumeError, VolumeOptions, create};
use cygnus_policy::{HybridRule, WARMTH_BLOCKS};
use cygnus_runtime::{DeviceInfo, Rng, Runtime};
use cygnus_sim::World;
use cygnus_types::{ByteSize, Constraint, Medium, Nanos, Paging, Tiers};

use crate::common::*;
use crate::media::{add_disks, room, salsa, spread};
use crate::sessions::*;

/// Blocks of the hybrid volume of these tests.
const SIZE: u64 = 2048;

fn hybrid() -> VolumeOptions {
    VolumeOptions { constraint: Constraint::Hybrid(Tiers::FLASH_AND_DISK), ..VolumeOptions::default() }
}

async fn make(rt: &Runtime, devices: &[DeviceInfo], rule: HybridRule) -> (Array, Volume) {
    make_with(rt, devices, rule, hybrid()).await
}

async fn make_with(rt: &Runtime, devices: &[DeviceInfo], rule: HybridRule, volume: VolumeOptions) -> (Array, Volume) {
    make_on(rt, devices, &salsa(2, &[Medium::Flash, Medium::Disk]), rule, volume).await
}

async fn make_on(
    rt: &Runtime,
    devices: &[DeviceInfo],
    how: &CreateOptions,
    rule: HybridRule,
    volume: VolumeOptions,
) -> (Array, Volume) {
    create(rt, devices, how).await.unwrap();
    let array = Array::open(rt, devices, &OpenOptions { hybrid: rule, ..options() }).await.unwrap();
    array.create_volume_with("v", ByteSize::of_blocks(SIZE), volume, 0).await.unwrap();
    let volume = array.volume("v").unwrap();
    for at in 0..SIZE {
        put(rt, &volume, at, at).await;
    }
    volume.flush().await.unwrap();
    (array, volume)
}

/// Reads some blocks, and looks whether they are what was written.
async fn see(rt: &Runtime, volume: &Volume, blocks: std::ops::Range<u64>) {
    const AT_ONCE: u64 = 32;
    for from in blocks.clone().step_by(AT_ONCE as usize) {
        let count = AT_ONCE.min(blocks.end - from);
        let data = volume.read(from * 4096, rt.alloc(count as usize * 4096).full()).await.unwrap();
        for nth in 0..count {
            assert!(data.bytes()[nth as usize * 4096..][..4096] == block(from + nth), "block {}", from + nth);
        }
    }
}

#[test]
fn what_is_read_often_comes_to_flash_and_what_is_written_goes_to_disks() {
    let world = World::new(1);
    let disks = add_disks(&world, 6);
    session(&world, &disks, |rt, devices| async move {
        let (array, volume) = make(&rt, &devices, HybridRule::default()).await;
        assert_eq!(spread(&array, "v", SIZE).await, [0, SIZE]);
        let range = WARMTH_BLOCKS..2 * WARMTH_BLOCKS;
        see(&rt, &volume, range.clone()).await;
        assert_eq!(spread(&array, "v", SIZE).await, [0, SIZE], "read from end to end once, it is not hot");
        see(&rt, &volume, range.clone()).await;
        see(&rt, &volume, range.clone()).await;
        assert_eq!(spread(&array, "v", SIZE).await, [WARMTH_BLOCKS, SIZE - WARMTH_BLOCKS]);
        assert_eq!(array.status().volumes[0].on_fast, Some(ByteSize::of_blocks(WARMTH_BLOCKS)));
        let traffic = array.status().traffic;
        assert_eq!((traffic.promoted, traffic.demoted), (WARMTH_BLOCKS, 0));
        assert_eq!(traffic.client_written, SIZE, "clients wrote no more than before");
        assert_eq!(traffic.fell_back, 0);
        // It is on flash now, whatever becomes of the array.
        see(&rt, &volume, range.clone()).await;
        for at in range.start..range.start + 10 {
            put(&rt, &volume, at, at).await;
        }
        volume.flush().await.unwrap();
        assert_eq!(spread(&array, "v", SIZE).await[0], WARMTH_BLOCKS - 10, "writes go to disks");
        array.close().await.unwrap();
    });
    world.cut_power();
    world.restore_power();
    session(&world, &disks, |rt, devices| async move {
        let (array, volume) = open(&rt, &devices).await;
        let status = &array.status().volumes[0];
        let on_flash = Some(ByteSize::of_blocks(WARMTH_BLOCKS - 10));
        assert_eq!((status.constraint, status.on_fast), (Constraint::Hybrid(Tiers::FLASH_AND_DISK), on_flash));
        assert_eq!(spread(&array, "v", SIZE).await[0], WARMTH_BLOCKS - 10);
        see(&rt, &volume, 0..SIZE).await;
        array.close().await.unwrap();
    });
    assert_clean(&world, &disks);
}

/// What is hot takes turns, and there is not room on flash for all of it.
#[test]
fn what_is_read_no_more_makes_room_on_flash() {
    let world = World::new(2);
    let disks = add_disks(&world, 6);
    let rule = HybridRule { full_from: 20, at_a_time: 8, cools_after: Nanos::secs(2), ..HybridRule::default() };
    session(&world, &disks, |rt, devices| async move {
        let (array, volume) = make(&rt, &devices, rule).await;
        let mut most = 0;
        for range in (0..SIZE).step_by(WARMTH_BLOCKS as usize) {
            for _ in 0..30 {
                see(&rt, &volume, range..range + WARMTH_BLOCKS).await;
                // Time for what is cold to leave.
                rt.sleep(Nanos::millis(500)).await;
            }
            let [flash, _] = spread(&array, "v", SIZE).await;
            most = most.max(flash);
        }
        let last = SIZE - WARMTH_BLOCKS;
        let [before, _] = spread(&array, "v", last).await;
        let [all, _] = spread(&array, "v", SIZE).await;
        let traffic = array.status().traffic;
        assert!(all - before > WARMTH_BLOCKS / 2, "what is hot now is there: {all}, {before} of them from before");
        assert!(traffic.demoted > 200 && traffic.promoted > 600 && traffic.not_promoted > 0, "{traffic:?}");
        let may_take = array.status().media[0].usable.blocks() * (rule.full_from + 1) / 256;
        assert!(most <= may_take, "{most} of {may_take}");
        see(&rt, &volume, 0..SIZE).await;
        array.close().await.unwrap();
    });
    assert_clean(&world, &disks);
}

/// A page that is read in parts comes to flash whole, and leaves it whole: it has one entry all the time.
#[test]
fn pages_come_to_flash_and_leave_it_whole() {
    let world = World::new(6);
    let disks = add_disks(&world, 6);
    let rule = HybridRule { full_from: 20, at_a_time: 8, cools_after: Nanos::secs(2), ..HybridRule::default() };
    session(&world, &disks, |rt, devices| async move {
        let by_pages = VolumeOptions { paging: Paging::new(16, 0).unwrap(), ..hybrid() };
        let (array, volume) = make_with(&rt, &devices, rule, by_pages).await;
        let first = 0..WARMTH_BLOCKS;
        for _ in 0..3 {
            for part in first.clone().step_by(40) {
                see(&rt, &volume, part..(part + 40).min(first.end)).await;
            }
        }
        let whole = async |expected: [u64; 2]| {
            assert_eq!(spread(&array, "v", SIZE).await, expected);
            assert_eq!(array.status().volumes[0].own_entries, 0);
        };
        whole([WARMTH_BLOCKS, SIZE - WARMTH_BLOCKS]).await;
        let traffic = array.status().traffic;
        assert_eq!((traffic.promoted, traffic.demoted), (WARMTH_BLOCKS, 0));
        // A block that is written takes its page along.
        put(&rt, &volume, 3, 3).await;
        whole([WARMTH_BLOCKS - 16, SIZE - WARMTH_BLOCKS + 16]).await;
        // Others become hot, until there is no room for the first.
        for range in (0..SIZE).step_by(WARMTH_BLOCKS as usize).skip(1) {
            for _ in 0..30 {
                see(&rt, &volume, range..range + WARMTH_BLOCKS).await;
                rt.sleep(Nanos::millis(500)).await;
            }
        }
        let traffic = array.status().traffic;
        assert!(traffic.demoted > 200 && traffic.demoted.is_multiple_of(16), "{traffic:?}");
        let on_flash = spread(&array, "v", SIZE).await[0];
        assert!(on_flash.is_multiple_of(16) && on_flash > 0, "{on_flash}");
        whole([on_flash, SIZE - on_flash]).await;
        see(&rt, &volume, 0..SIZE).await;
    });
    world.cut_power();
    world.restore_power();
    session(&world, &disks, |rt, devices| async move {
        let (array, volume) = open(&rt, &devices).await;
        see(&rt, &volume, 0..SIZE).await;
        array.close().await.unwrap();
    });
    assert_clean(&world, &disks);
}

/// Who is bound to flash is not refused because of what could be on a disk as well, and cleaning sends that there.
#[test]
fn who_is_bound_to_flash_finds_room_there() {
    let world = World::new(3);
    let disks = add_disks(&world, 6);
    session(&world, &disks, |rt, devices| async move {
        let rule = HybridRule { half_life: Nanos::secs(3600), ..HybridRule::default() };
        let (array, volume) = make(&rt, &devices, rule).await;
        let only = VolumeOptions { constraint: Constraint::Only(Medium::Flash), ..VolumeOptions::default() };
        let bound = array.create_volume_with("bound", ByteSize(64 * MIB), only, 0).await.unwrap();
        for _ in 0..3 {
            see(&rt, &volume, 0..SIZE).await;
        }
        let [promoted, _] = spread(&array, "v", SIZE).await;
        assert!(promoted > SIZE / 2, "{promoted}");
        // All that is left of flash is the other volume's, and written over and over. What is on flash has cooled meanwhile.
        let free = room(&array)[0] - 1;
        rt.sleep(Nanos::secs(4 * 3600)).await;
        see(&rt, &volume, 0..1).await;
        let mut rng = Rng::new(3);
        for n in 0..5 * free {
            put(&rt, &bound, if n < free { n } else { rng.below(free) }, n).await;
        }
        let [left, _] = spread(&array, "v", SIZE).await;
        assert!(array.status().traffic.demoted >= promoted - left && left < promoted, "{left} of {promoted}");
        let data = rt.alloc(4096);
        for at in free..free + promoted - left {
            bound.write(at * 4096, data.full()).await.unwrap();
        }
        see(&rt, &volume, 0..SIZE).await;
        array.close().await.unwrap();
    });
    assert_clean(&world, &disks);
}

/// Nothing hot is let in any more, so nothing but who is bound to flash has a use for its room.
#[test]
fn who_is_bound_to_flash_has_what_is_cold_sent_away() {
    let world = World::new(4);
    let disks = add_disks(&world, 6);
    session(&world, &disks, |rt, devices| async move {
        let rule = HybridRule { half_life: Nanos::secs(3600), cools_after: Nanos::secs(2), ..HybridRule::default() };
        let (array, volume) = make(&rt, &devices, rule).await;
        let only = VolumeOptions { constraint: Constraint::Only(Medium::Flash), ..VolumeOptions::default() };
        let bound = array.create_volume_with("bound", ByteSize(64 * MIB), only, 0).await.unwrap();
        for _ in 0..3 {
            see(&rt, &volume, 0..SIZE).await;
        }
        let [promoted, _] = spread(&array, "v", SIZE).await;
        let usable = array.status().media[0].usable.blocks();
        // More than there is room for beside what was promoted: refused at first, and taken once that has left.
        for at in 0..usable - promoted / 2 {
            let data = rt.alloc(4096);
            let mut tries = 0;
            while let Err(why) = bound.write(at * 4096, data.full()).await {
                assert!(matches!(why, VolumeError::NoSpaceOn { .. }) && tries < 100, "block {at}: {why}");
                tries += 1;
                rt.sleep(Nanos::secs(1)).await;
            }
        }
        see(&rt, &volume, 0..SIZE).await;
        array.close().await.unwrap();
    });
    assert_clean(&world, &disks);
}

#[test]
fn hybrid_takes_both_media() {
    let world = World::new(4);
    let disks = add_disks(&world, 3);
    session(&world, &disks, |rt, devices| async move {
        for (medium, lacks) in [(Medium::Flash, Medium::Disk), (Medium::Disk, Medium::Flash)] {
            let how = CreateOptions { force: true, ..salsa(1, &[medium]) };
            create(&rt, &devices, &how).await.unwrap();
            let array = Array::open(&rt, &devices, &options()).await.unwrap();
            let refused = array.create_volume_with("v", ByteSize(MIB), hybrid(), 0).await.map(drop).unwrap_err();
            assert_eq!(
                refused,
                VolumeAdminError::NotHybrid { volume: "v".into(), tiers: Tiers::FLASH_AND_DISK, lacks }
            );
            assert!(refused.to_string().contains(lacks.word()), "{refused}");
            array.create_volume("v", ByteSize(MIB), 0).await.unwrap();
            array.close().await.unwrap();
        }
    });
}

/// A disk that is full sends clients' writes to flash; what is hot there stays, and nothing is lost.
#[test]
fn full_disks_leave_flash() {
    let world = World::new(5);
    let disks = add_disks(&world, 6);
    session(&world, &disks, |rt, devices| async move {
        let (array, volume) = make(&rt, &devices, HybridRule::default()).await;
        let only = VolumeOptions { constraint: Constraint::Only(Medium::Disk), ..VolumeOptions::default() };
        let bound = array.create_volume_with("bound", ByteSize(64 * MIB), only, 0).await.unwrap();
        let (data, mut at) = (rt.alloc(4096), 0);
        let error = loop {
            match bound.write(at * 4096, data.full()).await {
                Ok(()) => at += 1,
                Err(error) => break error,
            }
        };
        assert!(matches!(error, VolumeError::NoSpaceOn { medium: Medium::Disk, .. }), "{error}");
        array.resize_volume("v", ByteSize::of_blocks(SIZE + 100)).await.unwrap();
        for at in SIZE..SIZE + 100 {
            put(&rt, &volume, at, at).await;
        }
        assert_eq!((spread(&array, "v", SIZE + 100).await, array.status().traffic.fell_back), ([100, SIZE], 100));
        see(&rt, &volume, 0..SIZE + 100).await;
        array.close().await.unwrap();
    });
    assert_clean(&world, &disks);
}

/// Writes to a volume that is bound to a medium until there is no room for it; the answer is how many blocks.
async fn fill(rt: &Runtime, array: &Array, name: &str, medium: Medium) -> u64 {
    let only = VolumeOptions { constraint: Constraint::Only(medium), ..VolumeOptions::default() };
    let bound = array.create_volume_with(name, ByteSize(64 * MIB), only, 0).await.unwrap();
    let (data, mut at) = (rt.alloc(4096), 0);
    loop {
        match bound.write(at * 4096, data.full()).await {
            Ok(()) => at += 1,
            Err(VolumeError::NoSpace { .. } | VolumeError::NoSpaceOn { .. }) => return at,
            Err(error) => panic!("block {at}: {error}"),
        }
    }
}

/// Until blocks of a volume are taken, for so many seconds at most.
async fn is_taken(rt: &Runtime, volume: &Volume, blocks: std::ops::Range<u64>, seconds: u64) -> bool {
    let (data, until) = (rt.alloc(4096), rt.now() + Nanos::secs(seconds));
    for at in blocks {
        while volume.write(at * 4096, data.full()).await.is_err() {
            if rt.now() > until {
                return false;
            }
            rt.sleep(Nanos::millis(100)).await;
        }
    }
    true
}

#[test]
fn where_disks_are_full_what_is_cold_leaves_flash_for_whatever_else_is_slower() {
    let world = World::new(6);
    let disks = add_disks(&world, 9);
    session(&world, &disks, |rt, devices| async move {
        let rule = HybridRule { half_life: Nanos::secs(3600), cools_after: Nanos::secs(2), ..HybridRule::default() };
        let how = salsa(3, &[Medium::Flash, Medium::Disk, Medium::Smr]);
        let (array, volume) = make_on(&rt, &devices, &how, rule, hybrid()).await;
        for _ in 0..3 {
            see(&rt, &volume, 0..SIZE).await;
        }
        let [promoted, _] = spread(&array, "v", SIZE).await;
        assert!(promoted > SIZE / 2, "{promoted}");
        fill(&rt, &array, "disk", Medium::Disk).await;
        let taken = fill(&rt, &array, "flash", Medium::Flash).await;
        let flash = array.volume("flash").unwrap();
        assert!(is_taken(&rt, &flash, taken..taken + promoted / 2, 60).await, "{:?}", array.status().media);
        assert!(array.status().traffic.demoted >= promoted / 2);
        see(&rt, &volume, 0..SIZE).await;
        array.close().await.unwrap();
    });
    assert_clean(&world, &disks);
}

/// The hand rests for long when it has found little that is cold, and not when this had nowhere to go.
#[test]
fn room_on_disks_is_used_as_soon_as_it_is_there() {
    let world = World::new(7);
    let disks = add_disks(&world, 6);
    session(&world, &disks, |rt, devices| async move {
        let rule = HybridRule { half_life: Nanos::secs(3600), ..HybridRule::default() };
        let (array, volume) = make(&rt, &devices, rule).await;
        for _ in 0..3 {
            see(&rt, &volume, 0..SIZE).await;
        }
        let on_disk = fill(&rt, &array, "disk", Medium::Disk).await;
        rt.sleep(Nanos::secs(4 * 3600)).await;
        let taken = fill(&rt, &array, "flash", Medium::Flash).await;
        let flash = array.volume("flash").unwrap();
        assert!(!is_taken(&rt, &flash, taken..taken + 1, 30).await, "what is cold has nowhere to go");
        array.volume("disk").unwrap().trim(0, on_disk * 4096).await.unwrap();
        assert!(is_taken(&rt, &flash, taken..taken + 100, 5).await, "{:?}", array.status().media);
        see(&rt, &volume, 0..SIZE).await;
        array.close().await.unwrap();
    });
    assert_clean(&world, &disks);
}
