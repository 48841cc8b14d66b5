//! The space manager: which segments are free, and who gets them.
//!
//! It lives on the home reactor. Space leaves it by grants of whole segments, so the reactors never contend for it
//! (ScalaAFA section 3.3), and comes back when the cleaner has emptied a segment.

use std::collections::VecDeque;
use std::rc::Rc;

use cygnus_format::{GroupState, Layout, Stream};
use cygnus_policy::{GroupView, PressureView};
use cygnus_runtime::either;
use cygnus_types::{GroupId, Nanos, ReactorId};

use crate::reactor::Reactor;
use crate::segments::{SegIx, SegState};
use crate::shared::{Shared, count};
use crate::turn::CleaningTurn;
use crate::writer::Grant;

/// How long a writer waits for a group that has enough to give before it takes what there is.
const PATIENCE: Nanos = Nanos::millis(50);

/// See the module's text.
pub(crate) struct Space {
    free: Vec<VecDeque<SegIx>>,
    /// Segments emptied whose blocks' new places may not be durable yet.
    pub pending: Vec<SegIx>,
    /// Rounds under way in which emptied segments are given back.
    pub releases: u32,
    /// Blocks of space that the pending segments give beyond those that moved out of them.
    pub reclaimed: u64,
    pub front_end: usize,
    /// A group that was added, until it has taken over as front-end.
    fresh: Option<usize>,
    /// Blocks found in torn stripes are still being written anew: a checkpoint now would forget those left.
    pub recovering: bool,
    /// The group in which the cleaner works.
    pub cleaning: Option<usize>,
    /// The turn of the group that was cleaned last.
    pub turn: CleaningTurn,
    pub next_segment_seq: u64,
    /// Writers that wait for a segment.
    pub starving: u32,
}

/// Data blocks that a segment holds when it is filled with full stripes.
pub(crate) fn segment_capacity(layout: &Layout) -> u32 {
    let geometry = layout.geometry();
    let (mut row, mut blocks) = (0, 0);
    loop {
        let rows = geometry.full_rows_at(row);
        if rows == 0 {
            return blocks;
        }
        blocks += geometry.slots(rows);
        row += geometry.header_blocks(rows) + rows;
    }
}

/// Segments that a checkpoint of `pages` pages needs, one to spare for stripes cut short.
pub(crate) fn checkpoint_segments(layout: &Layout, pages: u64) -> u64 {
    pages.div_ceil(u64::from(segment_capacity(layout))) + 1
}

impl Space {
    /// Everything that the table says is free.
    pub(crate) fn new(shared: &Shared, next_segment_seq: u64) -> Self {
        let groups = shared.layout.groups();
        let mut space = Self {
            free: vec![VecDeque::new(); groups],
            pending: Vec::new(),
            releases: 0,
            reclaimed: 0,
            front_end: 0,
            fresh: None,
            recovering: false,
            cleaning: None,
            turn: CleaningTurn::default(),
            next_segment_seq,
            starving: 0,
        };
        let all = (0..shared.segments.count()).map(SegIx);
        all.filter(|&seg| shared.segments.state(seg) == SegState::Free).for_each(|seg| space.put_free(shared, seg));
        space
    }

    pub(crate) fn free_in(&self, group: usize) -> u32 {
        self.free[group].len() as u32
    }

    /// Segments of a group that are emptied and not given back yet.
    pub(crate) fn pending_in(&self, shared: &Shared, group: GroupId) -> u32 {
        self.pending.iter().filter(|&&seg| shared.segments.locate(seg).0 == group).count() as u32
    }

