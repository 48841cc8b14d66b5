//! The array as its callers see it.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

use cygnus_engine::Trouble;
use cygnus_format::MemberState;
use cygnus_runtime::{BufSlice, DeviceIx, IoClass, IoError, OpFuture, Rounds, Runtime};
use cygnus_types::{BLOCK, Lba};

use crate::care::{Cache, Care, Due, Given};
use crate::error::RaidError;
use crate::layout::{Layout, Level};
use crate::ledger::Ledger;
use crate::lock::{Range, Ranges};
use crate::mend::{BadPlaces, Mended};
use crate::stripes::Stripes;

/// What an array has done, in blocks of 4 KiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Written by clients.
    pub written: u64,
    /// Written to devices, data and parity.
    pub device_written: u64,
    /// Read from devices in order to renew parity.
    pub read_for_parity: u64,
    /// Stripes, or parts of them, whose parity needed no reads.
    pub full: u64,
    /// Renewed by read-modify-write.
    pub read_modify: u64,
    /// Renewed by reconstruct-write.
    pub reconstruct: u64,
    /// Blocks of clients' reads that came from parity.
    pub reconstructed: u64,
}

/// An array that updates in place, on one reactor. Cheap to clone.
#[derive(Clone)]
pub struct Raid(pub(crate) Rc<Core>);

pub(crate) struct Core {
    pub rt: Runtime,
    pub layout: Layout,
    devices: Vec<Device>,
    /// Byte of each device where the array's space begins.
    start: u64,
    pub stripes: Stripes,
    pub ranges: Rc<Ranges>,
    pub counters: RefCell<Counters>,
    /// How often a device has left service.
    pub departures: Cell<u64>,
    flushing: Rounds<Result<(), RaidError>>,
    pub bad_places: BadPlaces,
    /// Members in trouble.
    pub care: Care,
    /// What makes it outlive this process; the baselines of the lab have none.
    pub ledger: OnceCell<Rc<Ledger>>,
}

pub(crate) struct Device {
    ix: Cell<DeviceIx>,
    /// Counts the devices that have had this place, so that what an earlier one fails to do is not blamed on a later one.
    life: Cell<u32>,
    failed: Cell<bool>,
    /// Path, for people.
    pub name: RefCell<String>,
    /// What is the matter with it; kept when it leaves service because of that.
    pub trouble: Cell<Option<Trouble>>,
    /// The same for people.
    pub why: RefCell<String>,
    /// The array cannot do without it and waits for it.
    pub awaited: Cell<bool>,
    /// It could leave, since others are back, unless it is back too when it is asked next.
    pub last_chance: Cell<bool>,
    /// How many operations wait to be given to it again.
    pub owed: Cell<u32>,
    /// Whether it has what it has taken since its last flush.
    pub cache: Cell<Cache>,
    /// What it became when it left service in this session.
    pub left_as: Cell<Option<MemberState>>,
    /// All that it lacks is marked in the write-intent log.
    pub in_log: Cell<bool>,
    /// Of the last superblock that it has taken.
    pub generation: Cell<u64>,
    /// Stripes below this one can be read: all of them, unless it is being filled.
    whole_below: Cell<u64>,
    /// Written to since its last flush.
    dirty: Cell<bool>,
    /// Reads on their way, by which mirrors share the work.
    reading: Cell<u32>,
    pub traffic: Cell<DeviceTraffic>,
}

impl Device {
    /// It has taken something that its next flush covers.
    pub(crate) fn note_write(&self) {
        self.dirty.set(true);
    }
}

/// What was done with a device, in bytes and requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceTraffic {
    /// Bytes read.
    pub read: u64,
    /// Bytes written.
    pub written: u64,
    /// Reads that failed.
    pub read_errors: u64,
    /// Writes and flushes that failed.
    pub write_errors: u64,
    /// Blocks that it could not read and that were written anew.
    pub mended: u64,
    /// Times that one of its blocks could not be read, and not be made from the others.
    pub lost: u64,
}

/// A device as it was when an operation was given to it.
#[derive(Clone, Copy)]
pub(crate) struct Slot {
    pub device: usize,
    pub life: u32,
}

