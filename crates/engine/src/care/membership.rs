//! Who is a member: stale members come back, spares and replacements take the place of lost ones. On the home reactor.

use std::rc::Rc;

use cygnus_format::{Holdings, MemberState};
use cygnus_runtime::{DeviceInfo, IoError};
use cygnus_types::{MemberIx, Uuid};

use crate::care::fill::Fill;
use crate::care::member_state;
use crate::care::places::{Returning, Spare};
use crate::care::prepare::Preparer;
use crate::care::seats::{Claim, Promotion, Seats};
use crate::durable::commit::Committer;
use crate::fault::Fault;
use crate::job::JobKind;
use crate::reactor::Reactor;

/// Which device is to be filled, and what it has already.
pub(crate) struct Candidate {
    pub device: DeviceInfo,
    /// Identity of a device that is new in this place; `None`: the member itself comes back.
    pub new_uuid: Option<Uuid>,
    pub holds: Holdings,
}

/// Why a spare cannot take a member's place.
#[derive(Debug, thiserror::Error)]
enum NotReady {
    #[error(transparent)]
    Io(#[from] IoError),
    #[error("it has not ended what was asked of it earlier")]
    Busy,
}

/// Gives places to devices: see the module's text.
#[derive(Clone)]
pub(crate) struct Membership {
    reactor: Rc<Reactor>,
}

impl Membership {
    pub(crate) fn of(reactor: &Rc<Reactor>) -> Self {
        Self { reactor: reactor.clone() }
    }

    /// Records who has left, lets in who has come back, and gives spares to lost members.
    pub(crate) async fn settle_members(&self) -> Result<(), Fault> {
        let arrivals = std::mem::take(&mut *self.reactor.home().places.arrivals.borrow_mut());
        for returning in arrivals {
            self.let_in(returning);
        }
        if self.reactor.shared.membership() != self.reactor.home().records.recorded_membership.get() {
            Committer::of(&self.reactor).commit_state().await?;
        }
        while let Some((member, spare)) = self.choose_spare() {
            self.promote(member, spare).await?;
        }
        Ok(())
    }

    fn let_in(&self, Returning { member, device, only_below }: Returning) {
        // An operator may have been quicker.
        let Some(_claim) = Claim::new(&self.reactor, member) else { return };
        if !matches!(Seats::of(&self.reactor).desc(member).state, MemberState::Missing | MemberState::Failed) {
            return;
        }
        if Seats::of(&self.reactor).is_in_use(device.ix) || self.reactor.rt.in_flight(device.ix) > 0 {
            // Somebody else has got it, or asks it something. If it is free later, it is found again.
            return;
        }
        let holds = Seats::of(&self.reactor).desc(member).holds.limited_to(only_below);
        self.begin_fill(member, Candidate { device, new_uuid: None, holds });
    }

    /// Begins to fill a member that is out of service: from now on it gets all writes, and the rebuilder sees to the
    /// rest. Returns the number of the job.
    pub(crate) fn begin_fill(&self, member: MemberIx, candidate: Candidate) -> u64 {
        let home = self.reactor.home();
        let Candidate { device, new_uuid, holds } = candidate;
        Seats::of(&self.reactor).change_desc(member, |desc| {
            member_state::change(desc, MemberState::Rebuilding);
            desc.holds = holds;
            if let Some(uuid) = new_uuid {
                (desc.uuid, desc.size_bytes) = (uuid, device.size);
            }
        });
        let shared = &self.reactor.shared.members[member.index()];
        assert_eq!(
            self.reactor.rt.in_flight(device.ix),
            0,
            "what is on its way to {} could land too late",
            device.name
        );
        if let Some(uuid) = new_uuid {
            shared.forget_errors();
            home.records.newcomers.borrow_mut().push(uuid);
        }
        // Until it gets one, it has the superblock that it had when it left; a new device has none that says anything.
        home.records.behind.borrow_mut().insert(member, holds.generation);
        shared.begin_filling(&device);
        let kind = if holds == Holdings::default() { JobKind::Rebuild } else { JobKind::CatchUp };
        let job = home.jobs.begin(&self.reactor.rt, kind, device.name.as_str(), 0);
        let id = job.id();
        self.reactor.shared.log(format!("{} takes part as member {}: {} begins", device.name, member.0, kind.word()));
        home.fills.all.borrow_mut().push(Rc::new(Fill::new(member, holds, job)));
        home.members_changed.notify();
        id
    }

