//! Pages on their way through the write cache: they are admitted while there is room, and dies are fed with them. What flushes
//! wait for is found on the way.

use crate::device::Command;
use crate::ftl::Place;
use crate::state::Ssd;
use crate::transit::Transit;

impl Ssd {
    /// Moves arrived pages into the cache while there is room.
    pub(crate) fn admit_arrived(&mut self) {
        self.cache.drop_dead();
        while let Some(&(at, pages)) = self.admitting.front() {
            let transit = self.transits[at as usize];
            let arrived = transit.lba + transit.cached..transit.lba + transit.cached + pages;
            let admitted = arrived.take_while(|&lpn| self.admit_page(&transit, lpn)).count() as u32;
            self.transits[at as usize].cached += admitted;
            if admitted < pages {
                self.admitting[0].1 -= admitted;
                break;
            }
            self.admitting.pop_front();
            if transit.cached + admitted == transit.pages {
                self.all_cached(at);
            }
        }
        self.feed_dies();
    }

    fn admit_page(&mut self, transit: &Transit, lpn: u32) -> bool {
        let stream = match (&self.zones, transit.command) {
            (Some(zones), _) => match zones.arrival(lpn, transit.generation) {
                Some(stream) => stream,
                None => return true,
            },
            (None, _) if self.block_map.is_some() => self.block_stream(lpn),
            (None, Command::Write { hint, .. }) => u32::from(hint.handle) % self.ftl.shape.streams,
            (None, _) => 0,
        };
        let transient = matches!(transit.command, Command::Write { hint, .. } if hint.transient);
        let is_parity = matches!(transit.command, Command::Convert(_));
        let count = if is_parity { &mut self.counters.parity_writes } else { &mut self.counters.host_writes };
        let copies = u64::from(transient);
        // An overwrite of a page that waits, and must not be split from an earlier flush, takes the same slot.
        if let Place::Cache(slot) = self.ftl.place(lpn) {
            self.cache.overwrite(slot, transient);
            *count += 1;
            self.counters.transient_writes += copies;
            self.counters.merged_writes += 1;
            return true;
        }
        let Some(slot) = self.cache.insert(lpn, stream, transient) else { return false };
        self.ftl.cached(lpn, slot);
        *count += 1;
        self.counters.transient_writes += copies;
        if let Some(zones) = &mut self.zones {
            zones.arrived(lpn);
        } else if let Some(map) = &mut self.block_map {
            map.arrived(lpn);
        }
        true
    }

    /// All pages of a command are in the cache.
    fn all_cached(&mut self, at: u32) {
        match self.transits[at as usize].command {
            Command::Write { fua: true, .. } | Command::Convert(_) => self.flush_for(at),
            _ => self.finish_command(at),
        }
    }

    /// A command waits until all that is in the cache is durable.
    pub(crate) fn flush_for(&mut self, at: u32) {
        if self.config.cache.protected || self.cache.is_empty() {
            return self.flushed(at);
        }
        let epoch = self.cache.close_epoch();
        self.flushes.push_back((at, epoch));
        self.feed_dies();
    }

    /// Completes the flushes whose pages are all programmed.
    fn finish_flushes(&mut self) {
        while let Some(&(at, epoch)) = self.flushes.front() {
            if !self.cache.is_clean(epoch) {
                break;
            }
            self.flushes.pop_front();
            self.flushed(at);
        }
    }

    /// What a command wrote, or what was written before it, is durable.
    fn flushed(&mut self, at: u32) {
        match self.transits[at as usize].command {
            Command::Convert(convert) => {
                self.end_conversion(at, convert);
                self.admit_arrived();
            }
            _ => self.finish_command(at),
        }
    }

    /// Gives idle dies the chance to take waiting pages.
    pub(crate) fn feed_dies(&mut self) {
        self.cache.drop_dead();
        self.finish_flushes();
        if self.zones.is_some() {
            return self.feed_zones();
        }
        let is_block_mapped = self.block_map.is_some();
        // Each once: a die that declines goes to the back of the list.
        for _ in 0..self.idle.len() {
            if !is_block_mapped && self.next_stream().is_none() {
                break;
            }
            let die = self.idle.pop_front().expect("as many as counted");
            self.dies[die as usize].is_listed_idle = false;
            self.wake(die);
        }
    }
}
