//! Which segments are cleaned next: fills the views that the policies judge.

use std::rc::Rc;

use cygnus_policy::{CleaningView, GroupView, SegmentView, Victim, Worth};
use cygnus_types::{GroupId, Medium};

use crate::clean::evacuate::Evacuator;
use crate::clean::haste::Haste;
use crate::reactor::Reactor;
use crate::space::manager::on_medium;
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
            let victims = self.best(group, self.rule_of(group), Worth::ANY);
            return Some(self.chosen(group, victims));
        }
        let (starving, medium) = {
            let space = self.reactor.home().space.borrow();
            (space.is_starving(), space.starving_medium(&self.reactor.shared))
        };
        // What is freed on another medium gives those who wait nothing.
        let for_them = medium.and_then(|_| self.choose_on(medium, starving));
        for_them.or_else(|| self.choose_on(None, starving))
    }

    /// The victims to empty now in groups on one medium, or on any.
    fn choose_on(&self, medium: Option<Medium>, starving: bool) -> Option<Chosen> {
        let policies = &self.reactor.shared.policies;
        let its = |group| self.rule_of(group);
        let chosen = self.choose_among(medium, its, starving, policies.cleaning.worth(starving));
        // While writers wait any gain will do, the greatest first.
        chosen.or_else(|| starving.then(|| self.choose_among(medium, |_| Victim::Greedy, starving, Worth::ANY))?)
    }

    /// The rule by which a group is cleaned.
    fn rule_of(&self, group: GroupId) -> Victim {
        let shared = &self.reactor.shared;
        shared.policies.victim_on(shared.medium(group))
    }

    /// Victims in a second group, to be emptied beside those of the first one, if one group at a time might be too slow.
    pub(crate) fn choose_victims_beside(&self, first: GroupId) -> Option<Chosen> {
        let policies = &self.reactor.shared.policies;
        // What can be cleaned in time goes without disturbing reads of a second group.
        if Haste::of(&self.reactor).has_time(first) {
            return None;
        }
        let space = self.reactor.home().space.borrow();
        let groups = space.views_when_released(&self.reactor.shared);
        let rotation = space.rotation(&groups);
        let beside = policies.cleaning.group_beside(rotation, first.index())?;
        let (group, starving) = (GroupId(beside as u16), space.is_starving());
        // What clients write there would wait behind what is cleaned.
        if space.is_filled_by_clients(&self.reactor.shared, group) {
            return None;
        }
        drop(space);
        let room = self.room_to_move(group);
        let mut victims = self.best(group, self.rule_of(group), policies.cleaning.worth(starving));
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

    /// A victim for a helper in the group that is being cleaned, if more are to be freed there than are being emptied.
    pub(crate) fn choose_for_helper(&self, group: GroupId) -> Option<SegIx> {
        let (shared, home) = (&self.reactor.shared, self.reactor.home());
        let starving = {
            let space = home.space.borrow();
            if space.cleaning != Some(group.index()) || space.evacuation.is_some() {
                return None;
            }
            let under_way = self.victims_in(group).count() as u32 + space.pending_in(shared, group);
            let to_free = shared.policies.cleaning.still_to_free(&space.views(shared)[group.index()]);
            if to_free <= under_way {
                return None;
            }
            space.is_starving()
        };
        let (candidates, busy) = (home.candidates(shared), self.busy_segments());
        let worth = shared.policies.cleaning.worth(starving);
        let best = candidates.best(&shared.segments, group, self.rule_of(group), worth, &busy).next()?;
        (best.live <= self.room_to_move(group)).then(|| shared.segments.index(group, best.id))
    }

    /// Victims of a group that are being emptied.
    fn victims_in(&self, group: GroupId) -> impl Iterator<Item = SegIx> {
        let (victims, segments) =
            (self.reactor.home().cleaning.victims.borrow().clone(), &self.reactor.shared.segments);
        victims.into_iter().filter(move |&seg| segments.locate(seg).0 == group)
    }

    /// Blocks that more victims of a group may have, besides those that are being emptied.
    fn room_to_move(&self, group: GroupId) -> u32 {
        let shared = &self.reactor.shared;
        let room = self.reactor.home().space.borrow().room_to_move(shared, group.index());
        self.victims_in(group).fold(room, |room, seg| room.saturating_sub(shared.segments.live(seg)))
    }

    fn chosen(&self, group: GroupId, victims: Vec<SegmentView>) -> Chosen {
        let index = |view: SegmentView| self.reactor.shared.segments.index(group, view.id);
        Chosen { group, victims: victims.into_iter().map(index).collect() }
    }

    fn choose_among(
        &self,
        medium: Option<Medium>,
        rule: impl Fn(GroupId) -> Victim,
        starving: bool,
        worth: Worth,
    ) -> Option<Chosen> {
        let (reactor, policies) = (&self.reactor, &self.reactor.shared.policies);
        let among = |views: Vec<GroupView>| match medium {
            Some(medium) => on_medium(&reactor.shared, &views, medium),
            None => views,
        };
        let (groups, released) = {
            let space = reactor.home().space.borrow();
            (among(space.views(&reactor.shared)), among(space.views_when_released(&reactor.shared)))
        };
        let (candidates, busy) = (reactor.home().candidates(&reactor.shared), self.busy_segments());
        let best = |g: usize| {
            let group = GroupId(g as u16);
            let mut best = candidates.best(&reactor.shared.segments, group, rule(group), worth, &busy);
            best.next().filter(|_| groups[g].is_present()).map(|view| view.live_percent())
        };
        // Where groups are emptied as a whole, nobody asks for victims of one before writers wait.
        let asked = |_: &usize| starving || !policies.cleaning.is_by_group();
        let best_victim_percent: Vec<_> = (0..groups.len()).map(|g| Some(g).filter(asked).and_then(best)).collect();
        let mut space = self.reactor.home().space.borrow_mut();
        let cleaning = policies.cleaning.choose(&CleaningView {
            rotation: space.rotation(&groups),
            released: &released,
            best_victim_percent: &best_victim_percent,
            starving,
        });
        (space.cleaning, space.beside) = (cleaning, None);
        let Some(g) = cleaning else {
            space.turn.pauses();
            return None;
        };
        drop(space);
        let mut space = self.reactor.home().space.borrow_mut();
        let group = GroupId(g as u16);
        let emptied = space.pending_in(&self.reactor.shared, group);
        let to_free = self.reactor.shared.policies.cleaning.still_to_free(&groups[g]).saturating_sub(emptied);
        let there_are = candidates.how_many(group, worth, &busy);
        drop(candidates);
        let (to_free, seq) = (to_free.min(there_are), space.next_segment_seq);
        space.turn.goes_on(g, to_free, seq, self.reactor.rt.now());
        drop(space);
        let room = self.room_to_move(group);
        let mut victims = self.best(group, rule(group), worth);
        victims.truncate(fitting(&victims, room).max(1));
        Some(self.chosen(group, victims))
    }

    /// The best victims of a group, as many as are emptied at once.
    fn best(&self, group: GroupId, rule: Victim, worth: Worth) -> Vec<SegmentView> {
        let (table, at_once) = (&self.reactor.shared.segments, Haste::of(&self.reactor).victims_at_once(group));
        let (candidates, busy) = (self.reactor.home().candidates(&self.reactor.shared), self.busy_segments());
        candidates.best(table, group, rule, worth, &busy).take(at_once).collect()
    }

    /// Segments that the cleaner is emptying, or of which columns are being restored.
    fn busy_segments(&self) -> Vec<SegIx> {
        let home = self.reactor.home();
        let mut busy = home.pins.all();
        busy.extend(home.cleaning.victims.borrow().iter().copied());
        busy.sort_unstable();
        busy.dedup();
        busy
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