    /// A member that is lost for now, and the smallest spare that can take its place. Groups that lack most come first;
    /// one that lacks more than its parity covers cannot be helped.
    fn choose_spare(&self) -> Option<(MemberIx, Spare)> {
        let home = self.reactor.home();
        let state = home.state.borrow();
        let layout = &self.reactor.shared.layout;
        let lost = (0..).map(MemberIx).zip(state.members()).filter(|(ix, desc)| {
            let (group, _) = layout.column_of(*ix);
            let lacking = self.reactor.shared.lacking_in(group);
            let is_lost = matches!(desc.state, MemberState::Missing | MemberState::Failed);
            is_lost
                && !state.has_left(*ix)
                && !home.places.claimed.borrow().contains(ix)
                && lacking <= layout.shape(group).losses()
        });
        let mut lost: Vec<MemberIx> = lost.map(|(ix, _)| ix).collect();
        lost.sort_by_key(|&ix| {
            std::cmp::Reverse(self.reactor.shared.lacking_in(self.reactor.shared.layout.column_of(ix).0))
        });
        lost.into_iter().find_map(|member| Some((member, self.fitting_spare(member)?)))
    }

    /// The smallest spare that is large enough for a member and not about to take over from another one.
    pub(crate) fn fitting_spare(&self, member: MemberIx) -> Option<Spare> {
        let need = Seats::of(&self.reactor).bytes_needed(member);
        let spares = self.reactor.home().places.spares.borrow();
        let fitting = spares.iter().filter(|spare| {
            let seats = Seats::of(&self.reactor);
            spare.device.size >= need && seats.takes_over_from(spare.uuid).is_none() && !seats.is_promoted(spare.uuid)
        });
        fitting.min_by_key(|spare| spare.device.size).cloned()
    }

    async fn promote(&self, member: MemberIx, spare: Spare) -> Result<(), Fault> {
        let Some(_claim) = Claim::new(&self.reactor, member) else { return Ok(()) };
        let _step = self.reactor.shared.during("spare: promote");
        let ready = self.make_ready(member, &spare).await;
        // Whether it works or not, it is no spare any more.
        Seats::of(&self.reactor).forget_spare(spare.uuid);
        match ready {
            Ok(()) => {
                let new_uuid = Some(spare.uuid);
                self.begin_fill(member, Candidate { device: spare.device, new_uuid, holds: Holdings::default() });
            }
            Err(why) => self.reactor.shared.log(format!("spare {} cannot be used: {why}", spare.device.name)),
        }
        Committer::of(&self.reactor).commit_state().await
    }

    /// Makes a spare ready for the place of a member. It stays listed as a spare, with its superblock: a crash leaves it one, or it is
    /// known for the member that it has become.
    async fn make_ready(&self, member: MemberIx, spare: &Spare) -> Result<(), NotReady> {
        let (group, _) = self.reactor.shared.layout.column_of(member);
        let _promotion = Promotion::new(&self.reactor, spare.uuid);
        // It gets no superblocks from now on. Those under way to it may not come later than what it gets as a member.
        self.reactor.home().records.committing.ended().await;
        let segments = self.reactor.shared.layout.segments(group);
        Preparer::of(&self.reactor).clear_headers(segments, spare.device.ix).await?;
        match self.reactor.rt.in_flight(spare.device.ix) {
            0 => Ok(()),
            _ => Err(NotReady::Busy),
        }
    }
}
