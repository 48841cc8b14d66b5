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
    /// Which life of a segment this is, counted over the array: younger ones were begun later.
    pub life: u64,
    /// Begun since the cleaner came to this group: what lies in it was moved there only just now.
    pub of_this_turn: bool,
}

impl SegmentView {
    /// Valid blocks in percent of what it can hold.
    pub fn live_percent(&self) -> u32 {
        (u64::from(self.live) * 100 / u64::from(self.capacity)) as u32
    }
}

/// Rule for the victim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Victim {
    /// Fewest valid blocks (SWAN section 3.2).
    Greedy,
    /// The one that was written first. A drive erases large blocks that it fills in the order of writes: trimmed in this
    /// order, segments leave whole blocks without anything valid, and the drive has nothing to collect. Segments of a
    /// group that is emptied as a whole are all victims anyway; the order costs nothing then.
    Oldest,
}

impl Victim {
    /// The victim among `segments`, or `None` if there is none; ties go to the lowest number.
    pub fn choose(self, segments: impl Iterator<Item = SegmentView>) -> Option<SegmentView> {
        segments.min_by_key(|segment| self.rank(segment))
    }

    /// The lowest comes first.
    fn rank(self, segment: &SegmentView) -> (u64, SegmentId) {
        match self {
            Victim::Greedy => (segment.live.into(), segment.id),
            Victim::Oldest => (segment.life, segment.id),
        }
    }

    /// The best victims, at most `most`, best first.
    pub fn choose_several(self, segments: impl Iterator<Item = SegmentView>, most: usize) -> Vec<SegmentView> {
        let mut best: Vec<SegmentView> = segments.collect();
        if best.len() > most {
            best.select_nth_unstable_by_key(most, |segment| self.rank(segment));
            best.truncate(most);
        }
        best.sort_unstable_by_key(|segment| self.rank(segment));
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greedy_takes_the_emptiest() {
        let seg = |id, live| SegmentView {
            id: SegmentId(id),
            live,
            capacity: 10,
            life: 9 - u64::from(id),
            of_this_turn: false,
        };
        let chosen = Victim::Greedy.choose([seg(0, 5), seg(1, 2), seg(2, 2)].into_iter());
        assert_eq!(chosen, Some(seg(1, 2)));
        assert_eq!(Victim::Greedy.choose(std::iter::empty()), None);
        assert_eq!(Victim::Oldest.choose([seg(0, 5), seg(1, 2), seg(2, 2)].into_iter()), Some(seg(2, 2)));
        let several =
            |most| Victim::Greedy.choose_several([seg(0, 5), seg(1, 2), seg(2, 2), seg(3, 9)].into_iter(), most);
        assert_eq!(several(3), [seg(1, 2), seg(2, 2), seg(0, 5)]);
        assert_eq!(several(1), [seg(1, 2)]);
        assert_eq!(several(9).len(), 4);
    }
}
