//! Cleaning: moves what is still valid out of a victim segment, so that the whole of it can be given back.
//!
//! Which group and which victims is the policies' choice (`victims`); here it is carried out, `relocate` does the moving. A
//! victim is given back only once the copies, and every write that made one of its blocks garbage, are durable.

use std::cell::RefMut;
use std::rc::Rc;

use cygnus_runtime::either;
use cygnus_types::{GroupId, ReactorId, counted};

use crate::clean::emptied::{Emptied, LOOK_AGAIN};
use crate::clean::evacuate::Evacuator;
use crate::clean::gained::Gained;
use crate::clean::haste::Haste;
use crate::clean::moves;
use crate::clean::orphans::Orphans;
use crate::clean::relocate::Moving;
use crate::clean::sweep::Sweep;
use crate::clean::through::Through;
use crate::clean::victims::{Choice, Chosen};
use crate::counters::count;
use crate::durable::checkpoint::Checkpointer;
use crate::reactor::Reactor;
use crate::read::parallel::for_each_of;
use crate::space::segments::{SegIx, SegState};
use crate::write::lane::Lane;

/// Fewest victims emptied before the flush that lets them go: it may cut open stripes short, the clients' too.
const BATCH: usize = 4;
/// In a large group more of them may wait, one in this many of its segments: flushes are rarer then.
const BATCH_SHARE: u32 = 32;
/// Most emptied victims that wait, as a multiple of the batch: beyond it they go back even if that wastes stripe space.
const MOST_PENDING: usize = 4;

/// Who moves the blocks of a victim.
pub(super) enum By<'a> {
    /// The home reactor, in this way.
    Home(&'a Moving),
    Helper(ReactorId),
}

/// Empties victims: see the module's text.
#[derive(Clone)]
pub(crate) struct Cleaner {
    reactor: Rc<Reactor>,
    choice: Choice,
    evacuator: Evacuator,
    checkpointer: Checkpointer,
}

impl Cleaner {
    pub(crate) fn of(reactor: &Rc<Reactor>) -> Self {
        Self {
            reactor: reactor.clone(),
            choice: Choice::of(reactor),
            evacuator: Evacuator::of(reactor),
            checkpointer: Checkpointer::of(reactor),
        }
    }

    pub(super) fn reactor(&self) -> &Rc<Reactor> {
        &self.reactor
    }

    pub(super) fn choice(&self) -> &Choice {
        &self.choice
    }

    /// The cleaner: runs on the home reactor until the array closes.
    pub(crate) async fn run(self) {
        let home = self.reactor.home();
        home.cleaning.running.set(true);
        while !self.reactor.shared.is_ending() && self.reactor.shared.fault().is_none() {
            let changed = home.space_changed.wait();
            if self.checkpointer.checkpoint_is_due() {
                self.checkpointer.start_checkpoint();
            }
            self.see_to_damage();
            if self.is_to_rest() {
                self.gained().rests();
                self.have_discards_covered();
                either(changed, self.reactor.rt.sleep(LOOK_AGAIN)).await;
                continue;
            }
            match self.choice.choose_victims() {
                Some(chosen) if chosen.victims.is_empty() => self.evacuator.end_evacuation(chosen.group).await,
                Some(chosen) => {
                    home.space.borrow_mut().only_checkpoint = false;
                    let group = chosen.group;
                    let beside = self.choice.choose_victims_beside(group);
                    self.clean_together(chosen, beside).await;
                    if Emptied::of(&self.reactor).is_evacuating() {
                        self.evacuator.note_evacuation(group);
                    } else if Emptied::of(&self.reactor).is_tight(group) && !self.has_begun_a_stripe() {
                        Emptied::of(&self.reactor).release_pending().await;
                    } else if self.should_release(group) {
                        self.start_release();
                    }
                    self.gave_nothing();
                }
                None if !home.space.borrow().pending.is_empty() && !home.cleaning.releasing.get() => {
                    self.start_release()
                }
                None if home.space.borrow().gets_nothing() => {
                    if self.blocked_by_discards() {
                        self.checkpointer.start_checkpoint_at_once();
                        self.leave_all_to_checkpoint();
                    }
                    self.end_segments_of_helpers();
                    moves::end_all_segments(&self.reactor);
                    self.gave_nothing();
                    let nap = self.reactor.rt.sleep(LOOK_AGAIN);
                    either(changed, nap).await;
                }
                None => {
                    self.gained().rests();
                    changed.await;
                }
            }
        }
        let is_busy = || home.cleaning.releasing.get() || home.cleaning.helpers.are_at_work();
        while is_busy() {
            let changed = home.space_changed.wait();
            if is_busy() {
                changed.await;
            }
        }
        home.cleaning.running.set(false);
        home.cleaning.ended.notify();
    }

