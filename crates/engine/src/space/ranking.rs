//! Segments of a group in the order in which a rule would clean them: a tournament. Each segment has a rank, each node
//! above knows the lowest rank below it, and the root the winner's. A segment whose rank changes plays its matches again
//! up to the first that ends as before, which for one rank among many is soon. Equal ranks go by position.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Of what does not take part.
const NONE: u64 = u64::MAX;

/// See the module's text.
pub(crate) struct Ranking {
    /// Node 1 is the root, those below node n are 2n and 2n + 1; the second half are the segments.
    nodes: Vec<u64>,
}

impl Default for Ranking {
    fn default() -> Self {
        Self { nodes: vec![NONE; 2] }
    }
}

impl Ranking {
    fn leaves(&self) -> usize {
        self.nodes.len() / 2
    }

    /// The rank at a position, if something takes part there.
    pub(crate) fn rank(&self, at: u32) -> Option<u64> {
        let rank = self.nodes.get(self.leaves() + at as usize).copied();
        rank.filter(|&rank| rank != NONE)
    }

    /// What is at this position takes part with this rank from now on, or not at all.
    pub(crate) fn set(&mut self, at: u32, rank: Option<u64>) {
        assert_ne!(rank, Some(NONE), "no segment has that rank");
        self.make_room(at as usize + 1);
        let mut node = self.leaves() + at as usize;
        self.nodes[node] = rank.unwrap_or(NONE);
        while node > 1 {
            let winner = self.nodes[node].min(self.nodes[node ^ 1]);
            node /= 2;
            if std::mem::replace(&mut self.nodes[node], winner) == winner {
                break;
            }
        }
    }

    fn make_room(&mut self, positions: usize) {
        if positions <= self.leaves() {
            return;
        }
        let (before, leaves) = (self.leaves(), positions.next_power_of_two());
        let mut nodes = vec![NONE; 2 * leaves];
        nodes[leaves..leaves + before].copy_from_slice(&self.nodes[before..]);
        for node in (1..leaves).rev() {
            nodes[node] = nodes[2 * node].min(nodes[2 * node + 1]);
        }
        self.nodes = nodes;
    }

    /// The positions of those that take part, the lowest rank first.
    pub(crate) fn in_order(&self) -> impl Iterator<Item = u32> {
        // Nodes whose segments are still to come, none below another one. Of equal ones the left one first, whose
        // segments have the lower positions; `within` tells which that is.
        let mut open = BinaryHeap::new();
        let put = |open: &mut BinaryHeap<_>, node: usize, within: usize| {
            if self.nodes[node] != NONE {
                open.push(Reverse((self.nodes[node], within, node)));
            }
        };
        put(&mut open, 1, 0);
        std::iter::from_fn(move || {
            let Reverse((rank, mut within, mut node)) = open.pop()?;
            let mut width = self.leaves() >> node.ilog2();
            while node < self.leaves() {
                width /= 2;
                let (left, right) = (2 * node, 2 * node + 1);
                if self.nodes[left] == rank {
                    put(&mut open, right, within + width);
                    node = left;
                } else {
                    put(&mut open, left, within);
                    (node, within) = (right, within + width);
                }
            }
            assert_eq!((self.nodes[node], node - self.leaves()), (rank, within), "who won has the rank that won");
            Some(within as u32)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_order_is_that_of_a_sort(changes in proptest::collection::vec((0..70_u32, proptest::option::of(0..9_u64)), 0..300)) {
            let (mut ranking, mut model) = (Ranking::default(), BTreeMap::new());
            for (at, rank) in changes {
                ranking.set(at, rank);
                match rank {
                    Some(rank) => model.insert(at, rank),
                    None => model.remove(&at),
                };
                prop_assert_eq!(ranking.rank(at), rank);
            }
            let mut sorted: Vec<_> = model.into_iter().map(|(at, rank)| (rank, at)).collect();
            sorted.sort_unstable();
            let order: Vec<_> = ranking.in_order().map(|at| (ranking.rank(at).unwrap(), at)).collect();
            prop_assert_eq!(order, sorted);
        }
    }
}
