//! Stripes that have to end before something goes on, and had better be full by then. What is cut short costs headers, padding, and the
//! room in its segment that nothing fills any more: where many stripes end early, more is cleaned.

use std::rc::Rc;

use cygnus_runtime::either;
use cygnus_types::Nanos;

use crate::planted::{self, Bug};
use crate::reactor::Reactor;
use crate::write::lane::Lane;

/// Waits until all that is in this reactor's stripes of data by now is on the devices. Stripes have `patience` to be filled by whoever
/// writes to them; what is opened later may stay open.
pub(crate) async fn until_ended(reactor: &Rc<Reactor>, patience: Nanos) {
    let next = reactor.shared.stripes.next();
    let deadline = reactor.rt.now() + patience;
    let holds = |lane: &&Lane| reactor.writer(**lane).borrow().holds_from_before(next);
    let is_filling = |lane: &&Lane| holds(lane) && reactor.writer(**lane).borrow().has_begun_a_stripe();
    loop {
        let is_time_up = reactor.rt.now() >= deadline || reactor.is_ending() || do_writers_wait(reactor);
        if is_time_up || !Lane::OF_DATA.iter().any(|lane| is_filling(&lane)) {
            break;
        }
        let changed = either(reactor.progress.wait(), space_changes(reactor));
        either(changed, reactor.rt.sleep_until(deadline)).await;
    }
    if !planted::is(Bug::ReleasedBeforeFull) {
        Lane::OF_DATA.iter().filter(holds).for_each(|&lane| reactor.writer(lane).borrow_mut().close_stripe(reactor));
    }
    reactor.until_landed(Lane::OF_DATA).await;
}

/// Waits until writers may have begun to wait for a segment, on the reactor that knows.
async fn space_changes(reactor: &Reactor) {
    match reactor.is_home() {
        true => reactor.home().space_changed.wait().await,
        false => std::future::pending().await,
    }
}

/// Whether writers wait for a segment, as far as that is known here: they would fill no stripe.
fn do_writers_wait(reactor: &Reactor) -> bool {
    reactor.is_home() && reactor.home().space.borrow().is_starving()
}
