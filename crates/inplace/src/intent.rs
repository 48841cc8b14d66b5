//! The write-intent log: which regions may have copies or parity that do not fit, should the power fail now.
//!
//! Before anything in a region is written its bit is set on all members and flushed; whoever comes while that is under
//! way shares it. Bits are cleared lazily, when a region was quiet for a while and everything is flushed, so a region that
//! is written to all the time costs nothing. A bit that is cleared is written without a flush: that it comes back after a
//! crash costs a resync of the region and nothing else.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::ops::Range;
use std::rc::Rc;

use cygnus_format::{INTENT_OFFSET, INTENT_REGIONS, IntentBlock};
use cygnus_runtime::{BufSlice, DeviceIx};
use cygnus_types::{BLOCK, Nanos};

use crate::care::Due;
use crate::error::RaidError;
use crate::lock::Lock;
use crate::raid::Core;

/// How long a region must have been quiet for its bit to be cleared; md's default.
pub(crate) const QUIET: Nanos = Nanos::secs(5);

/// See the module's text.
pub(crate) struct Intent {
    array_tag: u64,
    session: u64,
    /// Stripes of a region.
    stripes: u64,
    regions: RefCell<Vec<Region>>,
    stale: Cell<usize>,
    /// How often what fits has come into doubt.
    doubts: Cell<u64>,
    storing: Lock,
}

#[derive(Clone, Copy, Default)]
struct Region {
    /// Writes under way.
    writers: u32,
    /// Its bit is set and durable.
    set: bool,
    /// Somebody waits for that.
    wanted: bool,
    /// Written to since the last look.
    touched: bool,
    /// Its copies or parity may not fit: it waits for its resync.
    stale: bool,
}

/// A write that is under way in some regions.
pub(crate) struct Intended {
    core: Rc<Core>,
    regions: Range<usize>,
}

impl Drop for Intended {
    fn drop(&mut self) {
        if let Some(intent) = self.core.ledger.get().and_then(|ledger| ledger.intent()) {
            intent.regions.borrow_mut()[self.regions.clone()].iter_mut().for_each(|region| region.writers -= 1);
        }
    }
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

