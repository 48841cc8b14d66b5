//! Blocks that a read has just brought, for those who would rather have them elsewhere: they are in memory anyway.

use std::ops::Range;
use std::rc::Rc;

use cygnus_format::Place;
use cygnus_runtime::BufSlice;
use cygnus_types::{BLOCK, Lba};

use crate::lsa::{Publish, PublishPage};
use crate::reactor::Reactor;
use crate::read::page_check::{blocks_of, is_page};
use crate::volume_state::VolumeState;
use crate::write::lane::Lane;
use crate::write::summed::Summed;
use crate::write::writer::Appended;

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

    /// What of them moves as a whole: blocks, and pages of which all was delivered.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = Range<usize>> {
        let mut nth = 0;
        std::iter::from_fn(move || {
            let left = self.blocks().checked_sub(nth).filter(|&left| left > 0)?;
            let blocks = self.volume.controller.whole_page(self.lba.plus(nth as u64), left).unwrap_or(1);
            nth += blocks;
            Some(nth - blocks..nth)
        })
    }

    /// Writes a piece of them to a lane, at once, if the map still has it where it was read, and it is what was read.
    pub(crate) fn rehome(&self, reactor: &Rc<Reactor>, piece: Range<usize>, lane: Lane) -> Appended {
        let lba = self.lba.plus(piece.start as u64);
        let entry = self.volume.controller.locate(lba);
        if !reactor.shared.lies_at(entry, &self.place, piece.start) {
            return Appended::Changed;
        }
        let data = self.data.part(piece.start * BLOCK..piece.end * BLOCK);
        let mut writer = reactor.writer(lane).borrow_mut();
        if piece.len() == 1 {
            let block = Summed::of(data);
            let is_it = !entry.is_of_page() && entry.matches(block.crc());
            return match is_it {
                true => writer.append(reactor, self.volume, lba, block, Publish::Rehome(entry)),
                false => Appended::Changed,
            };
        }
        if !entry.is_of_page() || !is_page(entry, data) {
            return Appended::Changed;
        }
        let were = blocks_of(entry, piece.len());
        writer.append_whole(reactor, self.volume, lba, data, PublishPage::Rehome { were: &were[..piece.len()] })
    }
}
