//! One change of the groups at a time, and what volumes may hold after it.

use crate::error::GroupError;
use crate::reactor::Reactor;
use crate::space::usable::usable_blocks;

/// One change of the groups at a time.
pub(crate) struct Turn<'a>(&'a Reactor);

impl<'a> Turn<'a> {
    pub(crate) fn take(reactor: &'a Reactor) -> Result<Self, GroupError> {
        match reactor.is_ending() || reactor.home().regroup.running.replace(true) {
            true => Err(GroupError::Busy),
            false => Ok(Self(reactor)),
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.home().regroup.running.set(false);
        self.0.home().members_changed.notify();
    }
}

/// Tells what volumes may hold, after groups came or began to leave.
pub(crate) fn recompute_usable(reactor: &Reactor) {
    let (state, shared) = (reactor.home().state.borrow(), &reactor.shared);
    let usable = usable_blocks(&state, &shared.policies, shared.crew);
    shared.held.set_usable(usable.expect("the state was valid with these groups"));
}
