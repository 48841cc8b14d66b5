//! Who is a member: stale members come back, spares and replacements take the place of lost ones. On the home reactor.

use crate::care::fill::Fill;
use crate::care::member_state;
use crate::care::places::{Returning, Spare};
use crate::job::JobKind;
use crate::reactor::Reactor;
use crate::read::parallel::for_each;
use crate::recover::slots::write_empty;
use std::rc::Rc;

use cygnus_format::{Holdings, MemberDesc, MemberState};
use cygnus_runtime::{DeviceInfo, DeviceIx, IoError};
use cygnus_types::{BLOCK, MemberIx, Uuid};

/// The place of a member, wanted for a device that is being made ready; nobody else gets it meanwhile.
pub(crate) struct Claim<'a>(&'a Reactor, MemberIx);

impl<'a> Claim<'a> {
    /// `None` if somebody else has it, or the member is being filled or drained already.
    pub(crate) fn new(reactor: &'a Reactor, member: MemberIx) -> Option<Self> {
        let busy = reactor.desc(member).state == MemberState::Rebuilding || reactor.is_drained(member);
        // Made only if it is got: one that is dropped gives the place back.
        (!busy && reactor.home().places.claimed.borrow_mut().insert(member)).then(|| Self(reactor, member))
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.0.home().places.claimed.borrow_mut().remove(&self.1);
    }
}

/// Devices that are being made ready for some use; nobody else gets them meanwhile.
pub(crate) struct Taken<'a>(&'a Reactor, Vec<DeviceIx>);

impl<'a> Taken<'a> {
    /// The devices must not be in use; see [`Reactor::is_in_use`].
    pub(crate) fn new(reactor: &'a Reactor, devices: Vec<DeviceIx>) -> Self {
        reactor.home().places.taken.borrow_mut().extend(&devices);
        Self(reactor, devices)
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.0.home().places.taken.borrow_mut().retain(|dev| !self.1.contains(dev));
    }
}

/// Which device is to be filled, and what it has already.
pub(crate) struct Candidate {
    pub device: DeviceInfo,
    /// Identity of a device that is new in this place; `None`: the member itself comes back.
    pub new_uuid: Option<Uuid>,
    pub holds: Holdings,
}

impl Reactor {
    /// Records who has left, lets in who has come back, and gives spares to lost members.
    pub(crate) async fn settle_members(self: &Rc<Self>) -> Result<(), String> {
        let arrivals = std::mem::take(&mut *self.home().places.arrivals.borrow_mut());
        for returning in arrivals {
            self.let_in(returning);
        }
        if self.shared.membership() != self.home().records.recorded_membership.get() {
            self.commit_state().await?;
        }
        while let Some((member, spare)) = self.choose_spare() {
            self.promote(member, spare).await?;
        }
        Ok(())
    }

    fn let_in(&self, Returning { member, device, only_below }: Returning) {
        // An operator may have been quicker.
        let Some(_claim) = Claim::new(self, member) else { return };
        if !matches!(self.desc(member).state, MemberState::Missing | MemberState::Failed) {
            return;
        }
        let holds = self.desc(member).holds.limited_to(only_below);
        self.begin_fill(member, Candidate { device, new_uuid: None, holds });
    }

    /// What the superblocks say of a member.
    pub(crate) fn desc(&self, member: MemberIx) -> MemberDesc {
        *self.home().state.borrow().members().nth(member.index()).expect("members are numbered without gaps")
    }

    /// Changes what the next superblocks say of a member.
    pub(crate) fn change_desc(&self, member: MemberIx, change: impl FnOnce(&mut MemberDesc)) {
        let mut state = self.home().state.borrow_mut();
        let mut members = state.groups.iter_mut().flat_map(|g| &mut g.members);
        change(members.nth(member.index()).expect("members are numbered without gaps"));
    }

    /// Begins to fill a member that is out of service: from now on it gets all writes, and the rebuilder sees to the
    /// rest. Returns the number of the job.
    pub(crate) fn begin_fill(&self, member: MemberIx, candidate: Candidate) -> u64 {
        let home = self.home();
        let Candidate { device, new_uuid, holds } = candidate;
        self.change_desc(member, |desc| {
            member_state::change(desc, MemberState::Rebuilding);
            desc.holds = holds;
            if let Some(uuid) = new_uuid {
                (desc.uuid, desc.size_bytes) = (uuid, device.size);
            }
        });
        let shared = &self.shared.members[member.index()];
        assert_eq!(self.rt.in_flight(device.ix), 0, "what is on its way to {} could land too late", device.name);
        match new_uuid {
            Some(_) => shared.forget_errors(),
            // Until it gets one, it has the superblock that it had when it left.
            None => drop(home.records.behind.borrow_mut().insert(member, holds.generation)),
        }
        shared.begin_filling(&device);
        let kind = if holds == Holdings::default() { JobKind::Rebuild } else { JobKind::CatchUp };
        let job = home.jobs.begin(&self.rt, kind, device.name.as_str(), 0);
        let id = job.id();
        self.shared.log(format!("{} takes part as member {}: {} begins", device.name, member.0, kind.word()));
        home.fills.all.borrow_mut().push(Rc::new(Fill::new(member, holds, job)));
        home.members_changed.notify();
        id
    }

