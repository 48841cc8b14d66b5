//! Space is granted: on the home reactor, to the writers of all reactors.

use std::rc::Rc;

use cygnus_policy::{GroupView, PressureView};
use cygnus_runtime::either;
use cygnus_types::{GroupId, Medium, Nanos, ReactorId};

use crate::reactor::Reactor;
use crate::space::manager::{group_id, on_medium};
use crate::space::shortage;
use crate::write::admission::Pace;
use crate::write::grant::Grant;
use crate::write::lane::Lane;

/// How long a writer waits for a group that has enough to give before it takes what there is.
pub(crate) const PATIENCE: Nanos = Nanos::millis(50);

/// After so long without a segment for clients' writes the operator hears of it, and then each time after as long: clients have timers of half a
/// minute.
const TOLD_AFTER: Nanos = Nanos::secs(10);

/// Where room comes back slowly writers are let in so often while a segment is gained ..
const PERIODS: u64 = 8;
/// .. and no more seldom than this: clients have timers of half a minute.
const LONGEST_PERIOD: Nanos = Nanos::secs(4);

impl Reactor {
    /// A segment for a lane of reactor `owner`, as soon as there is one; `None` when the array closes, or has no group on the lane's
    /// medium any more. A lane that is granted at once is not waited with; `to`: the group in which it wants its segment.
    pub(crate) async fn grant_here(
        self: &Rc<Self>,
        lane: Lane,
        to: Option<GroupId>,
        owner: ReactorId,
    ) -> Option<Grant> {
        let home = self.home();
        let mut counted = false;
        let begun = self.rt.now();
        let (urgent_at, mut told_at) = (begun + PATIENCE, begun + TOLD_AFTER);
        loop {
            let changed = home.space_changed.wait();
            let urgent = self.rt.now() >= urgent_at;
            let granted = home.space.borrow_mut().try_grant(&self.shared, lane, to, (owner, self.rt.now()), urgent);
            // Closing still takes a last checkpoint. Of a medium whose last group retires nobody waits for anything.
            let has_left = lane.medium().is_some_and(|medium| !self.shared.held.has_medium(medium));
            let refused = self.shared.is_closed() && lane != Lane::Meta || has_left || lane.is_granted_at_once();
            if granted.is_some() || refused {
                if matches!(lane, Lane::Clients(_) | Lane::Own(..)) && !home.space.borrow().clogged {
                    home.cleaning.damage.gives_room();
                }
                if counted {
                    home.space.borrow_mut().starving.ends(lane, begun);
                }
                self.update_pressure();
                // The cleaner looks at what is left.
                home.space_changed.notify();
                return granted;
            }
            if lane.is_waited_for() && !std::mem::replace(&mut counted, true) {
                home.space.borrow_mut().starving.begins(lane, begun);
                self.update_pressure();
                home.space_changed.notify();
            }
            if self.rt.now() >= told_at {
                told_at = self.rt.now() + TOLD_AFTER;
                shortage::tell(&self.shared, &home.space.borrow(), lane, self.rt.now());
            }
            either(changed, self.rt.sleep_until(if urgent { told_at } else { urgent_at })).await;
        }
    }

    /// Recomputes how much writers are slowed.
    pub(crate) fn update_pressure(&self) {
        let space = self.home().space.borrow();
        let (views, released) = (space.views(&self.shared), space.views_when_released(&self.shared));
        if let Some(marks) = &self.shared.marks {
            marks.have_room((0..).zip(&views).filter(|(_, view)| view.has_room_for_moves()).map(|(n, _)| GroupId(n)));
        }
        // As long as not all of the space is live data, there is garbage to be had.
        let cleanable = space.cleaning.is_some() || space.is_starving();
        let per_segment = space.writers_pace(&self.shared, &views, &released);
        let capacity = u64::from(self.shared.shapes(group_id(space.front_end)).capacity());
        let of_turn = per_segment / capacity;
        let pressure = self.shared.policies.pressure;
        let pace = |medium: Medium, released: &[GroupView]| {
            let writable = released.iter().map(GroupView::left).sum();
            let segments = released.iter().map(|g| g.segments).sum();
            let gain = self.home().cleaning.gained.borrow().per_block(medium);
            let view = PressureView { writable, segments, cleanable, gain };
            // Where one group takes all writes its own turn has a pace.
            let of_gain =
                if self.shared.policies.front_end.is_exclusive() { Nanos::ZERO } else { pressure.interval(view) };
            let period =
                if of_gain > Nanos::ZERO { (gain * capacity / PERIODS).min(LONGEST_PERIOD) } else { Nanos::ZERO };
            Pace { delay: pressure.delay_per_block(view), interval: of_turn.max(of_gain), period }
        };
        let paces = match self.shared.held.only_medium() {
            Some(medium) => Medium::ALL.map(|on| (on == medium).then(|| pace(medium, &released))),
            None => Medium::ALL.map(|medium| {
                self.shared.held.has_medium(medium).then(|| pace(medium, &on_medium(&self.shared, &released, medium)))
            }),
        };
        self.shared.admission.set(paces, self.rt.now());
    }
}
