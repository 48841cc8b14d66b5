//! A group's turn to be cleaned: what is still to be freed in it, and how fast that goes. A second group may be cleaned
//! beside it, whose turn begins with that.

use cygnus_policy::Turn;
use cygnus_types::Nanos;

/// Segments that must have been freed before their time counts: fewer come back in one batch.
const TELLING: u32 = 8;

/// See the module's text.
#[derive(Default)]
pub(crate) struct CleaningTurn {
    /// The group that was cleaned last, and the first sequence of segments begun since the cleaner came to it.
    group: Option<(usize, u64)>,
    /// The same of the group that was cleaned beside it last.
    beside: Option<(usize, u64)>,
    to_free: u32,
    /// When the segments that are being timed began to be freed, and what was to be freed then.
    timed: Option<(Nanos, u32)>,
    /// What it has taken lately to free a segment; zero: not known yet.
    per_segment: Nanos,
}

impl CleaningTurn {
    /// The cleaner works in this group, where it has found so much to free; its turn begins when it comes from another one.
    pub(crate) fn goes_on(&mut self, group: usize, to_free: u32, next_segment_seq: u64, now: Nanos) {
        if self.group.is_none_or(|(cleaned, _)| cleaned != group) {
            // If the other group is passed over, its turn is over too.
            let begun = self.beside.take().filter(|&(beside, _)| beside == group);
            self.group = begun.or(Some((group, next_segment_seq)));
            self.timed = None;
        }
        self.to_free = to_free;
        match self.timed {
            Some((since, at_first)) if to_free <= at_first => {
                let freed = at_first - to_free;
                if freed >= TELLING {
                    let took = Nanos(now.since(since).0 / u64::from(freed));
                    let known = self.per_segment != Nanos::ZERO;
                    self.per_segment = if known { Nanos((self.per_segment.0 + took.0) / 2) } else { took };
                    self.timed = Some((now, to_free));
                }
            }
            _ => self.timed = Some((now, to_free)),
        }
    }

    /// The cleaner works in this group too.
    pub(crate) fn goes_beside(&mut self, group: usize, next_segment_seq: u64) {
        if self.beside.is_none_or(|(beside, _)| beside != group) {
            self.beside = Some((group, next_segment_seq));
        }
    }

    /// The cleaner rests: that time does not count.
    pub(crate) fn pauses(&mut self) {
        (self.to_free, self.timed) = (0, None);
    }

    /// The cleaner takes its time: that does not tell how fast it is.
    pub(crate) fn is_leisurely(&mut self) {
        self.timed = None;
    }

    /// Whether enough is free, or emptied, for the group to be the front-end.
    pub(crate) fn is_over(&self) -> bool {
        self.to_free == 0
    }

    /// The group whose turn it is.
    pub(crate) fn group(&self) -> Option<usize> {
        self.group.map(|(group, _)| group)
    }

    /// The first sequence of segments begun in a group's present turn, if it is its turn.
    pub(crate) fn began(&self, group: usize) -> Option<u64> {
        let turns = self.group.into_iter().chain(self.beside);
        turns.filter(|&(cleaned, _)| cleaned == group).map(|(_, began)| began).next()
    }

    /// Segments that are still to be freed in the group.
    pub(crate) fn to_free(&self) -> u32 {
        self.to_free
    }

    /// What writers should take for a segment, when the front-end has so many left for them, and the next one so many already.
    pub(crate) fn writers_pace(&self, writable: u32, freed: u32) -> Nanos {
        Turn { writable, freed, to_free: self.to_free }.writers_pace(self.per_segment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pace_is_that_of_segments_freed_without_a_pause() {
        let mut turn = CleaningTurn::default();
        turn.goes_on(1, 100, 7, Nanos(0));
        assert_eq!(turn.per_segment, Nanos::ZERO, "nothing is known");
        turn.goes_on(1, 90, 8, Nanos(1000));
        assert_eq!((turn.per_segment, turn.began(1), turn.began(0)), (Nanos(100), Some(7), None));
        turn.pauses();
        assert_eq!(turn.writers_pace(0, 0), Nanos::ZERO);
        turn.goes_on(1, 60, 9, Nanos(1_000_000));
        turn.goes_on(1, 50, 9, Nanos(1_005_000));
        assert_eq!((turn.per_segment, turn.began(1)), (Nanos(300), Some(7)));
        turn.goes_beside(2, 11);
        turn.goes_beside(2, 12);
        turn.goes_on(1, 50, 13, Nanos(1_005_050));
        assert_eq!((turn.group(), turn.began(2), turn.began(1)), (Some(1), Some(11), Some(7)));
        turn.goes_on(2, 10, 14, Nanos(1_005_100));
        assert_eq!((turn.group(), turn.began(2), turn.per_segment), (Some(2), Some(11), Nanos(300)));
    }

    #[test]
    fn a_group_that_was_cleaned_beside_another_one_and_passed_over_begins_anew() {
        let mut turn = CleaningTurn::default();
        turn.goes_on(1, 50, 7, Nanos(0));
        turn.goes_beside(2, 8);
        turn.goes_on(3, 50, 9, Nanos(0));
        assert_eq!(turn.began(2), None);
        turn.goes_on(2, 50, 10, Nanos(0));
        assert_eq!(turn.began(2), Some(10));
    }
}
