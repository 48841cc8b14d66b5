//! Helpers: the other reactors empty victims too while cleaning hurries (`docs/decisions/067-cleaning-on-several-cores.md`).
//!
//! The home reactor chooses each victim, hands it to a helper by a message, and does with the emptied segment what it does with those
//! that it has emptied itself. A helper reads the victim and writes what is current in it to an open segment of its own, in the same group.
//! Helpers are no part of the home reactor's rounds: each gets its next victim as soon as it is through with one, so that a
//! reactor that clients keep busy simply empties fewer.

use std::rc::Rc;

use cygnus_types::{GroupId, ReactorId};

use crate::clean::cleaner::{By, Cleaner};
use crate::clean::helping::AT_ONCE;
use crate::clean::relocate::Moving;
use crate::clean::sweep::Sweep;
use crate::clean::through::Through;
use crate::counters::count;
use crate::peers::{Answer, ToOwner};
use crate::reactor::Reactor;
use crate::space::segments::SegIx;
use crate::write::grant::Room;
use crate::write::lane::Lane;

impl Cleaner {
    /// Has other reactors empty victims of a group too, one after the other, as long as there are any that are worth it. Of those
    /// chosen they take their share: often there is room for no more at once.
    pub(super) fn call_helpers(&self, group: GroupId, chosen: &mut Vec<SegIx>) {
        let reactor = self.reactor();
        let segments = reactor.shared.layout.segments(group);
        // Until the array is open the home reactor is alone.
        let helpers = reactor.shared.crew.helpers_in(segments).min(reactor.peers.others() as u32);
        if helpers == 0 || self.is_suspect(group) {
            return;
        }
        let left_here = chosen.len().div_ceil(helpers as usize + 1);
        for helper in (0..AT_ONCE).flat_map(|_| 1..=helpers).map(|helper| ReactorId(helper as u16)) {
            if !reactor.home().cleaning.helpers.takes(helper, group) {
                continue;
            }
            let share = if chosen.len() > left_here { chosen.pop() } else { None };
            let Some(first) = share.or_else(|| self.victim_for_helper(group)) else { return };
            reactor.home().cleaning.helpers.begins(helper, group);
            let cleaner = self.clone();
            reactor.rt.spawn(async move { cleaner.keep_busy(helper, group, first).await });
        }
    }

    async fn keep_busy(self, helper: ReactorId, group: GroupId, first: SegIx) {
        let mut next = Some(first);
        while let Some(seg) = next {
            let through = self.clean_by(group, seg, By::Helper(helper)).await;
            // The home reactor may be waiting for room that this gives.
            self.reactor().progress.notify();
            next = if matches!(through, Through::All { .. }) { self.victim_for_helper(group) } else { None };
        }
        let home = self.reactor().home();
        home.cleaning.helpers.ends(helper);
        home.space_changed.notify();
    }

    /// The next victim for a helper, which is the cleaner's from now on.
    fn victim_for_helper(&self, group: GroupId) -> Option<SegIx> {
        if self.reactor().is_ending() || self.is_suspect(group) {
            return None;
        }
        let seg = self.choice().choose_for_helper(group)?;
        self.reactor().home().cleaning.victims.borrow_mut().push(seg);
        Some(seg)
    }

    /// Writers wait, and nothing is worth cleaning: what the helpers' open segments have left of garbage, or of room, is garbage once
    /// these are sealed.
    pub(super) fn end_segments_of_helpers(&self) {
        let reactor = self.reactor();
        let helpers = &reactor.home().cleaning.helpers;
        // Those at work gain room.
        if !helpers.are_at_work() && helpers.may_have_segments.replace(false) {
            reactor.peers.tell_others(&reactor.rt, || ToOwner::EndRelocation);
        }
    }

    /// Asks a helper to empty a victim.
    pub(super) async fn ask_helper(&self, helper: ReactorId, seg: SegIx) -> Through {
        let reactor = self.reactor();
        count(&reactor.shared.totals.victims_helped, 1);
        match reactor.peers.ask(&reactor.rt, helper, |ticket| ToOwner::Empty { ticket, seg }).await {
            Some(Answer::Emptied(through)) => through,
            _ => Through::Part,
        }
    }
}

/// Empties a victim here, for the home reactor.
pub(crate) async fn empty(reactor: &Rc<Reactor>, seg: SegIx) -> Through {
    let group = reactor.shared.segments.locate(seg).0;
    let spare = reactor.writer(Lane::Beside).borrow_mut().go_to(reactor, group);
    if let Some(grant) = spare {
        reactor.give_back(grant);
    }
    let moving = Moving::cleaning_beside(Lane::Beside).if_all_can_be();
    Sweep::of(reactor).go_through(seg, &moving).await
}
