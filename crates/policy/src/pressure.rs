//! Slowing writers smoothly before space is gone, so that they never run into a wall.

use cygnus_types::Nanos;

use crate::Share;

/// What the rule judges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PressureView {
    /// Free segments that client writes may take, over all groups, and those that are emptied and only have to be given back: these
    /// come when writers are short, and before that nobody need wait for them.
    pub writable: u32,
    /// Segments of all groups, whatever their state.
    pub segments: u32,
    /// Whether there is garbage that cleaning could turn into free segments. Without any, slowing writers down gains nothing.
    pub cleanable: bool,
    /// What it takes cleaning to gain room for a block; zero: not known.
    pub gain: Nanos,
}

/// Writable segments up to which writers keep to a slow medium's pace, however few there are in all.
const FEW: u64 = 4;

/// Rule for back-pressure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pressure {
    /// Writers run freely while at least this share of all segments is writable.
    pub begin: Share,
    /// Delay per 4 KiB block when the last writable segment is being filled, in nanoseconds.
    pub longest_ns_per_block: u64,
}

impl Pressure {
    /// How long a writer waits per block: zero above the mark, then growing with the square of what is missing, so the
    /// first percent is hardly felt and the last one leaves the cleaner time.
    pub fn delay_per_block(self, view: PressureView) -> Nanos {
        let begin = u64::from(self.mark(view.segments));
        let writable = u64::from(view.writable);
        if !view.cleanable || writable >= begin {
            return Nanos::ZERO;
        }
        Nanos(self.longest_ns_per_block * square_of_missing(writable, begin) / 1_000_000)
    }

    /// Time from one block to the next, over all writers: zero unless cleaning gains room more slowly than one writer uses it up in
    /// spite of that delay. Where it does, as on disks, writers would fill a segment fast and wait for the next one for minutes. When
    /// no segment is left they get four fifths of what is gained, so that one will be; with some left they get more than is gained.
    pub fn interval(self, view: PressureView) -> Nanos {
        let begin = u64::from(self.mark(view.segments)).max(FEW);
        let writable = u64::from(view.writable);
        if writable >= begin || view.gain.0 <= self.longest_ns_per_block {
            return Nanos::ZERO;
        }
        Nanos(view.gain.0.saturating_mul(square_of_missing(writable, begin)) / 1_000_000 * 5 / 4)
    }

    /// Of so many segments, those that must be writable or writers are slowed.
    pub fn mark(self, segments: u32) -> u32 {
        (self.begin.hundredths_of(segments) / 100) as u32
    }
}

/// Of the square of the share that is missing, millionths.
fn square_of_missing(writable: u64, begin: u64) -> u64 {
    let missing = (begin - writable) * 1000 / begin;
    missing * missing
}

#[cfg(test)]
mod tests {
    use super::*;

    const VIEW: PressureView = PressureView { writable: 0, segments: 1000, cleanable: true, gain: Nanos::ZERO };

    #[test]
    fn where_cleaning_is_slow_writers_keep_to_its_pace() {
        let rule = Pressure { begin: Share { percent: 1, most: 48 }, longest_ns_per_block: 200_000 };
        let interval = |writable, gain| rule.interval(PressureView { writable, gain, ..VIEW });
        assert_eq!(interval(0, Nanos::micros(200)), Nanos::ZERO, "the delay is enough");
        let slow = Nanos::millis(2);
        assert_eq!(interval(0, slow), Nanos::micros(2500));
        assert_eq!(interval(10, slow), Nanos::ZERO);
        assert!((1..=10).all(|writable| interval(writable, slow) < interval(writable - 1, slow)));
        let small = |writable| rule.interval(PressureView { writable, segments: 50, gain: slow, ..VIEW });
        assert_eq!((small(2), small(4)), (Nanos::micros(625), Nanos::ZERO));
    }

    #[test]
    fn the_mark_stops_growing() {
        let rule = Pressure { begin: Share { percent: 1, most: 48 }, longest_ns_per_block: 200_000 };
        assert_eq!([511, 4799, 4800, u32::MAX].map(|segments| rule.mark(segments)), [5, 47, 48, 48]);
    }

    #[test]
    fn grows_smoothly_from_zero() {
        let rule = Pressure { begin: Share { percent: 10, most: 500 }, longest_ns_per_block: 1_000_000 };
        let delay = |writable| rule.delay_per_block(PressureView { writable, ..VIEW }).0;
        assert_eq!(delay(100), 0);
        assert_eq!(delay(0), 1_000_000);
        assert!((1..=100).all(|w| delay(w) <= delay(w - 1)));
        assert!(delay(95) < 5_000, "{}", delay(95));
    }
}
