//! Members that are in trouble for a while, beside everything else.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use cygnus_sim::DiskId;
use cygnus_types::Nanos;

use super::state::{Run, Session};
use crate::failure::Trouble;
use crate::journal;
use crate::recovery;
use crate::story::{Cycle, Sort, What};

/// So many times slower than its like a disk may be without making anybody wait longer than [`recovery::SERVES_AGAIN`].
const ORDINARY_SLOWNESS: u64 = 20;

impl Run<'_> {
    /// Lets members be in trouble for a while, beside the clients.
    pub(super) fn let_pass(&mut self, session: &Session, cycle: &Cycle) {
        let disks = self.members.disks();
        let longest: u64 = cycle.passing.iter().map(|(at, trouble)| at.0 + trouble.span.0).max().unwrap_or(0);
        self.shared.loses_nothing.set(!cycle.passing.is_empty());
        self.shared.patience.set(Nanos(recovery::SERVES_AGAIN.0 * self.slowness(cycle) + longest));
        self.shared.may_suspend.set(cycle.suspended_for.is_some());
        session.array.home().set_suspended_for(cycle.suspended_for.unwrap_or(Nanos::MAX));
        let troubled: Rc<RefCell<BTreeSet<usize>>> = Rc::default();
        for (at, trouble) in cycle.passing.clone() {
            self.tally.passing += 1;
            self.ruined |= trouble.sort == Sort::Unpowered;
            self.shared.may_clog.set(self.ruined);
            let (rt, world) = (session.cluster.reactor(0).clone(), self.world.clone());
            let (troubled, shared, shape) = (troubled.clone(), self.shared.clone(), self.story.shape.clone());
            let concerned: Vec<DiskId> = trouble.members.iter().map(|&n| disks[n]).collect();
            session.cluster.reactor(0).spawn(async move {
                rt.sleep(at).await;
                journal::tell(format!("{} {trouble:?} begins", rt.now()));
                troubled.borrow_mut().extend(&trouble.members);
                let in_set = |set: usize| troubled.borrow().iter().filter(|&&n| shape.set_of(n) == set).count();
                let too_many = |&n: &usize| in_set(shape.set_of(n)) > shape.parity_of(shape.set_of(n));
                if trouble.sort == Sort::Unpowered && trouble.members.iter().any(too_many) {
                    shared.oracle.borrow_mut().caches_are_lost();
                }
                concerned.iter().for_each(|&disk| trouble.sort.begin(&world, disk));
                rt.sleep(trouble.span).await;
                journal::tell(format!("{} {trouble:?} ends", rt.now()));
                concerned.iter().for_each(|&disk| trouble.sort.end(&world, disk));
            });
        }
    }

    /// How many times as long as otherwise a request may take. A disk that is a hundred times slower than its like takes 0.2 s for each
    /// operation, and a writer may wait for dozens: those that empty the segment which the writer gets, and flushes behind them.
    fn slowness(&self, cycle: &Cycle) -> u64 {
        let has_arm = |member: usize| self.story.shape.has_arm(member);
        let factors = cycle.during.iter().filter_map(|(_, harm)| match harm.what {
            What::Slow(factor) if has_arm(harm.member) => Some(factor),
            _ => None,
        });
        factors.max().unwrap_or(1).div_ceil(ORDINARY_SLOWNESS)
    }

    /// When trouble is over, the array serves again without anybody's help, and whoever was away is brought up to date.
    pub(super) fn serves_again(&mut self, session: &Session, cycle: &Cycle, since: Nanos) -> Result<(), Trouble> {
        let passing = cycle.passing.iter().map(|(at, trouble)| since + *at + trouble.span);
        let over = passing.chain(cycle.absent.map(|absent| since + absent.until)).max();
        let Some(over) = over else { return Ok(()) };
        self.shared.may_suspend.set(false);
        session.array.home().set_suspended_for(Nanos::MAX);
        let (rt, array) = (session.cluster.reactor(0).clone(), session.array.home().clone());
        Ok(self.wait(session, recovery::serves_again(rt, array, over, self.members.lost()))??)
    }

    /// Whatever was in trouble no longer is.
    pub(super) fn end_passing(&self, cycle: &Cycle) {
        let disks = self.members.disks();
        for (_, trouble) in &cycle.passing {
            trouble.members.iter().for_each(|&n| trouble.sort.end(&self.world, disks[n]));
        }
        self.shared.may_suspend.set(false);
        self.shared.patience.set(Nanos::ZERO);
    }
}
