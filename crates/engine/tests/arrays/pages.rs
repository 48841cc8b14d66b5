//! Volumes that are mapped by pages.

use cygnus_engine::{Array, CreateOptions, Volume, VolumeAdminError, VolumeError, VolumeOptions, create};
use cygnus_policy::Preset;
use cygnus_runtime::{DeviceInfo, Rng, Runtime};
use cygnus_sim::{DiskConfig, DiskId, World};
use cygnus_types::{ByteSize, Lba, Paging};

use crate::common::{assert_clean, block};
use crate::sessions::*;

/// Blocks of the volume.
const SIZE: u64 = 2048;

fn by_pages(blocks: u8, fine: u32) -> VolumeOptions {
    VolumeOptions { paging: Paging::new(blocks, fine).unwrap(), ..VolumeOptions::default() }
}

/// An array of groups of 2+1 with a volume "v".
fn make(world: &World, preset: Preset, groups: usize, paging: VolumeOptions) -> Vec<DiskId> {
    let disks: Vec<DiskId> =
        (0..3 * groups).map(|n| world.add_disk(DiskConfig::new(format!("d{n}"), 24 * MIB / groups as u64))).collect();
    let how = CreateOptions { segment: Some(ByteSize(512 << 10)), ..CreateOptions::new("tank", preset, groups, 2, 1) };
    session(world, &disks, |rt, devices| async move {
        create(&rt, &devices, &how).await.unwrap();
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        array.create_volume_with("v", ByteSize::of_blocks(SIZE), paging, 0).await.unwrap();
        array.close().await.unwrap();
    });
    disks
}

async fn open(rt: &Runtime, devices: &[DeviceInfo]) -> (Array, Volume) {
    let array = Array::open(rt, devices, &options()).await.unwrap();
    let volume = array.volume("v").unwrap();
    (array, volume)
}

/// What a volume should hold, by block; `None`: zeros.
struct Model {
    tags: Vec<Option<u64>>,
    next: u64,
    rng: Rng,
}

impl Model {
    fn new(seed: u64) -> Self {
        Self { tags: vec![None; SIZE as usize], next: 0, rng: Rng::new(seed) }
    }

    /// Does something to some blocks: mostly writes them.
    async fn step(&mut self, rt: &Runtime, volume: &Volume) {
        let blocks = 1 + self.rng.below(40);
        let at = self.rng.below(SIZE - blocks + 1);
        let range = at as usize..(at + blocks) as usize;
        match self.rng.below(12) {
            0 => {
                volume.write_zeroes(at * 4096, blocks * 4096, false).await.unwrap();
                self.tags[range].fill(None);
            }
            1 => {
                // What part of a page at the ends becomes is not said: so only whole ones.
                let (first, past) = (at.next_multiple_of(16), (at + blocks) / 16 * 16);
                if first < past {
                    volume.trim(first * 4096, (past - first) * 4096).await.unwrap();
                    self.tags[first as usize..past as usize].fill(None);
                }
            }
            2 => {
                // Less than a block.
                self.next += 1;
                let mut bytes = self.tags[at as usize].map_or(vec![0; 4096], block);
                let mut buf = rt.alloc(512);
                let part = &block(self.next)[1024..1536];
                buf.part_mut(0..512).copy_from_slice(part);
                volume.write(at * 4096 + 1024, buf.full().slice(0..512)).await.unwrap();
                bytes[1024..1536].copy_from_slice(part);
                let seen = volume.read(at * 4096, rt.alloc(4096).full()).await.unwrap();
                assert!(seen.bytes() == bytes, "part of block {at}");
                self.write(rt, volume, at..at + 1).await;
            }
            _ => self.write(rt, volume, at..at + blocks).await,
        }
    }

    async fn write(&mut self, rt: &Runtime, volume: &Volume, range: std::ops::Range<u64>) {
        let mut buf = rt.alloc((range.end - range.start) as usize * 4096);
        for (n, at) in range.clone().enumerate() {
            self.next += 1;
            self.tags[at as usize] = Some(self.next);
            buf.part_mut(n * 4096..(n + 1) * 4096).copy_from_slice(&block(self.next));
        }
        volume.write(range.start * 4096, buf.full().slice(0..(range.end - range.start) as usize * 4096)).await.unwrap();
    }

    async fn verify(&mut self, rt: &Runtime, volume: &Volume) {
        let mut at = 0;
        while at < SIZE {
            let blocks = (1 + self.rng.below(50)).min(SIZE - at);
            let into = rt.alloc(blocks as usize * 4096).full().slice(0..blocks as usize * 4096);
            let seen = volume.read(at * 4096, into).await.unwrap_or_else(|error| panic!("from {at} on: {error}"));
            for n in 0..blocks {
                let expected = self.tags[(at + n) as usize].map_or(vec![0; 4096], block);
                assert!(seen.bytes()[n as usize * 4096..][..4096] == expected, "block {}", at + n);
            }
            at += blocks;
        }
    }
}

