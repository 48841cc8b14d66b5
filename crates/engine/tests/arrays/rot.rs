//! Rot in what describes the data: headers, checkpoints, superblocks. Whatever is hit, nobody is shown old data.

use cygnus_engine::{Array, ArrayError, CreateOptions, Volume, VolumeError, create};
use cygnus_format::{Geometry, RootUse, SUPERBLOCK_AREA, Stream, StripeHeader, Superblock};
use cygnus_policy::Preset;
use cygnus_runtime::Runtime;
use cygnus_sim::{DiskConfig, DiskId, World};
use cygnus_types::{BLOCK, ByteSize, GroupId, SegmentId};

use crate::common::block;
use crate::sessions::*;

const B: u64 = BLOCK as u64;
const BLOCKS: u64 = 120;

/// An array with a volume of which every block was written, covered by a checkpoint, and written again; all of it flushed
/// when the power went.
struct Rotten {
    world: World,
    disks: Vec<DiskId>,
    geometry: Geometry,
    tag: u64,
    segments: u32,
}

/// A header on a device: where each of its copies is.
#[derive(Clone, Debug)]
struct Header {
    disk: usize,
    copies: Vec<u64>,
    stream: Stream,
    /// Whether its stripe was written after the checkpoint.
    is_new: bool,
    /// Identity of the stripe.
    stripe: u64,
}

async fn put(rt: &Runtime, volume: &Volume, at: u64, tag: u64) {
    let mut buf = rt.alloc(BLOCK);
    buf.bytes_mut().copy_from_slice(&block(tag));
    volume.write(at * B, buf.full()).await.unwrap();
}

/// Tags of the old and of the new contents.
const OLD: u64 = 1 << 20;
const NEW: u64 = 2 << 20;

impl Rotten {
    fn new(preset: Preset, groups: usize, k: u8, m: u8) -> Self {
        let world = World::new(7);
        let members = groups * usize::from(k + m);
        let disks: Vec<_> = (0..members).map(|i| world.add_disk(DiskConfig::new(format!("d{i}"), 24 * MIB))).collect();
        let how = CreateOptions {
            segment: Some(ByteSize(512 << 10)),
            chunk: ByteSize(16 << 10),
            ..CreateOptions::new("tank", preset, groups, k, m)
        };
        session(&world, &disks, |rt, devices| async move {
            create(&rt, &devices, &how).await.unwrap();
            let array = Array::open(&rt, &devices, &options()).await.unwrap();
            let volume = array.create_volume("v", ByteSize(4 * MIB), 0).await.unwrap();
            for at in 0..BLOCKS {
                put(&rt, &volume, at, OLD + at).await;
            }
            volume.flush().await.unwrap();
            array.checkpoint().await.unwrap();
            for at in 0..BLOCKS {
                put(&rt, &volume, at, NEW + at).await;
                if at % 23 == 0 {
                    volume.flush().await.unwrap();
                }
            }
            volume.flush().await.unwrap();
        });
        world.cut_power();
        world.restore_power();
        let newest = newest_superblock(&world, disks[0]);
        let (geometry, segments) = (newest.state.geometry, newest.state.groups[0].segments());
        Self { world, disks, geometry, tag: newest.array.tag(), segments }
    }

    /// All headers on the devices that are in use.
    fn headers(&self) -> Vec<Header> {
        let barrier = newest_superblock(&self.world, self.disks[0]).state.roots[0].as_ref().map_or(0, |r| r.barrier);
        let mut found = Vec::new();
        let width = self.geometry.width();
        for (disk, &id) in self.disks.iter().enumerate() {
            let (group, column) = (disk / usize::from(width), (disk % usize::from(width)) as u8);
            for segment in (0..self.segments).map(SegmentId) {
                let (mut row, mut life) = (0, None);
                while self.geometry.full_rows_at(row) > 0 {
                    let blocks = self.geometry.header_blocks(self.geometry.full_rows_at(row));
                    let mut bytes = vec![0; blocks as usize * BLOCK];
                    self.world.peek(id, self.geometry.device_offset(segment.0, row), &mut bytes);
                    let header = StripeHeader::decode(&bytes).and_then(|h| h.verify(self.tag));
                    let Ok(header) = header.and_then(|h| h.at(GroupId(group as u16), segment, column, row)) else {
                        break;
                    };
                    let common = header.common();
                    if life.is_some_and(|life| life != common.segment_seq) {
                        break;
                    }
                    life = Some(common.segment_seq);
                    let each = common.copy_bytes() as u64;
                    let first = self.geometry.device_offset(segment.0, row);
                    found.push(Header {
                        disk,
                        copies: (0..u64::from(self.geometry.header_copies())).map(|n| first + n * each).collect(),
                        stream: common.stream,
                        is_new: common.stripe_seq >= barrier,
                        stripe: common.stripe_seq,
                    });
                    row = common.end_row();
                }
            }
        }
        assert!(found.iter().any(|h| h.is_new && h.stream == Stream::Clients));
        found
    }

