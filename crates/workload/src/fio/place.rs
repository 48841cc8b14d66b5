//! Where the next request of a job goes.

use super::{Job, Pattern};
use crate::distribution::Picker;
use crate::shuffle::Shuffle;
use cygnus_runtime::Rng;
use std::ops::Range;

/// Walks a footprint.
#[derive(Clone, Debug)]
pub(super) struct Place {
    footprint: Range<u64>,
    align: u64,
    walk: Walk,
}

#[derive(Clone, Debug)]
enum Walk {
    /// `next` is where the last request ended.
    Sequential {
        next: u64,
    },
    Random(Picker),
    /// `visited` of `slots` places in this pass.
    Shuffled {
        shuffle: Shuffle,
        slots: u64,
        visited: u64,
    },
    /// `next` is where the next request of this pass begins, `lane` where this pass began.
    Strided {
        stride: u64,
        next: u64,
        lane: u64,
    },
}

impl Place {
    /// At the beginning of a checked job's walk.
    pub(super) fn new(job: &Job, footprint: Range<u64>, rng: &mut Rng) -> Place {
        let align = job.align();
        let slots = ((footprint.end - footprint.start) / align).max(1);
        let walk = match job.pattern {
            Pattern::Sequential => Walk::Sequential { next: footprint.start },
            Pattern::Random => Walk::Random(Picker::new(job.distribution, slots, job.scramble, rng)),
            Pattern::Shuffled => {
                let slots = (footprint.end - footprint.start - job.longest()) / align + 1;
                Walk::Shuffled { shuffle: Shuffle::new(slots, rng), slots, visited: 0 }
            }
            Pattern::Strided(stride) => {
                Walk::Strided { stride: stride.0, next: footprint.start, lane: footprint.start }
            }
        };
        Place { footprint, align, walk }
    }

    /// Where a request of `len` bytes goes; it ends within the footprint, which has at least `len` bytes.
    pub(super) fn next(&mut self, len: u64, rng: &mut Rng) -> u64 {
        let Range { start, end } = self.footprint;
        let last = start + (end - start - len) / self.align * self.align;
        let align_up = |offset: u64| start + (offset - start).next_multiple_of(self.align);
        match &mut self.walk {
            Walk::Sequential { next } => {
                let offset = if *next > last { start } else { *next };
                *next = align_up(offset + len);
                offset
            }
            // The last slots are too short for the longer requests, which are moved back to fit.
            Walk::Random(picker) => (start + picker.pick(rng) * self.align).min(last),
            Walk::Shuffled { shuffle, slots, visited } => {
                let slot = shuffle.slot(*visited);
                *visited = (*visited + 1) % *slots;
                start + slot * self.align
            }
            Walk::Strided { stride, next, lane } => {
                if *next > last {
                    // Once the lanes have covered a whole stride, everything has been visited.
                    let shifted = align_up(*lane + len);
                    *lane = if shifted - start >= *stride || shifted > last { start } else { shifted };
                    *next = *lane;
                }
                let offset = *next;
                *next = align_up(offset + *stride);
                offset
            }
        }
    }
}
