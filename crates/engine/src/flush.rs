//! Flush: everything acknowledged before it becomes durable. One round serves everybody who asked before it began.

use std::rc::Rc;

use cygnus_runtime::{DeviceIx, OpFuture};
use cygnus_types::MemberIx;

use crate::error::VolumeError;
use crate::lane::Lane;
use crate::peers::{ToHome, ToOwner};
use crate::reactor::Reactor;

impl Reactor {
    /// Makes every write and discard that was acknowledged before this call durable, on all reactors.
    pub(crate) async fn flush(self: &Rc<Self>) -> Result<(), VolumeError> {
        let result = if self.is_home() {
            self.flush_here().await
        } else {
            let answer = self.peers.ask_home(self, |ticket| ToHome::Flush { ticket }).await;
            answer.map_or_else(|| Err("the array is closing".into()), |a| a.flushed())
        };
        result.map_err(VolumeError::ReadOnly)
    }

    /// The same, on the home reactor.
    pub(crate) async fn flush_here(self: &Rc<Self>) -> Result<(), String> {
        self.home().flushing.run(|| self.flush_round()).await
    }

    /// As [`Reactor::flush_here`], for the blocks that cleaning has moved too.
    pub(crate) async fn flush_everything(self: &Rc<Self>) -> Result<(), String> {
        self.drain(&Lane::ALL).await;
        self.flush_here().await
    }

    async fn flush_round(self: &Rc<Self>) -> Result<(), String> {
        let _step = self.shared.during("flush");
        self.peers.ask_others(self, |ticket| ToOwner::Drain { ticket }).await;
        self.drain(&[Lane::User]).await;
        let complete = self.shared.complete_below();
        self.flush_devices().await;
        // A member that failed must be known as failed before anybody relies on what it did not get.
        if self.shared.membership() != self.home().recorded_membership.get() {
            self.commit_state().await?;
        }
        if let Some(why) = self.shared.fault() {
            return Err(why);
        }
        self.shared.set_durable(complete);
        Ok(())
    }

    /// Flushes every device that was written to. A device that cannot flush may have lost anything since its last
    /// flush, so it leaves service.
    pub(crate) async fn flush_devices(self: &Rc<Self>) {
        let mut flushes: Vec<(MemberIx, DeviceIx, OpFuture)> = Vec::new();
        for (ix, state) in self.shared.members.iter().enumerate() {
            if state.device().is_some() && state.take_dirty() {
                let member = MemberIx(ix as u16);
                flushes.extend(state.devices_to_write().map(|dev| (member, dev, self.rt.flush(dev))));
            }
        }
        for (member, dev, flush) in flushes {
            if let Err(error) = flush.await {
                self.write_failed(member, dev, "a flush", error);
            }
        }
        self.check_redundancy();
    }

    /// Stops the array when some group has lost more members than its parity covers.
    pub(crate) fn check_redundancy(&self) {
        let layout = &self.shared.layout;
        for group in (0..layout.groups()).map(|g| cygnus_types::GroupId(g as u16)) {
            if self.shared.lacking_in(group) > usize::from(layout.geometry().parity) {
                self.shared.set_fault(format!("{group} has lost more members than its parity covers"));
            }
        }
    }
}
