//! What operators do while clients are at work: R-groups come and go, members get other devices.

use super::state::{Run, Session};
use crate::regroup::Regrouping;
use crate::story::{Cycle, Regroup};

impl Run<'_> {
    /// Lets R-groups come and go beside the clients.
    pub(super) fn regroup(&mut self, session: &Session, cycle: &Cycle) {
        let spoils = cycle.during.iter().any(|(_, harm)| !harm.what.is_harmless());
        for &(at, what) in &cycle.regroups {
            let force = match what {
                Regroup::Spare(n) => match self.members.becomes_spare(self.story.shape.places() + n) {
                    Some(force) => force,
                    None => continue,
                },
                Regroup::Add(set) => {
                    self.members.may_be_added(usize::from(set));
                    true
                }
                Regroup::Refresh(..) => {
                    (0..self.story.shape.sets()).for_each(|set| self.members.may_be_added(set));
                    true
                }
                _ => true,
            };
            self.tally.regrouped += 1;
            let regrouping = Regrouping {
                rt: session.cluster.reactor(0).clone(),
                array: session.array.home().clone(),
                shared: self.shared.clone(),
                devices: session.devices.clone(),
                shape: self.story.shape.clone(),
                force,
                harmed: self.ruined
                    || self.members.any_spoiled()
                    || spoils
                    || !cycle.passing.is_empty()
                    || cycle.absent.is_some(),
            };
            match what {
                // Waited for like a client: it takes longer than these.
                Regroup::Replace(_) | Regroup::Drain(_) | Regroup::Refresh(..) => {
                    self.shared.spawn(session.cluster.reactor(0), regrouping.make(at, what))
                }
                Regroup::Add(_) | Regroup::Retire(_) | Regroup::Spare(_) => {
                    session.cluster.reactor(0).spawn(regrouping.make(at, what))
                }
            }
        }
    }
}
