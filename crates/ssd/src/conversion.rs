//! Conversions: chunks are read, the engine combines them, the result goes through the cache, and the chunks are trimmed if
//! they do not stay.

use crate::device::Convert;
use crate::state::Ssd;
use crate::xor::Xor;

impl Ssd {
    fn xor(&mut self) -> &mut Xor {
        self.xor.as_mut().expect("conversions are refused without an engine")
    }

    /// A conversion has passed the firmware.
    pub(crate) fn begin_conversion(&mut self, at: u32, convert: Convert) {
        self.xor().wait_for_room(at, convert);
        self.read_operands();
    }

    /// Lets conversions into the buffer, in order.
    fn read_operands(&mut self) {
        while let Some(at) = self.xor().let_in() {
            let transit = self.transits[at as usize];
            self.sense_range(at, transit.lba, transit.pages);
        }
    }

    /// The engine is done with its first command: the result waits for the cache.
    pub(crate) fn xor_done(&mut self) {
        let xor = self.xor.as_mut().expect("it was at work");
        let (at, convert) = xor.computed(&mut self.clock);
        let transit = self.transit_mut(at);
        (transit.lba, transit.pages) = (convert.destination as u32, convert.chunk);
        self.admitting.push_back((at, convert.chunk));
    }

    /// The result is durable.
    pub(crate) fn end_conversion(&mut self, at: u32, convert: Convert) {
        self.counters.conversions += 1;
        self.xor().leave(&convert);
        if !convert.keeps {
            self.forget_range(convert.source as u32, convert.source_blocks() as u32);
        }
        self.finish_command(at);
        self.read_operands();
    }
}
