//! Flush: everything acknowledged before it becomes durable. One round serves everybody who asked before it began, and
//! goes on to its end whatever becomes of them: it takes the marks of what was written, so nobody else would flush that.

use std::rc::Rc;

use cygnus_runtime::{DeviceIx, OpFuture};

use crate::peers::ToOwner;
use crate::reactor::Reactor;
use crate::write::lane::Lane;

impl Reactor {
    /// Makes what was acknowledged durable, on the home reactor.
    pub(crate) async fn flush_here(self: &Rc<Self>) -> Result<(), String> {
        self.home().flushing.next(&self.rt, || self.clone().flush_round()).await
    }

    /// As [`Reactor::flush_here`], for the blocks that cleaning has moved too. The checkpoint being written is left alone:
    /// it sees to itself, and cut short by everybody else's flushes it would need more room than there is for it.
    pub(crate) async fn flush_everything(self: &Rc<Self>) -> Result<(), String> {
        self.drain(&Lane::OF_DATA).await;
        self.flush_here().await
    }

    async fn flush_round(self: Rc<Self>) -> Result<(), String> {
        let _step = self.shared.during("flush");
        self.begin_settling_maps();
        self.peers.ask_others(&self.rt, |ticket| ToOwner::Drain { ticket }).await;
        self.end_settling_maps();
        self.drain(&[Lane::User]).await;
        let complete = self.shared.stripes.complete_below();
        self.flush_devices().await;
        // A member that has left must be known as such before anybody relies on what it did not get.
        if self.shared.membership() != self.home().records.recorded_membership.get() {
            self.commit_state().await?;
        }
        if let Some(why) = self.shared.fault() {
            return Err(why);
        }
        self.shared.set_durable(complete);
        Ok(())
    }

    /// Gives back parts of the maps that were replaced, while nobody else serves the array yet.
    pub(crate) fn settle_maps(&self) {
        self.begin_settling_maps();
        self.end_settling_maps();
    }

    /// What was replaced in the maps until now can go when all reactors have answered a message from now on.
    fn begin_settling_maps(&self) {
        let volumes = self.shared.volumes();
        self.shared.maps.begin_round(volumes.iter().map(|volume| &volume.map));
    }

    /// They have.
    fn end_settling_maps(&self) {
        let volumes = self.shared.volumes();
        self.shared.maps.end_round(volumes.iter().map(|volume| &volume.map));
    }

    /// Flushes every device that was written to, and waits for those that do not do it: until they do, or have left
    /// service.
    async fn flush_devices(self: &Rc<Self>) {
        let is_wanted = |ix: &usize| {
            let state = &self.shared.members[*ix];
            // One that may have lost what it took is not flushed as long as that is not known.
            state.device().is_some() && (state.take_dirty() || state.is_awaited())
        };
        let mut wanted: Vec<usize> = (0..self.shared.members.len()).filter(is_wanted).collect();
        loop {
            let answers = self.answers.wait();
            wanted = self.flush_those_that_answer(wanted).await;
            wanted.retain(|&ix| self.shared.members[ix].device().is_some());
            if wanted.is_empty() || self.shared.fault().is_some() {
                return;
            }
            answers.await;
        }
    }

    /// Returns those that were not flushed.
    async fn flush_those_that_answer(&self, wanted: Vec<usize>) -> Vec<usize> {
        let mut flushes: Vec<(usize, DeviceIx, OpFuture)> = Vec::new();
        let mut left = Vec::new();
        for ix in wanted {
            let state = &self.shared.members[ix];
            match state.trouble() {
                None if !state.is_awaited() => {
                    flushes.extend(state.devices_to_write().map(|dev| (ix, dev, self.rt.flush(dev))))
                }
                _ => left.push(ix),
            }
        }
        for (ix, dev, flush) in flushes {
            // What became of a successor is not waited for.
            if flush.await.is_err() && self.shared.members[ix].known_device() == Some(dev) {
                left.push(ix);
            }
        }
        left
    }
}
