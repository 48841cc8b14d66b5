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
    /// The lowest comes first; ties go to the lowest number.
    pub fn rank(self, segment: &SegmentView) -> u64 {
        match self {
            Victim::Greedy => segment.live.into(),
            Victim::Oldest => segment.life,
        }
    }
}

/// Which segments are worth being victims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worth {
    /// Those with valid blocks below so many percent of what they can hold.
    pub below_percent: u32,
    /// Those begun in their group's present turn, too.
    pub of_this_turn: bool,
}

impl Worth {
    /// Any segment.
    pub const ANY: Worth = Worth { below_percent: u32::MAX, of_this_turn: true };

    /// Whether a segment is.
    pub fn takes(self, segment: &SegmentView) -> bool {
        segment.live_percent() < self.below_percent && (self.of_this_turn || !segment.of_this_turn)
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
        let first = |rule: Victim| {
            let segments = [seg(0, 5), seg(1, 2), seg(2, 2)];
            segments.into_iter().min_by_key(|segment| (rule.rank(segment), segment.id))
        };
        assert_eq!(first(Victim::Greedy), Some(seg(1, 2)));
        assert_eq!(first(Victim::Oldest), Some(seg(2, 2)));
    }
}
