//! Block mapping: the translation of small controllers, which know where every logical *block* is and not every page.
//!
//! The scheme is block-associative sector translation (BAST: Kim, Kim, Noh, Min and Cho, "A space-efficient flash
//! translation layer for CompactFlash systems", 2002). Logical pages are striped over the dies by program units; on its
//! die a logical block of as many pages as an erase block has one *data block*, where each page has its fixed place. A
//! written page goes to a *log block*, of which a die has a few, each for one logical block, filled in the order of
//! arrival. When a log block is full, or another logical block needs one, it is merged (see [`Merge`]).
//!
//! Where a page is, the page map of the model tells, as for any other drive; that one does not belong to the drive
//! modelled, which needs a few bytes per block and those of its log blocks. [`BlockMap::check`] says what it may hold.

use std::collections::VecDeque;

use crate::config::Shape;
use crate::ftl::{Ftl, NO_BLOCK, Place};

/// What a die keeps of a logical block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Home {
    /// Its data block, if it has one.
    pub(crate) data: u32,
    /// The cache's stream of its pages, while some wait.
    pub(crate) stream: Option<u32>,
    /// Whether it is among those that want a log block.
    pub(crate) is_wanting: bool,
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

/// A merge under way.
#[derive(Clone, Debug)]
pub(crate) struct Merge {
    pub(crate) logical: u32,
    /// What becomes the data block.
    pub(crate) into: u32,
    pub(crate) is_full: bool,
    pub(crate) copied: u32,
    /// The unit to be programmed next: pages of it that are still to be sensed, sense by sense. `None` before it begins.
    pub(crate) senses: Option<Vec<u32>>,
}

impl Merge {
    pub(crate) fn new(logical: u32, into: u32, is_full: bool) -> Merge {
        Merge { logical, into, is_full, copied: 0, senses: None }
    }

    /// What has been sensed of a unit and not yet programmed is forgotten.
    pub(crate) fn begin_unit_again(&mut self) {
        self.senses = None;
    }
}

/// The logical blocks of a die.
#[derive(Clone, Debug)]
pub(crate) struct Homes {
    pub(crate) list: Vec<Home>,
    /// Log blocks in use, the one least recently written first.
    pub(crate) logs: VecDeque<Log>,
    /// Logical blocks with pages waiting and no log block, longest first.
    pub(crate) wanting: VecDeque<u32>,
    /// The merge under way.
    pub(crate) merge: Option<Merge>,
    /// Merges so far, and the logical block to be moved next for the sake of wear.
    pub(crate) merges: u64,
    pub(crate) too_young: Option<u32>,
}

/// A logical page's place in the scheme: its die, its logical block there, its page in that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) die: u32,
    pub(crate) logical: u32,
    page: u32,
}

/// The state of a block-mapped drive besides the maps.
#[derive(Clone, Debug)]
pub(crate) struct BlockMap {
    /// Log blocks that a die may use at a time.
    pub(crate) log_blocks: u32,
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

    pub(crate) fn address(&self, lpn: u32) -> Address {
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

    /// A page of a logical block has entered the cache.
    pub(crate) fn arrived(&mut self, lpn: u32) {
        let Address { die, logical, .. } = self.address(lpn);
        self.dies[die as usize].want(logical);
    }

    /// Checks that every page is in one of the blocks where it may be, and in its place if that is not a log block.
    pub(crate) fn check(&self, ftl: &Ftl) {
        for lpn in 0..self.logical {
            let Address { die, logical, page } = self.address(lpn);
            assert_eq!(self.lpn(die, logical, page), Some(lpn), "addresses are no bijection");
            let homes = &self.dies[die as usize];
            let home = homes.list[logical as usize];
            match ftl.place(lpn) {
                Place::Nowhere => {}
                Place::Cache(_) => assert!(home.stream.is_some(), "page {lpn} waits in no stream"),
                Place::Flash(ppn) => {
                    let block = ftl.block_of(ppn);
                    let is_log = homes.logs.iter().any(|log| (log.logical, log.block) == (logical, block));
                    let into = homes.merge.as_ref().filter(|merge| merge.logical == logical).map(|merge| merge.into);
                    let is_in_place = ppn - ftl.first_page(block) == page;
                    let is_data = block == home.data || Some(block) == into;
                    assert!(is_log || (is_data && is_in_place), "page {lpn} is at {ppn}, which is not its place");
                }
            }
        }
        for homes in &self.dies {
            assert!(homes.logs.len() as u32 <= self.log_blocks, "more log blocks than the die may use");
        }
    }
}

impl Homes {
    pub(crate) fn is_merging(&self, logical: u32) -> bool {
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
