//! What several runs of the same thing, each with a seed of its own, say of a number.

use serde::{Deserialize, Serialize};

/// The median of a number over all seeds, and between which two of its values the true median lies.
///
/// The ends are order statistics: of six values or more, the innermost two that enclose the median with a chance of 95 % at
/// least, whatever the distribution; of fewer, the least and the greatest, whose chance is less and is said ([`confidence`]).
/// Nothing is drawn at random, so the same values give the same interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Half of the values lie below.
    pub median: f64,
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// The chance that is asked for.
const WANTED: f64 = 0.95;

/// How many of the values below the median and above it the interval leaves out on each side.
fn left_out(count: usize) -> usize {
    (0..count / 2).rev().find(|&k| covered(count, k) >= WANTED).unwrap_or(0)
}

/// The chance that the median lies between the value after the `k` least and the one before the `k` greatest: unless more
/// than `count - k` fair coins show the same side.
fn covered(count: usize, k: usize) -> f64 {
    let (mut ways, mut tail) = (1.0, 0.0);
    for n in 0..=k {
        tail += ways;
        ways = ways * (count - n) as f64 / (n + 1) as f64;
    }
    (1.0 - 2.0 * tail / 2f64.powi(count as i32)).max(0.0)
}

/// The chance with which an [`Interval`] of that many values encloses the median.
pub fn confidence(count: usize) -> f64 {
    covered(count, left_out(count))
}

/// To six decimals: what is written and read again is the same number.
pub(crate) fn as_written(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

impl Interval {
    /// Of values that were measured. What is written is what is judged: all to six decimals.
    ///
    /// # Panics
    /// Without a value.
    pub fn of(values: &[f64]) -> Self {
        let mut values: Vec<f64> = values.iter().copied().map(as_written).collect();
        values.sort_by(f64::total_cmp);
        let (count, out) = (values.len(), left_out(values.len()));
        let median = as_written((values[(count - 1) / 2] + values[count / 2]) / 2.0);
        Self { median, low: values[out], high: values[count - 1 - out] }
    }

    /// [`Interval::of`] values of which each was measured; nothing if one is no number, or there is none: of that seed there was
    /// nothing to measure, and a median of the others would be another number.
    pub(crate) fn measured(values: &[f64]) -> Option<Self> {
        (!values.is_empty() && values.iter().all(|value| value.is_finite())).then(|| Self::of(values))
    }

    /// Whether it is more than one number.
    pub fn is_wide(self) -> bool {
        self.low < self.high
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_enclose_the_median_as_often_as_is_said() {
        let ends = |count: usize| {
            let interval = Interval::of(&(1..=count).map(|n| n as f64).collect::<Vec<_>>());
            (interval.low, interval.median, interval.high)
        };
        assert_eq!([1, 2, 5, 6].map(ends), [(1.0, 1.0, 1.0), (1.0, 1.5, 2.0), (1.0, 3.0, 5.0), (1.0, 3.5, 6.0)]);
        // Nine values: the second and the eighth, with a chance of 1 - 20/512.
        assert_eq!(ends(9), (2.0, 5.0, 8.0));
        assert_eq!([1, 2, 3, 5, 6].map(confidence), [0.0, 0.5, 0.75, 0.9375, 0.96875]);
        assert_eq!(confidence(9), 1.0 - 20.0 / 512.0);
    }

    #[test]
    fn of_what_one_seed_could_not_measure_there_is_no_interval() {
        assert_eq!(Interval::measured(&[1.0, 2.0]), Some(Interval::of(&[1.0, 2.0])));
        for values in [&[1.0, f64::NAN, 2.0][..], &[f64::INFINITY], &[]] {
            assert_eq!(Interval::measured(values), None, "{values:?}");
        }
    }

    #[test]
    fn the_order_of_the_seeds_does_not_matter() {
        assert_eq!(Interval::of(&[3.0, 1.0, 2.0]), Interval::of(&[1.0, 2.0, 3.0]));
        assert!(!Interval::of(&[2.0]).is_wide() && Interval::of(&[2.0, 3.0]).is_wide());
    }
}
