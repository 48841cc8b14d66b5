//! Latencies counted in buckets of about 3 % width.

use cygnus_types::Nanos;

/// Each power of two is divided into this many buckets.
const SUB: usize = 1 << SUB_BITS;
const SUB_BITS: u32 = 5;
/// Times are counted up to 2^40 ns (18 minutes); longer ones fall into the last bucket.
const MAX_BITS: u32 = 40;
const BUCKETS: usize = (MAX_BITS - SUB_BITS + 1) as usize * SUB;

/// A histogram of durations with a relative error of at most 1/32.
#[derive(Clone, Debug)]
pub struct Histogram {
    buckets: Box<[u64; BUCKETS]>,
    count: u64,
    sum: u64,
    max: Nanos,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { buckets: Box::new([0; BUCKETS]), count: 0, sum: 0, max: Nanos::ZERO }
    }
}

fn bucket(nanos: u64) -> usize {
    if nanos < SUB as u64 {
        return nanos as usize;
    }
    let shift = 63 - nanos.leading_zeros() - SUB_BITS;
    let place = (shift as usize + 1) * SUB + ((nanos >> shift) as usize & (SUB - 1));
    place.min(BUCKETS - 1)
}

/// The largest duration a bucket counts.
fn upper_bound(bucket: usize) -> u64 {
    if bucket < SUB {
        return bucket as u64;
    }
    let shift = bucket / SUB - 1;
    (((SUB + bucket % SUB + 1) as u64) << shift) - 1
}

impl Histogram {
    /// Counts one duration.
    #[inline]
    pub fn record(&mut self, duration: Nanos) {
        self.buckets[bucket(duration.0)] += 1;
        self.count += 1;
        self.sum = self.sum.saturating_add(duration.0);
        self.max = self.max.max(duration);
    }

    /// Adds all that `other` has counted.
    pub fn merge(&mut self, other: &Histogram) {
        self.buckets.iter_mut().zip(other.buckets.iter()).for_each(|(mine, theirs)| *mine += theirs);
        self.count += other.count;
        self.sum = self.sum.saturating_add(other.sum);
        self.max = self.max.max(other.max);
    }

    /// How many durations were counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their mean; zero if there are none.
    pub fn mean(&self) -> Nanos {
        Nanos(self.sum.checked_div(self.count).unwrap_or(0))
    }

    /// The longest duration; zero if there are none.
    pub fn max(&self) -> Nanos {
        self.max
    }

    /// The buckets that counted anything: the largest duration of each, and how many it counted.
    pub fn buckets(&self) -> impl Iterator<Item = (Nanos, u64)> + '_ {
        let filled = self.buckets.iter().enumerate().filter(|(_, count)| **count > 0);
        filled.map(|(bucket, count)| (Nanos(upper_bound(bucket)), *count))
    }

    /// The duration that the fraction `q` (0 to 1) of all does not exceed; zero if there are none.
    pub fn quantile(&self, q: f64) -> Nanos {
        let rank = ((self.count as f64 * q).ceil() as u64).clamp(1, self.count.max(1));
        let mut seen = 0;
        for (bucket, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return Nanos(upper_bound(bucket)).min(self.max);
            }
        }
        Nanos::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantiles_of_a_ramp() {
        let mut histogram = Histogram::default();
        assert_eq!((histogram.quantile(0.5), histogram.mean()), (Nanos::ZERO, Nanos::ZERO));
        (1..=10_000).for_each(|n| histogram.record(Nanos(n * 100)));
        for (q, exact) in [(0.0, 100.0), (0.5, 500_000.0), (0.99, 990_000.0), (0.999, 999_000.0), (1.0, 1_000_000.0)] {
            let got = histogram.quantile(q).0 as f64;
            assert!((exact..=exact * 1.04).contains(&got), "{q}: {got} for {exact}");
        }
        assert_eq!((histogram.count(), histogram.mean(), histogram.max()), (10_000, Nanos(500_050), Nanos(1_000_000)));
        assert_eq!(histogram.buckets().map(|(_, count)| count).sum::<u64>(), 10_000);
        let mut twice = histogram.clone();
        twice.merge(&histogram);
        assert_eq!((twice.count(), twice.quantile(0.5)), (20_000, histogram.quantile(0.5)));
    }

    proptest! {
        #[test]
        fn buckets_hold_what_they_say(nanos in 0u64..1 << 40) {
            let bucket = bucket(nanos);
            prop_assert!(nanos <= upper_bound(bucket));
            prop_assert!(bucket == 0 || nanos > upper_bound(bucket - 1));
        }

        #[test]
        fn no_duration_is_too_long(nanos: u64) {
            let mut histogram = Histogram::default();
            histogram.record(Nanos(nanos));
            prop_assert!(histogram.quantile(0.5) <= Nanos(nanos));
        }
    }
}
