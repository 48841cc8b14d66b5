//! Which segments are cleaned next: fills the views that the policies judge.

use std::rc::Rc;

use cygnus_policy::{CleaningView, RotationView, SegmentView, Victim};
use cygnus_types::GroupId;

use crate::clean::evacuate::Evacuator;
use crate::reactor::Reactor;
use crate::space::manager::segment_capacity;
use crate::space::segments::SegIx;

/// What is to be emptied now.
pub(crate) struct Chosen {
    pub group: GroupId,
    /// Best first. None: a group that is emptied as a whole has none any more.
    pub victims: Vec<SegIx>,
}

/// Chooses what is cleaned next.
#[derive(Clone)]
pub(crate) struct Choice {
    reactor: Rc<Reactor>,
}

impl Choice {
    pub(crate) fn of(reactor: &Rc<Reactor>) -> Self {
        Self { reactor: reactor.clone() }
    }

    /// The victims to empty now; `None` to rest.
    pub(crate) fn choose_victims(&self) -> Option<Chosen> {
        if let Some(group) = Evacuator::of(&self.reactor).group_to_empty() {
            let victims = self
                .reactor
                .shared
                .policies
                .victim
                .choose_several(self.sealed(group), self.reactor.victims_at_once(group));
            return Some(self.chosen(group, victims));
        }
        let policies = &self.reactor.shared.policies;
        let starving = self.reactor.home().space.borrow().starving > 0;
        let worth = |view: &SegmentView| policies.cleaning.may_take(view, starving);
        let chosen = self.choose_among(policies.victim, starving, worth);
        // While writers wait any gain will do, the greatest first.
        chosen.or_else(|| starving.then(|| self.choose_among(Victim::Greedy, starving, |_| true))?)
    }

    /// Victims in a second group, to be emptied beside those of the first one, if one group at a time might be too slow.
    pub(crate) fn choose_victims_beside(&self, first: GroupId) -> Option<Chosen> {
        let policies = &self.reactor.shared.policies;
        // What can be cleaned in time goes without disturbing reads of a second group.
        if self.reactor.has_time(first) {
            return None;
        }
        let space = self.reactor.home().space.borrow();
        let groups = space.views_when_released(&self.reactor.shared);
        let rotation = RotationView { groups: &groups, front_end: space.front_end, fresh: space.fresh() };
        let beside = policies.cleaning.group_beside(rotation, first.index())?;
        let (group, starving) = (GroupId(beside as u16), space.starving > 0);
        let room = space.room_to_move(&self.reactor.shared, beside);
        drop(space);
        let worth = self.sealed(group).filter(|view| policies.cleaning.may_take(view, starving));
        let mut victims = policies.victim.choose_several(worth, self.reactor.victims_at_once(group));
        victims.truncate(fitting(&victims, room));
        if victims.is_empty() {
            return None;
        }
        let mut space = self.reactor.home().space.borrow_mut();
        space.beside = Some(beside);
        let seq = space.next_segment_seq;
        space.turn.goes_beside(beside, seq);
        Some(self.chosen(group, victims))
    }

    fn chosen(&self, group: GroupId, victims: Vec<SegmentView>) -> Chosen {
        let index = |view: SegmentView| self.reactor.shared.segments.index(group, view.id);
        Chosen { group, victims: victims.into_iter().map(index).collect() }
    }

    fn choose_among(&self, rule: Victim, starving: bool, worth: impl Fn(&SegmentView) -> bool) -> Option<Chosen> {
        let groups = self.reactor.home().space.borrow().views(&self.reactor.shared);
        let candidates = |g: usize| {
            let present = groups[g].is_present();
            self.sealed(GroupId(g as u16)).filter(|view| present && worth(view)).collect::<Vec<_>>()
        };
        let best = (0..groups.len()).map(|g| rule.choose(candidates(g).into_iter()).map(|view| view.live_percent()));
        let best_victim_percent: Vec<_> = best.collect();
        let mut space = self.reactor.home().space.borrow_mut();
        space.cleaning = self.reactor.shared.policies.cleaning.choose(&CleaningView {
            rotation: RotationView { groups: &groups, front_end: space.front_end, fresh: space.fresh() },
            cleaning: space.cleaning,
            best_victim_percent: &best_victim_percent,
            starving,
        });
        space.beside = None;
        let Some(g) = space.cleaning else {
            space.turn.pauses();
            return None;
        };
        drop(space);
        let candidates = candidates(g);
        let mut space = self.reactor.home().space.borrow_mut();
        let emptied = space.pending_in(&self.reactor.shared, GroupId(g as u16));
        let to_free = self.reactor.shared.policies.cleaning.still_to_free(&groups[g]).saturating_sub(emptied);
        let (to_free, seq) = (to_free.min(candidates.len() as u32), space.next_segment_seq);
        space.turn.goes_on(g, to_free, seq, self.reactor.rt.now());
        let room = space.room_to_move(&self.reactor.shared, g);
        drop(space);
        let group = GroupId(g as u16);
        let mut victims = rule.choose_several(candidates.into_iter(), self.reactor.victims_at_once(group));
        victims.truncate(fitting(&victims, room).max(1));
        Some(self.chosen(group, victims))
    }

    /// The segments of a group that may be victims.
    fn sealed(&self, group: GroupId) -> impl Iterator<Item = SegmentView> {
        let (segments, capacity) = (&self.reactor.shared.segments, segment_capacity(&self.reactor.shared.layout));
        let turn = self.reactor.home().space.borrow().turn.began(group.index());
        let view = move |seg| SegmentView {
            id: segments.locate(seg).1,
            live: segments.live(seg),
            capacity,
            life: segments.seq(seg),
            of_this_turn: turn.is_some_and(|began| segments.seq(seg) >= began),
        };
        segments.of_group(group).filter(|&seg| self.reactor.may_clean(seg)).map(view)
    }
}

/// How many of the victims can be emptied at once into room for so many blocks.
fn fitting(victims: &[SegmentView], mut room: u32) -> usize {
    let fits = |view: &&SegmentView| {
        let fits = view.live <= room;
        room = room.saturating_sub(view.live);
        fits
    };
    victims.iter().take_while(fits).count()
}
