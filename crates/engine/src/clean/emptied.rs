//! Segments that were emptied: which may be, whether they are, and how they are given back.

use std::rc::Rc;

use cygnus_format::Place;
use cygnus_runtime::{EventWait, either};
use cygnus_types::{GroupId, Nanos};

use crate::durable::flush::Flusher;
use crate::planted::{self, Bug};
use crate::reactor::Reactor;
use crate::space::release::Releaser;
use crate::space::segments::{SegIx, SegState};

/// How often to look for new garbage while writers wait and nothing is worth cleaning.
pub(crate) const LOOK_AGAIN: Nanos = Nanos::millis(5);

/// How long the stripes that a release waits for may take to become full: at a hundred MB/s of clients' writes that is about a stripe.
const PATIENCE: Nanos = Nanos::millis(5);

/// How often the count of a segment is looked at before what is left counts as unreadable.
pub(crate) const LAST_LOOKS: u32 = 2;

/// Judges and gives back what was emptied: see the module's text.
#[derive(Clone)]
pub(crate) struct Emptied {
    reactor: Rc<Reactor>,
}

impl Emptied {
    pub(crate) fn of(reactor: &Rc<Reactor>) -> Self {
        Self { reactor: reactor.clone() }
    }

    /// Whether only emptied segments can give relocation in this group the segment it may need next.
    pub(crate) fn is_tight(&self, group: GroupId) -> bool {
        let space = self.reactor.home().space.borrow();
        space.free_in(group.index()) == 0 && !space.pending.is_empty()
    }

    /// Whether a segment may be a victim: one that cleaning gave up may be when what it could not read is overwritten.
    pub(crate) fn may_clean(&self, seg: SegIx) -> bool {
        let table = &self.reactor.shared.segments;
        let is_victim = match table.state(seg) {
            SegState::Sealed => true,
            SegState::Damaged => table.live(seg) == 0,
            _ => false,
        };
        is_victim && self.may_be_given_back(seg) && !self.reactor.home().cleaning.victims.borrow().contains(&seg)
    }

    /// Whether nothing but current blocks keeps a segment: nobody works on it, and its discards are covered by a
    /// checkpoint. (A discard lives in the stripe's header and cannot be moved; dropped too early, it would let old data
    /// come back after a crash.)
    pub(crate) fn may_be_given_back(&self, seg: SegIx) -> bool {
        let newest_discard = self.reactor.shared.segments.newest_discard(seg);
        self.reactor.shared.segments.rescues(seg) == 0
            && !self.reactor.home().pins.has(seg)
            && self.reactor.home().checkpoints.covers_discard(newest_discard)
    }

    /// Whether a victim whose every stripe was looked at holds nothing current any more. Its count may still fall for a
    /// while: a volume that is being deleted counts until it is forgotten, and another reactor takes a block off the
    /// count a moment after the map has changed.
    pub(crate) async fn is_emptied(&self, seg: SegIx) -> bool {
        let mut looks = 0;
        while self.reactor.shared.segments.live(seg) > 0 && !self.reactor.is_ending() {
            if self.reactor.home().regroup.deleting.get() == 0 {
                looks += 1;
            }
            if looks > LAST_LOOKS {
                break;
            }
            self.reactor.rt.sleep(LOOK_AGAIN).await;
        }
        self.reactor.shared.segments.live(seg) == 0
    }

    /// Whether a group is being emptied as a whole.
    pub(crate) fn is_evacuating(&self) -> bool {
        self.reactor.home().space.borrow().evacuation.is_some()
    }

    /// Waits for something that may give a relocation room: `progress`, or victims that were emptied. `false`: there is none,
    /// and nothing gives any while damaged segments stay as they are, or the array is being opened.
    pub(crate) async fn room_for_relocation(&self, from: Place, progress: EventWait<'_>) -> bool {
        if self.is_evacuating() {
            // Unless that is given up, room comes from elsewhere.
            either(progress, self.reactor.rt.sleep(LOOK_AGAIN)).await;
            return true;
        }
        self.collect_empty(from);
        let may_end_in_vain = self.reactor.shared.segments.any_is_damaged() || self.reactor.home().is_opening();
        let (goes_first, is_any) = {
            let space = self.reactor.home().space.borrow();
            (space.gives_back_first(&self.reactor.shared, from.group), !space.pending.is_empty())
        };
        if is_any && (goes_first || may_end_in_vain) || self.is_tight(from.group) {
            self.release_pending().await;
        } else if may_end_in_vain {
            either(progress, self.reactor.rt.sleep(LOOK_AGAIN)).await;
            return self.may_get_room(from.group);
        } else {
            progress.await;
        }
        true
    }

    /// Whether relocation out of a group may get a segment soon.
    fn may_get_room(&self, group: GroupId) -> bool {
        let space = self.reactor.home().space.borrow();
        let is_coming = !space.pending.is_empty() || space.releases > 0;
        let is_checkpointing =
            || self.reactor.home().checkpoints.rounds.is_running() && space.for_meta(&self.reactor.shared).is_some();
        is_coming || space.has_some_for_relocation(&self.reactor.shared, group) || is_checkpointing()
    }

    /// Segments that lost their last current block meanwhile need no cleaning: without this, a relocation that waits for
    /// a segment could wait for one that is there. The victim in which `place` lies is left to whoever cleans it.
    fn collect_empty(&self, place: Place) {
        let table = &self.reactor.shared.segments;
        let victim = table.index(place.group, place.segment);
        let is_empty = |&seg: &SegIx| seg != victim && table.live(seg) == 0 && self.may_clean(seg);
        let mut empty = self.reactor.home().candidates(&self.reactor.shared).without_current_blocks(table);
        empty.retain(is_empty);
        for seg in empty {
            table.set_state(seg, SegState::Pending);
            self.reactor.home().space.borrow_mut().pending.push(seg);
        }
    }

    /// Makes the moves durable and gives the emptied segments back, now.
    pub(crate) async fn release_pending(&self) {
        self.release_within(Nanos::ZERO).await;
    }

    /// The same, as soon as the stripes that hold the moves, and what made other blocks garbage, are full. What is not full in time is
    /// cut short.
    pub(crate) async fn release_as_stripes_fill(&self) {
        self.release_within(PATIENCE).await;
    }

    async fn release_within(&self, patience: Nanos) {
        let _step = self.reactor.shared.during("release");
        let pending = self.reactor.home().space.borrow_mut().begin_release();
        let skip = planted::is(Bug::VictimFreedUnflushed);
        if skip || Flusher::of(&self.reactor).flush_what_fills(patience).await.is_ok() {
            Releaser::of(&self.reactor).free_segments(pending.clone()).await;
        } else {
            self.reactor.home().space.borrow_mut().pending.extend(&pending);
        }
        self.reactor.home().space.borrow_mut().end_release(pending);
        self.reactor.home().space_changed.notify();
    }
}
