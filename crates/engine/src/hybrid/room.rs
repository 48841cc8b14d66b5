//! Who lacks room on the faster medium says so, and what is cold there leaves: what is hot, and volumes that are bound to that medium.

use std::rc::Rc;

use cygnus_types::{Constraint, Medium};

use crate::peers::ToHome;
use crate::reactor::Reactor;
use crate::volume_state::VolumeState;

/// Something that is to come to a medium lacks room there.
pub(crate) fn is_lacking(reactor: &Rc<Reactor>, on: Medium) {
    let Some(temperatures) = &reactor.shared.temperatures else { return };
    if temperatures.lacks_room(on) {
        return;
    }
    match reactor.is_home() {
        true => reactor.home().fast_is_full.notify(),
        false => reactor.peers.tell_home(&reactor.rt, ToHome::FastIsFull),
    }
}

/// A volume has written, or would have. If it is bound to a medium of which little is left, what is cold leaves before nothing is.
#[inline]
pub(crate) fn is_wanted_by(reactor: &Rc<Reactor>, volume: &VolumeState) {
    let (Some(temperatures), Constraint::Only(on)) = (&reactor.shared.temperatures, volume.constraint) else { return };
    if reactor.shared.held.fill(on) >= temperatures.rule.scarce_from() {
        is_lacking(reactor, on);
    }
}
