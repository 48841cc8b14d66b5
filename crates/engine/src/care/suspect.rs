//! Which members are suspect.

use cygnus_policy::{HealthView, Suspicion};
use cygnus_types::MemberIx;

use crate::care::health::{Counts, HOUR, REMEMBERED};
use crate::counters::read;
use crate::reactor::Reactor;

impl Reactor {
    fn counts(&self, member: MemberIx) -> Counts {
        let now = &self.shared.members[member.index()].counters;
        let errors = read(&now.read_errors) + read(&now.corrupt) + read(&now.bad_parity);
        (errors, self.turned_slow(member))
    }

    /// Notes the counts, once an hour however often it is called. Whoever asks for the status calls it, so that no
    /// timer runs for its sake.
    pub(crate) fn note_health(&self) {
        let mut history = self.home().health.borrow_mut();
        let now = self.rt.now();
        if !history.hours.is_empty() && now.since(history.last) < HOUR {
            return;
        }
        history.last = now;
        history.hours.push_back((0..self.shared.members.len()).map(|ix| self.counts(MemberIx(ix as u16))).collect());
        if history.hours.len() > REMEMBERED {
            history.hours.pop_front();
        }
    }

    /// Whether a member in service is suspect, and why.
    pub(crate) fn suspicion(&self, member: MemberIx) -> Option<Suspicion> {
        let state = &self.shared.members[member.index()];
        let errors = state.errors(0);
        let history = self.home().health.borrow();
        // Before the array was opened, or the member added, nothing was counted, and for a new device counting begins anew.
        let ago = |hours: usize| {
            history
                .hours
                .len()
                .checked_sub(hours)
                .and_then(|at| history.hours[at].get(member.index()).copied())
                .unwrap_or((0, 0))
        };
        let (now, day, two_days) = (self.counts(member), ago(REMEMBERED / 2), ago(REMEMBERED));
        let view = HealthView {
            errors: u64::from(errors.read) + u64::from(errors.wrong),
            today: now.0.saturating_sub(day.0),
            yesterday: day.0.saturating_sub(two_days.0),
            slow_today: now.1.saturating_sub(day.1),
        };
        self.shared.policies.health.judge(view).filter(|_| state.device().is_some())
    }
}
