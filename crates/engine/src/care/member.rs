//! A member device as the reactors see it: whether it is in service, where it is, and of which segments it has its
//! column.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, RwLock};

use cygnus_format::{MAX_SEGMENTS, MemberErrors, MemberState};
use cygnus_runtime::{DeviceInfo, DeviceIx};
use cygnus_types::SegmentId;

use crate::care::service::{Service, ServiceWord};
use crate::care::trouble::Trouble;
use crate::counters::{MemberCounters, read};
use crate::space::grown::Grown;

/// Why a member is out of service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Departure {
    /// It was not there when the array was opened, or not believed.
    Absent,
    /// Its device did not do what it should.
    Trouble(Trouble),
    /// Somebody wanted it so.
    Dismissed,
}

impl Departure {
    const DISMISSED: u8 = u8::MAX;

    fn byte(self) -> u8 {
        match self {
            Self::Absent => 0,
            Self::Trouble(trouble) => trouble as u8,
            Self::Dismissed => Self::DISMISSED,
        }
    }

    fn of_byte(byte: u8) -> Self {
        match byte {
            Self::DISMISSED => Self::Dismissed,
            byte => Trouble::of_byte(byte).map_or(Self::Absent, Self::Trouble),
        }
    }

    /// The state that the superblocks should give the member.
    fn state(self) -> MemberState {
        match self {
            Self::Absent => MemberState::Missing,
            Self::Trouble(trouble) => trouble.state(),
            Self::Dismissed => MemberState::Failed,
        }
    }
}

/// Segments in a page of [`MemberShared::whole`].
const PAGE: u32 = 1 << 12;

/// Number that stands for "no device"; no device has it.
const NO_DEVICE: u32 = u32::MAX;

/// See the module's text.
pub(crate) struct MemberShared {
    name: RwLock<String>,
    service: ServiceWord,
    /// Why it left.
    departure: AtomicU8,
    /// What its device did not do while it is in service, in the lowest byte, 0 for nothing; and above it how often that has
    /// changed. One word, so that nobody who was refused something can find trouble neither there nor counted.
    trouble: AtomicU64,
    /// The same in words.
    why: Mutex<String>,
    /// It is in trouble, and the array waits for it; or it answers again, and may have lost what it had taken.
    awaited: AtomicBool,
    /// Columns in memory that it should have got.
    owed: AtomicU32,
    /// Every stripe below this sequence was durable on it when it left.
    left_at: AtomicU64,
    device: AtomicU32,
    /// The device that is to take over from its own, and gets all that is written to that.
    successor: AtomicU32,
    /// One bit for each segment of its group: whether its column is whole, on the device that is being filled. Only looked
    /// at while one is: its own, or its successor. In pages, for a group that comes later may have more segments.
    whole: Grown<Box<[AtomicU64]>>,
    dirty: AtomicBool,
    pub counters: MemberCounters,
    /// What its superblock remembers of the sessions before this one.
    past: Mutex<MemberErrors>,
}

impl MemberShared {
    /// A member of a group of `segments` segments, online if there is a device; if there is none, it had every stripe
    /// below `had_below` when it was last seen.
    pub(crate) fn new(
        index: usize,
        device: Option<&DeviceInfo>,
        segments: u32,
        had_below: u64,
        past: MemberErrors,
    ) -> Self {
        let service = if device.is_some() { Service::Online } else { Service::Out };
        let member = Self {
            name: RwLock::new(device.map_or_else(|| format!("member {index}"), |d| d.name.clone())),
            service: ServiceWord::new(service),
            departure: AtomicU8::new(Departure::Absent.byte()),
            trouble: AtomicU64::new(0),
            why: Mutex::default(),
            awaited: AtomicBool::new(false),
            owed: AtomicU32::new(0),
            left_at: AtomicU64::new(had_below),
            device: AtomicU32::new(device.map_or(NO_DEVICE, |d| d.ix.0.into())),
            successor: AtomicU32::new(NO_DEVICE),
            whole: Grown::new(MAX_SEGMENTS.div_ceil(PAGE) as usize, []),
            dirty: AtomicBool::new(false),
            counters: MemberCounters::default(),
            past: Mutex::new(past),
        };
        member.make_room(segments);
        member
    }

