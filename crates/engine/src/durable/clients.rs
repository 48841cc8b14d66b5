//! Flushes that clients ask for.

use std::rc::Rc;

use crate::durable::checkpoint::Checkpointer;
use crate::durable::flush::Flusher;
use crate::error::VolumeError;
use crate::fault::Fault;
use crate::peers::{Answer, ToHome};
use crate::reactor::Reactor;

impl Reactor {
    /// Makes every write and discard that was acknowledged before this call durable, on all reactors, unless the request
    /// has waited for members as long as it may.
    pub(crate) async fn flush(self: &Rc<Self>) -> Result<(), VolumeError> {
        self.unless_suspended(self.flush_on_home()).await?
    }

    async fn flush_on_home(self: &Rc<Self>) -> Result<(), VolumeError> {
        if self.is_home() {
            return Ok(self.flush_for_clients().await?);
        }
        let answer = self.peers.ask_home(&self.rt, |ticket| ToHome::Flush { ticket }).await;
        Ok(answer.map_or_else(|| Err(Fault("the array is closing".into())), Answer::flushed)?)
    }

    /// The same, on the home reactor. Of stripes that no later one tells of, recovery takes what is not there for something
    /// that no flush had covered, and shows what was before; so a checkpoint says which blocks are lost.
    pub(crate) async fn flush_for_clients(self: &Rc<Self>) -> Result<(), Fault> {
        Flusher::of(self).flush_here().await?;
        while !self.home().spoils.are_on_record() {
            Checkpointer::of(self).checkpoint().await?;
        }
        Ok(())
    }
}
