//! What everybody knows of members in trouble.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use cygnus_engine::Suspended;
use cygnus_runtime::Event;
use cygnus_types::{GroupId, Nanos};

/// See the module's text.
pub(crate) struct Care {
    /// Whether somebody decides what becomes of members in trouble. If not, they leave at once: the baselines of the lab,
    /// and an array that is being opened.
    pub guarded: Cell<bool>,
    /// Notified when something has become of a member.
    pub changed: Event,
    /// How often members have stopped answering, or begun to answer again.
    silences: Cell<u64>,
    /// Since when groups wait for members.
    pub suspended: RefCell<BTreeMap<GroupId, Nanos>>,
    /// For whom.
    pub waits_for: RefCell<Option<Suspended>>,
    /// How long requests wait for members.
    pub requests_wait: Cell<Nanos>,
    /// Nobody is waited for any more: the array is being closed without them.
    pub given_up: Cell<bool>,
}

impl Default for Care {
    fn default() -> Self {
        Self {
            guarded: Cell::new(false),
            changed: Event::new(),
            silences: Cell::new(0),
            suspended: RefCell::default(),
            waits_for: RefCell::new(None),
            requests_wait: Cell::new(Nanos::MAX),
            given_up: Cell::new(false),
        }
    }
}

impl Care {
    /// When requests stop waiting; [`Nanos::MAX`]: they wait for as long as it takes.
    pub(crate) fn requests_fail_at(&self) -> Nanos {
        let since = self.suspended.borrow().values().min().copied();
        since.map_or(Nanos::MAX, |since| since.saturating_add(self.requests_wait.get()))
    }

    pub(crate) fn silences(&self) -> u64 {
        self.silences.get()
    }

    /// A member has stopped answering, or has begun to answer again.
    pub(crate) fn note_silence(&self) {
        self.silences.set(self.silences.get() + 1);
    }
}
