//! The space manager: which segments are free, and who gets them.
//!
//! It lives on the home reactor. Space leaves it by grants of whole segments, so the reactors never contend for it
//! (ScalaAFA section 3.3), and comes back when the cleaner has emptied a segment.

use std::collections::VecDeque;

use cygnus_format::{GroupState, Layout, PROTECTION_PAGE_FRAMES, checkpoint_pages};
use cygnus_policy::{GroupView, Policies, RotationView, Succession, destination, left_for_writers};
use cygnus_types::{GroupId, Medium, Nanos, ReactorId};

use crate::autonomics::steering::Steering;
use crate::clean::turn::CleaningTurn;
use crate::counters::count;
use crate::peers::HOME;
use crate::planted::{self, Bug};
use crate::shared::Shared;
use crate::space::crew::Crew;
use crate::space::evacuation::Evacuation;
use crate::space::protections::Protections;
use crate::space::role::GroupRole;
use crate::space::segments::{SegIx, SegState};
use crate::space::shortage::Starving;
use crate::write::grant::Grant;
use crate::write::lane::Lane;

/// See the module's text.
pub(crate) struct Space {
    free: Vec<VecDeque<SegIx>>,
    /// Segments emptied whose blocks' new places may not be durable yet.
    pub pending: Vec<SegIx>,
    /// Rounds under way in which emptied segments are given back.
    pub releases: u32,
    /// Segments that these rounds give back.
    releasing: Vec<SegIx>,
    /// Blocks of space that the pending segments give beyond those that moved out of them.
    pub reclaimed: u64,
    pub front_end: usize,
    /// In what order groups become front-end.
    succession: Succession,
    /// A group that was added, until it has taken over as front-end.
    fresh: Option<usize>,
    /// Blocks found in torn stripes are still being written anew: a checkpoint now would forget those left.
    pub recovering: bool,
    /// The group in which the cleaner works.
    pub cleaning: Option<usize>,
    /// A second one that is cleaned beside it.
    pub beside: Option<usize>,
    /// Whether the first group is being emptied as a whole.
    pub evacuation: Option<Evacuation>,
    /// A writer waits, and no group can be emptied as a whole: until it has got a segment, cleaning goes by segments.
    pub by_segments: bool,
    /// The turn of the group that was cleaned last.
    pub turn: CleaningTurn,
    pub next_segment_seq: u64,
    /// In an array on several media, the groups that take the writes on those that `front_end` is not on, by medium.
    front_ends_beside: [Option<usize>; Medium::ALL.len()],
    /// Writers that wait for a segment.
    pub starving: Starving,
    /// In a rotation, segments that clients fill, and some that are full by now.
    filled_by_clients: Vec<SegIx>,
    /// Damaged segments keep all that could give writers room: only discards get any.
    pub clogged: bool,
    /// Writers wait, and nothing can be cleaned before a checkpoint is taken.
    pub only_checkpoint: bool,
    /// Segments were given for what moves out of the way of contention, and some may be open still.
    pub moves_had_segments: bool,
}

/// Segments that a checkpoint of `mapped` blocks may need, one to spare for a stripe or a segment ended early.
pub(crate) fn checkpoint_segments(layout: &Layout, protections: &Protections, mapped: u64) -> u64 {
    let table = match protections.differ() {
        true => layout.end_frame().div_ceil(PROTECTION_PAGE_FRAMES.into()),
        false => 0,
    };
    let blocks = (checkpoint_pages(mapped) + table) * u64::from(protections.checkpoint_copies());
    blocks.div_ceil(u64::from(protections.checkpoint_capacity())) + 1
}

/// Segments that a checkpoint may need, whatever volumes come to hold. They are kept free of all but checkpoints and
/// relocation, so the next one always finds room.
fn largest_checkpoint(shared: &Shared) -> u64 {
    if planted::is(Bug::CheckpointUnreserved) {
        return 0;
    }
    checkpoint_segments(&shared.layout, &shared.protections, shared.held.usable())
}

/// Segments that the next checkpoint needs for what volumes hold now, if none ends early; 0 while one is taking them.
fn next_checkpoint(shared: &Shared) -> u32 {
    match shared.held.is_map_written() {
        true => 0,
        false => checkpoint_segments(&shared.layout, &shared.protections, shared.held.blocks()) as u32 - 1,
    }
}

/// Free segments that are kept for discards while any segment is damaged: one for each reactor.
fn for_discards(shared: &Shared) -> u32 {
    if shared.segments.any_is_damaged() { shared.stripes.reactors() as u32 } else { 0 }
}

