//! The XOR engine: parity computed inside the drive, without host traffic (ScalaAFA, sections 4.2 and 5.3).
//!
//! A conversion takes room in the engine's buffer for its operands and its result, reads the operands from flash like any
//! read, waits for the engine, which combines for one command at a time, and writes the result through the cache. When
//! that is durable the operands are trimmed, and the command is complete: whatever cuts it short leaves either the
//! operands or the result.

use std::collections::VecDeque;

use cygnus_types::{BLOCK, Nanos};

use crate::clock::{Clock, Stage};
use crate::config::XorEngine;
use crate::device::{Convert, DeviceError};

/// The engine's queues, of transits and what they are to compute.
#[derive(Clone, Debug)]
pub(crate) struct Xor {
    config: XorEngine,
    /// Blocks of the buffer that are taken.
    taken: u64,
    /// Commands that wait for room in the buffer.
    outside: VecDeque<(u32, Convert)>,
    /// Commands whose operands are in the buffer; the first is being computed.
    ready: VecDeque<(u32, Convert)>,
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

    /// Why a conversion cannot be carried out; `inside` checks ranges.
    pub(crate) fn refuse(
        &self,
        convert: &Convert,
        inside: impl Fn(u64, u64) -> Result<(), DeviceError>,
    ) -> Result<(), DeviceError> {
        inside(convert.source, convert.source_blocks())?;
        inside(convert.destination, u64::from(convert.chunk))?;
        if convert.overlaps() {
            return Err(DeviceError::Overlap { from: convert.source, to: convert.destination });
        }
        let (blocks, limit) = (convert.buffer_blocks(), self.room());
        if blocks > limit { Err(DeviceError::NoRoomToConvert { blocks, limit }) } else { Ok(()) }
    }

    /// A conversion wants room in the buffer.
    pub(crate) fn wait_for_room(&mut self, at: u32, convert: Convert) {
        self.outside.push_back((at, convert));
    }

    /// Lets the first conversion that waits into the buffer if there is room; its operands are to be read.
    pub(crate) fn let_in(&mut self) -> Option<u32> {
        let (at, blocks) = self.outside.front().map(|(at, convert)| (*at, convert.buffer_blocks()))?;
        if self.taken + blocks > self.room() {
            return None;
        }
        self.outside.pop_front();
        self.taken += blocks;
        Some(at)
    }

    /// The operands of a conversion are in the buffer.
    pub(crate) fn compute(&mut self, at: u32, convert: Convert, clock: &mut Clock) {
        self.ready.push_back((at, convert));
        if self.ready.len() == 1 {
            self.begin(clock);
        }
    }

    fn begin(&self, clock: &mut Clock) {
        let bytes = self.ready[0].1.source_blocks() * BLOCK as u64;
        let XorEngine { latency, rate, .. } = self.config;
        let takes = latency + Nanos((u128::from(bytes) * 1_000_000_000).div_ceil(u128::from(rate)) as u64);
        clock.begin(takes, Stage::Xor);
    }

    /// The engine is done with its first command: gives it, and begins the next.
    pub(crate) fn computed(&mut self, clock: &mut Clock) -> (u32, Convert) {
        let first = self.ready.pop_front().expect("the engine worked on something");
        if !self.ready.is_empty() {
            self.begin(clock);
        }
        first
    }

    /// A conversion needs its room no longer.
    pub(crate) fn leave(&mut self, convert: &Convert) {
        self.taken -= convert.buffer_blocks();
    }

    /// Nothing is under way any more.
    pub(crate) fn clear(&mut self) {
        *self = Xor::new(self.config.clone());
    }
}
