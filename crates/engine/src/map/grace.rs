//! The grace period: when it is over, every look has ended that any reactor had under way ([`crate::map::looks`]).

use std::rc::Rc;

use crate::peers::ToOwner;
use crate::reactor::Reactor;

impl Reactor {
    /// Waits until every look that any reactor has under way now has ended.
    pub(crate) async fn grace(self: &Rc<Self>) {
        self.home().grace.next(&self.rt, || self.clone().grace_round()).await;
    }

    async fn grace_round(self: Rc<Self>) {
        self.peers.ask_others(&self.rt, |ticket| ToOwner::EndLooks { ticket }).await;
        self.looks.end().await;
    }
}