    fn region_of(&self, stripe: u64) -> usize {
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

    /// Returns when the bits of all regions of these stripes are durable; they stay so as long as the answer lives.
    pub(crate) async fn intend(&self, core: &Rc<Core>, stripes: Range<u64>) -> Result<Intended, RaidError> {
        let range = self.region_of(stripes.start)..self.region_of(stripes.end - 1) + 1;
        loop {
            {
                let regions = &mut self.regions.borrow_mut()[range.clone()];
                if regions.iter().all(|region| region.set) {
                    for region in regions {
                        region.writers += 1;
                        region.touched = true;
                    }
                    return Ok(Intended { core: core.clone(), regions: range });
                }
                regions.iter_mut().for_each(|region| region.wanted = true);
            }
            let _alone = self.storing.take().await;
            self.set_wanted(core).await?;
        }
    }

    /// Makes all bits durable that somebody waits for.
    async fn set_wanted(&self, core: &Rc<Core>) -> Result<(), RaidError> {
        let wanted: Vec<usize> = {
            let regions = self.regions.borrow();
            (0..regions.len()).filter(|&n| regions[n].wanted && !regions[n].set).collect()
        };
        if wanted.is_empty() {
            return Ok(());
        }
        let blocks = blocks_of(&wanted);
        let devices = self.write(core, &blocks, |region| region.set || region.wanted).await?;
        flush(core, devices).await?;
        core.check_alive()?;
        let mut regions = self.regions.borrow_mut();
        for n in wanted {
            regions[n].set = true;
            regions[n].wanted = false;
        }
        Ok(())
    }

    /// Clears the bits of regions that have been quiet since the last look.
    pub(crate) async fn clear_quiet(&self, core: &Rc<Core>) -> Result<(), RaidError> {
        let is_quiet =
            |region: &Region| region.set && region.writers == 0 && !region.touched && !region.stale && !region.wanted;
        let quiet: Vec<usize> = {
            let mut regions = self.regions.borrow_mut();
            let quiet = (0..regions.len()).filter(|&n| is_quiet(&regions[n])).collect();
            regions.iter_mut().filter(|region| region.writers == 0).for_each(|region| region.touched = false);
            quiet
        };
        if quiet.is_empty() || core.needs_log() {
            return Ok(());
        }
        core.flush().await?;
        let _alone = self.storing.take().await;
        // Somebody may have missed what the flush was to cover.
        if core.needs_log() {
            return Ok(());
        }
        let quiet: Vec<usize> = {
            let mut regions = self.regions.borrow_mut();
            let quiet: Vec<usize> = quiet.into_iter().filter(|&n| is_quiet(&regions[n])).collect();
            quiet.iter().for_each(|&n| regions[n].set = false);
            quiet
        };
        self.write(core, &blocks_of(&quiet), |region| region.set || region.wanted).await?;
        core.settle().await
    }

    /// Writes blocks of the log to all devices in service; returns those that took it.
    async fn write(
        &self,
        core: &Rc<Core>,
        blocks: &BTreeSet<u32>,
        is_set: impl Fn(&Region) -> bool,
    ) -> Result<Vec<usize>, RaidError> {
        let mut writes = Vec::new();
        for &block in blocks {
            let bytes = self.encode(block, &is_set);
            for device in (0..core.layout.devices()).filter(|&device| !core.is_failed(device)) {
                writes.push(core.give(device, Due::Write { offset: offset_of(block), data: filled(core, &bytes) }));
            }
        }
        let mut took = BTreeSet::new();
        for write in writes {
            took.insert(write.slot.device);
            core.taken(write).await?;
        }
        Ok(took.into_iter().filter(|&device| !core.is_failed(device)).collect())
    }

    fn encode(&self, index: u32, is_set: &impl Fn(&Region) -> bool) -> [u8; BLOCK] {
        let mut block = IntentBlock::new(index, self.session);
        let regions = self.regions.borrow();
        let first = (index * INTENT_REGIONS) as usize;
        for (n, region) in (0..INTENT_REGIONS).zip(&regions[first..]) {
            block.set(n, is_set(region));
        }
        block.encode(self.array_tag)
    }

    /// Writes all of the log to all devices in service, and makes it durable.
    pub(crate) async fn store(&self, core: &Rc<Core>) -> Result<(), RaidError> {
        let _alone = self.storing.take().await;
        let devices = self.write(core, &self.all_blocks(), |region| region.set).await?;
        flush(core, devices).await?;
        core.check_alive()
    }

    /// Writes all of the log to a device that comes into service, and calls `attach` before any bit can change.
    pub(crate) async fn store_on(
        &self,
        core: &Rc<Core>,
        ix: DeviceIx,
        attach: impl FnOnce(),
    ) -> Result<(), cygnus_runtime::IoError> {
        let _alone = self.storing.take().await;
        for block in self.all_blocks() {
            let bytes = self.encode(block, &|region: &Region| region.set);
            core.rt.write(ix, offset_of(block), filled(core, &bytes)).await?;
        }
        core.rt.flush(ix).await?;
        attach();
        Ok(())
    }

    fn all_blocks(&self) -> BTreeSet<u32> {
        (0..cygnus_format::intent::blocks_for(self.regions.borrow().len() as u32)).collect()
    }
}

async fn flush(core: &Core, devices: Vec<usize>) -> Result<(), RaidError> {
    let flushes: Vec<_> = devices.into_iter().map(|device| core.give(device, Due::Flush)).collect();
    for flush in flushes {
        core.taken(flush).await?;
    }
    Ok(())
}

/// Where a block of the log lies on each device.
fn offset_of(block: u32) -> u64 {
    INTENT_OFFSET + u64::from(block) * BLOCK as u64
}

fn filled(core: &Core, bytes: &[u8; BLOCK]) -> BufSlice {
    let mut buf = core.rt.alloc(BLOCK);
    buf.write(0, bytes);
    buf.full()
}

/// The blocks of the log that tell of these regions.
fn blocks_of(regions: &[usize]) -> BTreeSet<u32> {
    regions.iter().map(|&region| region as u32 / INTENT_REGIONS).collect()
}
