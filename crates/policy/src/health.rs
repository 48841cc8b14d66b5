//! When a member that still works is suspect: to be drained or replaced before it fails.

use std::fmt;

/// What the rule judges: what went wrong with one member. An error is a block that the device would not deliver, or that
/// was not what had been written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HealthView {
    /// Errors since it joined.
    pub errors: u64,
    /// Errors of the last 24 hours.
    pub today: u64,
    /// Errors of the 24 hours before.
    pub yesterday: u64,
    /// Times within the last 24 hours that it became slow, beside its peers.
    pub slow_today: u64,
}

/// Why a member is suspect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suspicion {
    /// It has had too many errors.
    Errors(u64),
    /// Errors come faster: the count of today, and of the day before.
    Growing(u64, u64),
    /// It becomes slow too often: how often today.
    Slow(u64),
}

impl fmt::Display for Suspicion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Superblocks count either kind up to here.
            Self::Errors(count @ 255..) => write!(f, "at least {count} of its blocks were unreadable or wrong"),
            Self::Errors(count) => write!(f, "{count} of its blocks were unreadable or wrong"),
            Self::Growing(today, before) => {
                write!(f, "{today} of its blocks were unreadable or wrong within a day, after {before} the day before")
            }
            Self::Slow(count) => write!(f, "it became far slower than its peers {count} times within a day"),
        }
    }
}

/// Rule for suspicion.
///
/// A single bad block says little: every large device has some in its life. Devices that die announce it by many, and by
/// more of them every day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Health {
    /// Suspect from this many errors on, however long they took to come.
    pub errors: u64,
    /// Suspect from this many errors of a day on, if they are more than twice those of the day before.
    pub growing: u64,
    /// Suspect when it becomes slow this many times within a day. (Once it is, reads leave it alone.)
    pub slow: u64,
}

impl Health {
    /// Whether a member is suspect, and the first reason why.
    pub fn judge(self, view: HealthView) -> Option<Suspicion> {
        match () {
            () if view.errors >= self.errors => Some(Suspicion::Errors(view.errors)),
            () if view.today >= self.growing && view.today > 2 * view.yesterday => {
                Some(Suspicion::Growing(view.today, view.yesterday))
            }
            () if view.slow_today >= self.slow => Some(Suspicion::Slow(view.slow_today)),
            () => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_errors_are_borne_and_growing_ones_are_not() {
        let rule = Health { errors: 64, growing: 8, slow: 100 };
        let judge =
            |errors, today, yesterday, slow_today| rule.judge(HealthView { errors, today, yesterday, slow_today });
        assert_eq!(judge(0, 0, 0, 0), None);
        assert_eq!(judge(7, 7, 0, 99), None, "a few at once");
        assert_eq!(judge(8, 8, 0, 0), Some(Suspicion::Growing(8, 0)));
        assert_eq!(judge(24, 8, 4, 0), None, "as many as before");
        assert_eq!(judge(63, 0, 0, 0), None, "long ago");
        assert_eq!(judge(64, 0, 0, 0), Some(Suspicion::Errors(64)));
        assert_eq!(judge(0, 0, 0, 100), Some(Suspicion::Slow(100)));
        let words = |count| Suspicion::Errors(count).to_string();
        assert!(words(254).starts_with("254 of its blocks") && words(255).starts_with("at least 255 of its blocks"));
    }
}
