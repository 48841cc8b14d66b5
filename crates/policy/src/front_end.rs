//! Which group takes the client writes, and how fast.

use cygnus_types::Nanos;

use crate::Succession;
use crate::whole_group::may_begin_one;

/// What a policy may know of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupView {
    /// Segments in all, but those that cannot be emptied; 0 for a group that has left the array or is leaving it.
    pub segments: u32,
    /// Segments free for anybody.
    pub free: u32,
    /// Free segments that client writes must leave alone.
    pub reserve: u32,
}

impl GroupView {
    /// A group that takes no part: it has left, or is leaving.
    pub const ABSENT: GroupView = GroupView { segments: 0, free: 0, reserve: 0 };

    /// Whether the group takes part.
    pub fn is_present(&self) -> bool {
        self.segments > 0
    }

    /// Whether nothing is in it.
    pub fn is_clean(&self) -> bool {
        self.is_present() && self.free >= self.segments
    }

    /// Segments that client writes may open here.
    pub fn left(&self) -> u32 {
        self.free.saturating_sub(self.reserve)
    }

    /// Whether a client write may open a segment here.
    pub fn writable(&self) -> bool {
        self.left() > 0
    }

    /// Whether what moves out of the way of contention may open a segment here: it leaves one to clients.
    pub fn has_room_for_moves(&self) -> bool {
        self.left() > 1
    }

    /// Whether the group has enough to give that it is worth making it the front-end.
    pub fn may_take_over(&self) -> bool {
        self.writable() && self.left() * TAKE_OVER_SHARE >= self.segments
    }
}

/// A group takes over as front-end once one in this many of its segments is free for writers. When writers outrun
/// cleaning, this is what they get at a time: with less, cleaning would work from hand to mouth, a flush for each few
/// segments, and fall further behind.
const TAKE_OVER_SHARE: u32 = 32;

/// Rule for the group that takes client writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrontEnd {
    /// Every group, the emptiest first.
    EveryGroup,
    /// One group at a time; when it has no segment to give, the next one that has takes over (SWAN section 3.2).
    RotatingGroup,
    /// As [`FrontEnd::RotatingGroup`], but a clean group takes over, and one of these stays in reserve (serial array,
    /// section 2). While only the reserve is clean, a group that is begun does, so that writers need not wait.
    CleanGroup,
}

/// How far a turn of the rotation is, in segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// What the front-end has left for writers.
    pub writable: u32,
    /// What the next front-end has for them already; 0 where they get nothing of it before all of it is clean.
    pub freed: u32,
    /// What is still to be freed in the next front-end.
    pub to_free: u32,
}

/// The lead that writers may keep over cleaning, as a part of the turn: a burst goes through at once.
const LEAD: f64 = 0.25;
/// Writers are not slowed while their room is at least this multiple of what the turn frees.
const AT_LEISURE: f64 = 2.0;
/// The least part of the cleaner's pace at which writers go on.
const SLOWEST: f64 = 0.125;
/// Cleaning has time while the writers' room is at least this multiple of what the turn frees.
const AT_EASE: f64 = 1.5;
/// It goes as fast as it can while that room is no more than this multiple: writers are held up only then, and hardly before 1.
const IN_HASTE: f64 = 1.25;

impl Turn {
    /// The writers' room, here and in the next front-end, as a multiple of what the turn frees in all: 1 while cleaning keeps pace with
    /// them, and less by the part of the turn by which it lags. What remains of the turn would be the wrong measure: near its end the lag of
    /// a single segment would be all of it.
    fn room(self) -> f64 {
        f64::from(self.writable + self.freed) / f64::from(self.to_free + self.freed)
    }

    /// What writers, all of them together, should take for a segment if the cleaner takes `cleaners` to free one; zero:
    /// as little as they can. When the front-end is full the next one should have nearly all that it is to give, or turns
    /// would get shorter until writers run into a wall. So writers are the slower the farther cleaning lags: at the
    /// cleaner's pace once they have used up their lead, and steeply faster or slower around that.
    pub fn writers_pace(self, cleaners: Nanos) -> Nanos {
        if self.to_free == 0 {
            return Nanos::ZERO;
        }
        let room = self.room() + LEAD;
        if room >= AT_LEISURE {
            return Nanos::ZERO;
        }
        let faster = (room * room * room * room).max(SLOWEST);
        Nanos((cleaners.0 as f64 / faster) as u64)
    }

    /// How much cleaning must hurry, from 0, there is time and clients' reads go first, to 1, as fast as it can go. It
    /// hurries wholly before writers are held up for its sake ([`Turn::writers_pace`]), so that readers never slow
    /// writers down (reads before writes before cleaning, but cleaning in time: SWAN section 3.2).
    pub fn haste(self) -> f64 {
        if self.to_free == 0 {
            return 0.0;
        }
        ((AT_EASE - self.room()) / (AT_EASE - IN_HASTE)).clamp(0.0, 1.0)
    }
}

