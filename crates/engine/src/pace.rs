//! How the devices keep pace, as this reactor sees it, and what follows: which read is late, which member is left alone.
//!
//! The runtime tells how long every operation took ([`DeviceWatch`]); [`cygnus_policy::LatencyRule`] judges. Each reactor
//! judges by itself: what it sees is what its own readers wait for, and nothing need be shared on the way of a read.

use std::cell::{Cell, RefCell};

use cygnus_policy::{HedgeBudget, LatencyHistogram, LatencyRule, Pace};
use cygnus_runtime::{DeviceIo, DeviceIx, DeviceWatch, IoClass};
use cygnus_types::{BLOCK, GroupId, MemberIx, Nanos};

use crate::member::{Departure, MemberShared};
use crate::peers::ToOwner;
use crate::reactor::Reactor;
use crate::shared::count;

/// Reads up to this many blocks (64 KiB) tell how a device keeps pace; the time of longer ones tells of their length.
/// A longer read is late after as many times the time as it has times this length.
const TELLING_BLOCKS: u64 = 16;

/// What makes a read late is computed anew after so many reads of a device.
const REFRESH: u8 = 64;

/// A device as its reactor sees it.
#[derive(Clone)]
struct DevicePace {
    reads: LatencyHistogram,
    writes: LatencyHistogram,
    pace: Pace,
    late_after: Nanos,
    until_refresh: u8,
    turned_slow: u64,
}

impl DevicePace {
    fn set(&mut self, pace: Pace) {
        self.turned_slow += u64::from(pace.slow && !self.pace.slow);
        self.pace = pace;
    }
}

/// See the module's text.
pub(crate) struct Paces {
    rule: LatencyRule,
    devices: RefCell<Vec<DevicePace>>,
    budget: Cell<HedgeBudget>,
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
}

impl Paces {
    pub(crate) fn new(rule: LatencyRule) -> Self {
        Self { budget: Cell::new(rule.full_budget()), devices: RefCell::default(), rule }
    }

    fn with<T>(&self, dev: DeviceIx, act: impl FnOnce(&LatencyRule, &mut DevicePace) -> T) -> T {
        let mut devices = self.devices.borrow_mut();
        let at = usize::from(dev.0);
        if devices.len() <= at {
            let unknown = DevicePace {
                reads: LatencyHistogram::default(),
                writes: LatencyHistogram::default(),
                pace: Pace::default(),
                late_after: self.rule.latest,
                until_refresh: REFRESH,
                turned_slow: 0,
            };
            devices.resize(at + 1, unknown);
        }
        act(&self.rule, &mut devices[at])
    }

    fn ended(&self, io: DeviceIo, took: Nanos, now: Nanos) {
        self.with(io.dev, |rule, device| match io.class {
            IoClass::Read => {
                if u64::from(io.bytes) <= TELLING_BLOCKS * BLOCK as u64 {
                    device.reads.record(took);
                }
                let blocks = u64::from(io.bytes) / BLOCK as u64;
                device.set(rule.ended(device.pace, took, scaled(device.late_after, blocks), now));
            }
            IoClass::Write => device.writes.record(took),
            IoClass::Flush | IoClass::Trim => {}
        });
    }

    /// A read of this device is late.
    pub(crate) fn late(&self, dev: DeviceIx, now: Nanos) {
        self.with(dev, |rule, device| device.set(rule.late(device.pace, now)));
    }

    /// Takes a hedge off the budget, if there is one.
    pub(crate) fn may_hedge(&self) -> bool {
        let mut budget = self.budget.get();
        let may = self.rule.spend(&mut budget);
        self.budget.set(budget);
        may
    }

    fn is_slow(&self, dev: DeviceIx) -> bool {
        self.devices.borrow().get(usize::from(dev.0)).is_some_and(|device| device.pace.slow)
    }
}

/// When a read of so many blocks is late, where one of few is so `after`.
fn scaled(after: Nanos, blocks: u64) -> Nanos {
    after * blocks.div_ceil(TELLING_BLOCKS).max(1)
}