/// Free segments that clients' writes leave in a group of so many, which is one of `groups`: for relocation, and its part of
/// what a checkpoint needs.
fn reserve(policies: &Policies, crew: Crew, segments: u32, checkpoint: u64, groups: u64) -> u32 {
    let of_cleaning = policies.reserve_of(segments) + policies.streams.of_cleaning_beside() + crew.helpers_in(segments);
    of_cleaning + checkpoint.div_ceil(groups) as u32
}

impl Space {
    /// Everything that the table says is free.
    pub(crate) fn new(shared: &Shared, next_segment_seq: u64) -> Self {
        let groups = shared.layout.groups();
        let mut space = Self {
            free: vec![VecDeque::new(); groups],
            pending: Vec::new(),
            releases: 0,
            releasing: Vec::new(),
            reclaimed: 0,
            front_end: 0,
            succession: Succession::behind(0, groups),
            fresh: None,
            recovering: false,
            cleaning: None,
            beside: None,
            filled_by_clients: Vec::new(),
            evacuation: None,
            by_segments: false,
            turn: CleaningTurn::default(),
            next_segment_seq,
            front_ends_beside: [None; Medium::ALL.len()],
            starving: Starving::default(),
            clogged: false,
            only_checkpoint: false,
            moves_had_segments: false,
        };
        let all = shared.segments.all();
        all.filter(|&seg| shared.segments.state(seg) == SegState::Free).for_each(|seg| space.put_free(shared, seg));
        if shared.policies.front_end.fills_one_by_one() {
            let begun = |g: &usize| !space.free[*g].is_empty() && !space.is_clean(shared, *g);
            space.front_end = (0..groups).filter(begun).max_by_key(|&g| space.free_in(g)).unwrap_or(0);
            space.succession = Succession::behind(space.front_end, groups);
        }
        space
    }

    pub(crate) fn free_in(&self, group: usize) -> u32 {
        self.free[group].len() as u32
    }

    /// A step of the opening is done. Where only that was short of room, and nothing is damaged, cleaning may give some now.
    pub(crate) fn has_recovered(&mut self, shared: &Shared) {
        self.recovering = false;
        self.clogged &= shared.segments.any_is_damaged();
    }

    /// Whether writers wait for what cleaning gives, or were told that it gives nothing.
    pub(crate) fn is_starving(&self) -> bool {
        self.starving.any() || self.clogged
    }

    /// The same, and nothing that was emptied is on its way to them.
    pub(crate) fn gets_nothing(&self) -> bool {
        self.is_starving() && self.releases == 0
    }

    /// The medium on which clients' writers wait for a segment, if there are others on which none do.
    pub(crate) fn starving_medium(&self, shared: &Shared) -> Option<Medium> {
        let mut waited_for = Medium::ALL.into_iter().filter(|medium| self.starving.since(*medium).is_some());
        let only = waited_for.next().filter(|_| waited_for.next().is_none());
        only.filter(|_| shared.held.only_medium().is_none())
    }

    fn free_in_all(&self) -> u32 {
        (0..self.free.len()).map(|group| self.free_in(group)).sum()
    }

    /// Whether a medium has a free segment, or gets one back without anything being moved.
    pub(crate) fn may_give(&self, shared: &Shared, on: Medium) -> bool {
        let is_on = |&seg: &SegIx| shared.segments.medium(seg) == on;
        self.emptiest_on(shared, on, 0).is_some() || self.releases > 0 || self.pending.iter().any(is_on)
    }

    /// Free segments that relocation may take. While any segment is damaged it leaves those for discards and for the next
    /// checkpoint: when nothing else gives room, these do.
    pub(crate) fn free_for_relocation(&self, shared: &Shared) -> u32 {
        let kept = for_discards(shared) + if shared.segments.any_is_damaged() { next_checkpoint(shared) } else { 0 };
        self.free_in_all().saturating_sub(kept)
    }

    /// Whether relocation out of a group may take a segment on its medium.
    pub(crate) fn has_some_for_relocation(&self, shared: &Shared, group: GroupId) -> bool {
        self.free_for_relocation(shared) > 0 && self.emptiest_on(shared, shared.medium(group), 0).is_some()
    }

