//! Arrays in which segments are not protected alike: what clients write is there as copies, or with more parity than the
//! array promises, and cleaning moves it into stripes with as much as promised.

use std::collections::BTreeMap;

use cygnus_engine::{Array, CreateOptions, JobState, Salvage, Volume, check, create};
use cygnus_format::{Geometry, Protection, RootUse, Stream, StripeHeader, Superblock};
use cygnus_policy::Preset;
use cygnus_runtime::Runtime;
use cygnus_sim::{DiskConfig, DiskId, World};
use cygnus_types::{BLOCK, ByteSize, GroupId, Lba, MemberIx, SegmentId};

use crate::common::{assert_clean, block, ended, healed};
use crate::sessions::*;

/// Columns of data, parity columns promised, and those of clients' segments.
const SHAPES: [(u8, u8, u8); 5] = [(2, 1, 2), (2, 0, 1), (3, 0, 1), (2, 2, 3), (4, 1, 2)];
const BLOCKS: u64 = 600;

struct Mixed {
    world: World,
    disks: Vec<DiskId>,
    spare: DiskId,
    m: u8,
    clients: u8,
}

async fn put(rt: &Runtime, volume: &Volume, at: u64, tag: u64) {
    let mut buf = rt.alloc(BLOCK);
    buf.bytes_mut().copy_from_slice(&block(tag));
    volume.write(at * BLOCK as u64, buf.full()).await.unwrap();
}

/// What a block was last written with, in [`history`].
fn newest(at: u64) -> u64 {
    at + 10_000 * last_round(at)
}

const ROUNDS: u64 = 40;

/// The last round of [`history`] in which a block is written: in each there are some that stay.
fn last_round(at: u64) -> u64 {
    at % (ROUNDS + 1)
}

/// Writes blocks again and again, so that segments of clients are cleaned, each with current blocks, while others stay.
async fn history(rt: &Runtime, volume: &Volume) {
    for round in 0..=ROUNDS {
        for at in 0..BLOCKS {
            if round <= last_round(at) {
                put(rt, volume, at, at + 10_000 * round).await;
            }
            if at % 41 == 0 {
                volume.flush().await.unwrap();
            }
        }
    }
    volume.flush().await.unwrap();
}

async fn verify(rt: &Runtime, volume: &Volume) {
    for at in 0..BLOCKS {
        let data = volume.read(at * BLOCK as u64, rt.alloc(BLOCK).full()).await.unwrap();
        assert!(data.bytes() == block(newest(at)), "block {at}");
    }
}

impl Mixed {
    /// Made and written; then closed, or its power is cut.
    fn new(seed: u64, (k, m, clients): (u8, u8, u8), close: bool) -> Self {
        let world = World::new(seed);
        let mut disks: Vec<DiskId> =
            (0..=k + m).map(|n| world.add_disk(DiskConfig::new(format!("d{n}"), 14 * MIB))).collect();
        let spare = disks.pop().unwrap();
        let how = CreateOptions {
            segment: Some(ByteSize(256 << 10)),
            chunk: ByteSize(8 << 10),
            stripe_rows: Some(8),
            clients_parity: Some(clients),
            ..CreateOptions::new("tank", Preset::LogRaid, 1, k, m)
        };
        session(&world, &disks, |rt, devices| async move {
            create(&rt, &devices, &how).await.unwrap();
            let array = Array::open(&rt, &devices, &options()).await.unwrap();
            let volume = array.create_volume("v", ByteSize(4 * MIB), 0).await.unwrap();
            history(&rt, &volume).await;
            if close {
                array.close().await.unwrap();
            }
        });
        if !close {
            world.cut_power();
            world.restore_power();
        }
        Self { world, disks, spare, m, clients }
    }

