//! Volumes thousands of times as large as the pool, with single blocks far apart: what the map of such a volume takes, on
//! the devices and in memory, follows what is mapped. A full array goes on working, for as long as one likes.

use cygnus_engine::{Array, ArrayError, CreateOptions, Extent, MapRule, OpenOptions, Volume, VolumeError, create};
use cygnus_policy::Preset;
use cygnus_runtime::{DeviceInfo, Runtime, either};
use cygnus_sim::{DiskConfig, DiskId, World};
use cygnus_types::{ByteSize, Nanos};

use crate::common::{assert_clean, block, put};
use crate::sessions::*;

/// From one block to the next: a page of the map each.
const STRIDE: u64 = 512;
/// The largest volume there is.
const SIZE: u64 = 64 << 40;
/// After so much virtual time whatever has not ended never will.
const PATIENCE: Nanos = Nanos::secs(600);

/// An array with the largest volume, "v", and another one, "w".
fn make(world: &World, preset: Preset, groups: usize, m: u8) -> Vec<DiskId> {
    let disks: Vec<DiskId> =
        (0..groups * usize::from(2 + m)).map(|i| world.add_disk(DiskConfig::new(format!("d{i}"), 16 * MIB))).collect();
    let how = CreateOptions { segment: Some(ByteSize(512 << 10)), ..CreateOptions::new("tank", preset, groups, 2, m) };
    session(world, &disks, |rt, devices| async move {
        create(&rt, &devices, &how).await.unwrap();
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        array.create_volume("v", ByteSize(SIZE), 0).await.unwrap();
        array.create_volume("w", ByteSize(SIZE), 0).await.unwrap();
        array.close().await.unwrap();
    });
    disks
}

/// Waits for something that must end.
async fn ends<T>(rt: &Runtime, what: &str, work: impl Future<Output = T>) -> T {
    let mut result = None;
    either(async { result = Some(work.await) }, rt.sleep(PATIENCE)).await;
    result.unwrap_or_else(|| panic!("{what} never ends"))
}

async fn open(rt: &Runtime, devices: &[DeviceInfo]) -> Array {
    ends(rt, "an opening", Array::open(rt, devices, &options())).await.unwrap()
}

/// Writes at every stride, the first block at `from`, until the array is full; returns how many blocks there are.
async fn fill(rt: &Runtime, volume: &Volume, from: u64) -> u64 {
    let mut buf = rt.alloc(4096);
    let mut written = 0;
    loop {
        let at = from + written * STRIDE;
        buf.bytes_mut().copy_from_slice(&block(at));
        match ends(rt, "a write", volume.write(at * 4096, buf.full())).await {
            Ok(()) => written += 1,
            Err(VolumeError::NoSpace { .. }) => return written,
            Err(error) => panic!("{error}"),
        }
    }
}

async fn expect(rt: &Runtime, volume: &Volume, blocks: impl Iterator<Item = u64>) {
    let buf = rt.alloc(4096);
    for at in blocks {
        let data = volume.read(at * 4096, buf.full()).await.unwrap();
        assert!(data.bytes() == block(at), "block {at}");
    }
}

/// The full array is overwritten, flushed, trimmed and filled again, several times over.
async fn go_on(rt: &Runtime, array: &Array, volume: &Volume, blocks: u64) {
    let usable = array.status().usable.blocks();
    for round in 0..3 {
        for n in 0..blocks {
            let at = n * 7919 % blocks * STRIDE;
            ends(rt, "an overwrite", put(rt, volume, at, at)).await;
            if n % 64 == round {
                ends(rt, "a flush", volume.flush()).await.unwrap();
            }
        }
        let half = blocks / 2 * STRIDE * 4096;
        ends(rt, "a trim", volume.trim(0, half)).await.unwrap();
        assert!(array.status().mapped.blocks() <= usable - blocks / 2);
        for n in 0..blocks / 2 {
            ends(rt, "a write", put(rt, volume, n * STRIDE, n * STRIDE)).await;
        }
        assert_eq!(array.status().mapped.blocks(), usable, "full again");
    }
}

