//! What a die writes: host data, relocated data, and the balance between the two.

use std::collections::VecDeque;

use crate::die::Work;
use crate::ftl::{Ftl, NO_BLOCK};
use crate::ssd::{Ssd, Stage};

/// Debts are kept in this fraction of a page.
const DEBT_UNIT: i64 = 1024;

/// A die's garbage collector.
#[derive(Clone, Debug)]
pub(crate) struct Collector {
    /// The block being emptied, and the page up to which it has been read.
    victim: u32,
    cursor: u32,
    /// The row being read: its pages come with [`Ssd::gathered`].
    row: (u32, u32),
    /// Pages read and not yet programmed: flash page and logical page.
    gathered: VecDeque<(u32, u32)>,
    /// Blocks read to the end, some of whose pages are not yet programmed elsewhere.
    pub(crate) drained: Vec<u32>,
    /// Relocations owed for host data already written, in [`DEBT_UNIT`]s of a page.
    debt: i64,
}

impl Default for Collector {
    fn default() -> Self {
        Self { victim: NO_BLOCK, cursor: 0, row: (0, 0), gathered: VecDeque::new(), drained: Vec::new(), debt: 0 }
    }
}

impl Collector {
    fn is_active(&self) -> bool {
        self.victim != NO_BLOCK || !self.gathered.is_empty()
    }
}

impl Collector {
    /// The erase of an emptied victim did not come to its end.
    pub(crate) fn erase_again(&mut self, block: u32) {
        self.drained.push(block);
    }

    /// Forgets what it was doing; blocks that still hold data are no victims any more.
    pub(crate) fn give_up(&mut self, ftl: &mut Ftl) {
        let blocks = self.drained.drain(..).chain((self.victim != NO_BLOCK).then_some(self.victim));
        let (keep, empty): (Vec<u32>, Vec<u32>) = blocks.partition(|&block| ftl.block(block).valid > 0);
        keep.into_iter().for_each(|block| ftl.spare_victim(block));
        *self = Collector { drained: empty, ..Collector::default() };
    }
}

impl Ssd {
    /// Starts the next program, erase or relocation of a die; false if there is none.
    pub(crate) fn write_work(&mut self, die: u32) -> bool {
        if let Some(block) = self.emptied(die) {
            self.begin_erase(die, block);
            return true;
        }
        if self.zones.is_some() {
            return self.program_zone(die);
        }
        if self.block_map.is_some() {
            return self.block_work(die);
        }
        if self.config.gc.bursts.is_some() {
            return self.burst(die) || self.program_host(die) || self.fold(die);
        }
        let free = self.ftl.free(die);
        let in_debt = free < self.config.gc.low && self.dies[die as usize].collector.debt > 0;
        let is_short = free <= self.reserve();
        if (in_debt || is_short) && self.collect(die, is_short) {
            return true;
        }
        if self.program_host(die) {
            return true;
        }
        // Nothing for the host to do here: idle time.
        if free < self.config.gc.high && self.cache.waiting() < self.ftl.shape.unit {
            return self.collect(die, false);
        }
        self.fold(die)
    }

    /// A drained victim whose pages all live elsewhere by now.
    fn emptied(&mut self, die: u32) -> Option<u32> {
        let ftl = &self.ftl;
        let drained = &mut self.dies[die as usize].collector.drained;
        let at = drained.iter().position(|&block| ftl.block(block).valid == 0)?;
        Some(drained.swap_remove(at))
    }

    /// Erases a block without valid pages when its die comes to it.
    pub(crate) fn erase_soon(&mut self, block: u32) {
        let die = self.ftl.die_of(block);
        self.dies[die as usize].collector.drained.push(block);
        self.wake(die);
    }

