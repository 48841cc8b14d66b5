//! Draining: a spare takes over from a member that still works, and the group lacks no redundancy meanwhile.
//!
//! The spare becomes the member's *successor*: from then on it gets whatever is written to the member's device, and a
//! flush covers both. The rebuilder copies the segments that were begun before ([`crate::care::rebuild`]): from the member
//! itself where its blocks match their checksums, else from what all columns together give; only live data. Reads are
//! the member's business until the end. When the successor lacks nothing, everything is made durable, and one commit gives
//! the member's place to the other device. The old one then forgets that it was a member.
//!
//! A block that neither the member nor the others give now may be there another time: a way to a device may be lost for a while. So a
//! successor that lacks a current block does not take over, and the drain ends. What is lost for good has to be written anew or
//! discarded first, or the member replaced by force.
//!
//! The superblocks know nothing of a drain before that commit: after a crash the spare is a spare and the member is the
//! member. The commit reaches the successor's own superblock before any other one ([`crate::durable::commit`]); from then on it is
//! the member, by its identity, and what its redundancy needs was durable before. Should the member fail on the way, that is an ordinary
//! failure, and the spare is promoted and filled anew. Should the successor fail, the member is what it was.

use std::rc::Rc;

use cygnus_types::{ByteSize, MemberIx};

use crate::array::Array;
use crate::care::fill::Fill;
use crate::care::membership::Membership;
use crate::care::seats::{Claim, Seats};
use crate::error::MemberError;
use crate::job::JobKind;
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
        reactor.shared.check_fault()?;
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
        let Some(spare) = Membership::of(reactor).fitting_spare(member) else {
            let need = ByteSize(Seats::of(reactor).bytes_needed(member));
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