    fn make_room(&self, segments: u32) {
        while self.whole.len() < segments.div_ceil(PAGE) as usize {
            self.whole.push((0..PAGE / 64).map(|_| AtomicU64::new(0)).collect());
        }
    }

    /// Another group has got the number of the one that this member left with, and this device the member's number: as
    /// if it were new. Nobody looks at it any more.
    pub(crate) fn begin_anew(&self, device: &DeviceInfo, segments: u32, had_below: u64, had_read: u64) {
        assert!(self.known_device().is_none() && self.successor().is_none(), "its group has left");
        self.make_room(segments);
        self.forget_whole();
        self.name.write().expect("no holder panics").clone_from(&device.name);
        assert_eq!(self.owed.load(Ordering::Acquire), 0, "nobody writes to a group that has left");
        self.departure.store(Departure::Absent.byte(), Ordering::Release);
        self.end_trouble();
        self.awaited.store(false, Ordering::Release);
        self.left_at.store(had_below, Ordering::Release);
        self.dirty.store(false, Ordering::Release);
        self.counters.forget(had_read);
        *self.past.lock().expect("no holder panics") = MemberErrors::default();
        self.device.store(device.ix.0.into(), Ordering::Release);
        assert!(
            self.service.turn(|service| service == Service::Out, Service::Online),
            "it left service with its group"
        );
    }

    /// The word and the bit of a segment.
    fn bit(&self, segment: SegmentId) -> (&AtomicU64, u64) {
        let within = segment.0 % PAGE;
        (&self.whole[(segment.0 / PAGE) as usize][within as usize / 64], 1 << (within % 64))
    }

    /// Path of the device, or "member N" if it was never seen.
    pub(crate) fn name(&self) -> String {
        self.name.read().expect("no holder panics").clone()
    }

    /// Its device has come to another path.
    pub(crate) fn goes_by(&self, name: &str) {
        name.clone_into(&mut self.name.write().expect("no holder panics"));
    }

    /// How often what may be done with it has changed. Whoever has seen a change finds it counted here.
    pub(crate) fn changes(&self) -> u64 {
        self.service.changes()
    }

    /// Whether it holds everything it should.
    pub(crate) fn is_online(&self) -> bool {
        self.service.get() == Service::Online
    }

    /// Whether it is being filled.
    pub(crate) fn is_filling(&self) -> bool {
        self.service.get() == Service::Filling
    }

    /// Whether it has its column of a segment.
    #[inline]
    pub(crate) fn has(&self, segment: SegmentId) -> bool {
        match self.service.get() {
            Service::Online => true,
            Service::Filling => self.is_whole(segment),
            Service::Out => false,
        }
    }

    /// Whether the device that is being filled in its place has its column of a segment.
    pub(crate) fn is_whole(&self, segment: SegmentId) -> bool {
        let (word, bit) = self.bit(segment);
        word.load(Ordering::Acquire) & bit != 0
    }

    /// Its column of a segment is whole from now on, or not any more.
    pub(crate) fn set_whole(&self, segment: SegmentId, whole: bool) {
        let (word, bit) = self.bit(segment);
        if whole {
            word.fetch_or(bit, Ordering::AcqRel);
        } else {
            word.fetch_and(!bit, Ordering::AcqRel);
        }
    }

    /// The device, unless the member is out of service: for everything but reading what it holds.
    pub(crate) fn device(&self) -> Option<DeviceIx> {
        let out = self.service.get() == Service::Out;
        self.known_device().filter(|_| !out)
    }

    /// The device, in service or not.
    pub(crate) fn known_device(&self) -> Option<DeviceIx> {
        device_of(self.device.load(Ordering::Acquire))
    }

    /// The device that is to take over from its own, if one is being filled for that.
    pub(crate) fn successor(&self) -> Option<DeviceIx> {
        device_of(self.successor.load(Ordering::Acquire))
    }

    /// Whether a device is being filled in its place: a segment that begins now has its column there from the start.
    pub(crate) fn is_filled(&self) -> bool {
        self.is_filling() || self.successor().is_some()
    }

