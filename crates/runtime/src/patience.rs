//! How long a device may take for an operation before it counts as hung, and what time is never held against it.

use cygnus_types::Nanos;

use crate::{DeviceIo, IoClass};

/// A flush waits for all that a device has in its cache: Linux gives it twice the time of other commands too
/// (`SD_FLUSH_TIMEOUT_MULTIPLIER`).
const FLUSH: u64 = 2;
/// A trim, as Linux's 120 s for commands that concern a range without its data (`SD_WRITE_SAME_TIMEOUT`) to its 30 s,
const TRIM: u64 = 4;
/// and in addition for each GiB of it. Drives that write zeros in place of trimming do half of that in this time.
const TRIM_PER_GIB: Nanos = Nanos::secs(2);

/// Longest time between two looks at the devices that a busy reactor may take for a turn. In a longer one it was stopped, or
/// starved, or a system call did not return. Devices that answered meanwhile would look as if they had been that late.
pub(crate) const LONGEST_TURN: Nanos = Nanos::millis(100);

/// How long an operation may take, given how long a read or write may.
pub(crate) fn limit(patience: Nanos, io: &DeviceIo) -> Nanos {
    let times = match io.class {
        IoClass::Read | IoClass::Write => 1,
        IoClass::Flush | IoClass::Extra | IoClass::Reopen => FLUSH,
        IoClass::Trim => TRIM,
    };
    let by_length = if io.class == IoClass::Trim { TRIM_PER_GIB.0.saturating_mul(io.bytes >> 30) } else { 0 };
    Nanos(patience.0.saturating_mul(times).saturating_add(by_length))
}

/// Of the time between two looks of a reactor at its devices, what it was kept from running: all but what it spent waiting, as
/// it should; nothing if that is no longer than a turn.
pub(crate) fn stalled(between_looks: Nanos, waited: Nanos) -> Nanos {
    let away = between_looks.since(waited);
    if away > LONGEST_TURN { away } else { Nanos::ZERO }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DeviceIx, DeviceLoad};

    #[test]
    fn what_takes_longer_by_nature_may() {
        let of = |class, bytes| {
            limit(Nanos::secs(30), &DeviceIo { dev: DeviceIx(0), class, bytes, ahead: DeviceLoad::default() })
        };
        assert_eq!(of(IoClass::Write, 1 << 40), Nanos::secs(30));
        assert_eq!(of(IoClass::Flush, 0), Nanos::secs(60));
        assert_eq!(of(IoClass::Trim, 4096), Nanos::secs(120));
        assert_eq!(of(IoClass::Trim, 100 << 30), Nanos::secs(320));
        let endless =
            DeviceIo { dev: DeviceIx(0), class: IoClass::Trim, bytes: u64::MAX, ahead: DeviceLoad::default() };
        assert_eq!(limit(Nanos::MAX, &endless), Nanos::MAX);
    }

    #[test]
    fn only_what_exceeds_waiting_is_a_stall() {
        assert_eq!(stalled(Nanos::secs(33), Nanos::secs(33)), Nanos::ZERO);
        assert_eq!(stalled(Nanos::millis(90), Nanos::ZERO), Nanos::ZERO);
        assert_eq!(stalled(Nanos::secs(33), Nanos::secs(1)), Nanos::secs(32));
    }
}
