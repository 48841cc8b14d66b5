//! Which members are suspect.

use cygnus_policy::Suspicion;
use cygnus_types::MemberIx;

use crate::care::health::Counts;
use crate::counters::read;
use crate::reactor::Reactor;

/// Judges the members' errors: see the module's text.
pub(crate) struct Suspicions<'a> {
    reactor: &'a Reactor,
}

impl<'a> Suspicions<'a> {
    pub(crate) fn of(reactor: &'a Reactor) -> Self {
        Self { reactor }
    }

    fn counts(&self, member: MemberIx) -> Counts {
        let now = &self.reactor.shared.members[member.index()].counters;
        let errors = read(&now.read_errors) + read(&now.corrupt) + read(&now.bad_parity);
        (errors, self.reactor.turned_slow(member))
    }

    /// Notes the counts, once an hour however often it is called. Whoever asks for the status calls it, so that no
    /// timer runs for its sake.
    pub(crate) fn note_health(&self) {
        let counts = || (0..self.reactor.shared.members.len()).map(|ix| self.counts(MemberIx(ix as u16))).collect();
        self.reactor.home().health.borrow_mut().note(self.reactor.rt.now(), counts);
    }

    /// Whether a member in service is suspect, and why. Of one that the array waits for nobody can say.
    pub(crate) fn suspicion(&self, member: MemberIx) -> Option<Suspicion> {
        let state = &self.reactor.shared.members[member.index()];
        let errors = state.errors(0).blocks();
        let view = self.reactor.home().health.borrow().view(member, errors, self.counts(member));
        let is_at_work = state.device().is_some() && state.trouble().is_none() && !state.is_awaited();
        self.reactor.shared.policies.health.judge(view).filter(|_| is_at_work)
    }
}
