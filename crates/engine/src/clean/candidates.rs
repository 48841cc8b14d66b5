//! The segments that may be victims, in the order in which they would be chosen.
//!
//! Each look at them takes in what has changed since the last one: a segment's new count gives it another rank. So what a
//! choice costs depends on what was written since the one before, and not on how many segments there are.
//! `docs/decisions/024-victims-by-rank.md` says why it is done this way.

use cygnus_policy::{CleaningScope, SegmentView, Victim, Worth};
use cygnus_types::{GroupId, Medium, SegmentId};

use crate::clean::standing::Standing;
use crate::clean::turn::CleaningTurn;
use crate::durable::checkpoints::Checkpoints;
use crate::space::segments::{SegIx, SegState, SegmentTable};

/// See the module's text.
pub(crate) struct Candidates {
    scope: CleaningScope,
    /// The array's rules, each once, and if that is another one the rule that counts while writers wait.
    rules: Vec<Victim>,
    /// Data blocks that a segment can hold of those to which cleaning moves, by medium.
    capacity: [u32; Medium::ALL.len()],
    /// What is known of each segment, by frame.
    segments: Vec<Known>,
    groups: Vec<Group>,
    /// Segments with discards that no checkpoint covered since this is the horizon, each once.
    uncovered: Vec<SegIx>,
    horizon: u64,
    /// The youngest life of all that were looked at.
    newest: u64,
}

/// What a group has.
struct Group {
    /// By each of the rules.
    standings: Vec<Standing>,
    /// Candidates.
    all: u32,
    /// Those with few enough valid blocks to be worth it.
    worth: u32,
    /// Of these the ones begun in the group's present turn.
    worth_of_this_turn: u32,
    /// Current blocks in segments that are sealed, or emptied and not given back.
    live: u64,
    /// Where its present turn began.
    turn: Option<u64>,
}

impl Group {
    fn new(scope: CleaningScope, rules: &[Victim]) -> Self {
        let standings = rules.iter().map(|&rule| Standing::new(scope, rule)).collect();
        Self { standings, all: 0, worth: 0, worth_of_this_turn: 0, live: 0, turn: None }
    }
}

/// What was known of a segment at the last look.
#[derive(Clone, Copy, Default)]
struct Known {
    /// Its group and its current blocks, if it counts in [`Group::live`].
    filled: Option<(GroupId, u32)>,
    /// Its group and itself, if it is a candidate.
    ranked: Option<(GroupId, SegmentView)>,
    /// It is among those that wait for the horizon to move, or was since that has moved.
    is_uncovered: bool,
}

impl Candidates {
    /// Of an array in which segments that cleaning fills hold so many data blocks. What segments there are the first look tells.
    pub(crate) fn new(
        scope: CleaningScope,
        of_array: impl IntoIterator<Item = Victim>,
        capacity: [u32; Medium::ALL.len()],
    ) -> Self {
        let mut rules = Vec::new();
        for rule in of_array.into_iter().chain([Victim::Greedy]) {
            if !rules.contains(&rule) {
                rules.push(rule);
            }
        }
        let (segments, groups, uncovered) = (Vec::new(), Vec::new(), Vec::new());
        Self { scope, rules, capacity, segments, groups, uncovered, horizon: 0, newest: 0 }
    }

    /// Takes in what has changed.
    pub(crate) fn look(&mut self, table: &SegmentTable, groups: usize, checkpoints: &Checkpoints, turn: &CleaningTurn) {
        let (scope, rules) = (self.scope, &self.rules);
        self.groups.resize_with(groups.max(self.groups.len()), || Group::new(scope, rules));
        let horizon = checkpoints.discard_horizon.get();
        if horizon != self.horizon {
            assert!(horizon > self.horizon, "what a checkpoint has covered stays covered");
            self.horizon = horizon;
            for seg in self.uncovered.drain(..) {
                self.segments[seg.0 as usize].is_uncovered = false;
                table.mark_changed(seg);
            }
        }
        // A turn is long: what its group has is looked through once in it.
        for (group, known) in self.groups.iter_mut().enumerate().filter(|_| !self.scope.worth(false).of_this_turn) {
            let began = turn.began(group);
            if std::mem::replace(&mut known.turn, began) != began {
                table.of_group(GroupId(group as u16)).for_each(|seg| table.mark_changed(seg));
            }
        }
        table.take_changed(|seg| self.look_at(table, checkpoints, seg));
    }