    /// One step of collection: a sense, a program or an erase. `press`: do not wait for a full unit.
    fn collect(&mut self, die: u32, press: bool) -> bool {
        loop {
            self.drop_stale(die);
            let collector = &self.dies[die as usize].collector;
            if collector.gathered.len() >= self.ftl.shape.unit as usize {
                return self.program_gathered(die);
            }
            if collector.victim == NO_BLOCK && !self.next_victim(die) {
                return press && self.program_gathered(die);
            }
            if self.read_victim(die) {
                return true;
            }
            if let Some(block) = self.emptied(die) {
                self.begin_erase(die, block);
                return true;
            }
        }
    }

    /// Forgets gathered pages that the host has overwritten since.
    fn drop_stale(&mut self, die: u32) {
        let ftl = &self.ftl;
        let gathered = &mut self.dies[die as usize].collector.gathered;
        gathered.retain(|&(ppn, lpn)| ftl.owner(ppn) == Some(lpn));
    }

    fn next_victim(&mut self, die: u32) -> bool {
        let gc = &self.config.gc;
        let Some((victim, for_wear)) = self.ftl.pick_victim(die, gc.policy, gc.wear_spread) else { return false };
        self.counters.wear_moves += u64::from(for_wear);
        self.take_victim(die, victim);
        true
    }

    fn take_victim(&mut self, die: u32, victim: u32) {
        let collector = &mut self.dies[die as usize].collector;
        (collector.victim, collector.cursor) = (victim, 0);
    }

    /// Senses the victim's next row with valid pages; if there is none, the victim is drained.
    fn read_victim(&mut self, die: u32) -> bool {
        let victim = self.dies[die as usize].collector.victim;
        let cursor = self.dies[die as usize].collector.cursor;
        let Some((row, pages)) = self.ftl.next_row(victim, cursor) else {
            let collector = &mut self.dies[die as usize].collector;
            collector.drained.push(victim);
            collector.victim = NO_BLOCK;
            return false;
        };
        let first = self.ftl.first_page(victim);
        let slc = self.ftl.block(victim).slc;
        let collector = &mut self.dies[die as usize].collector;
        collector.cursor = row.end;
        collector.row = (first + row.start, first + row.end);
        self.counters.gc_reads += u64::from(pages);
        self.begin_gc_sense(die, pages, slc);
        true
    }

    /// The row that was sensed is in the controller.
    pub(crate) fn gathered(&mut self, die: u32) {
        let collector = &mut self.dies[die as usize].collector;
        let (from, to) = collector.row;
        let ftl = &self.ftl;
        collector.gathered.extend(ftl.current(from..to));
    }

    /// Programs a unit of gathered pages; false if there are none.
    fn program_gathered(&mut self, die: u32) -> bool {
        self.drop_stale(die);
        if self.dies[die as usize].collector.gathered.is_empty() {
            return false;
        }
        let stream = self.gc_stream();
        let Some(block) = self.open_block(die, stream, false) else { return false };
        let unit = self.ftl.unit(block);
        let mut pages = 0;
        while pages < unit
            && let Some((from, lpn)) = self.dies[die as usize].collector.gathered.pop_front()
        {
            self.ftl.relocate(block, from);
            self.relocated_in_map(lpn);
            pages += 1;
        }
        self.counters.programmed_gc += u64::from(pages);
        self.dies[die as usize].collector.debt -= i64::from(pages) * DEBT_UNIT;
        self.end_unit(die, stream, block, pages);
        true
    }

    /// Relocated pages share the host's blocks only if asked to, and never in the SLC buffer.
    pub(crate) fn gc_stream(&self) -> usize {
        let is_apart = self.config.gc.separate || self.config.slc.is_some();
        if is_apart { self.ftl.shape.streams as usize } else { 0 }
    }

    /// The open block of a stream, opened if need be and allowed: host data must leave the reserve alone.
    pub(crate) fn open_block(&mut self, die: u32, stream: usize, for_host: bool) -> Option<u32> {
        let open = self.dies[die as usize].open[stream];
        if open != NO_BLOCK {
            return Some(open);
        }
        let free = self.ftl.free(die);
        let slc = for_host && self.wants_slc(die);
        if !slc && free <= if for_host { self.reserve() } else { 0 } {
            return None;
        }
        let block = self.ftl.open(die, slc);
        self.dies[die as usize].open[stream] = block;
        Some(block)
    }

