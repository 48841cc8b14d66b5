//! Segments of a group for rules that weigh a segment's age with the share of it that is valid. As all grow older, the order of
//! two changes without either having changed; but of those with the same share the older one always comes first. So they stand
//! by share and then by age, and a search looks at the oldest of each share: some hundred at most, however many segments there are.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::ops::Bound;

/// A segment's share, in 256ths, its life, and its position.
type Standing = (u8, u64, u32);

/// See the module's text.
#[derive(Default)]
pub(crate) struct Ages {
    standing: BTreeSet<Standing>,
    /// Share and life by position, of those that take part.
    known: Vec<Option<(u8, u64)>>,
}

impl Ages {
    /// Share and life at a position, if something takes part there.
    pub(crate) fn at(&self, at: u32) -> Option<(u8, u64)> {
        self.known.get(at as usize).copied().flatten()
    }

    /// What is at this position takes part with this share and life from now on, or not at all.
    pub(crate) fn set(&mut self, at: u32, now: Option<(u8, u64)>) {
        if at as usize >= self.known.len() {
            self.known.resize(at as usize + 1, None);
        }
        let before = std::mem::replace(&mut self.known[at as usize], now);
        if before == now {
            return;
        }
        if let Some((share, life)) = before {
            assert!(self.standing.remove(&(share, life, at)), "what takes part stands somewhere");
        }
        if let Some((share, life)) = now {
            self.standing.insert((share, life, at));
        }
    }

    /// The oldest life of all.
    fn oldest(&self) -> Option<u64> {
        self.first_of_each().map(|(_, life, _)| life).min()
    }

    /// The oldest of each share, the lowest share first.
    fn first_of_each(&self) -> impl Iterator<Item = Standing> {
        let mut from = Some(0);
        std::iter::from_fn(move || {
            let &first = self.standing.range((from?, 0, 0)..).next()?;
            from = first.0.checked_add(1);
            Some(first)
        })
    }

    /// The positions of those that take part, the highest score first; of equal ones those with the lower share, then the older
    /// ones. The score follows from share, age and greatest age, where `newest` is the life of age 1, and must not fall with
    /// age. Shares that are not wanted are passed over.
    pub(crate) fn in_order(
        &self,
        newest: u64,
        is_wanted: impl Fn(u8) -> bool,
        score: impl Fn(u8, u64, u64) -> u128,
    ) -> impl Iterator<Item = u32> {
        let age = move |life: u64| newest.checked_sub(life).expect("none is younger than the newest") + 1;
        let greatest = self.oldest().map_or(1, age);
        let scored = move |of: Standing| (score(of.0, age(of.1), greatest), Reverse(of));
        let wanted = self.first_of_each().filter(|of| is_wanted(of.0));
        let mut firsts: BinaryHeap<_> = wanted.map(&scored).collect();
        std::iter::from_fn(move || {
            let (_, Reverse(best)) = firsts.pop()?;
            let behind = (Bound::Excluded(best), Bound::Unbounded);
            let next = self.standing.range(behind).next().filter(|next| next.0 == best.0);
            firsts.extend(next.map(|&next| scored(next)));
            Some(best.2)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use cygnus_policy::Victim;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_order_is_that_of_a_sort(
            changes in proptest::collection::vec((0..40_u32, proptest::option::of((any::<u8>(), 1..90_u64))), 0..200),
            alpha_permille in 0..2000_u16,
            is_generalised: bool,
            above in any::<u8>(),
        ) {
            let rule = if is_generalised { Victim::Generalised { alpha_permille } } else { Victim::CostBenefit };
            let (mut ages, mut model) = (Ages::default(), BTreeMap::new());
            for (at, now) in changes {
                ages.set(at, now);
                match now {
                    Some(now) => model.insert(at, now),
                    None => model.remove(&at),
                };
                prop_assert_eq!(ages.at(at), now);
            }
            let newest = 90;
            let greatest = model.values().map(|&(_, life)| newest - life + 1).max().unwrap_or(1);
            let scored = |(&at, &(share, life)): (&u32, &(u8, u64))| {
                (Reverse(rule.score(share, newest - life + 1, greatest)), share, life, at)
            };
            let mut sorted: Vec<_> = model.iter().map(scored).filter(|of| of.1 < above).collect();
            sorted.sort_unstable();
            let order: Vec<_> = ages.in_order(newest, |share| share < above, |s, a, g| rule.score(s, a, g)).collect();
            prop_assert_eq!(order, sorted.into_iter().map(|of| of.3).collect::<Vec<_>>());
        }
    }
}
