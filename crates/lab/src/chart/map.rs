//! A map: which of several designs leads where, in cells of rows and columns.

use std::fmt::Write;

use super::colour::Scheme;
use super::csv::number;
use crate::files::cell;
use crate::interval::Interval;

/// Who leads where. Each cell was measured with drives of several sizes: who leads must not depend on that.
#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    /// Who is compared: names and colours.
    pub contenders: Vec<(String, Scheme)>,
    /// Sizes of the drives, such as "1/512".
    pub scales: Vec<String>,
    /// Names of the columns, from left to right.
    pub columns: Vec<String>,
    /// Names of the rows, from top to bottom.
    pub rows: Vec<String>,
    /// The cells, row by row.
    pub cells: Vec<Cell>,
    /// Which numbers are good ones.
    pub better: Better,
    /// Around whose cells a line is drawn.
    pub border: Scheme,
}

/// Which of two numbers is the better one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// The larger one.
    More,
    /// The smaller one.
    Less,
}

/// One place of a map.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// By scale and by contender, over all seeds; nothing of one that does not take part here.
    pub values: Vec<Vec<Option<Interval>>>,
}

/// Who leads in a cell. Contenders are told by their places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lead {
    /// This one alone.
    One(usize),
    /// None of these is behind another; those that are not among them are behind one of them. Empty: nobody takes part.
    Even(Vec<usize>),
    /// Drives of one size say otherwise than those of another: these lead with one of them at least.
    Undecided(Vec<usize>),
}

/// What is not better by more than this factor with every seed that the intervals span is no better.
pub const MARGIN: f64 = 1.05;

impl Better {
    /// Whether one interval is better than the other as a whole, and by more than [`MARGIN`].
    fn is_ahead(self, one: Interval, other: Interval) -> bool {
        match self {
            Better::More => one.low > other.high * MARGIN,
            Better::Less => one.high * MARGIN < other.low,
        }
    }

    /// The better one of two medians first.
    fn order(self, one: Interval, other: Interval) -> std::cmp::Ordering {
        match self {
            Better::More => other.median.total_cmp(&one.median),
            Better::Less => one.median.total_cmp(&other.median),
        }
    }
}

impl Cell {
    /// Those whom nobody is ahead of, with drives of each size.
    pub fn lead(&self, better: Better) -> Lead {
        let leading: Vec<Vec<usize>> = self.values.iter().map(|of| leading(of, better)).collect();
        match leading.split_first() {
            None => Lead::Even(Vec::new()),
            Some((first, others)) if others.iter().all(|other| other == first) => match first[..] {
                [one] => Lead::One(one),
                _ => Lead::Even(first.clone()),
            },
            Some(_) => {
                let mut any = leading.concat();
                any.sort_unstable();
                any.dedup();
                Lead::Undecided(any)
            }
        }
    }

    /// Contenders with their medians with the largest drives, the best one first.
    pub fn ranking(&self, better: Better) -> Vec<(usize, f64)> {
        let of = self.values.first().map_or(&[][..], Vec::as_slice);
        let mut ranking: Vec<(usize, Interval)> =
            of.iter().enumerate().filter_map(|(who, value)| value.map(|value| (who, value))).collect();
        ranking.sort_by(|one, other| better.order(one.1, other.1));
        ranking.into_iter().map(|(who, value)| (who, value.median)).collect()
    }
}

fn leading(values: &[Option<Interval>], better: Better) -> Vec<usize> {
    let behind = |mine: Interval| values.iter().flatten().any(|other| better.is_ahead(*other, mine));
    let leads = |(who, value): (usize, &Option<Interval>)| value.filter(|mine| !behind(*mine)).map(|_| who);
    values.iter().enumerate().filter_map(leads).collect()
}

impl Map {
    /// The cell in this column and row.
    pub fn cell(&self, column: usize, row: usize) -> &Cell {
        &self.cells[row * self.columns.len() + column]
    }

