//! Which group takes the user writes.

/// What a policy may know of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupView {
    /// Segments in all.
    pub segments: u32,
    /// Segments free for anybody.
    pub free: u32,
    /// Free segments that user writes must leave alone.
    pub reserve: u32,
}

impl GroupView {
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
    /// The group from which the next user segment is taken, given the present front-end. `None`: no group has room, so
    /// writers wait for the cleaner.
    pub fn choose(self, groups: &[GroupView], current: usize) -> Option<usize> {
        match self {
            FrontEnd::EveryGroup => {
                (0..groups.len()).filter(|&g| groups[g].writable()).max_by_key(|&g| (groups[g].free, usize::MAX - g))
            }
            FrontEnd::RotatingGroup => {
                (0..groups.len()).map(|step| (current + step) % groups.len()).find(|&g| groups[g].writable())
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
        assert_eq!(rule.choose(&[group(5), group(9), group(9)], 0), Some(0));
        assert_eq!(rule.choose(&[group(2), group(9), group(9)], 0), Some(1));
        assert_eq!(rule.choose(&[group(9), group(9), group(2)], 2), Some(0));
        assert_eq!(rule.choose(&[group(2), group(1), group(2)], 1), None);
    }

    #[test]
    fn every_group_prefers_the_emptiest() {
        assert_eq!(FrontEnd::EveryGroup.choose(&[group(5), group(9), group(9)], 0), Some(1));
    }
}
