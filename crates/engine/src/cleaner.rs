//! Cleaning: moves what is still valid out of a victim segment, so that the whole of it can be given back.
//!
//! Which group and which victim is the policies' choice; here it is carried out, `relocate` does the moving. A victim is
//! given back only once the copies, and every write that made one of its blocks garbage, are durable.

use std::rc::Rc;

use cygnus_format::{Place, Stream};
use cygnus_policy::{CleaningView, SegmentView};
use cygnus_runtime::EventWait;
use cygnus_types::{GroupId, Nanos};

use crate::planted::{self, Bug};
use crate::reactor::Reactor;
use crate::relocate::Moving;
use crate::segments::{SegIx, SegState};
use crate::shared::count;
use crate::space::segment_capacity;

/// Victims emptied before the flush that lets them go: a flush cuts a stripe short, so not for each one.
const BATCH: usize = 4;
/// Victims emptied after which they go back whatever that costs.
const MOST_PENDING: usize = 4 * BATCH;
/// Longest time that cleaning gives way to reads before it takes a turn all the same.
const LONGEST_YIELD: Nanos = Nanos::millis(2);
/// How often to look for new garbage while writers wait and nothing is worth cleaning.
const LOOK_AGAIN: Nanos = Nanos::millis(5);
/// How often the count of a segment is looked at before what is left counts as unreadable.
const LAST_LOOKS: u32 = 2;

impl Reactor {
    /// The cleaner: runs on the home reactor until the array closes.
    pub(crate) async fn cleaner(self: Rc<Self>) {
        let home = self.home();
        home.cleaner_running.set(true);
        while !home.stop.get() && self.shared.fault().is_none() {
            let changed = home.space_changed.wait();
            if self.checkpoint_is_due() {
                self.start_checkpoint();
            }
            match self.choose_victim() {
                Some((group, seg)) => {
                    self.clean(group, seg).await;
                    if self.should_release(group) {
                        self.release_pending().await;
                    }
                }
                None if !home.space.borrow().pending.is_empty() => self.release_pending().await,
                None if home.space.borrow().starving > 0 => {
                    if self.blocked_by_discards() {
                        self.start_checkpoint();
                    }
                    let nap = self.rt.sleep(LOOK_AGAIN);
                    cygnus_runtime::either(changed, nap).await;
                }
                None => changed.await,
            }
        }
        home.cleaner_running.set(false);
        home.cleaner_ended.notify();
    }

    /// Whether only emptied segments can give relocation in this group the segment it may need next.
    fn is_tight(&self, group: GroupId) -> bool {
        let space = self.home().space.borrow();
        space.free_in(group.index()) == 0 && !space.pending.is_empty()
    }

    /// Whether the emptied segments go back now. The flush that this takes cuts the relocation stripe short: done for
    /// less gain than that wastes, cleaning would go on for ever and get nowhere.
    fn should_release(&self, group: GroupId) -> bool {
        let stripe = u64::from(self.shared.layout.geometry().slots(self.shared.layout.geometry().stripe_rows));
        let space = self.home().space.borrow();
        let worth_it = space.reclaimed >= 2 * stripe && (space.pending.len() >= BATCH || space.starving > 0);
        worth_it || space.pending.len() >= MOST_PENDING || self.is_tight(group)
    }

    /// Whether a segment may be a victim: one that cleaning gave up may be when what it could not read is overwritten.
    fn may_clean(&self, seg: SegIx) -> bool {
        let table = &self.shared.segments;
        let is_victim = match table.state(seg) {
            SegState::Sealed => true,
            SegState::Damaged => table.live(seg) == 0,
            _ => false,
        };
        is_victim && self.may_be_given_back(seg)
    }

    /// Whether nothing but current blocks keeps a segment: nobody works on it, and its discards are covered by a
    /// checkpoint. (A discard lives in the stripe's header and cannot be moved; dropped too early, it would let old data
    /// come back after a crash.)
    pub(crate) fn may_be_given_back(&self, seg: SegIx) -> bool {
        let newest_discard = self.shared.segments.newest_discard(seg);
        self.shared.segments.rescues(seg) == 0
            && !self.home().pinned.borrow().contains(&seg)
            && (newest_discard == 0 || newest_discard < self.home().discard_horizon.get())
    }

    fn blocked_by_discards(&self) -> bool {
        let table = &self.shared.segments;
        (0..table.count()).map(SegIx).any(|seg| table.state(seg) == SegState::Sealed && !self.may_clean(seg))
    }

    fn choose_victim(&self) -> Option<(GroupId, SegIx)> {
        let shared = &self.shared;
        let capacity = segment_capacity(&shared.layout);
        let groups = self.home().space.borrow().views(shared);
        let best: Vec<_> = (0..groups.len())
            .map(|g| {
                let group = GroupId(g as u16);
                let sealed =
                    shared.segments.of_group(group).filter(|&seg| groups[g].is_present() && self.may_clean(seg));
                shared.policies.victim.choose(sealed.map(|seg| SegmentView {
                    id: shared.segments.locate(seg).1,
                    live: shared.segments.live(seg),
                    capacity,
                }))
            })
            .collect();
        let percents: Vec<_> =
            best.iter().map(|b| b.map(|v| (u64::from(v.live) * 100 / u64::from(v.capacity)) as u32)).collect();
        let mut space = self.home().space.borrow_mut();
        let chosen = shared.policies.cleaning.choose(&CleaningView {
            groups: &groups,
            front_end: space.front_end,
            fresh: space.fresh(),
            cleaning: space.cleaning,
            best_victim_percent: &percents,
            starving: space.starving > 0,
        });
        space.cleaning = chosen;
        let group = GroupId(chosen? as u16);
        let victim = best[group.index()]?;
        Some((group, shared.segments.index(group, victim.id)))
    }