    /// How many segments begin with stripes of which protection, by their headers alone; of segments in use and others.
    fn segments(&self) -> BTreeMap<(Stream, usize), u32> {
        let newest = self.superblock();
        let geometry: Geometry = newest.state.geometry;
        let mut found = BTreeMap::new();
        for segment in (0..newest.state.groups[0].segments()).map(SegmentId) {
            let mut bytes = vec![0; 8 * BLOCK];
            self.world.peek(self.disks[0], geometry.device_offset(segment.0, 0), &mut bytes);
            let header = StripeHeader::decode(&bytes).and_then(|h| h.verify(newest.array.tag()));
            if let Ok(header) = header.and_then(|h| h.at(GroupId(0), segment, 0, 0)) {
                let common = header.common();
                *found.entry((common.stream, common.rotation.losses())).or_default() += 1;
            }
        }
        found
    }

    fn superblock(&self) -> Superblock {
        let mut head = vec![0; cygnus_format::SUPERBLOCK_AREA as usize];
        self.world.peek(self.disks[0], 0, &mut head);
        Superblock::newest(&head).unwrap()
    }
}

#[test]
fn segments_of_one_group_differ_and_everything_reads_them() {
    for (seed, shape) in (1..).zip(SHAPES) {
        let array = Mixed::new(seed, shape, true);
        let segments = array.segments();
        assert!(segments.contains_key(&(Stream::Clients, array.clients.into())), "{shape:?}: {segments:?}");
        assert!(segments.contains_key(&(Stream::Meta, array.m.into())), "{shape:?}: {segments:?}");
        assert!(segments.contains_key(&(Stream::Relocation, array.m.into())), "{shape:?}: {segments:?}");
        assert!(
            segments.keys().all(|&(stream, losses)| losses
                == usize::from(if stream == Stream::Clients { array.clients } else { array.m }))
        );
        session(&array.world, &array.disks, |rt, devices| async move {
            let array = Array::open(&rt, &devices, &options()).await.unwrap();
            verify(&rt, &array.volume("v").unwrap()).await;
            array.close().await.unwrap();
        });
        assert_clean(&array.world, &array.disks);
    }
}

#[test]
fn a_crash_is_recovered_from_by_the_headers() {
    for (seed, shape) in (11..).zip(SHAPES) {
        let array = Mixed::new(seed, shape, false);
        for lost in [None, Some(0), Some(1)] {
            if lost.is_some() && array.m == 0 {
                continue;
            }
            let disks: Vec<_> =
                array.disks.iter().enumerate().filter(|(n, _)| Some(*n) != lost).map(|(_, &disk)| disk).collect();
            session(&array.world, &disks, |rt, devices| async move {
                let array =
                    Array::open(&rt, &devices, &cygnus_engine::OpenOptions { read_only: true, ..options() }).await;
                verify(&rt, &array.unwrap().volume("v").unwrap()).await;
            });
        }
        session(&array.world, &array.disks, |rt, devices| async move {
            let array = Array::open(&rt, &devices, &options()).await.unwrap();
            verify(&rt, &array.volume("v").unwrap()).await;
            array.close().await.unwrap();
        });
        assert_clean(&array.world, &array.disks);
    }
}

#[test]
fn a_member_is_rebuilt_from_segments_of_both_kinds() {
    for (seed, shape) in (21..).zip(SHAPES.into_iter().filter(|shape| shape.1 > 0)) {
        for close in [true, false] {
            let array = Mixed::new(seed, shape, close);
            let mut disks = array.disks.clone();
            disks[0] = array.spare;
            let (left, spare) = (array.disks[1..].to_vec(), array.spare);
            session(&array.world, &[&left[..], &[spare]].concat(), |rt, devices| async move {
                let (left, spare) = devices.split_at(left.len());
                let array = Array::open(&rt, left, &options()).await.unwrap();
                let job = array.replace(MemberIx(0), &spare[0], false).await.unwrap();
                assert_eq!(ended(&rt, &array, job).await.state, JobState::Done);
                healed(&rt, &array).await;
                array.close().await.unwrap();
            });
            assert_clean(&array.world, &disks);
            // What was rebuilt is used: another one is away now.
            let without: Vec<_> = disks.iter().enumerate().filter(|(n, _)| *n != 1).map(|(_, &disk)| disk).collect();
            session(&array.world, &without, |rt, devices| async move {
                let array = Array::open(&rt, &devices, &options()).await.unwrap();
                verify(&rt, &array.volume("v").unwrap()).await;
                array.close().await.unwrap();
            });
        }
    }
}

