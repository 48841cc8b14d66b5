//! Retiring: an R-group leaves an open array, its data moved to the others first.
//!
//! From the commit that says *retiring* nothing new goes into the group, and volumes may hold only what the others have
//! room for. Its segments are emptied one after the other, through the lane that clients' writes take: whatever makes
//! room for those makes room for this. What they held in discards and checkpoints is covered by new checkpoints. When
//! nothing is left, and nothing refers to the group any more, one commit says that it has left, and its members forget that
//! they were any. From then on its number, those of its members and its addresses may be another group's.
//!
//! Every step leaves a whole array: a crash before the last commit finds the group retiring, and the next opening goes on
//! with it; a crash after it finds devices that are members no more, and wipes them.
//!
//! Why nothing can refer to it. *Maps in memory*: a segment is given back when no entry points there, after a flush of
//! everything, and nobody gets a segment of the group any more. *Checkpoints*: two are kept, either of which an opening may
//! have to go by, and both are taken when all of the group had been given back. *Stripes that a recovery reads*: it reads
//! those that came after its checkpoint, and none in the group did; their headers name places, not addresses, and the
//! devices of a group that comes have the places where segments begin zeroed first. *Whoever is under way*: reads, scrubs
//! and rebuilds that had an address or a number in hand have ended ([`crate::space::looks`]), nobody fills or drains a member, and
//! nothing of the group is on a list. *The old devices*: a device is what its UUID says, not its number.

use std::rc::Rc;

use cygnus_format::GroupState;
use cygnus_types::{BLOCK, GroupId, MemberIx, Nanos};

use crate::care::member::MemberShared;
use crate::care::member_state;
use crate::care::prepare::{Preparer, Released};
use crate::care::seats::Taken;
use crate::clean::emptied::Emptied;
use crate::clean::orphans::Orphans;
use crate::clean::relocate::{Mover, Moving};
use crate::durable::checkpoint::Checkpointer;
use crate::durable::commit::Committer;
use crate::job::{Job, JobKind, JobState};
use crate::planted::{self, Bug};
use crate::reactor::Reactor;
use crate::read::scan::Scanner;
use crate::resize::turn::recompute_usable;
use crate::space::grace::grace;
use crate::space::release::Releaser;
use crate::space::segments::{SegIx, SegState};

/// How often to look whether what others have begun in the group has ended.
const LOOK_AGAIN: Nanos = Nanos::millis(5);

/// Checkpoints that the superblocks name, the newest ones.
const CHECKPOINTS_KEPT: usize = 2;

/// What is to be done next for a group that retires.
enum Step {
    /// Somebody may append to its segments still.
    Close,
    /// A segment holds current blocks.
    Empty(SegIx),
    /// Segments hold nothing but what a new checkpoint makes superfluous.
    Checkpoint,
    /// Others are at work in it.
    Wait,
    /// Nothing is left in it.
    Dismiss,
}

/// Has groups leave the array: see the module's text.
#[derive(Clone)]
pub(crate) struct Retirement {
    reactor: Rc<Reactor>,
}

impl Retirement {
    pub(crate) fn of(reactor: &Rc<Reactor>) -> Self {
        Self { reactor: reactor.clone() }
    }

    /// Puts a group into a state, here and in what the next commit writes; its free space follows.
    pub(crate) fn regroup(&self, group: GroupId, to: GroupState) {
        member_state::change_group(&mut self.reactor.home().state.borrow_mut().groups[group.index()], to);
        self.reactor.shared.set_group_state(group, to);
        match to {
            GroupState::InService => self.reactor.home().space.borrow_mut().readmit(&self.reactor.shared, group),
            _ => self.reactor.home().space.borrow_mut().withdraw(&self.reactor.shared, group),
        }
        recompute_usable(&self.reactor);
        self.reactor.update_pressure();
        self.reactor.home().space_changed.notify();
    }

    /// Goes on with groups that were retiring when the array was last closed, or crashed.
    pub(crate) fn resume_retiring(&self) {
        let retiring: Vec<GroupId> = self.reactor.shared.groups_in(GroupState::Retiring).collect();
        for group in retiring {
            self.begin_retiring(group);
        }
    }

