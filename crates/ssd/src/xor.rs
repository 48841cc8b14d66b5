//! The XOR engine: parity computed inside the drive, without host traffic (ScalaAFA, sections 4.2 and 5.3).
//!
//! A conversion takes room in the engine's buffer for its operands and its result, reads the operands from flash like any
//! read, waits for the engine, which combines for one command at a time, and writes the result through the cache. When
//! that is durable the operands are trimmed, and the command is complete: whatever cuts it short leaves either the
//! operands or the result.

use std::collections::VecDeque;

use cygnus_types::{BLOCK, Nanos};

use crate::config::XorEngine;
use crate::device::{Command, Convert, DeviceError};
use crate::ssd::{Ssd, Stage};

/// The engine's queues. All in blocks and transits.
#[derive(Clone, Debug)]
pub(crate) struct Xor {
    config: XorEngine,
    /// Blocks of the buffer that are taken.
    taken: u64,
    /// Commands that wait for room in the buffer.
    outside: VecDeque<u32>,
    /// Commands whose operands are in the buffer; the first is being computed.
    ready: VecDeque<u32>,
}

impl Convert {
    /// Blocks it reads.
    pub fn source_blocks(&self) -> u64 {
        u64::from(self.chunk) * u64::from(self.chunks)
    }

    /// Blocks of the drive's memory it takes: operands and result.
    fn buffer_blocks(&self) -> u64 {
        self.source_blocks() + u64::from(self.chunk)
    }

    fn overlaps(&self) -> bool {
        self.source < self.destination + u64::from(self.chunk) && self.destination < self.source + self.source_blocks()
    }
}

impl Xor {
    pub(crate) fn new(config: XorEngine) -> Xor {
        Xor { config, taken: 0, outside: VecDeque::new(), ready: VecDeque::new() }
    }

    fn room(&self) -> u64 {
        self.config.buffer / BLOCK as u64
    }

    /// Nothing is under way any more.
    pub(crate) fn clear(&mut self) {
        *self = Xor::new(self.config.clone());
    }
}

impl Ssd {
    fn xor(&mut self) -> &mut Xor {
        self.xor.as_mut().expect("conversions are refused without an engine")
    }

    fn operands(&self, at: u32) -> Convert {
        match self.transits[at as usize].command {
            Command::Convert(convert) => convert,
            other => unreachable!("{other:?} is no conversion"),
        }
    }

    /// Why a conversion cannot be carried out; `inside` checks ranges.
    pub(crate) fn refuse_convert(
        &self,
        convert: &Convert,
        inside: impl Fn(u64, u64) -> Result<(), DeviceError>,
    ) -> Result<(), DeviceError> {
        let Some(xor) = &self.xor else { return Err(DeviceError::Unsupported { command: "convert" }) };
        inside(convert.source, convert.source_blocks())?;
        inside(convert.destination, u64::from(convert.chunk))?;
        if convert.overlaps() {
            return Err(DeviceError::Overlap { from: convert.source, to: convert.destination });
        }
        let (blocks, limit) = (convert.buffer_blocks(), xor.room());
        if blocks > limit { Err(DeviceError::NoRoomToConvert { blocks, limit }) } else { Ok(()) }
    }

    /// A conversion has passed the firmware.
    pub(crate) fn convert(&mut self, at: u32) {
        self.xor().outside.push_back(at);
        self.read_operands();
    }

    /// Lets conversions into the buffer, in order.
    fn read_operands(&mut self) {
        while let Some(&at) = self.xor().outside.front() {
            let blocks = self.operands(at).buffer_blocks();
            if self.xor().taken + blocks > self.xor().room() {
                break;
            }
            self.xor().outside.pop_front();
            self.xor().taken += blocks;
            let transit = self.transits[at as usize];
            self.sense_range(at, transit.lba, transit.pages);
        }
    }

    /// The operands of a conversion are in the buffer.
    pub(crate) fn operands_read(&mut self, at: u32) {
        self.xor().ready.push_back(at);
        if self.xor().ready.len() == 1 {
            self.begin_xor();
        }
    }

    fn begin_xor(&mut self) {
        let at = self.xor().ready[0];
        let bytes = self.operands(at).source_blocks() * BLOCK as u64;
        let XorEngine { latency, rate, .. } = self.xor().config;
        let takes = latency + Nanos((u128::from(bytes) * 1_000_000_000).div_ceil(u128::from(rate)) as u64);
        let takes = self.stretched(takes);
        self.events.push(self.now + takes, Stage::Xor);
    }

    /// The engine is done with its first command: the result goes to the cache.
    pub(crate) fn xor_done(&mut self) {
        let at = self.xor().ready.pop_front().expect("the engine worked on something");
        if !self.xor().ready.is_empty() {
            self.begin_xor();
        }
        let convert = self.operands(at);
        let transit = self.transit_mut(at);
        (transit.lba, transit.pages) = (convert.destination as u32, convert.chunk);
        self.admitting.push_back((at, convert.chunk));
        self.admit();
    }

    /// The result is durable.
    pub(crate) fn converted(&mut self, at: u32) {
        let convert = self.operands(at);
        self.counters.conversions += 1;
        self.xor().taken -= convert.buffer_blocks();
        self.forget_range(convert.source as u32, convert.source_blocks() as u32);
        self.finish(at);
        self.read_operands();
        self.admit();
    }
}
