//! The translation layer's state: which flash page holds which logical page, and what every block is up to.

use std::cmp::Reverse;
use std::ops::Range;

use crate::bits::Bits;
use crate::config::{Eviction, Shape, VictimPolicy};
use crate::page_table::PageTable;

/// Weight of a block's invalid pages beside its transient ones, as ScalaAFA chooses it (section 5.5).
const INVALID_FACTOR: i32 = 1;

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
    /// Of these, such as the host says will soon be invalid. Counted in SLC blocks only.
    pub(crate) transient: u16,
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

impl Block {
    /// ScalaAFA's score of an SLC block (section 5.5): what is invalid need not be moved, what is transient will soon be.
    fn score(&self) -> i32 {
        INVALID_FACTOR * i32::from(self.filled - self.valid) - i32::from(self.transient)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Ftl {
    pub(crate) shape: Shape,
    /// Per logical page: 0 nowhere, else a page or slot + 1.
    map: PageTable,
    /// Flash pages that hold current data. By this alone a page becomes invalid: the set of a whole drive stays in the
    /// processor's cache, `owners` does not.
    current: Bits,
    /// Of these, the transient ones of SLC blocks. No bit for any page if there is no SLC buffer.
    transient: Bits,
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
        let empty = Block {
            valid: 0,
            transient: 0,
            filled: 0,
            programmed: 0,
            life: Life::Free,
            slc: false,
            erases: 0,
            closed: 0,
        };
        let slc_pages = if shape.slc_blocks > 0 { blocks * shape.pages_per_block as usize } else { 0 };
        Self {
            map: PageTable::new(shape.logical as usize),
            current: Bits::none(blocks * shape.pages_per_block as usize),
            transient: Bits::none(slc_pages),
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

    /// The host says of a page just assigned that it will soon be invalid. Only the SLC buffer's eviction asks for that.
    pub(crate) fn mark_transient(&mut self, ppn: u32) {
        let block = self.block_of(ppn);
        if self.block(block).slc {
            self.transient.insert(ppn);
            self.blocks[block as usize].transient += 1;
        }
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
        let block = &mut self.blocks[block as usize];
        block.valid -= 1;
        if block.transient > 0 && self.transient.contains(ppn) {
            block.transient -= 1;
            self.transient.remove(ppn);
        }
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
            VictimPolicy::Greedy => self.fewest_valid(die),
            VictimPolicy::CostBenefit => self.best_benefit(die),
        })?;
        self.blocks[block as usize].life = Life::Victim;
        Some((block, levelled.is_some()))
    }

    /// The SLC block of a die to fold next; becomes a victim.
    pub(crate) fn pick_slc(&mut self, die: u32, eviction: Eviction) -> Option<u32> {
        let closed = self.closed_blocks(die).filter(|(_, block)| block.slc);
        let (block, _) = match eviction {
            Eviction::Fifo => closed.min_by_key(|(_, block)| block.closed),
            Eviction::Greedy => closed.min_by_key(|(_, block)| block.valid),
            Eviction::SpareTransient => closed.min_by_key(|(_, block)| Reverse(block.score())),
        }?;
        self.blocks[block as usize].life = Life::Victim;
        Some(block)
    }

    fn closed_blocks(&self, die: u32) -> impl Iterator<Item = (u32, &Block)> {
        let range = self.blocks_of(die);
        let blocks = &self.blocks[range.start as usize..range.end as usize];
        (range.start..).zip(blocks).filter(|(_, block)| block.life == Life::Closed)
    }

    fn fewest_valid(&self, die: u32) -> Option<u32> {
        let worthwhile = |block: &Block| self.gives_space(block) && u32::from(block.valid) < self.shape.pages_per_block;
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
        (tables + self.current.memory() + self.transient.memory()) as u64
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
            if self.shape.slc_blocks > 0 {
                let marked = self.transient.count(first..first + self.shape.pages_per_block);
                assert_eq!(marked, u32::from(state.transient), "block {block} miscounts its transient pages");
                assert!(marked == 0 || state.slc, "block {block} is not of the SLC buffer and has transient pages");
                for ppn in self.transient.within(first..first + self.shape.pages_per_block) {
                    assert!(self.current.contains(ppn), "transient page {ppn} is not current");
                }
            }
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// One die of twelve blocks of eight pages, half of them for the buffer.
    fn ftl() -> Ftl {
        Ftl::new(Shape {
            logical: 32,
            dies: 1,
            blocks_per_die: 12,
            pages_per_block: 8,
            row: 1,
            unit: 1,
            slc_unit: 1,
            slc_pages_per_block: 8,
            slc_blocks: 6,
            slc_reserved: 6,
            cache_slots: 1,
            streams: 1,
            zone: 0,
        })
    }

    /// Fills an SLC block with these pages, of which those from `from` on are transient, and closes it.
    fn fill(ftl: &mut Ftl, pages: Range<u32>, from: u32) -> u32 {
        let block = ftl.open(0, true);
        for lpn in pages {
            let page = ftl.assign(block, lpn);
            if lpn >= from {
                ftl.mark_transient(page);
            }
        }
        assert!(ftl.close_if_full(block));
        block
    }

    fn first_to_go(mut ftl: Ftl, eviction: Eviction) -> Option<u32> {
        ftl.pick_slc(0, eviction)
    }

    #[test]
    fn the_block_with_most_invalid_less_transient_pages_goes_first() {
        let mut ftl = ftl();
        let plain = fill(&mut ftl, 0..8, 8);
        let copies = fill(&mut ftl, 8..16, 8);
        let mixed = fill(&mut ftl, 16..24, 20);
        let by = |ftl: &Ftl, eviction| first_to_go(ftl.clone(), eviction);
        // Nothing is invalid: what has no copies goes.
        assert_eq!(by(&ftl, Eviction::SpareTransient), Some(plain));
        // Three of eight copies are gone: 3 - 5 is less than 0 - 0, but these are the most invalid pages.
        (8..11).for_each(|lpn| ftl.trim(lpn));
        assert_eq!(by(&ftl, Eviction::SpareTransient), Some(plain));
        assert_eq!(by(&ftl, Eviction::Greedy), Some(copies));
        // Three pages of the mixed one that are no copies: 3 - 4.
        (16..19).for_each(|lpn| ftl.trim(lpn));
        assert_eq!(by(&ftl, Eviction::SpareTransient), Some(plain));
        // And two that are: 5 - 2.
        (20..22).for_each(|lpn| ftl.trim(lpn));
        assert_eq!(by(&ftl, Eviction::SpareTransient), Some(mixed));
        // All eight copies: 8 - 0.
        (11..16).for_each(|lpn| ftl.trim(lpn));
        assert_eq!(by(&ftl, Eviction::SpareTransient), Some(copies));
        assert_eq!(by(&ftl, Eviction::Fifo), Some(plain));
    }

    #[test]
    fn copies_go_when_there_is_nothing_else() {
        let mut ftl = ftl();
        let copies = fill(&mut ftl, 0..8, 0);
        assert_eq!(ftl.pick_slc(0, Eviction::SpareTransient), Some(copies));
        let normal = ftl.open(0, false);
        for page in 0..8 {
            ftl.relocate(normal, ftl.first_page(copies) + page);
        }
        // In normal cells nobody asks any more.
        assert_eq!((ftl.block(copies).transient, ftl.block(normal).transient), (0, 0));
        ftl.check();
    }

    #[derive(Clone, Debug)]
    enum Change {
        Write { lpn: u32, transient: bool },
        Trim(u32),
        Evict(Eviction),
    }

    fn change() -> impl Strategy<Value = Change> {
        prop_oneof![
            8 => (0_u32..32, any::<bool>()).prop_map(|(lpn, transient)| Change::Write { lpn, transient }),
            1 => (0_u32..32).prop_map(Change::Trim),
            1 => prop_oneof![Just(Eviction::Greedy), Just(Eviction::SpareTransient)].prop_map(Change::Evict),
        ]
    }

    /// Moves what a block holds to normal cells and erases it.
    fn fold(ftl: &mut Ftl, victim: u32, into: &mut u32) {
        let first = ftl.first_page(victim);
        let valid: Vec<u32> = ftl.current(first..first + 8).map(|(page, _)| page).collect();
        for page in valid {
            ftl.relocate(*into, page);
            if ftl.close_if_full(*into) {
                *into = ftl.open(0, false);
            }
        }
        ftl.erased(victim);
    }

    /// A closed normal block that holds nothing any more is as good as free.
    fn tidy(ftl: &mut Ftl) {
        let empty = |&block: &u32| {
            let of = ftl.block(block);
            of.life == Life::Closed && !of.slc && of.valid == 0
        };
        let blocks: Vec<u32> = ftl.blocks_of(0).filter(empty).collect();
        for block in blocks {
            ftl.condemn(block);
            ftl.erased(block);
        }
    }

    proptest! {
        #[test]
        fn what_is_counted_as_transient_is_what_was_written_so(changes in prop::collection::vec(change(), 1..200)) {
            let mut ftl = ftl();
            // Whether the newest copy of each page is a transient one in the buffer.
            let mut model = [false; 32];
            let (mut open, mut normal) = (ftl.open(0, true), ftl.open(0, false));
            for change in changes {
                match change {
                    Change::Write { lpn, transient } => {
                        let page = ftl.assign(open, lpn);
                        if transient {
                            ftl.mark_transient(page);
                        }
                        model[lpn as usize] = transient;
                    }
                    Change::Trim(lpn) => {
                        ftl.trim(lpn);
                        model[lpn as usize] = false;
                    }
                    Change::Evict(eviction) => {
                        let closed = ftl.closed_blocks(0).filter(|(_, block)| block.slc);
                        let best = closed.map(|(_, block)| {
                            let invalid = 8 - i32::from(block.valid);
                            invalid - if eviction == Eviction::Greedy { 0 } else { i32::from(block.transient) }
                        }).max();
                        let Some(victim) = ftl.pick_slc(0, eviction) else {
                            prop_assert_eq!(best, None);
                            continue;
                        };
                        let picked = ftl.block(victim);
                        let spared = if eviction == Eviction::Greedy { 0 } else { i32::from(picked.transient) };
                        prop_assert_eq!(Some(8 - i32::from(picked.valid) - spared), best);
                        let first = ftl.first_page(victim);
                        ftl.current(first..first + 8).for_each(|(_, lpn)| model[lpn as usize] = false);
                        fold(&mut ftl, victim, &mut normal);
                    }
                }
                if ftl.close_if_full(open) {
                    if ftl.slc_in_use(0) == 6 {
                        let victim = ftl.pick_slc(0, Eviction::SpareTransient).expect("all are closed");
                        let first = ftl.first_page(victim);
                        ftl.current(first..first + 8).for_each(|(_, lpn)| model[lpn as usize] = false);
                        fold(&mut ftl, victim, &mut normal);
                    }
                    open = ftl.open(0, true);
                }
                tidy(&mut ftl);
                // What is scattered over normal blocks is rewritten before they run out.
                if ftl.free(0) < 2 {
                    break;
                }
                ftl.check();
                let counted: u16 = ftl.blocks_of(0).map(|block| ftl.block(block).transient).sum();
                prop_assert_eq!(usize::from(counted), model.iter().filter(|&&transient| transient).count());
            }
        }
    }
}
