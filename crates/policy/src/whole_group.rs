//! Cleaning by whole groups, as the serial array does (HotStorage'17, section 2): nothing is collected inside a group.
//!
//! The current blocks of a full group move to another back-end group, then all of it is discarded at once (external
//! collection, xGC). One clean group is always in reserve, so there is a place to move to. When it begins and where it
//! goes is ours, since the paper leaves both open. It takes the full group with least valid data, and fills a group that
//! is begun before it begins a clean one. It begins when no clean group is left but the reserve, and as late as it may:
//! garbage gathers meanwhile.

use crate::{GroupView, Succession};

/// What the rules judge. A group that is being emptied shows no free segments.
#[derive(Clone, Copy, Debug)]
pub struct WholeGroupView<'a> {
    /// All R-groups, in the order of their numbers.
    pub groups: &'a [GroupView],
    /// Number of the group that takes the writes now.
    pub front_end: usize,
    /// For each group, the segments that its current blocks would fill.
    pub live: &'a [u32],
    /// Whether a writer waits for a free segment right now.
    pub starving: bool,
}

/// Valid data, in percent of a group, up to which it is emptied in good time. From a half on, emptying groups cannot keep
/// pace with a front-end that is as fast as they are, as 1 / (1 - u) of them give the room of one; so the more is valid,
/// the longer it is worth to wait for garbage, or for a better victim.
const SUSTAINABLE_PERCENT: u64 = 50;

/// In good time: emptying a group is taken to go at half the pace of writers.
const HEAD_START: u64 = 2;

/// Clean groups that are kept for emptying others into.
const RESERVE: usize = 1;

/// How many groups are clean.
pub(crate) fn clean_groups(groups: &[GroupView]) -> usize {
    groups.iter().filter(|group| group.is_clean()).count()
}

/// Whether a clean group is left when one is begun.
pub(crate) fn may_begin_one(groups: &[GroupView]) -> bool {
    clean_groups(groups) > RESERVE
}

impl WholeGroupView<'_> {
    /// The group to empty now, if its current blocks fill less than `worthless_percent` of it and there is room for them
    /// elsewhere; `None` to rest.
    pub(crate) fn victim(&self, worthless_percent: u32) -> Option<usize> {
        if may_begin_one(self.groups) {
            return None;
        }
        let is_full = |&g: &usize| {
            let group = &self.groups[g];
            group.is_present() && !group.is_clean() && !group.writable()
        };
        let worth_it = |&g: &usize| {
            let percent = self.live[g] * 100 / self.groups[g].segments;
            percent < worthless_percent && self.room_beside(g) >= self.live[g] + self.live[g] / 16 + 2
        };
        let least = (0..self.groups.len()).filter(is_full).filter(worth_it).min_by_key(|&g| (self.live[g], g));
        least.filter(|&g| self.starving || self.is_time(g, u64::from(worthless_percent)))
    }

    /// Whether writers have no more left than it takes to empty the group in good time. Only the group that is to be emptied
    /// is asked: one with more valid data waits longer for itself, and would be first for as long as the better one rests.
    fn is_time(&self, victim: usize, worthless: u64) -> bool {
        let (live, segments) = (u64::from(self.live[victim]), u64::from(self.groups[victim].segments));
        let percent = live * 100 / segments;
        let waits = percent.saturating_sub(SUSTAINABLE_PERCENT);
        let begin_at =
            live * HEAD_START * worthless.saturating_sub(percent) / worthless.saturating_sub(percent - waits).max(1);
        u64::from(left_for_writers(self.groups, self.front_end)) <= begin_at + segments / 16
    }

    /// Segments that other back-end groups have to give. Copies take somewhat more than what they are copies of, as
    /// flushes cut their stripes short.
    fn room_beside(&self, victim: usize) -> u32 {
        let others = (0..self.groups.len()).filter(|&g| g != victim && g != self.front_end);
        others.map(|g| self.groups[g].left()).sum()
    }
}

