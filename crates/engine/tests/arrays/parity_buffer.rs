//! Open stripes of which members have copies, or the parity of their rows: that is less, and restores as much.

#[cfg(debug_assertions)]
use cygnus_engine::planted::{Bug, plant};
use cygnus_engine::{Array, CreateOptions, Traffic, Volume, create};
use cygnus_policy::{ParityPlacement, Preset, Streams, UntilFull, Victim};
use cygnus_runtime::Runtime;
use cygnus_sim::{DiskConfig, DiskId, World};
use cygnus_types::{ByteSize, Rng};

use crate::common::{block, open, put};
use crate::sessions::*;

const BLOCKS: u64 = 1000;

/// An array of one group with a volume "v": chunks of four blocks, stripes of 32 rows.
fn make(k: u8, m: u8, until_full: UntilFull) -> (World, Vec<DiskId>) {
    let world = World::new(5);
    let disk = |n| world.add_disk(DiskConfig::new(format!("d{n}"), 24 * MIB));
    let disks: Vec<DiskId> = (0..k + m).map(disk).collect();
    let how = CreateOptions {
        segment: Some(ByteSize(512 << 10)),
        chunk: ByteSize(16 << 10),
        stripe_rows: Some(32),
        until_full: Some(until_full),
        ..CreateOptions::new("tank", Preset::LogRaid, 1, k, m)
    };
    session(&world, &disks, |rt, devices| async move {
        create(&rt, &devices, &how).await.unwrap();
        let array = Array::open(&rt, &devices, &options()).await.unwrap();
        array.create_volume("v", ByteSize(8 * MIB), 0).await.unwrap();
        array.close().await.unwrap();
    });
    (world, disks)
}

/// Writes batches of blocks, each with a flush behind it; what each block holds then, by tag.
async fn batches(rt: &Runtime, volume: &Volume, seed: u64, batches: u64, most: u64) -> Vec<u64> {
    let (mut rng, mut tags) = (Rng::new(seed), vec![0; BLOCKS as usize]);
    for batch in 1..=batches {
        for n in 0..1 + rng.below(most) {
            let at = rng.below(BLOCKS);
            tags[at as usize] = batch << 16 | n;
            put(rt, volume, at, tags[at as usize]).await;
        }
        volume.flush().await.unwrap();
    }
    tags
}

fn traffic(until_full: UntilFull) -> Traffic {
    let (world, disks) = make(4, 1, until_full);
    session(&world, &disks, |rt, devices| async move {
        let (array, volume) = open(&rt, &devices).await;
        batches(&rt, &volume, 1, 300, 12).await;
        array.traffic()
    })
}

#[test]
fn the_parity_of_rows_is_less_than_copies() {
    let [copies, parity] = [UntilFull::TwoPhase, UntilFull::ParityBuffer].map(traffic);
    assert_eq!(copies.backup_parity, 0);
    assert!(parity.backup_parity > 300, "{parity:?}");
    // Blocks beside those of clients, for each of these.
    let beside = |of: &Traffic| {
        let all = of.backup_written + of.parity_written + of.header_written + of.padding_written;
        all as f64 / of.client_written as f64
    };
    assert!(beside(&parity) < 0.9 * beside(&copies), "{} and {}", beside(&parity), beside(&copies));
}

/// Power goes behind the last of so many flushes, and with it some of the members for good. Says whether all that was flushed is there.
fn outlasts(until_full: UntilFull, k: u8, m: u8, lost: &[usize], flushes: u64) -> bool {
    let (world, disks) = make(k, m, until_full);
    let tags = session(&world, &disks, |rt, devices| async move {
        let (_array, volume) = open(&rt, &devices).await;
        batches(&rt, &volume, flushes, flushes, 14).await
    });
    world.cut_power();
    world.restore_power();
    let left: Vec<DiskId> =
        disks.iter().enumerate().filter(|(n, _)| !lost.contains(n)).map(|(_, &disk)| disk).collect();
    session(&world, &left, |rt, devices| async move {
        let Ok(array) = Array::open(&rt, &devices, &options()).await else { return false };
        let volume = array.volume("v").unwrap();
        for (at, tag) in (0..).zip(tags).filter(|&(_, tag)| tag > 0) {
            match volume.read(at * 4096, rt.alloc(4096).full()).await {
                Ok(data) if data.bytes() == block(tag) => {}
                _ => return false,
            }
        }
        true
    })
}

#[test]
fn as_many_members_may_be_lost_as_there_is_parity() {
    for (k, m, lost) in [
        (4, 1, &[][..]),
        (4, 1, &[0]),
        (4, 1, &[2]),
        (4, 1, &[4]),
        (3, 2, &[0, 1]),
        (3, 2, &[1, 4]),
        (4, 3, &[0, 2, 3]),
        (4, 3, &[1, 5, 6]),
        (1, 2, &[0, 2]),
    ] {
        for (flushes, how) in
            (1..24).flat_map(|flushes| [UntilFull::TwoPhase, UntilFull::ParityBuffer].map(|how| (flushes, how)))
        {
            assert!(outlasts(how, k, m, lost, flushes), "{k}+{m}, {how}, without {lost:?} after {flushes} flushes");
        }
    }
}

#[test]
#[cfg(debug_assertions)]
fn parity_that_leaves_out_what_was_there_before_is_missed() {
    plant(Some(Bug::ParityOfNewOnly));
    let lost = (1..24).filter(|&flushes| !outlasts(UntilFull::ParityBuffer, 4, 1, &[2], flushes)).count();
    plant(None);
    assert!(lost > 0, "the bug is not seen");
}

#[test]
#[cfg(debug_assertions)]
fn copies_that_leave_with_the_blocks_are_missed() {
    plant(Some(Bug::CopiesBesideTheBlocks));
    let lost = (1..24).filter(|&flushes| !outlasts(UntilFull::TwoPhase, 4, 1, &[2], flushes)).count();
    plant(None);
    assert!(lost > 0, "the bug is not seen");
}

#[test]
fn every_choice_of_an_array_goes_with_every_other() {
    for until_full in UntilFull::ALL {
        for streams in [None, Some(Streams::ByHeat), Some(Streams::ByVolume)] {
            for placement in [ParityPlacement::Fixed, ParityPlacement::Rotated] {
                for victim in [None, Some(Victim::Choices { among: 7 })] {
                    let (until_full, placement) = (Some(until_full), Some(placement));
                    let plain = CreateOptions::new("tank", Preset::LogRaid, 1, 2, 1);
                    let segment = Some(ByteSize(512 << 10));
                    let how = CreateOptions { until_full, streams, placement, victim, segment, ..plain };
                    let world = World::new(5);
                    let disk = |n| world.add_disk(DiskConfig::new(format!("d{n}"), 64 * MIB));
                    let disks: Vec<DiskId> = (0..3).map(disk).collect();
                    session(&world, &disks, |rt, devices| async move {
                        create(&rt, &devices, &how).await.unwrap();
                        let array = Array::open(&rt, &devices, &options()).await.unwrap();
                        let status = array.status();
                        let chosen = (Some(status.until_full), status.streams, status.cleaning);
                        let wanted =
                            (until_full, streams.unwrap_or(Streams::Together), victim.unwrap_or(status.cleaning));
                        assert_eq!(chosen, wanted);
                        array.close().await.unwrap();
                    });
                }
            }
        }
    }
}