    fn look_at(&mut self, table: &SegmentTable, checkpoints: &Checkpoints, seg: SegIx) {
        let (state, live) = (table.state(seg), table.live(seg));
        self.newest = self.newest.max(table.seq(seg));
        let is_filled = matches!(state, SegState::Sealed | SegState::Pending);
        // One that cleaning gave up may be a victim when what it could not read is overwritten.
        let is_candidate = state == SegState::Sealed || state == SegState::Damaged && live == 0;
        let is_covered = checkpoints.covers_discard(table.newest_discard(seg));
        let place = (is_filled || is_candidate).then(|| table.locate(seg));
        if is_filled {
            assert!(u64::from(live) <= table.most_blocks(), "a segment that is written counts its blocks");
        }
        let ranked = place.filter(|_| is_candidate && is_covered && table.rescues(seg) == 0).map(|(group, id)| {
            let life = table.seq(seg);
            let of_this_turn = self.groups[group.index()].turn.is_some_and(|began| life >= began);
            let capacity = self.capacity[table.medium(seg).index()];
            (group, SegmentView { id, live, capacity, life, of_this_turn })
        });
        let filled = place.filter(|_| is_filled).map(|(group, _)| (group, live));
        let now = Known { filled, ranked, is_uncovered: is_candidate && !is_covered };
        self.is_now(seg, now);
    }

    fn is_now(&mut self, seg: SegIx, now: Known) {
        let at = seg.0 as usize;
        if at >= self.segments.len() {
            self.segments.resize(at + 1, Known::default());
        }
        let before = self.segments[at];
        self.segments[at] = Known { is_uncovered: before.is_uncovered || now.is_uncovered, ..now };
        if let Some((group, live)) = before.filled {
            self.groups[group.index()].live -= u64::from(live);
        }
        if let Some((group, live)) = now.filled {
            self.groups[group.index()].live += u64::from(live);
        }
        if let Some((group, view)) = before.ranked {
            self.count(group, &view, |count| {
                *count = count.checked_sub(1).expect("what is taken off a count was counted");
            });
            if now.ranked.is_none_or(|(its, after)| (its, after.id) != (group, view.id)) {
                self.rank(group, view.id, None);
            }
        }
        if let Some((group, view)) = now.ranked {
            self.count(group, &view, |count| *count += 1);
            self.rank(group, view.id, Some(&view));
        }
        if now.is_uncovered && !before.is_uncovered {
            self.uncovered.push(seg);
        }
    }

    /// Changes all the counts of a group in which a candidate counts.
    fn count(&mut self, group: GroupId, view: &SegmentView, change: impl Fn(&mut u32)) {
        let starving = self.scope.worth(true);
        let group = &mut self.groups[group.index()];
        change(&mut group.all);
        if starving.takes(view) {
            change(&mut group.worth);
            if view.of_this_turn {
                change(&mut group.worth_of_this_turn);
            }
        }
    }

    fn rank(&mut self, group: GroupId, id: SegmentId, view: Option<&SegmentView>) {
        self.groups[group.index()].standings.iter_mut().for_each(|standing| standing.set(id.0, view));
    }

    /// What is worth being a victim in a group, the best first, but for segments that somebody works on.
    pub(crate) fn best(
        &self,
        table: &SegmentTable,
        group: GroupId,
        rule: Victim,
        worth: Worth,
        busy: &[SegIx],
    ) -> impl Iterator<Item = SegmentView> {
        let n = self.rules.iter().position(|&known| known == rule).expect("segments are ranked by this rule");
        let standing = &self.groups[group.index()].standings[n];
        // Where nothing is, nothing is looked for.
        let any = if self.counted(group, worth) > 0 { usize::MAX } else { 0 };
        let in_order = standing.in_order(self.newest, worth).take(any).map(move |at| {
            let seg = table.index(group, SegmentId(at));
            let (its_group, view) = self.segments[seg.0 as usize].ranked.expect("what is ranked is known");
            assert_eq!((its_group, view.id.0), (group, at), "and is what it is ranked as");
            assert!(standing.has(at, &view), "it stands as its known count has it");
            assert!(table.live(seg) <= view.live, "the count of what is sealed only falls");
            assert!(matches!(table.state(seg), SegState::Sealed | SegState::Damaged), "only the sealed are victims");
            (seg, view)
        });
        in_order
            .take_while(move |(_, view)| !standing.is_end(worth, view))
            .filter(move |(seg, view)| worth.takes(view) && !busy.contains(seg))
            .map(|(_, view)| view)
    }

    /// How many there are of these.
    pub(crate) fn how_many(&self, group: GroupId, worth: Worth, busy: &[SegIx]) -> u32 {
        let counts = |seg: &&SegIx| {
            let ranked = self.segments.get(seg.0 as usize).and_then(|known| known.ranked);
            ranked.is_some_and(|(its_group, view)| its_group == group && worth.takes(&view))
        };
        let busy = busy.iter().filter(counts).count() as u32;
        self.counted(group, worth).checked_sub(busy).expect("what somebody works on was counted")
    }

