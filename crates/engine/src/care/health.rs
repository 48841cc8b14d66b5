//! How the members' errors grow: counts remembered hour by hour, for the policy that decides who is suspect.

use std::collections::VecDeque;

use cygnus_types::Nanos;

pub(crate) const HOUR: Nanos = Nanos::secs(3600);
/// Hours remembered: two days.
pub(crate) const REMEMBERED: usize = 48;

/// How many errors a member has had, and how often it became slow.
pub(crate) type Counts = (u64, u64);

/// What the counts were at the full hours since the array was opened, oldest first.
#[derive(Default)]
pub(crate) struct History {
    pub last: Nanos,
    pub hours: VecDeque<Vec<Counts>>,
}
