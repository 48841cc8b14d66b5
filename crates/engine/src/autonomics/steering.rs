//! Which groups new writes avoid: those with members that lag, are slow at writing, or share a contended link. A stripe takes all
//! columns of its group, so one such member is felt by every write there; its protection stays what it is.

use cygnus_types::{GroupId, Nanos};

use crate::shared::Shared;

/// See the module's text.
#[derive(Clone, Copy)]
pub(crate) struct Steering<'a> {
    shared: &'a Shared,
}

impl<'a> Steering<'a> {
    pub(crate) fn of(shared: &'a Shared) -> Self {
        Self { shared }
    }

    /// Whether new writes avoid a group.
    pub(crate) fn is_burdened(self, group: GroupId, now: Nanos) -> bool {
        let Some(marks) = &self.shared.marks else { return false };
        let mut columns = 0..self.shared.layout.width(group);
        columns
            .any(|column| self.shared.member(group, column).1.device().is_some_and(|dev| marks.is_burdened(dev, now)))
    }

    /// The same of groups 0 to `groups`.
    pub(crate) fn burdened(self, groups: usize, now: Nanos) -> Vec<bool> {
        (0..groups).map(|group| self.is_burdened(GroupId(group as u16), now)).collect()
    }
}