    fn counted(&self, group: GroupId, worth: Worth) -> u32 {
        let group = &self.groups[group.index()];
        if worth == Worth::ANY {
            return group.all;
        }
        assert_eq!(worth.below_percent, self.scope.worth(true).below_percent, "segments are counted by this");
        group.worth - if worth.of_this_turn { 0 } else { group.worth_of_this_turn }
    }

    /// Candidates of all groups that hold no current block, by frame.
    pub(crate) fn without_current_blocks(&self, table: &SegmentTable) -> Vec<SegIx> {
        let of = |group| {
            let best = self.best(table, group, Victim::Greedy, Worth::ANY, &[]);
            best.take_while(|view| view.live == 0).map(move |view| table.index(group, view.id))
        };
        let mut empty: Vec<_> = (0..self.groups.len()).flat_map(|group| of(GroupId(group as u16))).collect();
        empty.sort_unstable();
        empty
    }

    /// Current blocks of a group's segments that are sealed, or emptied and not given back yet.
    pub(crate) fn live(&self, group: GroupId) -> u64 {
        self.groups[group.index()].live
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;
    use std::sync::Arc;

    use cygnus_format::{Extent, Geometry, Layout, Protection};
    use cygnus_policy::{Preset, Search};
    use cygnus_types::{Nanos, Pba, ReactorId};
    use proptest::prelude::*;

    use super::*;
    use crate::space::newest::NewestLayout;

    /// Segments of each of two groups.
    const SEGMENTS: u32 = 13;
    const CAPACITY: u32 = 24;

    #[derive(Clone, Debug)]
    enum Step {
        Open,
        Seal { live: u32 },
        Drop { blocks: u32 },
        Becomes(SegState),
        Discards,
        Rescues { one_more: bool },
        Checkpoint,
        Turn,
        Busy,
    }

    fn steps() -> impl Strategy<Value = Vec<(u32, Step)>> {
        let step = prop_oneof![
            2 => Just(Step::Open),
            4 => (0..=CAPACITY).prop_map(|live| Step::Seal { live }),
            4 => (1..CAPACITY).prop_map(|blocks| Step::Drop { blocks }),
            2 => prop_oneof![Just(SegState::Pending), Just(SegState::Damaged), Just(SegState::Free), Just(SegState::Sealed)]
                .prop_map(Step::Becomes),
            1 => Just(Step::Discards),
            1 => any::<bool>().prop_map(|one_more| Step::Rescues { one_more }),
            1 => Just(Step::Checkpoint),
            1 => Just(Step::Turn),
            1 => Just(Step::Busy),
        ];
        proptest::collection::vec((0..2 * SEGMENTS, step), 0..200)
    }

    fn rules() -> impl Strategy<Value = Victim> {
        prop_oneof![
            Just(Victim::Greedy),
            Just(Victim::Oldest),
            Just(Victim::CostBenefit),
            (0..3000_u16).prop_map(|alpha_permille| Victim::Generalised { alpha_permille }),
            (1..9_u16).prop_map(|among| Victim::Choices { among }),
        ]
    }

    struct World {
        table: SegmentTable,
        checkpoints: Checkpoints,
        turn: CleaningTurn,
        busy: Vec<SegIx>,
        life: u64,
    }

    impl World {
        fn new() -> Self {
            let geometry = Geometry {
                data: 2,
                parity: 1,
                chunk_blocks: 1,
                stripe_rows: 4,
                segment_blocks: 16,
                transient_blocks: 0,
                lead_blocks: 0,
            };
            let extents = [0, SEGMENTS].map(|first| (geometry.raid(), [Extent { first, frames: SEGMENTS }]));
            let layout = Arc::new(NewestLayout::new(Layout::new(geometry, extents).unwrap()));
            let (table, turn) = (SegmentTable::new(layout), CleaningTurn::default());
            Self { table, checkpoints: Checkpoints::default(), turn, busy: Vec::new(), life: 1 }
        }

        fn goes(&mut self, seg: SegIx, step: &Step) {
            let (table, was_written) = (&self.table, self.table.state(seg) == SegState::Sealed);
            match *step {
                Step::Open if table.state(seg) == SegState::Free => {
                    table.open(seg, ReactorId(0), self.life, Protection::FullStripe { parity: 1 });
                    self.life += 1;
                }
                Step::Seal { live } if table.state(seg) == SegState::Open => {
                    table.add_live(seg, live);
                    table.set_state(seg, SegState::Sealed);
                }
                Step::Drop { blocks } if was_written => {
                    for _ in 0..blocks.min(table.live(seg)) {
                        table.drop_live(Pba(u64::from(seg.0) * table.most_blocks()));
                    }
                }
                Step::Becomes(state) if table.state(seg).may_become(state) => {
                    let is_needed = table.live(seg) > 0 || table.rescues(seg) > 0;
                    if state != SegState::Free || !is_needed {
                        table.set_state(seg, state);
                    }
                }
                Step::Discards => table.note_discard(seg, self.life),
                Step::Rescues { one_more: true } => table.add_rescue(seg),
                Step::Rescues { one_more: false } if table.rescues(seg) > 0 => table.drop_rescue(seg),
                Step::Checkpoint => self.checkpoints.discard_horizon.set(self.life),
                Step::Turn => self.turn.goes_on((seg.0 % 2) as usize, 1, self.life, Nanos(0)),
                Step::Busy if self.busy.contains(&seg) => self.busy.retain(|&busy| busy != seg),
                Step::Busy => self.busy.push(seg),
                Step::Open | Step::Seal { .. } | Step::Drop { .. } | Step::Becomes(_) | Step::Rescues { .. } => {}
            }
        }

        /// The same by looking at every segment.
        fn scan(&self, group: GroupId, rule: Victim, worth: Worth) -> Vec<SegmentView> {
            let (table, turn) = (&self.table, self.turn.began(group.index()));
            let is_candidate = |&seg: &SegIx| {
                let is_victim = match table.state(seg) {
                    SegState::Sealed => true,
                    SegState::Damaged => table.live(seg) == 0,
                    _ => false,
                };
                let is_covered = self.checkpoints.covers_discard(table.newest_discard(seg));
                is_victim && is_covered && table.rescues(seg) == 0
            };
            let view = |seg| SegmentView {
                id: table.locate(seg).1,
                live: table.live(seg),
                capacity: CAPACITY,
                life: table.seq(seg),
                of_this_turn: turn.is_some_and(|began| table.seq(seg) >= began),
            };
            let all: Vec<_> = table.of_group(group).filter(is_candidate).collect();
            let age = |life| self.life - life;
            let greatest = all.iter().map(|&seg| age(table.seq(seg))).max().unwrap_or(1);
            let idle = all.into_iter().filter(|seg| !self.busy.contains(seg)).map(view);
            let mut worth_it: Vec<_> = idle.filter(|view| worth.takes(view)).collect();
            match rule.search() {
                Search::Score => worth_it.sort_by_key(|view| {
                    let share = view.share();
                    (Reverse(rule.score(share, age(view.life), greatest)), share, view.life, view.id)
                }),
                _ => worth_it.sort_by_key(|view| (rule.rank(view), view.id)),
            }
            worth_it
        }

        fn agrees(&self, candidates: &Candidates, scope: CleaningScope, rule: Victim) {
            for group in [0, 1].map(GroupId) {
                for worth in [scope.worth(false), scope.worth(true), Worth::ANY] {
                    for rule in [rule, Victim::Greedy] {
                        // All of a group is only asked for where groups are emptied as a whole, or of the emptiest first.
                        if rule != Victim::Greedy && worth == Worth::ANY && !scope.is_by_group() {
                            continue;
                        }
                        let mut best: Vec<_> = candidates.best(&self.table, group, rule, worth, &self.busy).collect();
                        let ids = |views: &[SegmentView]| views.iter().map(|v| (v.id, v.live)).collect::<Vec<_>>();
                        let scan = self.scan(group, rule, worth);
                        // Who is drawn first is chance.
                        if let Search::Draw { .. } = rule.search() {
                            best.sort_by_key(|view| (rule.rank(view), view.id));
                        }
                        assert_eq!(ids(&best), ids(&scan), "{rule:?} {worth:?}");
                        assert_eq!(candidates.how_many(group, worth, &self.busy) as usize, scan.len());
                    }
                }
                let counts = |&seg: &SegIx| matches!(self.table.state(seg), SegState::Sealed | SegState::Pending);
                let live: u32 = self.table.of_group(group).filter(counts).map(|seg| self.table.live(seg)).sum();
                assert_eq!(candidates.live(group), u64::from(live));
            }
        }
    }

    proptest! {
        #[test]
        fn the_choice_is_that_of_a_scan(
            steps in steps(),
            preset in 0..Preset::ALL.len(),
            rule in proptest::option::of(rules()),
            each in 1..9_usize,
        ) {
            let policies = Preset::ALL[preset].policies();
            let rule = rule.unwrap_or(policies.victim);
            let mut world = World::new();
            let mut candidates = Candidates::new(policies.cleaning, [rule], [CAPACITY; Medium::ALL.len()]);
            for steps in steps.chunks(each) {
                steps.iter().for_each(|(seg, step)| world.goes(SegIx(*seg), step));
                candidates.look(&world.table, 2, &world.checkpoints, &world.turn);
                world.agrees(&candidates, policies.cleaning, rule);
            }
        }
    }
}