    /// Makes a device that is new to the array ready for so many segments: no superblock, and no stripe header where a
    /// segment begins, that somebody could take for something current.
    pub(crate) async fn prepare(self: &Rc<Self>, segments: u32, device: &DeviceInfo) -> Result<(), IoError> {
        write_empty(&self.rt, device.ix).await.map_err(|failed| failed.error)?;
        self.clear_headers(segments, device.ix).await
    }

    /// Zeros where segments begin.
    pub(crate) async fn clear_headers(self: &Rc<Self>, segments: u32, dev: DeviceIx) -> Result<(), IoError> {
        let geometry = *self.shared.layout.geometry();
        self.zero_ranges(dev, (0..segments).map(|s| (geometry.device_offset(s, 0), BLOCK)).collect()).await?;
        self.rt.flush(dev).await.map(drop)
    }

    async fn zero_ranges(self: &Rc<Self>, dev: DeviceIx, ranges: Vec<(u64, usize)>) -> Result<(), IoError> {
        let reactor = self.clone();
        let written = for_each(&self.rt, ranges, move |(offset, bytes)| {
            let reactor = reactor.clone();
            async move {
                let buf = reactor.rt.alloc(bytes).full();
                buf.zero(0..bytes);
                reactor.rt.write(dev, offset, buf).await.map(drop)
            }
        });
        written.await.into_iter().collect()
    }

    /// A member that is lost for now, and the smallest spare that can take its place. Groups that lack most come first;
    /// one that lacks more than its parity covers cannot be helped.
    fn choose_spare(&self) -> Option<(MemberIx, Spare)> {
        let home = self.home();
        let state = home.state.borrow();
        let geometry = self.shared.layout.geometry();
        let lost = (0..).map(MemberIx).zip(state.members()).filter(|(ix, desc)| {
            let lacking = self.shared.lacking_in(self.shared.layout.column_of(*ix).0);
            let is_lost = matches!(desc.state, MemberState::Missing | MemberState::Failed);
            is_lost
                && !state.has_left(*ix)
                && !home.places.claimed.borrow().contains(ix)
                && lacking <= usize::from(geometry.parity)
        });
        let mut lost: Vec<MemberIx> = lost.map(|(ix, _)| ix).collect();
        lost.sort_by_key(|&ix| std::cmp::Reverse(self.shared.lacking_in(self.shared.layout.column_of(ix).0)));
        lost.into_iter().find_map(|member| Some((member, self.fitting_spare(member)?)))
    }

    /// The smallest spare that is large enough for a member and not about to take over from another one.
    pub(crate) fn fitting_spare(&self, member: MemberIx) -> Option<Spare> {
        let need = self.bytes_needed(member);
        let spares = self.home().places.spares.borrow();
        let fitting =
            spares.iter().filter(|spare| spare.device.size >= need && self.takes_over_from(spare.uuid).is_none());
        fitting.min_by_key(|spare| spare.device.size).cloned()
    }

    /// The least size of a member's device.
    pub(crate) fn bytes_needed(&self, member: MemberIx) -> u64 {
        let (group, _) = self.shared.layout.column_of(member);
        self.shared.layout.geometry().device_offset(self.shared.layout.segments(group), 0)
    }

    async fn promote(self: &Rc<Self>, member: MemberIx, spare: Spare) -> Result<(), String> {
        let Some(_claim) = Claim::new(self, member) else { return Ok(()) };
        let _step = self.shared.during("spare: promote");
        // Whether it works or not, it is no spare any more.
        self.forget_spare(spare.uuid);
        let _taken = Taken::new(self, vec![spare.device.ix]);
        let (group, _) = self.shared.layout.column_of(member);
        match self.prepare(self.shared.layout.segments(group), &spare.device).await {
            Ok(()) => {
                let new_uuid = Some(spare.uuid);
                self.begin_fill(member, Candidate { device: spare.device, new_uuid, holds: Holdings::default() });
            }
            Err(error) => self.shared.log(format!("spare {} cannot be used: {error}", spare.device.name)),
        }
        self.commit_state().await
    }

    /// A spare's device failed: it is none any more.
    pub(crate) fn spare_failed(&self, dev: DeviceIx, doing: &str, error: IoError) {
        let home = self.home();
        let failed = home.places.spares.borrow().iter().find(|spare| spare.device.ix == dev).cloned();
        if let Some(spare) = failed {
            self.forget_spare(spare.uuid);
            self.shared.log(format!("spare {} is out of service: {doing} failed: {error}", spare.device.name));
            // It may have been about to take over from somebody.
            home.members_changed.notify();
        }
    }

    /// A device is no spare any more.
    pub(crate) fn forget_spare(&self, uuid: Uuid) {
        self.home().places.spares.borrow_mut().retain(|spare| spare.uuid != uuid);
        self.home().state.borrow_mut().spares.retain(|spare| spare.uuid != uuid);
    }
}
