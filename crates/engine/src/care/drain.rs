//! Draining: a spare takes over from a member that still works, and the group lacks no redundancy meanwhile.
//!
//! The spare becomes the member's *successor*: from then on it gets whatever is written to the member's device, and a
//! flush covers both. The rebuilder copies the segments that were begun before ([`crate::care::rebuild`]): from the member
//! itself where its blocks match their checksums, else from what all columns together give; only live data. Reads are
//! the member's business until the end. When the successor lacks nothing, everything is made durable, and one commit gives
//! the member's place to the other device. The old one then forgets that it was a member.
//!
//! The superblocks know nothing of a drain before that commit: after a crash the spare is a spare and the member is the
//! member. The commit reaches the successor's own superblock before any other one ([`crate::durable::commit`]); from then on it is
//! the member, by its identity, and what its redundancy needs was durable before. Should the member fail on the way, that is an ordinary
//! failure, and the spare is promoted and filled anew. Should the successor fail, the member is what it was.

use std::rc::Rc;

use cygnus_format::{Kind, Role};
use cygnus_parity as parity;
use cygnus_runtime::DeviceIx;
use cygnus_types::{BLOCK, ByteSize, MemberIx, Uuid};

use crate::array::Array;
use crate::care::fill::Fill;
use crate::care::membership::{Claim, Taken};
use crate::care::places::Spare;
use crate::error::{ArrayError, MemberError};
use crate::job::JobKind;
use crate::reactor::Reactor;
use crate::read::scan::FoundStripe;
use crate::resize::retire::Released;
use crate::work::Work;

impl Array {
    /// Begins to move a member's place to a spare while the member is in service, without losing redundancy; returns the
    /// number of the job. Cancelled, all stays as it was.
    ///
    /// # Errors
    /// See [`MemberError`]; then nothing has changed.
    pub fn drain(&self, member: MemberIx) -> Work<'_, Result<u64, MemberError>> {
        Box::pin(async move { self.begin_drain(member) })
    }

    fn begin_drain(&self, member: MemberIx) -> Result<u64, MemberError> {
        let (reactor, home) = (&self.reactor, self.reactor.home());
        if let Some(why) = reactor.shared.fault() {
            return Err(ArrayError::Faulted(why).into());
        }
        if home.state.borrow().has_left(member) {
            return Err(MemberError::Left(member));
        }
        let state = &reactor.shared.members[member.index()];
        let _claim = Claim::new(reactor, member).ok_or_else(|| MemberError::Rebuilding(state.name()))?;
        if let Some((departed, _)) = state.departed() {
            return Err(MemberError::NotOnline { device: state.name(), state: departed.word() });
        }
        let (group, _) = reactor.shared.layout.column_of(member);
        if reactor.shared.lacking_in(group) > 0 {
            // A spare that comes free is wanted in the place of the lost one.
            return Err(MemberError::GroupLacks { device: state.name(), group });
        }
        let Some(spare) = reactor.fitting_spare(member) else {
            let need = ByteSize(reactor.bytes_needed(member));
            return Err(MemberError::NoFittingSpare { device: state.name(), need });
        };
        let subject = format!("{} onto {}", state.name(), spare.device.name);
        let job = home.jobs.begin(&reactor.rt, JobKind::Drain, subject, 0);
        let id = job.id();
        reactor.shared.log(format!("{} is to take over from {}: drain begins", spare.device.name, state.name()));
        home.fills.all.borrow_mut().push(Rc::new(Fill::of_successor(member, spare, job)));
        home.members_changed.notify();
        Ok(id)
    }
}