    /// A group that was added and has not been front-end yet.
    pub(crate) fn fresh(&self) -> Option<usize> {
        self.fresh
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
        assert_eq!(group.index(), self.free.len(), "groups come one after the other");
        self.free.push(VecDeque::new());
        shared.segments.of_group(group).for_each(|seg| self.put_free(shared, seg));
        self.fresh.get_or_insert(group.index());
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

    /// What writers should take for a segment, so that they do not fill the front-end before the next one is clean; zero:
    /// as little as they can.
    fn writers_pace(&self, shared: &Shared, views: &[GroupView]) -> Nanos {
        let Some(front_end) = views.get(self.front_end).filter(|view| view.is_present()) else { return Nanos::ZERO };
        let next = (1..views.len()).map(|step| (self.front_end + step) % views.len()).find(|&g| views[g].is_present());
        let is_for_them = shared.policies.front_end.is_exclusive()
            && self.fresh.is_none()
            && next.is_some()
            && self.turn.group() == next;
        let writable = front_end.free.saturating_sub(front_end.reserve);
        if is_for_them { self.turn.writers_pace(writable) } else { Nanos::ZERO }
    }

    /// The groups as the policies see them. Those that were only just taken into the layout are not there yet.
    pub(crate) fn views(&self, shared: &Shared) -> Vec<GroupView> {
        let pages: u64 = shared.volumes().iter().map(|v| v.page_bound()).sum();
        let in_service = shared.groups_in(GroupState::InService).count() as u64;
        let for_checkpoint = checkpoint_segments(&shared.layout, pages).div_ceil(in_service) as u32;
        let view = |group: GroupId| match shared.group_state(group) {
            GroupState::InService => {
                let segments = shared.layout.segments(group);
                let reserve = shared.policies.reserve_of(segments) + for_checkpoint;
                GroupView { segments, free: self.free_in(group.index()), reserve }
            }
            _ => GroupView::ABSENT,
        };
        (0..self.free.len()).map(|group| view(GroupId(group as u16))).collect()
    }

    /// The group with most free segments, if it has more than `reserve`.
    fn emptiest(&self, reserve: u32) -> Option<usize> {
        self.emptiest_but(None, reserve)
    }

    /// The same among all groups but one.
    fn emptiest_but(&self, not: Option<usize>, reserve: u32) -> Option<usize> {
        let others = (0..self.free.len()).filter(|&g| Some(g) != not);
        others.max_by_key(|&g| self.free[g].len()).filter(|&g| self.free_in(g) > reserve)
    }

    /// Where a checkpoint's pages go: not beside the writes of users, if there is room elsewhere.
    fn for_meta(&self, shared: &Shared) -> Option<usize> {
        let reserve = shared.policies.relocation_reserve;
        let busy = shared.policies.front_end.is_exclusive().then_some(self.front_end);
        self.emptiest_but(busy, reserve).or_else(|| self.emptiest(reserve))
    }

    /// A segment for a stream, if the rules allow one now.
    fn try_grant(&mut self, shared: &Shared, stream: Stream, owner: ReactorId, urgent: bool) -> Option<Grant> {
        let group = match stream {
            // Recovery writes little, and only afterwards can a checkpoint be taken.
            Stream::User if self.recovering => self
                .emptiest(shared.policies.relocation_reserve)
                // What several recoveries that were cut short left behind can take even that.
                .or_else(|| self.emptiest(0).filter(|&group| self.cleaning != Some(group)))?,
            Stream::User => {
                let chosen =
                    shared.policies.front_end.choose(&self.views(shared), self.front_end, self.fresh, urgent)?;
                self.fresh.take_if(|fresh| *fresh == chosen);
                if chosen != self.front_end {
                    count(&shared.totals.rotations, 1);
                    shared.step("rotation", true);
                    self.front_end = chosen;
                }
                chosen
            }
            // Inside the group being cleaned (SWAN section 3.2); but a group without any free segment could never be
            // cleaned again, and then another one lends it the first, unless some are just being given back.
            Stream::Relocation => match self.cleaning? {
                group if !self.free[group].is_empty() => group,
                _ if self.releases > 0 => return None,
                _ => self.emptiest(0)?,
            },
            // The last checkpoint is taken when nothing is relocated any more.
            Stream::Meta if shared.is_closed() => self.emptiest(0)?,
            Stream::Meta => self.for_meta(shared)?,
        };
        let seg = self.free[group].pop_front()?;
        let segment_seq = self.next_segment_seq;
        self.next_segment_seq += 1;
        shared.segments.open(seg, owner, segment_seq);
        let (group, segment) = shared.segments.locate(seg);
        Some(Grant { seg, group, segment, segment_seq })
    }
}

impl Reactor {
    /// A segment for a stream of reactor `owner`, as soon as there is one; `None` when the array closes.
    pub(crate) async fn grant_here(self: &Rc<Self>, stream: Stream, owner: ReactorId) -> Option<Grant> {
        let home = self.home();
        let mut counted = false;
        let urgent_at = self.rt.now() + PATIENCE;
        loop {
            let changed = home.space_changed.wait();
            let urgent = self.rt.now() >= urgent_at;
            let granted = home.space.borrow_mut().try_grant(&self.shared, stream, owner, urgent);
            // Closing still takes a last checkpoint.
            let refused = self.shared.is_closed() && stream != Stream::Meta;
            if granted.is_some() || refused {
                home.space.borrow_mut().starving -= u32::from(counted);
                self.update_pressure();
                // The cleaner looks at what is left.
                home.space_changed.notify();
                return granted;
            }
            if !std::mem::replace(&mut counted, true) {
                home.space.borrow_mut().starving += 1;
                self.update_pressure();
                home.space_changed.notify();
            }
            match urgent {
                true => changed.await,
                false => either(changed, self.rt.sleep_until(urgent_at)).await,
            }
        }
    }

