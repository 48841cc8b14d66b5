//! What a die of a page-mapped drive writes: host data, relocated data, and the balance between the two.

use crate::config::Folding;
use crate::die::Work;
use crate::ftl::NO_BLOCK;
use crate::state::Ssd;

/// Debts are kept in this fraction of a page.
const DEBT_UNIT: i64 = 1024;

impl Ssd {
    /// Starts the next program or relocation of a die; false if there is none.
    pub(crate) fn page_work(&mut self, die: u32) -> bool {
        let free = self.ftl.free(die);
        let in_debt = free < self.config.gc.low && self.dies[die as usize].collector.debt > 0;
        let is_short = self.is_short(die);
        if (in_debt || is_short) && self.collect_step(die, is_short) {
            return true;
        }
        if self.program_host(die) {
            return true;
        }
        if self.evict_slc(die) {
            return true;
        }
        // Nothing for the host to do here: idle time.
        if free < self.config.gc.high && self.cache.waiting() < self.ftl.shape.unit {
            return self.collect_step(die, false);
        }
        self.fold_slc(die)
    }

    /// Whether so few blocks are free that collection goes first.
    pub(crate) fn is_short(&self, die: u32) -> bool {
        self.ftl.free(die) <= self.reserve()
    }

    /// One step of collection: a sense, a program or an erase. `press`: do not wait for a full unit.
    pub(crate) fn collect_step(&mut self, die: u32, press: bool) -> bool {
        loop {
            self.dies[die as usize].collector.drop_stale(&self.ftl);
            if self.dies[die as usize].collector.gathered.len() >= self.ftl.shape.unit as usize {
                return self.program_gathered(die);
            }
            if self.victim(die).is_none() {
                return press && self.program_gathered(die);
            }
            if self.read_victim(die) || self.erase_emptied(die) {
                return true;
            }
        }
    }

    /// The block being emptied, or one chosen now.
    fn victim(&mut self, die: u32) -> Option<u32> {
        let collector = &mut self.dies[die as usize].collector;
        if let Some(victim) = collector.victim() {
            return Some(victim);
        }
        let gc = &self.config.gc;
        let (victim, for_wear) = self.ftl.pick_victim(die, gc.policy, gc.wear_spread)?;
        self.counters.wear_moves += u64::from(for_wear);
        collector.take_victim(victim);
        Some(victim)
    }

    /// Senses the victim's next row with valid pages; if there is none, the victim is drained.
    fn read_victim(&mut self, die: u32) -> bool {
        let collector = &mut self.dies[die as usize].collector;
        let Some(victim) = collector.victim() else { return false };
        let Some(pages) = collector.next_row(&self.ftl) else { return false };
        self.counters.gc_reads += u64::from(pages);
        self.begin_gc_sense(die, pages, self.ftl.block(victim).slc);
        true
    }

