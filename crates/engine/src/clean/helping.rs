//! What the home reactor knows of those that help it to clean.

use std::cell::{Cell, RefCell};

use cygnus_types::{GroupId, ReactorId};

/// Victims that a helper has at once: while it waits for the one's header it moves the other's blocks.
pub(super) const AT_ONCE: u32 = 2;

/// What helpers are at work on.
#[derive(Default)]
pub(crate) struct Helpers {
    tasks: RefCell<Vec<Task>>,
    /// Whether some have begun segments, perhaps.
    pub(super) may_have_segments: Cell<bool>,
}

/// A helper's work in a group: one victim after the other.
struct Task {
    helper: ReactorId,
    group: GroupId,
}

impl Helpers {
    /// Whether any victims are being emptied elsewhere.
    pub(crate) fn are_at_work(&self) -> bool {
        !self.tasks.borrow().is_empty()
    }

    /// Helpers at work, each of which fills a stripe.
    pub(crate) fn filling(&self) -> u64 {
        let tasks = self.tasks.borrow();
        let is_first = |&(at, task): &(usize, &Task)| !tasks[..at].iter().any(|other| other.helper == task.helper);
        tasks.iter().enumerate().filter(is_first).count() as u64
    }

    /// Whether a helper takes one more victim of a group: it fills one segment, so it works in one group.
    pub(super) fn takes(&self, helper: ReactorId, group: GroupId) -> bool {
        let tasks = self.tasks.borrow();
        let its = || tasks.iter().filter(|task| task.helper == helper);
        its().all(|task| task.group == group) && (its().count() as u32) < AT_ONCE
    }

    pub(super) fn begins(&self, helper: ReactorId, group: GroupId) {
        self.tasks.borrow_mut().push(Task { helper, group });
        self.may_have_segments.set(true);
    }

    pub(super) fn ends(&self, helper: ReactorId) {
        let mut tasks = self.tasks.borrow_mut();
        let at = tasks.iter().position(|task| task.helper == helper).expect("it was noted when it began");
        tasks.swap_remove(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_helper_has_two_victims_at_once_in_one_group() {
        let (helpers, [one, two]) = (Helpers::default(), [ReactorId(1), ReactorId(2)]);
        assert!(!helpers.are_at_work());
        assert!(helpers.takes(one, GroupId(3)));
        helpers.begins(one, GroupId(3));
        assert!(helpers.takes(one, GroupId(3)) && !helpers.takes(one, GroupId(4)));
        helpers.begins(one, GroupId(3));
        helpers.begins(two, GroupId(4));
        assert!(!helpers.takes(one, GroupId(3)));
        assert_eq!((helpers.are_at_work(), helpers.filling()), (true, 2));
        helpers.ends(one);
        assert!(helpers.takes(one, GroupId(3)));
        helpers.ends(one);
        assert!(helpers.takes(one, GroupId(4)));
        assert_eq!(helpers.filling(), 1);
    }
}
