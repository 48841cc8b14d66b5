//! What is known of a head log: which of its sides counts, where the newest contents of each block lie, where it goes on.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::shape::{LogShape, Shape};

/// Most blocks of a side, as a multiple of the head's.
const MOST_HEADS: u64 = 4;

/// What is known of a log.
#[derive(Debug, Default)]
pub(crate) struct HeadLog {
    /// The side that counts; `None`: nothing was written to the log yet.
    pub(crate) side: Option<u32>,
    pub(crate) generation: u64,
    pub(crate) secret: [u8; 16],
    /// The block of the device that has the newest contents of each block of the head.
    pub(crate) places: BTreeMap<u64, u64>,
    /// The block where the log goes on.
    pub(crate) at: u64,
    /// The opening of the device in which this is so.
    pub(crate) opening: u64,
    /// Zones that it was found to have left before their end.
    pub(crate) left: Vec<u32>,
}

impl HeadLog {
    /// Blocks that are left in the zone where the log goes on; 0: its side is full.
    pub(crate) fn room(&self, shape: &Shape, log: LogShape) -> u64 {
        let blocks = u64::from(log.side) * shape.zone;
        // All of a side is read when the device is opened, so a long one ends early.
        let end = |side: u32| u64::from(side) * blocks + blocks.min(MOST_HEADS * log.head);
        let left = self.side.map_or(0, |side| end(side).saturating_sub(self.at));
        left.min(shape.zone - self.at % shape.zone)
    }

    /// Blocks of a range that were written, and where they lie: in runs that are so on the device, too.
    pub(crate) fn runs(&self, shape: &Shape, blocks: Range<u64>) -> Vec<(Range<u64>, u64)> {
        let mut runs: Vec<(Range<u64>, u64)> = Vec::new();
        for (&block, &at) in self.places.range(blocks) {
            match runs.last_mut() {
                Some((run, first))
                    if run.end == block
                        && *first + (block - run.start) == at
                        && shape.zone_of(*first) == shape.zone_of(at) =>
                {
                    run.end += 1;
                }
                _ => runs.push((block..block + 1, at)),
            }
        }
        runs
    }
}