    /// Recomputes how much writers are slowed.
    pub(crate) fn update_pressure(&self) {
        let space = self.home().space.borrow();
        let views = space.views(&self.shared);
        let writable = views.iter().map(|g| g.free.saturating_sub(g.reserve)).sum();
        let segments = views.iter().map(|g| g.segments).sum();
        // As long as not all of the space is live data, there is garbage to be had.
        let cleanable = space.cleaning.is_some() || space.starving > 0;
        let delay = self.shared.policies.pressure.delay_per_block(PressureView { writable, segments, cleanable });
        let per_segment = space.writers_pace(&self.shared, &views);
        let interval = Nanos(per_segment.0 / u64::from(segment_capacity(&self.shared.layout)));
        self.shared.admission.set(delay, interval);
    }

    /// Gives segments that were emptied back to the free ones. The caller has made durable whatever replaced their
    /// blocks; the devices are told that the old contents are worthless, in one large range per column (SWAN section
    /// 3.2), before anything new is written there.
    pub(crate) async fn free_segments(self: &Rc<Self>, segs: Vec<SegIx>) {
        let geometry = *self.shared.layout.geometry();
        // Nobody begins to restore a column of them now; who has begun ends first.
        segs.iter().for_each(|&seg| self.shared.segments.set_state(seg, SegState::Pending));
        loop {
            let unpinned = self.home().unpinned.wait();
            if !segs.iter().any(|seg| self.home().pinned.borrow().contains(seg)) {
                break;
            }
            unpinned.await;
        }
        let mut trims = Vec::new();
        for &seg in &segs {
            let (group, segment) = self.shared.segments.locate(seg);
            for column in 0..geometry.width() {
                let (_, state) = self.shared.member(group, column);
                for dev in state.devices_to_write() {
                    count(&state.counters.trimmed, geometry.segment_bytes());
                    trims.push(self.rt.trim(dev, geometry.device_offset(segment.0, 0), geometry.segment_bytes()));
                }
            }
        }
        for trim in trims {
            // A device that will not discard still takes new data.
            let _ = trim.await;
        }
        let home = self.home();
        for seg in segs {
            home.space.borrow_mut().put_free(&self.shared, seg);
        }
        self.update_pressure();
        home.space_changed.notify();
    }
}
