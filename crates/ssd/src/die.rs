//! Dies and channels: one operation or transfer at a time each.

use std::collections::VecDeque;

use cygnus_types::Nanos;

use crate::ftl::NO_BLOCK;
use crate::gc::Collector;
use crate::ssd::{Ssd, Stage, transfer_time};

/// A sense for a host read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    pub(crate) transit: u32,
    pub(crate) pages: u16,
    pub(crate) slc: bool,
}

/// What a die is doing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Work {
    #[default]
    Idle,
    /// Sensing for the host.
    Sense(Piece),
    /// Sensing for the collector, then waiting for the channel.
    GcSense {
        pages: u32,
    },
    GcOut,
    /// Receiving a unit, then programming it.
    ProgramIn {
        block: u32,
    },
    Program {
        block: u32,
    },
    Erase {
        block: u32,
    },
}

/// A die: its work, what waits for it, and its open blocks.
#[derive(Clone, Debug)]
pub(crate) struct Die {
    pub(crate) work: Work,
    /// Tells the event of the work from that of one suspended meanwhile.
    pub(crate) ticket: u32,
    ends: Nanos,
    reads: VecDeque<Piece>,
    pub(crate) suspended: Option<(Work, Nanos)>,
    /// How often the work, or what is suspended, has been.
    suspensions: u32,
    is_listed_idle: bool,
    /// Cache slots in the program under way.
    pub(crate) slots: Vec<u32>,
    /// Open blocks: one per stream of host data, then one for relocated data.
    pub(crate) open: Vec<u32>,
    pub(crate) collector: Collector,
    /// Whether it empties a victim and does nothing else until that is erased.
    pub(crate) stalled: bool,
    /// Whether another die's shortage made it collect too.
    pub(crate) called: bool,
}

impl Die {
    /// An idle die with room for `open_blocks` open blocks.
    pub(crate) fn new(open_blocks: u32) -> Self {
        Self { open: vec![NO_BLOCK; open_blocks as usize], ..Self::default() }
    }
}

impl Default for Die {
    fn default() -> Self {
        Self {
            work: Work::Idle,
            ticket: 0,
            ends: Nanos::ZERO,
            reads: VecDeque::new(),
            suspended: None,
            suspensions: 0,
            // A new drive lists all its dies.
            is_listed_idle: true,
            slots: Vec::new(),
            open: Vec::new(),
            collector: Collector::default(),
            stalled: false,
            called: false,
        }
    }
}

/// A transfer over a channel.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Transfer {
    Read(Piece),
    Gc { die: u32, pages: u32 },
    Program { die: u32, pages: u32 },
}

/// Transfers waiting; the first is under way.
#[derive(Clone, Debug, Default)]
pub(crate) struct Channel {
    queue: VecDeque<Transfer>,
}

impl Channel {
    /// Forgets all transfers.
    pub(crate) fn clear(&mut self) {
        self.queue.clear();
    }
}

impl Ssd {
    fn start(&mut self, die: u32, work: Work, takes: Nanos) {
        let takes = self.stretched(takes);
        self.go_on(die, work, takes);
    }