    fn gained(&self) -> RefMut<'_, Gained> {
        self.reactor.home().cleaning.gained.borrow_mut()
    }

    /// Gives back what was emptied while the cleaner goes on: the flush waits for all that clients have written, which under
    /// load takes longer than to empty the next victims.
    pub(super) fn start_release(&self) {
        if self.reactor.home().cleaning.releasing.replace(true) {
            return;
        }
        let cleaner = self.clone();
        self.reactor.rt.spawn(async move {
            Emptied::of(&cleaner.reactor).release_as_stripes_fill().await;
            cleaner.reactor.home().cleaning.releasing.set(false);
            cleaner.reactor.home().space_changed.notify();
        });
    }

    /// Gives back what was emptied already if writers would be slowed for want of it: the victims beside this one may take a while.
    fn release_if_short(&self, group: GroupId) {
        let is_short = || self.reactor.home().space.borrow().writers_are_short(&self.reactor.shared, group);
        if !Emptied::of(&self.reactor).is_evacuating() && is_short() && self.should_release(group) {
            self.start_release();
        }
    }

    /// Whether the emptied segments go back now. The flush that this takes may cut the relocation stripe short: done for
    /// less gain than that wastes, cleaning would go on for ever and get nowhere.
    fn should_release(&self, group: GroupId) -> bool {
        let stripe = u64::from(self.reactor.shared.shapes(group).most_slots());
        let begun = self.begun_stripes() + self.reactor.home().cleaning.helpers.filling();
        let batch = BATCH.max((self.reactor.shared.layout.segments(group) / BATCH_SHARE) as usize);
        let space = self.reactor.home().space.borrow();
        let wanted =
            space.starving.any() || space.turn.is_over() || space.writers_are_short(&self.reactor.shared, group);
        let worth_it = space.reclaimed >= 2 * stripe * begun.max(1) && (space.pending.len() >= batch || wanted);
        worth_it || space.pending.len() >= MOST_PENDING * batch
    }

    /// Whether the next victim's blocks have room yet that a release would waste. Where a segment is a single stripe, to release
    /// after each victim gains nothing: its blocks have taken a segment. Should the room not do, whoever moves releases.
    fn has_begun_a_stripe(&self) -> bool {
        self.begun_stripes() > 0
    }

    /// Stripes that relocation has begun, which a flush would cut short.
    fn begun_stripes(&self) -> u64 {
        let has_begun = |&&lane: &&Lane| self.reactor.writer(lane).borrow().has_begun_a_stripe();
        Lane::OF_CLEANING.iter().filter(has_begun).count() as u64
    }

    fn blocked_by_discards(&self) -> bool {
        let table = &self.reactor.shared.segments;
        table.all().any(|seg| table.state(seg) == SegState::Sealed && !Emptied::of(&self.reactor).may_clean(seg))
    }

    /// Nothing can be moved before a checkpoint covers the discards: it gets what is kept for moving.
    fn leave_all_to_checkpoint(&self) {
        let home = self.reactor.home();
        if !std::mem::replace(&mut home.space.borrow_mut().only_checkpoint, true) {
            home.space_changed.notify();
        }
    }

    /// Starts a checkpoint if it gives room: segments with discards that none covers yet stay, although nothing else may be in
    /// them, and the discards to come need them.
    fn have_discards_covered(&self) {
        let (table, checkpoints) = (&self.reactor.shared.segments, &self.reactor.home().checkpoints);
        let waits =
            |seg| table.state(seg) == SegState::Sealed && !checkpoints.covers_discard(table.newest_discard(seg));
        if table.all().any(waits) {
            self.checkpointer.start_checkpoint_at_once();
        }
    }

    /// Empties victims of one group, or of two, at once, so that devices always have something to do.
    async fn clean_together(&self, mut chosen: Chosen, beside: Option<Chosen>) {
        let _step = self.reactor.shared.during("cleaning");
        self.gained().works(self.reactor.rt.now());
        self.aim_relocation_at(chosen.group, beside.as_ref().map(|beside| beside.group));
        count(
            &self.reactor.shared.totals.victims_beside,
            beside.as_ref().map_or(0, |beside| beside.victims.len() as u64),
        );
        let all = beside.iter().chain([&chosen]).flat_map(|chosen| &chosen.victims);
        self.reactor.home().cleaning.victims.borrow_mut().extend(all);
        if Haste::of(&self.reactor).is_full(chosen.group) {
            self.call_helpers(chosen.group, &mut chosen.victims);
        }
        let of = |lane, chosen: Chosen| chosen.victims.into_iter().map(move |seg| (lane, chosen.group, seg));
        let beside = beside.into_iter().flat_map(|beside| of(Lane::Beside, beside));
        let (first, cleaner) = (chosen.victims[0], self.clone());
        let victims: Vec<_> = of(Lane::Cleaning, chosen).chain(beside).collect();
        for_each_of(&self.reactor.rt, victims.len(), victims, move |(lane, group, seg)| {
            let cleaner = cleaner.clone();
            async move {
                let moving = match seg == first {
                    true => Moving::cleaning(),
                    false => Moving::cleaning_beside(lane),
                };
                // A group is emptied of all that can be read.
                let moving =
                    if Emptied::of(&cleaner.reactor).is_evacuating() { moving } else { moving.if_all_can_be() };
                cleaner.clean_by(group, seg, By::Home(&moving)).await;
            }
        })
        .await;
        self.gained().ends_round(self.reactor.rt.now());
        self.reactor.update_pressure();
        // Writers may be waiting for the cleaner to get on.
        self.reactor.home().space_changed.notify();
    }

    /// Has every current block be moved out of a victim, here or by a helper; the victim is no longer the cleaner's then.
    pub(super) async fn clean_by(&self, group: GroupId, seg: SegIx, by: By<'_>) -> Through {
        let _look = self.reactor.looks.begin();
        let shared = &self.reactor.shared;
        count(&shared.totals.victims, 1);
        count(&shared.totals.victim_live, u64::from(shared.segments.live(seg)));
        // Of a segment as what it holds moves to: one that had more redundancy gives more than its own garbage.
        let capacity = shared.shapes(group).capacity_as_promised();
        count(&shared.totals.victim_capacity, u64::from(capacity));
        let gain = capacity.saturating_sub(shared.segments.live(seg));
        self.gained().gains(shared.segments.medium(seg), 0);
        let through = match by {
            By::Helper(helper) => self.ask_helper(helper, seg).await,
            By::Home(moving) => match self.is_suspect(group) {
                // What were moved out of a segment that stays would take room for nothing.
                true => self.look_through(seg, moving).await,
                false => Sweep::of(&self.reactor).go_through(seg, moving).await,
            },
        };
        match through {
            Through::All { unread } => self.note_emptied(group, seg, gain, unread).await,
            Through::Part => {}
            Through::UpTo(lost) => self.leave_damaged(seg, lost),
        }
        self.reactor.home().cleaning.victims.borrow_mut().retain(|&victim| victim != seg);
        through
    }

    /// All of a victim was gone through: it waits to be given back, unless something current is left in it.
    async fn note_emptied(&self, group: GroupId, seg: SegIx, gain: u32, unread: u32) {
        let shared = &self.reactor.shared;
        if self.is_emptied_of_all(seg, unread).await {
            shared.segments.set_state(seg, SegState::Pending);
            let mut space = self.reactor.home().space.borrow_mut();
            space.pending.push(seg);
            space.reclaimed += u64::from(gain);
            drop(space);
            self.gained().gains(shared.segments.medium(seg), gain.into());
            self.release_if_short(group);
        } else if !self.reactor.is_ending() {
            shared.segments.set_state(seg, SegState::Damaged);
            let (left, (_, segment)) = (shared.segments.live(seg), shared.segments.locate(seg));
            let text =
                format!("{group} {segment}: {} cannot be moved out of it; it stays as it is", counted(left, "block"));
            shared.log_repeated("damaged segment", &group.to_string(), text);
        }
    }

    /// Whether nothing current is left in a victim, once what no header names has been moved too.
    async fn is_emptied_of_all(&self, seg: SegIx, unread: u32) -> bool {
        let (emptied, live) = (Emptied::of(&self.reactor), || self.reactor.shared.segments.live(seg));
        if emptied.is_emptied(seg).await || live() <= unread {
            return live() == 0;
        }
        Orphans::of(&self.reactor).move_out_of(seg, &Moving::orphans()).await;
        emptied.is_emptied(seg).await
    }

    /// Moves what is in a victim only if all of that can be read.
    async fn look_through(&self, seg: SegIx, moving: &Moving) -> Through {
        let sweep = Sweep::of(&self.reactor);
        match sweep.go_through(seg, &Moving::only_looking()).await {
            Through::All { .. } => {
                self.reactor.home().cleaning.damage.is_whole();
                sweep.go_through(seg, moving).await
            }
            not_all => not_all,
        }
    }

    /// Relocations stay inside the groups being cleaned (SWAN section 3.2), unless all of one is emptied.
    fn aim_relocation_at(&self, group: GroupId, beside: Option<GroupId>) {
        if Emptied::of(&self.reactor).is_evacuating() {
            return self.evacuator.aim_relocation_away_from(group);
        }
        let (mut first, mut second) =
            (self.reactor.writer(Lane::Cleaning).borrow_mut(), self.reactor.writer(Lane::Beside).borrow_mut());
        second.leave_to(&mut first, &self.reactor, group);
        let second_spare = match beside {
            Some(beside) => {
                first.leave_to(&mut second, &self.reactor, beside);
                second.aim_at(&self.reactor, beside)
            }
            None => second.give_back_spare(),
        };
        drop((first, second));
        let streams = self.reactor.shared.policies.streams;
        let lanes = Lane::OF_CLEANING.iter().filter(|lane| lane.is_of(streams));
        let aim = |&lane: &Lane| self.reactor.writer(lane).borrow_mut().aim_at(&self.reactor, group);
        let spares: Vec<_> = lanes.filter_map(aim).chain(second_spare).collect();
        for spare in spares {
            self.reactor.home().space.borrow_mut().put_free(&self.reactor.shared, spare.seg);
        }
    }
}
