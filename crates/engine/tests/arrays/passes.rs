//! What a crash has left is put into the maps in several passes where there is not memory for all of it, and the result is the same.

use std::cell::RefCell;
use std::sync::Arc;

use cygnus_engine::{Array, ArrayError, CreateOptions, Log, MapRule, OpenOptions, create};
use cygnus_policy::Preset;
use cygnus_runtime::Rng;
use cygnus_sim::{DiskConfig, DiskId, Timing, World};
use cygnus_types::{ByteSize, Nanos};

use crate::common::{assert_clean, block, make, open, put};
use crate::sessions::*;

const BLOCKS: u64 = 700;

/// Writes, overwrites and discards as the seed has it, some of it flushed, and a power cut.
fn crashed(seed: u64) -> (World, Vec<DiskId>) {
    let world = World::new(seed);
    let disks = make(&world, 2, 2, 1, 0);
    session(&world, &disks, |rt, devices| async move {
        let (array, v) = open(&rt, &devices).await;
        let mut rng = Rng::new(seed);
        let spread = 1 + rng.below(BLOCKS);
        for n in 0..1500 + rng.below(500) {
            match rng.below(60) {
                0 => v.trim(rng.below(spread) * 4096, 4096 * (1 + rng.below(20))).await.unwrap(),
                1 => v.flush().await.unwrap(),
                2 if n == 700 => array.checkpoint().await.unwrap(),
                _ => put(&rt, &v, rng.below(spread), n).await,
            }
        }
    });
    world.cut_power();
    world.restore_power();
    (world, disks)
}

/// What an opening found, and what the volume holds then.
#[derive(Debug, PartialEq)]
struct Outcome {
    found: [usize; 5],
    mapped: ByteSize,
    contents: Vec<u64>,
}

/// Opens it, and says also how many passes that took.
fn opened(world: &World, disks: &[DiskId], map: MapRule) -> (Outcome, usize) {
    opens(world, disks, map).unwrap()
}

fn opens(world: &World, disks: &[DiskId], map: MapRule) -> Result<(Outcome, usize), ArrayError> {
    session(world, disks, |rt, devices| async move {
        let array = Array::open(&rt, &devices, &OpenOptions { map, ..options() }).await?;
        let v = array.volume("v").unwrap();
        let report = array.recovery().clone();
        let found =
            [report.stripes, report.tail_stripes, report.torn_stripes, report.lost_blocks, report.replayed_blocks];
        let mut contents = Vec::new();
        for at in 0..BLOCKS + 20 {
            let buf = rt.alloc(4096);
            let data = v.read(at * 4096, buf.full()).await.unwrap();
            contents.push(u64::from_le_bytes(data.bytes()[..8].try_into().unwrap()));
        }
        let mapped = array.status().volumes[0].mapped;
        array.close().await?;
        Ok((Outcome { found, mapped, contents }, report.replay_passes))
    })
}

#[test]
fn several_passes_open_the_same_array_as_one() {
    let mut torn = 0;
    for seed in 0..40 {
        let (world, disks) = crashed(seed);
        let (at_once, passes) = opened(&world, &disks, MapRule::default());
        assert_eq!(passes, 1, "seed {seed}");
        torn += at_once.found[2];
        for few in [1, 10, 100, 400] {
            let (world, disks) = crashed(seed);
            let (bit_by_bit, passes) = opened(&world, &disks, MapRule { at_once: few, ..MapRule::default() });
            assert!(bit_by_bit == at_once, "seed {seed}, {few} at once: {bit_by_bit:?} instead of {at_once:?}");
            assert!(passes > 1 || few >= at_once.found[4] as u64, "seed {seed}, {few} at once: {passes} passes");
            assert_clean(&world, &disks);
        }
    }
    assert!(torn > 0, "no crash has left a torn stripe");
}

#[test]
fn little_memory_makes_several_passes() {
    let (world, disks) = crashed(3);
    let (all, _) = opened(&world, &disks, MapRule::default());
    let mut most = 0;
    for kib in 4..64 {
        let (world, disks) = crashed(3);
        let (limit, recovery) = (ByteSize(kib << 10), ByteSize(0));
        match opens(&world, &disks, MapRule { limit, recovery, ..MapRule::default() }) {
            Ok((some, passes)) => {
                assert!(some == all, "{kib} KiB");
                most = most.max(passes);
            }
            Err(error) => assert!(matches!(error, ArrayError::Memory { .. }), "{kib} KiB: {error}"),
        }
    }
    // Where the maps fit, and not all that was written.
    assert!((2..20).contains(&most), "{most} passes");
}

