//! Which segment is cleaned next.

use cygnus_types::SegmentId;

/// What a policy may know of a sealed segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentView {
    /// Its number within its group.
    pub id: SegmentId,
    /// Blocks that hold current data.
    pub live: u32,
    /// Data blocks that it can hold.
    pub capacity: u32,
}

/// Rule for the victim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Victim {
    /// Fewest valid blocks (SWAN section 3.2).
    Greedy,
}

impl Victim {
    /// The victim among `segments`, or `None` if there is none; ties go to the lowest number.
    pub fn choose(self, segments: impl Iterator<Item = SegmentView>) -> Option<SegmentView> {
        match self {
            Victim::Greedy => segments.min_by_key(|s| (s.live, s.id)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greedy_takes_the_emptiest() {
        let seg = |id, live| SegmentView { id: SegmentId(id), live, capacity: 10 };
        let chosen = Victim::Greedy.choose([seg(0, 5), seg(1, 2), seg(2, 2)].into_iter());
        assert_eq!(chosen, Some(seg(1, 2)));
        assert_eq!(Victim::Greedy.choose(std::iter::empty()), None);
    }
}