    /// Free blocks that host data must leave. One more with an SLC buffer: folding a block may have begun that gives no
    /// ordinary space back.
    fn reserve(&self) -> u32 {
        self.config.gc.reserve + u32::from(self.config.slc.is_some())
    }

    fn wants_slc(&self, die: u32) -> bool {
        let Some(slc) = &self.config.slc else { return false };
        let room = self.ftl.slc_in_use(die) < self.ftl.shape.slc_blocks;
        // Borrowed blocks are only for as long as nobody else needs them.
        room && (slc.reserved || self.ftl.free(die) > self.config.gc.high + 1)
    }

    /// Programs a unit of host data if enough of it waits.
    fn program_host(&mut self, die: u32) -> bool {
        let Some((stream, is_pressed)) = self.next_stream() else { return false };
        let Some(block) = self.open_block(die, stream as usize, true) else { return false };
        let unit = self.ftl.unit(block);
        if self.cache.waiting_in(stream) < unit && !is_pressed {
            return false;
        }
        let pages = self.take_unit(die, block, stream);
        self.owe(die, unit);
        self.end_unit(die, stream as usize, block, pages);
        true
    }

    /// The stream that the next program of host data takes from, and whether it cannot wait for a full unit: a flush
    /// waits for it, or there is no room for more and nothing on its way out.
    pub(crate) fn next_stream(&self) -> Option<(u32, bool)> {
        if let Some(&(_, epoch)) = self.flushes.back()
            && let Some(stream) = self.cache.oldest_of(epoch)
        {
            return Some((stream, true));
        }
        let stream = self.cache.fullest();
        let waiting = self.cache.waiting_in(stream);
        let is_pressed = !self.admitting.is_empty() && self.cache.in_flight() == 0;
        (waiting >= self.ftl.shape.slc_unit || (waiting > 0 && is_pressed)).then_some((stream, is_pressed))
    }

    /// Moves a unit of a stream's pages from the cache to a block about to be programmed; gives how many there were.
    pub(crate) fn take_unit(&mut self, die: u32, block: u32, stream: u32) -> u32 {
        let unit = self.ftl.unit(block);
        let mut slots = std::mem::take(&mut self.dies[die as usize].slots);
        let ftl = &mut self.ftl;
        self.cache.take(stream, unit, |slot, lpn| {
            ftl.assign(block, lpn);
            slots.push(slot);
        });
        let pages = slots.len() as u32;
        self.dies[die as usize].slots = slots;
        self.counters.programmed_host += u64::from(pages);
        pages
    }

    /// Host data of `unit` pages went to the die: the collector owes the relocations that win the space back.
    fn owe(&mut self, die: u32, unit: u32) {
        if self.config.gc.bursts.is_some() || self.ftl.free(die) >= self.config.gc.low {
            self.dies[die as usize].collector.debt = 0;
            return;
        }
        if self.dies[die as usize].collector.victim == NO_BLOCK && !self.next_victim(die) {
            return;
        }
        let collector = &mut self.dies[die as usize].collector;
        // What the victim still holds, against what its erase will give.
        let valid = i64::from(self.ftl.block(collector.victim).valid);
        let gain = (i64::from(self.ftl.shape.pages_per_block) - valid).max(1);
        // At least something, so that a victim without valid pages is taken at once; and bounded, because a victim taken
        // for wear gains nothing and must not stop the host for long.
        let owed = i64::from(unit) * valid * DEBT_UNIT / gain.max(valid / 16 + 1);
        collector.debt += owed.max(1);
    }

