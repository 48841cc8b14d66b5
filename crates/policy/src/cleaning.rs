//! Where cleaning works, and when it starts and stops.

use crate::whole_group::WholeGroupView;
use crate::{GroupView, Share, Succession, Turn, Worth};

/// The groups, and whose turn it is.
#[derive(Clone, Copy, Debug)]
pub struct RotationView<'a> {
    /// All R-groups, in the order of their numbers.
    pub groups: &'a [GroupView],
    /// Number of the group that takes the writes now.
    pub front_end: usize,
    /// In what order they become front-end.
    pub succession: &'a Succession,
}

impl<'a> RotationView<'a> {
    /// The groups behind the front-end, in the order in which they will take over.
    fn back_ends(self) -> impl Iterator<Item = usize> + 'a {
        self.succession.others(self.front_end).filter(move |&g| self.groups[g].is_present())
    }
}

/// What the rule judges.
#[derive(Clone, Copy, Debug)]
pub struct CleaningView<'a> {
    /// The groups, and whose turn it is.
    pub rotation: RotationView<'a>,
    /// The groups as if what is emptied had been given back.
    pub released: &'a [GroupView],
    /// For each group, valid blocks of its best victim in percent of a segment; `None` when it has no victim.
    pub best_victim_percent: &'a [Option<u32>],
    /// Whether a writer waits for a free segment right now.
    pub starving: bool,
}

/// Groups of the rotation that are kept clean: the next front-end and the one after it.
const AHEAD: usize = 2;

/// Segments beyond the reserve that a group has at least when its turn ends, however small it is: one for clients, and one for what moves out of
/// the way of contention, which leaves them theirs.
const FOR_WRITERS: u32 = 2;

/// Rule for the group that is cleaned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CleaningScope {
    /// Any group, while what its writers have left is less than `keep`; segments that only have to be given back count. Where it is no more
    /// than what they are slowed at ([`Pressure`](crate::Pressure)), they are slowed whenever anything is cleaned.
    Anywhere {
        /// Of the group's segments, those that writers should have left.
        keep: Share,
    },
    /// The group that will be front-end next, then the one after it, and only while that pays: a victim with at least
    /// `worthless_percent` valid blocks is left alone (SWAN section 3.2; the order and the end are ours, the paper leaves them open).
    NextFrontEnd {
        /// Valid blocks, in percent, from which a victim is not worth its copies.
        worthless_percent: u32,
        /// Free segments, in percent of the group's, at which it is clean enough. Space that waits to be written is space
        /// in which garbage cannot gather: the more of it, the fuller the victims.
        target_percent: u32,
        /// Whether a second group is never cleaned beside the first one, as SWAN's section 3 has it: then writers wait for what one group at
        /// a time gives.
        one_at_a_time: bool,
    },
    /// All of a full group into another one (serial array, section 2); see [`CleaningScope::group_to_empty`]. Only when
    /// writers wait and no group can be emptied as a whole, segment by segment, where most is to be had.
    WholeGroup {
        /// Valid data, in percent of a group, from which it is not worth its copies.
        worthless_percent: u32,
    },
}

impl CleaningScope {
    /// Which segments are worth being victims. In a rotation each is cleaned once in its group's turn: what was moved
    /// only just now is left alone until the turn comes again, so that its garbage has time to grow and a turn has an
    /// end. Not while writers wait (`starving`).
    pub fn worth(self, starving: bool) -> Worth {
        match self {
            CleaningScope::Anywhere { .. } | CleaningScope::WholeGroup { .. } => {
                Worth { below_percent: 100, of_this_turn: true }
            }
            CleaningScope::NextFrontEnd { worthless_percent, .. } => {
                Worth { below_percent: worthless_percent, of_this_turn: starving }
            }
        }
    }

    /// Segments that are still to be freed in a group in its turn, if there is garbage enough.
    pub fn still_to_free(self, group: &GroupView) -> u32 {
        match self {
            CleaningScope::Anywhere { .. } | CleaningScope::WholeGroup { .. } => {
                group.segments.saturating_sub(group.free)
            }
            CleaningScope::NextFrontEnd { target_percent, .. } => {
                let target = u64::from(group.segments) * u64::from(target_percent) / 100;
                (target as u32).max(group.reserve + FOR_WRITERS).min(group.segments).saturating_sub(group.free)
            }
        }
    }