    pub(crate) fn begin_retiring(&self, group: GroupId) -> u64 {
        let job = self.reactor.home().jobs.begin(
            &self.reactor.rt,
            JobKind::Retire,
            format!("R-group {}", group.0),
            self.left_in(group),
        );
        let id = job.id();
        self.reactor.shared.log(format!("{group} retires: its data moves to the other groups"));
        self.reactor.home().regroup.retirers.set(self.reactor.home().regroup.retirers.get() + 1);
        let retirement = self.clone();
        self.reactor.rt.spawn(async move {
            let end = retirement.retire_group(group, &job).await;
            if let JobState::Failed(why) = &end {
                retirement.reactor.shared.log(format!("{group} does not retire: {why}"));
            }
            job.end(end);
            retirement.reactor.home().regroup.retirers.set(retirement.reactor.home().regroup.retirers.get() - 1);
            retirement.reactor.home().members_changed.notify();
        });
        id
    }

    /// Bytes of current data in a group.
    pub(crate) fn left_in(&self, group: GroupId) -> u64 {
        let table = &self.reactor.shared.segments;
        let closed = table.of_group(group).filter(|&seg| table.state(seg) != SegState::Open);
        closed.map(|seg| u64::from(table.live(seg)) * BLOCK as u64).sum()
    }

    async fn retire_group(&self, group: GroupId, job: &Job) -> JobState {
        let _step = self.reactor.shared.during("retire");
        loop {
            if let Some(why) = self.reactor.shared.fault() {
                return JobState::Failed(why.to_string());
            }
            if self.reactor.is_ending() {
                return JobState::Failed("the array was closed; it goes on when that is opened again".into());
            }
            if job.is_cancelled() {
                return self.stay(group, JobState::Cancelled).await;
            }
            job.set_left(self.left_in(group));
            match self.next_step(group) {
                Step::Close => Releaser::of(&self.reactor).close_segments_of(group).await,
                Step::Empty(seg) => match self.evacuate(seg, job).await {
                    0 => {}
                    lost => {
                        let why = format!(
                            "{lost} blocks of {group} are beyond redundancy and cannot be moved: 'array scrub' lists \
                             them; overwrite or discard them, then retire it again"
                        );
                        return self.stay(group, JobState::Failed(why)).await;
                    }
                },
                Step::Checkpoint => {
                    // What keeps it from succeeding stops the array, or is over the next time.
                    if Checkpointer::of(&self.reactor).checkpoint().await.is_err() {
                        self.reactor.rt.sleep(LOOK_AGAIN).await;
                    }
                }
                Step::Wait => {
                    self.reactor.home().space_changed.notify();
                    self.reactor.rt.sleep(LOOK_AGAIN).await;
                }
                Step::Dismiss => {
                    if let Some(end) = self.dismiss(group).await {
                        return end;
                    }
                }
            }
        }
    }

    fn next_step(&self, group: GroupId) -> Step {
        let table = &self.reactor.shared.segments;
        let in_state = |wanted: SegState| table.of_group(group).filter(move |&seg| table.state(seg) == wanted);
        let home = self.reactor.home();
        // Whoever empties or restores a segment of it ends that first, and so does whoever fills a member.
        if home.space.borrow().is_cleaned(group.index())
            || in_state(SegState::Pending).next().is_some()
            || self.is_filled_or_claimed(group)
        {
            return Step::Wait;
        }
        if in_state(SegState::Open).next().is_some() {
            return Step::Close;
        }
        let holds_data = |seg: &SegIx| table.live(*seg) > 0 && !home.pins.has(*seg);
        if let Some(seg) = in_state(SegState::Sealed).chain(in_state(SegState::Damaged)).find(holds_data) {
            return Step::Empty(seg);
        }
        let mut superfluous = in_state(SegState::Sealed).chain(in_state(SegState::Damaged));
        if superfluous.any(|seg| self.is_superfluous(seg)) {
            self.free_emptied(group);
            return Step::Wait;
        }
        if in_state(SegState::Withheld).count() as u32 == self.reactor.shared.layout.segments(group) {
            return Step::Dismiss;
        }
        let pinned = table.of_group(group).any(|seg| home.pins.has(seg));
        if pinned { Step::Wait } else { Step::Checkpoint }
    }

    /// Whether nothing of a segment is needed any more, and nobody works on it.
    fn is_superfluous(&self, seg: SegIx) -> bool {
        self.reactor.shared.segments.live(seg) == 0 && Emptied::of(&self.reactor).may_be_given_back(seg)
    }

    /// Hands segments that are emptied to the cleaner, which gives them back after a flush of everything.
    fn free_emptied(&self, group: GroupId) {
        let table = &self.reactor.shared.segments;
        let emptied =
            |&seg: &SegIx| matches!(table.state(seg), SegState::Sealed | SegState::Damaged) && self.is_superfluous(seg);
        for seg in table.of_group(group).filter(emptied) {
            table.set_state(seg, SegState::Pending);
            self.reactor.home().space.borrow_mut().pending.push(seg);
        }
    }

