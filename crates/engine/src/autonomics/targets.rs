//! The groups to which one reactor moves blocks: a few at a time, each with an open segment of its own.
//!
//! A target is *live* while it is worth keeping: its segment has room, it is used, and its cluster is cold. A group takes the place of one
//! that is not.

use std::cell::Cell;

use cygnus_types::{GroupId, Nanos};

use crate::write::lane::Slot;

/// A group that takes what moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub group: GroupId,
    /// When blocks were last to go there.
    pub used: Nanos,
}

/// See the module's text.
#[derive(Default)]
pub(crate) struct Targets([Cell<Option<Target>>; Slot::ALL.len()]);

impl Targets {
    pub(super) fn target(&self, slot: Slot) -> Option<Target> {
        self.0[slot.index()].get()
    }

    /// The slot whose target is a group.
    pub(super) fn slot_of(&self, group: GroupId) -> Option<Slot> {
        Slot::ALL.into_iter().find(|&slot| self.target(slot).is_some_and(|target| target.group == group))
    }

    /// A group is a slot's target, and blocks are to go there.
    pub(super) fn uses(&self, slot: Slot, group: GroupId, now: Nanos) {
        self.0[slot.index()].set(Some(Target { group, used: now }));
    }
}

/// Live targets that may be below one switch, of so many in all: data stays below its switch, so those below one must not have them all.
pub(super) fn share_of_a_switch(targets: u32, switches: usize) -> usize {
    (targets as usize / switches.max(1)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_has_one_target_at_a_time() {
        let targets = Targets::default();
        let [first, second, ..] = Slot::ALL;
        targets.uses(first, GroupId(3), Nanos(5));
        targets.uses(second, GroupId(4), Nanos(6));
        assert_eq!([3, 4, 5].map(|n| targets.slot_of(GroupId(n))), [Some(first), Some(second), None]);
        targets.uses(first, GroupId(5), Nanos(7));
        assert_eq!([3, 4, 5].map(|n| targets.slot_of(GroupId(n))), [None, Some(second), Some(first)]);
        assert_eq!(targets.target(first), Some(Target { group: GroupId(5), used: Nanos(7) }));
    }

    #[test]
    fn switches_have_equal_shares_and_one_target_at_least() {
        assert_eq!(
            [(8, 1), (8, 4), (8, 5), (2, 4)].map(|(all, switches)| share_of_a_switch(all, switches)),
            [8, 2, 1, 1]
        );
    }
}
