//! What the cleaner does about segments that it cannot empty: it leaves them, and says so when nothing else gives room.

use std::rc::Rc;

use cygnus_types::{GroupId, counted};

use crate::clean::cleaner::Cleaner;
use crate::clean::emptied::Emptied;
use crate::clean::through::Unread;
use crate::peers::ToOwner;
use crate::reactor::Reactor;
use crate::space::segments::{SegIx, SegState};

impl Cleaner {
    /// Whether a victim of a group is looked through before anything is moved out of it: cleaning has met blocks that cannot be
    /// read; or a session before may have, and there is no room to move anything for nothing.
    pub(crate) fn is_suspect(&self, group: GroupId) -> bool {
        let reactor = self.reactor();
        if Emptied::of(reactor).is_evacuating() {
            return false;
        }
        let space = reactor.home().space.borrow();
        let is_short = || !space.has_room_for_writers(&reactor.shared);
        let has_erred = || {
            let errors = reactor.of_group(group).map(|member| member.errors(0));
            errors.into_iter().any(|errors| errors.read > 0 || errors.wrong > 0)
        };
        let damage = &reactor.home().cleaning.damage;
        damage.any() || damage.is_unknown() && has_erred() && is_short()
    }

    /// A victim stays as it is, since a block of it cannot be read.
    pub(crate) fn leave_damaged(&self, seg: SegIx, lost: Unread) {
        let reactor = self.reactor();
        let (group, segment) = reactor.shared.segments.locate(seg);
        reactor.shared.segments.set_state(seg, SegState::Damaged);
        reactor.home().cleaning.damage.leave(seg, lost, readable_columns(reactor, seg));
        let volume = reactor.shared.volume(lost.volume).map_or_else(|| lost.volume.to_string(), |of| of.name.clone());
        let text =
            format!("{group} {segment}: {} of volume {volume} cannot be read; the segment stays as it is", lost.lba);
        reactor.shared.log_repeated("damaged segment", &group.to_string(), text);
    }

    /// Takes up segments again that can be emptied by now; and lets writers in again when there is room.
    pub(crate) fn see_to_damage(&self) {
        let reactor = self.reactor();
        let damage = &reactor.home().cleaning.damage;
        if damage.any() {
            damage.look_again(&reactor.shared, |seg| readable_columns(reactor, seg));
        }
        let mut space = reactor.home().space.borrow_mut();
        if space.clogged && space.has_room_for_writers(&reactor.shared) {
            space.clogged = false;
            drop(space);
            damage.gives_room();
            if reactor.shared.clogged() > 0 {
                reactor.shared.set_clogged(0);
                reactor.shared.log("there is room for writes again");
            }
        }
    }

    /// Whether there is nothing to do before something has been discarded, or has changed for the better.
    pub(crate) fn is_to_rest(&self) -> bool {
        let reactor = self.reactor();
        let (home, space) = (reactor.home(), reactor.home().space.borrow());
        if !space.clogged {
            return false;
        }
        home.cleaning.damage.is_now(reactor.shared.held.blocks(), home.checkpoints.discard_horizon.get());
        home.cleaning.damage.is_exhausted() && space.pending.is_empty()
    }

    /// Cleaning has gone round while writers wait. Where that was for nothing too often, they are told.
    pub(crate) fn gave_nothing(&self) {
        let (reactor, home) = (self.reactor(), self.reactor().home());
        let damaged = reactor.shared.segments.damaged();
        let may_be_told = damaged > 0 || home.is_opening();
        let space = home.space.borrow();
        if !may_be_told || !space.is_starving() || space.releases > 0 {
            return;
        }
        let may_wait = home.checkpoints.rounds.is_running() && space.for_meta(&reactor.shared).is_some();
        if !home.cleaning.damage.is_fruitless(space.kept_free(&reactor.shared), may_wait) || space.clogged {
            return;
        }
        drop(space);
        home.space.borrow_mut().clogged = true;
        reactor.shared.set_clogged(damaged);
        // An opening that ends for want of room says so itself.
        if damaged > 0 {
            let kept = counted(damaged, "segment");
            let text =
                format!("no room can be made for writes: blocks that cannot be read keep {kept}; discards go on");
            reactor.shared.log_repeated("clogged", "", text);
        }
        // Those who wait are answered, and discards get what was kept for them.
        reactor.progress.notify();
        reactor.peers.tell_others(&reactor.rt, || ToOwner::Wake);
        home.space_changed.notify();
    }
}

/// The columns of a segment that can be read, as a bit each.
fn readable_columns(reactor: &Rc<Reactor>, seg: SegIx) -> u32 {
    let (group, segment) = reactor.shared.segments.locate(seg);
    let holds = |&column: &u8| reactor.device_holding(reactor.shared.layout.member(group, column), segment).is_some();
    (0..reactor.shared.layout.width(group)).filter(holds).fold(0, |columns, column| columns | 1 << column)
}
