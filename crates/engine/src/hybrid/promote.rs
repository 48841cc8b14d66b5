//! Blocks of a hot range come to flash when a client's read has brought them from a disk. The paper reads them again for it, on
//! another thread; here they are in memory anyway, and a move costs its write.

use std::ops::Range;
use std::rc::Rc;

use cygnus_types::{Constraint, Lba, Medium};

use crate::counters::count;
use crate::hybrid::temperatures::Temperatures;
use crate::peers::ToHome;
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
}

impl<'a> Promoter<'a> {
    /// None where nothing of a volume is moved.
    #[inline]
    pub(crate) fn of(reactor: &'a Rc<Reactor>, volume: &VolumeState) -> Option<Self> {
        if volume.constraint != Constraint::Hybrid {
            return None;
        }
        Some(Self { reactor, temperatures: reactor.shared.temperatures.as_ref()? })
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
        if shared.medium(blocks.place.group) == Medium::Flash || !shared.held.has_medium(Medium::Flash) {
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
                self.asks_for_room();
                return;
            }
        }
    }

    fn asks_for_room(&self) {
        let reactor = self.reactor;
        if self.temperatures.lacks_room() {
            return;
        }
        match reactor.is_home() {
            true => reactor.home().flash_is_full.notify(),
            false => reactor.peers.tell_home(&reactor.rt, ToHome::FlashIsFull),
        }
    }

    /// Whether flash can take more that nobody bound to it.
    fn has_room(&self) -> bool {
        let shared = &self.reactor.shared;
        let may_write = !shared.is_stopped() && !self.reactor.hold.get() && shared.clogged() == 0;
        let is_free = shared.held.fill(Medium::Flash) < self.temperatures.rule.full_from;
        may_write && is_free && shared.admission.is_open_on(Medium::Flash)
    }

    fn promote(&self, blocks: &Delivered<'_>, piece: &Range<usize>) -> Appended {
        let lane = streams::lane_on(self.reactor, blocks.volume, Medium::Flash);
        let appended = blocks.rehome(self.reactor, piece.clone(), lane);
        if appended == Appended::Done {
            count(&self.reactor.shared.totals.promoted, piece.len() as u64);
        }
        appended
    }
}