    /// Pads the unit, closes the block if it is full, and sends the unit off.
    fn end_unit(&mut self, die: u32, stream: usize, block: u32, pages: u32) {
        let unit = self.ftl.unit(block);
        self.ftl.pad(block, unit - pages);
        self.counters.padding += u64::from(unit - pages);
        if self.ftl.block(block).slc {
            self.counters.programmed_slc += u64::from(unit);
        }
        if self.ftl.close_if_full(block) {
            self.dies[die as usize].open[stream] = NO_BLOCK;
        }
        self.begin_program(die, block, unit);
    }

    /// Moves data out of the SLC buffer in idle time.
    fn fold(&mut self, die: u32) -> bool {
        let Some(slc) = &self.config.slc else { return false };
        let eviction = slc.eviction;
        if !matches!(self.dies[die as usize].work, Work::Idle) || self.cache.waiting() > 0 {
            return false;
        }
        if !self.dies[die as usize].collector.is_active() {
            let Some(victim) = self.ftl.pick_slc(die, eviction) else { return false };
            self.take_victim(die, victim);
        }
        self.fold_step(die)
    }

    fn fold_step(&mut self, die: u32) -> bool {
        let collector = &self.dies[die as usize].collector;
        if collector.gathered.len() >= self.ftl.shape.unit as usize {
            return self.program_gathered(die);
        }
        if collector.victim != NO_BLOCK && self.read_victim(die) {
            return true;
        }
        if let Some(block) = self.emptied(die) {
            self.begin_erase(die, block);
            return true;
        }
        // The victim's last pages wait for the next victim's to fill the unit: padding would use up blocks for nothing.
        let eviction = self.config.slc.as_ref().map(|slc| slc.eviction);
        match eviction.and_then(|eviction| self.ftl.pick_slc(die, eviction)) {
            Some(victim) => {
                self.take_victim(die, victim);
                self.fold_step(die)
            }
            None => false,
        }
    }
}

/// Collection in bursts.
impl Ssd {
    /// Goes on with a die's burst, or begins one if it is time; false if there is nothing to collect.
    fn burst(&mut self, die: u32) -> bool {
        let was_stalled = self.dies[die as usize].stalled;
        let is_short = self.ftl.free(die) <= self.reserve();
        let goes_on = (was_stalled || is_short || self.may_collect(die)) && self.collect(die, is_short);
        self.dies[die as usize].stalled = goes_on;
        if goes_on && !was_stalled && is_short {
            self.call_others(die);
        }
        goes_on
    }

    /// Whether a die that is not short collects all the same.
    fn may_collect(&self, die: u32) -> bool {
        let free = self.ftl.free(die);
        let is_called = self.dies[die as usize].called && free < self.config.gc.low;
        is_called || (self.quiet.is_long() && free < self.config.gc.high)
    }

    /// A die has begun a burst because it is short: if dies collect together, all others do too.
    fn call_others(&mut self, die: u32) {
        let together = self.config.gc.bursts.as_ref().is_some_and(|bursts| bursts.together);
        if !together || self.dies[die as usize].called {
            return;
        }
        let others = (0..self.dies.len() as u32).filter(|&other| other != die);
        for other in others {
            let state = &mut self.dies[other as usize];
            if !state.stalled && !state.called {
                state.called = true;
                self.wake(other);
            }
        }
    }

    /// A die has erased a block: the host gets its turn.
    pub(crate) fn stall_ends(&mut self, die: u32) {
        let state = &mut self.dies[die as usize];
        (state.stalled, state.called) = (false, false);
    }

    /// Has the drive look again later if it has nothing to do for the host now.
    pub(crate) fn may_be_quiet(&mut self) {
        if let Some(bursts) = &self.config.gc.bursts
            && self.outstanding == 0
        {
            self.events.push(self.now + bursts.idle, Stage::Quiet { commands: self.quiet.commands() });
        }
    }

    /// The idle time is over since the command of that number was the newest.
    pub(crate) fn quiet_for_long(&mut self, commands: u64) {
        if self.quiet.lasted(commands) {
            (0..self.dies.len() as u32).for_each(|die| self.wake(die));
        }
    }
}
