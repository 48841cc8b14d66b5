//! The write-intent log: which regions may have copies or parity that do not fit, should the power fail now.
//!
//! Before anything in a region is written its bit is set on all members and flushed; whoever comes while that is under
//! way shares it. Bits are cleared lazily, when a region was quiet for a while and everything is flushed, so a region that
//! is written to all the time costs nothing. A bit that is cleared is written without a flush: that it comes back after a
//! crash costs a resync of the region and nothing else.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::ops::Range;

use cygnus_format::{INTENT_OFFSET, INTENT_REGIONS, IntentBlock};
use cygnus_types::{BLOCK, Nanos};

use crate::lock::Lock;

/// How long a region must have been quiet for its bit to be cleared; md's default.
pub(crate) const QUIET: Nanos = Nanos::secs(5);

/// See the module's text.
pub(crate) struct Intent {
    array_tag: u64,
    session: u64,
    /// Stripes of a region.
    stripes: u64,
    pub regions: RefCell<Vec<Region>>,
    stale: Cell<usize>,
    /// How often what fits has come into doubt.
    doubts: Cell<u64>,
    pub storing: Lock,
}

/// What is known of a region.
#[derive(Clone, Copy, Default)]
pub(crate) struct Region {
    /// Writes under way.
    pub writers: u32,
    /// Its bit is set and durable.
    pub set: bool,
    /// Somebody waits for that.
    pub wanted: bool,
    /// Written to since the last look.
    pub touched: bool,
    /// Its copies or parity may not fit: it waits for its resync.
    pub stale: bool,
}

impl Intent {
    /// A log of `regions` of `stripes` each, of which those `stale` wait for a resync.
    pub(crate) fn new(array_tag: u64, session: u64, stripes: u64, regions: u32, stale: &BTreeSet<u32>) -> Self {
        let region = |n: u32| Region { set: stale.contains(&n), stale: stale.contains(&n), ..Region::default() };
        let regions = RefCell::new((0..regions).map(region).collect());
        Self {
            array_tag,
            session,
            stripes,
            regions,
            stale: Cell::new(stale.len()),
            doubts: Cell::new(0),
            storing: Lock::default(),
        }
    }

    pub(crate) fn region_of(&self, stripe: u64) -> usize {
        (stripe / self.stripes) as usize
    }

    /// The stripes of a region.
    pub(crate) fn stripes_of(&self, region: u32) -> Range<u64> {
        u64::from(region) * self.stripes..(u64::from(region) + 1) * self.stripes
    }

    /// Bits that are set now.
    pub(crate) fn dirty(&self) -> usize {
        self.regions.borrow().iter().filter(|region| region.set).count()
    }

    /// Whether the copies or the parity of a stripe may not fit.
    pub(crate) fn is_stale(&self, stripe: u64) -> bool {
        self.stale.get() > 0 && self.regions.borrow()[self.region_of(stripe)].stale
    }

    /// Regions that wait for a resync.
    pub(crate) fn stale(&self) -> Vec<u32> {
        let regions = self.regions.borrow();
        (0..regions.len() as u32).filter(|&n| regions[n as usize].stale).collect()
    }

    /// All regions whose bits are set, or are about to be: whoever left in this session, whole, lacks nothing else.
    pub(crate) fn marked(&self) -> Vec<u32> {
        let regions = self.regions.borrow();
        (0..regions.len() as u32).filter(|&n| regions[n as usize].set || regions[n as usize].wanted).collect()
    }

    /// All regions there are.
    pub(crate) fn all_regions(&self) -> Vec<u32> {
        (0..self.regions.borrow().len() as u32).collect()
    }

    /// Where something was written lately, copies or parity may not fit any more.
    pub(crate) fn doubt_all_set(&self) {
        self.doubts.set(self.doubts.get() + 1);
        let mut regions = self.regions.borrow_mut();
        regions.iter_mut().filter(|region| region.set).for_each(|region| region.stale = true);
        self.stale.set(regions.iter().filter(|region| region.stale).count());
    }

    pub(crate) fn doubts(&self) -> u64 {
        self.doubts.get()
    }

    /// A region fits again.
    pub(crate) fn resynced(&self, region: u32) {
        let region = &mut self.regions.borrow_mut()[region as usize];
        if std::mem::replace(&mut region.stale, false) {
            self.stale.set(self.stale.get() - 1);
        }
    }

    pub(crate) fn encode(&self, index: u32, is_set: &impl Fn(&Region) -> bool) -> [u8; BLOCK] {
        let mut block = IntentBlock::new(index, self.session);
        let regions = self.regions.borrow();
        let first = (index * INTENT_REGIONS) as usize;
        for (n, region) in (0..INTENT_REGIONS).zip(&regions[first..]) {
            block.set(n, is_set(region));
        }
        block.encode(self.array_tag)
    }

    pub(crate) fn all_blocks(&self) -> BTreeSet<u32> {
        (0..cygnus_format::intent::blocks_for(self.regions.borrow().len() as u32)).collect()
    }
}

/// Where a block of the log lies on each device.
pub(crate) fn offset_of(block: u32) -> u64 {
    INTENT_OFFSET + u64::from(block) * BLOCK as u64
}

/// The blocks of the log that tell of these regions.
pub(crate) fn blocks_of(regions: &[usize]) -> BTreeSet<u32> {
    regions.iter().map(|&region| region as u32 / INTENT_REGIONS).collect()
}