    /// Where its column is to be written: its own device, if that is in service, and the successor beside it.
    #[inline]
    pub(crate) fn devices_to_write(&self) -> impl Iterator<Item = DeviceIx> + use<> {
        // The successor first: whoever finds none because it has just taken over then finds it to be the device.
        let successor = self.successor();
        let own = self.device();
        own.into_iter().chain(successor.filter(|_| own.is_some() && own != successor))
    }

    /// Takes the member out of service; says whether it was in service before. `durable`: below this sequence it has
    /// every stripe durably; the caller found that out while the member was in service.
    pub(crate) fn leave(&self, why: Departure, durable: u64) -> bool {
        if self.device().is_none() {
            return false;
        }
        // First these, for whoever sees that it has left reads them.
        self.departure.store(why.byte(), Ordering::Release);
        self.left_at.store(durable, Ordering::Release);
        let left = self.service.turn(|service| service != Service::Out, Service::Out);
        self.end_trouble();
        self.set_awaited(false);
        left
    }

    /// Its device did not do what it should. Says whether that is news, for that trouble or a lesser one; `None`: it is out
    /// of service, and nothing is expected of it.
    pub(crate) fn begin_trouble(&self, trouble: Trouble, why: &str) -> Option<bool> {
        self.device()?;
        let was = self.change_trouble(|was| was.max(trouble as u8));
        if was < trouble as u8 {
            why.clone_into(&mut self.why.lock().expect("no holder panics"));
        }
        Some(was == 0)
    }

    /// From now on it gets what it should again, or nothing is expected of it any more.
    pub(crate) fn end_trouble(&self) {
        self.change_trouble(|_| 0);
    }

    /// Changes what its device did not do, and counts that if it is a change; returns what it was before.
    fn change_trouble(&self, change: impl Fn(u8) -> u8) -> u8 {
        let next = |word: u64| {
            let (was, changes) = (word as u8, word >> u8::BITS);
            let now = change(was);
            (now != was).then_some((changes + 1) << u8::BITS | u64::from(now))
        };
        match self.trouble.fetch_update(Ordering::AcqRel, Ordering::Acquire, next) {
            Ok(word) | Err(word) => word as u8,
        }
    }

    /// What its device did not do, while it is in service.
    #[inline]
    pub(crate) fn trouble(&self) -> Option<Trouble> {
        Trouble::of_byte(self.trouble.load(Ordering::Acquire) as u8)
    }

    /// The last trouble, in words.
    pub(crate) fn why(&self) -> String {
        self.why.lock().expect("no holder panics").clone()
    }

    /// Whether its device can be read, if it is in service.
    #[inline]
    pub(crate) fn is_readable(&self) -> bool {
        self.trouble().is_none_or(Trouble::is_readable)
    }

    /// How often it has fallen silent, or begun to answer again, or the like.
    pub(crate) fn silences(&self) -> u64 {
        self.trouble.load(Ordering::Acquire) >> u8::BITS
    }

    /// Whether the array waits for it, or does not know yet whether it has what it took before.
    pub(crate) fn is_awaited(&self) -> bool {
        self.awaited.load(Ordering::Acquire)
    }

    /// A change counts as one of what it answers: what was read of it meanwhile says nothing for sure.
    pub(crate) fn set_awaited(&self, awaited: bool) {
        if self.awaited.swap(awaited, Ordering::AcqRel) != awaited {
            self.trouble.fetch_add(1 << u8::BITS, Ordering::AcqRel);
        }
    }

    /// Columns in memory that it should have got.
    pub(crate) fn owed(&self) -> u32 {
        self.owed.load(Ordering::Acquire)
    }

    /// It is owed one column more.
    pub(crate) fn owe(&self) {
        self.owed.fetch_add(1, Ordering::AcqRel);
    }

    /// One column that it was owed is on its device, or not wanted there any more.
    pub(crate) fn settle(&self) {
        self.owed.fetch_sub(1, Ordering::AcqRel);
    }

