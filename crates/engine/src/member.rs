//! A member device as the reactors see it: whether it is in service, where it is, and of which segments it has its
//! column.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, RwLock};

use cygnus_format::{MemberErrors, MemberState};
use cygnus_runtime::{DeviceInfo, DeviceIx, IoErrorKind};
use cygnus_types::SegmentId;

use crate::shared::{MemberCounters, read};

/// What may be done with a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Service {
    /// Neither read nor written.
    Out = 0,
    /// Gets all writes; is read where its column is whole.
    Filling = 1,
    /// Holds everything it should.
    Online = 2,
}

/// Why a member leaves service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Departure {
    /// The device is not there any more. What it holds is as good as ever, only old: it may come back.
    Gone,
    /// It could not do what was asked, so what it holds is in doubt until somebody says otherwise.
    Failed,
}

impl From<IoErrorKind> for Departure {
    fn from(kind: IoErrorKind) -> Self {
        if kind == IoErrorKind::Gone { Self::Gone } else { Self::Failed }
    }
}

/// Number that stands for "no device"; no device has it.
const NO_DEVICE: u32 = u32::MAX;

/// See the module's text.
pub(crate) struct MemberShared {
    name: RwLock<String>,
    service: AtomicU8,
    /// Whether it left because it was gone.
    gone: AtomicBool,
    /// Every stripe below this sequence was durable on it when it left.
    left_at: AtomicU64,
    device: AtomicU32,
    /// The device that is to take over from its own, and gets all that is written to that.
    successor: AtomicU32,
    /// One bit for each segment of its group: whether its column is whole, on the device that is being filled. Only looked
    /// at while one is: its own, or its successor.
    whole: Box<[AtomicU64]>,
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
        Self {
            name: RwLock::new(device.map_or_else(|| format!("member {index}"), |d| d.name.clone())),
            service: AtomicU8::new(service as u8),
            gone: AtomicBool::new(true),
            left_at: AtomicU64::new(had_below),
            device: AtomicU32::new(device.map_or(NO_DEVICE, |d| d.ix.0.into())),
            successor: AtomicU32::new(NO_DEVICE),
            whole: (0..segments.div_ceil(64)).map(|_| AtomicU64::new(0)).collect(),
            dirty: AtomicBool::new(false),
            counters: MemberCounters::default(),
            past: Mutex::new(past),
        }
    }

    /// Path of the device, or "member N" if it was never seen.
    pub(crate) fn name(&self) -> String {
        self.name.read().expect("no holder panics").clone()
    }

    /// Whether it holds everything it should.
    pub(crate) fn is_online(&self) -> bool {
        self.service.load(Ordering::Acquire) == Service::Online as u8
    }

    /// Whether it is being filled.
    pub(crate) fn is_filling(&self) -> bool {
        self.service.load(Ordering::Acquire) == Service::Filling as u8
    }

    /// Whether it has its column of a segment.
    #[inline]
    pub(crate) fn has(&self, segment: SegmentId) -> bool {
        match self.service.load(Ordering::Acquire) {
            service if service == Service::Online as u8 => true,
            service if service == Service::Filling as u8 => self.is_whole(segment),
            _ => false,
        }
    }

    /// Whether the device that is being filled in its place has its column of a segment.
    pub(crate) fn is_whole(&self, segment: SegmentId) -> bool {
        self.whole[segment.0 as usize / 64].load(Ordering::Acquire) & (1 << (segment.0 % 64)) != 0
    }

    /// Its column of a segment is whole from now on, or not any more.
    pub(crate) fn set_whole(&self, segment: SegmentId, whole: bool) {
        let (word, bit) = (&self.whole[segment.0 as usize / 64], 1 << (segment.0 % 64));
        if whole {
            word.fetch_or(bit, Ordering::AcqRel);
        } else {
            word.fetch_and(!bit, Ordering::AcqRel);
        }
    }

    /// The device, unless the member is out of service: for everything but reading what it holds.
    pub(crate) fn device(&self) -> Option<DeviceIx> {
        let out = self.service.load(Ordering::Acquire) == Service::Out as u8;
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
        self.gone.store(why == Departure::Gone, Ordering::Release);
        self.left_at.store(durable, Ordering::Release);
        self.service.swap(Service::Out as u8, Ordering::AcqRel) != Service::Out as u8
    }

    /// The state that the superblocks should give a member that is out of service, and the sequence below which it has
    /// everything if it was online before.
    pub(crate) fn departed(&self) -> Option<(MemberState, u64)> {
        let out = self.service.load(Ordering::Acquire) == Service::Out as u8;
        let state = if self.gone.load(Ordering::Acquire) { MemberState::Missing } else { MemberState::Failed };
        out.then(|| (state, self.left_at.load(Ordering::Acquire)))
    }

    /// From now on it gets all writes. Nothing counts as whole yet.
    pub(crate) fn begin_filling(&self, device: &DeviceInfo) {
        self.forget_whole();
        self.name.write().expect("no holder panics").clone_from(&device.name);
        self.device.store(device.ix.0.into(), Ordering::Release);
        self.service.store(Service::Filling as u8, Ordering::Release);
    }

    fn forget_whole(&self) {
        self.whole.iter().for_each(|word| word.store(0, Ordering::Release));
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
        if !self.is_online() || self.successor() != Some(successor.ix) {
            return None;
        }
        self.name.write().expect("no holder panics").clone_from(&successor.name);
        // Everybody looks for a successor first, and so finds the new device as the one or as the other.
        let was = self.device.swap(successor.ix.0.into(), Ordering::AcqRel);
        self.end_succession(successor.ix);
        device_of(was)
    }

    /// Everything was restored. `false` if it has left service meanwhile.
    pub(crate) fn end_filling(&self) -> bool {
        let (filling, online) = (Service::Filling as u8, Service::Online as u8);
        self.service.compare_exchange(filling, online, Ordering::AcqRel, Ordering::Acquire).is_ok()
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

    /// Its group has left the array, and it with it. Says which device it had.
    pub(crate) fn release(&self) -> Option<DeviceIx> {
        self.service.store(Service::Out as u8, Ordering::Release);
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
