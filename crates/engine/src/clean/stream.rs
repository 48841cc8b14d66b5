//! Which stream a block goes to that moves out of a victim: that of its volume, where volumes are kept apart.

use std::rc::Rc;

use crate::reactor::Reactor;
use crate::space::manager::Space;
use crate::volume_state::VolumeState;
use crate::write::lane::Lane;
use crate::write::streams;

/// The lane for a block of a volume. While the volume's stream gets no segment that is the common one: cleaning waits for no more
/// than one.
pub(super) fn lane_of(reactor: &Rc<Reactor>, volume: &VolumeState) -> Lane {
    let Some(its) = streams::own(reactor, volume).map(Lane::CleaningOwn) else { return Lane::Cleaning };
    let mut writer = reactor.writer(its).borrow_mut();
    if writer.has_segment(reactor) {
        return its;
    }
    // There is no need to wait for a grant: whoever cleans is on the home reactor, which has the space.
    let space = &reactor.home().space;
    let grant = || {
        Space::try_grant(
            &mut space.borrow_mut(),
            &reactor.shared,
            its,
            None,
            (reactor.rt.id(), reactor.rt.now()),
            false,
        )
    };
    if !writer.takes(grant) {
        return Lane::Cleaning;
    }
    drop(writer);
    reactor.update_pressure();
    its
}
