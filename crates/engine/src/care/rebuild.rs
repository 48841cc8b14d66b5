//! Rebuild: members that lack something are filled while the array goes on.
//!
//! A member being filled gets every write from the moment it is let in, so only segments that began before lack its
//! column. These are restored one after the other, those of which most columns are lacking first. A segment whose
//! column is whole is read from the member; others are not. When nothing lacks any more, everything is made durable
//! and only then does the member count as online.
//!
//! A member that still works may be filled too, or rather a spare that is to take over from it: see [`crate::care::drain`]. Then
//! nothing lacks redundancy, so it comes last.
//!
//! How far it has come is in the superblocks ([`Holdings`]): a rebuild that was cut short, even by the loss of the
//! member for a while, goes on where it was, and a member that was only away gets what was written meanwhile.

use std::rc::Rc;

use cygnus_format::MemberState;
use cygnus_types::{GroupId, MemberIx, Nanos, SegmentId};

use crate::care::fill::Fill;
use crate::care::member::Departure;
use crate::care::member_state;
use crate::care::membership::Membership;
use crate::care::restore::Restorer;
use crate::care::seats::Seats;
use crate::care::succession::Succession;
use crate::durable::checkpoint::Checkpointer;
use crate::durable::commit::Committer;
use crate::durable::flush::Flusher;
use crate::fault::Fault;
use crate::job::JobState;
use crate::reactor::Reactor;
use crate::space::segments::{SegIx, SegState};

/// Segments restored between two records of the progress, at most; each record costs a flush of everything.
const RECORD_AFTER: u32 = 32;
/// Longest time between two records.
const RECORD_WITHIN: Nanos = Nanos::secs(10);

/// When the progress was last recorded.
struct Recorded {
    at: Nanos,
    segments: u32,
}

/// Fills members: see the module's text.
#[derive(Clone)]
pub(crate) struct Rebuilder {
    reactor: Rc<Reactor>,
    membership: Membership,
    restorer: Restorer,
}

impl Rebuilder {
    pub(crate) fn of(reactor: &Rc<Reactor>) -> Self {
        Self { reactor: reactor.clone(), membership: Membership::of(reactor), restorer: Restorer::of(reactor) }
    }

    /// The rebuilder: runs on the home reactor until the array closes.
    pub(crate) async fn run(self) {
        let home = self.reactor.home();
        home.fills.running.set(true);
        let mut recorded = Recorded { at: self.reactor.rt.now(), segments: 0 };
        while !self.reactor.shared.is_ending() {
            let changed = home.members_changed.wait();
            self.end_fills(self.reactor.shared.fault()).await;
            let settled = match self.reactor.shared.check_fault() {
                Ok(()) => self.membership.settle_members().await,
                faulted => faulted,
            };
            self.end_fills(settled.err()).await;
            self.prepare_fills().await;
            match self.most_endangered_segment() {
                Some(seg) => {
                    self.restorer.restore_segment(seg).await;
                    recorded.segments += 1;
                    if recorded.segments >= self.record_after()
                        || self.reactor.rt.now().since(recorded.at) > RECORD_WITHIN
                    {
                        self.record_progress().await;
                        recorded = Recorded { at: self.reactor.rt.now(), segments: 0 };
                    }
                }
                None if self.finish_fills().await => {}
                None => changed.await,
            }
        }
        self.record_progress().await;
        // Their jobs end with them.
        home.fills.all.borrow_mut().clear();
        home.fills.running.set(false);
        home.members_changed.notify();
    }

    /// Small arrays record more often, large ones by their number of segments.
    fn record_after(&self) -> u32 {
        (self.reactor.shared.layout.segments(GroupId(0)) / 8).clamp(1, RECORD_AFTER)
    }

    /// Ends the jobs of devices that have left service, or all of them when the array takes no writes any more.
    async fn end_fills(&self, fault: Option<Fault>) {
        let mut drain_given_up = false;
        for fill in Seats::of(&self.reactor).fills() {
            let end = match &fault {
                _ if fill.job.is_cancelled() => JobState::Cancelled,
                Some(why) => JobState::Failed(why.to_string()),
                None => match self.why_it_cannot_go_on(&fill) {
                    Some(why) => JobState::Failed(why),
                    None => continue,
                },
            };
            let state = &self.reactor.shared.members[fill.member.index()];
            match (&fill.successor, state.device()) {
                (Some(spare), _) => {
                    Succession::of(&self.reactor).give_up_drain(&fill, spare);
                    drain_given_up = true;
                }
                (None, Some(_)) if fill.job.is_cancelled() => {
                    self.reactor.take_out(fill.member, Departure::Dismissed, "filling it was cancelled");
                }
                (None, _) => {}
            }
            self.end_fill(&fill, end);
        }
        if drain_given_up {
            // What is on its way to that device must not land on what it will hold as somebody else's.
            let _ = Flusher::of(&self.reactor).flush_everything().await;
        }
    }