fn never_stops(preset: Preset, groups: usize, m: u8) {
    let world = World::new(7);
    let disks = make(&world, preset, groups, m);
    let blocks = session(&world, &disks, |rt, devices| async move {
        let array = open(&rt, &devices).await;
        let (v, w) = (array.volume("v").unwrap(), array.volume("w").unwrap());
        // A part of it is another volume's, to be deleted later.
        for n in 0..array.status().usable.blocks() / 4 {
            ends(&rt, "a write", put(&rt, &w, n * STRIDE, n)).await;
        }
        let blocks = fill(&rt, &v, 0).await;
        let status = array.status();
        assert_eq!(status.mapped, status.usable, "all that is promised can be had");
        assert!(SIZE / status.usable.0 > 1000);
        go_on(&rt, &array, &v, blocks).await;
        let each = array.map_bytes().0 / status.mapped.blocks();
        assert!(each < 256, "{each} bytes of memory for each block");
        ends(&rt, "a checkpoint", array.checkpoint()).await.unwrap();
        v.flush().await.unwrap();
        blocks
    });
    // Killed: what was flushed is there.
    session(&world, &disks, |rt, devices| async move {
        let array = open(&rt, &devices).await;
        let (v, w) = (array.volume("v").unwrap(), array.volume("w").unwrap());
        assert_eq!(array.status().mapped, array.status().usable);
        expect(&rt, &v, (0..blocks).map(|n| n * STRIDE)).await;
        go_on(&rt, &array, &v, blocks).await;
        ends(&rt, "closing", array.close()).await.unwrap();
        drop(w);
    });
    assert_clean(&world, &disks);
    session(&world, &disks, |rt, devices| async move {
        let array = open(&rt, &devices).await;
        assert!(array.recovery().was_clean);
        let v = array.volume("v").unwrap();
        expect(&rt, &v, (0..blocks).map(|n| n * STRIDE)).await;
        ends(&rt, "deleting a volume", array.delete_volume("w")).await.unwrap();
        let more = fill(&rt, &v, blocks * STRIDE).await;
        assert_eq!(array.status().usable.blocks(), blocks + more);
        // All of it at once, and it is as small as it was.
        ends(&rt, "trimming all", v.trim(0, SIZE)).await.unwrap();
        v.flush().await.unwrap();
        v.flush().await.unwrap();
        assert_eq!((array.status().mapped.0, array.map_bytes().0), (0, 0));
        assert_eq!(v.extents(0, SIZE, 4), [Extent { len: SIZE, mapped: false }]);
        ends(&rt, "closing", array.close()).await.unwrap();
    });
    assert_clean(&world, &disks);
}

#[test]
fn a_sparse_volume_fills_the_array_and_it_goes_on() {
    never_stops(Preset::LogRaid, 1, 1);
}

#[test]
fn a_sparse_volume_fills_the_groups_and_they_go_on() {
    never_stops(Preset::Swan, 3, 1);
}

#[test]
fn a_sparse_volume_fills_a_serial_array_and_it_goes_on() {
    never_stops(Preset::Serial, 3, 0);
}

#[test]
fn no_block_is_mapped_beyond_the_memory_that_maps_may_take() {
    let world = World::new(8);
    let disks = make(&world, Preset::LogRaid, 1, 1);
    session(&world, &disks, |rt, devices| async move {
        let limit = ByteSize(16 << 10);
        let how = OpenOptions { map: MapRule { limit, ..MapRule::default() }, ..options() };
        let array = Array::open(&rt, &devices, &how).await.unwrap();
        let v = array.volume("v").unwrap();
        let mut buf = rt.alloc(4096);
        let mut at = 0;
        let error = loop {
            buf.bytes_mut().copy_from_slice(&block(at));
            match v.write(at * 4096, buf.full()).await {
                Ok(()) => at += STRIDE * 512,
                Err(error) => break error,
            }
        };
        assert!(matches!(error, VolumeError::MapMemory { .. }), "{error}");
        assert!(array.map_bytes() >= limit && array.map_bytes().0 < 2 * limit.0, "{}", array.map_bytes());
        put(&rt, &v, 0, 5).await;
        v.trim(0, SIZE / 2).await.unwrap();
        v.flush().await.unwrap();
        put(&rt, &v, STRIDE, 6).await;
        array.set_map_limit(ByteSize(u64::MAX));
        put(&rt, &v, at, at).await;
        array.close().await.unwrap();
    });
}

