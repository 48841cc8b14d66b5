//! Slowing writers smoothly before space is gone, so that they never run into a wall.

use cygnus_types::Nanos;

/// What the rule judges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PressureView {
    /// Free segments that client writes may take, over all groups.
    pub writable: u32,
    /// Segments in all.
    pub segments: u32,
    /// Whether there is garbage that cleaning could turn into free segments. Without any, slowing down helps nobody.
    pub cleanable: bool,
}

/// Rule for back-pressure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pressure {
    /// Writers run freely while at least this percentage of all segments is writable.
    pub begin_percent: u32,
    /// Delay per 4 KiB block when the last writable segment is being filled, in nanoseconds.
    pub longest_ns_per_block: u64,
}

impl Pressure {
    /// How long a writer waits per block: zero above the mark, then growing with the square of what is missing, so the
    /// first percent is hardly felt and the last one leaves the cleaner time.
    pub fn delay_per_block(self, view: PressureView) -> Nanos {
        let begin = u64::from(view.segments) * u64::from(self.begin_percent) / 100;
        let writable = u64::from(view.writable);
        if !view.cleanable || writable >= begin {
            return Nanos::ZERO;
        }
        let missing = (begin - writable) * 1000 / begin;
        Nanos(self.longest_ns_per_block * missing * missing / 1_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grows_smoothly_from_zero() {
        let rule = Pressure { begin_percent: 10, longest_ns_per_block: 1_000_000 };
        let delay = |writable| rule.delay_per_block(PressureView { writable, segments: 1000, cleanable: true }).0;
        assert_eq!(delay(100), 0);
        assert_eq!(delay(0), 1_000_000);
        assert!((1..=100).all(|w| delay(w) <= delay(w - 1)));
        assert!(delay(95) < 5_000, "{}", delay(95));
    }
}
