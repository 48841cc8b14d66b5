//! An array is *suspended* while a group waits for more members than its redundancy could do without: nothing is recorded,
//! nothing that was acknowledged is given up, what can be read is read, and everything else waits.
//!
//! Who is awaited is decided in [`crate::care::guardian`]. Requests wait with it for ever, or for as long as the operator says
//! ([`Array::set_suspended_for`](crate::Array::set_suspended_for)): then they fail, and so do those that come after, until
//! the members are back.

use std::sync::RwLock;
use std::sync::atomic::{AtomicU64, Ordering};

use cygnus_types::{GroupId, MemberIx, Nanos};

use crate::care::trouble::Trouble;

/// A member that is awaited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Awaited {
    /// Which.
    pub member: MemberIx,
    /// Its group.
    pub group: GroupId,
    /// Path.
    pub name: String,
    /// What is the matter; `None`: it answers again, and is being given what it is owed.
    pub trouble: Option<Trouble>,
}

/// A suspended array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suspended {
    /// Since when, by the reactor's clock.
    pub since: Nanos,
    /// For whom it waits.
    pub awaited: Vec<Awaited>,
}

impl Suspended {
    /// For people: for whom it waits and why.
    pub fn words(&self) -> String {
        let one = |of: &Awaited| match of.trouble {
            Some(trouble) => format!("{} ({})", of.name, trouble.words()),
            None => format!("{} (it is being brought up to date)", of.name),
        };
        self.awaited.iter().map(one).collect::<Vec<_>>().join(", ")
    }
}

/// What all reactors know of it.
pub(crate) struct Suspension {
    /// Since when, in nanoseconds; [`NOT`] if it is not.
    since: AtomicU64,
    /// How long requests wait.
    requests_wait: AtomicU64,
    detail: RwLock<Option<Suspended>>,
}

/// No time.
const NOT: u64 = u64::MAX;

impl Suspension {
    pub(crate) fn new() -> Self {
        Self { since: AtomicU64::new(NOT), requests_wait: AtomicU64::new(Nanos::MAX.0), detail: RwLock::default() }
    }

    pub(crate) fn set(&self, suspended: Option<Suspended>) {
        let since = suspended.as_ref().map_or(NOT, |suspended| suspended.since.0);
        *self.detail.write().expect("no holder panics") = suspended;
        self.since.store(since, Ordering::Release);
    }

    pub(crate) fn get(&self) -> Option<Suspended> {
        self.detail.read().expect("no holder panics").clone()
    }

    pub(crate) fn requests_wait(&self) -> Nanos {
        Nanos(self.requests_wait.load(Ordering::Relaxed))
    }

    pub(crate) fn set_requests_wait(&self, span: Nanos) {
        self.requests_wait.store(span.0, Ordering::Relaxed);
    }

    /// When requests stop waiting; [`Nanos::MAX`]: they wait for as long as it takes.
    pub(crate) fn requests_fail_at(&self) -> Nanos {
        match self.since.load(Ordering::Acquire) {
            NOT => Nanos::MAX,
            since => Nanos(since).saturating_add(self.requests_wait()),
        }
    }
}