/// Writes blocks in many GiB of a volume, and ends the session with or without a crash.
fn scatter(world: &World, disks: &[DiskId], blocks: u64, cleanly: bool) {
    session(world, disks, |rt, devices| async move {
        let array = open(&rt, &devices).await;
        let v = array.volume("v").unwrap();
        for n in 0..blocks {
            put(&rt, &v, n * STRIDE * 512, n).await;
        }
        v.flush().await.unwrap();
        if cleanly {
            array.close().await.unwrap();
        }
    });
}

/// Opens it with so much memory, and reads what `scatter` wrote.
fn opens_with(world: &World, disks: &[DiskId], blocks: u64, limit: u64, recovery: u64) -> Result<(), ArrayError> {
    session(world, disks, |rt, devices| async move {
        let map = MapRule { limit: ByteSize(limit), recovery: ByteSize(recovery), ..MapRule::default() };
        let array = Array::open(&rt, &devices, &OpenOptions { map, ..options() }).await?;
        assert!(array.map_bytes().0 <= limit);
        let v = array.volume("v").unwrap();
        let buf = rt.alloc(4096);
        for n in 0..blocks {
            let data = v.read(n * STRIDE * 512 * 4096, buf.full()).await.unwrap();
            assert!(data.bytes() == block(n), "block {n}");
        }
        array.close().await.unwrap();
        Ok(())
    })
}

#[test]
fn an_array_whose_maps_do_not_fit_is_not_opened_and_says_what_they_need() {
    let world = World::new(10);
    let disks = make(&world, Preset::LogRaid, 1, 1);
    const BLOCKS: u64 = 500;
    scatter(&world, &disks, BLOCKS, true);
    let needed = match opens_with(&world, &disks, BLOCKS, 20 << 10, u64::MAX) {
        Err(ArrayError::Memory { needed, limit, .. }) => {
            assert_eq!(limit.0, 20 << 10);
            needed.0
        }
        other => panic!("{other:?}"),
    };
    opens_with(&world, &disks, BLOCKS, needed + 1, u64::MAX).unwrap();
    assert!((BLOCKS * 64..BLOCKS * 256).contains(&needed), "{needed} bytes");
}

#[test]
fn what_a_crash_left_is_looked_through_with_little_memory_and_not_with_next_to_none() {
    let world = World::new(11);
    let disks = make(&world, Preset::LogRaid, 1, 1);
    const BLOCKS: u64 = 500;
    scatter(&world, &disks, BLOCKS, false);
    // Not even the stripes could be remembered.
    let needed = match opens_with(&world, &disks, BLOCKS, 512, 512) {
        Err(error @ ArrayError::Memory { needed, limit, .. }) => {
            assert_eq!(limit.0, 1 << 10);
            assert!(error.to_string().contains("since the last checkpoint"), "{error}");
            needed.0
        }
        other => panic!("{other:?}"),
    };
    assert!(needed < BLOCKS * 24, "{needed} bytes");
    // Room for these, and not for the maps that they make.
    match opens_with(&world, &disks, BLOCKS, 512, needed) {
        Err(error @ ArrayError::Memory { .. }) => assert!(error.to_string().contains("the maps"), "{error}"),
        other => panic!("{other:?}"),
    }
    opens_with(&world, &disks, BLOCKS, 256 * BLOCKS, 0).unwrap();
}

#[test]
fn extents_of_a_sparse_volume_are_what_is_mapped() {
    let world = World::new(9);
    let disks = make(&world, Preset::LogRaid, 1, 1);
    session(&world, &disks, |rt, devices| async move {
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        let v = array.volume("v").unwrap();
        for at in [0, 1, 700, (1 << 18) + 5, SIZE / 4096 - 1] {
            put(&rt, &v, at, at).await;
        }
        let all: Vec<(u64, bool)> = v.extents(0, SIZE, 100).iter().map(|e| (e.len / 4096, e.mapped)).collect();
        let (second, last) = ((1 << 18) + 5, SIZE / 4096 - 1);
        let holes = [698, second - 701, last - second - 1];
        let expected =
            [(2, true), (holes[0], false), (1, true), (holes[1], false), (1, true), (holes[2], false), (1, true)];
        assert_eq!(all, expected);
        let some: Vec<(u64, bool)> = v.extents(100, 8192, 2).iter().map(|e| (e.len, e.mapped)).collect();
        assert_eq!(some, [(8092, true), (100, false)]);
        assert_eq!(v.extents(4096, SIZE - 4096, 1), [Extent { len: 4096, mapped: true }]);
        array.close().await.unwrap();
    });
}