impl Reactor {
    /// After how long a read of `blocks` from a device of this group is late.
    pub(crate) fn late_after(&self, group: GroupId, dev: DeviceIx, blocks: usize) -> Nanos {
        self.paces.budget.set(self.paces.rule.earn(self.paces.budget.get()));
        let due = self.paces.with(dev, |_, device| {
            device.until_refresh -= 1;
            device.until_refresh == 0
        });
        if due {
            self.refresh_late_after(group, dev);
        }
        self.paces.with(dev, |_, device| scaled(device.late_after, blocks as u64))
    }

    #[cold]
    fn refresh_late_after(&self, group: GroupId, dev: DeviceIx) {
        let width = self.shared.layout.geometry().width();
        let members = (0..width).map(|column| self.shared.layout.member(group, column));
        let devices = members.filter_map(|member| self.device_in_service(member));
        let mut p99: Vec<Nanos> =
            devices.filter_map(|dev| self.paces.with(dev, |_, device| device.reads.p99())).collect();
        self.paces.with(dev, |rule, device| {
            device.late_after = rule.late_after(&mut p99);
            device.until_refresh = REFRESH;
        });
    }

    /// Whether the blocks of a member of this group can be had without it and without waiting for another slow one.
    pub(crate) fn can_do_without(&self, group: GroupId, member: MemberIx) -> bool {
        let layout = &self.shared.layout;
        let poor = |&other: &MemberIx| {
            let state = &self.shared.members[other.index()];
            other == member || !state.is_online() || state.device().is_none_or(|dev| self.paces.is_slow(dev))
        };
        let width = layout.geometry().width();
        let poor = (0..width).map(|column| layout.member(group, column)).filter(poor).count();
        poor <= usize::from(layout.geometry().parity)
    }

    /// Whether a device is slow by its reads.
    pub(crate) fn is_slow(&self, dev: DeviceIx) -> bool {
        self.paces.is_slow(dev)
    }

    /// Whether a read should leave this member alone because it is slow.
    pub(crate) fn leaves_alone(&self, group: GroupId, member: MemberIx, dev: DeviceIx) -> bool {
        self.paces.is_slow(dev) && self.can_do_without(group, member)
    }

    /// Reads a run from a slow member, for nobody, if it is time to see whether it is still slow.
    pub(crate) fn probe(&self, dev: DeviceIx, offset: u64, blocks: usize) {
        let now = self.rt.now();
        if self.paces.with(dev, |rule, device| rule.probe(&mut device.pace, now)) {
            let buf = self.rt.alloc(blocks * BLOCK);
            drop(self.rt.read(dev, offset, buf.full()));
        }
    }

    /// How a member keeps pace; nothing if it is out of service.
    pub(crate) fn member_pace(&self, member: MemberIx) -> MemberPace {
        let Some(dev) = self.device_in_service(member) else { return MemberPace::default() };
        self.paces.with(dev, |_, device| MemberPace {
            slow: device.pace.slow,
            read_mean: device.reads.mean(),
            read_p99: device.reads.percentile(990),
            write_p99: device.writes.percentile(990),
            late_after: device.late_after,
        })
    }

    /// How often a member's device has become slow, whether or not it is in service now.
    pub(crate) fn turned_slow(&self, member: MemberIx) -> u64 {
        let dev = self.shared.members[member.index()].known_device();
        dev.map_or(0, |dev| self.paces.with(dev, |_, device| device.turned_slow))
    }
}

impl DeviceWatch for Reactor {
    fn ended(&self, io: DeviceIo, took: Nanos, ok: bool) {
        if ok {
            self.paces.ended(io, took, self.rt.now());
        }
    }

    fn hung(&self, dev: DeviceIx) {
        let members = (0..).map(MemberIx).zip(self.shared.members.iter());
        let concerned = |state: &MemberShared| [state.known_device(), state.successor()].contains(&Some(dev));
        for (member, state) in members.filter(|(_, state)| concerned(state)) {
            if state.known_device() == Some(dev) {
                count(&state.counters.read_errors, 1);
            }
            let why = format!("it hangs: no answer for {}", self.rt.patience());
            self.take_out(member, dev, Departure::Failed, &why);
            self.peers.tell_others(self, || ToOwner::GiveUp { dev });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(blocks: u32) -> DeviceIo {
        DeviceIo { dev: DeviceIx(3), class: IoClass::Read, bytes: blocks * BLOCK as u32 }
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