    /// Whether relocation out of a group would take the last free segment of its medium while victims wait to be given back. These go
    /// first: after a crash they may hold something again, and then nothing could be moved there any more.
    pub(crate) fn gives_back_first(&self, shared: &Shared, group: GroupId) -> bool {
        let medium = shared.medium(group);
        let on_it = (0..self.free.len()).filter(|&other| shared.medium(group_id(other)) == medium);
        let is_last = || on_it.map(|other| self.free_in(other)).sum::<u32>() <= 1;
        (self.releases > 0 || !self.pending.is_empty()) && is_last()
    }

    /// Whether hardly more is free than the next checkpoint needs, and moving one victim.
    pub(crate) fn is_down_to_checkpoint(&self, shared: &Shared) -> bool {
        let checkpoint = checkpoint_segments(&shared.layout, &shared.protections, shared.held.blocks());
        u64::from(self.free_in_all()) <= checkpoint + u64::from(shared.policies.relocation_reserve)
    }

    /// Whether no segment is free, nor will be unless something is moved.
    pub(crate) fn gives_nothing(&self) -> bool {
        self.free_in_all() == 0 && self.pending.is_empty() && self.releases == 0
    }

    /// Free segments that writers may not take.
    pub(crate) fn kept_free(&self, shared: &Shared) -> u32 {
        self.views(shared).iter().map(|view| view.reserve).sum()
    }

    /// Whether writers who have waited long would get a segment. What is free may be kept from them: a clean group may be the
    /// last one, which others are emptied into.
    pub(crate) fn has_room_for_writers(&self, shared: &Shared) -> bool {
        let (rule, urgent, views) = (shared.policies.front_end, self.is_urgent(shared), self.views(shared));
        let has_room = |views: &[GroupView]| rule.choose(views, self.front_end, &self.succession, urgent).is_some();
        match shared.held.only_medium() {
            Some(_) => has_room(&views),
            None => shared.held.media().all(|medium| has_room(&on_medium(shared, &views, medium))),
        }
    }

    /// Whether those who have waited long get what is left. Who waits for a group that is emptied as a whole gets what that gives.
    fn is_urgent(&self, shared: &Shared) -> bool {
        self.by_segments || !shared.policies.cleaning.is_by_group()
    }

    /// Segments of a group that are emptied and not given back yet.
    pub(crate) fn pending_in(&self, shared: &Shared, group: GroupId) -> u32 {
        let emptied = self.pending.iter().chain(&self.releasing);
        emptied.filter(|&&seg| shared.segments.locate(seg).0 == group).count() as u32
    }

    /// What is emptied is given back from now on: takes it out of what waits for that.
    pub(crate) fn begin_release(&mut self) -> Vec<SegIx> {
        self.reclaimed = 0;
        self.releases += 1;
        self.releasing.extend(&self.pending);
        std::mem::take(&mut self.pending)
    }

    /// It is free now, or waits again.
    pub(crate) fn end_release(&mut self, mut segs: Vec<SegIx>) {
        self.releases -= 1;
        segs.sort_unstable();
        self.releasing.retain(|seg| segs.binary_search(seg).is_err());
    }

    /// Whether clients' writes go to a group.
    pub(crate) fn is_front_end(&self, group: GroupId) -> bool {
        self.front_end == group.index() || self.front_ends_beside.contains(&Some(group.index()))
    }

    /// What a group is doing.
    pub(crate) fn role(&self, group: usize) -> GroupRole {
        match () {
            () if self.is_front_end(group_id(group)) => GroupRole::FrontEnd,
            () if self.is_cleaned(group) => GroupRole::Cleaning,
            () => GroupRole::BackEnd,
        }
    }

    /// Whether clients still fill a segment in a group, where a rotation has one for their writes: it may not be the front-end any more.
    pub(crate) fn is_filled_by_clients(&self, shared: &Shared, group: GroupId) -> bool {
        let is_there =
            |&seg: &SegIx| shared.segments.locate(seg).0 == group && shared.segments.state(seg) == SegState::Open;
        self.filled_by_clients.iter().any(is_there)
    }

    /// Whether the cleaner works in a group.
    pub(crate) fn is_cleaned(&self, group: usize) -> bool {
        [self.cleaning, self.beside].contains(&Some(group))
    }

    /// Every segment in the lists of the free ones.
    pub(crate) fn listed(&self) -> impl Iterator<Item = SegIx> {
        self.free.iter().flatten().copied()
    }

    pub(crate) fn put_free(&mut self, shared: &Shared, seg: SegIx) {
        let (group, _) = shared.segments.locate(seg);
        if shared.group_state(group) != GroupState::InService {
            shared.segments.set_state(seg, SegState::Withheld);
            return;
        }
        shared.segments.set_state(seg, SegState::Free);
        self.free[group.index()].push_back(seg);
    }

