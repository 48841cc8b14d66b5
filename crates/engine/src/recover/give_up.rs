//! What is lost is given up: by force, and only what may be concerned.

use std::rc::Rc;

use cygnus_format::MapEntry;
use cygnus_types::BLOCK;

use crate::map::l2p::MAX_VOLUME_BLOCKS;
use crate::reactor::Reactor;
use crate::recover::gone::LostBlocks;
use crate::recover::lost::{Lost, volume_names};
use crate::recover::replay::Replayed;

impl Reactor {
    /// Puts all volumes in doubt: what is not in their maps is not known to be zeros.
    pub(crate) fn doubt_all(&self) {
        self.shared.volumes().iter().for_each(|volume| volume.set_in_doubt());
        self.home().state.borrow_mut().volumes.iter_mut().for_each(|volume| volume.in_doubt = true);
    }

    /// Clears the places of headers that are given up. Nobody could tell later openings that they are of no account.
    pub(crate) async fn clear_spoiled(self: &Rc<Self>, lost: &Lost) {
        let mut writes = Vec::new();
        for place in lost.spoiled.iter().map(|copy| copy.place) {
            let (member, _) = self.shared.member(place.group, place.column);
            let Some(dev) = self.device_in_service(member) else { continue };
            let offset = self.shared.layout.geometry().device_offset(place.segment.0, place.row);
            let zeros = self.rt.alloc(BLOCK).full();
            zeros.zero(0..BLOCK);
            self.shared.members[member.index()].mark_dirty();
            writes.push((member, self.rt.write(dev, offset, zeros)));
        }
        for (member, write) in writes {
            if let Err(error) = write.await {
                // It is looked at again by the next opening after a crash.
                let name = self.shared.members[member.index()].name();
                self.shared.log(format!("{name}: clearing a spoiled header failed: {error}"));
            }
        }
        for seg in lost.segments_of_spoiled(self) {
            self.shared.segments.drop_rescue(seg);
        }
    }

    /// Gives up the blocks of which only the maps know that they were there; says whether there are any.
    pub(crate) fn give_up_untold(&self, given_up: &LostBlocks) -> bool {
        let mut dropped = 0;
        for volume in self.shared.volumes() {
            let mut untold = Vec::new();
            volume.map.for_each_mapped(MAX_VOLUME_BLOCKS, |lba, entry| {
                if self.shared.layout.locate(entry.pba()).is_some_and(|place| given_up.is_untold(&place)) {
                    untold.push(lba);
                }
            });
            dropped += untold.len();
            for lba in untold {
                volume.map.clear(lba);
            }
        }
        if dropped == 0 {
            return false;
        }
        self.doubt_all();
        self.shared.log(format!(
            "open: by force: {dropped} blocks of the volumes {} are given up: no header tells of them",
            volume_names(self)
        ));
        true
    }

    /// Marks blocks that nobody has as lost in the maps, which pointed to where they were: their segments can be cleaned like any
    /// other. Until a checkpoint says the same these stay, as a recovery that comes before that reads them again.
    pub(crate) fn mark_lost(&self, lost: &LostBlocks) {
        let shared = &self.shared;
        // The next checkpoint's cut lies behind this, that of the one before does not.
        let marked = shared.stripes.next() - 1;
        for volume in shared.volumes() {
            let mut gone = Vec::new();
            volume.map.for_each_mapped(MAX_VOLUME_BLOCKS, |lba, entry| {
                if lost.contains(&self.place(entry)) {
                    gone.push((lba, entry));
                }
            });
            for (lba, entry) in gone {
                volume.map.swap(lba, MapEntry::LOST);
                shared.entry_replaced(&volume, entry, true);
                shared.segments.note_discard(shared.segments.of(entry.pba()), marked);
            }
        }
    }

    /// Gives up all that may be concerned by what is lost: every block that was not surely written after it.
    pub(crate) fn give_up_lost(&self, replayed: &mut Replayed) {
        self.doubt_all();
        let (mut kept, mut dropped) = (0, 0);
        for volume in self.shared.volumes() {
            let mut concerned = Vec::new();
            volume.map.for_each_mapped(MAX_VOLUME_BLOCKS, |lba, _| match replayed.newer.contains(&(volume.id, lba)) {
                true => kept += 1,
                false => concerned.push(lba),
            });
            dropped += concerned.len();
            for lba in concerned {
                volume.map.clear(lba);
            }
        }
        replayed.rescues.retain(|rescue| {
            let stays = replayed.newer.contains(&(rescue.volume, rescue.lba));
            if !stays {
                self.shared.segments.drop_rescue(rescue.from);
            }
            stays
        });
        // They stay as they are until a checkpoint has taken note.
        for seg in replayed.lost.segments_of_spoiled(self) {
            self.shared.segments.add_rescue(seg);
        }
        for what in replayed.lost.describe(self) {
            self.shared.log(format!("open: by force without: {what}"));
        }
        self.shared.log(format!(
            "open: by force: {dropped} blocks of the volumes {} are given up, and what was never written is unreadable \
             too, until it is written or discarded; {kept} blocks are surely newer than what is lost",
            volume_names(self)
        ));
    }
}
