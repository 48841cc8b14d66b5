//! The grace period: when it is over, every look has ended that any reactor had under way ([`crate::space::looks`]).

use std::rc::Rc;

use crate::peers::ToOwner;
use crate::reactor::Reactor;

/// Waits until every look that any reactor has under way now has ended.
pub(crate) async fn grace(reactor: &Rc<Reactor>) {
    reactor.home().grace.next(&reactor.rt, || round(reactor.clone())).await;
}

async fn round(reactor: Rc<Reactor>) {
    reactor.peers.ask_others(&reactor.rt, |ticket| ToOwner::EndLooks { ticket }).await;
    reactor.looks.end().await;
}