    /// Gives out the space of a group that was added; the first one is the next front-end.
    pub(crate) fn add_group(&mut self, shared: &Shared, group: GroupId) {
        if group.index() == self.free.len() {
            self.free.push(VecDeque::new());
        }
        assert!(self.free[group.index()].is_empty(), "a group that has left left nothing");
        shared.segments.of_group(group).for_each(|seg| self.put_free(shared, seg));
        self.fresh.get_or_insert(group.index());
        self.succession.adds(group.index());
    }

    /// Gives out nothing more of a group that is to leave.
    pub(crate) fn withdraw(&mut self, shared: &Shared, group: GroupId) {
        for seg in std::mem::take(&mut self.free[group.index()]) {
            shared.segments.set_state(seg, SegState::Withheld);
        }
        self.fresh.take_if(|fresh| *fresh == group.index());
    }

    /// Gives out the space of a group again that was to leave and stays.
    pub(crate) fn readmit(&mut self, shared: &Shared, group: GroupId) {
        let withheld = |&seg: &SegIx| shared.segments.state(seg) == SegState::Withheld;
        shared.segments.of_group(group).filter(withheld).for_each(|seg| self.put_free(shared, seg));
    }

    /// All of a group is emptied from now on.
    pub(crate) fn begin_evacuation(&mut self, group: usize) {
        self.evacuation = Some(Evacuation::of(group));
        (self.cleaning, self.beside) = (Some(group), None);
        self.turn.pauses();
    }

    /// Nothing is emptied as a whole any more.
    pub(crate) fn stop_evacuation(&mut self) {
        self.evacuation = None;
        (self.cleaning, self.beside) = (None, None);
        self.turn.pauses();
    }

    /// A group that is clean again is filled from front to back.
    pub(crate) fn sort_free(&mut self, group: usize) {
        self.free[group].make_contiguous().sort_unstable();
    }

    /// Whether nothing is in a group.
    fn is_clean(&self, shared: &Shared, group: usize) -> bool {
        self.free_in(group) == shared.layout.segments(GroupId(group as u16))
    }

    /// What writers should take for a segment, so that they do not fill the front-end before the next one is clean; zero:
    /// as little as they can. `released`: the groups as if what is emptied had been given back.
    pub(crate) fn writers_pace(&self, shared: &Shared, views: &[GroupView], released: &[GroupView]) -> Nanos {
        let rule = shared.policies.front_end;
        let Some(front_end) = views.get(self.front_end).filter(|view| view.is_present()) else { return Nanos::ZERO };
        if !rule.is_exclusive() || self.fresh.is_some() {
            return Nanos::ZERO;
        }
        match (self.evacuation, self.next_in_its_turn(released)) {
            (Some(_), _) => self.turn.writers_pace(left_for_writers(views, self.front_end), 0),
            (None, Some(next)) if rule.rotates() => self.turn.writers_pace(front_end.left(), next.left()),
            (None, Some(_)) => self.turn.writers_pace(front_end.left(), 0),
            (None, None) => Nanos::ZERO,
        }
    }

    /// How much cleaning must hurry in a group, from 0 to 1. In a rotation, so that the next front-ends are clean in time, whichever group
    /// the cleaner is still at work in.
    pub(crate) fn haste(&self, shared: &Shared, group: GroupId) -> f64 {
        if self.is_starving() {
            return 1.0;
        }
        let (policies, released) = (&shared.policies, self.views_when_released(shared));
        if !policies.front_end.rotates() {
            let its = &released[group.index()];
            return policies.cleaning.haste(its, policies.pressure.mark(its.segments));
        }
        let to_free = |next: usize| match self.turn.group() == Some(next) {
            true => self.turn.to_free(),
            false => policies.cleaning.still_to_free(&released[next]),
        };
        policies.cleaning.haste_in_rotation(self.rotation(&released), to_free)
    }

    /// These views of the groups, and whose turn it is.
    pub(crate) fn rotation<'a>(&'a self, groups: &'a [GroupView]) -> RotationView<'a> {
        RotationView { groups, front_end: self.front_end, succession: &self.succession }
    }

    /// The group that comes behind the front-end.
    fn next(&self, views: &[GroupView]) -> Option<usize> {
        self.succession.others(self.front_end).find(|&g| views[g].is_present())
    }

