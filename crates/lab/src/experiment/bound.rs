//! What a measured number must be, and how far off it is if it is not.

use serde::{Deserialize, Serialize};

use crate::interval::Interval;

/// What a measured number must be for a check to hold.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// At least this.
    AtLeast(f64),
    /// At most this.
    AtMost(f64),
    /// From the first to the second.
    Between(f64, f64),
    /// More than this: no tie.
    MoreThan(f64),
    /// Less than this: no tie.
    LessThan(f64),
}

/// What came of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ruling {
    /// The whole interval keeps the bound.
    Holds,
    /// Some of the interval does and some does not.
    Undecided,
    /// None of it does.
    Fails,
    /// There is no interval: with some seed there was nothing to measure.
    Unmeasured,
}

impl Bound {
    /// Whether a number keeps it. What is no number keeps none.
    pub fn admits(self, number: f64) -> bool {
        match self {
            Bound::AtLeast(least) => number >= least,
            Bound::AtMost(most) => number <= most,
            Bound::Between(least, most) => (least..=most).contains(&number),
            Bound::MoreThan(low) => number > low,
            Bound::LessThan(high) => number < high,
        }
    }

    /// What it makes of an interval.
    pub fn rule(self, ours: Interval) -> Ruling {
        let around = matches!(self, Bound::Between(least, most) if ours.low < least && ours.high > most);
        match (self.admits(ours.low), self.admits(ours.high)) {
            (true, true) => Ruling::Holds,
            (false, false) if !around => Ruling::Fails,
            _ => Ruling::Undecided,
        }
    }

    /// Whether everything that it admits is admitted by the other.
    pub fn is_within(self, other: Bound) -> bool {
        let ends = |bound: Bound| match bound {
            Bound::AtLeast(low) | Bound::MoreThan(low) => (low, f64::INFINITY),
            Bound::AtMost(high) | Bound::LessThan(high) => (f64::NEG_INFINITY, high),
            Bound::Between(low, high) => (low, high),
        };
        let ((low, high), (least, most)) = (ends(self), ends(other));
        low >= least && high <= most
    }
}

impl Ruling {
    /// "holds", "undecided", "fails" or "not measured".
    pub fn word(self) -> &'static str {
        match self {
            Ruling::Holds => "holds",
            Ruling::Undecided => "undecided",
            Ruling::Fails => "fails",
            Ruling::Unmeasured => "not measured",
        }
    }
}

impl std::fmt::Display for Bound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Bound::AtLeast(least) => write!(f, "at least {}", rounded(*least)),
            Bound::AtMost(most) => write!(f, "at most {}", rounded(*most)),
            Bound::Between(same, end) if same == end => write!(f, "{} exactly", rounded(*same)),
            Bound::Between(least, most) => write!(f, "{} to {}", rounded(*least), rounded(*most)),
            Bound::MoreThan(low) => write!(f, "more than {}", rounded(*low)),
            Bound::LessThan(high) => write!(f, "less than {}", rounded(*high)),
        }
    }
}

/// Four digits: the rest is noise.
pub(super) fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(low: f64, high: f64) -> Interval {
        Interval { median: (low + high) / 2.0, low, high }
    }

    #[test]
    fn bounds_admit_their_ends_and_no_nonsense() {
        assert!(Bound::AtLeast(0.95).admits(0.95) && !Bound::AtLeast(0.95).admits(0.949));
        assert!(Bound::Between(1.0, 2.0).admits(2.0) && !Bound::Between(1.0, 2.0).admits(2.01));
        assert!(!Bound::MoreThan(1.0).admits(1.0) && !Bound::LessThan(1.0).admits(1.0));
        assert!(!Bound::AtMost(1.0).admits(f64::NAN) && !Bound::AtLeast(1.0).admits(f64::NAN));
    }

    #[test]
    fn an_interval_holds_as_a_whole_and_fails_as_a_whole() {
        let between = Bound::Between(1.0, 2.0);
        assert_eq!(between.rule(interval(1.0, 2.0)), Ruling::Holds);
        assert_eq!(between.rule(interval(1.5, 2.1)), Ruling::Undecided);
        assert_eq!(between.rule(interval(0.5, 2.5)), Ruling::Undecided);
        assert_eq!(
            (between.rule(interval(2.1, 3.0)), between.rule(interval(0.0, 0.9))),
            (Ruling::Fails, Ruling::Fails)
        );
        assert_eq!(Bound::MoreThan(1.0).rule(interval(0.9, 1.1)), Ruling::Undecided);
        assert_eq!(Bound::MoreThan(1.0).rule(interval(0.8, 1.0)), Ruling::Fails);
    }

    #[test]
    fn looser_bounds_are_told_from_tighter_ones() {
        let rule = Bound::Between(0.85, 1.15);
        assert!(Bound::Between(0.9, 1.1).is_within(rule) && rule.is_within(rule));
        assert!(!Bound::Between(0.8, 1.1).is_within(rule) && !Bound::AtLeast(0.9).is_within(rule));
        assert!(
            Bound::AtLeast(4.0).is_within(Bound::AtLeast(4.0)) && !Bound::AtLeast(3.4).is_within(Bound::AtLeast(4.0))
        );
    }

    #[test]
    fn people_are_shown_four_digits_of_a_bound() {
        assert_eq!(Bound::Between(300.0 / 1120.0, 0.95).to_string(), "0.2679 to 0.95");
        assert_eq!(
            (Bound::AtLeast(1250.0).to_string(), Bound::Between(0.0, 0.0).to_string()),
            ("at least 1250".into(), "0 exactly".into())
        );
    }
}