    /// How much cleaning must hurry where writers fill the group that is cleaned, from 0 to 1. Until writers have no more left than what they
    /// are slowed at, `slowed_at` segments, it hurries by what is missing of what they should have left: so it comes to go as fast as they
    /// write, and what clients ask of the same devices need not wait behind many victims at once.
    pub fn haste(self, group: &GroupView, slowed_at: u32) -> f64 {
        let CleaningScope::Anywhere { keep } = self else { return 1.0 };
        let wanted = keep.hundredths_of(group.segments) as f64 / 100.0;
        let (missing, most) = (wanted - f64::from(group.left()), wanted - f64::from(slowed_at));
        if most > 0.0 { (missing / most).clamp(0.0, 1.0) } else { 1.0 }
    }

    /// The group to empty as a whole now, if that is what the rule does.
    pub fn group_to_empty(self, view: &WholeGroupView) -> Option<usize> {
        match self {
            CleaningScope::WholeGroup { worthless_percent } => view.victim(worthless_percent),
            CleaningScope::Anywhere { .. } | CleaningScope::NextFrontEnd { .. } => None,
        }
    }

    /// The same rule, by which no second group is cleaned beside the first one.
    pub fn one_at_a_time(self) -> Self {
        match self {
            CleaningScope::NextFrontEnd { worthless_percent, target_percent, .. } => {
                CleaningScope::NextFrontEnd { worthless_percent, target_percent, one_at_a_time: true }
            }
            // These never clean two groups at once.
            CleaningScope::Anywhere { .. } | CleaningScope::WholeGroup { .. } => self,
        }
    }

    /// Whether groups are emptied as a whole where that is possible.
    pub fn is_by_group(self) -> bool {
        matches!(self, CleaningScope::WholeGroup { .. })
    }

    /// The group to clean a victim of, or `None` to rest.
    pub fn choose(self, view: &CleaningView) -> Option<usize> {
        match self {
            CleaningScope::Anywhere { keep } => {
                let wants = |&g: &usize| {
                    let group = &view.released[g];
                    let short = u64::from(group.left()) * 100 < keep.hundredths_of(group.segments);
                    (short || !group.writable()) && view.best_victim_percent[g].is_some_and(|p| p < 100)
                };
                (0..view.released.len()).filter(wants).min_by_key(|&g| view.released[g].free)
            }
            CleaningScope::WholeGroup { .. } => {
                let yields = |&g: &usize| view.best_victim_percent[g].is_some_and(|p| p < 100);
                let victims = (0..view.rotation.groups.len()).filter(|_| view.starving).filter(yields);
                victims.min_by_key(|&g| view.best_victim_percent[g])
            }
            CleaningScope::NextFrontEnd { worthless_percent, .. } => {
                let RotationView { groups, front_end, .. } = view.rotation;
                let pays = |g: usize, bound: u32| view.best_victim_percent[g].is_some_and(|p| p < bound);
                let back_ends = || view.rotation.back_ends();
                let ready = back_ends().any(|g| groups[g].writable());
                if ready && !view.starving {
                    // The next front-end is made as clean as it should be, then the one after it, so that cleaning never
                    // rests while it is behind; the others wait for their turn, so their garbage has time to grow.
                    let wants = |&g: &usize| pays(g, worthless_percent) && self.still_to_free(&view.released[g]) > 0;
                    return back_ends().take(AHEAD).find(wants);
                }
                // Nobody can take over: whatever yields space soonest in rotation order, the front-end itself last.
                back_ends()
                    .chain([front_end])
                    .find(|&g| pays(g, worthless_percent))
                    .or_else(|| back_ends().chain([front_end]).find(|&g| pays(g, 100)))
            }
        }
    }

    /// A group to clean beside `first`, the next front-end: the one after it, if all that is to be freed in both might not
    /// be freed one after the other while writers fill the front-end and then `first`. (The equation of SWAN's section 3.5
    /// lets all back-ends be cleaned at once. Not more than two are, so that the others can be read undisturbed.)
    pub fn group_beside(self, rotation: RotationView, first: usize) -> Option<usize> {
        let CleaningScope::NextFrontEnd { one_at_a_time: false, .. } = self else { return None };
        let mut back_ends = rotation.back_ends();
        if back_ends.next() != Some(first) {
            return None;
        }
        let beside = back_ends.next()?;
        let to_free = |g: usize| self.still_to_free(&rotation.groups[g]);
        let both = self.both_turns(rotation, (first, to_free(first)), beside);
        (to_free(first) > 0 && to_free(beside) > 0 && both.haste() >= 1.0).then_some(beside)
    }

