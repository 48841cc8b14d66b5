//! What is lost is given up: by force, and only what may be concerned.

use cygnus_format::MapEntry;
use cygnus_types::BLOCK;

use crate::reactor::Reactor;
use crate::recover::gone::LostBlocks;
use crate::recover::lost::{Lost, volume_names};
use crate::recover::replay::Replayed;

/// Gives up what is lost: see the module's text.
pub(crate) struct GivingUp<'a> {
    reactor: &'a Reactor,
}

impl<'a> GivingUp<'a> {
    pub(crate) fn of(reactor: &'a Reactor) -> Self {
        Self { reactor }
    }

    /// Puts all volumes in doubt: what is not in their maps is not known to be zeros.
    pub(crate) fn doubt_all(&self) {
        self.reactor.shared.volumes().iter().for_each(|volume| volume.controller.set_in_doubt());
        self.reactor.home().state.borrow_mut().volumes.iter_mut().for_each(|volume| volume.in_doubt = true);
    }

    /// Clears the places of headers that are given up. Nobody could tell later openings that they are of no account.
    pub(crate) async fn clear_spoiled(&self, lost: &Lost) {
        let mut writes = Vec::new();
        for place in lost.spoiled.iter().map(|copy| copy.place) {
            let (member, _) = self.reactor.shared.member(place.group, place.column);
            let Some(dev) = self.reactor.device_in_service(member) else { continue };
            let offset = self.reactor.shared.layout.geometry().device_offset(place.segment.0, place.row);
            let zeros = self.reactor.rt.alloc(BLOCK).full();
            zeros.zero(0..BLOCK);
            self.reactor.shared.members[member.index()].mark_dirty();
            writes.push((member, self.reactor.rt.write(dev, offset, zeros)));
        }
        for (member, write) in writes {
            if let Err(error) = write.await {
                // It is looked at again by the next opening after a crash.
                let name = self.reactor.shared.members[member.index()].name();
                self.reactor.shared.log(format!("{name}: clearing a spoiled header failed: {error}"));
            }
        }
        for seg in lost.segments_of_spoiled(self.reactor) {
            self.reactor.shared.segments.drop_rescue(seg);
        }
    }

    /// Gives up the blocks of which only the maps know that they were there; says whether there are any.
    pub(crate) fn give_up_untold(&self, given_up: &LostBlocks) -> bool {
        // The usual opening walks no map.
        if !given_up.has_any_untold() {
            return false;
        }
        let mut dropped = 0;
        for volume in self.reactor.shared.volumes() {
            let is_untold = |entry: MapEntry| {
                self.reactor.shared.layout.locate(entry.pba()).is_some_and(|place| given_up.is_untold(&place))
            };
            dropped += self.reactor.shared.controllers.give_up(&volume.controller, |_, entry| is_untold(entry)).len();
        }
        if dropped == 0 {
            return false;
        }
        self.doubt_all();
        self.reactor.shared.log(format!(
            "open: by force: {dropped} blocks of the volumes {} are given up: no header tells of them",
            volume_names(self.reactor)
        ));
        true
    }

    /// Marks blocks that nobody has as lost in the maps, which pointed to where they were: their segments can be cleaned like any
    /// other. Until a checkpoint says the same these stay, as a recovery that comes before that reads them again.
    pub(crate) fn mark_lost(&self, lost: &LostBlocks) {
        let shared = &self.reactor.shared;
        // The next checkpoint's cut lies behind this, that of the one before does not.
        let marked = shared.stripes.next() - 1;
        for volume in shared.volumes() {
            let mut gone = Vec::new();
            volume.controller.for_each_mapped(|lba, entry| {
                if lost.contains(&self.reactor.place(entry)) {
                    gone.push((lba, entry));
                }
            });
            for (lba, entry) in gone {
                shared.controllers.lose(&volume.controller, lba);
                shared.segments.note_discard(shared.segments.of(entry.pba()), marked);
            }
        }
    }

    /// Gives up all that may be concerned by what is lost: every block that was not surely written after it.
    pub(crate) fn give_up_lost(&self, replayed: &mut Replayed) {
        self.doubt_all();
        let (mut kept, mut dropped) = (0, 0);
        for volume in self.reactor.shared.volumes() {
            let concerned = self.reactor.shared.controllers.give_up(&volume.controller, |lba, _| {
                let is_newer = replayed.newer.contains(&(volume.id, lba));
                kept += u64::from(is_newer);
                !is_newer
            });
            dropped += concerned.len();
            self.reactor.shared.controllers.forget_zeros(&volume.controller);
        }
        replayed.rescues.retain(|rescue| {
            let stays = replayed.newer.contains(&(rescue.volume, rescue.lba));
            if !stays {
                self.reactor.shared.segments.drop_rescue(rescue.from);
            }
            stays
        });
        // They stay as they are until a checkpoint has taken note.
        for seg in replayed.lost.segments_of_spoiled(self.reactor) {
            self.reactor.shared.segments.add_rescue(seg);
        }
        for what in replayed.lost.describe(self.reactor) {
            self.reactor.shared.log(format!("open: by force without: {what}"));
        }
        self.reactor.shared.log(format!(
            "open: by force: {dropped} blocks of the volumes {} are given up, and what was never written is unreadable \
             too, until it is written or discarded; {kept} blocks are surely newer than what is lost",
            volume_names(self.reactor)
        ));
    }
}
