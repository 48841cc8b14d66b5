//! Segments of a group to draw from at random.

use std::collections::BTreeMap;

use cygnus_types::Rng;

/// Of what is not inside.
const NONE: u32 = u32::MAX;

/// See the module's text.
#[derive(Default)]
pub(crate) struct Urn {
    /// Positions with their ranks, in any order.
    inside: Vec<(u32, u64)>,
    /// By position, where in `inside` it is.
    places: Vec<u32>,
    /// Changes so far. Draws follow from it: they are the same until something changes, and others afterwards.
    changes: u64,
}

impl Urn {
    /// The rank at a position, if it is inside.
    pub(crate) fn rank(&self, at: u32) -> Option<u64> {
        let place = self.places.get(at as usize).copied().filter(|&place| place != NONE)?;
        Some(self.inside[place as usize].1)
    }

    /// A position is inside with this rank from now on, or not at all.
    pub(crate) fn set(&mut self, at: u32, rank: Option<u64>) {
        self.changes += 1;
        if at as usize >= self.places.len() {
            self.places.resize(at as usize + 1, NONE);
        }
        match (self.places[at as usize], rank) {
            (NONE, None) => {}
            (NONE, Some(rank)) => {
                self.places[at as usize] = self.inside.len() as u32;
                self.inside.push((at, rank));
            }
            (place, Some(rank)) => self.inside[place as usize].1 = rank,
            (place, None) => {
                self.inside.swap_remove(place as usize);
                if let Some(&(moved, _)) = self.inside.get(place as usize) {
                    self.places[moved as usize] = place;
                }
                self.places[at as usize] = NONE;
            }
        }
    }

    /// Positions by repeated draws: so many each time, of which the one with the lowest rank stays out, until all are.
    pub(crate) fn drawn(&self, among: u16) -> impl Iterator<Item = u32> {
        let mut left = self.inside.len();
        // What lies where something was taken out: the last one of those left. So nothing is copied.
        let mut moved = BTreeMap::new();
        let mut random = Rng::new(self.changes);
        std::iter::from_fn(move || {
            let lies = |moved: &BTreeMap<usize, usize>, place: usize| moved.get(&place).copied().unwrap_or(place);
            let draws = (0..among).filter(|_| left > 0).map(|_| random.below(left as u64) as usize);
            let best = draws.min_by_key(|&place| {
                let (at, rank) = self.inside[lies(&moved, place)];
                (rank, at)
            })?;
            let taken = self.inside[lies(&moved, best)].0;
            left -= 1;
            let last = lies(&moved, left);
            moved.insert(best, last);
            Some(taken)
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn all_that_are_inside_are_drawn_once(
            changes in proptest::collection::vec((0..40_u32, proptest::option::of(0..9_u64)), 0..200),
            among in 1..20_u16,
        ) {
            let (mut urn, mut model) = (Urn::default(), BTreeMap::new());
            for (at, rank) in changes {
                urn.set(at, rank);
                match rank {
                    Some(rank) => model.insert(at, rank),
                    None => model.remove(&at),
                };
                prop_assert_eq!(urn.rank(at), rank);
            }
            let mut drawn: Vec<_> = urn.drawn(among).collect();
            prop_assert_eq!(&urn.drawn(among).collect::<Vec<_>>(), &drawn, "the same until something changes");
            drawn.sort_unstable();
            prop_assert_eq!(drawn, model.into_keys().collect::<Vec<_>>());
        }
    }

    /// The best of d among n is on average the first 1/(d + 1) of them.
    #[test]
    fn more_draws_find_better_ones() {
        let mut urn = Urn::default();
        (0..1000).for_each(|at| urn.set(at, Some(u64::from(at))));
        let mut mean = |among: u16| {
            let sum: u32 = (0..2000)
                .map(|_| {
                    urn.set(0, Some(0));
                    urn.drawn(among).next().unwrap()
                })
                .sum();
            sum / 2000
        };
        for (among, expected) in [(1, 500), (4, 200), (9, 100)] {
            let mean = mean(among);
            assert!((expected * 9 / 10..=expected * 11 / 10).contains(&mean), "{among}: {mean}");
        }
    }
}
