//! How the devices keep pace, as this reactor sees it, and what follows: which read is late, which member is left alone.
//!
//! The runtime tells how long every operation took ([`DeviceWatch`]); [`cygnus_policy::LatencyRule`] judges. Each reactor
//! judges by itself: what it sees is what its own readers wait for, and nothing need be shared on the way of a read.

use std::cell::{Cell, RefCell};

use cygnus_policy::{HedgeBudget, Lag, LatencyHistogram, LatencyRule, Pace};
use cygnus_runtime::{DeviceIo, DeviceIx, IoClass};
use cygnus_types::{BLOCK, Nanos};

/// Reads up to this many blocks (64 KiB) tell how a device keeps pace; the time of longer ones tells of their length.
/// A longer read is late after as many times the time as it has times this length.
const TELLING_BLOCKS: u64 = 16;

/// What makes a read late is computed anew after so many reads of a device.
pub(crate) const REFRESH: u8 = 64;

/// A device as its reactor sees it.
#[derive(Clone)]
pub(crate) struct DevicePace {
    pub reads: LatencyHistogram,
    pub writes: LatencyHistogram,
    pub flushes: LatencyHistogram,
    pub pace: Pace,
    pub late_after: Nanos,
    pub until_refresh: u8,
    pub turned_slow: u64,
    /// Whether it is tried now and then though no client reads.
    pub tried_at_rest: bool,
}

impl DevicePace {
    /// Takes a new judgement; `true`: it is slow from now on.
    fn set(&mut self, pace: Pace) -> bool {
        let turns = pace.slow && !self.pace.slow;
        self.turned_slow += u64::from(turns);
        self.pace = pace;
        turns
    }
}

/// See the module's text.
pub(crate) struct Paces {
    pub rule: LatencyRule,
    devices: RefCell<Vec<DevicePace>>,
    pub budget: Cell<HedgeBudget>,
}

/// How a member keeps pace, as its home reactor sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemberPace {
    /// Whether reads leave it alone because it is slow.
    pub slow: bool,
    /// Mean of the last reads.
    pub read_mean: Nanos,
    /// What 99 of 100 of the last few thousand reads did not exceed; zero before there are enough.
    pub read_p99: Nanos,
    /// The same of the writes.
    pub write_p99: Nanos,
    /// A read that takes longer is reconstructed from the other columns.
    pub late_after: Nanos,
    /// Its writes take far longer than those of the group's other members.
    pub write_lag: Option<Lag>,
    /// Its flushes do.
    pub flush_lag: Option<Lag>,
}

impl Paces {
    pub(crate) fn new(rule: LatencyRule) -> Self {
        Self { budget: Cell::new(rule.full_budget()), devices: RefCell::default(), rule }
    }

    pub(crate) fn with<T>(&self, dev: DeviceIx, act: impl FnOnce(&LatencyRule, &mut DevicePace) -> T) -> T {
        let mut devices = self.devices.borrow_mut();
        let at = usize::from(dev.0);
        if devices.len() <= at {
            let unknown = DevicePace {
                reads: LatencyHistogram::default(),
                writes: LatencyHistogram::default(),
                flushes: LatencyHistogram::default(),
                pace: Pace::default(),
                late_after: self.rule.latest,
                until_refresh: REFRESH,
                turned_slow: 0,
                tried_at_rest: false,
            };
            devices.resize(at + 1, unknown);
        }
        act(&self.rule, &mut devices[at])
    }

    /// An operation has ended; `true`: its device has turned slow by that.
    pub(crate) fn ended(&self, io: DeviceIo, took: Nanos, now: Nanos) -> bool {
        self.with(io.dev, |rule, device| match io.class {
            IoClass::Read => {
                if io.bytes <= TELLING_BLOCKS * BLOCK as u64 {
                    device.reads.record(took);
                }
                let blocks = io.bytes / BLOCK as u64;
                device.set(rule.ended(device.pace, took, scaled(device.late_after, blocks), now))
            }
            IoClass::Write => {
                device.writes.record(took);
                false
            }
            IoClass::Flush => {
                device.flushes.record(took);
                false
            }
            IoClass::Trim | IoClass::Extra | IoClass::Reopen => false,
        })
    }

    /// A read of this device is late; `true`: the device has turned slow by that.
    pub(crate) fn late(&self, dev: DeviceIx, now: Nanos) -> bool {
        self.with(dev, |rule, device| device.set(rule.late(device.pace, now)))
    }

    /// Takes a hedge off the budget, if there is one.
    pub(crate) fn may_hedge(&self) -> bool {
        let mut budget = self.budget.get();
        let may = self.rule.spend(&mut budget);
        self.budget.set(budget);
        may
    }

    pub(crate) fn is_slow(&self, dev: DeviceIx) -> bool {
        self.devices.borrow().get(usize::from(dev.0)).is_some_and(|device| device.pace.slow)
    }
}

/// When a read of so many blocks is late, where one of few is so `after`.
pub(crate) fn scaled(after: Nanos, blocks: u64) -> Nanos {
    after * blocks.div_ceil(TELLING_BLOCKS).max(1)
}

#[cfg(test)]
mod tests {
    use cygnus_runtime::DeviceLoad;

    use super::*;

    fn read(blocks: u32) -> DeviceIo {
        DeviceIo {
            dev: DeviceIx(3),
            class: IoClass::Read,
            bytes: u64::from(blocks) * BLOCK as u64,
            ahead: DeviceLoad::default(),
        }
    }

    #[test]
    fn long_reads_may_take_longer_and_do_not_count() {
        let paces = Paces::new(LatencyRule::default());
        for now in 0..100 {
            paces.ended(read(64), Nanos::secs(1), Nanos(now));
            assert!(!paces.is_slow(DeviceIx(3)), "four times the length, and 500 ms for the shortest");
        }
        assert_eq!(paces.with(DeviceIx(3), |_, device| device.reads.mean()), Nanos::ZERO);
        for now in 100..104 {
            paces.ended(read(1), Nanos::secs(3), Nanos(now));
        }
        assert!(paces.is_slow(DeviceIx(3)));
    }
}
