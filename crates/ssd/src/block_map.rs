//! Block mapping: the translation of small controllers, which know where every logical *block* is and not every page.
//!
//! The scheme is block-associative sector translation (BAST: Kim, Kim, Noh, Min and Cho, "A space-efficient flash
//! translation layer for CompactFlash systems", 2002). Logical pages are striped over the dies by program units; on its
//! die a logical block of as many pages as an erase block has one *data block*, where each page has its fixed place. A
//! written page goes to a *log block*, of which a die has a few, each for one logical block, filled in the order of
//! arrival. When a log block is full, or another logical block needs one, it is merged ([`crate::merge`]).
//!
//! Where a page is, the page map of the model tells, as for any other drive; that one does not belong to the drive
//! modelled, which needs a few bytes per block and those of its log blocks. [`Ssd::check_blocks`] says what it may hold.

use std::collections::VecDeque;

use crate::config::Shape;
use crate::ftl::{NO_BLOCK, Place};
use crate::merge::Merge;
use crate::ssd::Ssd;

/// What a die keeps of a logical block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Home {
    /// Its data block, if it has one.
    pub(crate) data: u32,
    /// The cache's stream of its pages, while some wait.
    stream: Option<u32>,
    /// Whether it is among those that want a log block.
    is_wanting: bool,
}

/// A log block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Log {
    /// Whose pages it takes.
    pub(crate) logical: u32,
    pub(crate) block: u32,
    /// Whether every page so far is where it would be in a data block.
    pub(crate) is_in_order: bool,
}

/// The logical blocks of a die.
#[derive(Clone, Debug)]
pub(crate) struct Homes {
    pub(crate) list: Vec<Home>,
    /// Log blocks in use, the one least recently written first.
    pub(crate) logs: VecDeque<Log>,
    /// Logical blocks with pages waiting and no log block, longest first.
    wanting: VecDeque<u32>,
    /// The merge under way.
    pub(crate) merge: Option<Merge>,
    /// Merges so far, and the logical block to be moved next for the sake of wear.
    pub(crate) merges: u64,
    pub(crate) too_young: Option<u32>,
}

/// A logical page's place in the scheme: its die, its logical block there, its page in that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Address {
    die: u32,
    logical: u32,
    page: u32,
}

/// The state of a block-mapped drive besides the maps.
#[derive(Clone, Debug)]
pub(crate) struct BlockMap {
    /// Log blocks that a die may use at a time.
    log_blocks: u32,
    pub(crate) dies: Vec<Homes>,
    logical: u32,
    unit: u32,
    units_per_block: u32,
}

impl BlockMap {
    pub(crate) fn new(log_blocks: u32, shape: &Shape) -> BlockMap {
        let per_die = shape.logical.div_ceil(shape.dies * shape.pages_per_block);
        let homes = Homes {
            list: vec![Home { data: NO_BLOCK, stream: None, is_wanting: false }; per_die as usize],
            logs: VecDeque::new(),
            wanting: VecDeque::new(),
            merge: None,
            merges: 0,
            too_young: None,
        };
        BlockMap {
            log_blocks,
            dies: vec![homes; shape.dies as usize],
            logical: shape.logical,
            unit: shape.unit,
            units_per_block: shape.pages_per_block / shape.unit,
        }
    }

    fn address(&self, lpn: u32) -> Address {
        let (unit, dies) = (lpn / self.unit, self.dies.len() as u32);
        let (die, unit_there) = (unit % dies, unit / dies);
        let page = unit_there % self.units_per_block * self.unit + lpn % self.unit;
        Address { die, logical: unit_there / self.units_per_block, page }
    }

    /// The logical page at a place; `None` beyond the drive's end.
    pub(crate) fn lpn(&self, die: u32, logical: u32, page: u32) -> Option<u32> {
        let unit_there = u64::from(logical * self.units_per_block + page / self.unit);
        let unit = unit_there * self.dies.len() as u64 + u64::from(die);
        let lpn = unit * u64::from(self.unit) + u64::from(page % self.unit);
        (lpn < u64::from(self.logical)).then_some(lpn as u32)
    }

    /// A new drive was filled with whole blocks: block `n` of each die is the data block of its logical block `n`.
    pub(crate) fn settle(&mut self, blocks_per_die: u32, filled: u32) {
        for (die, homes) in (0..).zip(&mut self.dies) {
            for (n, home) in (0..filled).zip(&mut homes.list) {
                home.data = die * blocks_per_die + n;
            }
        }
    }

    /// Power is back: merges go on where they were, and where the cache was lost nothing waits any more.
    pub(crate) fn lose_power(&mut self, is_cache_lost: bool) {
        for homes in &mut self.dies {
            if let Some(merge) = &mut homes.merge {
                merge.begin_unit_again();
            }
            if is_cache_lost {
                homes.wanting.clear();
                homes.list.iter_mut().for_each(|home| (home.stream, home.is_wanting) = (None, false));
            }
        }
    }
}

impl Homes {
    fn is_merging(&self, logical: u32) -> bool {
        self.merge.as_ref().is_some_and(|merge| merge.logical == logical)
    }

    pub(crate) fn log_of(&self, logical: u32) -> Option<usize> {
        self.logs.iter().position(|log| log.logical == logical)
    }

