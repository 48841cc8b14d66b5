//! Loss of power: what is gone, and what state the drive wakes up in.
//!
//! The maps themselves are assumed to be safe (real drives rebuild them from the pages' out-of-band data), and so is
//! whatever the collector was copying, because a victim is erased only after its copies are programmed.

use crate::cache::WriteCache;
use crate::device::Command;
use crate::die::Work;
use crate::ftl::Place;
use crate::state::Ssd;
use crate::transit::Transit;
use crate::xor::Xor;

impl Ssd {
    pub(crate) fn lose_power(&mut self) -> Vec<u64> {
        let mut lost = self.not_arrived();
        if self.config.cache.protected {
            // The capacitors last for the programs under way; what waits stays in the cache.
            self.end_programs(true);
        } else {
            let volatile = self.volatile_pages();
            volatile.iter().for_each(|&lpn| self.ftl.trim(lpn));
            self.end_programs(false);
            self.cache = WriteCache::new(self.ftl.shape.cache_slots, self.ftl.shape.streams);
            lost.extend(volatile.into_iter().map(u64::from));
        }
        if let Some(zones) = &mut self.zones {
            zones.cut();
        }
        if let Some(map) = &mut self.block_map {
            map.lose_power(!self.config.cache.protected);
        }
        if let Some(map) = &mut self.map {
            map.lose_power();
        }
        self.forget_commands();
        lost.sort_unstable();
        lost.dedup();
        lost
    }

    /// Blocks of outstanding writes that the cache has not seen.
    fn not_arrived(&self) -> Vec<u64> {
        let mut is_live = vec![true; self.transits.len()];
        self.unused.iter().for_each(|&at| is_live[at as usize] = false);
        let live = self.transits.iter().zip(is_live).filter_map(|(transit, live)| live.then_some(transit));
        let written = |transit: &Transit| match transit.command {
            Command::Write { .. } if !transit.is_refused() => transit.lba..transit.lba + transit.pages,
            // Before it is accepted it has no place that could be lost.
            Command::Append { .. } if transit.appended.is_some() => transit.lba..transit.lba + transit.pages,
            Command::Convert(convert) if !transit.is_refused() => {
                convert.destination as u32..convert.destination as u32 + convert.chunk
            }
            _ => 0..0,
        };
        live.flat_map(|transit| written(transit).skip(transit.cached as usize)).map(u64::from).collect()
    }

    /// Pages whose newest version is in the cache or in a program that is not over.
    fn volatile_pages(&self) -> Vec<u32> {
        let is_volatile = |&(slot, lpn): &(u32, u32)| match self.ftl.place(lpn) {
            Place::Cache(newest) => newest == slot,
            Place::Flash(ppn) => self.ftl.is_unprogrammed(ppn),
            Place::Nowhere => false,
        };
        self.cache.pages().filter(is_volatile).map(|(_, lpn)| lpn).collect()
    }

    /// No die does anything any more. A page being programmed is used up either way.
    fn end_programs(&mut self, slots_survive: bool) {
        self.idle.clear();
        for at in 0..self.dies.len() as u32 {
            let die = std::mem::take(&mut self.dies[at as usize]);
            let mut collector = die.collector;
            for work in [Some(die.work), die.suspended.map(|(work, _)| work)].into_iter().flatten() {
                match work {
                    Work::ProgramIn { block } | Work::Program { block } => self.ftl.programmed(block),
                    Work::Erase { block } => collector.erase_when_empty(block),
                    Work::Idle | Work::Sense(_) | Work::GcSense { .. } | Work::GcOut => {}
                }
            }
            if slots_survive {
                die.slots.iter().for_each(|&slot| self.cache.release(slot));
            }
            collector.give_up(&mut self.ftl);
            // Tickets go on counting, so that nothing of before can be mistaken for something of after.
            let state = &mut self.dies[at as usize];
            (state.open, state.collector, state.ticket) = (die.open, collector, die.ticket);
            self.idle.push_back(at);
        }
    }

    fn forget_commands(&mut self) {
        self.clock.forget_stages();
        self.channels.iter_mut().for_each(|channel| channel.queue.clear());
        self.transits.clear();
        self.unused.clear();
        self.outstanding = 0;
        self.outside.clear();
        self.firmware.clear();
        self.links.iter_mut().for_each(|link| link.clear());
        self.admitting.clear();
        self.flushes.clear();
        self.xor.iter_mut().for_each(Xor::clear);
    }
}
