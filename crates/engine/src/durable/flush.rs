//! Flush: everything acknowledged before it becomes durable. One round serves everybody who asked before it began, and
//! goes on to its end whatever becomes of them: it takes the marks of what was written, so nobody else would flush that.

use std::rc::Rc;

use cygnus_runtime::{DeviceIx, OpFuture};
use cygnus_types::Nanos;

use crate::care::member::MemberShared;
use crate::durable::commit::Committer;
use crate::fault::Fault;
use crate::peers::ToOwner;
use crate::planted::{self, Bug};
use crate::reactor::Reactor;
use crate::write::filling;
use crate::write::lane::Lane;
use crate::write::replicate::Replicator;

/// Makes things durable: see the module's text.
#[derive(Clone)]
pub(crate) struct Flusher {
    reactor: Rc<Reactor>,
}

impl Flusher {
    pub(crate) fn of(reactor: &Rc<Reactor>) -> Self {
        Self { reactor: reactor.clone() }
    }

    /// Makes what was acknowledged durable, on the home reactor, in stripes or in copies of what is in open ones.
    pub(crate) async fn flush_here(&self) -> Result<(), Fault> {
        self.reactor.home().flush_settles.set(true);
        self.next_round().await
    }

    async fn next_round(&self) -> Result<(), Fault> {
        self.reactor.home().flushing.next(&self.reactor.rt, || self.clone().flush_round()).await
    }

    /// As [`Flusher::flush_here`], for the blocks that cleaning has moved too. The checkpoint being written is left alone:
    /// it sees to itself, and cut short by everybody else's flushes it would need more room than there is for it.
    pub(crate) async fn flush_everything(&self) -> Result<(), Fault> {
        self.reactor.drain(Lane::OF_DATA).await;
        self.reactor.home().flush_closes.set(true);
        self.flush_here().await
    }

    /// Makes durable what is in stripes by now, clients' blocks and moved ones, but gives the open ones `patience` to be filled.
    pub(crate) async fn flush_what_fills(&self, patience: Nanos) -> Result<(), Fault> {
        let (peers, rt) = (&self.reactor.peers, &self.reactor.rt);
        let others = peers.ask_each(rt, |ticket| ToOwner::End { ticket, patience });
        filling::until_ended(&self.reactor, patience).await;
        for other in others {
            other.await;
        }
        self.next_round().await
    }

    async fn flush_round(self) -> Result<(), Fault> {
        let _step = self.reactor.shared.during("flush");
        let (complete, round) = match self.reactor.home().flush_settles.take() {
            true => self.flush_settled().await,
            false => (self.flush_landed().await, None),
        };
        // A member that has left must be known as such before anybody relies on what it did not get.
        if self.reactor.shared.membership() != self.reactor.home().records.recorded_membership.get() {
            Committer::of(&self.reactor).commit_state().await?;
        }
        self.reactor.shared.check_fault()?;
        self.reactor.shared.set_durable(complete);
        if let Some(round) = round {
            self.reactor.shared.flushes.end(round);
        }
        Ok(())
    }

    /// Flushes the stripes that are on the devices, and no open one; says below which number all are.
    async fn flush_landed(&self) -> u64 {
        let shared = &self.reactor.shared;
        shared.begin_settling_maps();
        self.reactor.peers.ask_others(&self.reactor.rt, |ticket| ToOwner::Fence { ticket }).await;
        shared.end_settling_maps();
        let complete = shared.stripes.complete_below();
        self.flush_devices().await;
        complete
    }

    /// Flushes what clients had written before this call; says below which number all stripes are on the devices, and which round of
    /// settling it was.
    async fn flush_settled(&self) -> (u64, Option<u64>) {
        let shared = &self.reactor.shared;
        let mut closes = self.reactor.home().flush_closes.take();
        loop {
            let before = self.how_members_stand();
            let round = shared.flushes.begin();
            shared.begin_settling_maps();
            self.reactor.peers.ask_others(&self.reactor.rt, |ticket| ToOwner::Settle { ticket, round, closes }).await;
            shared.end_settling_maps();
            Replicator::of(&self.reactor).settle_for(round, closes).await;
            let complete = shared.stripes.complete_below();
            self.flush_devices().await;
            // A member that was away meanwhile may lack copies, which nobody writes again.
            if closes
                || planted::is(Bug::CopiesOfTheAbsent)
                || !shared.is_two_phase()
                || self.how_members_stand() == before
                || shared.fault().is_some()
            {
                return (complete, Some(round));
            }
            closes = true;
        }
    }

    /// The same as long as no member comes, goes, or falls silent.
    fn how_members_stand(&self) -> (u64, u64) {
        let shared = &self.reactor.shared;
        (shared.membership(), shared.members.iter().map(MemberShared::silences).sum())
    }

    /// Flushes every device that was written to, and waits for those that do not do it: until they do, or have left
    /// service.
    async fn flush_devices(&self) {
        let is_wanted = |ix: &usize| {
            let state = &self.reactor.shared.members[*ix];
            // One that may have lost what it took is not flushed as long as that is not known.
            state.device().is_some() && (state.take_dirty() || state.is_awaited())
        };
        let mut wanted: Vec<usize> = (0..self.reactor.shared.members.len()).filter(is_wanted).collect();
        loop {
            let answers = self.reactor.answers.wait();
            wanted = self.flush_those_that_answer(wanted).await;
            wanted.retain(|&ix| self.reactor.shared.members[ix].device().is_some());
            if wanted.is_empty() || self.reactor.shared.fault().is_some() {
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
            let state = &self.reactor.shared.members[ix];
            match state.trouble() {
                None if !state.is_awaited() => {
                    flushes.extend(state.devices_to_write().map(|dev| (ix, dev, self.reactor.rt.flush(dev))))
                }
                _ => left.push(ix),
            }
        }
        for (ix, dev, flush) in flushes {
            // What became of a successor is not waited for.
            if flush.await.is_err() && self.reactor.shared.members[ix].known_device() == Some(dev) {
                left.push(ix);
            }
        }
        left
    }
}
