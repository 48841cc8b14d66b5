//! Answers that wait for the members: those of volumes whose level is not [`Acknowledged::Memory`].
//!
//! A write is taken as any other: into the open stripe, and into the map. Then its answer waits, and with it all others of this
//! reactor that were taken before the same *round* began: the round brings what they changed to the members, and answers all of
//! them. What comes meanwhile has the next round, which begins before the first one ends. So a client that has 32 writes under way gets them answered in groups, and a
//! stripe, or a flush, is shared by a group.
//!
//! A round is a task: it ends whatever becomes of those who wait for it.

use std::rc::Rc;

use cygnus_types::Acknowledged;

use crate::error::VolumeError;
use crate::planted::{self, Bug};
use crate::reactor::Reactor;
use crate::read::client_tally::Answer;
use crate::write::replicate::Replicator;

/// Lets answers wait: see the module's text.
#[derive(Clone)]
pub(crate) struct Answerer {
    reactor: Rc<Reactor>,
}

impl Answerer {
    pub(crate) fn of(reactor: &Rc<Reactor>) -> Self {
        Self { reactor: reactor.clone() }
    }

    /// Waits until what this reactor has taken may be answered at this level, unless requests have waited for members as long as
    /// they may.
    pub(crate) async fn until(&self, level: Acknowledged) -> Result<(), VolumeError> {
        match level {
            _ if planted::is(Bug::AnswersTooEarly) => Ok(()),
            Acknowledged::Memory => Ok(()),
            Acknowledged::Written => self.reactor.unless_suspended(self.written()).await?,
            Acknowledged::Durable => {
                // A flush would bring everything to the members too, but only one goes on at a time.
                self.reactor.unless_suspended(self.written()).await??;
                let _awaited = self.reactor.shared.clients.of(self.reactor.rt.id()).awaits(Answer::Flush);
                self.reactor.flush().await
            }
        }
    }

    async fn written(&self) -> Result<(), VolumeError> {
        let _awaited = self.reactor.shared.clients.of(self.reactor.rt.id()).awaits(Answer::Write);
        self.reactor.answering.next_round(&self.reactor.rt, || self.clone().round()).await
    }

    async fn round(self) -> Result<(), VolumeError> {
        self.settle().await;
        self.reactor.shared.check_fault()?;
        // A member that has left must be known as such before anybody relies on what it did not get. A flush sees to that.
        let (membership, recorded) = (self.reactor.shared.membership(), &self.reactor.answering.recorded_membership);
        if membership != recorded.get() {
            self.reactor.flush().await?;
            recorded.set(membership);
        }
        Ok(())
    }

    /// Brings what clients have changed on this reactor to the members: the stripe that is open, at the height it has reached or
    /// by copies of what is new in it, and all that are on their way, but for parity that members compute from copies.
    async fn settle(&self) {
        Replicator::of(&self.reactor).settle().await;
    }
}