/// Pages of all sizes, with and without blocks that have entries of their own, through cleaning, power cuts and the loss of a member.
#[test]
fn what_is_written_is_read_whatever_comes() {
    for (seed, (blocks, fine, preset)) in (1..).zip([
        (16, 0, Preset::LogRaid),
        (16, 300, Preset::LogRaid),
        (2, 0, Preset::Swan),
        (4, 5, Preset::Swan),
        (8, u32::MAX, Preset::LogRaid),
        (16, 40, Preset::Fusion),
    ]) {
        let world = World::new(seed);
        let groups = if preset == Preset::Swan { 2 } else { 1 };
        let disks = make(&world, preset, groups, by_pages(blocks, fine));
        let mut model = Model::new(seed);
        for round in 0..4 {
            model = session(&world, &disks, |rt, devices| async move {
                let (array, volume) = open(&rt, &devices).await;
                model.verify(&rt, &volume).await;
                for _ in 0..250 {
                    model.step(&rt, &volume).await;
                }
                model.verify(&rt, &volume).await;
                volume.flush().await.unwrap();
                if round % 2 == 0 {
                    array.close().await.unwrap();
                }
                model
            });
            world.cut_power();
            world.restore_power();
        }
        assert_clean(&world, &disks);
        world.kill(disks[seed as usize % 3]);
        session(&world, &disks, |rt, devices| async move {
            let (array, volume) = open(&rt, &devices).await;
            model.verify(&rt, &volume).await;
            for _ in 0..100 {
                model.step(&rt, &volume).await;
            }
            model.verify(&rt, &volume).await;
            array.close().await.unwrap();
        });
    }
}

#[test]
fn what_cannot_be_is_refused_with_a_reason() {
    let world = World::new(1);
    let disks = make(&world, Preset::LogRaid, 1, by_pages(16, 0));
    session(&world, &disks, |rt, devices| async move {
        let (array, _) = open(&rt, &devices).await;
        let create = |blocks, options| {
            let array = &array;
            async move { array.create_volume_with("w", ByteSize::of_blocks(blocks), options, 0).await.map(drop) }
        };
        assert!(matches!(create(24, by_pages(16, 0)).await, Err(VolumeAdminError::PartOfPage { .. })));
        assert!(matches!(
            array.resize_volume("v", ByteSize::of_blocks(SIZE + 8)).await,
            Err(VolumeAdminError::PartOfPage { .. })
        ));
        array.close().await.unwrap();
    });
}

/// What rots is found, whether the page or one of its blocks is looked at, made from the other columns, and written anew.
#[test]
fn what_rots_is_mended() {
    let world = World::new(3);
    let disks = make(&world, Preset::LogRaid, 1, by_pages(16, 100));
    let mut model = Model::new(3);
    model = session(&world, &disks, |rt, devices| async move {
        let (array, volume) = open(&rt, &devices).await;
        for _ in 0..200 {
            model.step(&rt, &volume).await;
        }
        array.close().await.unwrap();
        model
    });
    for n in 0..300 {
        // One device in turn for each stretch of rows, so that no row loses two.
        let row = 1024 + n * 16;
        world.flip_bit(disks[(n / 8 % 3) as usize], row * 4096 + 77, 3);
    }
    session(&world, &disks, |rt, devices| async move {
        let (array, volume) = open(&rt, &devices).await;
        model.verify(&rt, &volume).await;
        let traffic = array.status().traffic;
        assert!(traffic.repaired > 0, "{traffic:?}");
        array.scrub(0).await;
        model.verify(&rt, &volume).await;
        array.close().await.unwrap();
    });
}

/// A block beyond redundancy takes no other of its page along: they are read, and the page is written, and cleaned.
#[test]
fn a_block_that_is_lost_takes_no_other_along() {
    let world = World::new(4);
    let disks = make(&world, Preset::LogRaid, 1, by_pages(16, 0));
    let (at_hand, members) = (&world, &disks);
    session(&world, &disks, |rt, devices| async move {
        let (array, volume) = open(&rt, &devices).await;
        let mut model = Model::new(4);
        for at in (0..SIZE).step_by(64) {
            model.write(&rt, &volume, at..at + 64).await;
        }
        volume.flush().await.unwrap();
        let (lost, page) = (16 * 7 + 5, 16 * 7..16 * 8);
        let at = array.locate("v", Lba(lost)).await.unwrap();
        for disk in [usize::from(at.column), (usize::from(at.column) + 1) % 3] {
            at_hand.fail_reads(members[disk], at.offset..at.offset + 4096);
        }
        let read = |first: u64, blocks: u64| {
            let (rt, volume) = (&rt, &volume);
            async move { volume.read(first * 4096, rt.alloc(blocks as usize * 4096).full()).await }
        };
        assert!(matches!(read(lost, 1).await, Err(VolumeError::Unreadable { lba, .. }) if lba == Lba(lost)));
        assert!(read(page.start, 16).await.is_err());
        for block in page.clone().filter(|&block| block != lost) {
            let seen = read(block, 1).await.unwrap();
            assert!(seen.bytes() == self::block(model.tags[block as usize].unwrap()), "block {block}");
        }
        model.write(&rt, &volume, lost + 1..lost + 3).await;
        assert!(read(lost, 1).await.is_err(), "what was lost stays so");
        model.write(&rt, &volume, lost..lost + 1).await;
        model.verify(&rt, &volume).await;
        array.close().await.unwrap();
    });
}
