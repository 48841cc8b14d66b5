//! What the verification of a segment comes to.

use std::collections::BTreeMap;

use crate::check::findings::Finding;
use crate::check::maps::Matched;
use crate::read::scan::FoundStripe;
use crate::space::segments::SegIx;

/// What checking a segment gave, and sums of it.
#[derive(Default)]
pub(crate) struct SegmentResult {
    pub findings: Vec<Finding>,
    pub segments: u64,
    pub stripes: u64,
    pub blocks: u64,
    pub mapped: u64,
    pub bytes: u64,
    /// Pages of checkpoints by generation.
    pub pages: BTreeMap<u64, u64>,
    /// Segments to which more map entries point than summaries say.
    pub suspects: BTreeMap<SegIx, Matched>,
    /// Stripes with anything wrong in them, for whoever mends them.
    pub damaged: Vec<FoundStripe>,
}

impl SegmentResult {
    pub(crate) fn add(&mut self, mut part: Self) {
        self.findings.append(&mut part.findings);
        self.segments += part.segments;
        self.stripes += part.stripes;
        self.blocks += part.blocks;
        self.mapped += part.mapped;
        self.bytes += part.bytes;
        for (generation, pages) in part.pages {
            *self.pages.entry(generation).or_default() += pages;
        }
        self.suspects.append(&mut part.suspects);
        self.damaged.append(&mut part.damaged);
    }
}