/// Segments that writers can take before they need the reserve: those of the front-end, and of other groups that are begun
/// while there is a reserve.
pub fn left_for_writers(groups: &[GroupView], front_end: usize) -> u32 {
    let has_reserve = clean_groups(groups) > 0;
    let is_theirs = |g: usize| g == front_end || has_reserve && !groups[g].is_clean();
    let left = groups.iter().enumerate().filter(|&(g, _)| is_theirs(g));
    left.map(|(_, group)| group.left()).sum()
}

/// The group into which another one is emptied: a back-end group that is begun, the fullest first, else a clean one, the
/// last in turn, else whatever has anything free. `None`: nothing is free at all.
pub fn destination(groups: &[GroupView], front_end: usize, succession: &Succession) -> Option<usize> {
    let back_ends = || succession.others(front_end).rev();
    let begun = back_ends().filter(|&g| groups[g].writable() && !groups[g].is_clean());
    let clean = || back_ends().find(|&g| groups[g].is_clean());
    let any = || (0..groups.len()).filter(|&g| groups[g].free > 0).max_by_key(|&g| groups[g].free);
    begun.min_by_key(|&g| groups[g].free).or_else(clean).or_else(any)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CleaningScope;

    fn group(free: u32) -> GroupView {
        GroupView { segments: 100, free, reserve: 2 }
    }

    fn victim(groups: &[u32], front_end: usize, live: &[u32], starving: bool) -> Option<usize> {
        let rule = CleaningScope::WholeGroup { worthless_percent: 90 };
        let groups: Vec<_> = groups.iter().map(|&free| group(free)).collect();
        rule.group_to_empty(&WholeGroupView { groups: &groups, front_end, live, starving })
    }

    #[test]
    fn the_full_group_with_least_valid_data_is_emptied_once_only_the_reserve_is_clean() {
        let live = [49, 30, 90, 0];
        assert_eq!(victim(&[2, 2, 60, 100], 2, &live, false), Some(1));
        assert_eq!(victim(&[2, 60, 40, 100], 2, &live, false), Some(0), "the other is not full");
        assert_eq!(victim(&[2, 100, 60, 100], 2, &live, false), None, "two are clean");
        assert_eq!(victim(&[2, 2, 2, 100], 2, &[60, 60, 20, 0], false), Some(2), "the front-end too");
    }

    #[test]
    fn it_begins_late_and_the_later_the_more_is_valid() {
        let begins_at =
            |live: u32| (0..98).rev().find(|&free| victim(&[2, 2, free, 100], 2, &[live, 99, 99, 0], false).is_some());
        assert_eq!((begins_at(20), begins_at(30)), (Some(48), Some(68)), "twice its data, and a sixteenth");
        assert_eq!((begins_at(50), begins_at(70), begins_at(85)), (Some(97), Some(78), Some(29)));
        assert_eq!(begins_at(90), None);
        let starved = |live: [u32; 4]| victim(&[2, 2, 2, 100], 2, &live, true);
        assert_eq!((starved([60, 70, 80, 0]), starved([90, 95, 90, 0])), (Some(0), None));
    }

    #[test]
    fn a_worse_group_is_not_emptied_because_its_time_has_come_and_that_of_a_better_one_has_not() {
        let chosen = |free: u32| victim(&[2, 2, free, 100], 2, &[78, 18, 0, 0], false);
        assert_eq!((chosen(52), chosen(44)), (None, Some(1)), "the other would begin at 61");
    }

    #[test]
    fn nothing_is_begun_that_has_no_room_to_end() {
        assert_eq!(victim(&[2, 2, 60, 40], 2, &[50, 36, 1, 1], true), None);
        assert_eq!(victim(&[2, 2, 60, 40], 2, &[50, 34, 1, 1], true), Some(1));
    }

    #[test]
    fn a_group_that_is_begun_is_filled_before_a_clean_one() {
        let destination = |groups: &[GroupView]| destination(groups, 1, &Succession::behind(1, groups.len()));
        assert_eq!(destination(&[group(0), group(50), group(30), group(100)]), Some(2));
        assert_eq!(destination(&[group(0), group(50), group(2), group(100)]), Some(3));
        assert_eq!(destination(&[group(0), group(3), group(2), GroupView::ABSENT]), Some(1), "better than nothing");
        assert_eq!(destination(&[group(0); 3]), None);
    }
}
