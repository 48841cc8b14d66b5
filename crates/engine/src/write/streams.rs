//! Which stream a client's write goes to.

use std::rc::Rc;

use cygnus_types::Lba;

use crate::counters::read;
use crate::reactor::Reactor;
use crate::volume_state::VolumeState;
use crate::write::lane::Lane;

/// Where a client's write goes: the stream for the heat of its first block's range. While that has no segment it goes to the
/// other one, which only costs cleaning.
pub(crate) fn lane_of(reactor: &Rc<Reactor>, volume: &VolumeState, lba: Lba) -> Lane {
    let Some(heat) = &reactor.shared.heat else { return Lane::Clients };
    let [its, other] = match heat.is_hot(volume.id, lba) {
        true => [Lane::Hot, Lane::Clients],
        false => [Lane::Clients, Lane::Hot],
    };
    let has_segment = |lane: Lane| reactor.writer(lane).borrow_mut().has_segment(reactor);
    if has_segment(its) {
        return its;
    }
    reactor.writer(its).borrow_mut().ask(reactor);
    // Nobody has to give the hot ones any: who waits, waits as a client.
    if has_segment(other) { other } else { Lane::Clients }
}

/// Notes what a client has written.
pub(crate) fn note(reactor: &Reactor, volume: &VolumeState, lba: Lba, blocks: u64) {
    let Some(heat) = &reactor.shared.heat else { return };
    heat.goes_on(read(&reactor.shared.totals.client_written), reactor.shared.held.blocks());
    heat.note(volume.id, lba, blocks);
}
