//! Numbers of steps, and times, of which nobody knows the magnitude.

use cygnus_runtime::Rng;
use cygnus_types::Nanos;

/// A number whose magnitude is uniform: as likely a few as thousands.
pub(super) fn some_steps(rng: &mut Rng) -> u64 {
    let magnitude = rng.below(14);
    (1 << magnitude) + rng.below(1 << magnitude)
}

/// A time from microseconds to tens of milliseconds.
pub(super) fn some_time(rng: &mut Rng) -> Nanos {
    let magnitude = 10 + rng.below(16);
    Nanos(rng.below(1 << magnitude))
}
