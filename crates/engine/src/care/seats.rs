//! What the superblocks say of members and spares, and which devices are about to take whose place.

use std::rc::Rc;

use cygnus_format::{MemberDesc, MemberState};
use cygnus_runtime::{DeviceIx, IoError};
use cygnus_types::{MemberIx, Uuid};

use crate::care::fill::Fill;
use crate::care::places::Spare;
use crate::reactor::Reactor;

/// The place of a member, wanted for a device that is being made ready; nobody else gets it meanwhile.
pub(crate) struct Claim<'a>(&'a Reactor, MemberIx);

impl<'a> Claim<'a> {
    /// `None` if somebody else has it, or the member is being filled or drained already.
    pub(crate) fn new(reactor: &'a Reactor, member: MemberIx) -> Option<Self> {
        let busy =
            Seats::of(reactor).desc(member).state == MemberState::Rebuilding || Seats::of(reactor).is_drained(member);
        // Made only if it is got: one that is dropped gives the place back.
        (!busy && reactor.home().places.claimed.borrow_mut().insert(member)).then(|| Self(reactor, member))
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.0.home().places.claimed.borrow_mut().remove(&self.1);
    }
}

/// A spare that is being made ready for the place of a member; nobody else gets it meanwhile, and it gets no superblocks.
pub(crate) struct Promotion<'a>(&'a Reactor, Uuid);

impl<'a> Promotion<'a> {
    pub(crate) fn new(reactor: &'a Reactor, spare: Uuid) -> Self {
        reactor.home().places.promoted.borrow_mut().insert(spare);
        Self(reactor, spare)
    }
}

impl Drop for Promotion<'_> {
    fn drop(&mut self) {
        self.0.home().places.promoted.borrow_mut().remove(&self.1);
    }
}

/// Devices that are being made ready for some use; nobody else gets them meanwhile.
pub(crate) struct Taken<'a>(&'a Reactor, Vec<DeviceIx>);

impl<'a> Taken<'a> {
    /// The devices must not be in use; see [`Seats::is_in_use`].
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

/// Members and spares as the superblocks have them: see the module's text.
pub(crate) struct Seats<'a> {
    reactor: &'a Reactor,
}

impl<'a> Seats<'a> {
    pub(crate) fn of(reactor: &'a Reactor) -> Self {
        Self { reactor }
    }

    /// What the superblocks say of a member.
    pub(crate) fn desc(&self, member: MemberIx) -> MemberDesc {
        *self.reactor.home().state.borrow().members().nth(member.index()).expect("members are numbered without gaps")
    }

    /// Changes what the next superblocks say of a member.
    pub(crate) fn change_desc(&self, member: MemberIx, change: impl FnOnce(&mut MemberDesc)) {
        let mut state = self.reactor.home().state.borrow_mut();
        let mut members = state.groups.iter_mut().flat_map(|g| &mut g.members);
        change(members.nth(member.index()).expect("members are numbered without gaps"));
    }

    /// The least size of a member's device.
    pub(crate) fn bytes_needed(&self, member: MemberIx) -> u64 {
        let (group, _) = self.reactor.shared.layout.column_of(member);
        self.reactor.shared.layout.geometry().device_offset(self.reactor.shared.layout.segments(group), 0)
    }

    /// A spare's device failed: nothing is written to it any more, and it takes nobody's place. It stays listed, so that it is missed, and
    /// is a spare again when it is added anew or the array is opened with it.
    pub(crate) fn spare_failed(&self, dev: DeviceIx, doing: &str, error: IoError) {
        let home = self.reactor.home();
        let failed = home.places.spares.borrow().iter().find(|spare| spare.device.ix == dev).cloned();
        if let Some(spare) = failed {
            home.places.spares.borrow_mut().retain(|other| other.uuid != spare.uuid);
            self.reactor.shared.log(format!("spare {} is out of service: {doing} failed: {error}", spare.device.name));
            // It may have been about to take over from somebody.
            home.members_changed.notify();
        }
    }

    /// A device is no spare any more.
    pub(crate) fn forget_spare(&self, uuid: Uuid) {
        self.reactor.home().places.spares.borrow_mut().retain(|spare| spare.uuid != uuid);
        self.reactor.home().state.borrow_mut().spares.retain(|spare| spare.uuid != uuid);
    }

    /// Drains that are under way: whose member is in service.
    fn drains(&self) -> impl Iterator<Item = (MemberIx, Spare)> {
        let in_service = |fill: &Rc<Fill>| self.reactor.shared.members[fill.member.index()].is_online();
        let fills = self.fills().into_iter().filter(in_service);
        fills.filter_map(|fill| Some((fill.member, fill.successor.clone()?)))
    }

    /// Whether a spare is being filled to take over from a member.
    pub(crate) fn is_drained(&self, member: MemberIx) -> bool {
        self.drains().any(|(drained, _)| drained == member)
    }

    /// The member from which a spare is to take over.
    pub(crate) fn takes_over_from(&self, spare: Uuid) -> Option<MemberIx> {
        self.drains().find(|(_, successor)| successor.uuid == spare).map(|(member, _)| member)
    }

    /// Whether a spare is being made ready for the place of a member.
    pub(crate) fn is_promoted(&self, spare: Uuid) -> bool {
        self.reactor.home().places.promoted.borrow().contains(&spare)
    }

    /// Path of the spare that is to take over from a member.
    pub(crate) fn successor_name(&self, member: MemberIx) -> Option<String> {
        self.drains().find(|(drained, _)| *drained == member).map(|(_, spare)| spare.device.name)
    }

    pub(crate) fn fills(&self) -> Vec<Rc<Fill>> {
        self.reactor.home().fills.all.borrow().clone()
    }

    /// Whether a member has been found, and is about to be let in.
    pub(crate) fn arrives(&self, member: MemberIx) -> bool {
        self.reactor.home().places.arrivals.borrow().iter().any(|arrival| arrival.member == member)
    }

    /// Whether a member is about to be filled, or is being filled.
    pub(crate) fn is_filling_members(&self) -> bool {
        let home = self.reactor.home();
        let drains = |fill: &Rc<Fill>| fill.successor.is_some();
        !home.places.arrivals.borrow().is_empty() || !home.fills.all.borrow().iter().all(drains)
    }

    /// Whether the restoring of a segment should be left half done.
    pub(crate) fn rebuild_must_pause(&self, fill: &Fill) -> bool {
        self.reactor.shared.is_ending() || self.reactor.shared.fault().is_some() || fill.job.is_cancelled()
    }

    /// The device that is filled, while that can go on.
    pub(crate) fn filled_device(&self, fill: &Fill) -> Option<DeviceIx> {
        let state = &self.reactor.shared.members[fill.member.index()];
        match &fill.successor {
            Some(spare) => state.successor().filter(|&dev| dev == spare.device.ix && state.is_online()),
            None => state.device().filter(|_| state.is_filling() && state.trouble().is_none()),
        }
    }

    /// Whether a device is a member in service or a spare.
    pub(crate) fn is_in_use(&self, dev: cygnus_runtime::DeviceIx) -> bool {
        let in_service = self.reactor.shared.members.iter().any(|member| member.device() == Some(dev));
        let home = self.reactor.home();
        in_service
            || home.places.taken.borrow().contains(&dev)
            || home.places.spares.borrow().iter().any(|spare| spare.device.ix == dev)
    }
}