    /// The same, if it is the one that is being cleaned.
    fn next_in_its_turn<'v>(&self, views: &'v [GroupView]) -> Option<&'v GroupView> {
        let next = self.next(views)?;
        (self.turn.group() == Some(next)).then(|| &views[next])
    }

    /// The groups as the policies see them. Those that were only just taken into the layout are not there yet.
    pub(crate) fn views(&self, shared: &Shared) -> Vec<GroupView> {
        let in_service = shared.groups_in(GroupState::InService).count() as u64;
        let checkpoint = largest_checkpoint(shared);
        let for_discards = for_discards(shared).div_ceil(in_service.max(1) as u32);
        let emptied = self.evacuation.map(|evacuation| evacuation.group);
        let view = |group: GroupId| match shared.group_state(group) {
            GroupState::InService => {
                let all = shared.layout.segments(group);
                let reserve = reserve(&shared.policies, shared.crew, all, checkpoint, in_service) + for_discards;
                let segments = all - self.given_up(shared, group);
                // Nobody gets anything of a group until all of it is free again.
                let free = if emptied == Some(group.index()) { 0 } else { self.free_in(group.index()) };
                GroupView { segments, free, reserve }
            }
            _ => GroupView::ABSENT,
        };
        (0..self.free.len()).map(|group| view(GroupId(group as u16))).collect()
    }

    /// The same, as if what is emptied had been given back.
    pub(crate) fn views_when_released(&self, shared: &Shared) -> Vec<GroupView> {
        let mut views = self.views(shared);
        for (group, view) in views.iter_mut().enumerate().filter(|(_, view)| view.is_present()) {
            view.free += self.pending_in(shared, GroupId(group as u16));
        }
        views
    }

    /// Whether what is emptied had better be given back, or writers would be slowed for want of it.
    pub(crate) fn writers_are_short(&self, shared: &Shared, group: GroupId) -> bool {
        let its = on_medium(shared, &self.views(shared), shared.medium(group));
        let (left, segments): (u32, u32) =
            its.iter().fold((0, 0), |(left, all), view| (left + view.left(), all + view.segments));
        left < shared.policies.pressure.mark(segments)
    }

    /// Blocks that can move at once within a group. Half of what is free stays for those that come before anything that was
    /// emptied is given back.
    pub(crate) fn room_to_move(&self, shared: &Shared, group: usize) -> u32 {
        self.free_in(group) / 2 * shared.layout.shape(group_id(group)).capacity()
    }

    /// Segments of a group that nobody can empty, where that matters.
    fn given_up(&self, shared: &Shared, group: GroupId) -> u32 {
        let is_given_up = |&seg: &SegIx| shared.segments.state(seg) == SegState::Damaged;
        match shared.policies.cleaning.is_by_group() && shared.segments.any_is_damaged() {
            true => shared.segments.of_group(group).filter(is_given_up).count() as u32,
            false => 0,
        }
    }

    /// The group with most free segments, if it has more than `reserve`.
    fn emptiest(&self, shared: &Shared, reserve: u32) -> Option<usize> {
        self.roomiest(shared, |_| true, reserve)
    }

    /// The same among the groups on one medium.
    fn emptiest_on(&self, shared: &Shared, medium: Medium, reserve: u32) -> Option<usize> {
        self.roomiest(shared, |group| shared.medium(group_id(group)) == medium, reserve)
    }

    /// The same among some groups. Where groups are filled one by one, those begun come first, and one that is being
    /// emptied last.
    fn roomiest(&self, shared: &Shared, among: impl Fn(usize) -> bool, reserve: u32) -> Option<usize> {
        let rank = |g: usize| match (shared.policies.front_end.fills_one_by_one(), &self.evacuation) {
            (true, Some(evacuation)) if evacuation.group == g => 0,
            (true, _) if self.is_clean(shared, g) => 1,
            _ => 2,
        };
        let others = (0..self.free.len()).filter(|&g| among(g) && self.free_in(g) > reserve);
        others.max_by_key(|&g| (rank(g), self.free_in(g)))
    }

    /// Where recovery writes blocks of torn stripes anew, on a medium. It writes little, and only afterwards can a checkpoint be taken.
    pub(crate) fn for_rescue(&self, shared: &Shared, on: Medium) -> Option<usize> {
        let is_on = |group| shared.medium(group_id(group)) == on;
        // While cleaning leaves segments as they are it may give none for the checkpoint.
        let leaves_checkpoint = || !shared.segments.any_is_damaged() || self.free_in_all() > next_checkpoint(shared);
        self.emptiest_on(shared, on, shared.policies.relocation_reserve)
            // What several recoveries that were cut short left behind can take even that ..
            .or_else(|| self.roomiest(shared, |group| is_on(group) && !self.is_cleaned(group), 0))
            // .. and where cleaning gains nothing, what is kept for it in its group too.
            .or_else(|| self.emptiest_on(shared, on, 0).filter(|_| self.clogged))
            .filter(|_| leaves_checkpoint())
    }

    /// Where a checkpoint's pages go: not beside the writes of clients, if there is room elsewhere.
    pub(crate) fn for_meta(&self, shared: &Shared) -> Option<usize> {
        let reserve = shared.policies.relocation_reserve;
        let rule = shared.policies.front_end;
        let busy = (rule.is_exclusive() && !rule.fills_one_by_one()).then_some(self.front_end);
        self.roomiest(shared, |group| Some(group) != busy, reserve).or_else(|| self.emptiest(shared, reserve))
    }

    /// The group that clients' next segment on a medium comes from.
    fn front_end_for(&self, shared: &Shared, medium: Medium, urgent: bool, now: Nanos) -> Option<usize> {
        let (rule, views) = (shared.policies.front_end, on_medium(shared, &self.views(shared), medium));
        let urgent = urgent && self.is_urgent(shared);
        let current = self.front_end_on(shared, medium);
        let usual = rule.choose(&views, current, &self.succession, urgent);
        let Some(marks) = &shared.marks else { return usual };
        let burdened = Steering::of(shared).burdened(views.len(), now);
        let chosen = rule.choose_unburdened(&views, &burdened, current, &self.succession, urgent);
        count(&marks.counts.steered, u64::from(chosen != usual));
        chosen
    }

    /// The group that takes clients' writes on a medium, as far as there is one yet.
    fn front_end_on(&self, shared: &Shared, medium: Medium) -> usize {
        match shared.medium(group_id(self.front_end)) == medium {
            true => self.front_end,
            false => self.front_ends_beside[medium.index()].unwrap_or(self.front_end),
        }
    }

    /// A group takes clients' writes from now on.
    fn takes_over(&mut self, shared: &Shared, chosen: usize) {
        self.by_segments = false;
        self.fresh.take_if(|fresh| *fresh == chosen);
        let medium = shared.medium(group_id(chosen));
        let current = self.front_end_on(shared, medium);
        if current != chosen {
            let keeps_its_turn = self.who_keeps_a_turn(shared, medium);
            self.succession.takes_over(chosen, |group| keeps_its_turn[group]);
        }
        let before = match medium == shared.medium(group_id(self.front_end)) {
            true => Some(std::mem::replace(&mut self.front_end, chosen)),
            false => self.front_ends_beside[medium.index()].replace(chosen),
        };
        if before.is_some_and(|before| before != chosen) {
            count(&shared.totals.rotations, 1);
            shared.step("rotation", true);
        }
    }

    /// The groups that are the next front-ends though one takes over that is behind them in turn: they are being made ready, or will be when
    /// what is emptied in them is given back. Those on other media are not passed over.
    fn who_keeps_a_turn(&self, shared: &Shared, medium: Medium) -> Vec<bool> {
        let released = self.views_when_released(shared);
        let is_to_come = |group: usize| self.is_cleaned(group) || released[group].may_take_over();
        let rotates = shared.policies.front_end.rotates();
        let keeps = |group| shared.medium(group_id(group)) != medium || rotates && is_to_come(group);
        (0..released.len()).map(keeps).collect()
    }

    /// A segment for a lane, if the rules allow one now; `to`: the group in which a lane of moves wants it.
    pub(crate) fn try_grant(
        &mut self,
        shared: &Shared,
        lane: Lane,
        to: Option<GroupId>,
        (owner, now): (ReactorId, Nanos),
        urgent: bool,
    ) -> Option<Grant> {
        let group = match lane {
            Lane::Clients(on) | Lane::Own(on, _) if self.recovering => self.for_rescue(shared, on)?,
            // Only discards are let in. They give room when a checkpoint has covered them.
            Lane::Clients(_) | Lane::Own(..) if self.clogged && self.free_in_all() <= next_checkpoint(shared) => {
                return None;
            }
            Lane::Clients(on) | Lane::Own(on, _) if self.clogged => self.emptiest_on(shared, on, 0)?,
            Lane::Clients(on) | Lane::Own(on, _) => {
                let chosen = self.front_end_for(shared, on, urgent, now)?;
                self.takes_over(shared, chosen);
                chosen
            }
            // What is hot goes where the rest goes if it gets nothing: it leaves clients a segment, and whoever waits goes first.
            Lane::Hot(_) if self.recovering || self.is_starving() => return None,
            Lane::Hot(on) => {
                let views = on_medium(shared, &self.views(shared), on);
                let roomy = (0..views.len()).filter(|&group| views[group].left() > 1);
                let is_free = |group| !Steering::of(shared).is_burdened(group_id(group), now);
                roomy.max_by_key(|&group| (is_free(group), views[group].left()))?
            }
            // Inside the group being cleaned (SWAN section 3.2); but a group without any free segment could never be
            // cleaned again, and then another one on its medium lends it the first, unless some are just being given back.
            Lane::Cleaning if self.evacuation.is_some() => {
                let to = destination(&self.views(shared), self.front_end, &self.succession);
                if to.is_none() {
                    self.give_up_evacuation(shared);
                }
                to?
            }
            Lane::Cleaning | Lane::Beside if self.free_for_relocation(shared) == 0 => return None,
            Lane::Cleaning if self.cleaning.is_some_and(|group| self.gives_back_first(shared, group_id(group))) => {
                return None;
            }
            Lane::Beside if self.beside.is_some_and(|group| self.gives_back_first(shared, group_id(group))) => {
                return None;
            }
            Lane::Cleaning => match self.cleaning? {
                group if !self.free[group].is_empty() => group,
                _ if self.releases > 0 => return None,
                group => self.emptiest_on(shared, shared.medium(group_id(group)), 0)?,
            },
            // It takes nothing that others need: what moves goes to the common stream then.
            Lane::CleaningOwn(_) => self.cleaning.filter(|&group| {
                let (view, own) = (self.views(shared)[group], shared.policies.streams.of_cleaning_beside());
                self.evacuation.is_none() && view.is_present() && view.free + own > view.reserve
            })?,
            // A helper's, in the group being cleaned: it takes nothing that others need.
            Lane::Beside if owner.index() != HOME => self.cleaning.filter(|&group| {
                let view = self.views(shared)[group];
                let helpers = shared.crew.helpers_in(view.segments);
                self.evacuation.is_none() && view.is_present() && view.free + helpers > view.reserve
            })?,
            // Nothing depends on it: it lives on what its own group has.
            Lane::Beside => self.beside.filter(|&group| !self.free[group].is_empty())?,
            // Nobody waits for it, so it takes nothing that anybody else needs.
            Lane::Moved(_) if self.recovering || self.evacuation.is_some() || self.is_starving() => return None,
            Lane::Moved(_) => {
                let roomy = |&group: &usize| self.views(shared).get(group).is_some_and(GroupView::has_room_for_moves);
                let group = to.map(GroupId::index).filter(roomy)?;
                self.moves_had_segments = true;
                group
            }
            // The last checkpoint is taken when nothing is relocated any more.
            Lane::Meta if shared.is_closed() => self.emptiest(shared, 0)?,
            Lane::Meta => match self.for_meta(shared) {
                None if shared.segments.any_is_damaged() || self.only_checkpoint => self.emptiest(shared, 0)?,
                group => group?,
            },
        };
        let seg = self.free[group].pop_front()?;
        let segment_seq = self.next_segment_seq;
        self.next_segment_seq += 1;
        let (group, segment) = shared.segments.locate(seg);
        shared.segments.open(seg, owner, segment_seq, shared.shapes(group).of_lane(lane));
        if lane.is_for_clients() && shared.policies.front_end.rotates() {
            self.filled_by_clients.retain(|&seg| shared.segments.state(seg) == SegState::Open);
            self.filled_by_clients.push(seg);
        }
        Some(Grant { seg, group, segment, segment_seq, shape: shared.segments.shape(seg) })
    }
}

