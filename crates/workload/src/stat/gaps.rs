//! Times between arrivals.

use cygnus_types::Nanos;
use serde::Serialize;

/// The gaps between arrivals, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct GapStat {
    /// Mean gap, in microseconds.
    pub mean_us: f64,
    /// Median gap, in microseconds, within 3 %.
    pub p50_us: f64,
    /// 99th percentile of the gaps, in microseconds, within 3 %.
    pub p99_us: f64,
    /// Longest gap, in microseconds.
    pub max_us: f64,
    /// Standard deviation over mean: 0 for a metronome, 1 for Poisson arrivals, more for bursts; nothing if all arrive at once.
    pub variation: Option<f64>,
}

/// Buckets for each doubling, so that a bucket is 3 % wide.
const SPLIT_BITS: u32 = 5;
const BUCKETS: usize = (65 - SPLIT_BITS as usize) << SPLIT_BITS;
const SECOND: Nanos = Nanos::secs(1);

#[derive(Debug)]
pub(super) struct Gaps {
    first: Option<Nanos>,
    last: Nanos,
    count: u64,
    max: u64,
    squares: f64,
    buckets: Vec<u64>,
    second: u64,
    in_second: u64,
    peak: u64,
}

impl Default for Gaps {
    fn default() -> Self {
        let (first, last) = (None, Nanos::ZERO);
        Self {
            first,
            last,
            count: 0,
            max: 0,
            squares: 0.0,
            buckets: vec![0; BUCKETS],
            second: 0,
            in_second: 0,
            peak: 0,
        }
    }
}

/// Values below 2^(SPLIT_BITS + 1) have a bucket each; above, the leading bits choose.
fn bucket(value: u64) -> usize {
    let exponent = value.checked_ilog2().unwrap_or(0).saturating_sub(SPLIT_BITS);
    ((exponent as usize) << SPLIT_BITS) + (value >> exponent) as usize
}

/// The largest value of a bucket.
fn upper(bucket: usize) -> u64 {
    let exponent = (bucket >> SPLIT_BITS).saturating_sub(1);
    let leading = (bucket - (exponent << SPLIT_BITS)) as u64;
    ((leading + 1) << exponent).wrapping_sub(1)
}

impl Gaps {
    /// The next arrival, never before the last; says whether it is the first.
    pub(super) fn add(&mut self, at: Nanos) -> bool {
        let is_first = self.first.is_none();
        match self.first {
            None => self.first = Some(at),
            Some(_) => {
                let Nanos(gap) = at.since(self.last);
                self.count += 1;
                self.max = self.max.max(gap);
                self.squares += gap as f64 * gap as f64;
                self.buckets[bucket(gap)] += 1;
            }
        }
        self.last = self.last.max(at);
        let second = self.duration().0 / SECOND.0;
        self.in_second = if second == self.second { self.in_second + 1 } else { 1 };
        self.second = second;
        self.peak = self.peak.max(self.in_second);
        is_first
    }

    /// From the first arrival to the last.
    pub(super) fn duration(&self) -> Nanos {
        self.first.map_or(Nanos::ZERO, |first| self.last - first)
    }

    /// Arrivals in the busiest second.
    pub(super) fn peak(&self) -> u64 {
        self.peak
    }

    fn quantile(&self, share: f64) -> u64 {
        let rank = (self.count as f64 * share).ceil() as u64;
        let mut seen = 0;
        let found = self.buckets.iter().position(|&count| {
            seen += count;
            seen >= rank
        });
        found.map_or(0, upper).min(self.max)
    }

    /// Nothing if there is no gap.
    pub(super) fn finish(&self) -> Option<GapStat> {
        if self.count == 0 {
            return None;
        }
        let mean = self.duration().0 as f64 / self.count as f64;
        let variance = (self.squares / self.count as f64 - mean * mean).max(0.0);
        let micros = |nanos: u64| nanos as f64 / 1e3;
        Some(GapStat {
            mean_us: mean / 1e3,
            p50_us: micros(self.quantile(0.5)),
            p99_us: micros(self.quantile(0.99)),
            max_us: micros(self.max),
            variation: (mean > 0.0).then(|| libm::sqrt(variance) / mean),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn buckets_are_narrow_and_hold_their_values(value in prop_oneof![any::<u64>(), 0_u64..200]) {
            let bucket = bucket(value);
            prop_assert!(bucket < BUCKETS);
            let (most, least) = (upper(bucket), if bucket == 0 { 0 } else { upper(bucket - 1) + 1 });
            prop_assert!(least <= value && value <= most);
            prop_assert!((most - least) as f64 <= least as f64 / 32.0);
        }
    }
}
