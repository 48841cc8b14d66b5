//! The translation layer's state: which flash page holds which logical page, and what every block is up to.

use std::ops::Range;

use crate::bits::Bits;
use crate::config::{Eviction, Shape, VictimPolicy};
use crate::page_table::PageTable;

/// No block.
pub(crate) const NO_BLOCK: u32 = u32::MAX;

/// The top bit of a map entry: the rest is a cache slot, not a flash page.
const CACHED: u32 = 1 << 31;

/// Where a logical page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Never written, or trimmed.
    Nowhere,
    /// In this slot of the write cache.
    Cache(u32),
    /// In this flash page.
    Flash(u32),
}

/// A block's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    Free,
    Open,
    Closed,
    /// Being emptied, or empty and waiting for its erase.
    Victim,
}

/// A block of all planes of a die.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    /// Pages that hold current data.
    pub(crate) valid: u16,
    /// Pages assigned, in order, padding included.
    pub(crate) filled: u16,
    /// Of these, programmed; the data of the others is still in the controller.
    pub(crate) programmed: u16,
    pub(crate) life: Life,
    pub(crate) slc: bool,
    pub(crate) erases: u32,
    /// When it was closed, counted in closed blocks.
    pub(crate) closed: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct Ftl {
    pub(crate) shape: Shape,
    /// Per logical page: 0 nowhere, else a page or slot + 1.
    map: PageTable,
    /// Flash pages that hold current data. By this alone a page becomes invalid: the set of a whole drive stays in the
    /// processor's cache, `owners` does not.
    current: Bits,
    /// Per flash page that is current: its logical page. Written and read in the order of the pages only.
    owners: PageTable,
    blocks: Vec<Block>,
    /// Per die: free blocks, SLC blocks in use.
    free: Vec<u32>,
    slc: Vec<u32>,
    /// Blocks closed so far.
    closings: u32,
    /// Victims chosen so far.
    picks: u64,
}

impl Ftl {
    pub(crate) fn new(shape: Shape) -> Self {
        let blocks = (shape.dies * shape.blocks_per_die) as usize;
        let empty = Block { valid: 0, filled: 0, programmed: 0, life: Life::Free, slc: false, erases: 0, closed: 0 };
        Self {
            map: PageTable::new(shape.logical as usize),
            current: Bits::none(blocks * shape.pages_per_block as usize),
            owners: PageTable::new(blocks * shape.pages_per_block as usize),
            blocks: vec![empty; blocks],
            free: vec![shape.blocks_per_die; shape.dies as usize],
            slc: vec![0; shape.dies as usize],
            closings: 0,
            picks: 0,
            shape,
        }
    }

    pub(crate) fn place(&self, lpn: u32) -> Place {
        match self.map.get(lpn) {
            0 => Place::Nowhere,
            entry => match entry - 1 {
                slot if slot & CACHED != 0 => Place::Cache(slot & !CACHED),
                ppn => Place::Flash(ppn),
            },
        }
    }

    /// The logical page that a flash page holds, if it is current.
    pub(crate) fn owner(&self, ppn: u32) -> Option<u32> {
        self.current.contains(ppn).then(|| self.owners.get(ppn))
    }