    /// Whether a member of a group is awaited, is being filled or drained, or somebody is about to do that. (An array that
    /// waited for a member of a group that has left would wait for ever.)
    fn is_filled_or_claimed(&self, group: GroupId) -> bool {
        let (home, layout) = (self.reactor.home(), &self.reactor.shared.layout);
        let is_here = |member: MemberIx| layout.column_of(member).0 == group;
        let mut members = (0..layout.width(group)).map(|column| self.reactor.shared.member(group, column).1);
        members.any(MemberShared::is_awaited)
            || home.fills.all.borrow().iter().any(|fill| is_here(fill.member))
            || home.places.claimed.borrow().iter().any(|&member| is_here(member))
            || home.places.arrivals.borrow().iter().any(|returning| is_here(returning.member))
    }

    /// Sees to it that nothing outside the maps refers to a group in which nothing is left: neither of the checkpoints that
    /// are kept, and nobody who is under way. `false`: try again.
    async fn forget_addresses(&self) -> bool {
        if planted::is(Bug::GroupLeavesTooEarly) {
            return true;
        }
        for _ in 0..CHECKPOINTS_KEPT {
            // What keeps it from succeeding stops the array, or is over the next time.
            if Checkpointer::of(&self.reactor).checkpoint().await.is_err() {
                self.reactor.rt.sleep(LOOK_AGAIN).await;
                return false;
            }
        }
        grace(&self.reactor).await;
        true
    }

    /// Moves every current block out of a segment; says how many cannot be.
    async fn evacuate(&self, seg: SegIx, job: &Job) -> u64 {
        let table = &self.reactor.shared.segments;
        let (group, segment) = table.locate(seg);
        let (mut row, mut life, mut lost) = (0, None, 0);
        while table.live(seg) > 0 && !job.is_cancelled() {
            let Ok(found) = Scanner::of(&self.reactor).stripe_surely_at(group, segment, row, life).await else {
                return 0;
            };
            let Some(stripe) = found else {
                // None but the blocks of a volume that is being deleted is left, or their headers are gone.
                if !Emptied::of(&self.reactor).is_emptied(seg).await {
                    let outcome = Orphans::of(&self.reactor).move_out_of(seg, &Moving::evacuating()).await;
                    job.advance(outcome.moved * BLOCK as u64);
                    lost = outcome.unreadable;
                }
                break;
            };
            let live = Mover::of(&self.reactor).live_blocks(&stripe).len() as u64 * BLOCK as u64;
            self.reactor.throttle(live).await;
            let moved = Mover::of(&self.reactor).move_stripe(&stripe, &Moving::evacuating()).await;
            job.advance(moved.moved * BLOCK as u64);
            lost += moved.lost.len() as u64;
            if moved.stopped || moved.without_room > 0 {
                // It is looked at again.
                return 0;
            }
            (row, life) = (stripe.common.end_row(), Some(stripe.common.segment_seq));
        }
        if self.reactor.is_ending() || job.is_cancelled() { 0 } else { lost }
    }

    /// The group stays in service after all.
    async fn stay(&self, group: GroupId, end: JobState) -> JobState {
        self.regroup(group, GroupState::InService);
        match Committer::of(&self.reactor).commit_state().await {
            Ok(()) => end,
            Err(why) => JobState::Failed(why.to_string()),
        }
    }

    /// Lets go of a group in which nothing is left; `None` if it has to be looked at again first.
    async fn dismiss(&self, group: GroupId) -> Option<JobState> {
        let may_leave = self.forget_addresses().await && !self.reactor.is_ending();
        // From here to the end of its addresses at one go: nobody finds half of it.
        if !may_leave || !matches!(self.next_step(group), Step::Dismiss) {
            return None;
        }
        let released = self.release_members(group);
        let _taken = Taken::new(&self.reactor, released.iter().map(|released| released.dev).collect());
        self.regroup(group, GroupState::Retired);
        self.reactor.shared.drop_group(group);
        if let Err(why) = Committer::of(&self.reactor).commit_state().await {
            return Some(JobState::Failed(why.to_string()));
        }
        self.reactor.shared.log(format!("{group} has left the array"));
        Preparer::of(&self.reactor).forget_released(&released).await;
        Some(JobState::Done)
    }

    /// Takes the members of a group out of service; says which devices they had.
    fn release_members(&self, group: GroupId) -> Vec<Released> {
        let segments = self.reactor.shared.layout.segments(group);
        let columns = 0..self.reactor.shared.layout.width(group);
        let members = columns.map(|column| self.reactor.shared.member(group, column).1);
        members.filter_map(|state| Some(Released { dev: state.release()?, name: state.name(), segments })).collect()
    }
}