    /// In words who leads: "swan", "even: swan, log-raid", "undecided: swan, raid5", "nobody".
    pub fn words(&self, lead: &Lead) -> String {
        let names = |of: &[usize]| of.iter().map(|&who| self.contenders[who].0.as_str()).collect::<Vec<_>>().join(", ");
        match lead {
            Lead::One(who) => self.contenders[*who].0.clone(),
            Lead::Even(who) if who.is_empty() => "nobody".into(),
            Lead::Even(who) => format!("even: {}", names(who)),
            Lead::Undecided(who) => format!("undecided: {}", names(who)),
        }
    }

    /// Names of the columns of [`Map::table`].
    pub(super) fn header(&self) -> String {
        let mut out = String::from("panel,row,column,lead");
        for (scale, (name, _)) in self.numbers() {
            write!(out, ",{name} {scale},low,high").expect("strings take text");
        }
        out + "\n"
    }

    /// A row for each cell: who leads, then each contender's median and the ends of its interval by scale.
    pub(super) fn table(&self, panel: &str) -> String {
        let mut out = String::new();
        for (n, of) in self.cells.iter().enumerate() {
            let (row, column) = (&self.rows[n / self.columns.len()], &self.columns[n % self.columns.len()]);
            let lead = self.words(&of.lead(self.better));
            write!(out, "{},{},{},{}", cell(panel), cell(row), cell(column), cell(&lead)).expect("strings take text");
            for value in of.values.iter().flatten() {
                let numbers = value.map(|value| [value.median, value.low, value.high].map(number).join(","));
                write!(out, ",{}", numbers.unwrap_or_else(|| ",,".into())).expect("strings take text");
            }
            out.push('\n');
        }
        out
    }

    /// Scales and contenders in the order of [`Cell::values`].
    fn numbers(&self) -> impl Iterator<Item = (&String, &(String, Scheme))> {
        self.scales.iter().flat_map(|scale| self.contenders.iter().map(move |who| (scale, who)))
    }

    /// The map of several seeds, each of which gave one.
    pub(super) fn over_seeds(by_seed: &[Map]) -> Map {
        let first = &by_seed[0];
        let value = |n: usize, scale: usize, who: usize| {
            let of: Option<Vec<f64>> =
                by_seed.iter().map(|map| map.cells[n].values[scale][who].map(|value| value.median)).collect();
            of.map(|values| Interval::of(&values))
        };
        let cell = |n: usize| {
            let of = |scale| (0..first.contenders.len()).map(|who| value(n, scale, who)).collect();
            Cell { values: (0..first.scales.len()).map(of).collect() }
        };
        Map { cells: (0..first.cells.len()).map(cell).collect(), ..first.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(low: f64, high: f64) -> Option<Interval> {
        Some(Interval { median: (low + high) / 2.0, low, high })
    }

    fn lead(values: &[&[Option<Interval>]]) -> Lead {
        Cell { values: values.iter().map(|of| of.to_vec()).collect() }.lead(Better::Less)
    }

    #[test]
    fn who_leads_does_so_with_every_seed_and_by_more_than_the_margin() {
        let (fast, near, slow) = (interval(1.0, 1.1), interval(1.12, 1.3), interval(2.0, 3.0));
        assert_eq!(lead(&[&[slow, fast]]), Lead::One(1));
        assert_eq!(lead(&[&[near, fast, slow]]), Lead::Even(vec![0, 1]));
        assert_eq!(lead(&[&[interval(1.0, 9.0), fast]]), Lead::Even(vec![0, 1]));
        let more = Cell { values: vec![vec![slow, fast]] }.lead(Better::More);
        assert_eq!(more, Lead::One(0));
    }

    #[test]
    fn drives_of_all_sizes_must_agree() {
        let (fast, slow) = (interval(1.0, 1.1), interval(2.0, 3.0));
        assert_eq!(lead(&[&[slow, fast], &[slow, fast]]), Lead::One(1));
        assert_eq!(lead(&[&[slow, fast], &[fast, slow]]), Lead::Undecided(vec![0, 1]));
        assert_eq!(lead(&[&[slow, fast], &[fast, fast]]), Lead::Undecided(vec![0, 1]));
    }

    #[test]
    fn who_takes_no_part_does_not_lead() {
        let slow = interval(2.0, 3.0);
        assert_eq!(lead(&[&[slow, None]]), Lead::One(0));
        assert_eq!(lead(&[&[None, None]]), Lead::Even(vec![]));
    }
}