    fn end_fill(&self, fill: &Rc<Fill>, end: JobState) {
        self.reactor.home().fills.all.borrow_mut().retain(|f| !Rc::ptr_eq(f, fill));
        fill.job.end(end);
    }

    fn why_it_cannot_go_on(&self, fill: &Fill) -> Option<String> {
        let state = &self.reactor.shared.members[fill.member.index()];
        match &fill.successor {
            Some(spare) => Succession::of(&self.reactor).why_drain_cannot_go_on(fill, spare),
            None => (!state.is_filling()).then(|| format!("{} is out of service", state.name())),
        }
    }

    /// Ends the segments that were begun before a member was let in: from then on each segment either lacks its column
    /// for good, or has it from the first stripe on.
    async fn prepare_fills(&self) {
        let fresh: Vec<_> = Seats::of(&self.reactor).fills().into_iter().filter(|fill| !fill.is_prepared()).collect();
        if fresh.is_empty() {
            return;
        }
        let drains = fresh.iter().all(|fill| fill.successor.is_some());
        let _step = self.reactor.shared.during(if drains { "drain: prepare" } else { "rebuild: prepare" });
        let mut begun = Vec::new();
        for fill in fresh {
            let begins = match &fill.successor {
                Some(spare) => Succession::of(&self.reactor).begin_succession(&fill, spare).await,
                None => true,
            };
            begun.extend(begins.then_some(fill));
        }
        Checkpointer::of(&self.reactor).end_all_segments().await;
        for fill in begun {
            fill.prepared.set(true);
            fill.job.set_left(self.left_for(fill.member));
        }
    }

    /// Bytes of live data that a member still lacks.
    fn left_for(&self, member: MemberIx) -> u64 {
        let (group, _) = self.reactor.shared.layout.column_of(member);
        let lacking = self.reactor.shared.segments.of_group(group).filter(|&seg| self.lacks(member, seg));
        lacking.map(|seg| self.restorer.share_of_member(group, u64::from(self.reactor.shared.segments.live(seg)))).sum()
    }

    /// Whether the device being filled in a member's place lacks its column of a segment that holds something.
    fn lacks(&self, member: MemberIx, seg: SegIx) -> bool {
        let holds_something =
            matches!(self.reactor.shared.segments.state(seg), SegState::Sealed | SegState::Meta | SegState::Damaged);
        holds_something
            && !self.reactor.shared.members[member.index()].is_whole(self.reactor.shared.segments.locate(seg).1)
    }

    /// The segment to restore next: one of which most columns are lacking.
    fn most_endangered_segment(&self) -> Option<SegIx> {
        let table = &self.reactor.shared.segments;
        let fills = Seats::of(&self.reactor).fills();
        let filling = |group: GroupId| {
            fills.iter().filter(move |f| f.is_prepared() && self.reactor.shared.layout.column_of(f.member).0 == group)
        };
        let mut best: Option<(usize, SegIx)> = None;
        for group in (0..self.reactor.shared.layout.groups()).map(|g| GroupId(g as u16)) {
            if filling(group).next().is_none() {
                continue;
            }
            for seg in table.of_group(group).filter(|&seg| filling(group).any(|f| self.lacks(f.member, seg))) {
                let lacking = self.columns_lacking(group, table.locate(seg).1);
                if best.is_none_or(|(most, _)| lacking > most) {
                    best = Some((lacking, seg));
                }
            }
        }
        best.map(|(_, seg)| seg)
    }

    fn columns_lacking(&self, group: GroupId, segment: SegmentId) -> usize {
        let width = self.reactor.shared.layout.width(group);
        (0..width).filter(|&c| !self.reactor.shared.member(group, c).1.has(segment)).count()
    }

    /// First segment of the group of which a member lacks its column; the number of segments if there is none.
    fn first_lacking(&self, member: MemberIx) -> u32 {
        let (group, _) = self.reactor.shared.layout.column_of(member);
        let first = self.reactor.shared.segments.of_group(group).find(|&seg| self.lacks(member, seg));
        first.map_or(self.reactor.shared.layout.segments(group), |seg| self.reactor.shared.segments.locate(seg).1.0)
    }

