//! What a die of a block-mapped drive writes: units into log blocks, and merges when there is no log block for them.

use crate::block_map::{Address, Log};
use crate::ftl::NO_BLOCK;
use crate::state::Ssd;

/// What a die does next that merges nothing yet.
enum Due {
    /// Programs a unit of the log block at this position.
    Append(usize),
    /// Opens a log block for the logical block at this position of those that want one.
    Open(usize),
    /// Merges this logical block.
    Merge(u32),
}

impl Ssd {
    /// The stream of the cache for a page about to enter it.
    pub(crate) fn block_stream(&mut self, lpn: u32) -> u32 {
        let Address { die, logical, .. } = self.block_map().address(lpn);
        if let Some(stream) = self.homes(die).list[logical as usize].stream {
            return stream;
        }
        let stream = self.cache.open_stream();
        self.homes(die).list[logical as usize].stream = Some(stream);
        stream
    }

    /// Pages of a logical block that wait, and whether they cannot wait for a full unit: a flush waits for them, or most
    /// of the cache is taken by what does not make full units.
    fn waiting_for(&self, die: u32, logical: u32) -> (u32, bool) {
        let map = self.block_map.as_ref().expect("a block-mapped drive");
        let Some(stream) = map.dies[die as usize].list[logical as usize].stream else { return (0, false) };
        let is_flushed = self.flushes.back().is_some_and(|&(_, epoch)| self.cache.is_old(stream, epoch));
        let is_crowded = self.cache.in_flight() == 0 || self.cache.waiting() > self.ftl.shape.cache_slots / 2;
        (self.cache.waiting_in(stream), is_flushed || (!self.admitting.is_empty() && is_crowded))
    }

    fn is_due(&self, die: u32, logical: u32) -> bool {
        let (waiting, is_pressed) = self.waiting_for(die, logical);
        waiting >= self.ftl.shape.unit || (waiting > 0 && is_pressed)
    }

    /// Starts the next merge step or program of a die; false if there is none.
    pub(crate) fn block_work(&mut self, die: u32) -> bool {
        loop {
            if self.homes(die).merge.is_none() {
                match self.next_due(die) {
                    None => return false,
                    Some(Due::Append(at)) => {
                        self.append_unit(die, at);
                        return true;
                    }
                    Some(Due::Open(at)) => {
                        self.open_log(die, at);
                        return true;
                    }
                    Some(Due::Merge(logical)) => self.begin_merge(die, logical),
                }
            }
            // What a merge leaves over at its end goes first, then the die looks anew.
            if self.merge_step(die) || self.erase_emptied(die) {
                return true;
            }
        }
    }

    fn next_due(&mut self, die: u32) -> Option<Due> {
        if let Some(logical) = self.homes(die).too_young.take()
            && self.homes(die).list[logical as usize].data != NO_BLOCK
        {
            self.counters.wear_moves += 1;
            return Some(Due::Merge(logical));
        }
        let map = self.block_map.as_ref().expect("a block-mapped drive");
        let homes = &map.dies[die as usize];
        if let Some(at) = homes.logs.iter().position(|log| self.is_due(die, log.logical)) {
            let Log { logical, block, .. } = homes.logs[at];
            return Some(if self.ftl.is_full(block) { Due::Merge(logical) } else { Due::Append(at) });
        }
        let at = homes.wanting.iter().position(|&logical| self.is_due(die, logical))?;
        match homes.logs.front() {
            Some(oldest) if homes.logs.len() as u32 >= map.log_blocks => Some(Due::Merge(oldest.logical)),
            _ => Some(Due::Open(at)),
        }
    }

    fn open_log(&mut self, die: u32, at: usize) {
        let block = self.ftl.open(die, false);
        let homes = self.homes(die);
        let logical = homes.wanting.remove(at).expect("the caller found it");
        homes.list[logical as usize].is_wanting = false;
        homes.logs.push_back(Log { logical, block, is_in_order: true });
        let last = homes.logs.len() - 1;
        self.append_unit(die, last);
    }

    /// Programs a unit of what waits for a log block; a log block that becomes a data block by it is one from then on.
    fn append_unit(&mut self, die: u32, at: usize) {
        let mut log = self.homes(die).logs.remove(at).expect("the caller found it");
        let stream = self.homes(die).list[log.logical as usize].stream.expect("pages of it wait");
        let unit = self.ftl.shape.unit;
        let mut slots = std::mem::take(&mut self.dies[die as usize].slots);
        let mut pages = Vec::with_capacity(unit as usize);
        self.cache.take(stream, unit, |slot, lpn, _| {
            slots.push(slot);
            pages.push(lpn);
        });
        self.dies[die as usize].slots = slots;
        pages.sort_unstable();
        let first = u32::from(self.ftl.block(log.block).filled);
        let map = self.block_map();
        let mut expected = (first..first + unit).map(|page| map.lpn(die, log.logical, page));
        log.is_in_order &= expected.all({
            let mut pages = pages.iter().copied();
            move |lpn| lpn == pages.next()
        });
        let count = pages.len() as u32;
        for lpn in pages {
            self.ftl.assign(log.block, lpn);
        }
        self.ftl.pad(log.block, unit - count);
        self.counters.programmed_host += u64::from(count);
        self.counters.padding += u64::from(unit - count);
        if self.cache.waiting_in(stream) == 0 {
            self.homes(die).list[log.logical as usize].stream = None;
            self.cache.close_stream(stream);
        }
        self.homes(die).logs.push_back(log);
        self.begin_program(die, log.block, unit);
        if log.is_in_order && self.ftl.is_full(log.block) {
            self.switch_to_log(die, log);
        }
    }

    /// Blocks that a trim left without a valid page are erased.
    pub(crate) fn drop_trimmed_blocks(&mut self, lba: u32, pages: u32) {
        let unit = self.ftl.shape.unit;
        // One page of each unit stands for all.
        let firsts = (lba / unit..=(lba + pages - 1) / unit).map(|nth| nth * unit);
        for lpn in firsts {
            let Address { die, logical, .. } = self.block_map().address(lpn);
            if let Some(stream) = self.homes(die).list[logical as usize].stream
                && self.cache.waiting_in(stream) == 0
            {
                self.homes(die).list[logical as usize].stream = None;
                self.cache.close_stream(stream);
            }
            // A merge under way looks for itself when it ends.
            if !self.homes(die).is_merging(logical) {
                self.drop_if_empty(die, logical);
            }
        }
    }
}