#[test]
fn an_empty_array_that_was_not_stopped_costs_the_first_headers_of_its_segments() {
    // By segment, of two sizes: what is read grows with the number of segments, and with nothing else.
    let read = |size: u64| {
        let world = World::new(9);
        let disks: Vec<DiskId> = (0..3).map(|n| world.add_disk(DiskConfig::new(format!("d{n}"), size))).collect();
        let how =
            CreateOptions { segment: Some(ByteSize(512 << 10)), ..CreateOptions::new("t", Preset::LogRaid, 1, 2, 1) };
        session(&world, &disks, |rt, devices| async move {
            create(&rt, &devices, &how).await.unwrap();
            Array::open(&rt, &devices, &options()).await.unwrap();
        });
        let before: u64 = disks.iter().map(|&disk| world.stats(disk).read_bytes).sum();
        let segments = session(&world, &disks, |rt, devices| async move {
            let array = Array::open(&rt, &devices, &options()).await.unwrap();
            assert!(!array.recovery().was_clean);
            let of = &array.status().groups[0];
            of.free + of.open + of.sealed + of.pending + of.meta + of.damaged + of.withheld
        });
        (u64::from(segments), disks.iter().map(|&disk| world.stats(disk).read_bytes).sum::<u64>() - before)
    };
    let ((few, little), (many, much)) = (read(32 * MIB), read(256 * MIB));
    assert!(many > 7 * few, "{few} and {many} segments");
    // The first header on each of three columns, and no more.
    assert_eq!(much - little, (many - few) * 3 * 4096, "{few} and {many} segments, {little} and {much} bytes");
}

thread_local! {
    /// What is to happen when the stripes have been looked for, and before they are read again.
    static AFTER_SCAN: RefCell<Option<Box<dyn FnOnce()>>> = const { RefCell::new(None) };
}

struct Meddler;

impl Log for Meddler {
    fn line(&self, _: &str) {}

    fn step(&self, name: &'static str, begins: bool) {
        if name == "open: scan" && !begins {
            AFTER_SCAN.take().into_iter().for_each(|meddle| meddle());
        }
    }
}

#[test]
fn headers_that_cannot_be_read_again_stop_the_opening() {
    let (world, disks) = crashed(5);
    let all = disks.clone();
    let bad = world.clone();
    AFTER_SCAN.set(Some(Box::new(move || all.iter().for_each(|&disk| bad.fail_reads(disk, 2 * MIB..24 * MIB)))));
    let map = MapRule { at_once: 50, ..MapRule::default() };
    let how = OpenOptions { map, ..OpenOptions::new(Arc::new(Meddler)) };
    let error =
        session(&world, &disks, |rt, devices| async move { Array::open(&rt, &devices, &how).await.err().unwrap() });
    assert!(matches!(error, ArrayError::HeaderGone { .. }), "{error}");
}

#[test]
fn a_block_keeps_its_newest_write_over_any_number_of_passes() {
    let world = World::new(1);
    let disks = make(&world, 1, 2, 1, 0);
    session(&world, &disks, |rt, devices| async move {
        let (_array, v) = open(&rt, &devices).await;
        for n in 0..900 {
            put(&rt, &v, n % 3, n).await;
        }
        v.flush().await.unwrap();
    });
    let map = MapRule { at_once: 2, ..MapRule::default() };
    let (outcome, _) = opened(&world, &disks, map);
    let expected: Vec<u64> = (897..900).map(|n| u64::from_le_bytes(block(n)[..8].try_into().unwrap())).collect();
    assert_eq!(outcome.contents[..3], expected);
}

#[test]
fn stripes_that_no_flush_covered_are_read_side_by_side() {
    let world = World::new(1);
    let how = CreateOptions {
        segment: Some(ByteSize(4 * MIB)),
        chunk: ByteSize(64 << 10),
        ..CreateOptions::new("t", Preset::LogRaid, 1, 4, 1)
    };
    let disks: Vec<_> = (0..5).map(|i| world.add_disk(DiskConfig::new(format!("d{i}"), 96 * MIB))).collect();
    session(&world, &disks, |rt, devices| async move {
        create(&rt, &devices, &how).await.unwrap();
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        let volume = array.create_volume("v", ByteSize(64 * MIB), 0).await.unwrap();
        for at in 0..32 * MIB / 65536 {
            volume.write(at * 65536, rt.alloc(65536).full()).await.unwrap();
        }
    });
    // It was killed, and nothing had been flushed.
    let report = session(&world, &disks, |rt, devices| async move {
        Array::open(&rt, &devices, &options()).await.unwrap().recovery().clone()
    });
    let took = report.steps.iter().find(|(step, _)| *step == "replay").map_or(Nanos::ZERO, |step| step.1);
    let one_by_one = Timing::default().read.0 * report.tail_stripes as u64;
    assert!(report.tail_stripes > 30 && took.0 * 4 < one_by_one, "{took} for {} stripes", report.tail_stripes);
}
