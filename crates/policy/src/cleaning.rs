//! Where cleaning works, and when it starts and stops.

use crate::GroupView;

/// What the rule judges.
#[derive(Clone, Copy, Debug)]
pub struct CleaningView<'a> {
    /// The groups.
    pub groups: &'a [GroupView],
    /// The present front-end.
    pub front_end: usize,
    /// A group that was added and will be the next front-end, if there is one.
    pub fresh: Option<usize>,
    /// The group that was being cleaned until now, if any.
    pub cleaning: Option<usize>,
    /// For each group, valid blocks of its best victim in percent of a segment; `None` when it has no victim.
    pub best_victim_percent: &'a [Option<u32>],
    /// Whether a writer waits for a free segment right now.
    pub starving: bool,
}

/// Rule for the group that is cleaned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CleaningScope {
    /// Any group: start when its free segments fall below `start_percent` of all, stop at `stop_percent`.
    Anywhere {
        /// Low watermark, percent of the group's segments.
        start_percent: u32,
        /// High watermark.
        stop_percent: u32,
    },
    /// Only the group that will be front-end next, and only while that pays: a victim with at least `worthless_percent`
    /// valid blocks is left alone (SWAN section 3.2; the order and the end are ours, the paper leaves them open).
    NextFrontEnd {
        /// Valid blocks, in percent, from which a victim is not worth its copies.
        worthless_percent: u32,
    },
}

impl CleaningScope {
    /// The group to clean a victim of, or `None` to rest.
    pub fn choose(self, view: &CleaningView) -> Option<usize> {
        match self {
            CleaningScope::Anywhere { start_percent, stop_percent } => {
                let wants = |g: usize| {
                    let group = &view.groups[g];
                    let bound = if view.cleaning == Some(g) { stop_percent } else { start_percent };
                    let short = u64::from(group.free) * 100 < u64::from(group.segments) * u64::from(bound);
                    (short || !group.writable()) && view.best_victim_percent[g].is_some_and(|p| p < 100)
                };
                (0..view.groups.len()).filter(|&g| wants(g)).min_by_key(|&g| view.groups[g].free)
            }
            CleaningScope::NextFrontEnd { worthless_percent } => {
                let n = view.groups.len();
                let pays = |g: usize, bound: u32| view.best_victim_percent[g].is_some_and(|p| p < bound);
                let in_turn =
                    || (1..n).map(|step| (view.front_end + step) % n).filter(|&g| view.groups[g].is_present());
                let fresh = view.fresh.filter(|&g| g != view.front_end);
                let back_ends = || fresh.into_iter().chain(in_turn().filter(move |&g| Some(g) != fresh));
                let ready = back_ends().any(|g| view.groups[g].writable());
                if ready && !view.starving {
                    // The next front-end is made as clean as it pays; the ones after it wait for their turn, so their
                    // garbage has time to grow.
                    return back_ends().next().filter(|&g| pays(g, worthless_percent) && !view.groups[g].untouched());
                }
                // Nobody can take over: whatever yields space soonest in rotation order, the front-end itself last.
                back_ends()
                    .chain([view.front_end])
                    .find(|&g| pays(g, worthless_percent))
                    .or_else(|| back_ends().chain([view.front_end]).find(|&g| pays(g, 100)))
            }
        }
    }
}

impl GroupView {
    /// Whether nothing has been written here yet.
    fn untouched(&self) -> bool {
        self.free == self.segments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(free: u32) -> GroupView {
        GroupView { segments: 100, free, reserve: 2 }
    }

    fn swan(groups: &[GroupView], front_end: usize, victims: &[Option<u32>], starving: bool) -> Option<usize> {
        let rule = CleaningScope::NextFrontEnd { worthless_percent: 95 };
        rule.choose(&CleaningView {
            groups,
            front_end,
            fresh: None,
            cleaning: None,
            best_victim_percent: victims,
            starving,
        })
    }

    #[test]
    fn swan_cleans_the_next_front_end_only() {
        let groups = [group(50), group(20), group(1)];
        assert_eq!(swan(&groups, 0, &[Some(1), Some(40), Some(2)], false), Some(1));
        assert_eq!(swan(&groups, 0, &[Some(1), Some(96), Some(2)], false), None, "not worth its copies");
        assert_eq!(swan(&groups, 2, &[Some(60), Some(40), Some(2)], false), Some(0));
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
        let rule = CleaningScope::NextFrontEnd { worthless_percent: 95 };
        let victims = [Some(40), None, Some(30), None];
        let choose = |groups: &[GroupView], fresh| {
            let (best_victim_percent, cleaning, starving) = (&victims[..groups.len()], None, false);
            rule.choose(&CleaningView { groups, front_end: 0, fresh, cleaning, best_victim_percent, starving })
        };
        assert_eq!(choose(&[group(5), GroupView::ABSENT, group(20)], None), Some(2));
        assert_eq!(choose(&[group(5), group(100), group(20), group(100)], Some(3)), None, "it is clean");
    }

    #[test]
    fn watermarks_have_hysteresis() {
        let rule = CleaningScope::Anywhere { start_percent: 10, stop_percent: 20 };
        let view = |free, cleaning| {
            let groups = [group(free)];
            rule.choose(&CleaningView {
                groups: &groups,
                front_end: 0,
                fresh: None,
                cleaning,
                best_victim_percent: &[Some(50)],
                starving: false,
            })
        };
        assert_eq!(view(15, None), None);
        assert_eq!(view(9, None), Some(0));
        assert_eq!(view(15, Some(0)), Some(0));
        assert_eq!(view(20, Some(0)), None);
    }
}
