//! The translation map in flash, with part of it in the controller's memory: demand paging, as DFTL (ASPLOS'09) has it.
//!
//! A map page holds the entries of neighbouring logical pages. Whoever needs an entry waits until its map page is in
//! memory; a change of one makes the map page dirty. Without capacitors only a limited number may be dirty at a time, so that
//! the map can be restored soon after a power cut; each further one has the oldest written back first. Fetches and
//! write-backs go through a server of their own, because the blocks that hold the map are few: their time on the dies
//! and their own collection, a few percent of the drive's work, are left out.

use std::collections::VecDeque;
use std::ops::Range;

use cygnus_types::{BLOCK, Nanos};

use crate::clock::{Clock, Stage};
use crate::config::MapCache;
use crate::counters::Counters;

/// Bytes of a map entry.
const ENTRY: u64 = 4;

/// Nobody waits for a job of the server.
pub(crate) const NOBODY: u32 = u32::MAX;

/// How a map page stands.
#[derive(Clone, Copy, Debug, Default)]
struct MapPage {
    in_flash: bool,
    is_resident: bool,
    is_dirty: bool,
    /// Used since the clock's hand last passed.
    was_used: bool,
}

/// Work for the server: how long it takes, and the command that waits for it.
type Job = (Nanos, u32);

/// Which map pages are where, and the server that moves them.
#[derive(Clone, Debug)]
pub(crate) struct PagedMap {
    config: MapCache,
    /// Logical pages per map page.
    covers: u32,
    pages: Vec<MapPage>,
    /// Resident pages in the order of the clock's hand; dirty pages, oldest first.
    resident: VecDeque<u32>,
    dirty: VecDeque<u32>,
    waiting: VecDeque<Job>,
    running: u32,
    /// Map pages fetched and written back so far.
    fetched: u64,
    written: u64,
}

impl PagedMap {
    pub(crate) fn new(config: MapCache, logical: u32) -> PagedMap {
        let covers = (config.page / ENTRY) as u32;
        PagedMap {
            pages: vec![MapPage::default(); logical.div_ceil(covers) as usize],
            config,
            covers,
            resident: VecDeque::new(),
            dirty: VecDeque::new(),
            waiting: VecDeque::new(),
            running: 0,
            fetched: 0,
            written: 0,
        }
    }

    fn limit(bytes: u64, page: u64) -> usize {
        (bytes / page).max(1) as usize
    }

    /// Somebody uses a map page; gives the server's time that this takes.
    fn touch(&mut self, at: u32, changes: bool) -> Nanos {
        let mut takes = Nanos::ZERO;
        let page = &mut self.pages[at as usize];
        page.was_used = true;
        if !page.is_resident {
            page.is_resident = true;
            if page.in_flash {
                takes += self.config.t_fetch;
                self.fetched += 1;
            }
            takes += self.make_room();
            self.resident.push_back(at);
        }
        if changes && !self.pages[at as usize].is_dirty {
            self.pages[at as usize].is_dirty = true;
            self.dirty.push_back(at);
            if self.dirty.len() > Self::limit(self.config.dirty, self.config.page) {
                let oldest = self.dirty.pop_front().expect("more than the limit");
                takes += self.write_back(oldest);
            }
        }
        takes
    }

    /// Evicts a page if there is no room for one more: the first one that was not used since the hand last passed.
    fn make_room(&mut self) -> Nanos {
        if self.resident.len() < Self::limit(self.config.resident, self.config.page) {
            return Nanos::ZERO;
        }
        let victim = loop {
            let at = self.resident.pop_front().expect("full means not empty");
            if !std::mem::take(&mut self.pages[at as usize].was_used) {
                break at;
            }
            self.resident.push_back(at);
        };
        self.pages[victim as usize].is_resident = false;
        if !self.pages[victim as usize].is_dirty {
            return Nanos::ZERO;
        }
        self.dirty.retain(|&other| other != victim);
        self.write_back(victim)
    }

    fn write_back(&mut self, at: u32) -> Nanos {
        let page = &mut self.pages[at as usize];
        (page.is_dirty, page.in_flash) = (false, true);
        self.written += 1;
        self.config.t_write
    }

