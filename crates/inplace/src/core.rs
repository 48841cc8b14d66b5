//! An array's devices and what is known of them: who is in service, who has what.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

use cygnus_engine::Trouble;
use cygnus_format::MemberState;
use cygnus_runtime::{DeviceIx, Rounds, Runtime};
use cygnus_types::Lba;

use crate::bad_places::{BadPlaces, Mended};
use crate::care::Care;
use crate::counters::{Counters, DeviceTraffic};
use crate::device::{Cache, Device, Slot};
use crate::error::RaidError;
use crate::layout::Layout;
use crate::ledger::Ledger;
use crate::lock::Ranges;
use crate::stripes::Stripes;

/// What moves data: devices, and what is known of them.
pub(crate) struct Core {
    pub rt: Runtime,
    pub layout: Layout,
    pub devices: Vec<Device>,
    /// Byte of each device where the array's space begins.
    pub start: u64,
    pub stripes: Stripes,
    pub ranges: Rc<Ranges>,
    pub counters: RefCell<Counters>,
    /// How often a device has left service.
    pub departures: Cell<u64>,
    pub flushing: Rounds<Result<(), RaidError>>,
    pub bad_places: BadPlaces,
    /// Members in trouble.
    pub care: Care,
    /// What makes it outlive this process; the baselines of the lab have none.
    pub ledger: OnceCell<Rc<Ledger>>,
}

impl Core {
    pub(crate) fn is_failed(&self, device: usize) -> bool {
        self.devices[device].failed.get()
    }

    /// Whether a device, in service or not, has not got what it should hold of a stripe.
    pub(crate) fn lacks(&self, device: usize, stripe: u64) -> bool {
        let device = &self.devices[device];
        device.failed.get() || stripe >= device.whole_below.get()
    }

    /// Whether a device is in service and whole.
    pub(crate) fn is_whole(&self, device: usize) -> bool {
        !self.lacks(device, u64::MAX - 1)
    }

    /// Whether the copies or the parity of a stripe may not fit its data.
    pub(crate) fn is_stale(&self, stripe: u64) -> bool {
        self.ledger.get().is_some_and(|ledger| ledger.is_stale(stripe))
    }

    pub(crate) fn slot(&self, device: usize) -> Slot {
        Slot { device, life: self.devices[device].life.get() }
    }

    pub(crate) fn device(&self, device: usize) -> &Device {
        &self.devices[device]
    }

    pub(crate) fn device_ix(&self, device: usize) -> DeviceIx {
        self.devices[device].ix.get()
    }

    /// Takes a device out of service, unless another one has its place already.
    pub(crate) fn fail(&self, slot: Slot) {
        self.leave(slot, MemberState::Failed);
    }

    /// The same because of trouble.
    pub(crate) fn fail_as(&self, slot: Slot, trouble: Trouble) {
        self.leave(slot, trouble.state());
    }

    fn leave(&self, slot: Slot, left_as: MemberState) {
        if !self.serves(slot) {
            return;
        }
        let device = &self.devices[slot.device];
        // What one lacks that was being filled is known only if the log has all of it.
        let in_log = left_as == MemberState::Missing && (device.in_log.get() || self.is_whole(slot.device));
        device.in_log.set(in_log);
        device.left_as.set(Some(left_as));
        device.failed.set(true);
        self.departures.set(self.departures.get() + 1);
        self.care.changed.notify();
    }

    /// Whether the write-intent log has to keep what somebody lacks.
    pub(crate) fn needs_log(&self) -> bool {
        (0..self.devices.len()).any(|device| self.devices[device].in_log.get() && !self.is_whole(device))
    }

    /// Gives a place to another device, or to one that is back, of whose stripes those below `whole_below` can be read. With
    /// `in_log` the others can be read too, but for what the write-intent log has marked.
    pub(crate) fn attach(&self, device: usize, ix: DeviceIx, whole_below: u64, in_log: bool) {
        self.rt.guard_length(ix);
        let device = &self.devices[device];
        device.trouble.set(None);
        device.cache.set(Cache::Sound);
        device.left_as.set(None);
        device.in_log.set(in_log);
        device.ix.set(ix);
        device.life.set(device.life.get() + 1);
        device.whole_below.set(whole_below);
        device.dirty.set(true);
        device.failed.set(false);
    }

