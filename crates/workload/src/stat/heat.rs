//! Which blocks are touched, and how often.

use super::percent;
use crate::Kind;
use crate::trace::Record;
use cygnus_types::BLOCK;
use serde::Serialize;
use std::collections::BTreeMap;

/// The parts into which the address space is divided to see whether load is concentrated.
pub const REGIONS: usize = 64;
/// The shares of the touched blocks that are reported.
const HOTTEST: [f64; 3] = [1.0, 5.0, 20.0];
/// Blocks of a group that are counted together, since neighbours are mostly touched together.
const GROUP: usize = 16;
const BLOCK_BYTES: u64 = BLOCK as u64;
const GROUP_BYTES: u64 = GROUP as u64 * BLOCK_BYTES;
/// Volumes end at multiples of this when regions are laid over them.
const ROUNDED_TO: u64 = 1 << 20;

/// What reads and writes touch, in whole blocks of 4 KiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Footprint {
    /// Highest byte touched, added up over the volumes.
    pub extent_bytes: u64,
    /// Bytes of the blocks that were read or written, each counted once.
    pub touched_bytes: u64,
    /// Bytes of the blocks that were read, each counted once.
    pub read_bytes: u64,
    /// Bytes of the blocks that were written, each counted once.
    pub written_bytes: u64,
}

/// How concentrated accesses are.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HotShare {
    /// This much of the touched blocks, the hottest ones,
    pub blocks_percent: f64,
    /// get this much of the block accesses.
    pub accesses_percent: f64,
}

/// What is touched more than once; nothing where there is no such access.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Reuse {
    /// Percent of the block accesses to a block accessed before.
    pub accessed_before_percent: Option<f64>,
    /// Percent of the block writes to a block written before.
    pub overwritten_percent: Option<f64>,
    /// Percent of the block reads of a block written before.
    pub read_after_write_percent: Option<f64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    reads: u32,
    writes: u32,
}

/// What [`Heat`] comes to.
pub(super) struct HeatStat {
    pub footprint: Footprint,
    pub hot: Vec<HotShare>,
    pub regions_percent: Vec<f64>,
    pub reuse: Reuse,
}

#[derive(Debug, Default)]
pub(super) struct Heat {
    groups: BTreeMap<(u32, u64), [Counts; GROUP]>,
    ends: BTreeMap<u32, u64>,
    reads: u64,
    writes: u64,
    accessed_before: u64,
    overwritten: u64,
    read_after_write: u64,
}

impl Heat {
    /// Takes a read or a write.
    pub(super) fn add(&mut self, record: &Record) {
        let end = self.ends.entry(record.volume).or_default();
        *end = (*end).max(record.end());
        let (first, last) = (record.offset / BLOCK_BYTES, (record.end() - 1) / BLOCK_BYTES);
        let mut block = first;
        while block <= last {
            let group = block / GROUP as u64;
            let group_end = (group + 1) * GROUP as u64;
            let counts = self.groups.entry((record.volume, group)).or_default();
            while block <= last && block < group_end {
                let count = &mut counts[(block % GROUP as u64) as usize];
                self.accessed_before += u64::from(count.reads + count.writes > 0);
                let written = u64::from(count.writes > 0);
                if record.kind == Kind::Read {
                    self.reads += 1;
                    self.read_after_write += written;
                    count.reads = (count.reads + 1).min(u32::MAX / 2);
                } else {
                    self.writes += 1;
                    self.overwritten += written;
                    count.writes = (count.writes + 1).min(u32::MAX / 2);
                }
                block += 1;
            }
        }
    }

    pub(super) fn finish(self) -> HeatStat {
        // 128 bits, since a garbled trace may have many volumes of 2^63 bytes.
        let mut base = 0_u128;
        let bases: BTreeMap<u32, u128> = self
            .ends
            .iter()
            .map(|(&volume, &end)| {
                let here = base;
                base += u128::from(end.next_multiple_of(ROUNDED_TO));
                (volume, here)
            })
            .collect();
        let region_bytes = base.div_ceil(REGIONS as u128).max(1);
        let extent_bytes = self.ends.values().fold(0_u64, |sum, &end| sum.saturating_add(end));
        let mut footprint = Footprint { extent_bytes, ..Footprint::default() };
        let mut regions = vec![0_u64; REGIONS];
        let mut blocks_by_count: BTreeMap<u32, u64> = BTreeMap::new();
        for (&(volume, group), counts) in &self.groups {
            let region = ((bases[&volume] + u128::from(group * GROUP_BYTES)) / region_bytes) as usize;
            for count in counts.iter().filter(|count| count.reads + count.writes > 0) {
                let accesses = count.reads + count.writes;
                footprint.touched_bytes += BLOCK_BYTES;
                footprint.read_bytes += if count.reads > 0 { BLOCK_BYTES } else { 0 };
                footprint.written_bytes += if count.writes > 0 { BLOCK_BYTES } else { 0 };
                regions[region] += u64::from(accesses);
                *blocks_by_count.entry(accesses).or_default() += 1;
            }
        }
        let accesses = self.reads + self.writes;
        regions.sort_unstable_by(|a, b| b.cmp(a));
        HeatStat {
            footprint,
            hot: hot_shares(&blocks_by_count, accesses),
            regions_percent: regions.into_iter().filter_map(|count| percent(count, accesses)).collect(),
            reuse: Reuse {
                accessed_before_percent: percent(self.accessed_before, accesses),
                overwritten_percent: percent(self.overwritten, self.writes),
                read_after_write_percent: percent(self.read_after_write, self.reads),
            },
        }
    }
}

/// How many accesses the hottest blocks get, if there are any, from how many blocks have each number of accesses.
fn hot_shares(blocks_by_count: &BTreeMap<u32, u64>, accesses: u64) -> Vec<HotShare> {
    let touched: u64 = blocks_by_count.values().sum();
    let share = |blocks_percent: f64| {
        let mut left = (touched as f64 * blocks_percent / 100.0).ceil() as u64;
        let mut covered = 0;
        for (&count, &blocks) in blocks_by_count.iter().rev() {
            let taken = blocks.min(left);
            covered += taken * u64::from(count);
            left -= taken;
        }
        Some(HotShare { blocks_percent, accesses_percent: percent(covered, accesses)? })
    };
    HOTTEST.into_iter().filter_map(share).collect()
}
