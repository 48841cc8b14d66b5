//! One victim, gone through from its first stripe to its last: what is current in it is moved away. Any reactor can do that; which
//! victims there are, and what becomes of them, is decided on the home reactor.

use std::rc::Rc;

use cygnus_types::GroupId;

use crate::clean::haste::Haste;
use crate::clean::relocate::{Mover, Moving};
use crate::clean::through::Through;
use crate::reactor::Reactor;
use crate::read::scan::Scanner;
use crate::space::segments::SegIx;

/// Goes through victims: see the module's text.
pub(crate) struct Sweep<'a> {
    reactor: &'a Rc<Reactor>,
}

impl<'a> Sweep<'a> {
    pub(crate) fn of(reactor: &'a Rc<Reactor>) -> Self {
        Self { reactor }
    }

    /// Has what can be moved be moved, stripe by stripe. A victim whose group comes to take the clients' writes meanwhile is left: what is in
    /// their way there gives room later than the group that is to be cleaned now.
    pub(crate) async fn go_through(&self, seg: SegIx, moving: &Moving) -> Through {
        let _look = self.reactor.looks.begin();
        let (group, segment) = self.reactor.shared.segments.locate(seg);
        let (mut row, mut life, mut unread) = (0, None, 0);
        let was_front_end = self.is_front_end(group);
        while self.reactor.shared.segments.live(seg) > 0 {
            let Ok(found) = Scanner::of(self.reactor).stripe_surely_at(group, segment, row, life).await else {
                return Through::Part;
            };
            let Some(stripe) = found else { break };
            if !was_front_end && self.is_front_end(group) {
                return Through::Part;
            }
            Haste::of(self.reactor).give_way_to_reads(group).await;
            moving.at_ease(Haste::of(self.reactor).has_time(group));
            let moved = Mover::of(self.reactor).move_stripe(&stripe, moving).await;
            if moved.stopped || moved.without_room > 0 {
                return Through::Part;
            }
            if moving.stops_at_lost()
                && let Some(&lost) = moved.lost.first()
            {
                return Through::UpTo(lost);
            }
            unread += moved.lost.len() as u32;
            row = stripe.common.end_row();
            life = Some(stripe.common.segment_seq);
        }
        Through::All { unread }
    }

    /// Whether groups take turns and it is this one's, as far as that is known here.
    fn is_front_end(&self, group: GroupId) -> bool {
        let rotates = self.reactor.shared.policies.front_end.rotates();
        rotates && self.reactor.is_home() && self.reactor.home().space.borrow().is_front_end(group)
    }
}
