//! Where synthesised requests go: hot regions and cold ones, runs and jumps.

use super::{ALIGN, Preset};
use crate::random::chance;
use crate::shuffle::Shuffle;
use cygnus_runtime::Rng;

/// Parts of the address space, one for each cluster of Triple-A's default array.
pub(super) const REGIONS: u64 = 64;
/// Regions behind one switch.
const OF_SWITCH: u64 = 16;

/// A run: where its next request begins, and the end of its region.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    next: u64,
    end: u64,
}

#[derive(Debug)]
pub(super) struct Places {
    region_bytes: u64,
    hot: Vec<u64>,
    cold: Vec<u64>,
    hot_share: f64,
    /// Share of jumps among reads and among writes.
    random: [f64; 2],
    /// Of reads and writes, in hot and cold regions: a run that changed between hot and cold would be none.
    runs: [[Run; 2]; 2],
}

impl Places {
    pub(super) fn new(preset: &Preset, size: u64, rng: &mut Rng) -> Places {
        let (first, among) =
            if preset.hot_together { (rng.below(REGIONS / OF_SWITCH) * OF_SWITCH, OF_SWITCH) } else { (0, REGIONS) };
        let shuffle = Shuffle::new(among, rng);
        let hot: Vec<u64> = (0..preset.hot_regions).map(|rank| first + shuffle.slot(rank)).collect();
        Places {
            region_bytes: size / REGIONS / ALIGN * ALIGN,
            cold: (0..REGIONS).filter(|region| !hot.contains(region)).collect(),
            hot,
            hot_share: preset.hot_percent / 100.0,
            random: [preset.random_read_percent / 100.0, preset.random_write_percent / 100.0],
            runs: Default::default(),
        }
    }

    /// Where the next read or write of `len` bytes goes; it stays within one region.
    pub(super) fn next(&mut self, read: bool, len: u64, rng: &mut Rng) -> u64 {
        let hot = chance(rng, self.hot_share);
        let jump = chance(rng, self.random[usize::from(!read)]);
        let regions = if hot { &self.hot } else { &self.cold };
        let run = &mut self.runs[usize::from(!read)][usize::from(!hot)];
        if jump || run.next + len > run.end {
            let start = regions[rng.below(regions.len() as u64) as usize] * self.region_bytes;
            let slots = (self.region_bytes - len) / ALIGN + 1;
            *run = Run { next: start + rng.below(slots) * ALIGN, end: start + self.region_bytes };
        }
        let offset = run.next;
        run.next += len;
        offset
    }
}