    /// More stripes of a device that is being filled can be read.
    pub(crate) fn filled_below(&self, device: usize, stripe: u64) {
        self.devices[device].whole_below.set(stripe);
        if stripe == u64::MAX {
            self.devices[device].in_log.set(false);
        }
    }

    /// Whether every stripe can still be read.
    pub(crate) fn check_alive(&self) -> Result<(), RaidError> {
        let layout = &self.layout;
        let dead = |column| layout.copies(0, column).all(|device| !self.is_whole(device));
        let lost = match layout.level().parity() {
            0 => (0..layout.data_columns()).any(dead),
            parity => (0..layout.devices()).filter(|&device| !self.is_whole(device)).count() > parity,
        };
        if lost { Err(RaidError::Failed) } else { Ok(()) }
    }

    pub(crate) fn say(&self, line: &str) {
        if let Some(ledger) = self.ledger.get() {
            ledger.log.line(line);
        }
    }

    /// As [`Core::say`], to those who asked for no details too.
    pub(crate) fn warn(&self, text: &str) {
        if let Some(ledger) = self.ledger.get() {
            ledger.log.warning(text);
        }
    }

    /// Whether the device of this life is in service.
    pub(crate) fn serves(&self, slot: Slot) -> bool {
        self.slot(slot.device).life == slot.life && !self.is_failed(slot.device)
    }

    /// Changes whenever a device falls silent, answers again, or leaves: until then what was read is where it was read to.
    pub(crate) fn unrest(&self) -> u64 {
        self.departures.get() + self.care.silences()
    }

    fn is_silent(&self, device: usize) -> bool {
        self.device(device).trouble.get().is_some_and(|trouble| !trouble.is_readable())
    }

    /// Whether a device's part of a stripe is not to be had from it now.
    pub(crate) fn cannot_read(&self, device: usize, stripe: u64) -> bool {
        self.lacks(device, stripe) || self.is_silent(device)
    }

    /// Whether a column is better waited for than made from the others: its device is only silent, and parity may not fit.
    pub(crate) fn waits_rather(&self, stripe: u64, column: usize) -> bool {
        let device = self.layout.device(stripe, column);
        self.is_stale(stripe) && !self.is_failed(device) && self.is_silent(device)
    }

    /// Whether what was not delivered may only be away: somebody has stopped answering or begun again since there were
    /// `before` silences, or does not answer now. Nothing is to be concluded from such an answer.
    pub(crate) fn was_disturbed(&self, before: u64) -> bool {
        let silent = |device: usize| !self.is_failed(device) && self.is_silent(device);
        self.care.silences() != before || (0..self.layout.devices()).any(silent)
    }

    pub(crate) fn mended(&self, device: usize, result: &Mended) {
        self.note(device, |traffic| {
            traffic.mended += result.mended;
            traffic.lost += result.lost;
        });
    }

    pub(crate) fn note(&self, device: usize, change: impl FnOnce(&mut DeviceTraffic)) {
        let traffic = &self.devices[device].traffic;
        let mut now = traffic.get();
        change(&mut now);
        traffic.set(now);
    }

    /// Of several devices with the same data, the one with least reads on their way.
    pub(crate) fn idlest(&self, candidates: impl Iterator<Item = usize>) -> Option<usize> {
        candidates.min_by_key(|&device| self.devices[device].reading.get())
    }

    /// Counts a read of a device as long as the mark lives.
    pub(crate) fn reading(self: &Rc<Self>, device: usize) -> Reading {
        let count = &self.devices[device].reading;
        count.set(count.get() + 1);
        Reading { core: self.clone(), device }
    }

    pub(crate) fn unreadable(&self, stripe: u64, column: usize, row: u32) -> RaidError {
        RaidError::Unreadable(Lba(self.layout.block(stripe, column, row)))
    }
}

/// See [`Core::reading`].
pub(crate) struct Reading {
    core: Rc<Core>,
    device: usize,
}

impl Drop for Reading {
    fn drop(&mut self) {
        let count = &self.core.devices[self.device].reading;
        count.set(count.get() - 1);
    }
}
