//! Members that are slower than the others of their group: what reads do about them, and how it shows.

use std::rc::Rc;

use cygnus_format::Place;
use cygnus_policy::{Lag, LatencyHistogram};
use cygnus_runtime::{DeviceIo, DeviceIx, DeviceWatch, IoError};
use cygnus_types::{BLOCK, GroupId, MemberIx, Nanos};

use crate::autonomics::marks::Marks;
use crate::autonomics::sight::Sight;
use crate::care::trouble::Trouble;
use crate::counters::count;
use crate::peers::ToOwner;
use crate::reactor::Reactor;
use crate::read::pace::{DevicePace, MemberPace, REFRESH, scaled};

/// A reactor that was kept from running for so long says so. A busy machine does less than that every day.
pub(crate) const TELLING_STALL: Nanos = Nanos::secs(1);

/// A slow member is tried this often though no client reads.
const TRIED_AT_REST: Nanos = Nanos::secs(1);

/// What is read then: a superblock, which every member has. Of a block never written, a drive need not ask its flash.
const TRIED_BY: u64 = 0;

impl DeviceWatch for Reactor {
    fn ended(self: Rc<Self>, io: DeviceIo, took: Nanos, result: Result<(), IoError>) {
        match result {
            Ok(()) => {
                if self.paces.ended(io, took, self.rt.now()) {
                    try_at_rest(&self, io.dev);
                }
                if let (Some(sight), Some(marks)) = (&self.sight, &self.shared.marks) {
                    note_contention(&self, sight, marks, io, took);
                }
            }
            Err(error) => self.io_failed(io.dev, io.class, error),
        }
    }

    fn hung(&self, io: DeviceIo, waited: Nanos) {
        let dev = io.dev;
        self.note_trouble(dev, Trouble::Hung, &format!("it hangs: no answer to {} for {waited}", io.class.words()));
        self.peers.tell_others(&self.rt, || ToOwner::GiveUp { dev });
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

/// A read of a device is late.
pub(crate) fn note_late(reactor: &Rc<Reactor>, dev: DeviceIx) {
    if reactor.paces.late(dev, reactor.rt.now()) {
        try_at_rest(reactor, dev);
    }
}

/// Tries a device that has turned slow until it keeps pace again. Clients' reads do that too; but should they end, it would
/// pass for slow for as long as the array rests.
#[cold]
fn try_at_rest(reactor: &Rc<Reactor>, dev: DeviceIx) {
    if reactor.paces.with(dev, |_, device| std::mem::replace(&mut device.tried_at_rest, true)) {
        return;
    }
    let (rt, reactor) = (reactor.rt.clone(), Rc::downgrade(reactor));
    rt.clone().spawn(async move {
        loop {
            rt.sleep(TRIED_AT_REST).await;
            let Some(reactor) = reactor.upgrade() else { return };
            if !reactor.paces.is_slow(dev) {
                return reactor.paces.with(dev, |_, device| device.tried_at_rest = false);
            }
            let in_service = reactor.shared.members.iter().any(|member| member.device() == Some(dev));
            if in_service && !reactor.is_ending() {
                reactor.probe(dev, TRIED_BY, 1);
            }
        }
    });
}

/// What an operation that has ended tells of contention.
fn note_contention(reactor: &Reactor, sight: &Sight, marks: &Marks, io: DeviceIo, took: Nanos) {
    let now = reactor.rt.now();
    if sight.ended(marks, io, took, now) {
        let found = |dev, why: &str| {
            let named = reactor.shared.members.iter().find(|member| member.device() == Some(dev));
            if let Some(member) = named {
                reactor.shared.log(format!("new writes avoid the group of {}: {why}", member.name()));
            }
        };
        sight.look(marks, |dev| reactor.rt.load(dev), now, found);
    }
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
        let devices = self.shared.layout.members_of(group).filter_map(|member| self.device_in_service(member));
        let mut p99: Vec<Nanos> =
            devices.filter_map(|dev| self.paces.with(dev, |_, device| device.reads.p99())).collect();
        self.paces.with(dev, |rule, device| {
            device.late_after = rule.late_after(&mut p99);
            device.until_refresh = REFRESH;
        });
    }

    /// Whether what a member has at this place can be had without it and without waiting for another slow one.
    pub(crate) fn can_do_without(&self, place: &Place, member: MemberIx) -> bool {
        let layout = &self.shared.layout;
        let poor = |&other: &MemberIx| {
            let state = &self.shared.members[other.index()];
            other == member
                || !state.is_online()
                || !state.is_readable()
                || state.device().is_none_or(|dev| self.is_slow(dev))
        };
        let columns = self.columns_of(place);
        let poor = columns.physical_columns().map(|column| layout.member(place.group, column)).filter(poor).count();
        poor <= columns.losses()
    }

    /// Whether reads are better served without a device, if they can be: it is slow, or others are in their way there.
    pub(crate) fn is_slow(&self, dev: DeviceIx) -> bool {
        let is_burdened =
            |sight: &Sight, marks: &Marks| sight.is_burdened(marks, dev, &self.rt.load(dev), self.rt.now());
        self.paces.is_slow(dev)
            || self
                .sight
                .as_ref()
                .zip(self.shared.marks.as_ref())
                .is_some_and(|(sight, marks)| is_burdened(sight, marks))
    }

    /// Whether a read should leave this member alone because it is slow.
    pub(crate) fn leaves_alone(&self, place: &Place, member: MemberIx, dev: DeviceIx) -> bool {
        if self.paces.is_slow(dev) {
            return self.can_do_without(place, member);
        }
        let (Some(sight), Some(marks)) = (&self.sight, &self.shared.marks) else { return false };
        let goes_around = self.is_slow(dev) && self.can_do_without(place, member) && !sight.tries();
        count(&marks.counts.read_around, u64::from(goes_around));
        goes_around
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
        let peers = self.shared.layout.members_of(group).filter(|&other| other != member);
        let mut peers: Vec<Nanos> = peers.filter_map(|other| p99(self.device_in_service(other)?)).collect();
        self.paces.rule.lag(own, &mut peers)
    }

    /// How often a member's device has become slow, whether or not it is in service now.
    pub(crate) fn turned_slow(&self, member: MemberIx) -> u64 {
        let dev = self.shared.members[member.index()].known_device();
        dev.map_or(0, |dev| self.paces.with(dev, |_, device| device.turned_slow))
    }
}