impl Raid {
    /// An array over `devices`, whose space begins at byte `start` of each. What lies there is taken as it is: new parity
    /// arrays need a [`Raid::resync`], unless all devices read as zeros.
    ///
    /// # Panics
    /// If the number of devices is not the layout's.
    pub fn new(rt: Runtime, devices: &[DeviceIx], start: u64, layout: Layout) -> Self {
        assert_eq!(devices.len(), layout.devices(), "devices and layout");
        let device = |&ix| Device {
            ix: Cell::new(ix),
            life: Cell::new(0),
            failed: Cell::new(false),
            name: RefCell::default(),
            trouble: Cell::new(None),
            why: RefCell::default(),
            awaited: Cell::new(false),
            last_chance: Cell::new(false),
            owed: Cell::new(0),
            cache: Cell::default(),
            left_as: Cell::new(None),
            in_log: Cell::new(false),
            generation: Cell::new(0),
            whole_below: Cell::new(u64::MAX),
            dirty: Cell::new(false),
            reading: Cell::new(0),
            traffic: Cell::default(),
        };
        Self(Rc::new(Core {
            rt,
            layout,
            devices: devices.iter().map(device).collect(),
            start,
            stripes: Stripes::default(),
            ranges: Rc::default(),
            counters: RefCell::default(),
            departures: Cell::new(0),
            flushing: Rounds::default(),
            bad_places: BadPlaces::default(),
            care: Care::default(),
            ledger: OnceCell::new(),
        }))
    }

    /// Size in bytes.
    pub fn size(&self) -> u64 {
        self.0.layout.blocks() * BLOCK as u64
    }

    /// What it has done until now.
    pub fn counters(&self) -> Counters {
        *self.0.counters.borrow()
    }

    /// Devices, by number, that have failed.
    pub fn failed(&self) -> Vec<usize> {
        (0..self.0.devices.len()).filter(|&device| self.0.is_failed(device)).collect()
    }

    /// Reads whole blocks.
    ///
    /// # Errors
    /// [`RaidError::Unreadable`] with the first block that no combination of devices yields.
    pub async fn read(&self, offset: u64, into: BufSlice) -> Result<(), RaidError> {
        let (first, blocks) = self.blocks_of(offset, into.len() as u64)?;
        self.0.read(first, blocks, into).await
    }

    /// Writes whole blocks; when it returns they are on the devices, which may yet hold them in volatile caches.
    ///
    /// # Errors
    /// [`RaidError::Failed`] when too many devices have failed to keep what was written.
    pub async fn write(&self, offset: u64, data: BufSlice) -> Result<(), RaidError> {
        let (first, blocks) = self.blocks_of(offset, data.len() as u64)?;
        let alone = match self.0.layout.is_mirrored() {
            true => Some(self.0.ranges.take(first, blocks).await),
            // One device has each block, or the turn at a stripe keeps the order.
            false => None,
        };
        self.0.write(first, blocks, data, alone).await
    }

    /// Makes durable whatever was written before.
    ///
    /// # Errors
    /// [`RaidError::Failed`] when too many devices have failed to keep it.
    pub async fn flush(&self) -> Result<(), RaidError> {
        self.0.flush().await
    }

    /// Makes the copies or the parity of every stripe fit its data, as after a crash. `progress` is called with the
    /// stripes done.
    ///
    /// # Errors
    /// [`RaidError::Unreadable`] when a block of a stripe cannot be read.
    pub async fn resync(&self, progress: impl Fn(u64)) -> Result<(), RaidError> {
        if self.0.layout.level() == Level::Raid0 {
            return Ok(());
        }
        for stripe in 0..self.0.layout.stripes() {
            self.0.resync_stripe(stripe).await?;
            progress(stripe + 1);
        }
        Ok(())
    }

    fn blocks_of(&self, offset: u64, len: u64) -> Result<(u64, u64), RaidError> {
        let (end, size) = (offset.saturating_add(len), self.size());
        if !(offset | len).is_multiple_of(BLOCK as u64) {
            return Err(RaidError::Misaligned { offset, end });
        }
        if end > size {
            return Err(RaidError::OutOfRange { offset, end, size });
        }
        Ok((offset / BLOCK as u64, len / BLOCK as u64))
    }
}

