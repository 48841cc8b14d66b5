//! Who gives a reactor's writers room: the home reactor grants segments, and flushes let stripes go.

use std::rc::Rc;

use cygnus_types::GroupId;

use crate::peers::ToHome;
use crate::reactor::Reactor;
use crate::write::grant::{Grant, Room};
use crate::write::lane::Lane;
use crate::write::replicate::Replicator;

impl Room for Reactor {
    async fn grant(self: &Rc<Self>, lane: Lane, to: Option<GroupId>) -> Option<Grant> {
        let _step = self.shared.during("grant");
        if self.is_home() {
            return self.grant_here(lane, to, self.rt.id()).await;
        }
        self.peers.ask_home(&self.rt, |ticket| ToHome::Grant { ticket, lane, to }).await?.grant()
    }

    fn give_back(&self, grant: Grant) {
        match self.is_home() {
            true => {
                self.home().space.borrow_mut().put_free(&self.shared, grant.seg);
                self.home().space_changed.notify();
            }
            false => self.peers.tell_home(&self.rt, ToHome::GivesBack(grant)),
        }
    }

    async fn destage(self: &Rc<Self>) {
        if self.shared.is_two_phase() {
            // Stripes that fill slowly get their parity now, and their copies' room is free again.
            Replicator::of(self).close_all();
        }
        // What has moved gets there too, should nothing more fill its stripe.
        Lane::OF_MOVES.iter().for_each(|&lane| self.writer(lane).borrow_mut().close_stripe(self));
        // Whoever needs to know whether it worked flushes.
        let _ = self.flush().await;
    }
}
