//! Time, always from the runtime's clock.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};
use std::time::Duration;

/// Nanoseconds: a point in time since the runtime's start, or a span between two such points.
///
/// `+` and `*` panic on overflow in debug builds as integers do (584 years); `-` panics when the result would be
/// negative, use [`Nanos::since`] where the order is not certain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

impl Nanos {
    /// No time at all; also the runtime's start.
    pub const ZERO: Nanos = Nanos(0);
    /// The longest time; as a moment, one that never comes.
    pub const MAX: Nanos = Nanos(u64::MAX);

    /// `n` microseconds.
    pub const fn micros(n: u64) -> Nanos {
        Nanos(n * 1_000)
    }

    /// `n` milliseconds.
    pub const fn millis(n: u64) -> Nanos {
        Nanos(n * 1_000_000)
    }

    /// `n` seconds.
    pub const fn secs(n: u64) -> Nanos {
        Nanos(n * 1_000_000_000)
    }

    /// The span as seconds, for rates and reports.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The span as microseconds, for reports.
    pub fn as_micros_f64(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// Time passed since `earlier`, or zero when `earlier` is later.
    pub const fn since(self, earlier: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }

    /// `self + span`, stopping at [`Nanos::MAX`].
    pub const fn saturating_add(self, span: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(span.0))
    }
}

impl Add for Nanos {
    type Output = Nanos;
    fn add(self, other: Nanos) -> Nanos {
        Nanos(self.0 + other.0)
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, other: Nanos) {
        *self = *self + other;
    }
}

impl Sub for Nanos {
    type Output = Nanos;
    fn sub(self, other: Nanos) -> Nanos {
        Nanos(self.0.checked_sub(other.0).expect("time span must not be negative"))
    }
}

impl SubAssign for Nanos {
    fn sub_assign(&mut self, other: Nanos) {
        *self = *self - other;
    }
}

impl Mul<u64> for Nanos {
    type Output = Nanos;
    fn mul(self, factor: u64) -> Nanos {
        Nanos(self.0 * factor)
    }
}

impl Div<u64> for Nanos {
    type Output = Nanos;
    fn div(self, divisor: u64) -> Nanos {
        Nanos(self.0 / divisor)
    }
}

impl Sum for Nanos {
    fn sum<I: Iterator<Item = Nanos>>(spans: I) -> Nanos {
        spans.fold(Nanos::ZERO, Add::add)
    }
}

impl From<Nanos> for Duration {
    fn from(span: Nanos) -> Duration {
        Duration::from_nanos(span.0)
    }
}

impl From<Duration> for Nanos {
    /// Spans beyond 584 years become [`Nanos::MAX`].
    fn from(span: Duration) -> Nanos {
        Nanos(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for Nanos {
    /// Three significant digits in the unit a human would choose: `850 ns`, `12.5 us`, `1.20 s`, `90.0 min`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(f64, &str); 5] = [(1.0, "ns"), (1e3, "us"), (1e6, "ms"), (1e9, "s"), (60e9, "min")];
        let ns = self.0 as f64;
        // Minutes only from two on: "90.0 s" reads better than "1.50 min".
        let (unit, name) = UNITS
            .into_iter()
            .rev()
            .find(|&(unit, name)| ns >= unit * if name == "min" { 2.0 } else { 1.0 })
            .unwrap_or(UNITS[0]);
        let value = ns / unit;
        let digits = match value {
            _ if name == "ns" => 0,
            v if v < 9.995 => 2,
            v if v < 99.95 => 1,
            _ => 0,
        };
        f.pad(&format!("{value:.digits$} {name}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shown_with_three_digits() {
        let shown = |n: u64| Nanos(n).to_string();
        assert_eq!(shown(0), "0 ns");
        assert_eq!(shown(850), "850 ns");
        assert_eq!(shown(1_500), "1.50 us");
        assert_eq!(shown(12_500), "12.5 us");
        assert_eq!(shown(999_400), "999 us");
        assert_eq!(shown(1_200_000_000), "1.20 s");
        assert_eq!(shown(90_000_000_000), "90.0 s");
        assert_eq!(shown(5_400_000_000_000), "90.0 min");
        assert_eq!(format!("{:>10}", Nanos(850)), "    850 ns");
    }

    #[test]
    fn arithmetic() {
        assert_eq!(Nanos::micros(2) + Nanos(5), Nanos(2_005));
        assert_eq!(Nanos::millis(1) - Nanos::micros(1), Nanos(999_000));
        assert_eq!(Nanos(3).since(Nanos(5)), Nanos::ZERO);
        assert_eq!([Nanos(1), Nanos(2)].into_iter().sum::<Nanos>(), Nanos(3));
        assert_eq!(Duration::from(Nanos::secs(2)), Duration::from_secs(2));
        assert_eq!(Nanos::from(Duration::MAX), Nanos::MAX);
    }

    #[test]
    #[should_panic(expected = "negative")]
    fn a_negative_span_is_a_bug() {
        let _ = Nanos(1) - Nanos(2);
    }
}
