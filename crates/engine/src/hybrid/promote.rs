//! Blocks of a hot range come to the faster of their volume's media when a client's read has brought them from a slower one. The paper reads them again for it, on
//! another thread; here they are in memory anyway, and a move costs its write.

use std::ops::Range;
use std::rc::Rc;

use cygnus_types::{Lba, Medium};

use crate::counters::count;
use crate::hybrid::room;
use crate::hybrid::temperatures::Temperatures;
use crate::reactor::Reactor;
use crate::read::delivered::Delivered;
use crate::volume_state::VolumeState;
use crate::write::streams;
use crate::write::writer::Appended;

/// Blocks that one read moves at most, some 60 us: the rest comes with later reads.
const MOST: usize = 64;

/// Moves what is hot: see the module's text.
pub(crate) struct Promoter<'a> {
    reactor: &'a Rc<Reactor>,
    temperatures: &'a Temperatures,
    /// Where what is hot goes.
    to: Medium,
}

impl<'a> Promoter<'a> {
    /// None where nothing of a volume is moved.
    #[inline]
    pub(crate) fn of(reactor: &'a Rc<Reactor>, volume: &VolumeState) -> Option<Self> {
        let tiers = volume.constraint.tiers()?;
        Some(Self { reactor, temperatures: reactor.shared.temperatures.as_ref()?, to: tiers.fast() })
    }

    /// A client reads so many blocks.
    pub(crate) fn is_read(&self, volume: &VolumeState, lba: Lba, blocks: u64) {
        self.temperatures.read(volume.id, lba, blocks, self.reactor.rt.now());
    }

    /// A client has discarded so many blocks.
    pub(crate) fn is_discarded(&self, volume: &VolumeState, lba: Lba, blocks: u64) {
        self.temperatures.discarded(volume.id, lba, blocks);
    }

    /// A device has delivered blocks.
    pub(crate) fn delivered(&self, blocks: &Delivered<'_>) {
        let shared = &self.reactor.shared;
        if !self.to.is_faster_than(shared.medium(blocks.place.group)) || !shared.held.has_medium(self.to) {
            return;
        }
        let is_hot = |nth: usize| self.temperatures.is_hot(blocks.volume.id, blocks.lba.plus(nth as u64));
        let mut moved = 0;
        for piece in blocks.pieces().filter(|piece| is_hot(piece.start)) {
            moved += piece.len();
            if moved > MOST {
                return;
            }
            if !self.has_room() || self.promote(blocks, &piece) == Appended::NoRoom {
                count(&shared.totals.not_promoted, 1);
                room::is_lacking(self.reactor, self.to);
                return;
            }
        }
    }

    /// Whether the faster medium can take more that nobody bound to it.
    fn has_room(&self) -> bool {
        let shared = &self.reactor.shared;
        let may_write = !shared.is_stopped() && !self.reactor.hold.get() && shared.clogged() == 0;
        let is_free = shared.held.fill(self.to) < self.temperatures.rule.full_from;
        may_write && is_free && shared.admission.is_open_on(self.to)
    }

    fn promote(&self, blocks: &Delivered<'_>, piece: &Range<usize>) -> Appended {
        let lane = streams::lane_on(self.reactor, blocks.volume, self.to);
        let appended = blocks.rehome(self.reactor, piece.clone(), lane);
        if appended == Appended::Done {
            count(&self.reactor.shared.totals.promoted, piece.len() as u64);
        }
        appended
    }
}
