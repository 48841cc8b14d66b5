//! What figures make of samples: something over the paper's time, and what a series of numbers amounts to.

use std::borrow::Borrow;

use crate::experiment::Scale;
use crate::outcome::{Outcome, Sample, per_second};

/// Legend of a time axis.
pub(crate) const TIME: &str = "time, as in the paper (s)";

/// A number of what there was nothing to measure of. Sums and quotients with it are no numbers either, a check of it says that nothing
/// was measured, and charts leave it out: a 0 would be less than any rival, and would hold.
pub(crate) const NOTHING: f64 = f64::NAN;

/// Something of each sample over the paper's time in seconds.
pub(crate) fn over_time(scale: Scale, outcome: &Outcome, value: impl Fn(&Sample) -> f64) -> Vec<(f64, f64)> {
    outcome.samples.iter().map(|sample| (scale.papers_seconds(sample.at_ns), value(sample))).collect()
}

/// Bytes in an interval as MB/s.
pub(crate) fn rate(bytes: u64, span_ns: u64) -> f64 {
    per_second(bytes, span_ns) as f64 / 1e6
}

/// Mean of the values; [`NOTHING`] of none.
pub(crate) fn mean(values: impl IntoIterator<Item = impl Borrow<f64>>) -> f64 {
    let add = |(sum, count), value: f64| (sum + value, count + 1.0);
    let (sum, count) = values.into_iter().map(|value| *value.borrow()).fold((0.0, 0.0), add);
    sum / count
}

/// The least of the values; [`NOTHING`] of none, and if one of them is.
pub(crate) fn least(values: impl IntoIterator<Item = f64>) -> f64 {
    of_all(values, f64::min)
}

/// The greatest of the values; [`NOTHING`] of none, and if one of them is.
pub(crate) fn most(values: impl IntoIterator<Item = f64>) -> f64 {
    of_all(values, f64::max)
}

/// The library's own `min` and `max` pass over what is no number.
fn of_all(values: impl IntoIterator<Item = f64>, chosen: fn(f64, f64) -> f64) -> f64 {
    let both = |one: f64, other: f64| if one.is_nan() || other.is_nan() { NOTHING } else { chosen(one, other) };
    values.into_iter().reduce(both).unwrap_or(NOTHING)
}

/// Coefficient of variation of the values, standard deviation by mean, in percent; [`NOTHING`] of none, and of zeros.
pub(crate) fn variation(values: &[f64]) -> f64 {
    let average = mean(values);
    let square = mean(values.iter().map(|value| (value - average) * (value - average)));
    // To a hundredth: no result depends on how a platform takes roots.
    (square.sqrt() / average * 1e4).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_and_variations_of_known_series() {
        assert_eq!((mean([1.0, 2.0, 6.0]), mean([&4.0])), (3.0, 4.0));
        // Mean 5, standard deviation 2.
        assert_eq!(variation(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]), 40.0);
        assert_eq!(variation(&[3.0, 3.0]), 0.0);
        assert_eq!((least([2.0, 1.0]), most([2.0, 3.0])), (1.0, 3.0));
    }

    #[test]
    fn of_nothing_there_is_no_number() {
        let none: [f64; 0] = [];
        let one = [1.0, NOTHING, 2.0];
        let of_one = [mean(one), variation(&one), least(one), most(one)];
        for number in
            [mean(none), variation(&none), variation(&[0.0, 0.0]), least(none), most(none)].into_iter().chain(of_one)
        {
            assert!(number.is_nan(), "{number}");
        }
    }

    #[test]
    fn rates_are_in_megabytes() {
        assert_eq!(rate(3_000_000, 2_000_000_000), 1.5);
    }
}
