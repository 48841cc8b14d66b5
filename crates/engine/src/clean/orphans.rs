//! Orphans: current blocks that no header names, as all copies of that have rotted away, or as there never was one: an opening that had
//! no room leaves blocks of open stripes where they were found (`recover/rescue.rs`). Only the maps tell of these.
//!
//! No cleaning that follows headers would find them, and after a crash that costs the checkpoint no recovery; so they move to a stripe
//! that names and protects them.

use std::rc::Rc;
use std::sync::Arc;

use cygnus_format::MapEntry;
use cygnus_types::{BLOCK, Lba};

use crate::clean::relocate::{Mover, Moving};
use crate::lsa::{MAX_VOLUME_BLOCKS, Publish};
use crate::reactor::Reactor;
use crate::space::segments::SegIx;
use crate::volume_state::VolumeState;
use crate::write::summed::Summed;
use crate::write::writer::Appended;

/// What becomes of an orphan.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Orphan {
    Moved,
    /// It was written or discarded meanwhile, there is no room, or the array stops.
    Stays,
    Unreadable,
}

/// What became of all that the maps show in a segment.
#[derive(Default)]
pub(crate) struct Outcome {
    pub moved: u64,
    pub unreadable: u64,
}

/// Moves orphans: see the module's text.
pub(crate) struct Orphans<'a> {
    reactor: &'a Rc<Reactor>,
}

impl<'a> Orphans<'a> {
    pub(crate) fn of(reactor: &'a Rc<Reactor>) -> Self {
        Self { reactor }
    }

    /// Moves all that the maps show in a segment whose stripes were gone through. All maps are looked through for that, piece by piece: a
    /// thing for rare cases.
    pub(crate) async fn move_out_of(&self, seg: SegIx, how: &Moving) -> Outcome {
        let mut outcome = Outcome::default();
        for (volume, lba) in self.within(seg).await {
            if self.reactor.is_ending() {
                break;
            }
            match self.move_one(&volume, lba, how).await {
                Orphan::Moved => outcome.moved += 1,
                Orphan::Unreadable => outcome.unreadable += 1,
                Orphan::Stays => {}
            }
        }
        outcome
    }

    /// Writes a block anew that only the map knows of.
    pub(crate) async fn move_one(&self, volume: &VolumeState, lba: Lba, how: &Moving) -> Orphan {
        let _look = self.reactor.looks.begin();
        let into = self.reactor.rt.alloc(BLOCK).full();
        let Ok(entry) = self.reactor.read_block(volume, lba, &into).await else { return Orphan::Unreadable };
        if !entry.is_mapped() {
            return Orphan::Stays;
        }
        let (from, publish) = (self.reactor.place(entry), Publish::IfStill(entry));
        let block = Summed::of(into.bytes());
        match Mover::of(self.reactor).append_moved(volume, lba, block, publish, from, how).await {
            Some(Appended::Done) => Orphan::Moved,
            _ => Orphan::Stays,
        }
    }

    /// What the maps show in a segment.
    async fn within(&self, seg: SegIx) -> Vec<(Arc<VolumeState>, Lba)> {
        let segments = &self.reactor.shared.segments;
        let (mut within, mut piece) = (Vec::new(), Vec::new());
        for volume in self.reactor.shared.volumes() {
            let mut from = Lba(0);
            while let Some(next) = volume.controller.next_known(from, Lba(MAX_VOLUME_BLOCKS), &mut piece) {
                let is_there = |(_, entry): &(Lba, MapEntry)| entry.is_mapped() && segments.of(entry.pba()) == seg;
                within.extend(piece.drain(..).filter(is_there).map(|(lba, _)| (volume.clone(), lba)));
                from = next;
                self.reactor.rt.yield_now().await;
            }
        }
        within
    }
}