    /// Flash pages of a range that hold current data, with their logical pages, which are about to move.
    pub(crate) fn current(&self, pages: Range<u32>) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.current.within(pages).map(|ppn| {
            let lpn = self.owners.get(ppn);
            self.map.prefetch(lpn);
            (ppn, lpn)
        })
    }

    pub(crate) fn block_of(&self, ppn: u32) -> u32 {
        ppn / self.shape.pages_per_block
    }

    pub(crate) fn die_of(&self, block: u32) -> u32 {
        block / self.shape.blocks_per_die
    }

    pub(crate) fn first_page(&self, block: u32) -> u32 {
        block * self.shape.pages_per_block
    }

    pub(crate) fn block(&self, block: u32) -> &Block {
        &self.blocks[block as usize]
    }

    pub(crate) fn blocks_of(&self, die: u32) -> Range<u32> {
        die * self.shape.blocks_per_die..(die + 1) * self.shape.blocks_per_die
    }

    /// Free blocks of a die that may hold ordinary data: those set aside for the SLC buffer do not count.
    pub(crate) fn free(&self, die: u32) -> u32 {
        let set_aside = self.shape.slc_reserved.saturating_sub(self.slc[die as usize]);
        self.free[die as usize].saturating_sub(set_aside)
    }

    /// SLC blocks in use on a die.
    pub(crate) fn slc_in_use(&self, die: u32) -> u32 {
        self.slc[die as usize]
    }

    /// Pages a block takes.
    pub(crate) fn capacity(&self, block: u32) -> u32 {
        if self.block(block).slc { self.shape.slc_pages_per_block } else { self.shape.pages_per_block }
    }

    /// Pages one program of a block takes.
    pub(crate) fn unit(&self, block: u32) -> u32 {
        if self.block(block).slc { self.shape.slc_unit } else { self.shape.unit }
    }

    /// Opens the least worn free block of a die.
    pub(crate) fn open(&mut self, die: u32, slc: bool) -> u32 {
        let range = self.blocks_of(die);
        let free = range.filter(|&b| self.block(b).life == Life::Free);
        let block = free.min_by_key(|&b| self.block(b).erases).expect("the caller has checked that a block is free");
        self.free[die as usize] -= 1;
        self.slc[die as usize] += u32::from(slc);
        let opened = &mut self.blocks[block as usize];
        opened.life = Life::Open;
        opened.slc = slc;
        block
    }

    /// Assigns the next page of an open block to a logical page, whose old copy is dropped.
    pub(crate) fn assign(&mut self, block: u32, lpn: u32) -> u32 {
        self.forget(lpn);
        self.put(block, lpn)
    }

    /// Assigns the next page of an open block to the logical page that a flash page holds. Where its copy is now is
    /// known, so the map is only written: what a random page of it says would have to be waited for.
    pub(crate) fn relocate(&mut self, block: u32, from: u32) -> u32 {
        debug_assert_eq!(
            self.owner(from).map(|lpn| self.place(lpn)),
            Some(Place::Flash(from)),
            "only current pages move"
        );
        self.invalidate(from);
        self.put(block, self.owners.get(from))
    }

    fn put(&mut self, block: u32, lpn: u32) -> u32 {
        let ppn = self.first_page(block) + u32::from(self.block(block).filled);
        let target = &mut self.blocks[block as usize];
        target.filled += 1;
        target.valid += 1;
        self.map.set(lpn, ppn + 1);
        self.current.insert(ppn);
        self.owners.set(ppn, lpn);
        ppn
    }

    /// Leaves the next `n` pages of an open block empty.
    pub(crate) fn pad(&mut self, block: u32, n: u32) {
        self.blocks[block as usize].filled += n as u16;
    }

    /// Everything assigned so far is programmed.
    pub(crate) fn programmed(&mut self, block: u32) {
        let block = &mut self.blocks[block as usize];
        block.programmed = block.filled;
    }

    /// Whether all pages of a block are assigned.
    pub(crate) fn is_full(&self, block: u32) -> bool {
        u32::from(self.block(block).filled) >= self.capacity(block)
    }

    /// Closes an open block if it is full; true then.
    pub(crate) fn close_if_full(&mut self, block: u32) -> bool {
        if !self.is_full(block) {
            return false;
        }
        self.closings = self.closings.wrapping_add(1);
        let closings = self.closings;
        self.map.were_set(self.shape.pages_per_block);
        self.owners.were_set(self.shape.pages_per_block);
        let closed = &mut self.blocks[block as usize];
        closed.life = Life::Closed;
        closed.closed = closings;
        true
    }

    /// The copy of a logical page in flash, if any, becomes invalid. Cache entries are the caller's business.
    fn forget(&mut self, lpn: u32) {
        if let Place::Flash(ppn) = self.place(lpn) {
            self.invalidate(ppn);
        }
    }

    fn invalidate(&mut self, ppn: u32) {
        self.current.remove(ppn);
        let block = self.block_of(ppn);
        self.blocks[block as usize].valid -= 1;
    }

    /// The logical page is in the cache from now on.
    pub(crate) fn cached(&mut self, lpn: u32, slot: u32) {
        self.forget(lpn);
        self.map.set(lpn, (slot | CACHED) + 1);
    }

    /// The logical page is nowhere from now on.
    pub(crate) fn trim(&mut self, lpn: u32) {
        self.forget(lpn);
        self.map.set(lpn, 0);
    }

    /// Whether reads of this page are served by the controller because its program is not over.
    pub(crate) fn is_unprogrammed(&self, ppn: u32) -> bool {
        let block = self.block_of(ppn);
        ppn - self.first_page(block) >= u32::from(self.block(block).programmed)
    }

    /// The first row of a block, at or after page `cursor`, with current pages in it: its pages within the block, and
    /// how many are current.
    pub(crate) fn next_row(&self, block: u32, cursor: u32) -> Option<(Range<u32>, u32)> {
        let (first, row) = (self.first_page(block), self.shape.row);
        let filled = u32::from(self.block(block).filled);
        let found = self.current.within(first + cursor..first + filled).next()? - first;
        let start = found - (found - cursor) % row;
        let end = (start + row).min(filled);
        Some((start..end, self.current.count(first + found..first + end)))
    }

    /// The next block of a die to collect; becomes a victim. Second: whether that is for the sake of wear only.
    pub(crate) fn pick_victim(
        &mut self,
        die: u32,
        policy: VictimPolicy,
        wear_spread: Option<u32>,
    ) -> Option<(u32, bool)> {
        self.picks += 1;
        // Rarely, so that levelling costs a bounded share of the writes.
        let levelled =
            wear_spread.filter(|_| self.picks.is_multiple_of(8)).and_then(|spread| self.too_young(die, spread));
        let block = levelled.or_else(|| match policy {
            VictimPolicy::Greedy => self.fewest_valid(die, false),
            VictimPolicy::CostBenefit => self.best_benefit(die),
        })?;
        self.blocks[block as usize].life = Life::Victim;
        Some((block, levelled.is_some()))
    }

    /// The SLC block of a die to fold next; becomes a victim.
    pub(crate) fn pick_slc(&mut self, die: u32, eviction: Eviction) -> Option<u32> {
        let block = match eviction {
            Eviction::Greedy => self.fewest_valid(die, true),
            Eviction::Fifo => {
                let closed = self.closed_blocks(die).filter(|(_, block)| block.slc);
                closed.min_by_key(|(_, block)| block.closed).map(|(at, _)| at)
            }
        }?;
        self.blocks[block as usize].life = Life::Victim;
        Some(block)
    }

    fn closed_blocks(&self, die: u32) -> impl Iterator<Item = (u32, &Block)> {
        let range = self.blocks_of(die);
        let blocks = &self.blocks[range.start as usize..range.end as usize];
        (range.start..).zip(blocks).filter(|(_, block)| block.life == Life::Closed)
    }

    fn fewest_valid(&self, die: u32, only_slc: bool) -> Option<u32> {
        let worthwhile = |block: &Block| {
            let kind = if only_slc { block.slc } else { self.gives_space(block) };
            kind && u32::from(block.valid) < self.shape.pages_per_block
        };
        let candidates = self.closed_blocks(die).filter(|(_, block)| worthwhile(block));
        candidates.min_by_key(|(_, block)| block.valid).map(|(at, _)| at)
    }

    /// Emptying an SLC block that was set aside wins nothing for ordinary data, on the contrary.
    fn gives_space(&self, block: &Block) -> bool {
        !block.slc || self.shape.slc_reserved == 0
    }

    fn best_benefit(&self, die: u32) -> Option<u32> {
        let full = self.shape.pages_per_block as f32;
        let benefit = |block: &Block| {
            let used = f32::from(block.valid) / full;
            let age = self.closings.wrapping_sub(block.closed) as f32 + 1.0;
            // The smallest share stands for an empty block, which is worth more than any other.
            age * (1.0 - used) / (2.0 * used).max(1e-6)
        };
        let candidates = self
            .closed_blocks(die)
            .filter(|(_, b)| self.gives_space(b) && u32::from(b.valid) < self.shape.pages_per_block);
        candidates.max_by(|a, b| benefit(a.1).total_cmp(&benefit(b.1))).map(|(at, _)| at)
    }

    /// The least worn closed block, if it lags behind the most worn block of the die by more than `spread`.
    pub(crate) fn too_young(&self, die: u32, spread: u32) -> Option<u32> {
        let (young, block) = self.closed_blocks(die).min_by_key(|(_, block)| block.erases)?;
        let oldest = self.blocks_of(die).map(|b| self.block(b).erases).max()?;
        (oldest > block.erases + spread).then_some(young)
    }

    /// A block without valid pages will be erased.
    pub(crate) fn condemn(&mut self, block: u32) {
        assert_eq!(self.block(block).valid, 0, "only a block without valid pages is condemned");
        self.blocks[block as usize].life = Life::Victim;
    }

    /// A victim is an ordinary closed block again.
    pub(crate) fn spare_victim(&mut self, block: u32) {
        self.blocks[block as usize].life = Life::Closed;
    }

    /// A victim was erased.
    pub(crate) fn erased(&mut self, block: u32) {
        let die = self.die_of(block) as usize;
        let erased = &mut self.blocks[block as usize];
        assert!(erased.valid == 0 && erased.life == Life::Victim, "only an emptied victim is erased");
        self.free[die] += 1;
        self.slc[die] -= u32::from(erased.slc);
        *erased = Block { filled: 0, programmed: 0, life: Life::Free, slc: false, ..*erased };
        erased.erases += 1;
    }

    /// Erase counts of a die's blocks.
    pub(crate) fn wear(&self) -> impl Iterator<Item = u32> + '_ {
        self.blocks.iter().map(|block| block.erases)
    }

    /// Pages of a new drive in no order are about to be laid down all over it.
    pub(crate) fn expect_disorder(&mut self) {
        self.map.expect_disorder();
        self.owners.expect_disorder();
    }

    /// Makes a free block a closed one whose pages hold what `owner` says, as if written and partly overwritten since.
    /// Pages given must be nowhere.
    pub(crate) fn lay_down(&mut self, block: u32, mut owner: impl FnMut(u32) -> Option<u32>) {
        let (die, first) = (self.die_of(block), self.first_page(block));
        let mut valid = 0;
        for page in 0..self.shape.pages_per_block {
            if let Some(lpn) = owner(page) {
                self.map.set(lpn, first + page + 1);
                self.current.insert(first + page);
                self.owners.set(first + page, lpn);
                valid += 1;
            }
        }
        self.free[die as usize] -= 1;
        let full = self.shape.pages_per_block as u16;
        let laid = &mut self.blocks[block as usize];
        *laid = Block { valid, filled: full, programmed: full, life: Life::Open, ..*laid };
        self.close_if_full(block);
    }

    /// Bytes of state.
    pub(crate) fn memory(&self) -> u64 {
        let tables = self.map.memory() + self.owners.memory() + size_of_val(&*self.blocks);
        (tables + self.current.memory()) as u64
    }

    /// Flash pages.
    pub(crate) fn pages(&self) -> u64 {
        self.owners.len() as u64
    }

    /// Checks the two maps against one another and the counts against the maps.
    pub(crate) fn check(&self) {
        for (block, state) in self.blocks.iter().enumerate() {
            let first = self.first_page(block as u32);
            let pages = first..first + self.shape.pages_per_block;
            let owners = pages.filter_map(|ppn| self.owner(ppn).map(|lpn| (ppn, lpn)));
            let mut valid = 0;
            for (ppn, lpn) in owners {
                assert_eq!(self.place(lpn), Place::Flash(ppn), "the maps disagree on logical page {lpn}");
                valid += 1;
            }
            assert_eq!(valid, state.valid, "block {block} miscounts its valid pages");
            assert!(state.life != Life::Free || valid == 0, "free block {block} holds data");
        }
        let in_flash = (0..self.shape.logical).filter(|&lpn| matches!(self.place(lpn), Place::Flash(_))).count();
        let valid: usize = self.blocks.iter().map(|block| usize::from(block.valid)).sum();
        assert_eq!(in_flash, valid, "a logical page leads to a flash page that is not its own");
        for die in 0..self.shape.dies {
            let free = self.blocks_of(die).filter(|&b| self.block(b).life == Life::Free).count();
            assert_eq!(free as u32, self.free[die as usize], "die {die} miscounts its free blocks");
        }
    }
}
