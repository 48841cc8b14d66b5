//! Bits of the write-intent log, made durable before what they announce is begun, and cleared afterwards.

use std::collections::BTreeSet;
use std::ops::Range;
use std::rc::Rc;

use cygnus_runtime::{BufSlice, DeviceIx, IoError};
use cygnus_types::BLOCK;

use crate::core::Core;
use crate::error::RaidError;
use crate::give::Due;
use crate::intent::{Intent, Region, blocks_of, offset_of};
use crate::ledger::Ledger;

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

impl Ledger {
    /// Sees to it that a crash from now on finds out about a write to these blocks.
    pub(crate) async fn intend(&self, core: &Rc<Core>, first: u64, blocks: u64) -> Result<Option<Intended>, RaidError> {
        let per_stripe = u64::from(core.layout.chunk_blocks()) * core.layout.data_columns() as u64;
        match self.intent() {
            Some(intent) if blocks > 0 => {
                let stripes = first / per_stripe..(first + blocks - 1) / per_stripe + 1;
                intent.intend(core, stripes).await.map(Some)
            }
            _ => Ok(None),
        }
    }
}

impl Intent {
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

    /// Writes all of the log to all devices in service, and makes it durable.
    pub(crate) async fn store(&self, core: &Rc<Core>) -> Result<(), RaidError> {
        let _alone = self.storing.take().await;
        let devices = self.write(core, &self.all_blocks(), |region| region.set).await?;
        flush(core, devices).await?;
        core.check_alive()
    }

    /// Writes all of the log to a device that comes into service, and calls `attach` before any bit can change.
    pub(crate) async fn store_on(&self, core: &Rc<Core>, ix: DeviceIx, attach: impl FnOnce()) -> Result<(), IoError> {
        let _alone = self.storing.take().await;
        for block in self.all_blocks() {
            let bytes = self.encode(block, &|region: &Region| region.set);
            core.rt.write(ix, offset_of(block), filled(core, &bytes)).await?;
        }
        core.rt.flush(ix).await?;
        attach();
        Ok(())
    }
}

async fn flush(core: &Core, devices: Vec<usize>) -> Result<(), RaidError> {
    let flushes: Vec<_> = devices.into_iter().map(|device| core.give(device, Due::Flush)).collect();
    for flush in flushes {
        core.taken(flush).await?;
    }
    Ok(())
}

fn filled(core: &Core, bytes: &[u8; BLOCK]) -> BufSlice {
    let mut buf = core.rt.alloc(BLOCK);
    buf.write(0, bytes);
    buf.full()
}