    /// The first `logical` pages were written long ago: their map pages are in flash, those of `order` in memory as far
    /// as they fit, and dirty as far as is allowed if there was no idle time since.
    pub(crate) fn settle(&mut self, logical: u32, order: impl Iterator<Item = u32>, is_dirty: bool) {
        let filled = logical.div_ceil(self.covers);
        self.pages[..filled as usize].iter_mut().for_each(|page| page.in_flash = true);
        let room = Self::limit(self.config.resident, self.config.page);
        let most_dirty = if is_dirty { Self::limit(self.config.dirty, self.config.page).min(room) } else { 0 };
        for at in order.take_while(|&at| at < filled).take(room) {
            self.pages[at as usize].is_resident = true;
            self.resident.push_back(at);
            if self.dirty.len() < most_dirty {
                self.pages[at as usize].is_dirty = true;
                self.dirty.push_back(at);
            }
        }
    }

    /// Map pages of the first `logical` pages.
    pub(crate) fn pages_of(&self, logical: u32) -> u32 {
        logical.div_ceil(self.covers)
    }

    /// After a power cut the map is restored into flash, and none of it is in memory.
    pub(crate) fn lose_power(&mut self) {
        for page in &mut self.pages {
            *page = MapPage { in_flash: page.in_flash || page.is_dirty, ..MapPage::default() };
        }
        self.resident.clear();
        self.dirty.clear();
        self.waiting.clear();
        self.running = 0;
    }

    /// Checks the lists against the pages.
    pub(crate) fn check(&self) {
        let count = |what: fn(&MapPage) -> bool| self.pages.iter().filter(|&page| what(page)).count();
        assert_eq!(count(|page| page.is_resident), self.resident.len(), "resident map pages are miscounted");
        assert_eq!(count(|page| page.is_dirty), self.dirty.len(), "dirty map pages are miscounted");
        assert_eq!(count(|page| page.is_dirty && !page.is_resident), 0, "a dirty map page is not in memory");
        assert!(self.resident.len() <= Self::limit(self.config.resident, self.config.page));
        assert!(self.dirty.len() <= Self::limit(self.config.dirty, self.config.page));
    }
}

/// The server's work.
impl PagedMap {
    /// Brings the map pages that a command needs into memory; gives how many of them it must wait for.
    pub(crate) fn load(
        &mut self,
        pages: Range<u32>,
        changes: bool,
        waiter: u32,
        clock: &mut Clock,
        counters: &mut Counters,
    ) -> u32 {
        let (first, last) = (pages.start / self.covers, (pages.end - 1) / self.covers);
        (first..=last).map(|page| u32::from(self.use_page(page, changes, waiter, clock, counters))).sum()
    }

    /// The collector moves a logical page: the server gets the work, but the die need not wait for it.
    pub(crate) fn relocated(&mut self, lpn: u32, clock: &mut Clock, counters: &mut Counters) {
        self.use_page(lpn / self.covers, true, NOBODY, clock, counters);
    }

    /// True if the server has to do something first.
    fn use_page(&mut self, page: u32, changes: bool, waiter: u32, clock: &mut Clock, counters: &mut Counters) -> bool {
        let takes = self.touch(page, changes);
        if takes == Nanos::ZERO {
            return false;
        }
        self.waiting.push_back((takes, waiter));
        let blocks = self.config.page / BLOCK as u64;
        counters.map_reads += std::mem::take(&mut self.fetched) * blocks;
        counters.map_writes += std::mem::take(&mut self.written) * blocks;
        self.serve(clock);
        true
    }

    fn serve(&mut self, clock: &mut Clock) {
        while self.running < self.config.parallel
            && let Some((takes, waiter)) = self.waiting.pop_front()
        {
            self.running += 1;
            clock.begin(takes, Stage::Map { waiter });
        }
    }

    /// The server is done with a job.
    pub(crate) fn served(&mut self, clock: &mut Clock) {
        self.running -= 1;
        self.serve(clock);
    }
}
