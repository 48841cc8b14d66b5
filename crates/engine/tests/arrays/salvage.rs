//! Salvage in virtual time: whatever is there of a broken array is delivered as it was, what is not is said to be lost,
//! and no device is written to.

use cygnus_engine::{Array, ArrayError, Salvage};
use cygnus_format::Stream;
use cygnus_sim::DiskId;
use cygnus_types::{BLOCK, Lba};

use crate::sample::{B, Sample};
use crate::sessions::{MIB, options, session};

/// Blocks of the volume.
const BLOCKS: usize = (8 * MIB) as usize / BLOCK;
/// Blocks that were discarded: when no checkpoint says so, they may be back.
const DISCARDED: std::ops::Range<usize> = 650..670;

/// A block of the volume: what it holds, `None` if that is lost.
type Block = Option<Vec<u8>>;

/// What salvage delivers, and whether that is all there can be.
fn salvage(sample: &Sample, disks: &[DiskId]) -> (Vec<Block>, bool) {
    let before = sample.contents();
    let found = session(&sample.world, disks, |rt, devices| async move {
        let salvage = Salvage::open(&rt, &devices, &options()).await.unwrap();
        let volume = salvage.volume("v").unwrap();
        let mut blocks = vec![Some(vec![0; BLOCK]); BLOCKS];
        let mut next = Lba(0);
        while let Some(first) = salvage.next_data(&volume, next) {
            let count = 16.min(BLOCKS - first.0 as usize);
            let piece = salvage.read(&volume, first, count).await;
            for (n, data) in piece.data.bytes().chunks(BLOCK).enumerate() {
                let lba = first.plus(n as u64);
                blocks[lba.0 as usize] = (!piece.lost.contains(&lba)).then(|| data.to_vec());
            }
            next = first.plus(count as u64);
        }
        (blocks, salvage.knows_all_blocks())
    });
    assert!(sample.contents() == before, "salvage writes nothing");
    found
}

/// What the array itself delivers.
fn served(sample: &Sample) -> Vec<Block> {
    session(&sample.world, &sample.disks, |rt, devices| async move {
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        let volume = array.volume("v").unwrap();
        let mut blocks = Vec::new();
        for lba in 0..BLOCKS {
            let data = volume.read((lba * BLOCK) as u64, rt.alloc(BLOCK).full()).await.unwrap();
            blocks.push(Some(data.bytes().to_vec()));
        }
        blocks
    })
}

#[test]
fn a_sound_array_is_delivered_whole() {
    for closed in [true, false] {
        let sample = Sample::new(21, 2, 1, closed);
        let (found, complete) = salvage(&sample, &sample.disks);
        assert!(complete);
        assert!(found == served(&sample), "closed: {closed}");
    }
}

#[test]
fn more_members_are_missing_than_the_parity_covers() {
    let is_data = |block: &Block| block.as_ref().is_some_and(|data| data.iter().any(|&byte| byte != 0));
    let mut incomplete = 0;
    for closed in [true, false] {
        let sample = Sample::new(22, 2, 1, closed);
        let (all, _) = salvage(&sample, &sample.disks);
        for left in 0..3 {
            let (found, complete) = salvage(&sample, &sample.disks[left..=left]);
            incomplete += usize::from(!complete);
            let delivered = found.iter().filter(|block| is_data(block)).count();
            assert!(delivered > 100, "{delivered} blocks with member {left} alone");
            for (lba, (now, was)) in found.iter().zip(&all).enumerate().filter(|(_, (now, _))| now.is_some()) {
                match complete {
                    // With the whole map at hand a block is right or lost.
                    true => assert!(now == was, "block {lba} with member {left} alone"),
                    // Else it may be an older version, or back from before it was discarded.
                    false => assert!(!is_data(now) || is_data(was) || DISCARDED.contains(&lba), "block {lba}"),
                }
            }
        }
    }
    assert!(incomplete >= 3, "without a clean stop one member alone cannot know everything");
}

#[test]
fn without_any_checkpoint_the_headers_tell() {
    let sample = Sample::new(23, 2, 1, true);
    let (all, _) = salvage(&sample, &sample.disks);
    for spot in sample.spots().iter().filter(|spot| spot.stream == Stream::Meta) {
        let disk = sample.disks[usize::from(spot.column)];
        sample.world.fail_reads(disk, spot.offset..spot.offset + B);
    }
    let refused = session(&sample.world, &sample.disks, |rt, devices| async move {
        Array::open(&rt, &devices, &options()).await.err()
    });
    assert!(matches!(refused, Some(ArrayError::LostCheckpoint { .. })), "{refused:?}");
    let (found, complete) = salvage(&sample, &sample.disks);
    assert!(complete);
    for (lba, (now, was)) in found.iter().zip(&all).enumerate().filter(|(lba, _)| !DISCARDED.contains(lba)) {
        assert!(now == was, "block {lba}");
    }
}

#[test]
fn a_device_without_superblocks_is_known_by_its_headers() {
    let sample = Sample::new(24, 2, 1, true);
    let (all, _) = salvage(&sample, &sample.disks);
    sample.overwrite(2, 0, &vec![0xA5; cygnus_format::SUPERBLOCK_AREA as usize]);
    // One of the other two is missing: without the nameless one too many would be.
    let (found, _) = salvage(&sample, &sample.disks[1..]);
    assert!(found == all);
}

#[test]
fn blocks_beyond_redundancy_are_lost_and_nothing_else_is() {
    let sample = Sample::new(25, 2, 1, true);
    let (all, _) = salvage(&sample, &sample.disks);
    let spot = sample.live()[77];
    sample.flip(&spot);
    sample.flip(&sample.parity_beside(&spot));
    let (found, complete) = salvage(&sample, &sample.disks);
    assert!(complete);
    for (lba, (now, was)) in found.iter().zip(&all).enumerate() {
        match lba as u64 == spot.entry.lba().0 {
            true => assert!(now.is_none(), "block {lba}"),
            false => assert!(now == was, "block {lba}"),
        }
    }
}
