//! Flushes.

use std::rc::Rc;

use crate::core::Core;
use crate::error::RaidError;
use crate::give::Due;

impl Core {
    /// See [`Raid::flush`]. Whoever comes while one is under way may have written what that one does not cover, and must
    /// not return before the next has ended. A round goes on to its end whatever becomes of the callers: it takes the marks
    /// of what was written.
    pub(crate) async fn flush(self: &Rc<Self>) -> Result<(), RaidError> {
        self.flushing.next(&self.rt, || self.clone().flush_round()).await
    }

    async fn flush_round(self: Rc<Self>) -> Result<(), RaidError> {
        let dirty = |&device: &usize| !self.is_failed(device) && self.devices[device].dirty.replace(false);
        let flushes: Vec<_> = (0..self.devices.len()).filter(dirty).map(|d| self.give(d, Due::Flush)).collect();
        for flush in flushes {
            self.taken(flush).await?;
        }
        self.settle().await?;
        self.check_alive()
    }
}
