//! Blocks that an opening has left where it found them, for want of room: in torn stripes, or in places of stripes that were never ended.
//! They have less redundancy than others, or none, so they move as soon as there is room.

use std::rc::Rc;

use cygnus_format::MapEntry;
use cygnus_types::{Lba, Nanos, VolumeId, counted};

use crate::clean::orphans::Orphans;
use crate::clean::relocate::Moving;
use crate::durable::flush::Flusher;
use crate::reactor::Reactor;

/// How often to try again.
const TRY_AGAIN: Nanos = Nanos::secs(1);

/// A block that stays where it was found.
pub(crate) struct Stay {
    pub volume: VolumeId,
    pub lba: Lba,
    pub at: MapEntry,
}

impl Stay {
    /// Whether it is there still.
    fn is_there(&self, reactor: &Reactor) -> bool {
        let volume = reactor.shared.volume(self.volume);
        volume.is_some_and(|volume| volume.controller.current_at(self.lba, self.at.pba()).is_some())
    }
}

/// Moves blocks until all have gone, be it because they were written anew or discarded, or the array ends.
pub(crate) async fn move_when_there_is_room(reactor: Rc<Reactor>, mut stays: Vec<Stay>) {
    let all = counted(stays.len(), "block");
    while !stays.is_empty() {
        let how = Moving::evacuating();
        for stay in &stays {
            if reactor.is_ending() {
                return;
            }
            let Some(volume) = reactor.shared.volume(stay.volume).filter(|_| stay.is_there(&reactor)) else { continue };
            Orphans::of(&reactor).move_one(&volume, stay.lba, &how).await;
        }
        stays.retain(|stay| stay.is_there(&reactor));
        if !stays.is_empty() {
            reactor.rt.sleep(TRY_AGAIN).await;
        }
    }
    if Flusher::of(&reactor).flush_everything().await.is_ok() {
        reactor
            .shared
            .log(format!("open: {all} of torn stripes that had no room have moved, and are as safe as others"));
    }
}