    /// Makes what was restored durable, and writes down how far that goes.
    async fn record_progress(&self) {
        let reached: Vec<(MemberIx, u32)> = Seats::of(&self.reactor)
            .fills()
            .iter()
            .filter(|fill| fill.is_prepared() && fill.successor.is_none())
            .map(|fill| (fill.member, self.first_lacking(fill.member)))
            .collect();
        let _step = (!reached.is_empty()).then(|| self.reactor.shared.during("rebuild: record"));
        if reached.is_empty() || Flusher::of(&self.reactor).flush_everything().await.is_err() {
            return;
        }
        let (below, generation) = (self.reactor.shared.durable(), self.reactor.home().records.generation.get());
        {
            let mut state = self.reactor.home().state.borrow_mut();
            let mut members: Vec<_> = state.groups.iter_mut().flat_map(|g| &mut g.members).collect();
            for (member, restored) in reached {
                let holds = &mut members[member.index()].holds;
                // One that goes on where it was has to come as far again first. And only a device that has these superblocks
                // has what was restored by then: a copy of it from before has not.
                let has_superblocks = !self.reactor.home().records.behind.borrow().contains_key(&member);
                let is_filling = self.reactor.shared.members[member.index()].is_filling();
                if is_filling && has_superblocks && restored >= holds.restored {
                    (holds.restored, holds.restored_below, holds.generation) = (restored, below, generation);
                }
            }
        }
        // Should it fail, the progress before counts.
        let _ = Committer::of(&self.reactor).commit_state().await;
    }

    /// Members that lack nothing any more become online, and spares that lack nothing take over. Says whether any did, or there is
    /// something to restore again.
    async fn finish_fills(&self) -> bool {
        let nothing_lacks = |fill: &Rc<Fill>| fill.is_prepared() && self.left_segments(fill.member) == 0;
        let full: Vec<_> = Seats::of(&self.reactor).fills().into_iter().filter(nothing_lacks).collect();
        if full.is_empty() {
            return false;
        }
        let drains = full.iter().any(|fill| fill.successor.is_some());
        let _step = self.reactor.shared.during(if drains { "drain: hand over" } else { "rebuild: finish" });
        if self.reactor.shared.is_two_phase() {
            // Backups of stripes are not on the devices that were filled. An opening would miss the newest of them if other members
            // that have them are lost then; a checkpoint tells it that no stripe needs them. Nothing else depends on that.
            let _ = Checkpointer::of(&self.reactor).checkpoint().await;
        }
        if Flusher::of(&self.reactor).flush_everything().await.is_err() {
            return false;
        }
        // Where copies were lost with the caches of members, segments that had been emptied are needed again. One that left service
        // during the flush ends all the same.
        let lacks_again = |fill: &Rc<Fill>| {
            Seats::of(&self.reactor).filled_device(fill).is_some() && self.left_segments(fill.member) > 0
        };
        let full: Vec<_> = full.into_iter().filter(|fill| !lacks_again(fill)).collect();
        if full.is_empty() {
            return true;
        }
        let mut relieved = Vec::new();
        for fill in &full {
            match &fill.successor {
                Some(spare) => relieved
                    .extend(Succession::of(&self.reactor).hand_over(fill.member, spare).map(|was| (fill.member, was))),
                None => self.come_online(fill.member),
            }
        }
        let recorded = Committer::of(&self.reactor).commit_state().await;
        if recorded.is_ok() && !relieved.is_empty() {
            Succession::of(&self.reactor).dismiss_relieved(relieved).await;
        }
        for fill in full {
            let state = &self.reactor.shared.members[fill.member.index()];
            let end = match &recorded {
                // A drain that has not come to its end goes on, or ends elsewhere.
                _ if fill
                    .successor
                    .as_ref()
                    .is_some_and(|spare| !Succession::of(&self.reactor).has_taken_over(fill.member, spare)) =>
                {
                    continue;
                }
                Ok(()) if state.is_online() => JobState::Done,
                Ok(()) => JobState::Failed(format!("{} left service at the end", state.name())),
                Err(why) => JobState::Failed(why.to_string()),
            };
            // Part of what was to be done then has been overwritten meanwhile.
            fill.job.set_left(0);
            self.end_fill(&fill, end);
        }
        true
    }

    /// A member that lacks nothing any more becomes online, unless it has left service.
    fn come_online(&self, member: MemberIx) {
        let shared = &self.reactor.shared.members[member.index()];
        if !shared.end_filling() {
            return;
        }
        Seats::of(&self.reactor).change_desc(member, |desc| member_state::change(desc, MemberState::Online));
        self.reactor.shared.log(format!("{} is online as member {}", shared.name(), member.0));
    }

    fn left_segments(&self, member: MemberIx) -> usize {
        let (group, _) = self.reactor.shared.layout.column_of(member);
        self.reactor.shared.segments.of_group(group).filter(|&seg| self.lacks(member, seg)).count()
    }
}
