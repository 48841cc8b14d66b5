//! Segments that are filled with what moves out of the way of contention, when writers wait for room: they may be nearly empty, and what
//! they lack of being full is garbage like any other once they have ended (`docs/decisions/066-moves-choose-their-target.md`).

use std::rc::Rc;

use crate::peers::ToOwner;
use crate::reactor::Reactor;
use crate::write::grant::Room;
use crate::write::lane::Lane;

/// On the home reactor: writers wait, and nothing is worth cleaning. Ends those of all reactors.
pub(super) fn end_all_segments(reactor: &Rc<Reactor>) {
    // Each time that one looks: a grant may have been on its way to its reactor the last time.
    let had_any = reactor.home().space.borrow().moves_had_segments;
    if had_any {
        reactor.peers.tell_others(&reactor.rt, || ToOwner::EndMoves);
        end_segments(reactor);
    }
}

/// Ends those of a reactor, and gives back what was granted and not begun.
pub(crate) fn end_segments(reactor: &Rc<Reactor>) {
    for &lane in Lane::OF_MOVES {
        let not_begun = {
            let mut writer = reactor.writer(lane).borrow_mut();
            writer.close_segments(reactor);
            writer.give_back_spare()
        };
        if let Some(grant) = not_begun {
            reactor.give_back(grant);
        }
    }
}
