//! Operations of dies and transfers over channels: how each begins.

use cygnus_types::Nanos;

use crate::clock::Stage;
use crate::die::{Transfer, Work};
use crate::rate::transfer_time;
use crate::state::Ssd;

impl Ssd {
    pub(crate) fn start_work(&mut self, die: u32, work: Work, takes: Nanos) {
        let takes = self.clock.stretched(takes);
        self.resume_work(die, work, takes);
    }

    /// A die does, or goes on doing, what takes so long from now on.
    pub(crate) fn resume_work(&mut self, die: u32, work: Work, takes: Nanos) {
        let ends = self.clock.now + takes;
        let state = &mut self.dies[die as usize];
        state.ticket = state.ticket.wrapping_add(1);
        (state.work, state.ends) = (work, ends);
        self.clock.end_at(ends, Stage::Die { die: die as u16, ticket: state.ticket });
    }

    /// Time of one sense.
    pub(crate) fn sense_time(&self, slc: bool) -> Nanos {
        let flash_read = self.config.flash.t_read;
        if slc { self.config.slc.as_ref().map_or(flash_read, |slc| slc.t_read) } else { flash_read }
    }

    pub(crate) fn begin_gc_sense(&mut self, die: u32, pages: u32, slc: bool) {
        self.start_work(die, Work::GcSense { pages }, self.sense_time(slc));
    }

    /// Sends a unit to a die, which programs it on arrival.
    pub(crate) fn begin_program(&mut self, die: u32, block: u32, pages: u32) {
        self.dies[die as usize].work = Work::ProgramIn { block };
        self.begin_transfer(die, Transfer::Program { die, pages });
    }

    /// Starts the erase of a block of the die whose pages all live elsewhere by now; false if there is none.
    pub(crate) fn erase_emptied(&mut self, die: u32) -> bool {
        let Some(block) = self.dies[die as usize].collector.emptied(&self.ftl) else { return false };
        self.start_work(die, Work::Erase { block }, self.config.flash.t_erase);
        true
    }

    /// A block is no longer needed: the die erases it when it comes to it, after what it may be programming there.
    pub(crate) fn condemn_block(&mut self, die: u32, block: u32) {
        self.ftl.condemn(block);
        self.dies[die as usize].collector.erase_when_empty(block);
    }

    /// Moves a unit of a stream's pages from the cache to a block about to be programmed; gives how many there were.
    pub(crate) fn take_unit(&mut self, die: u32, block: u32, stream: u32) -> u32 {
        let unit = self.ftl.unit(block);
        let mut slots = std::mem::take(&mut self.dies[die as usize].slots);
        let ftl = &mut self.ftl;
        self.cache.take(stream, unit, |slot, lpn, transient| {
            let page = ftl.assign(block, lpn);
            if transient {
                ftl.mark_transient(page);
            }
            slots.push(slot);
        });
        let pages = slots.len() as u32;
        self.dies[die as usize].slots = slots;
        self.counters.programmed_host += u64::from(pages);
        pages
    }

    /// Puts a transfer from or to a die in the queue of its channel.
    pub(crate) fn begin_transfer(&mut self, die: u32, transfer: Transfer) {
        // Neighbouring dies are on different channels, so that round robin over dies spreads over channels.
        let channel = die % self.config.flash.channels;
        let queue = &mut self.channels[channel as usize].queue;
        queue.push_back(transfer);
        if queue.len() == 1 {
            self.move_first(channel);
        }
    }

    fn move_first(&mut self, channel: u32) {
        let pages = match self.channels[channel as usize].queue[0] {
            Transfer::Read(piece) => u32::from(piece.pages),
            Transfer::Gc { pages, .. } | Transfer::Program { pages, .. } => pages,
        };
        let takes = transfer_time(pages, self.config.flash.channel_rate);
        self.clock.begin(takes, Stage::Channel(channel as u16));
    }

    /// A channel is done with its first transfer: gives it, and begins the next.
    pub(crate) fn transferred(&mut self, channel: u32) -> Transfer {
        let queue = &mut self.channels[channel as usize].queue;
        let transfer = queue.pop_front().expect("the channel moved something");
        if !queue.is_empty() {
            self.move_first(channel);
        }
        transfer
    }
}
