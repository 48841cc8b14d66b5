//! Space is granted: on the home reactor, to the writers of all reactors.

use std::rc::Rc;

use cygnus_policy::{GroupView, PressureView};
use cygnus_runtime::either;
use cygnus_types::{Medium, Nanos, ReactorId};

use crate::reactor::Reactor;
use crate::space::manager::on_medium;
use crate::write::grant::Grant;
use crate::write::lane::Lane;

/// How long a writer waits for a group that has enough to give before it takes what there is.
pub(crate) const PATIENCE: Nanos = Nanos::millis(50);

impl Reactor {
    /// A segment for a lane of reactor `owner`, as soon as there is one; `None` when the array closes, or has no group on the lane's
    /// medium any more.
    pub(crate) async fn grant_here(self: &Rc<Self>, lane: Lane, owner: ReactorId) -> Option<Grant> {
        let home = self.home();
        let mut counted = false;
        let urgent_at = self.rt.now() + PATIENCE;
        loop {
            let changed = home.space_changed.wait();
            let urgent = self.rt.now() >= urgent_at;
            let granted = home.space.borrow_mut().try_grant(&self.shared, lane, (owner, self.rt.now()), urgent);
            // Closing still takes a last checkpoint. Of a medium whose last group retires nobody waits for anything.
            let has_left = lane.medium().is_some_and(|medium| !self.shared.held.has_medium(medium));
            let refused = self.shared.is_closed() && lane != Lane::Meta || has_left;
            if granted.is_some() || refused {
                if matches!(lane, Lane::Clients(_)) && !home.space.borrow().clogged {
                    home.cleaning.damage.gives_room();
                }
                if counted {
                    home.space.borrow_mut().ends_starving(lane);
                }
                self.update_pressure();
                // The cleaner looks at what is left.
                home.space_changed.notify();
                return granted;
            }
            // Nothing depends on these.
            if !matches!(lane, Lane::Beside | Lane::Hot(_)) && !std::mem::replace(&mut counted, true) {
                home.space.borrow_mut().starves(lane);
                self.update_pressure();
                home.space_changed.notify();
            }
            match urgent {
                true => changed.await,
                false => either(changed, self.rt.sleep_until(urgent_at)).await,
            }
        }
    }

    /// Recomputes how much writers are slowed.
    pub(crate) fn update_pressure(&self) {
        let space = self.home().space.borrow();
        let views = space.views(&self.shared);
        // As long as not all of the space is live data, there is garbage to be had.
        let cleanable = space.cleaning.is_some() || space.is_starving();
        let delay = |views: &[GroupView]| {
            let writable = views.iter().map(GroupView::left).sum();
            let segments = views.iter().map(|g| g.segments).sum();
            self.shared.policies.pressure.delay_per_block(PressureView { writable, segments, cleanable })
        };
        let delays = match self.shared.held.only_medium() {
            Some(_) => [delay(&views); Medium::ALL.len()],
            None => Medium::ALL.map(|medium| delay(&on_medium(&self.shared, &views, medium))),
        };
        let per_segment = space.writers_pace(&self.shared, &views);
        let interval = Nanos(per_segment.0 / u64::from(self.shared.protections.capacity()));
        self.shared.admission.set(delays, interval);
    }
}
