//! What the operator hears when there is no segment for clients' writes. They wait without an error, since what is missing may come.

use cygnus_policy::GroupView;
use cygnus_types::Nanos;

use crate::shared::Shared;
use crate::space::manager::{Space, on_medium};
use crate::write::lane::Lane;

/// Says that a lane has waited so long, how its medium is, and what may help.
pub(super) fn tell(shared: &Shared, space: &Space, lane: Lane, waited: Nanos) {
    // Of a clogged array it was told already. What is hot goes to the other stream meanwhile.
    let is_news = lane.is_for_clients() && lane.is_waited_for() && shared.clogged() == 0;
    let Some(medium) = lane.medium().filter(|_| is_news) else { return };
    let free_of = |views: &[GroupView]| on_medium(shared, views, medium).iter().map(|view| view.free).sum::<u32>();
    let free = free_of(&space.views(shared));
    let emptied = free_of(&space.views_when_released(shared)) - free;
    let damaged = shared.segments.damaged();
    let remedy = match (emptied, damaged) {
        (0, 0) => "discard what is not needed any more, or add devices",
        (0, _) => {
            "blocks that cannot be read keep the damaged ones: write or discard these, which 'cygnus array check' names"
        }
        _ => "what was emptied waits for a flush, so look for a member that is slow to flush",
    };
    let text = format!(
        "for {waited} there has been no segment for clients' writes on {medium}: {free} are free and kept for cleaning, {emptied} emptied, \
         {damaged} damaged; {remedy}"
    );
    shared.log_repeated("no segment for clients' writes", &medium.to_string(), text);
}