    /// Programs a unit of gathered pages; false if there are none.
    fn program_gathered(&mut self, die: u32) -> bool {
        self.dies[die as usize].collector.drop_stale(&self.ftl);
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
            if let Some(map) = &mut self.map {
                map.relocated(lpn, &mut self.clock, &mut self.counters);
            }
            pages += 1;
        }
        self.counters.programmed_gc += u64::from(pages);
        self.dies[die as usize].collector.debt -= i64::from(pages) * DEBT_UNIT;
        self.end_unit(die, stream, block, pages);
        true
    }

    /// Relocated pages share the host's blocks only if asked to, and never in the SLC buffer.
    fn gc_stream(&self) -> usize {
        let is_apart = self.config.gc.separate || self.config.slc.is_some();
        if is_apart { self.ftl.shape.streams as usize } else { 0 }
    }

    /// The open block of a stream, opened if need be and allowed: host data must leave the reserve alone.
    fn open_block(&mut self, die: u32, stream: usize, for_host: bool) -> Option<u32> {
        let open = self.dies[die as usize].open[stream];
        if open != NO_BLOCK {
            return Some(open);
        }
        let free = self.ftl.free(die);
        let slc = for_host && self.wants_slc(die);
        if for_host && !slc && self.can_evict_slc(die) {
            return None;
        }
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
    pub(crate) fn program_host(&mut self, die: u32) -> bool {
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

    /// Host data of `unit` pages went to the die: the collector owes the relocations that win the space back.
    fn owe(&mut self, die: u32, unit: u32) {
        if self.config.gc.bursts.is_some() || self.ftl.free(die) >= self.config.gc.low {
            self.dies[die as usize].collector.debt = 0;
            return;
        }
        let Some(victim) = self.victim(die) else { return };
        // What the victim still holds, against what its erase will give.
        let valid = i64::from(self.ftl.block(victim).valid);
        let gain = (i64::from(self.ftl.shape.pages_per_block) - valid).max(1);
        // At least something, so that a victim without valid pages is taken at once; and bounded, because a victim taken
        // for wear gains nothing and must not stop the host for long.
        let owed = i64::from(unit) * valid * DEBT_UNIT / gain.max(valid / 16 + 1);
        self.dies[die as usize].collector.debt += owed.max(1);
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
    pub(crate) fn fold_slc(&mut self, die: u32) -> bool {
        let Some(slc) = &self.config.slc else { return false };
        let eviction = slc.eviction;
        if slc.folding != Folding::WhenIdle
            || !matches!(self.dies[die as usize].work, Work::Idle)
            || self.cache.waiting() > 0
        {
            return false;
        }
        if !self.dies[die as usize].collector.is_active() {
            let Some(victim) = self.ftl.pick_slc(die, eviction) else { return false };
            self.dies[die as usize].collector.take_victim(victim);
        }
        self.fold_step(die)
    }

    fn fold_step(&mut self, die: u32) -> bool {
        let collector = &self.dies[die as usize].collector;
        if collector.gathered.len() >= self.ftl.shape.unit as usize {
            return self.program_gathered(die);
        }
        if self.read_victim(die) || self.erase_emptied(die) {
            return true;
        }
        // The victim's last pages wait for the next victim's to fill the unit: padding would use up blocks for nothing.
        let eviction = self.config.slc.as_ref().map(|slc| slc.eviction);
        match eviction.and_then(|eviction| self.ftl.pick_slc(die, eviction)) {
            Some(victim) => {
                self.dies[die as usize].collector.take_victim(victim);
                self.fold_step(die)
            }
            None => false,
        }
    }

    /// Makes room in a full SLC buffer, where that is how it is folded: one block as a whole.
    pub(crate) fn evict_slc(&mut self, die: u32) -> bool {
        if !self.can_evict_slc(die) || !self.is_slc_full(die) {
            return false;
        }
        self.dies[die as usize].collector.drop_stale(&self.ftl);
        if !self.dies[die as usize].collector.is_active() && !self.begin_eviction(die) {
            return false;
        }
        if self.dies[die as usize].collector.gathered.len() >= self.ftl.shape.unit as usize {
            return self.program_gathered(die);
        }
        // Host data waits, so the victim's last pages do not wait for another victim's to fill the unit.
        self.read_victim(die) || self.erase_emptied(die) || self.program_gathered(die)
    }

    fn begin_eviction(&mut self, die: u32) -> bool {
        let eviction = self.config.slc.as_ref().map(|slc| slc.eviction);
        let Some(victim) = eviction.and_then(|eviction| self.ftl.pick_slc(die, eviction)) else { return false };
        // What it holds goes to blocks that collection needs.
        if self.is_short(die) && self.ftl.block(victim).valid > 0 {
            self.ftl.spare_victim(victim);
            return false;
        }
        self.dies[die as usize].collector.take_victim(victim);
        true
    }

    /// Whether host data waits for room in the SLC buffer rather than pass it by: some SLC block of the die is not open, so it is
    /// being emptied or can be.
    fn can_evict_slc(&self, die: u32) -> bool {
        let waits = self.config.slc.as_ref().is_some_and(|slc| slc.folding == Folding::WhenFull);
        let open = self.dies[die as usize].open.iter().filter(|&&block| block != NO_BLOCK && self.ftl.block(block).slc);
        waits && self.ftl.slc_in_use(die) > open.count() as u32
    }

    /// Whether some stream of host data has no SLC block on the die, and there is none left for it.
    fn is_slc_full(&self, die: u32) -> bool {
        let streams = &self.dies[die as usize].open[..self.ftl.shape.streams as usize];
        self.ftl.slc_in_use(die) >= self.ftl.shape.slc_blocks && streams.contains(&NO_BLOCK)
    }
}
