//! Which ranges of a hybrid volume are hot, so that flash is the place for them (SALSA section 4.2: temperatures).
//!
//! Each block that a client reads warms its range. Temperatures are halved as time goes by, and when flash is short of room and nothing
//! on it is cold enough to leave.

use cygnus_types::Nanos;

/// Blocks that share a temperature: what is read together was mostly written together.
pub const WARMTH_BLOCKS: u64 = 256;

/// When blocks of hybrid volumes move between the media.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HybridRule {
    /// Blocks read of a range from which on it is hot.
    pub hot_from: u32,
    /// Time after which temperatures are halved.
    pub half_life: Nanos,
    /// Up to this share of flash, in 256ths, blocks come to it because they are hot. The rest is for volumes that are bound to flash.
    pub full_from: u64,
    /// From there on cold blocks leave when hot ones come, until this many 256ths less are taken.
    pub at_a_time: u64,
    /// When nothing was cold enough to leave, temperatures are halved, not more often than this.
    pub cools_after: Nanos,
}

impl Default for HybridRule {
    /// Hot is what was read twice within a day, as a mean over a range; an eighth of flash is left alone.
    fn default() -> Self {
        Self {
            hot_from: 2 * WARMTH_BLOCKS as u32,
            half_life: Nanos::secs(24 * 60 * 60),
            full_from: 224,
            at_a_time: 8,
            cools_after: Nanos::secs(60),
        }
    }
}

impl HybridRule {
    /// The share of flash, in 256ths, from which on volumes that are bound to it have cold blocks leave: half of what is left for them is taken.
    pub fn scarce_from(&self) -> u64 {
        self.full_from.midpoint(256)
    }
}

const COUNT_BITS: u32 = 24;
const MOST: u32 = (1 << COUNT_BITS) - 1;

/// How often a range was read: the blocks read, halved with each epoch, and the last bits of the epoch when that was so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Temperature {
    /// All of it, as tables keep it.
    pub bits: u32,
}

impl Temperature {
    /// Blocks read, as they count in an epoch that is not earlier. One that comes round again after as many as the bits can tell apart
    /// is taken for the same.
    pub fn at(self, epoch: u64) -> u32 {
        let its = u64::from(self.bits >> COUNT_BITS);
        let past = epoch.wrapping_sub(its) % (1 << (u32::BITS - COUNT_BITS));
        (self.bits & MOST).checked_shr(past as u32).unwrap_or(0)
    }

    /// The temperature after a read of `blocks` blocks of the range.
    #[must_use]
    pub fn read(self, epoch: u64, blocks: u64) -> Self {
        let count = (u64::from(self.at(epoch)) + blocks).min(MOST.into()) as u32;
        Self { bits: (epoch as u32) << COUNT_BITS | count }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_warms_and_what_is_not_cools() {
        let warm = Temperature::default().read(5, 100).read(5, 100);
        assert_eq!([5, 6, 7, 12, 13, 5 + 255].map(|epoch| warm.at(epoch)), [200, 100, 50, 1, 0, 0]);
        assert_eq!(warm.read(6, 7).at(6), 107);
        assert_eq!(Temperature::default().at(77), 0);
    }

    #[test]
    fn a_count_ends_at_its_most() {
        let hottest = Temperature::default().read(300, u64::from(u32::MAX));
        assert_eq!((hottest.at(300), hottest.read(300, 1).at(300)), (MOST, MOST));
        assert!(HybridRule::default().hot_from < MOST);
    }
}
