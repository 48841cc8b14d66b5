//! Blocks that a read has just brought, for those who would rather have them elsewhere: they are in memory anyway.

use std::rc::Rc;

use cygnus_format::{MapEntry, Place};
use cygnus_parity as parity;
use cygnus_runtime::BufSlice;
use cygnus_types::{BLOCK, Lba};

use crate::reactor::Reactor;
use crate::volume_state::VolumeState;

/// Blocks that a device has delivered, one behind the other, and that were what the map said.
pub(crate) struct Delivered<'a> {
    pub volume: &'a VolumeState,
    pub lba: Lba,
    pub place: Place,
    pub data: &'a BufSlice,
}

impl Delivered<'_> {
    /// How many there are.
    pub(crate) fn blocks(&self) -> usize {
        self.data.len() / BLOCK
    }

    /// The map's entry of the `nth` of them and its data, if it is where it was read, and what was read.
    pub(crate) fn still_there(&self, reactor: &Rc<Reactor>, nth: usize) -> Option<(MapEntry, &[u8])> {
        let data = self.data.part(nth * BLOCK..(nth + 1) * BLOCK);
        let entry = self.volume.controller.locate(self.lba.plus(nth as u64));
        let is_there = reactor.shared.lies_at(entry, &self.place, nth) && entry.matches(parity::checksum::crc32c(data));
        is_there.then_some((entry, data))
    }
}