    /// Where the pages of the newest checkpoint are: disk and offset.
    fn pages(&self) -> Vec<(usize, u64)> {
        let state = newest_superblock(&self.world, self.disks[0]).state;
        let root = state.roots[0].clone().unwrap();
        let (mut found, width) = (Vec::new(), self.geometry.width());
        for at in root.segments.iter().filter(|at| at.use_of == RootUse::Pages) {
            for column in 0..width {
                let disk = usize::from(at.group.0) * usize::from(width) + usize::from(column);
                let blocks = self.geometry.header_blocks(self.geometry.full_rows_at(0));
                let mut bytes = vec![0; blocks as usize * BLOCK];
                self.world.peek(self.disks[disk], self.geometry.device_offset(at.segment.0, 0), &mut bytes);
                let header = StripeHeader::decode(&bytes).and_then(|h| h.verify(self.tag)).unwrap();
                let entries = (0..).zip(header.entries_of(column).into_iter().flatten());
                for (row, entry) in entries.filter(|(_, entry)| entry.kind().is_of_checkpoint()) {
                    assert_eq!(entry.seq(), root.generation);
                    let row = header.common().first_data_row() + row;
                    found.push((disk, self.geometry.device_offset(at.segment.0, row)));
                }
            }
        }
        found
    }

    /// Spoils a block.
    fn spoil(&self, how: How, disk: usize, at: u64) {
        match how {
            How::Flip(bit) => self.world.flip_bit(self.disks[disk], at + bit / 8, (bit % 8) as u8),
            How::Unreadable => self.world.fail_reads(self.disks[disk], at..at + B),
            How::Zeroed => {
                let disks = [self.disks[disk]];
                session(&self.world, &disks, |rt, devices| async move {
                    let buf = rt.alloc(BLOCK).full();
                    buf.zero(0..BLOCK);
                    rt.write(devices[0].ix, at, buf).await.unwrap();
                    rt.flush(devices[0].ix).await.unwrap();
                });
            }
        }
    }

    /// What the blocks read as with these members, or why the array does not open.
    fn read(&self, without: &[usize], by_force: bool) -> Result<Vec<Seen>, ArrayError> {
        let disks: Vec<_> =
            self.disks.iter().enumerate().filter(|(n, _)| !without.contains(n)).map(|(_, &disk)| disk).collect();
        session(&self.world, &disks, |rt, devices| async move {
            let array = match by_force {
                true => Array::open_by_force(&rt, &devices, &options()).await?,
                false => Array::open(&rt, &devices, &options()).await?,
            };
            let volume = array.volume("v").unwrap();
            let mut seen = Vec::new();
            for at in 0..BLOCKS {
                seen.push(match volume.read(at * B, rt.alloc(BLOCK).full()).await {
                    Ok(data) if *data.bytes() == *block(NEW + at) => Seen::New,
                    Ok(data) if *data.bytes() == *block(OLD + at) => Seen::Old,
                    Ok(_) => Seen::Other,
                    Err(VolumeError::Unreadable { .. } | VolumeError::Unknown { .. }) => Seen::Error,
                    Err(error) => panic!("{error}"),
                });
            }
            Ok(seen)
        })
    }
}

/// How a block is spoiled.
#[derive(Clone, Copy, Debug)]
enum How {
    Flip(u64),
    Unreadable,
    Zeroed,
}

const HOWS: [How; 4] = [How::Flip(3), How::Unreadable, How::Zeroed, How::Flip(20_007)];

/// Preset, groups, k and m.
const SHAPES: [(Preset, usize, u8, u8); 6] = [
    (Preset::LogRaid, 1, 2, 0),
    (Preset::LogRaid, 1, 2, 1),
    (Preset::LogRaid, 1, 3, 2),
    (Preset::Swan, 2, 2, 1),
    (Preset::Serial, 3, 1, 0),
    (Preset::Serial, 3, 1, 1),
];

/// What blocks are seen to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    New,
    Old,
    Error,
    Other,
}

fn newest_superblock(world: &World, disk: DiskId) -> Superblock {
    let mut head = vec![0; SUPERBLOCK_AREA as usize];
    world.peek(disk, 0, &mut head);
    Superblock::newest(&head).unwrap()
}

/// The clients' headers that were written after the checkpoint.
fn new_headers(array: &Rotten) -> Vec<Header> {
    array.headers().into_iter().filter(|h| h.is_new && h.stream == Stream::Clients).collect()
}

/// Members that may be away beside one whose header is spoiled: the m that follow it in its group.
fn others_of(shape: (Preset, usize, u8, u8), disk: usize) -> Vec<usize> {
    let (_, _, k, m) = shape;
    let width = usize::from(k + m);
    (1..=usize::from(m)).map(|n| disk / width * width + (disk + n) % width).collect()
}