impl Core {
    /// Writes blocks; nobody else may be at work on the range meanwhile, if the level needs that. It goes on to its end
    /// whatever becomes of the caller: what was begun on some devices and not on others, or while nothing says that it was
    /// begun, would be copies that differ for ever.
    pub(crate) async fn write(
        self: &Rc<Self>,
        first: u64,
        blocks: u64,
        data: BufSlice,
        alone: Option<Range>,
    ) -> Result<(), RaidError> {
        let core = self.clone();
        let write = async move {
            let _alone = alone;
            core.write_all(first, blocks, data).await
        };
        self.rt.carry_out(write).await
    }

    async fn write_all(self: &Rc<Self>, first: u64, blocks: u64, data: BufSlice) -> Result<(), RaidError> {
        self.counters.borrow_mut().written += blocks;
        let _intent = match self.ledger.get() {
            Some(ledger) => ledger.intend(self, first, blocks).await?,
            None => None,
        };
        if self.layout.level().parity() == 0 {
            self.write_copies(first, blocks, data).await?;
        } else {
            self.write_striped(first, blocks, data).await?;
        }
        self.settle().await
    }

    /// See [`Raid::flush`]. Whoever comes while one is under way may have written what that one does not cover, and must
    /// not return before the next has ended. A round goes on to its end whatever becomes of the callers: it takes the marks
    /// of what was written.
    pub(crate) async fn flush(self: &Rc<Self>) -> Result<(), RaidError> {
        self.flushing.next(&self.rt, || self.clone().flush_round()).await
    }

    async fn flush_round(self: Rc<Self>) -> Result<(), RaidError> {
        let dirty = |&device: &usize| !self.is_failed(device) && self.devices[device].dirty.replace(false);
        let flushes: Vec<_> = (0..self.devices.len()).filter(dirty).map(|d| self.give(d, Due::Flush)).collect();
        for flush in flushes {
            self.taken(flush).await?;
        }
        self.settle().await?;
        self.check_alive()
    }

    /// Nothing that a device missed may be answered before it is on record that the device is out of service: after a
    /// crash, what it holds would be taken for current.
    pub(crate) async fn settle(self: &Rc<Self>) -> Result<(), RaidError> {
        match self.ledger.get() {
            Some(ledger) => ledger.settle(self).await,
            None => Ok(()),
        }
    }

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

    /// Starts a read of rows of a stripe on a device.
    pub(crate) fn start_read(&self, device: usize, stripe: u64, row: u32, into: BufSlice) -> OpFuture {
        self.note(device, |traffic| traffic.read += into.len() as u64);
        self.rt.read(self.device_ix(device), self.start + self.layout.offset(stripe, row), into)
    }

    /// Starts a write of rows of a stripe on a device.
    pub(crate) fn start_write(&self, device: usize, stripe: u64, row: u32, data: BufSlice) -> Given {
        self.counters.borrow_mut().device_written += (data.len() / BLOCK) as u64;
        self.note(device, |traffic| traffic.written += data.len() as u64);
        self.give(device, Due::Write { offset: self.start + self.layout.offset(stripe, row), data })
    }

    /// Starts a trim of rows of a stripe on a device.
    pub(crate) fn start_trim(&self, device: usize, stripe: u64, row: u32, len: u64) -> OpFuture {
        self.rt.trim(self.device_ix(device), self.start + self.layout.offset(stripe, row), len)
    }

    /// Waits until devices have taken writes, or have left service.
    pub(crate) async fn ended(&self, writes: Vec<Given>) -> Result<(), RaidError> {
        for write in writes {
            let device = write.slot.device;
            if self.taken(write).await? {
                // Not before: a flush that began earlier does not cover it.
                self.devices[device].note_write();
            }
        }
        self.check_alive()
    }

    /// Takes note of a failed read: a place that cannot be read is no reason to give up the whole device, but is to be
    /// written anew.
    pub(crate) fn read_failed(&self, slot: Slot, stripe: u64, error: IoError) {
        self.note(slot.device, |traffic| traffic.read_errors += 1);
        if !error.kind.is_of_range() {
            self.undone(slot, IoClass::Read, error);
        } else if self.ledger.get().is_some_and(|ledger| ledger.intent().is_some()) {
            self.bad_places.note(stripe, slot.device);
        }
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