impl Reactor {
    /// Drains that are under way: whose member is in service.
    fn drains(&self) -> impl Iterator<Item = (MemberIx, Spare)> {
        let in_service = |fill: &Rc<Fill>| self.shared.members[fill.member.index()].is_online();
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

    /// Path of the spare that is to take over from a member.
    pub(crate) fn successor_name(&self, member: MemberIx) -> Option<String> {
        self.drains().find(|(drained, _)| *drained == member).map(|(_, spare)| spare.device.name)
    }

    /// Makes a spare ready and has it get all writes from now on; says whether that worked.
    pub(crate) async fn begin_succession(self: &Rc<Self>, fill: &Fill, spare: &Spare) -> bool {
        let (group, _) = self.shared.layout.column_of(fill.member);
        if let Err(error) = self.clear_headers(self.shared.layout.segments(group), spare.device.ix).await {
            self.spare_failed(spare.device.ix, "a write", error);
        }
        let goes_on = self.why_drain_cannot_go_on(fill, spare).is_none();
        if goes_on {
            self.shared.members[fill.member.index()].begin_succession(spare.device.ix);
        }
        goes_on
    }

    /// Why a drain has to end before it is done, if it has to.
    pub(crate) fn why_drain_cannot_go_on(&self, fill: &Fill, spare: &Spare) -> Option<String> {
        let (state, name) = (&self.shared.members[fill.member.index()], &spare.device.name);
        let is_spare = self.home().places.spares.borrow().iter().any(|s| s.uuid == spare.uuid);
        match () {
            () if !state.is_online() => Some(format!(
                "{} has left service before it was drained; what it held is restored from the other members",
                state.name()
            )),
            () if !is_spare || (fill.is_prepared() && state.successor() != Some(spare.device.ix)) => Some(format!(
                "{name} is out of service; {} stays in its place: drain it onto another spare",
                state.name()
            )),
            () => None,
        }
    }

    /// A drain has ended before it was done. A spare that failed meanwhile is none any more.
    pub(crate) fn give_up_drain(&self, fill: &Fill, spare: &Spare) {
        let state = &self.shared.members[fill.member.index()];
        let failed = fill.is_prepared() && !state.end_succession(spare.device.ix);
        self.shared.log(format!("{} does not take over from {}", spare.device.name, state.name()));
        if failed {
            self.forget_spare(spare.uuid);
            // So that it is recorded.
            self.shared.membership_changed();
        }
    }

    /// The successor lacks nothing: it is the member from now on. Says which device was so before; `None` if either has
    /// failed meanwhile. A commit must follow; until then no flush is answered.
    pub(crate) fn hand_over(&self, member: MemberIx, spare: &Spare) -> Option<(DeviceIx, String)> {
        let state = &self.shared.members[member.index()];
        let name = state.name();
        let was = state.succeed(&spare.device)?;
        state.forget_errors();
        self.forget_spare(spare.uuid);
        self.change_desc(member, |desc| (desc.uuid, desc.size_bytes) = (spare.uuid, spare.device.size));
        self.home().records.newcomers.borrow_mut().push(member);
        self.shared.membership_changed();
        self.shared.log(format!("{} is member {} in the place of {name}", spare.device.name, member.0));
        Some((was, name))
    }

    pub(crate) fn has_taken_over(&self, member: MemberIx, spare: &Spare) -> bool {
        self.desc(member).uuid == spare.uuid
    }

    /// Has devices forget that they were members: others have their places, as the superblocks say by now.
    pub(crate) async fn dismiss_relieved(self: &Rc<Self>, mut devices: Vec<(MemberIx, (DeviceIx, String))>) {
        // The other slot of the new member still says that it is a spare. Should this fail, the next commit does it.
        let _ = self.commit_state().await;
        // If the new one fails so soon, what the old one holds may be wanted after all.
        devices.retain(|(member, _)| self.shared.members[member.index()].is_online());
        let _taken = Taken::new(self, devices.iter().map(|(_, (dev, _))| *dev).collect());
        let released = |(member, (dev, name)): (MemberIx, _)| {
            let segments = self.shared.layout.segments(self.shared.layout.column_of(member).0);
            Released { dev, name, segments }
        };
        self.forget_released(&devices.into_iter().map(released).collect::<Vec<_>>()).await;
    }

    /// The blocks of a stripe's column as its own member has them; `None` if they cannot all be believed, or if nothing
    /// tells: no checksum is known of parity.
    pub(crate) async fn own_column(self: &Rc<Self>, stripe: &FoundStripe, column: u8) -> Option<Vec<u8>> {
        let common = &stripe.common;
        let entries = stripe.entries[usize::from(column)].as_ref()?;
        let (member, _) = self.shared.member(common.group, column);
        let dev = self.device_holding(member, common.segment).filter(|&dev| !self.is_slow(dev))?;
        if matches!(common.rotation.role(column), Role::Parity(_)) {
            return None;
        }
        let buf = self.rt.alloc(common.rows as usize * BLOCK);
        let offset = self.shared.layout.geometry().device_offset(common.segment.0, common.first_data_row());
        self.rt.read(dev, offset, buf.full()).await.ok()?;
        let mut contents = buf.bytes().to_vec();
        for (entry, block) in entries.iter().zip(contents.chunks_exact_mut(BLOCK)) {
            match entry.kind() {
                Kind::Void => block.fill(0),
                _ if parity::checksum::crc32c(block) == entry.crc() => {}
                _ => return None,
            }
        }
        Some(contents)
    }
}
