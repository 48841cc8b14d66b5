//! Host reads: from pages to senses of dies.

use crate::device::Command;
use crate::die::Piece;
use crate::ftl::Place;
use crate::state::Ssd;

impl Ssd {
    /// Splits what is to be read into senses: neighbouring pages of one row of a block share one.
    pub(crate) fn sense_range(&mut self, at: u32, lba: u32, pages: u32) {
        let row = self.ftl.shape.row;
        let mut pieces = 0;
        // The sense being put together: block, row in it, pages.
        let mut sense: Option<(u32, u32, u16)> = None;
        for lpn in lba..lba + pages {
            let Place::Flash(ppn) = self.ftl.place(lpn) else {
                self.counters.reads_without_flash += 1;
                continue;
            };
            if self.ftl.is_unprogrammed(ppn) {
                self.counters.reads_without_flash += 1;
                continue;
            }
            let block = self.ftl.block_of(ppn);
            let at_row = (ppn - self.ftl.first_page(block)) / row;
            match &mut sense {
                Some((b, r, n)) if (*b, *r) == (block, at_row) => *n += 1,
                _ => {
                    if let Some(ready) = sense.replace((block, at_row, 1)) {
                        self.queue_sense(at, ready);
                    }
                    pieces += 1;
                }
            }
        }
        // Set before the last sense is queued: nothing finishes within this event.
        self.transit_mut(at).pieces = pieces;
        match sense {
            Some(ready) => self.queue_sense(at, ready),
            None => self.read_to_memory(at),
        }
    }

    fn queue_sense(&mut self, at: u32, (block, _, pages): (u32, u32, u16)) {
        let die = self.ftl.die_of(block);
        let slc = self.ftl.block(block).slc;
        // A few bytes per page are not worth a transfer of their own.
        let pages = if matches!(self.transits[at as usize].command, Command::ReadOob { .. }) { 0 } else { pages };
        self.read_arrives(die, Piece { transit: at, pages, slc });
    }

    /// Pages of one sense of a read came over the channel.
    pub(crate) fn piece_done(&mut self, at: u32) {
        let transit = self.transit_mut(at);
        transit.pieces -= 1;
        if transit.pieces == 0 {
            self.read_to_memory(at);
        }
    }

    /// All that was to be read is in the controller.
    fn read_to_memory(&mut self, at: u32) {
        match self.transits[at as usize].command {
            Command::Convert(convert) => {
                let xor = self.xor.as_mut().expect("conversions are refused without an engine");
                xor.compute(at, convert, &mut self.clock);
            }
            _ => self.link_up(at),
        }
    }
}
