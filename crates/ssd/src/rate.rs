//! Time that bytes take at a rate.

use cygnus_types::{BLOCK, Nanos};

/// Time to move `bytes` at `rate` bytes per second.
pub(crate) fn time_of(bytes: u64, rate: u64) -> Nanos {
    Nanos((bytes * 1_000_000_000).div_ceil(rate))
}

/// Time to move `pages` pages at `rate` bytes per second.
pub(crate) fn transfer_time(pages: u32, rate: u64) -> Nanos {
    Nanos((u64::from(pages) * BLOCK as u64 * 1_000_000_000).div_ceil(rate))
}
