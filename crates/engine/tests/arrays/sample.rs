//! A small array with a known history, and every block of it found without the engine's help.

use cygnus_engine::{Array, CheckReport, CreateOptions, Volume, VolumeError, check, create};
use cygnus_format::{Entry, Geometry, Kind, Stream, StripeHeader, Superblock};
use cygnus_policy::Preset;
use cygnus_runtime::{Rng, Runtime};
use cygnus_sim::{DiskConfig, DiskId, World};
use cygnus_types::{BLOCK, ByteSize, GroupId, SegmentId};

use crate::sessions::*;

pub const B: u64 = BLOCK as u64;

pub async fn put(rt: &Runtime, volume: &Volume, at: u64, tag: u64) -> Result<(), VolumeError> {
    let mut buf = rt.alloc(BLOCK);
    Rng::new(tag).fill(buf.bytes_mut());
    volume.write(at * B, buf.full()).await
}

/// An array of one group with some overwritten and some trimmed blocks.
pub struct Sample {
    pub world: World,
    pub disks: Vec<DiskId>,
    pub geometry: Geometry,
    pub tag: u64,
    pub segments: u32,
}

/// A block of a stripe, found by decoding headers without the engine.
#[derive(Clone, Copy, Debug)]
pub struct Spot {
    pub column: u8,
    pub offset: u64,
    pub header: u64,
    pub entry: Entry,
    pub is_parity: bool,
    pub stream: Stream,
    pub stripe_seq: u64,
}

impl Spot {
    /// A block that was moved has the sequence of its write, and a younger stripe.
    fn age(&self) -> (u64, u64) {
        (self.entry.seq(), self.stripe_seq)
    }
}

impl Sample {
    pub fn new(seed: u64, k: u8, m: u8, close: bool) -> Self {
        let world = World::new(seed);
        let disks: Vec<_> = (0..k + m).map(|i| world.add_disk(DiskConfig::new(format!("d{i}"), 24 * MIB))).collect();
        let options = CreateOptions {
            segment: Some(ByteSize(512 << 10)),
            chunk: ByteSize(16 << 10),
            ..CreateOptions::new("tank", Preset::LogRaid, 1, k, m)
        };
        session(&world, &disks, |rt, devices| async move {
            create(&rt, &devices, &options).await.unwrap();
            let array = Array::open(&rt, &devices, &self::options()).await.unwrap();
            let volume = array.create_volume("v", ByteSize(8 * MIB), 0).await.unwrap();
            for i in 0..700 {
                put(&rt, &volume, i, i).await.unwrap();
                if i % 97 == 0 {
                    volume.flush().await.unwrap();
                }
            }
            for _ in 0..300 {
                put(&rt, &volume, rt.rng_u64() % 700, rt.rng_u64()).await.unwrap();
            }
            volume.trim(650 * B, 20 * B).await.unwrap();
            if close {
                array.close().await.unwrap();
            }
        });
        if !close {
            world.cut_power();
            world.restore_power();
        }
        let mut head = vec![0; cygnus_format::SUPERBLOCK_AREA as usize];
        world.peek(disks[0], 0, &mut head);
        let newest = Superblock::newest(&head).unwrap();
        let segments = newest.state.groups[0].segments();
        Self { world, disks, geometry: newest.state.geometry, tag: newest.array.tag(), segments }
    }

    pub fn run_check(&self, disks: &[DiskId]) -> CheckReport {
        session(
            &self.world,
            disks,
            |rt, devices| async move { check(&rt, &devices, &options(), |_| ()).await.unwrap() },
        )
    }

    pub fn contents(&self) -> Vec<Vec<u8>> {
        let of = |&disk: &DiskId| {
            let mut all = vec![0; 24 * MIB as usize];
            self.world.peek(disk, 0, &mut all);
            all
        };
        self.disks.iter().map(of).collect()
    }

    pub fn read(&self, column: u8, offset: u64) -> Vec<u8> {
        let mut block = vec![0; BLOCK];
        self.world.peek(self.disks[usize::from(column)], offset, &mut block);
        block
    }

    pub fn overwrite(&self, column: u8, offset: u64, bytes: &[u8]) {
        session(&self.world, &self.disks[usize::from(column)..][..1], |rt, devices| async move {
            let mut buf = rt.alloc(bytes.len());
            buf.bytes_mut().copy_from_slice(bytes);
            rt.write(devices[0].ix, offset, buf.full()).await.unwrap();
            rt.flush(devices[0].ix).await.unwrap();
        });
    }

    pub fn flip(&self, spot: &Spot) {
        self.world.flip_bit(self.disks[usize::from(spot.column)], spot.offset + 77, 2);
    }

    /// Every block of every stripe.
    pub fn spots(&self) -> Vec<Spot> {
        let mut spots = Vec::new();
        for segment in (0..self.segments).map(SegmentId) {
            let (mut row, mut life) = (0, None);
            while self.geometry.full_rows_at(row) > 0 {
                let blocks = self.geometry.header_blocks(self.geometry.full_rows_at(row));
                let mut next = None;
                for column in 0..self.geometry.width() {
                    let header_at = self.geometry.device_offset(segment.0, row);
                    let mut bytes = vec![0; blocks as usize * BLOCK];
                    self.world.peek(self.disks[usize::from(column)], header_at, &mut bytes);
                    let header = StripeHeader::decode(&bytes).and_then(|h| h.verify(self.tag));
                    let Ok(header) = header.and_then(|h| h.at(GroupId(0), segment, column, row)) else { continue };
                    let common = header.common();
                    if life.is_some_and(|life| life != common.segment_seq) {
                        continue;
                    }
                    life = Some(common.segment_seq);
                    next = Some(common.end_row());
                    let is_parity = matches!(common.rotation.role(column), cygnus_format::Role::Parity(_));
                    for (at, entry) in header.entries_of(column).unwrap().iter().enumerate() {
                        let offset = self.geometry.device_offset(segment.0, common.first_data_row() + at as u32);
                        spots.push(Spot {
                            column,
                            offset,
                            header: header_at,
                            entry: *entry,
                            is_parity,
                            stream: common.stream,
                            stripe_seq: common.stripe_seq,
                        });
                    }
                }
                let Some(end) = next else { break };
                row = end;
            }
        }
        spots
    }

    /// Blocks that are current: the newest of each address, and not trimmed.
    pub fn live(&self) -> Vec<Spot> {
        let mut newest = std::collections::BTreeMap::<u64, Spot>::new();
        for spot in self.spots() {
            let lba = spot.entry.lba().0;
            if matches!(spot.entry.kind(), Kind::Data | Kind::Relocated)
                && !(650..670).contains(&lba)
                && newest.get(&lba).is_none_or(|old| old.age() < spot.age())
            {
                newest.insert(lba, spot);
            }
        }
        newest.into_values().collect()
    }

    /// A parity block in the row of a block.
    pub fn parity_beside(&self, of: &Spot) -> Spot {
        let all = self.spots();
        *all.iter().find(|s| s.is_parity && s.offset == of.offset).expect("every row has parity")
    }
}
