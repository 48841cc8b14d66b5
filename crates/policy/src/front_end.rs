//! Which group takes the user writes.

/// What a policy may know of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupView {
    /// Segments in all; 0 for a group that has left the array or is leaving it.
    pub segments: u32,
    /// Segments free for anybody.
    pub free: u32,
    /// Free segments that user writes must leave alone.
    pub reserve: u32,
}

impl GroupView {
    /// A group that takes no part: it has left, or is leaving.
    pub const ABSENT: GroupView = GroupView { segments: 0, free: 0, reserve: 0 };

    /// Whether the group takes part.
    pub fn is_present(&self) -> bool {
        self.segments > 0
    }

    /// Whether a user write may open a segment here.
    pub fn writable(&self) -> bool {
        self.free > self.reserve
    }
}

/// Rule for the group that takes user writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrontEnd {
    /// Every group, the emptiest first.
    EveryGroup,
    /// One group at a time; when it has no segment to give, the next one that has takes over (SWAN section 3.2).
    RotatingGroup,
}

impl FrontEnd {
    /// The group from which the next user segment is taken, given the present front-end and a group that was added and
    /// has not had its turn. `None`: no group has room, so writers wait for the cleaner.
    pub fn choose(self, groups: &[GroupView], current: usize, fresh: Option<usize>) -> Option<usize> {
        match self {
            FrontEnd::EveryGroup => {
                (0..groups.len()).filter(|&g| groups[g].writable()).max_by_key(|&g| (groups[g].free, usize::MAX - g))
            }
            FrontEnd::RotatingGroup => {
                let in_turn = (1..groups.len()).map(|step| (current + step) % groups.len());
                // New capacity is the next front-end: it is clean, and the others' garbage has time to grow.
                [current].into_iter().chain(fresh).chain(in_turn).find(|&g| groups[g].writable())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(free: u32) -> GroupView {
        GroupView { segments: 10, free, reserve: 2 }
    }

    #[test]
    fn the_front_end_stays_until_it_is_full_then_rotates() {
        let rule = FrontEnd::RotatingGroup;
        assert_eq!(rule.choose(&[group(5), group(9), group(9)], 0, None), Some(0));
        assert_eq!(rule.choose(&[group(2), group(9), group(9)], 0, None), Some(1));
        assert_eq!(rule.choose(&[group(9), group(9), group(2)], 2, None), Some(0));
        assert_eq!(rule.choose(&[group(2), group(1), group(2)], 1, None), None);
    }

    #[test]
    fn a_group_that_was_added_comes_next_and_one_that_left_never() {
        let rule = FrontEnd::RotatingGroup;
        assert_eq!(rule.choose(&[group(5), group(9), group(9)], 0, Some(2)), Some(0), "when its turn has come");
        assert_eq!(rule.choose(&[group(2), group(9), group(9)], 0, Some(2)), Some(2));
        assert_eq!(rule.choose(&[group(2), GroupView::ABSENT, group(9)], 0, None), Some(2));
    }

    #[test]
    fn every_group_prefers_the_emptiest() {
        assert_eq!(FrontEnd::EveryGroup.choose(&[group(5), group(9), group(9)], 0, None), Some(1));
    }
}
