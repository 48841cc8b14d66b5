//! Which segments are cleaned next: fills the views that the policies judge.

use cygnus_policy::{CleaningView, SegmentView, Victim};
use cygnus_types::GroupId;

use crate::reactor::Reactor;
use crate::segments::SegIx;
use crate::space::segment_capacity;

impl Reactor {
    /// The victims to empty now, best first, and their group; `None` to rest. No victims: a group that is emptied as a
    /// whole has none any more.
    pub(crate) fn choose_victims(&self) -> Option<(GroupId, Vec<SegIx>)> {
        if let Some(group) = self.group_to_empty() {
            let victims = self.shared.policies.victim.choose_several(self.sealed(group), self.victims_at_once(group));
            let index = |view: SegmentView| self.shared.segments.index(group, view.id);
            return Some((group, victims.into_iter().map(index).collect()));
        }
        let policies = &self.shared.policies;
        let starving = self.home().space.borrow().starving > 0;
        let worth = |view: &SegmentView| policies.cleaning.may_take(view, starving);
        let chosen = self.choose_among(policies.victim, starving, worth);
        // While writers wait any gain will do, the greatest first.
        chosen.or_else(|| starving.then(|| self.choose_among(Victim::Greedy, starving, |_| true))?)
    }

    fn choose_among(
        &self,
        rule: Victim,
        starving: bool,
        worth: impl Fn(&SegmentView) -> bool,
    ) -> Option<(GroupId, Vec<SegIx>)> {
        let groups = self.home().space.borrow().views(&self.shared);
        let candidates = |g: usize| {
            let present = groups[g].is_present();
            self.sealed(GroupId(g as u16)).filter(|view| present && worth(view)).collect::<Vec<_>>()
        };
        let best = (0..groups.len()).map(|g| rule.choose(candidates(g).into_iter()).map(|view| view.live_percent()));
        let best_victim_percent: Vec<_> = best.collect();
        let mut space = self.home().space.borrow_mut();
        space.cleaning = self.shared.policies.cleaning.choose(&CleaningView {
            groups: &groups,
            front_end: space.front_end,
            fresh: space.fresh(),
            cleaning: space.cleaning,
            best_victim_percent: &best_victim_percent,
            starving,
        });
        let Some(g) = space.cleaning else {
            space.turn.pauses();
            return None;
        };
        drop(space);
        let candidates = candidates(g);
        let mut space = self.home().space.borrow_mut();
        let emptied = space.pending_in(&self.shared, GroupId(g as u16));
        let to_free = self.shared.policies.cleaning.still_to_free(&groups[g]).saturating_sub(emptied);
        let (to_free, seq) = (to_free.min(candidates.len() as u32), space.next_segment_seq);
        space.turn.goes_on(g, to_free, seq, self.rt.now());
        let room = space.free_in(g) / 2 * segment_capacity(&self.shared.layout);
        drop(space);
        let group = GroupId(g as u16);
        let mut victims = rule.choose_several(candidates.into_iter(), self.victims_at_once(group));
        victims.truncate(fitting(&victims, room));
        let index = |view: SegmentView| self.shared.segments.index(group, view.id);
        Some((group, victims.into_iter().map(index).collect()))
    }

    /// The segments of a group that may be victims.
    fn sealed(&self, group: GroupId) -> impl Iterator<Item = SegmentView> {
        let (segments, capacity) = (&self.shared.segments, segment_capacity(&self.shared.layout));
        let turn = self.home().space.borrow().turn.began(group.index());
        let view = move |seg| SegmentView {
            id: segments.locate(seg).1,
            live: segments.live(seg),
            capacity,
            life: segments.seq(seg),
            of_this_turn: turn.is_some_and(|began| segments.seq(seg) >= began),
        };
        segments.of_group(group).filter(|&seg| self.may_clean(seg)).map(view)
    }
}

/// How many of the victims can be emptied at once into room for so many blocks; the first one always is.
fn fitting(victims: &[SegmentView], mut room: u32) -> usize {
    let fits = |view: &&SegmentView| {
        let fits = view.live <= room;
        room = room.saturating_sub(view.live);
        fits
    };
    victims.iter().take_while(fits).count().max(1)
}
