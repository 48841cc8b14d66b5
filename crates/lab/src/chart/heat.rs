//! A field of cells whose colour says how much: a stepped heat map.

/// Most steps that there are colours for.
pub(super) const MOST_STEPS: usize = 5;

/// Cells with a number each.
#[derive(Clone, Debug, PartialEq)]
pub struct Heat {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Names of the rows.
    pub rows: Vec<String>,
    /// Row by row.
    pub values: Vec<f64>,
    /// Where the next colour begins, rising; at most five.
    pub steps: Vec<f64>,
}

impl Heat {
    /// How many steps a value has reached.
    pub(super) fn step(&self, value: f64) -> usize {
        self.steps.iter().filter(|&&step| value >= step).count().min(MOST_STEPS)
    }

    /// The row and the column of each value.
    pub(super) fn cells(&self) -> impl Iterator<Item = (&str, &str, f64)> {
        let name =
            |n: usize| (self.rows[n / self.columns.len()].as_str(), self.columns[n % self.columns.len()].as_str());
        self.values.iter().enumerate().map(move |(n, &value)| (name(n).0, name(n).1, value))
    }
}