/// Of these groups only those on one medium.
pub(crate) fn on_medium(shared: &Shared, views: &[GroupView], medium: Medium) -> Vec<GroupView> {
    let view = |(group, &view): (usize, &GroupView)| match shared.medium(group_id(group)) == medium {
        true => view,
        false => GroupView::ABSENT,
    };
    views.iter().enumerate().map(view).collect()
}

pub(crate) fn group_id(group: usize) -> GroupId {
    GroupId(group as u16)
}

impl Space {
    /// No room, or no way, to empty the group: its segments go back one by one.
    pub(crate) fn give_up_evacuation(&mut self, shared: &Shared) {
        if let Some(evacuation) = self.evacuation.take() {
            self.by_segments = true;
            count(&shared.totals.evacuations_given_up, 1);
            shared
                .log(format!("{} cannot be emptied as a whole: it is cleaned by segments", group_id(evacuation.group)));
        }
    }
}

#[cfg(test)]
mod tests {
    use cygnus_format::Geometry;
    use cygnus_policy::{Preset, Streams};
    use proptest::prelude::*;

    use super::*;
    use crate::space::usable::{data_blocks, usable_of};

    fn geometries() -> impl Strategy<Value = Geometry> {
        (1..8_u8, 0..3_u8, 0..3_u32, 0..6_u32, 1..40_u32).prop_map(|(data, parity, chunk, rows, stripes)| {
            let (chunk_blocks, stripe_rows) = (1 << chunk, 1 << (chunk + rows));
            let rough = Geometry {
                data,
                parity,
                chunk_blocks,
                stripe_rows,
                segment_blocks: 1 << 16,
                transient_blocks: 0,
                lead_blocks: 0,
            };
            let stripe = rough.header_blocks(stripe_rows) + stripe_rows;
            Geometry { segment_blocks: (stripe * stripes).max(8), ..rough }
        })
    }