    /// Moves every current block out of a victim.
    async fn clean(self: &Rc<Self>, group: GroupId, seg: SegIx) {
        let shared = &self.shared;
        let _step = shared.during("cleaning");
        count(&shared.totals.victims, 1);
        count(&shared.totals.victim_live, u64::from(shared.segments.live(seg)));
        count(&shared.totals.victim_capacity, u64::from(segment_capacity(&shared.layout)));
        let gain = segment_capacity(&shared.layout).saturating_sub(shared.segments.live(seg));
        self.aim_relocation_at(group);
        let (_, segment) = shared.segments.locate(seg);
        let (mut row, mut life) = (0, None);
        while shared.segments.live(seg) > 0 {
            let Some(stripe) = self.stripe_at(group, segment, row, life).await else { break };
            self.give_way_to_reads(group).await;
            if self.move_stripe(&stripe, &Moving::cleaning()).await.stopped {
                return;
            }
            row = stripe.common.end_row();
            life = Some(stripe.common.segment_seq);
        }
        if self.is_emptied(seg).await {
            shared.segments.set_state(seg, SegState::Pending);
            let mut space = self.home().space.borrow_mut();
            space.pending.push(seg);
            space.reclaimed += u64::from(gain);
        } else if !self.home().stop.get() && !shared.is_stopped() {
            shared.segments.set_state(seg, SegState::Damaged);
            let left = shared.segments.live(seg);
            shared.log(format!("{group} {segment}: {left} blocks cannot be read; it stays as it is"));
        }
    }

    /// Whether a victim whose every stripe was looked at holds nothing current any more. Its count may still fall for a
    /// while: a volume that is being deleted counts until it is forgotten, and another reactor takes a block off the
    /// count a moment after the map has changed.
    pub(crate) async fn is_emptied(&self, seg: SegIx) -> bool {
        let mut looks = 0;
        while self.shared.segments.live(seg) > 0 && !self.home().stop.get() && !self.shared.is_stopped() {
            if self.home().deleting.get() == 0 {
                looks += 1;
            }
            if looks > LAST_LOOKS {
                break;
            }
            self.rt.sleep(LOOK_AGAIN).await;
        }
        self.shared.segments.live(seg) == 0
    }

    /// Relocations stay inside the group being cleaned (SWAN section 3.2).
    fn aim_relocation_at(self: &Rc<Self>, group: GroupId) {
        if let Some(spare) = self.writer(Stream::Relocation).borrow_mut().aim_at(self, group) {
            self.home().space.borrow_mut().put_free(&self.shared, spare.seg);
        }
    }

    /// Waits while guests read from the group, unless writers wait for space (reads > writes > cleaning, SWAN 3.2).
    async fn give_way_to_reads(&self, group: GroupId) {
        let begun = self.rt.now();
        while self.shared.reads(group) > 0
            && self.home().space.borrow().starving == 0
            && self.shared.pressure() == 0
            && self.rt.now().since(begun) < LONGEST_YIELD
        {
            self.rt.sleep(Nanos::micros(20)).await;
        }
    }

    /// Waits for something that may give a relocation room: `progress`, or victims that were emptied.
    pub(crate) async fn room_for_relocation(self: &Rc<Self>, from: Place, progress: EventWait<'_>) {
        self.collect_empty(from);
        if self.is_tight(from.group) {
            self.release_pending().await;
        } else {
            progress.await;
        }
    }

    /// Segments that lost their last current block meanwhile need no cleaning: without this, a relocation that waits for
    /// a segment could wait for one that is there. The victim in which `place` lies is left to whoever cleans it.
    fn collect_empty(&self, place: Place) {
        let table = &self.shared.segments;
        let victim = table.index(place.group, place.segment);
        let is_empty = |&seg: &SegIx| seg != victim && table.live(seg) == 0 && self.may_clean(seg);
        for seg in (0..table.count()).map(SegIx).filter(is_empty) {
            table.set_state(seg, SegState::Pending);
            self.home().space.borrow_mut().pending.push(seg);
        }
    }

    /// Makes the moves durable and gives the emptied segments back.
    pub(crate) async fn release_pending(self: &Rc<Self>) {
        let _step = self.shared.during("release");
        let pending = {
            let mut space = self.home().space.borrow_mut();
            space.reclaimed = 0;
            std::mem::take(&mut space.pending)
        };
        let skip = planted::is(Bug::VictimFreedUnflushed);
        if skip || self.flush_everything().await.is_ok() {
            self.free_segments(pending).await;
        } else {
            self.home().space.borrow_mut().pending = pending;
        }
    }
}
