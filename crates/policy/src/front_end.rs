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

    /// Whether the group has enough to give that it is worth making it the front-end.
    pub fn may_take_over(&self) -> bool {
        self.writable() && (self.free - self.reserve) * TAKE_OVER_SHARE >= self.segments
    }
}

/// A group takes over as front-end once one in this many of its segments is free for writers. When writers outrun
/// cleaning, this is what they get at a time: with less, cleaning would work from hand to mouth, a flush for each few
/// segments, and fall further behind.
const TAKE_OVER_SHARE: u32 = 32;

/// Rule for the group that takes user writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrontEnd {
    /// Every group, the emptiest first.
    EveryGroup,
    /// One group at a time; when it has no segment to give, the next one that has takes over (SWAN section 3.2).
    RotatingGroup,
}

/// How far a turn of the rotation is, in segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// What the front-end has left for writers.
    pub writable: u32,
    /// What is still to be freed in the next front-end.
    pub to_free: u32,
    /// What there was to be freed when its cleaning began.
    pub to_free_at_first: u32,
}

/// Writers may run ahead of cleaning by one part in this many of what is freed in a turn, so that they never wait for the
/// cleaner's first steps, or for victims that happen to be full.
const SLACK: u32 = 16;

impl Turn {
    /// Whether writers are ahead of cleaning: at this pace the front-end would be full before the next one is clean. They
    /// wait a little for each segment then, rather than long at the end of the turn, and turns stay as long as they can be.
    pub fn writers_are_ahead(self) -> bool {
        self.to_free > self.writable + self.to_free_at_first / SLACK
    }
}

impl FrontEnd {
    /// Whether the users' writes have a group to themselves.
    pub fn is_exclusive(self) -> bool {
        self == FrontEnd::RotatingGroup
    }

    /// The group from which the next user segment is taken, given the present front-end and a group that was added and
    /// has not had its turn. `None`: no group has room enough, so writers wait for the cleaner; with `urgent`, when they
    /// have waited long, any room is enough.
    pub fn choose(self, groups: &[GroupView], current: usize, fresh: Option<usize>, urgent: bool) -> Option<usize> {
        match self {
            FrontEnd::EveryGroup => {
                (0..groups.len()).filter(|&g| groups[g].writable()).max_by_key(|&g| (groups[g].free, usize::MAX - g))
            }
            FrontEnd::RotatingGroup => {
                let in_turn = (1..groups.len()).map(|step| (current + step) % groups.len());
                // New capacity is the next front-end: it is clean, and the others' garbage has time to grow.
                let takes_over = |&g: &usize| groups[g].may_take_over() || urgent && groups[g].writable();
                let stays = Some(current).filter(|&g| groups[g].writable());
                stays.or_else(|| fresh.into_iter().chain(in_turn).find(takes_over))
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
        assert_eq!(rule.choose(&[group(5), group(9), group(9)], 0, None, false), Some(0));
        assert_eq!(rule.choose(&[group(2), group(9), group(9)], 0, None, false), Some(1));
        assert_eq!(rule.choose(&[group(9), group(9), group(2)], 2, None, false), Some(0));
        assert_eq!(rule.choose(&[group(2), group(1), group(2)], 1, None, false), None);
    }

    #[test]
    fn writers_go_at_the_pace_of_cleaning_when_they_are_faster() {
        let turn = |writable, to_free| Turn { writable, to_free, to_free_at_first: 160 };
        assert!(!turn(160, 160).writers_are_ahead(), "both begin");
        assert!(!turn(100, 110).writers_are_ahead() && turn(100, 111).writers_are_ahead());
        assert!(!turn(0, 0).writers_are_ahead(), "nothing to clean");
    }

    #[test]
    fn a_group_takes_over_once_it_has_something_to_give_or_writers_have_waited_long() {
        let full = GroupView { segments: 320, free: 2, reserve: 2 };
        let group = |free| GroupView { free, ..full };
        let choose = |free, urgent| FrontEnd::RotatingGroup.choose(&[full, group(free)], 0, None, urgent);
        assert_eq!((choose(11, false), choose(12, false)), (None, Some(1)));
        assert_eq!((choose(2, true), choose(3, true)), (None, Some(1)));
        let stays = FrontEnd::RotatingGroup.choose(&[group(3), group(300)], 0, None, false);
        assert_eq!(stays, Some(0), "until it is full");
    }

    #[test]
    fn a_group_that_was_added_comes_next_and_one_that_left_never() {
        let rule = FrontEnd::RotatingGroup;
        assert_eq!(rule.choose(&[group(5), group(9), group(9)], 0, Some(2), false), Some(0), "when its turn has come");
        assert_eq!(rule.choose(&[group(2), group(9), group(9)], 0, Some(2), false), Some(2));
        assert_eq!(rule.choose(&[group(2), GroupView::ABSENT, group(9)], 0, None, false), Some(2));
    }

    #[test]
    fn every_group_prefers_the_emptiest() {
        assert_eq!(FrontEnd::EveryGroup.choose(&[group(5), group(9), group(9)], 0, None, false), Some(1));
    }
}
