//! Merges of a block-mapped drive: how a log block and a data block become one data block.
//!
//! * *Switch*: every page of the log block is in its place; it becomes the data block, and nothing is copied.
//! * *Partial*: so are its pages as far as it is filled; the rest is copied behind them, and it becomes the data block.
//! * *Full*: the current pages of both are copied to a third block.
//!
//! The blocks that are left over are erased. A die merges one logical block at a time, unit by unit, and writes nothing
//! for the host meanwhile; reads go first, as always.

use crate::block_map::{Log, Merge};
use crate::ftl::{NO_BLOCK, Place};
use crate::state::Ssd;

/// Merges of a die after which one more may be made for the sake of wear only. This bounds the cost of levelling.
const MERGES_PER_MOVE: u64 = 8;

impl Ssd {
    /// Begins to merge a logical block, or to move its data block if there is no log block.
    pub(crate) fn begin_merge(&mut self, die: u32, logical: u32) {
        let homes = self.homes(die);
        let in_order = homes.log_of(logical).map(|at| homes.logs[at]).filter(|log| log.is_in_order);
        let into = in_order.map_or_else(|| self.ftl.open(die, false), |log| log.block);
        self.homes(die).merge = Some(Merge::new(logical, into, in_order.is_none()));
    }

    /// A full log block in order becomes the data block.
    pub(crate) fn switch_to_log(&mut self, die: u32, log: Log) {
        self.end_merge(die, Merge::new(log.logical, log.block, false));
    }

    /// Starts the next sense or program of the merge under way; false if there is none and the merge is at its end.
    pub(crate) fn merge_step(&mut self, die: u32) -> bool {
        loop {
            let mut merge = self.homes(die).merge.take().expect("a merge is under way");
            let Some(senses) = &mut merge.senses else {
                match self.next_unit(die, &merge) {
                    Some(page) => {
                        self.ftl.pad(merge.into, page - u32::from(self.ftl.block(merge.into).filled));
                        merge.senses = Some(self.senses_of_unit(die, &merge));
                        self.homes(die).merge = Some(merge);
                        continue;
                    }
                    None => {
                        self.end_merge(die, merge);
                        return false;
                    }
                }
            };
            if let Some(pages) = senses.pop() {
                self.counters.gc_reads += u64::from(pages);
                self.homes(die).merge = Some(merge);
                self.begin_gc_sense(die, pages, false);
                return true;
            }
            merge.senses = None;
            let (into, copied) = (merge.into, self.fill_unit(die, &merge));
            merge.copied += copied;
            self.homes(die).merge = Some(merge);
            // The host may have trimmed them all meanwhile.
            if copied > 0 {
                self.begin_program(die, into, self.ftl.shape.unit);
                return true;
            }
        }
    }

    /// The flash page of a logical page that is still to be copied.
    fn source(&self, die: u32, merge: &Merge, page: u32) -> Option<(u32, u32)> {
        let lpn = self.block_map.as_ref().expect("a block-mapped drive").lpn(die, merge.logical, page)?;
        match self.ftl.place(lpn) {
            Place::Flash(ppn) if self.ftl.block_of(ppn) != merge.into => Some((lpn, ppn)),
            _ => None,
        }
    }

    /// The first page of the next unit with something to copy.
    fn next_unit(&self, die: u32, merge: &Merge) -> Option<u32> {
        let (filled, unit) = (u32::from(self.ftl.block(merge.into).filled), self.ftl.shape.unit);
        let page = (filled..self.ftl.shape.pages_per_block).find(|&page| self.source(die, merge, page).is_some())?;
        Some(page / unit * unit)
    }

    /// How many pages each sense delivers that the unit at the target's end needs.
    fn senses_of_unit(&self, die: u32, merge: &Merge) -> Vec<u32> {
        let first = u32::from(self.ftl.block(merge.into).filled);
        let pages = (first..first + self.ftl.shape.unit).filter_map(|page| self.source(die, merge, page));
        // What is not programmed yet is still in the controller.
        let mut rows: Vec<u32> =
            pages.filter(|&(_, ppn)| !self.ftl.is_unprogrammed(ppn)).map(|(_, ppn)| ppn / self.ftl.shape.row).collect();
        rows.sort_unstable();
        rows.chunk_by(|a, b| a == b).map(|row| row.len() as u32).collect()
    }

    /// Assigns the next unit of the target; gives the pages that it holds.
    fn fill_unit(&mut self, die: u32, merge: &Merge) -> u32 {
        let (first, unit) = (u32::from(self.ftl.block(merge.into).filled), self.ftl.shape.unit);
        let mut copied = 0;
        for page in first..first + unit {
            match self.source(die, merge, page) {
                Some((lpn, _)) => {
                    self.ftl.assign(merge.into, lpn);
                    copied += 1;
                }
                None => self.ftl.pad(merge.into, 1),
            }
        }
        self.counters.programmed_gc += u64::from(copied);
        self.counters.padding += u64::from(if copied > 0 { unit - copied } else { 0 });
        copied
    }

    /// The target becomes the data block, what it replaces is erased.
    fn end_merge(&mut self, die: u32, merge: Merge) {
        let Merge { logical, into, is_full, copied, .. } = merge;
        self.ftl.pad(into, self.ftl.shape.pages_per_block - u32::from(self.ftl.block(into).filled));
        self.ftl.close_if_full(into);
        let homes = self.homes(die);
        homes.merges += 1;
        let is_turn = homes.merges.is_multiple_of(MERGES_PER_MOVE);
        let log = homes.log_of(logical).and_then(|at| homes.logs.remove(at));
        let data = std::mem::replace(&mut homes.list[logical as usize].data, into);
        homes.want(logical);
        let count = match (is_full, copied) {
            (true, _) => &mut self.counters.full_merges,
            (false, 0) => &mut self.counters.switch_merges,
            (false, _) => &mut self.counters.partial_merges,
        };
        *count += 1;
        for old in [data, log.map_or(NO_BLOCK, |log| log.block)] {
            if old != NO_BLOCK && old != into {
                self.condemn_block(die, old);
            }
        }
        self.drop_if_empty(die, logical);
        if is_turn {
            self.look_for_wear(die);
        }
    }

    /// Gives up a logical block's data block and log block if they hold nothing.
    pub(crate) fn drop_if_empty(&mut self, die: u32, logical: u32) {
        let data = self.homes(die).list[logical as usize].data;
        if data != NO_BLOCK && self.ftl.block(data).valid == 0 {
            self.homes(die).list[logical as usize].data = NO_BLOCK;
            self.condemn_block(die, data);
        }
        let Some(at) = self.homes(die).log_of(logical) else { return };
        let log = self.homes(die).logs[at];
        if self.ftl.block(log.block).valid == 0 {
            self.homes(die).logs.remove(at);
            self.homes(die).want(logical);
            self.condemn_block(die, log.block);
        }
    }

    /// Looks for cold data in a block that is much less worn than others.
    fn look_for_wear(&mut self, die: u32) {
        let Some(spread) = self.config.gc.wear_spread else { return };
        let Some(young) = self.ftl.too_young(die, spread) else { return };
        let homes = self.homes(die);
        let logical = homes.list.iter().position(|home| home.data == young);
        homes.too_young = logical.map(|logical| logical as u32);
    }
}
