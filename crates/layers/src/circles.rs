//! Circles in a graph: its strongly connected components, by Tarjan's algorithm.

use std::collections::BTreeSet;

/// Sets of nodes of which each reaches all others of its set; only sets of two and more, the largest first. Node `n`
/// reaches the nodes in `edges[n]`.
pub fn circles(edges: &[BTreeSet<usize>]) -> Vec<BTreeSet<usize>> {
    let mut search = Search { edges, visited: vec![None; edges.len()], low: vec![0; edges.len()], ..Search::default() };
    (0..edges.len()).for_each(|node| search.visit(node));
    search.found.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
    search.found
}

#[derive(Default)]
struct Search<'a> {
    edges: &'a [BTreeSet<usize>],
    /// In which order nodes were met.
    visited: Vec<Option<usize>>,
    /// The earliest node, by that order, that is reached from here and still on the path.
    low: Vec<usize>,
    path: Vec<usize>,
    clock: usize,
    found: Vec<BTreeSet<usize>>,
}

impl Search<'_> {
    fn visit(&mut self, node: usize) {
        if self.visited[node].is_some() {
            return;
        }
        let met = self.clock;
        self.clock += 1;
        (self.visited[node], self.low[node]) = (Some(met), met);
        self.path.push(node);
        for &next in &self.edges[node] {
            match self.visited[next] {
                None => {
                    self.visit(next);
                    self.low[node] = self.low[node].min(self.low[next]);
                }
                Some(earlier) if self.path.contains(&next) => self.low[node] = self.low[node].min(earlier),
                Some(_) => {}
            }
        }
        if self.low[node] == met {
            self.close(node);
        }
    }

    /// All on the path from this node on reach each other.
    fn close(&mut self, node: usize) {
        let from = self.path.iter().rposition(|&other| other == node).expect("the node is on the path");
        let circle: BTreeSet<usize> = self.path.drain(from..).collect();
        if circle.len() > 1 {
            self.found.push(circle);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(edges: &[&[usize]]) -> Vec<Vec<usize>> {
        let edges: Vec<BTreeSet<usize>> = edges.iter().map(|to| to.iter().copied().collect()).collect();
        circles(&edges).into_iter().map(|circle| circle.into_iter().collect()).collect()
    }

    #[test]
    fn what_reaches_itself_through_others_is_a_circle() {
        assert_eq!(of(&[&[1], &[2], &[]]), Vec::<Vec<usize>>::new());
        assert_eq!(of(&[&[1], &[0]]), [[0, 1]]);
        assert_eq!(of(&[&[1], &[2], &[0, 3], &[4], &[3], &[0]]), [vec![0, 1, 2], vec![3, 4]]);
        assert_eq!(of(&[&[1, 2], &[0], &[3], &[2, 0]]), [[0, 1, 2, 3]]);
    }
}