impl FrontEnd {
    /// Whether the clients' writes have a group to themselves.
    pub fn is_exclusive(self) -> bool {
        self != FrontEnd::EveryGroup
    }

    /// Whether groups take turns, each cleaned while another one is written.
    pub fn rotates(self) -> bool {
        self == FrontEnd::RotatingGroup
    }

    /// Whether groups are to be filled one after the other, so that clean ones stay clean.
    pub fn fills_one_by_one(self) -> bool {
        self == FrontEnd::CleanGroup
    }

    /// The same as [`FrontEnd::choose`], which comes to a group that is burdened only if there is no other: some of its members lag, or
    /// share a contended link (Triple-A, section 4.3: writes are redirected).
    pub fn choose_unburdened(
        self,
        groups: &[GroupView],
        burdened: &[bool],
        current: usize,
        succession: &Succession,
        urgent: bool,
    ) -> Option<usize> {
        let full_if = |(&group, &is_burdened): (&GroupView, &bool)| match is_burdened {
            true => GroupView { free: 0, ..group },
            false => group,
        };
        let unburdened: Vec<GroupView> = groups.iter().zip(burdened).map(full_if).collect();
        self.choose(&unburdened, current, succession, urgent)
            .or_else(|| self.choose(groups, current, succession, urgent))
    }

