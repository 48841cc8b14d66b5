//! What is kept of groups that come and go, and of volumes that go.

use std::cell::Cell;

/// See the module's text.
#[derive(Default)]
pub(crate) struct Regroup {
    /// Whether groups are being added, or one is beginning to leave or leaving for good.
    pub running: Cell<bool>,
    /// Groups whose data is being moved off.
    pub retirers: Cell<u32>,
    /// Volumes being deleted: their blocks count as live although nobody can move them.
    pub deleting: Cell<u32>,
}