    /// Why it is out of service.
    pub(crate) fn departure(&self) -> Departure {
        Departure::of_byte(self.departure.load(Ordering::Acquire))
    }

    /// The state that the superblocks should give a member that is out of service, and the sequence below which it has
    /// everything if it was online before.
    pub(crate) fn departed(&self) -> Option<(MemberState, u64)> {
        let out = self.service.get() == Service::Out;
        out.then(|| (self.departure().state(), self.left_at.load(Ordering::Acquire)))
    }

    /// From now on it gets all writes. Nothing counts as whole yet.
    pub(crate) fn begin_filling(&self, device: &DeviceInfo) {
        self.forget_whole();
        self.name.write().expect("no holder panics").clone_from(&device.name);
        self.device.store(device.ix.0.into(), Ordering::Release);
        self.end_trouble();
        self.service.turn(|_| true, Service::Filling);
    }

    fn forget_whole(&self) {
        self.whole.iter().flatten().for_each(|word| word.store(0, Ordering::Release));
    }

    /// From now on `dev` gets whatever is written to the member's device. Nothing counts as whole there yet.
    pub(crate) fn begin_succession(&self, dev: DeviceIx) {
        self.forget_whole();
        self.successor.store(dev.0.into(), Ordering::Release);
    }

    /// `dev` gets nothing beside the member's device any more; says whether it did.
    pub(crate) fn end_succession(&self, dev: DeviceIx) -> bool {
        self.successor.compare_exchange(dev.0.into(), NO_DEVICE, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// The successor takes over from the member's device, which is returned. `None` if either has failed meanwhile.
    pub(crate) fn succeed(&self, successor: &DeviceInfo) -> Option<DeviceIx> {
        if !self.is_online() || self.trouble().is_some() || self.successor() != Some(successor.ix) {
            return None;
        }
        self.name.write().expect("no holder panics").clone_from(&successor.name);
        // Everybody looks for a successor first, and so finds the new device as the one or as the other.
        let was = self.device.swap(successor.ix.0.into(), Ordering::AcqRel);
        self.end_succession(successor.ix);
        device_of(was)
    }

    /// Everything was restored. `false` if it has left service meanwhile, or is about to.
    pub(crate) fn end_filling(&self) -> bool {
        self.trouble().is_none() && self.service.turn(|service| service == Service::Filling, Service::Online)
    }

    /// What went wrong with its device since that joined the array, given how often it became slow in this session.
    pub(crate) fn errors(&self, turned_slow: u64) -> MemberErrors {
        let (past, now) = (*self.past.lock().expect("no holder panics"), &self.counters);
        let add = |past: u8, more: u64| (u64::from(past) + more).min(u8::MAX.into()) as u8;
        MemberErrors {
            read: add(past.read, read(&now.read_errors)),
            wrong: add(past.wrong, read(&now.corrupt) + read(&now.bad_parity)),
            slow: add(past.slow, turned_slow),
        }
    }

    /// Another device takes its place, with which nothing went wrong yet.
    pub(crate) fn forget_errors(&self) {
        *self.past.lock().expect("no holder panics") = MemberErrors::default();
        self.counters.forget_errors();
    }

    /// Its reads that failed since the array was opened count no more.
    pub(crate) fn forget_read_errors(&self) {
        self.counters.read_errors.store(0, Ordering::Relaxed);
    }

    /// Its group has left the array, and it with it. Says which device it had.
    pub(crate) fn release(&self) -> Option<DeviceIx> {
        assert!(self.successor().is_none(), "a drain ends before the group leaves");
        self.service.turn(|_| true, Service::Out);
        self.end_trouble();
        device_of(self.device.swap(NO_DEVICE, Ordering::AcqRel))
    }

    /// Something was written that a flush must cover.
    pub(crate) fn mark_dirty(&self) {
        self.dirty.store(true, Ordering::Release);
    }

    /// Whether anything was written since the last call.
    pub(crate) fn take_dirty(&self) -> bool {
        self.dirty.swap(false, Ordering::AcqRel)
    }
}

fn device_of(number: u32) -> Option<DeviceIx> {
    (number != NO_DEVICE).then_some(DeviceIx(number as u16))
}