    /// How much cleaning must hurry in a rotation, from 0 to 1, so that the next front-end is clean in time; `to_free`: what is still to be freed
    /// there. The group after it counts too. Were there all the time as soon as the next one is clean, the other would be as full as clients
    /// have left it when its turn begins, and all of that haste would be due at once.
    pub fn haste_in_rotation(self, rotation: RotationView, to_free: impl Fn(usize) -> u32) -> f64 {
        let mut back_ends = rotation.back_ends();
        let Some(next) = back_ends.next() else { return 0.0 };
        let (groups, to_free) = (rotation.groups, to_free(next));
        let alone = Turn { writable: groups[rotation.front_end].left(), freed: groups[next].left(), to_free };
        let both = back_ends.next().map_or(0.0, |after| self.both_turns(rotation, (next, to_free), after).haste());
        alone.haste().max(both)
    }

    /// The turns of the next front-end, where so much is to be freed, and of the one after it, as one.
    fn both_turns(self, rotation: RotationView, (next, to_free): (usize, u32), after: usize) -> Turn {
        let RotationView { groups, front_end, .. } = rotation;
        Turn {
            writable: groups[front_end].left() + groups[next].left() + to_free,
            freed: groups[next].left() + groups[after].left(),
            to_free: to_free + self.still_to_free(&groups[after]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SegmentView;

    fn group(free: u32) -> GroupView {
        GroupView { segments: 100, free, reserve: 2 }
    }

    fn rotation<'a>(groups: &'a [GroupView], succession: &'a Succession) -> RotationView<'a> {
        RotationView { groups, front_end: 0, succession }
    }

    #[test]
    fn swan_cleans_a_segment_once_in_a_turn_unless_writers_wait() {
        let swan = CleaningScope::NextFrontEnd { worthless_percent: 95, target_percent: 60, one_at_a_time: false };
        let view =
            |of_this_turn| SegmentView { id: cygnus_types::SegmentId(1), live: 5, capacity: 10, life: 1, of_this_turn };
        assert!(swan.worth(false).takes(&view(false)) && swan.worth(true).takes(&view(true)));
        assert!(!swan.worth(false).takes(&view(true)));
        assert!(CleaningScope::Anywhere { keep: Share { percent: 2, most: 96 } }.worth(false).takes(&view(true)));
    }

    fn swan(groups: &[GroupView], front_end: usize, victims: &[Option<u32>], starving: bool) -> Option<usize> {
        let rule = CleaningScope::NextFrontEnd { worthless_percent: 95, target_percent: 60, one_at_a_time: false };
        rule.choose(&CleaningView {
            rotation: RotationView { groups, front_end, succession: &Succession::behind(front_end, groups.len()) },
            released: groups,
            best_victim_percent: victims,
            starving,
        })
    }

    #[test]
    fn swan_cleans_the_next_front_end_first() {
        let groups = [group(50), group(20), group(1)];
        assert_eq!(swan(&groups, 0, &[Some(1), Some(40), Some(2)], false), Some(1));
        assert_eq!(swan(&groups, 0, &[Some(1), Some(96), Some(96)], false), None, "not worth its copies");
        assert_eq!(swan(&groups, 2, &[Some(60), Some(40), Some(2)], false), Some(0));
        assert_eq!(swan(&[group(50), group(60), group(1)], 0, &[Some(1); 3], false), Some(2), "clean enough");
        let four = [group(50), group(60), group(60), group(1)];
        assert_eq!(swan(&four, 0, &[Some(1); 4], false), None, "those far ahead wait");
    }

    #[test]
    fn swan_takes_what_it_can_get_when_nobody_can_take_over() {
        let groups = [group(1), group(1), group(1)];
        assert_eq!(swan(&groups, 0, &[Some(50), Some(99), Some(70)], true), Some(2));
        assert_eq!(swan(&groups, 0, &[Some(50), Some(99), None], true), Some(0), "the front-end itself, last");
        assert_eq!(swan(&groups, 0, &[Some(100), Some(100), None], true), None);
    }

    #[test]
    fn swan_passes_over_groups_that_left_and_waits_for_one_that_was_added() {
        let rule = CleaningScope::NextFrontEnd { worthless_percent: 95, target_percent: 60, one_at_a_time: false };
        let victims = [Some(40), None, Some(30), None];
        let choose = |groups: &[GroupView], succession: Succession| {
            let (best_victim_percent, starving) = (&victims[..groups.len()], false);
            let rotation = RotationView { groups, front_end: 0, succession: &succession };
            rule.choose(&CleaningView { rotation, released: groups, best_victim_percent, starving })
        };
        let mut three = Succession::behind(0, 3);
        assert_eq!(choose(&[group(5), GroupView::ABSENT, group(20)], three.clone()), Some(2));
        three.adds(3);
        assert_eq!(choose(&[group(5), group(100), group(20), group(100)], three), None, "it is clean");
    }

    #[test]
    fn swan_cleans_two_groups_when_one_at_a_time_would_be_late() {
        let rule = CleaningScope::NextFrontEnd { worthless_percent: 95, target_percent: 60, one_at_a_time: false };
        let beside = |free: [u32; 4], first| {
            let groups = free.map(group);
            rule.group_beside(rotation(&groups, &Succession::behind(0, 4)), first)
        };
        assert_eq!(beside([60, 10, 10, 10], 1), Some(2), "as much to free as there is to write");
        let groups = [60, 10, 10, 10].map(group);
        let four = Succession::behind(0, 4);
        let one_at_a_time = rule.one_at_a_time();
        assert_eq!(one_at_a_time.group_beside(rotation(&groups, &four), 1), None, "the rule forbids it");
        assert_eq!(beside([60, 45, 10, 10], 1), None, "the next is almost clean");
        assert_eq!(beside([20, 45, 10, 10], 1), Some(2), "but soon wanted");
        assert_eq!(beside([20, 60, 10, 10], 2), None, "the next is clean");
        assert_eq!(beside([20, 10, 60, 10], 1), None, "the one after it is clean");
        let two = [group(20), group(10)];
        assert_eq!(rule.group_beside(rotation(&two, &Succession::behind(0, 2)), 1), None);
        let anywhere = CleaningScope::Anywhere { keep: Share { percent: 2, most: 96 } };
        assert_eq!(anywhere.group_beside(rotation(&[group(1); 3], &Succession::behind(0, 3)), 1), None);
    }

    #[test]
    fn it_hurries_for_the_group_after_the_next_one_too() {
        let rule = CleaningScope::NextFrontEnd { worthless_percent: 95, target_percent: 30, one_at_a_time: false };
        let haste = |free: &[u32]| {
            let groups: Vec<_> = free.iter().map(|&free| group(free)).collect();
            let succession = Succession::behind(0, groups.len());
            let to_free = |g: usize| rule.still_to_free(&groups[g]);
            rule.haste_in_rotation(rotation(&groups, &succession), to_free)
        };
        assert_eq!((haste(&[40, 30, 30]), haste(&[2, 30, 30])), (0.0, 0.0), "both are clean");
        assert_eq!([30, 23, 16, 2].map(|free| haste(&[free, 30, 2])), [0.0, 0.5, 1.0, 1.0], "the other is full");
        assert_eq!((haste(&[2, 30]), haste(&[2, 29])), (0.0, 1.0), "with two groups there is no other");
        assert_eq!(haste(&[30]), 0.0);
        let falls = |free: u32| haste(&[free, 20, 2]) >= haste(&[free + 1, 20, 2]);
        assert!((2..99).all(falls) && haste(&[2, 20, 2]) == 1.0, "a slope");
    }

    #[test]
    fn whole_groups_are_cleaned_by_segments_only_while_writers_wait() {
        let rule = CleaningScope::WholeGroup { worthless_percent: 90 };
        let choose = |starving| {
            let best_victim_percent = &[Some(60), None, Some(40)];
            let groups = &[group(1); 3];
            let three = Succession::behind(0, 3);
            let rotation = rotation(groups, &three);
            rule.choose(&CleaningView { rotation, released: groups, best_victim_percent, starving })
        };
        assert_eq!((choose(false), choose(true)), (None, Some(2)));
    }

    #[test]
    fn beside_writers_it_hurries_by_what_they_lack() {
        let rule = CleaningScope::Anywhere { keep: Share { percent: 10, most: 96 } };
        // Two of what is free are not for writers.
        let haste = [12, 7, 4, 3, 2].map(|free| rule.haste(&group(free), 2));
        assert_eq!(haste, [0.0, 0.625, 1.0, 1.0, 1.0]);
        assert_eq!(rule.haste(&group(7), 10), 1.0, "there is nothing between");
    }

    #[test]
    fn writers_have_some_left_whether_that_is_given_back_or_not() {
        let rule = CleaningScope::Anywhere { keep: Share { percent: 10, most: 96 } };
        let view = |free| {
            rule.choose(&CleaningView {
                rotation: rotation(&[group(0)], &Succession::behind(0, 1)),
                released: &[group(free)],
                best_victim_percent: &[Some(50)],
                starving: false,
            })
        };
        assert_eq!(view(12), None, "two of them are not for writers");
        assert_eq!(view(11), Some(0));
    }
}
