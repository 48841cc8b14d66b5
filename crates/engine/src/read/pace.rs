//! How the devices keep pace, as this reactor sees it, and what follows: which read is late, which member is left alone.
//!
//! The runtime tells how long every operation took ([`DeviceWatch`]); [`cygnus_policy::LatencyRule`] judges. Each reactor
//! judges by itself: what it sees is what its own readers wait for, and nothing need be shared on the way of a read.

use std::cell::{Cell, RefCell};

use cygnus_policy::{HedgeBudget, Lag, LatencyHistogram, LatencyRule, Pace};
use cygnus_runtime::{DeviceIo, DeviceIx, DeviceWatch, IoClass, IoError};
use cygnus_types::{BLOCK, GroupId, MemberIx, Nanos};

use crate::care::trouble::Trouble;
use crate::peers::ToOwner;
use crate::reactor::Reactor;

/// Reads up to this many blocks (64 KiB) tell how a device keeps pace; the time of longer ones tells of their length.
/// A longer read is late after as many times the time as it has times this length.
const TELLING_BLOCKS: u64 = 16;

/// A reactor that was kept from running for so long says so. A busy machine does less than that every day.
const TELLING_STALL: Nanos = Nanos::secs(1);

/// What makes a read late is computed anew after so many reads of a device.
const REFRESH: u8 = 64;

/// A device as its reactor sees it.
#[derive(Clone)]
struct DevicePace {
    reads: LatencyHistogram,
    writes: LatencyHistogram,
    flushes: LatencyHistogram,
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
    /// Its writes take far longer than those of the group's other members.
    pub write_lag: Option<Lag>,
    /// Its flushes do.
    pub flush_lag: Option<Lag>,
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
                flushes: LatencyHistogram::default(),
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
                if io.bytes <= TELLING_BLOCKS * BLOCK as u64 {
                    device.reads.record(took);
                }
                let blocks = io.bytes / BLOCK as u64;
                device.set(rule.ended(device.pace, took, scaled(device.late_after, blocks), now));
            }
            IoClass::Write => device.writes.record(took),
            IoClass::Flush => device.flushes.record(took),
            IoClass::Trim | IoClass::Reopen => {}
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
        let devices = self.members_of(group).filter_map(|member| self.device_in_service(member));
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
            other == member
                || !state.is_online()
                || !state.is_readable()
                || state.device().is_none_or(|dev| self.paces.is_slow(dev))
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
        let write_lag = self.lag(member, dev, |device| &device.writes);
        let flush_lag = self.lag(member, dev, |device| &device.flushes);
        self.paces.with(dev, |_, device| MemberPace {
            slow: device.pace.slow,
            read_mean: device.reads.mean(),
            read_p99: device.reads.percentile(990),
            write_p99: device.writes.percentile(990),
            late_after: device.late_after,
            write_lag,
            flush_lag,
        })
    }

    /// Whether a member lags behind the others of its group in this.
    fn lag(&self, member: MemberIx, dev: DeviceIx, of: impl Fn(&DevicePace) -> &LatencyHistogram) -> Option<Lag> {
        let p99 = |dev| self.paces.with(dev, |_, device| of(device).p99());
        let own = p99(dev)?;
        let (group, _) = self.shared.layout.column_of(member);
        let peers = self.members_of(group).filter(|&other| other != member);
        let mut peers: Vec<Nanos> = peers.filter_map(|other| p99(self.device_in_service(other)?)).collect();
        self.paces.rule.lag(own, &mut peers)
    }

    fn members_of(&self, group: GroupId) -> impl Iterator<Item = MemberIx> {
        let layout = &self.shared.layout;
        (0..layout.geometry().width()).map(move |column| layout.member(group, column))
    }

    /// How often a member's device has become slow, whether or not it is in service now.
    pub(crate) fn turned_slow(&self, member: MemberIx) -> u64 {
        let dev = self.shared.members[member.index()].known_device();
        dev.map_or(0, |dev| self.paces.with(dev, |_, device| device.turned_slow))
    }
}

impl DeviceWatch for Reactor {
    fn ended(&self, io: DeviceIo, took: Nanos, result: Result<(), IoError>) {
        match result {
            Ok(()) => self.paces.ended(io, took, self.rt.now()),
            Err(error) => self.io_failed(io.dev, io.class, error),
        }
    }

    fn hung(&self, io: DeviceIo, waited: Nanos) {
        let dev = io.dev;
        self.note_trouble(dev, Trouble::Hung, &format!("it hangs: no answer to {} for {waited}", io.class.words()));
        self.peers.tell_others(self, || ToOwner::GiveUp { dev });
    }

    fn stalled(&self, span: Nanos) {
        if span >= TELLING_STALL {
            self.shared.log(format!(
                "reactor {} did not run for {span}: the process was stopped, the machine paused or overloaded, or a system call \
                 did not return; no member is blamed for what took long meanwhile",
                self.rt.id().0
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(blocks: u32) -> DeviceIo {
        DeviceIo { dev: DeviceIx(3), class: IoClass::Read, bytes: u64::from(blocks) * BLOCK as u64 }
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
