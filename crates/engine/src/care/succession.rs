//! A spare that takes over from a member in service ([`crate::care::drain`]).

use std::rc::Rc;

use cygnus_runtime::DeviceIx;
use cygnus_types::{MemberIx, counted};

use crate::care::fill::Fill;
use crate::care::places::Spare;
use crate::care::prepare::{Preparer, Released};
use crate::care::seats::{Seats, Taken};
use crate::durable::commit::Committer;
use crate::reactor::Reactor;

/// Has spares take over: see the module's text.
#[derive(Clone)]
pub(crate) struct Succession {
    reactor: Rc<Reactor>,
}

impl Succession {
    pub(crate) fn of(reactor: &Rc<Reactor>) -> Self {
        Self { reactor: reactor.clone() }
    }

    /// Makes a spare ready and has it get all writes from now on; says whether that worked.
    pub(crate) async fn begin_succession(&self, fill: &Fill, spare: &Spare) -> bool {
        let (group, _) = self.reactor.shared.layout.column_of(fill.member);
        if let Err(error) =
            Preparer::of(&self.reactor).clear_headers(self.reactor.shared.layout.segments(group), spare.device.ix).await
        {
            Seats::of(&self.reactor).spare_failed(spare.device.ix, "a write", error);
        }
        let goes_on = self.why_drain_cannot_go_on(fill, spare).is_none();
        if goes_on {
            self.reactor.shared.members[fill.member.index()].begin_succession(spare.device.ix);
        }
        goes_on
    }

    /// Why a drain has to end before it is done, if it has to.
    pub(crate) fn why_drain_cannot_go_on(&self, fill: &Fill, spare: &Spare) -> Option<String> {
        let (state, name) = (&self.reactor.shared.members[fill.member.index()], &spare.device.name);
        let is_spare = self.reactor.home().places.spares.borrow().iter().any(|s| s.uuid == spare.uuid);
        match () {
            () if !state.is_online() => Some(format!(
                "{} has left service before it was drained; what it held is restored from the other members",
                state.name()
            )),
            () if !is_spare || (fill.is_prepared() && state.successor() != Some(spare.device.ix)) => Some(format!(
                "{name} is out of service; {} stays in its place: drain it onto another spare",
                state.name()
            )),
            () if fill.unread.get() > 0 => Some(format!(
                "{} can be read neither from {} nor by way of the others now: it stays in its place, since it may give them yet. \
                 'array scrub' lists what cannot be read: bring back what fails to answer, or write or discard these blocks, and \
                 drain anew",
                counted(fill.unread.get() as usize, "block").or("blocks"),
                state.name()
            )),
            () => None,
        }
    }

    /// A drain has ended before it was done. A spare that failed meanwhile is none any more.
    pub(crate) fn give_up_drain(&self, fill: &Fill, spare: &Spare) {
        let state = &self.reactor.shared.members[fill.member.index()];
        let failed = fill.is_prepared() && !state.end_succession(spare.device.ix);
        self.reactor.shared.log(format!("{} does not take over from {}", spare.device.name, state.name()));
        if failed {
            Seats::of(&self.reactor).forget_spare(spare.uuid);
            // So that it is recorded.
            self.reactor.shared.membership_changed();
        }
    }

    /// The successor lacks nothing: it is the member from now on. Says which device was so before; `None` if either has
    /// failed meanwhile. A commit must follow; until then no flush is answered.
    pub(crate) fn hand_over(&self, member: MemberIx, spare: &Spare) -> Option<(DeviceIx, String)> {
        let state = &self.reactor.shared.members[member.index()];
        let name = state.name();
        let was = state.succeed(&spare.device)?;
        state.forget_errors();
        Seats::of(&self.reactor).forget_spare(spare.uuid);
        Seats::of(&self.reactor)
            .change_desc(member, |desc| (desc.uuid, desc.size_bytes) = (spare.uuid, spare.device.size));
        self.reactor.home().records.newcomers.borrow_mut().push(spare.uuid);
        self.reactor.shared.membership_changed();
        self.reactor.shared.log(format!("{} is member {} in the place of {name}", spare.device.name, member.0));
        Some((was, name))
    }

    pub(crate) fn has_taken_over(&self, member: MemberIx, spare: &Spare) -> bool {
        Seats::of(&self.reactor).desc(member).uuid == spare.uuid
    }

    /// Has devices forget that they were members: others have their places, as the superblocks say by now.
    pub(crate) async fn dismiss_relieved(&self, mut devices: Vec<(MemberIx, (DeviceIx, String))>) {
        // The other slot of the new member still says that it is a spare. Should this fail, the next commit does it.
        let _ = Committer::of(&self.reactor).commit_state().await;
        // If the new one fails so soon, what the old one holds may be wanted after all.
        devices.retain(|(member, _)| self.reactor.shared.members[member.index()].is_online());
        let _taken = Taken::new(&self.reactor, devices.iter().map(|(_, (dev, _))| *dev).collect());
        let released = |(member, (dev, name)): (MemberIx, _)| {
            let segments = self.reactor.shared.layout.segments(self.reactor.shared.layout.column_of(member).0);
            Released { dev, name, segments }
        };
        Preparer::of(&self.reactor).forget_released(&devices.into_iter().map(released).collect::<Vec<_>>()).await;
    }
}
