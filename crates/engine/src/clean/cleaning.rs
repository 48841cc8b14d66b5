//! What the cleaner keeps: the segments it is emptying, and what guests did meanwhile.

use std::cell::{Cell, RefCell};

use cygnus_runtime::Event;
use cygnus_types::{GroupId, Nanos};

use crate::space::segments::SegIx;

/// What guests did lately in a group.
#[derive(Clone, Copy, Default)]
pub(crate) struct Guests {
    pub group: GroupId,
    pub since: Nanos,
    pub reads_begun: u32,
    pub written: u64,
    /// They read from the group that is being cleaned.
    pub read: bool,
    /// They wrote.
    pub write: bool,
}

/// See the module's text.
#[derive(Default)]
pub(crate) struct Cleaning {
    /// Segments that the cleaner is emptying; few.
    pub victims: RefCell<Vec<SegIx>>,
    /// What guests did lately in the groups being cleaned.
    pub guests: RefCell<[Guests; 2]>,
    /// Segments that were emptied are being given back.
    pub releasing: Cell<bool>,
    /// Whether the cleaner is there.
    pub running: Cell<bool>,
    /// Notified when it has ended.
    pub ended: Event,
}
