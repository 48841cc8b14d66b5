//! How often a range of a volume was overwritten lately, in two bytes; and which ranges are hot.
//!
//! Time goes by epochs, in each of which clients write [`EPOCH_WRITES`] blocks for each range that holds anything. A range is hot
//! if in the epochs before the present one it was written far more often than that; what is written now does not count yet,
//! or whatever is written from one end to the other would be hot for a moment.

/// Blocks of a range.
pub const RANGE_BLOCKS: u64 = 32;

/// Blocks written in an epoch for each range that holds anything.
pub const EPOCH_WRITES: u64 = 8;

/// Writes in an epoch, averaged over the last ones, from which on a range is hot.
const HOT: u16 = 2 * EPOCH_WRITES as u16;

const COUNT_BITS: u32 = 6;
const MOST: u16 = (1 << COUNT_BITS) - 1;
const EPOCH_BITS: u32 = 16 - 2 * COUNT_BITS;

/// What is known of a range: of the latest epoch in which it was written, by its last bits, how often; and the mean of those before,
/// in which each counts half as much as the next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heat {
    /// All of it, as tables keep it.
    pub bits: u16,
}

impl Heat {
    fn new(epoch: u64, now: u16, before: u16) -> Self {
        let epoch = (epoch as u16) << (2 * COUNT_BITS);
        Self { bits: epoch | now << COUNT_BITS | before }
    }

    /// The same in a later epoch. One that comes round again after as many as the bits can tell apart is taken for the same.
    fn aged(self, epoch: u64) -> (u16, u16) {
        let (now, before) = ((self.bits >> COUNT_BITS) & MOST, self.bits & MOST);
        let its = u64::from(self.bits >> (2 * COUNT_BITS));
        match epoch.wrapping_sub(its) % (1 << EPOCH_BITS) {
            0 => (now, before),
            past => (0, ((now + before) / 2) >> (past - 1).min(15)),
        }
    }

    /// The heat after a write of `blocks` blocks of the range in this epoch.
    #[must_use]
    pub fn written(self, epoch: u64, blocks: u64) -> Self {
        let (now, before) = self.aged(epoch);
        Self::new(epoch, (u64::from(now) + blocks).min(MOST.into()) as u16, before)
    }

    /// Whether the range is hot.
    pub fn is_hot(self, epoch: u64) -> bool {
        self.aged(epoch).1 >= HOT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After many epochs with so many writes in each.
    fn with(each: u64, epochs: u64) -> (Heat, u64) {
        let heat =
            (0..epochs).fold(Heat::default(), |heat, epoch| (0..each).fold(heat, |heat, _| heat.written(epoch, 1)));
        (heat, epochs)
    }

    #[test]
    fn what_is_written_more_often_than_most_is_hot() {
        let is_hot = |(heat, epoch): (Heat, u64)| heat.is_hot(epoch);
        assert!(!is_hot(with(EPOCH_WRITES, 100)), "all alike");
        assert!(!is_hot(with(2, 100)));
        assert!(is_hot(with(4 * EPOCH_WRITES, 100)) && is_hot(with(1000, 100)), "a count that stops is no less hot");
        assert!(!is_hot(with(3 * EPOCH_WRITES, 1)) && is_hot(with(3 * EPOCH_WRITES, 100)), "it takes a while");
    }

    #[test]
    fn what_was_hot_cools_down() {
        let (heat, epoch) = with(63, 50);
        assert!(heat.is_hot(epoch) && heat.is_hot(epoch + 1) && !heat.is_hot(epoch + 3));
        assert_eq!(heat.written(epoch + 14, 1), Heat::new(epoch + 14, 1, 0));
    }

    #[test]
    fn a_range_that_is_written_from_end_to_end_is_not_hot_for_that() {
        let (heat, epoch) = with(EPOCH_WRITES / 2, 20);
        assert!(!heat.written(epoch, RANGE_BLOCKS).is_hot(epoch));
    }
}
