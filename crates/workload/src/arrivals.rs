//! The open loop: when requests arrive, whether or not the array keeps up.

use crate::random::exponential;
use crate::{Size, Span};
use cygnus_runtime::Rng;
use cygnus_types::Nanos;
use serde::Deserialize;

/// How fast requests arrive: `{ iops = 5000 }` or `{ bandwidth = "200MB", arrivals = "poisson" }`, one of the two
/// rates.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Rate {
    /// Requests per second on average.
    pub iops: Option<f64>,
    /// Bytes per second on average.
    pub bandwidth: Option<Size>,
    /// How the time between two requests varies around its mean.
    #[serde(default)]
    pub arrivals: Arrivals,
}

/// How the gaps between arrivals vary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// Not at all.
    #[default]
    Constant,
    /// Exponentially, as those of many independent clients.
    Poisson,
    /// The same, in bursts: all requests come within `on`, that much faster, then none for `off`, and so on. The rate is that of both
    /// together.
    Bursts {
        /// How long requests come.
        on: Span,
        /// How long none do.
        off: Span,
    },
}

/// A rate at which no requests can arrive.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum RateError {
    /// Bursts of no length.
    #[error("rate: bursts that last no time have no requests: give on = \"50ms\"")]
    EmptyBursts,
    /// Too few requests or too many.
    #[error("rate: iops is from 1e-6, which is one in twelve days, to 1e9, not {0}")]
    Iops(f64),
    /// No bytes.
    #[error("rate: bandwidth is above 0")]
    Bandwidth,
    /// Two rates, or none.
    #[error("rate: give either iops or bandwidth")]
    EitherOr,
}

impl Rate {
    /// Why requests cannot arrive at this rate, if they cannot.
    ///
    /// # Errors
    /// With the key and the remedy.
    pub fn check(&self) -> Result<(), RateError> {
        if let Arrivals::Bursts { on: Span(Nanos(0)), .. } = self.arrivals {
            return Err(RateError::EmptyBursts);
        }
        match (self.iops, self.bandwidth) {
            (Some(iops), None) if (1e-6..=1e9).contains(&iops) => Ok(()),
            (Some(iops), None) => Err(RateError::Iops(iops)),
            (None, Some(Size(1..))) => Ok(()),
            (None, Some(_)) => Err(RateError::Bandwidth),
            _ => Err(RateError::EitherOr),
        }
    }
}

/// The times of arrival, one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    rate: Rate,
    /// The last arrival in nanoseconds of the time in which requests come at all, and the fraction of one, so that rounding does not
    /// add up.
    now: u64,
    fraction: f64,
}

impl Clock {
    /// Starts at time 0 at a rate that makes sense.
    pub(crate) fn new(rate: Rate) -> Clock {
        Clock { rate, now: 0, fraction: 0.0 }
    }

    /// When the next request arrives.
    pub(crate) fn now(&self) -> Nanos {
        let pauses = match self.rate.arrivals {
            Arrivals::Bursts { on, off } => (self.now / on.0.0).saturating_mul(off.0.0),
            Arrivals::Constant | Arrivals::Poisson => 0,
        };
        Nanos(self.now.saturating_add(pauses))
    }

    /// When a request of `bytes` arrives; the next one follows in proportion to its size if bandwidth is the rate.
    pub(crate) fn arrival(&mut self, bytes: u32, rng: &mut Rng) -> Nanos {
        let arrival = self.now();
        let mean = match (self.rate.iops, self.rate.bandwidth) {
            (Some(iops), _) => 1e9 / iops,
            (None, Some(Size(bandwidth))) => f64::from(bytes) * 1e9 / bandwidth as f64,
            (None, None) => unreachable!("a rate was checked"),
        };
        let gap = match self.rate.arrivals {
            Arrivals::Constant => mean,
            Arrivals::Poisson => mean * exponential(rng),
            Arrivals::Bursts { on, off } => {
                let share = on.0.0 as f64 / (on.0.0 as f64 + off.0.0 as f64);
                mean * share * exponential(rng)
            }
        };
        let exact = self.fraction + gap;
        self.now = self.now.saturating_add(exact as u64);
        self.fraction = exact.fract();
        arrival
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(iops: Option<f64>, bandwidth: Option<u64>, arrivals: Arrivals) -> Rate {
        Rate { iops, bandwidth: bandwidth.map(Size), arrivals }
    }

    #[test]
    fn constant_arrivals_do_not_drift() {
        let mut clock = Clock::new(rate(Some(3.0), None, Arrivals::Constant));
        let times: Vec<u64> = (0..=3000).map(|_| clock.arrival(4096, &mut Rng::new(0)).0).collect();
        assert_eq!(times[..3], [0, 333_333_333, 666_666_666]);
        assert!(times[3000].abs_diff(1_000_000_000_000) <= 1);
    }

    #[test]
    fn poisson_arrivals_have_the_rate_and_its_variance() {
        let (mut clock, mut rng) = (Clock::new(rate(Some(1e6), None, Arrivals::Poisson)), Rng::new(3));
        let times: Vec<f64> = (0..100_001).map(|_| clock.arrival(4096, &mut rng).0 as f64).collect();
        let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<f64>() / 1e5;
        let deviation = (gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / 1e5).sqrt();
        assert!((mean - 1000.0).abs() < 20.0 && (deviation - 1000.0).abs() < 30.0, "{mean} {deviation}");
    }

    #[test]
    fn bursts_have_the_rate_and_pauses_between_them() {
        let ms = |n| Span(Nanos::millis(n));
        let bursts = Arrivals::Bursts { on: ms(50), off: ms(150) };
        let (mut clock, mut rng) = (Clock::new(rate(Some(10_000.0), None, bursts)), Rng::new(3));
        let times: Vec<u64> = (0..100_000).map(|_| clock.arrival(4096, &mut rng).0).collect();
        assert!(times.iter().all(|at| at % 200_000_000 < 50_000_000));
        assert!(times.is_sorted() && (9.5..10.5).contains(&(times[99_999] as f64 / 1e9)), "{}", times[99_999]);
        assert!(rate(Some(1.0), None, Arrivals::Bursts { on: ms(0), off: ms(1) }).check().is_err());
    }

    #[test]
    fn bandwidth_spaces_large_requests_apart() {
        let mut clock = Clock::new(rate(None, Some(1_000_000), Arrivals::Constant));
        let mut at = |bytes| clock.arrival(bytes, &mut Rng::new(0));
        assert_eq!((at(10_000), at(1000), at(1000)), (Nanos::ZERO, Nanos::millis(10), Nanos::millis(11)));
    }

    #[test]
    fn one_sensible_rate() {
        let constant = Arrivals::Constant;
        assert!(rate(Some(10.0), None, constant).check().is_ok());
        for wrong in [
            rate(None, None, constant),
            rate(Some(0.0), None, constant),
            // Requests that would be ages apart.
            rate(Some(1e-300), None, constant),
            rate(Some(f64::NAN), None, constant),
            rate(None, Some(0), constant),
            rate(Some(1.0), Some(1), constant),
        ] {
            assert!(wrong.check().is_err(), "{wrong:?}");
        }
    }
}