    proptest! {
        /// What is promised to volumes leaves room for everything else, at any fill: `docs/decisions/019-sparse-volumes.md`.
        #[test]
        fn what_is_promised_leaves_room_for_all_the_rest(
            geometry in geometries(),
            segments in proptest::collection::vec(4..3000_u32, 1..6),
            over_provisioning in 0..500_u16,
            preset in 0..Preset::ALL.len(),
            reactors in 1..5_usize,
            per_helper in 4..80_u32,
            more in 0..3_u8,
            page in 0..4_u32,
            streams in 0..Streams::ALL.len(),
        ) {
            let Ok(protections) = Protections::alike(geometry, geometry.parity + more) else { return Ok(()) };
            let shapes = protections.on(Medium::Flash);
            let policies = Policies { streams: Streams::ALL[streams], ..Preset::ALL[preset].policies() };
            let ends = segments.iter().scan(0, |end, &frames| {
                *end += frames;
                Some(*end)
            });
            let extents: Vec<_> =
                ends.zip(&segments).map(|(end, &frames)| (geometry.raid(), [cygnus_format::Extent { first: end - frames, frames }])).collect();
            let layout = Layout::new(geometry, extents).unwrap();
            let page = (1 << page).min(geometry.chunk_blocks) as u8;
            let mapped = data_blocks(shapes, &segments, over_provisioning, &policies);
            let checkpoint = checkpoint_segments(&layout, &protections, mapped);
            let crew = Crew::new(reactors, per_helper, &policies);
            let usable = usable_of(shapes, &segments, page, checkpoint, over_provisioning, &policies, crew);
            if usable == 0 {
                return Ok(());
            }
            let capacity = u64::from(shapes.capacity_of_pages(page));
            let checkpoint = checkpoint_segments(&layout, &protections, usable);
            let groups = segments.len() as u64;
            let all: u64 = segments.iter().map(|&n| u64::from(n)).sum();

            // All that is promised is there, in full segments; two checkpoints are kept, and clients have taken what they
            // may: the next checkpoint has its room all the same, beside what each group keeps for relocation.
            let kept: u64 = segments.iter().map(|&n| u64::from(reserve(&policies, crew, n, checkpoint, groups))).sum();
            let helpers: u64 = segments.iter().map(|&n| u64::from(crew.helpers_in(n))).sum();
            let for_cleaning = policies.relocation_reserve + policies.streams.of_cleaning_beside();
            let for_meta: u64 = kept - groups * u64::from(for_cleaning) - helpers;
            prop_assert!(for_meta >= checkpoint);
            let relocation: u64 = segments.iter().map(|&n| u64::from(policies.reserve_of(n))).sum();
            let own = u64::from(policies.streams.of_cleaning_beside()) * groups;
            let in_use = 3 * checkpoint + relocation + own + helpers + reactors as u64;
            prop_assert!(usable.div_ceil(capacity) + in_use <= all);
            // And a checkpoint has as many blocks as were counted on, in segments that the superblock has room to name.
            let blocks = checkpoint_pages(usable) * u64::from(geometry.checkpoint_copies());
            prop_assert!(checkpoint * u64::from(protections.checkpoint_capacity()) >= blocks);
        }
    }
}