#[test]
fn one_spoiled_header_loses_nothing_also_with_m_members_away() {
    for shape in SHAPES {
        let (preset, groups, k, m) = shape;
        let make = || Rotten::new(preset, groups, k, m);
        for (n, header) in new_headers(&make()).into_iter().enumerate() {
            let how = HOWS[n % HOWS.len()];
            let array = make();
            array.spoil(how, header.disk, header.copies[n % header.copies.len()]);
            for without in [Vec::new(), others_of(shape, header.disk)] {
                let seen = array.read(&without, false);
                assert_eq!(
                    seen,
                    Ok(vec![Seen::New; BLOCKS as usize]),
                    "{shape:?} {how:?} {header:?} without {without:?}"
                );
                // What the first opening has put right must not hide what the second one has to do.
                if !without.is_empty() {
                    let array = make();
                    array.spoil(how, header.disk, header.copies[0]);
                    let seen = array.read(&without, false);
                    assert_eq!(
                        seen,
                        Ok(vec![Seen::New; BLOCKS as usize]),
                        "{shape:?} {how:?} {header:?} without {without:?}"
                    );
                }
            }
        }
    }
}

/// All that leads to part of a stripe is spoiled: the array says so and is not opened, or has it all the same.
#[test]
fn what_nobody_tells_of_any_more_stops_the_opening() {
    let mut refused = 0;
    for shape in SHAPES {
        let (preset, groups, k, m) = shape;
        let make = || Rotten::new(preset, groups, k, m);
        let headers = new_headers(&make());
        for (n, header) in headers.iter().enumerate().step_by(3) {
            let without = others_of(shape, header.disk);
            let of_stripe = |h: &&Header| h.stripe == header.stripe && !without.contains(&h.disk);
            for how in [How::Flip(3 + n as u64 * 1310 % 32_000), How::Unreadable] {
                let array = make();
                for Header { disk, copies, .. } in headers.iter().filter(of_stripe) {
                    copies.iter().for_each(|&at| array.spoil(how, *disk, at));
                }
                match array.read(&without, false) {
                    Err(ArrayError::Lost { what, volumes, remedy }) => {
                        assert!(!what.is_empty() && volumes == "v", "{what}, {volumes}");
                        assert_eq!(remedy.is_empty(), without.is_empty(), "{remedy}");
                        refused += 1;
                        // By force it opens, and what is not right is an error; also the next time, without force.
                        for by_force in [true, false] {
                            let seen = array.read(&without, by_force).unwrap();
                            let right = |seen: &Seen| matches!(seen, Seen::New | Seen::Error);
                            assert!(seen.iter().all(right), "{shape:?} {how:?} {header:?}: {seen:?}");
                            assert!(seen.contains(&Seen::Error), "something is lost");
                        }
                    }
                    other => panic!("{shape:?} {how:?} {header:?}: {other:?}"),
                }
            }
        }
    }
    assert!(refused > 30, "{refused}");
}

/// Nothing in its place looks like a header, on no column: only the numbers of the others tell that a stripe was there.
#[test]
fn a_stripe_that_is_gone_without_a_trace_is_missed() {
    for shape in SHAPES {
        let (preset, groups, k, m) = shape;
        let make = || Rotten::new(preset, groups, k, m);
        let headers = new_headers(&make());
        let last = headers.iter().map(|h| h.stripe).max().unwrap();
        // What the last flush covered no later stripe tells of.
        let stripes: std::collections::BTreeSet<u64> =
            headers.iter().map(|h| h.stripe).filter(|&s| s + 2 < last).collect();
        assert!(!stripes.is_empty(), "{shape:?}");
        for stripe in stripes {
            let array = make();
            for Header { disk, copies, .. } in headers.iter().filter(|h| h.stripe == stripe) {
                copies.iter().for_each(|&at| array.spoil(How::Zeroed, *disk, at));
            }
            let seen = array.read(&[], false);
            assert!(matches!(seen, Err(ArrayError::Lost { .. })), "{shape:?} stripe {stripe} of {last}: {seen:?}");
        }
    }
}

/// A checkpoint of which a page cannot be read is of no use, so without parity each is there twice.
#[test]
fn one_spoiled_page_of_a_checkpoint_loses_nothing_without_parity() {
    for shape in SHAPES.into_iter().filter(|&(_, _, _, m)| m == 0) {
        let (preset, groups, k, m) = shape;
        let make = || Rotten::new(preset, groups, k, m);
        let pages = make().pages();
        assert!(pages.len() >= 2, "{pages:?}");
        for (n, &(disk, at)) in pages.iter().enumerate() {
            let array = make();
            array.spoil(HOWS[n % HOWS.len()], disk, at);
            let seen = array.read(&[], false);
            assert_eq!(seen, Ok(vec![Seen::New; BLOCKS as usize]), "{shape:?} {disk} {at}");
        }
        // All copies of all of them.
        let array = make();
        pages.iter().for_each(|&(disk, at)| array.spoil(How::Flip(9), disk, at));
        assert!(matches!(array.read(&[], false), Err(ArrayError::LostCheckpoint { .. })));
    }
}
