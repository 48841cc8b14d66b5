//! How the members' errors grow: counts remembered hour by hour, for the policy that decides who is suspect.

use std::collections::VecDeque;

use cygnus_policy::HealthView;
use cygnus_types::{MemberIx, Nanos};

const HOUR: Nanos = Nanos::secs(3600);
/// Hours remembered: two days.
const REMEMBERED: usize = 48;

/// How many errors a member has had, and how often it became slow.
pub(crate) type Counts = (u64, u64);

/// What the counts were at the full hours since the array was opened, oldest first.
#[derive(Default)]
pub(crate) struct History {
    last: Nanos,
    hours: VecDeque<Vec<Counts>>,
}

impl History {
    /// Notes the counts of all members, once an hour however often it is called.
    pub(crate) fn note(&mut self, now: Nanos, counts: impl FnOnce() -> Vec<Counts>) {
        if !self.hours.is_empty() && now.since(self.last) < HOUR {
            return;
        }
        self.last = now;
        self.hours.push_back(counts());
        if self.hours.len() > REMEMBERED {
            self.hours.pop_front();
        }
    }

    /// What the policy judges a member by that has had so many errors in its life, and these since the array was opened.
    pub(crate) fn view(&self, member: MemberIx, errors: u64, now: Counts) -> HealthView {
        let (day, two_days) = (self.ago(REMEMBERED / 2, member), self.ago(REMEMBERED, member));
        HealthView {
            errors,
            today: now.0.saturating_sub(day.0),
            yesterday: day.0.saturating_sub(two_days.0),
            slow_today: now.1.saturating_sub(day.1),
        }
    }

    /// Before the array was opened, or the member added, nothing was counted, and for a new device counting begins anew.
    fn ago(&self, hours: usize, member: MemberIx) -> Counts {
        let at = self.hours.len().checked_sub(hours);
        at.and_then(|at| self.hours[at].get(member.index()).copied()).unwrap_or((0, 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_what_came_since_a_day_ago() {
        let mut history = History::default();
        for hour in 0..60 {
            history.note(HOUR * hour, || vec![(hour, hour / 10)]);
            history.note(HOUR * hour + Nanos::secs(1), || unreachable!("once an hour"));
        }
        let view = history.view(MemberIx(0), 100, (60, 6));
        assert_eq!((view.errors, view.today, view.yesterday, view.slow_today), (100, 24, 24, 3));
        let view = history.view(MemberIx(7), 0, (5, 1));
        assert_eq!((view.today, view.yesterday), (5, 0), "nothing is known of it");
    }
}