    fn go_on(&mut self, die: u32, work: Work, takes: Nanos) {
        let ends = self.now + takes;
        let state = &mut self.dies[die as usize];
        state.ticket = state.ticket.wrapping_add(1);
        (state.work, state.ends) = (work, ends);
        self.events.push(ends, Stage::Die { die: die as u16, ticket: state.ticket });
    }

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
                    state.suspended = Some((state.work, state.ends - self.now + suspend.overhead));
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
            let flash_read = self.config.flash.t_read;
            let takes = if piece.slc { self.config.slc.as_ref().map_or(flash_read, |s| s.t_read) } else { flash_read };
            return self.start(die, Work::Sense(piece), takes);
        }
        if let Some((work, left)) = state.suspended.take() {
            return self.go_on(die, work, left);
        }
        state.suspensions = 0;
        if self.write_work(die) {
            return;
        }
        // A stall that found nothing more to do left reads behind.
        if self.dies[die as usize].reads.is_empty() { self.list_idle(die) } else { self.next_work(die) }
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

    pub(crate) fn die_done(&mut self, die: u32, ticket: u32) {
        let state = &self.dies[die as usize];
        if state.ticket != ticket {
            return;
        }
        match state.work {
            Work::Sense(piece) => {
                self.transfer(die, Transfer::Read(piece));
                // The data is in the die's register: the next operation overlaps the transfer.
                self.next_work(die);
            }
            Work::GcSense { pages } => {
                self.dies[die as usize].work = Work::GcOut;
                self.transfer(die, Transfer::Gc { die, pages });
            }
            Work::Program { block } => {
                self.ftl.programmed(block);
                let mut slots = std::mem::take(&mut self.dies[die as usize].slots);
                slots.drain(..).for_each(|slot| self.cache.release(slot));
                self.dies[die as usize].slots = slots;
                self.next_work(die);
                self.admit();
            }
            Work::Erase { block } => {
                self.ftl.erased(block);
                self.counters.erases += 1;
                self.stall_ends(die);
                self.next_work(die);
                self.feed_dies();
            }
            Work::Idle | Work::GcOut | Work::ProgramIn { .. } => unreachable!("no event ends {:?}", state.work),
        }
    }

    pub(crate) fn begin_gc_sense(&mut self, die: u32, pages: u32, slc: bool) {
        let flash_read = self.config.flash.t_read;
        let takes = if slc { self.config.slc.as_ref().map_or(flash_read, |s| s.t_read) } else { flash_read };
        self.start(die, Work::GcSense { pages }, takes);
    }

    pub(crate) fn begin_erase(&mut self, die: u32, block: u32) {
        self.start(die, Work::Erase { block }, self.config.flash.t_erase);
    }

    /// Sends a unit to a die, which programs it on arrival.
    pub(crate) fn begin_program(&mut self, die: u32, block: u32, pages: u32) {
        self.dies[die as usize].work = Work::ProgramIn { block };
        self.transfer(die, Transfer::Program { die, pages });
    }

    fn transfer(&mut self, die: u32, transfer: Transfer) {
        // Neighbouring dies are on different channels, so that round robin over dies spreads over channels.
        let channel = die % self.config.flash.channels;
        let queue = &mut self.channels[channel as usize].queue;
        queue.push_back(transfer);
        if queue.len() == 1 {
            self.begin_transfer(channel);
        }
    }

    fn begin_transfer(&mut self, channel: u32) {
        let pages = match self.channels[channel as usize].queue[0] {
            Transfer::Read(piece) => u32::from(piece.pages),
            Transfer::Gc { pages, .. } | Transfer::Program { pages, .. } => pages,
        };
        let takes = self.stretched(transfer_time(pages, self.config.flash.channel_rate));
        self.events.push(self.now + takes, Stage::Channel(channel as u16));
    }

    pub(crate) fn channel_done(&mut self, channel: u32) {
        let queue = &mut self.channels[channel as usize].queue;
        let transfer = queue.pop_front().expect("the channel moved something");
        if !queue.is_empty() {
            self.begin_transfer(channel);
        }
        match transfer {
            Transfer::Read(piece) => self.piece_done(piece.transit),
            Transfer::Gc { die, .. } => {
                self.gathered(die);
                self.next_work(die);
            }
            Transfer::Program { die, .. } => {
                let Work::ProgramIn { block } = self.dies[die as usize].work else {
                    unreachable!("a die that receives a unit does nothing else");
                };
                let slc = self.config.slc.as_ref().filter(|_| self.ftl.block(block).slc);
                let takes = slc.map_or(self.config.flash.t_program, |slc| slc.t_program);
                self.start(die, Work::Program { block }, takes);
                // Reads that came during the transfer need not wait for the program if it can be suspended.
                self.suspend_for_waiting(die);
            }
        }
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