    /// The group from which the next client segment is taken, given the present front-end and in what order groups take over. `None`: no group
    /// has room enough, so writers wait for the cleaner; with `urgent`, when they have waited long, any room is enough.
    pub fn choose(self, groups: &[GroupView], current: usize, succession: &Succession, urgent: bool) -> Option<usize> {
        let emptiest = |may: &dyn Fn(usize) -> bool| {
            let writable = (0..groups.len()).filter(|&g| groups[g].writable() && may(g));
            writable.max_by_key(|&g| (groups[g].free, usize::MAX - g))
        };
        let mut in_turn = succession.others(current);
        match self {
            FrontEnd::EveryGroup => emptiest(&|_| true),
            FrontEnd::RotatingGroup => {
                let takes_over = |&g: &usize| groups[g].may_take_over() || urgent && groups[g].writable();
                let stays = Some(current).filter(|&g| groups[g].writable());
                stays.or_else(|| in_turn.find(takes_over))
            }
            FrontEnd::CleanGroup => {
                let may_begin = may_begin_one(groups);
                let reserve_stays = may_begin || groups.iter().any(GroupView::is_clean);
                let may_write = |&g: &usize| match groups[g].is_clean() {
                    true => may_begin,
                    false => groups[g].writable() && (g == current || !may_begin && reserve_stays),
                };
                let next = || in_turn.find(may_write);
                let at_last = || emptiest(&|g| urgent && !groups[g].is_clean());
                Some(current).filter(may_write).or_else(next).or_else(at_last)
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

    fn choose(rule: FrontEnd, groups: &[GroupView], current: usize, urgent: bool) -> Option<usize> {
        rule.choose(groups, current, &Succession::behind(current, groups.len()), urgent)
    }

    #[test]
    fn the_front_end_stays_until_it_is_full_then_rotates() {
        let choose = |free: [u32; 3], current| choose(FrontEnd::RotatingGroup, &free.map(group), current, false);
        assert_eq!((choose([5, 9, 9], 0), choose([2, 9, 9], 0), choose([9, 9, 2], 2)), (Some(0), Some(1), Some(0)));
        assert_eq!(choose([2, 1, 2], 1), None);
    }

    #[test]
    fn writers_go_at_the_pace_of_cleaning_when_they_have_used_up_their_lead() {
        let pace = |writable, to_free| Turn { writable, freed: 0, to_free }.writers_pace(Nanos::millis(1));
        assert_eq!((pace(0, 0), pace(175, 100)), (Nanos::ZERO, Nanos::ZERO), "nothing to clean, or room enough");
        assert_eq!(pace(75, 100), Nanos::millis(1));
        assert!((0..174).all(|w| pace(w, 100) >= pace(w + 1, 100)), "a slope");
        assert!(pace(100, 100) < Nanos::micros(420) && pace(50, 100) > Nanos::millis(3));
        assert_eq!(pace(0, 100), Nanos::millis(8));
    }

    #[test]
    fn a_lag_of_one_segment_is_worth_as_much_at_the_end_of_a_turn_as_at_its_beginning() {
        let cleaners = Nanos::millis(1);
        let late = |written: u32| Turn { writable: 40 - written, freed: written - 1, to_free: 40 - (written - 1) };
        let (begun, ended) = (late(1), late(40));
        assert_eq!(begun.writers_pace(cleaners), ended.writers_pace(cleaners));
        assert!(ended.writers_pace(cleaners) < cleaners, "writers may go on faster than cleaning");
        assert_eq!((begun.haste(), ended.haste()), (1.0, 1.0));
    }

    #[test]
    fn cleaning_hurries_before_writers_are_held_up() {
        let turn = |writable, to_free| Turn { writable, freed: 0, to_free };
        assert_eq!((turn(0, 0).haste(), turn(150, 100).haste(), turn(125, 100).haste()), (0.0, 0.0, 1.0));
        assert!((0..200).all(|w| turn(w, 100).haste() >= turn(w + 1, 100).haste()), "a slope");
        let cleaners = Nanos::millis(1);
        let held_up = |turn: Turn| turn.writers_pace(cleaners) >= cleaners;
        assert!((0..200).map(|w| turn(w, 100)).all(|turn| turn.haste() >= 1.0 || !held_up(turn)));
    }

    #[test]
    fn a_group_takes_over_once_it_has_something_to_give_or_writers_have_waited_long() {
        let full = GroupView { segments: 320, free: 2, reserve: 2 };
        let group = |free| GroupView { free, ..full };
        let of = |groups: [GroupView; 2], urgent| choose(FrontEnd::RotatingGroup, &groups, 0, urgent);
        let second = |free, urgent| of([full, group(free)], urgent);
        assert_eq!((second(11, false), second(12, false)), (None, Some(1)));
        assert_eq!((second(2, true), second(3, true)), (None, Some(1)));
        assert_eq!(of([group(3), group(300)], false), Some(0), "until it is full");
    }

    #[test]
    fn a_group_that_was_added_comes_next_and_one_that_left_never() {
        let mut succession = Succession::behind(0, 2);
        succession.adds(2);
        let added = |free: [u32; 3]| FrontEnd::RotatingGroup.choose(&free.map(group), 0, &succession, false);
        assert_eq!((added([5, 9, 9]), added([2, 9, 9])), (Some(0), Some(2)), "when its turn has come");
        let left = [group(2), GroupView::ABSENT, group(9)];
        assert_eq!(choose(FrontEnd::RotatingGroup, &left, 0, false), Some(2));
    }

    #[test]
    fn a_clean_group_takes_over_and_one_stays_in_reserve() {
        let rule = FrontEnd::CleanGroup;
        let of = |free: [u32; 4], current, urgent| choose(rule, &free.map(group), current, urgent);
        let choose = |free, current| of(free, current, false);
        assert_eq!(choose([10, 10, 10, 10], 0), Some(0), "all are clean");
        assert_eq!(choose([3, 10, 10, 10], 0), Some(0), "until it is full");
        assert_eq!(choose([2, 6, 10, 10], 0), Some(2), "one that is begun is left to relocation");
        assert_eq!(choose([2, 6, 2, 10], 0), Some(1), "the reserve stays");
        assert_eq!(choose([2, 2, 2, 10], 0), None);
        assert_eq!(choose([2, 6, 2, 2], 0), None, "room for relocation");
        assert_eq!(choose([10, 6, 2, 2], 0), Some(1), "the front-end was emptied and is the reserve");
        assert_eq!(of([2, 6, 2, 2], 0, true), Some(1), "writers have waited long");
    }

    #[test]
    fn burdened_groups_take_what_no_other_group_does() {
        let choose = |rule: FrontEnd, free: [u32; 3], burdened: [bool; 3]| {
            rule.choose_unburdened(&free.map(group), &burdened, 0, &Succession::behind(0, 3), false)
        };
        let (rotating, every, none) = (FrontEnd::RotatingGroup, FrontEnd::EveryGroup, [false; 3]);
        assert_eq!(choose(rotating, [5, 9, 9], none), Some(0));
        assert_eq!(choose(rotating, [5, 9, 9], [true, false, false]), Some(1), "before it is full");
        assert_eq!(choose(rotating, [5, 9, 9], [true, true, false]), Some(2));
        assert_eq!(choose(rotating, [5, 2, 2], [true, false, false]), Some(0), "the others are full");
        assert_eq!(choose(rotating, [5, 9, 9], [true; 3]), Some(0), "all are alike");
        assert_eq!(choose(every, [5, 9, 8], [false, true, false]), Some(2));
        assert_eq!(choose(every, [2, 9, 2], [false, true, false]), Some(1));
        assert_eq!(choose(FrontEnd::CleanGroup, [3, 10, 10], [true, false, false]), Some(1));
    }

    #[test]
    fn every_group_prefers_the_emptiest() {
        assert_eq!(choose(FrontEnd::EveryGroup, &[5, 9, 9].map(group), 0, false), Some(1));
    }
}