    /// A logical block has pages waiting, or may have.
    pub(crate) fn want(&mut self, logical: u32) {
        let has_log = self.log_of(logical).is_some();
        let home = &mut self.list[logical as usize];
        if !home.is_wanting && !has_log && home.stream.is_some() {
            home.is_wanting = true;
            self.wanting.push_back(logical);
        }
    }
}

impl Ssd {
    pub(crate) fn block_map(&mut self) -> &mut BlockMap {
        self.block_map.as_mut().expect("only a block-mapped drive takes this way")
    }

    pub(crate) fn homes(&mut self, die: u32) -> &mut Homes {
        &mut self.block_map().dies[die as usize]
    }

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

    /// It has entered the cache.
    pub(crate) fn arrived_for_block(&mut self, lpn: u32) {
        let Address { die, logical, .. } = self.block_map().address(lpn);
        self.homes(die).want(logical);
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
        if self.homes(die).merge.is_some() {
            return self.merge_step(die);
        }
        if let Some(logical) = self.homes(die).too_young.take()
            && self.homes(die).list[logical as usize].data != NO_BLOCK
        {
            self.counters.wear_moves += 1;
            return self.merge(die, logical);
        }
        let homes = &self.block_map.as_ref().expect("a block-mapped drive").dies[die as usize];
        if let Some(at) = homes.logs.iter().position(|log| self.is_due(die, log.logical)) {
            let Log { logical, block, .. } = homes.logs[at];
            if self.ftl.is_full(block) {
                return self.merge(die, logical);
            }
            self.append(die, at);
            return true;
        }
        let Some(at) = homes.wanting.iter().position(|&logical| self.is_due(die, logical)) else { return false };
        match homes.logs.front().copied() {
            Some(oldest) if homes.logs.len() as u32 >= self.block_map().log_blocks => self.merge(die, oldest.logical),
            _ => {
                self.open_log(die, at);
                true
            }
        }
    }

    fn open_log(&mut self, die: u32, at: usize) {
        let block = self.ftl.open(die, false);
        let homes = self.homes(die);
        let logical = homes.wanting.remove(at).expect("the caller found it");
        homes.list[logical as usize].is_wanting = false;
        homes.logs.push_back(Log { logical, block, is_in_order: true });
        let last = homes.logs.len() - 1;
        self.append(die, last);
    }

    /// Programs a unit of what waits for a log block; a log block that becomes a data block by it is one from then on.
    fn append(&mut self, die: u32, at: usize) {
        let mut log = self.homes(die).logs.remove(at).expect("the caller found it");
        let stream = self.homes(die).list[log.logical as usize].stream.expect("pages of it wait");
        let unit = self.ftl.shape.unit;
        let mut slots = std::mem::take(&mut self.dies[die as usize].slots);
        let mut pages = Vec::with_capacity(unit as usize);
        self.cache.take(stream, unit, |slot, lpn| {
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
            self.switch(die, log);
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

    /// Gives up a logical block's data block and log block if they hold nothing.
    pub(crate) fn drop_if_empty(&mut self, die: u32, logical: u32) {
        let data = self.homes(die).list[logical as usize].data;
        if data != NO_BLOCK && self.ftl.block(data).valid == 0 {
            self.homes(die).list[logical as usize].data = NO_BLOCK;
            self.condemn(die, data);
        }
        let Some(at) = self.homes(die).log_of(logical) else { return };
        let log = self.homes(die).logs[at];
        if self.ftl.block(log.block).valid == 0 {
            self.homes(die).logs.remove(at);
            self.homes(die).want(logical);
            self.condemn(die, log.block);
        }
    }

    /// A block is no longer needed: the die erases it when it comes to it, after what it may be programming there.
    pub(crate) fn condemn(&mut self, die: u32, block: u32) {
        self.ftl.condemn(block);
        self.dies[die as usize].collector.drained.push(block);
    }

    /// Checks that every page is in one of the blocks where it may be, and in its place if that is not a log block.
    pub(crate) fn check_blocks(&self, map: &BlockMap) {
        for lpn in 0..map.logical {
            let Address { die, logical, page } = map.address(lpn);
            assert_eq!(map.lpn(die, logical, page), Some(lpn), "addresses are no bijection");
            let homes = &map.dies[die as usize];
            let home = homes.list[logical as usize];
            match self.ftl.place(lpn) {
                Place::Nowhere => {}
                Place::Cache(_) => assert!(home.stream.is_some(), "page {lpn} waits in no stream"),
                Place::Flash(ppn) => {
                    let block = self.ftl.block_of(ppn);
                    let is_log = homes.logs.iter().any(|log| (log.logical, log.block) == (logical, block));
                    let into = homes.merge.as_ref().filter(|merge| merge.logical == logical).map(|merge| merge.into);
                    let is_in_place = ppn - self.ftl.first_page(block) == page;
                    let is_data = block == home.data || Some(block) == into;
                    assert!(is_log || (is_data && is_in_place), "page {lpn} is at {ppn}, which is not its place");
                }
            }
        }
        for homes in &map.dies {
            assert!(homes.logs.len() as u32 <= map.log_blocks, "more log blocks than the die may use");
        }
    }
}
