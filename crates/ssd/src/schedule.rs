//! What a die does next: reads first, then what was suspended, then whatever is to be written or collected.

use crate::die::{Piece, Transfer, Work};
use crate::state::Ssd;

/// What the end of a die's operation means for the rest of the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Freed {
    Nothing,
    /// Slots of the cache.
    Slots,
    /// A block.
    Block,
}

impl Ssd {
    /// A read wants a die: it goes next, at once if the die can suspend what it does.
    pub(crate) fn read_arrives(&mut self, die: u32, piece: Piece) {
        let state = &mut self.dies[die as usize];
        state.reads.push_back(piece);
        if state.stalled {
            return;
        }
        match state.work {
            Work::Idle => self.next_work(die),
            Work::Program { .. } | Work::Erase { .. } => {
                let Some(suspend) = &self.config.suspend else { return };
                if state.suspensions < suspend.limit {
                    state.suspended = Some((state.work, state.ends - self.clock.now + suspend.overhead));
                    state.suspensions += 1;
                    self.counters.suspensions += 1;
                    self.next_work(die);
                }
            }
            _ => {}
        }
    }

    /// A die is free: reads first unless it is stalled, then what was suspended, then whatever is due.
    fn next_work(&mut self, die: u32) {
        let state = &mut self.dies[die as usize];
        state.work = Work::Idle;
        if !state.stalled
            && let Some(piece) = state.reads.pop_front()
        {
            return self.start_work(die, Work::Sense(piece), self.sense_time(piece.slc));
        }
        if let Some((work, left)) = state.suspended.take() {
            return self.resume_work(die, work, left);
        }
        state.suspensions = 0;
        if self.write_work(die) {
            return;
        }
        // A stall that found nothing more to do left reads behind.
        if self.dies[die as usize].reads.is_empty() { self.list_idle(die) } else { self.next_work(die) }
    }

    /// Starts the next program, erase or relocation of a die; false if there is none.
    fn write_work(&mut self, die: u32) -> bool {
        if self.erase_emptied(die) {
            return true;
        }
        if self.zones.is_some() {
            return self.program_zone(die);
        }
        if self.block_map.is_some() {
            return self.block_work(die);
        }
        if self.config.gc.bursts.is_some() {
            return self.burst(die) || self.program_host(die) || self.evict_slc(die) || self.fold_slc(die);
        }
        self.page_work(die)
    }

    /// Lets a die look for work if it has none.
    pub(crate) fn wake(&mut self, die: u32) {
        if matches!(self.dies[die as usize].work, Work::Idle) {
            self.next_work(die);
        }
    }

    fn list_idle(&mut self, die: u32) {
        let state = &mut self.dies[die as usize];
        if !state.is_listed_idle {
            state.is_listed_idle = true;
            self.idle.push_back(die);
        }
    }

    /// The operation of a die is over, unless it was suspended meanwhile.
    pub(crate) fn die_done(&mut self, die: u32, ticket: u32) -> Freed {
        let state = &self.dies[die as usize];
        if state.ticket != ticket {
            return Freed::Nothing;
        }
        match state.work {
            Work::Sense(piece) => {
                self.begin_transfer(die, Transfer::Read(piece));
                // The data is in the die's register: the next operation overlaps the transfer.
                self.next_work(die);
                Freed::Nothing
            }
            Work::GcSense { pages } => {
                self.dies[die as usize].work = Work::GcOut;
                self.begin_transfer(die, Transfer::Gc { die, pages });
                Freed::Nothing
            }
            Work::Program { block } => {
                self.ftl.programmed(block);
                let mut slots = std::mem::take(&mut self.dies[die as usize].slots);
                slots.drain(..).for_each(|slot| self.cache.release(slot));
                self.dies[die as usize].slots = slots;
                self.next_work(die);
                Freed::Slots
            }
            Work::Erase { block } => {
                self.ftl.erased(block);
                self.counters.erases += 1;
                self.stall_ends(die);
                self.next_work(die);
                Freed::Block
            }
            Work::Idle | Work::GcOut | Work::ProgramIn { .. } => unreachable!("no event ends {:?}", state.work),
        }
    }

    /// A channel is done with a transfer: gives the transit if that was of a host read.
    pub(crate) fn channel_done(&mut self, channel: u32) -> Option<u32> {
        match self.transferred(channel) {
            Transfer::Read(piece) => return Some(piece.transit),
            Transfer::Gc { die, .. } => {
                self.dies[die as usize].collector.row_arrived(&self.ftl);
                self.next_work(die);
            }
            Transfer::Program { die, .. } => {
                let Work::ProgramIn { block } = self.dies[die as usize].work else {
                    unreachable!("a die that receives a unit does nothing else");
                };
                let slc = self.config.slc.as_ref().filter(|_| self.ftl.block(block).slc);
                let takes = slc.map_or(self.config.flash.t_program, |slc| slc.t_program);
                self.start_work(die, Work::Program { block }, takes);
                // Reads that came during the transfer need not wait for the program if it can be suspended.
                self.suspend_for_waiting(die);
            }
        }
        None
    }

    fn suspend_for_waiting(&mut self, die: u32) {
        let state = &mut self.dies[die as usize];
        if self.config.suspend.is_some()
            && !state.stalled
            && let Some(piece) = state.reads.pop_back()
        {
            self.read_arrives(die, piece);
        }
    }
}

/// Collection in bursts.
impl Ssd {
    /// Goes on with a die's burst, or begins one if it is time; false if there is nothing to collect.
    fn burst(&mut self, die: u32) -> bool {
        let was_stalled = self.dies[die as usize].stalled;
        let is_short = self.is_short(die);
        let goes_on = (was_stalled || is_short || self.may_collect(die)) && self.collect_step(die, is_short);
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
    fn stall_ends(&mut self, die: u32) {
        let state = &mut self.dies[die as usize];
        (state.stalled, state.called) = (false, false);
    }

    /// The idle time is over since the command of that number was the newest.
    pub(crate) fn quiet_for_long(&mut self, commands: u64) {
        if self.quiet.lasted(commands) {
            (0..self.dies.len() as u32).for_each(|die| self.wake(die));
        }
    }
}
