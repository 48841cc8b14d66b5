//! Emptying a whole group (serial array, HotStorage'17, section 2): everything current moves to other groups, then all
//! of it is discarded at once.
//!
//! The cleaner does the moving, segment by segment, and nothing of the group is given out meanwhile. What cannot be moved,
//! discards and pages of checkpoints, is covered by new checkpoints, as when a group retires. Should there be no room to go
//! on, which takes stripes cut very short, it is given up: then segments go back one by one, as in any other array, and
//! no other group is begun until somebody who writes has got one of them.

use std::rc::Rc;

use cygnus_policy::WholeGroupView;
use cygnus_runtime::either;
use cygnus_types::{GroupId, Nanos};

use crate::clean::emptied::Emptied;
use crate::counters::count;
use crate::durable::checkpoint::Checkpointer;
use crate::reactor::Reactor;
use crate::space::manager::{Space, group_id};
use crate::space::release::Releaser;
use crate::space::segments::{SegIx, SegState};

/// How often to look whether what keeps a group is gone.
const LOOK_AGAIN: Nanos = Nanos::millis(5);

/// Checkpoints after which a group must be free of older ones: two are kept, and one may be under way.
const MOST_CHECKPOINTS: u32 = 4;

/// What keeps a group from which everything was moved.
enum Keeps {
    /// Segments that somebody may append to.
    Open,
    /// Discards, or pages of checkpoints.
    Checkpoint,
    /// Somebody is at work in it.
    Busy,
}

/// For each group, the segments that its current blocks would fill, but for those that cannot be read.
fn live_segments(reactor: &Reactor) -> Vec<u32> {
    let (candidates, shared) = (reactor.home().candidates(&reactor.shared), &reactor.shared);
    let capacity = |group| u64::from(shared.shapes(group).capacity_as_promised());
    let groups = (0..shared.layout.groups()).map(group_id);
    groups.map(|group| candidates.live(group).div_ceil(capacity(group)) as u32).collect()
}

/// At the opening of an array whose groups are filled from front to back: what is not current in one, up to the last
/// segment in use, is garbage that goes with the whole. Which of the others were written nobody knows; they count as clean.
pub(crate) fn keep_garbage(reactor: &Reactor) {
    let shared = &reactor.shared;
    if !shared.policies.cleaning.is_by_group() {
        return;
    }
    let table = &shared.segments;
    let in_use = |seg: &SegIx| table.state(*seg) != SegState::Free;
    let groups = || (0..shared.layout.groups()).map(group_id);
    if groups().all(|group| table.of_group(group).any(|seg| in_use(&seg))) {
        // Without a reserve groups were cleaned by segments, and what that gave is all the room that there is.
        return;
    }
    for group in groups() {
        let Some(last) = table.of_group(group).filter(in_use).last() else { continue };
        for seg in table.of_group(group).filter(|&seg| seg < last && table.state(seg) == SegState::Free) {
            table.found(seg, SegState::Sealed);
        }
    }
    let next_segment_seq = reactor.home().space.borrow().next_segment_seq;
    *reactor.home().space.borrow_mut() = Space::new(shared, next_segment_seq);
}

/// Empties whole groups: see the module's text.
#[derive(Clone)]
pub(crate) struct Evacuator {
    reactor: Rc<Reactor>,
}

impl Evacuator {
    pub(crate) fn of(reactor: &Rc<Reactor>) -> Self {
        Self { reactor: reactor.clone() }
    }

    /// The group to empty as a whole: the one that is being emptied, or a new one.
    pub(crate) fn group_to_empty(&self) -> Option<GroupId> {
        let shared = &self.reactor.shared;
        let mut space = self.reactor.home().space.borrow_mut();
        let views = space.views(shared);
        if let Some(evacuation) = space.evacuation {
            if views[evacuation.group].is_present() {
                return Some(group_id(evacuation.group));
            }
            // It retires.
            space.stop_evacuation();
        }
        if !shared.policies.cleaning.is_by_group() || space.by_segments || space.recovering {
            return None;
        }
        drop(space);
        let live = live_segments(&self.reactor);
        let mut space = self.reactor.home().space.borrow_mut();
        let starving = space.is_starving();
        let view = WholeGroupView { groups: &views, front_end: space.front_end, live: &live, starving };
        let chosen = shared.policies.cleaning.group_to_empty(&view);
        match chosen {
            Some(group) => space.begin_evacuation(group),
            None => space.by_segments = starving,
        }
        chosen.map(group_id)
    }

