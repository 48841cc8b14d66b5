//! How long something took lately: counts in logarithmic buckets that forget.

use cygnus_types::Nanos;

/// Buckets per doubling: a percentile is at most a quarter too high.
const PER_OCTAVE: u32 = 4;
/// Everything below 2^10 ns (1 us) is in the first bucket.
const FIRST_OCTAVE: u32 = 10;
/// Up to 2^36 ns (69 s), beyond which everything is in the last one.
const OCTAVES: u32 = 26;
const BUCKETS: usize = (OCTAVES * PER_OCTAVE) as usize;

/// Samples after which all counts are halved, so that the last few thousand decide.
const HALVE_AT: u32 = 4096;
/// Samples after which the 99th percentile is computed anew.
const REFRESH: u32 = 64;
/// The moving mean gives the last sample a sixteenth.
const MEAN_SHIFT: u32 = 4;

/// See the module's text. Recording costs a few nanoseconds and no memory.
#[derive(Clone, Debug)]
pub struct LatencyHistogram {
    counts: [u32; BUCKETS],
    samples: u32,
    until_refresh: u32,
    p99: Nanos,
    mean: u64,
}

impl Default for LatencyHistogram {
    fn default() -> Self {
        Self { counts: [0; BUCKETS], samples: 0, until_refresh: REFRESH, p99: Nanos::ZERO, mean: 0 }
    }
}

fn bucket(span: Nanos) -> usize {
    let ns = span.0.max(1 << FIRST_OCTAVE);
    let octave = ns.ilog2();
    let quarter = (ns >> (octave - PER_OCTAVE.ilog2())) as u32 % PER_OCTAVE;
    (((octave - FIRST_OCTAVE) * PER_OCTAVE + quarter) as usize).min(BUCKETS - 1)
}

/// Where a bucket ends.
fn end(bucket: usize) -> Nanos {
    let (octave, quarter) = (bucket as u32 / PER_OCTAVE + FIRST_OCTAVE, bucket as u64 % u64::from(PER_OCTAVE));
    Nanos((u64::from(PER_OCTAVE) + quarter + 1) << (octave - PER_OCTAVE.ilog2()))
}

impl LatencyHistogram {
    /// Adds a sample.
    #[inline]
    pub fn record(&mut self, span: Nanos) {
        self.counts[bucket(span)] += 1;
        self.samples += 1;
        self.mean =
            if self.samples == 1 { span.0 } else { self.mean - (self.mean >> MEAN_SHIFT) + (span.0 >> MEAN_SHIFT) };
        self.until_refresh -= 1;
        if self.until_refresh == 0 {
            self.refresh();
        }
    }

    #[cold]
    fn refresh(&mut self) {
        self.until_refresh = REFRESH;
        self.p99 = self.percentile(990);
        if self.samples >= HALVE_AT {
            self.counts.iter_mut().for_each(|count| *count /= 2);
            self.samples = self.counts.iter().sum();
        }
    }

    /// The span that `permille` of the samples do not exceed; zero without any. Walks all buckets.
    pub fn percentile(&self, permille: u64) -> Nanos {
        let mut left = (u64::from(self.samples) * permille).div_ceil(1000);
        for (at, &count) in self.counts.iter().enumerate() {
            left = left.saturating_sub(u64::from(count));
            if left == 0 {
                return if self.samples == 0 { Nanos::ZERO } else { end(at) };
            }
        }
        unreachable!("the counts add up to the samples")
    }

    /// The 99th percentile as of the last few dozen samples; `None` before that number of samples.
    #[inline]
    pub fn p99(&self) -> Option<Nanos> {
        (self.p99 != Nanos::ZERO).then_some(self.p99)
    }

    /// Exponentially weighted mean.
    pub fn mean(&self) -> Nanos {
        Nanos(self.mean)
    }

    /// Adds another one's samples; the means are weighted by them.
    pub fn merge(&mut self, other: &Self) {
        let (mine, theirs) = (u64::from(self.samples), u64::from(other.samples));
        let weighted = (self.mean * mine + other.mean * theirs).checked_div(mine + theirs);
        self.mean = weighted.unwrap_or(0);
        self.counts.iter_mut().zip(&other.counts).for_each(|(mine, theirs)| *mine += theirs);
        self.samples += other.samples;
        self.p99 = self.percentile(990);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_narrow_and_in_order() {
        for ns in (0..1_000_000).step_by(37).chain([1 << 33, (1 << 36) - 1]) {
            let (span, end) = (Nanos(ns), end(bucket(Nanos(ns))));
            assert!(end > span && (ns < 1024 || end.0 - ns <= ns / 4 + 1), "{ns} in a bucket until {end:?}");
        }
        assert_eq!(bucket(Nanos::MAX), BUCKETS - 1);
    }

    #[test]
    fn percentiles_and_mean() {
        let mut h = LatencyHistogram::default();
        assert_eq!((h.percentile(990), h.p99()), (Nanos::ZERO, None));
        for n in 0..1000 {
            h.record(if n % 50 == 0 { Nanos::millis(10) } else { Nanos::micros(100) });
        }
        assert_eq!(h.percentile(500), Nanos(114_688));
        assert!(h.p99().unwrap() >= Nanos::millis(10));
        assert!(h.mean() > Nanos::micros(90) && h.mean() < Nanos::millis(1), "{}", h.mean());
    }

    #[test]
    fn it_forgets() {
        let mut h = LatencyHistogram::default();
        (0..5_000).for_each(|_| h.record(Nanos::millis(5)));
        (0..100_000).for_each(|_| h.record(Nanos::micros(80)));
        assert!(h.percentile(999) < Nanos::micros(100));
        assert!(h.samples < 2 * HALVE_AT);
    }

    #[test]
    fn merging_adds_up() {
        let (mut a, mut b) = (LatencyHistogram::default(), LatencyHistogram::default());
        (0..100).for_each(|_| a.record(Nanos::micros(50)));
        (0..100).for_each(|_| b.record(Nanos::millis(1)));
        a.merge(&b);
        assert_eq!(a.percentile(500), Nanos(57_344));
        assert!(a.p99().unwrap() >= Nanos::millis(1));
    }
}