#[test]
fn a_block_that_rots_is_mended_by_what_its_own_segment_has() {
    for (seed, shape) in (31..).zip(SHAPES) {
        let array = Mixed::new(seed, shape, true);
        let clients = array.clients;
        let (world, disks) = (&array.world, &array.disks);
        // As many columns of a row as clients' segments may lose, of what was written last.
        let at = session(world, disks, |rt, devices| async move {
            let array = Array::open(&rt, &devices, &options()).await.unwrap();
            let volume = array.volume("v").unwrap();
            let mut found = None;
            for at in 0..60 {
                put(&rt, &volume, at, newest(at)).await;
            }
            volume.flush().await.unwrap();
            for at in 0..60 {
                let at = array.locate("v", Lba(at)).await.unwrap();
                if at.protection == (Protection::FullStripe { parity: clients }) {
                    found = Some(at);
                }
            }
            array.close().await.unwrap();
            found.expect("one is there")
        });
        for column in 0..usize::from(clients) {
            world.flip_bit(disks[(at.member.index() + column) % disks.len()], at.offset + 9, 3);
        }
        session(world, disks, |rt, devices| async move {
            let array = Array::open(&rt, &devices, &options()).await.unwrap();
            verify(&rt, &array.volume("v").unwrap()).await;
            let job = array.start_scrub(0);
            assert_eq!(ended(&rt, &array, job).await.state, JobState::Done);
            array.close().await.unwrap();
        });
        session(world, disks, |rt, devices| async move {
            let report = check(&rt, &devices, &options(), |_| {}).await.unwrap();
            assert_eq!(report.damage(), 0, "{:#?}", report.findings);
        });
    }
}

#[test]
fn copies_are_salvaged_with_more_members_lost_than_the_array_promises() {
    let array = Mixed::new(41, (2, 1, 2), true);
    session(&array.world, &array.disks[2..], |rt, devices| async move {
        let refused = Array::open(&rt, &devices, &options()).await;
        assert!(matches!(refused, Err(cygnus_engine::ArrayError::TooManyMissing { .. })));
        let salvage = Salvage::open(&rt, &devices, &options()).await.unwrap();
        let volume = salvage.volume("v").unwrap();
        let mut whole = 0;
        for at in 0..BLOCKS {
            let piece = salvage.read(&volume, Lba(at), 1).await;
            if piece.lost.is_empty() && piece.data.bytes() == block(newest(at)) {
                whole += 1;
            }
        }
        // The others were moved into stripes of one parity.
        assert!(whole > BLOCKS / 3, "{whole} blocks");
    });
}

#[test]
fn a_checkpoint_has_a_table_of_what_segments_are_protected_by_only_where_they_differ() {
    for (clients, wanted) in [(2, true), (1, false)] {
        let array = Mixed::new(51, (2, 1, clients), true);
        let newest = array.superblock();
        let root = newest.state.roots[0].clone().unwrap();
        let mut tables = 0;
        for at in root.segments.iter().filter(|at| at.use_of == RootUse::Pages) {
            let mut bytes = vec![0; 8 * BLOCK];
            array.world.peek(array.disks[0], newest.state.geometry.device_offset(at.segment.0, 0), &mut bytes);
            let header = StripeHeader::decode(&bytes).and_then(|h| h.verify(newest.array.tag())).unwrap();
            let entries = (0..3).flat_map(|column| header.entries_of(column).unwrap_or_default());
            tables += entries.filter(|e| e.kind() == cygnus_format::Kind::Protections).count();
        }
        assert_eq!(tables > 0, wanted);
    }
}