    /// Says how much is left to be moved.
    pub(crate) fn note_evacuation(&self, group: GroupId) {
        let live = live_segments(&self.reactor)[group.index()];
        let mut space = self.reactor.home().space.borrow_mut();
        let seq = space.next_segment_seq;
        space.turn.goes_on(group.index(), live, seq, self.reactor.rt.now());
        drop(space);
        self.reactor.update_pressure();
    }

    /// Relocation has no place in the group any more.
    pub(crate) fn aim_relocation_away_from(&self, group: GroupId) {
        for grant in self.reactor.leave_group(group) {
            self.reactor.home().space.borrow_mut().put_free(&self.reactor.shared, grant.seg);
        }
    }

    /// Nothing more can be moved out of a group: gives back all of it, or sees to what keeps it.
    pub(crate) async fn end_evacuation(&self, group: GroupId) {
        let changed = self.reactor.home().space_changed.wait();
        match self.what_keeps(group) {
            Some(Keeps::Open) => Releaser::of(&self.reactor).close_segments_of(group).await,
            // It would wait for room that only this group can give.
            Some(Keeps::Checkpoint) if self.checkpoint_lacks_room() => {
                self.reactor.home().space.borrow_mut().give_up_evacuation(&self.reactor.shared);
                Emptied::of(&self.reactor).release_pending().await;
            }
            Some(Keeps::Checkpoint) if self.may_checkpoint_again() => {
                Checkpointer::of(&self.reactor).start_checkpoint_at_once();
                either(changed, self.reactor.rt.sleep(LOOK_AGAIN)).await;
            }
            Some(Keeps::Checkpoint) => self.reactor.home().space.borrow_mut().give_up_evacuation(&self.reactor.shared),
            Some(Keeps::Busy) => {
                either(changed, self.reactor.rt.sleep(LOOK_AGAIN)).await;
            }
            None => {
                Emptied::of(&self.reactor).release_pending().await;
                let mut space = self.reactor.home().space.borrow_mut();
                if space.evacuation.is_some_and(|evacuation| evacuation.group == group.index()) {
                    space.stop_evacuation();
                    space.sort_free(group.index());
                    count(&self.reactor.shared.totals.evacuations, 1);
                }
                drop(space);
                self.reactor.update_pressure();
                self.reactor.home().space_changed.notify();
            }
        }
    }

    fn checkpoint_lacks_room(&self) -> bool {
        self.reactor.home().checkpoints.rounds.is_running()
            && self.reactor.home().space.borrow().for_meta(&self.reactor.shared).is_none()
    }

    fn may_checkpoint_again(&self) -> bool {
        if self.reactor.home().checkpoints.rounds.is_running() {
            return true;
        }
        let mut space = self.reactor.home().space.borrow_mut();
        space.evacuation.as_mut().is_some_and(|evacuation| {
            evacuation.checkpoints += 1;
            evacuation.checkpoints <= MOST_CHECKPOINTS
        })
    }

    fn what_keeps(&self, group: GroupId) -> Option<Keeps> {
        let table = &self.reactor.shared.segments;
        let any = |is: &dyn Fn(SegIx) -> bool| table.of_group(group).any(is);
        let busy = |seg| self.reactor.home().pins.has(seg) || table.rescues(seg) > 0;
        if any(&|seg| table.state(seg) == SegState::Open) {
            return Some(Keeps::Open);
        }
        if any(&|seg| table.state(seg) == SegState::Sealed && busy(seg)) {
            return Some(Keeps::Busy);
        }
        any(&|seg| matches!(table.state(seg), SegState::Meta | SegState::Sealed)).then_some(Keeps::Checkpoint)
    }
}
