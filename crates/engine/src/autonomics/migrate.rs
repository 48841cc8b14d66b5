//! Naive migration: blocks are read for the move itself, after the client's read that led to it, and written anew elsewhere then. The
//! decision, its budget and the rest that blocks have are those of shadow cloning ([`crate::autonomics::rehome`]). What differs is the
//! second read, from where others are in the way, and the time until the data is there.

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use cygnus_format::Place;
use cygnus_policy::{Decision, Taken};
use cygnus_runtime::BufSlice;
use cygnus_types::{BLOCK, GroupId, Lba, Medium};

use crate::autonomics::rehome::Rehomer;
use crate::counters::count;
use crate::reactor::Reactor;
use crate::read::delivered::Delivered;
use crate::volume_state::VolumeState;

/// A decision to move blocks, and what its budget was charged.
pub(super) struct Decided {
    pub decision: Decision,
    pub taken: Taken,
    /// The medium that the blocks are on, and stay on.
    pub on: Medium,
    /// The group to which they go, if they do.
    pub to: Option<GroupId>,
}

/// Blocks on their way. What they need is owned: the client's request may be over before they are there.
struct Migrating {
    reactor: Rc<Reactor>,
    volume: Arc<VolumeState>,
    lba: Lba,
    place: Place,
    /// How many are read.
    blocks: usize,
    /// Those of them that move.
    pieces: Vec<Range<usize>>,
    decided: Decided,
}

impl Rehomer<'_> {
    /// Begins to read the blocks again that were just delivered, to move them then.
    pub(super) fn migrate(&self, blocks: &Delivered<'_>, decided: Decided) {
        let (now, all) = (self.reactor.rt.now(), blocks.blocks());
        // Before the blocks are asked whether they may: those that stay for this reason need no rest.
        if !self.sight.begins_migration(self.marks.rule.migrations) {
            count(&self.marks.counts.too_many, all as u64);
            return self.has_moved(&decided, all, 0);
        }
        let pieces: Vec<_> = blocks.pieces().filter(|piece| self.may_leave(blocks, piece, now)).collect();
        let Some(volume) = self.reactor.shared.volume(blocks.volume.id).filter(|_| !pieces.is_empty()) else {
            self.sight.ends_migration();
            return self.has_moved(&decided, all, 0);
        };
        let (reactor, &Delivered { lba, place, .. }) = (self.reactor.clone(), blocks);
        let migrating = Migrating { reactor, volume, lba, place, blocks: all, pieces, decided };
        self.reactor.rt.spawn(migrating.carry_out());
    }
}

impl Migrating {
    async fn carry_out(self) {
        // Nobody else gets the addresses while they are looked at.
        let _look = self.reactor.looks.begin();
        let moved = match self.read().await {
            Some(data) => self.write_anew(&data),
            None => 0,
        };
        let rehomer = self.rehomer();
        rehomer.sight.ends_migration();
        rehomer.has_moved(&self.decided, self.blocks, moved);
    }

    fn rehomer(&self) -> Rehomer<'_> {
        Rehomer::of(&self.reactor).expect("whoever began it is on this reactor, for as long as the array is open")
    }

    /// Reads the blocks from the device that has them, if they are still there. What cannot be read stays for scrubs to find.
    async fn read(&self) -> Option<BufSlice> {
        let Self { reactor, place, .. } = self;
        if self.volume.is_gone() || !self.pieces.iter().any(|piece| self.is_there(piece)) {
            return None;
        }
        let (member, _) = reactor.shared.member(place.group, place.column);
        let dev = reactor.device_holding(member, place.segment)?;
        let offset = reactor.shared.layout.geometry().device_offset(place.segment.0, place.row);
        let data = reactor.rt.alloc(self.blocks * BLOCK).full();
        count(&self.rehomer().marks.counts.read_to_move, self.blocks as u64);
        reactor.rt.read(dev, offset, data.slice(0..data.len())).await.ok()?;
        Some(data)
    }

    /// By what the map says, since the group of the place may have left before anybody looked.
    fn is_there(&self, piece: &Range<usize>) -> bool {
        let entry = self.volume.controller.locate(self.lba.plus(piece.start as u64));
        let place = Place { row: self.place.row + piece.start as u32, ..self.place };
        entry.is_mapped() && self.reactor.place(entry) == place
    }

    /// Writes what may still move, at once; says how many blocks did.
    fn write_anew(&self, data: &BufSlice) -> usize {
        let (rehomer, now) = (self.rehomer(), self.reactor.rt.now());
        // The target may be another one by now, or its group burdened.
        let Some(lane) =
            rehomer.placing().lane_to(self.decided.to, self.decided.on, now).filter(|_| !self.volume.is_gone())
        else {
            count(&rehomer.marks.counts.no_room, self.blocks as u64);
            return 0;
        };
        let blocks = Delivered { volume: &self.volume, lba: self.lba, place: self.place, data };
        let moves =
            |piece: &&Range<usize>| rehomer.may_write(&blocks, piece) && rehomer.write_anew(&blocks, piece, lane, now);
        self.pieces.iter().filter(moves).map(Range::len).sum()
    }
}
