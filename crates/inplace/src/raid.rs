//! The array as its users see it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use cygnus_runtime::{BufSlice, DeviceIx, IoError, IoErrorKind, OpFuture, Runtime};
use cygnus_types::{BLOCK, Lba};

use crate::error::RaidError;
use crate::layout::Layout;
use crate::stripes::Stripes;

/// What an array has done, in blocks of 4 KiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Written by users.
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
    /// Blocks of users' reads that came from parity.
    pub reconstructed: u64,
}

/// An array that updates in place, on one reactor. Cheap to clone.
#[derive(Clone)]
pub struct Raid(Rc<Core>);

pub(crate) struct Core {
    pub rt: Runtime,
    pub layout: Layout,
    devices: Vec<Device>,
    /// Byte of each device where the array's space begins.
    start: u64,
    pub stripes: Stripes,
    pub counters: RefCell<Counters>,
}

struct Device {
    ix: DeviceIx,
    failed: Cell<bool>,
    /// Written to since its last flush.
    dirty: Cell<bool>,
    /// Reads on their way, by which mirrors share the work.
    reading: Cell<u32>,
}

impl Raid {
    /// An array over `devices`, whose space begins at byte `start` of each. What lies there is taken as it is: new parity
    /// arrays need a [`Raid::resync`], unless all devices read as zeros.
    ///
    /// # Panics
    /// If the number of devices is not the layout's.
    pub fn new(rt: Runtime, devices: &[DeviceIx], start: u64, layout: Layout) -> Self {
        assert_eq!(devices.len(), layout.devices(), "devices and layout");
        let device = |&ix| Device { ix, failed: Cell::new(false), dirty: Cell::new(false), reading: Cell::new(0) };
        let devices = devices.iter().map(device).collect();
        Self(Rc::new(Core { rt, layout, devices, start, stripes: Stripes::default(), counters: RefCell::default() }))
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
        self.0.counters.borrow_mut().written += blocks;
        if self.0.layout.level().parity() == 0 {
            self.0.write_copies(first, blocks, data).await
        } else {
            self.0.write_striped(first, blocks, data).await
        }
    }

    /// Makes durable whatever was written before.
    ///
    /// # Errors
    /// [`RaidError::Failed`] when too many devices have failed to keep it.
    pub async fn flush(&self) -> Result<(), RaidError> {
        let core = &self.0;
        let dirty = |&device: &usize| !core.is_failed(device) && core.devices[device].dirty.replace(false);
        let flushes: Vec<_> =
            (0..core.devices.len()).filter(dirty).map(|d| (d, core.rt.flush(core.devices[d].ix))).collect();
        for (device, flush) in flushes {
            if flush.await.is_err() {
                // Whatever it has taken since its last flush may be lost.
                core.fail(device);
            }
        }
        core.check_alive()
    }

    /// Renews the parity of every stripe from its data, as after a crash. `progress` is called with the stripes done.
    ///
    /// # Errors
    /// [`RaidError::Unreadable`] when a block of a stripe cannot be read.
    pub async fn resync(&self, progress: impl Fn(u64)) -> Result<(), RaidError> {
        if self.0.layout.level().parity() == 0 {
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
    pub(crate) fn is_failed(&self, device: usize) -> bool {
        self.devices[device].failed.get()
    }

    /// Takes a device out of service.
    pub(crate) fn fail(&self, device: usize) {
        self.devices[device].failed.set(true);
    }

    /// Whether every stripe can still be read.
    pub(crate) fn check_alive(&self) -> Result<(), RaidError> {
        let layout = &self.layout;
        let dead = |column| layout.copies(0, column).all(|device| self.is_failed(device));
        let lost = match layout.level().parity() {
            0 => (0..layout.data_columns()).any(dead),
            parity => (0..layout.devices()).filter(|&device| self.is_failed(device)).count() > parity,
        };
        if lost { Err(RaidError::Failed) } else { Ok(()) }
    }

    /// Starts a read of rows of a stripe on a device.
    pub(crate) fn start_read(&self, device: usize, stripe: u64, row: u32, into: BufSlice) -> OpFuture {
        self.rt.read(self.devices[device].ix, self.start + self.layout.offset(stripe, row), into)
    }

    /// Starts a write of rows of a stripe on a device.
    pub(crate) fn start_write(&self, device: usize, stripe: u64, row: u32, data: BufSlice) -> OpFuture {
        self.counters.borrow_mut().device_written += (data.len() / BLOCK) as u64;
        self.devices[device].dirty.set(true);
        self.rt.write(self.devices[device].ix, self.start + self.layout.offset(stripe, row), data)
    }

    /// Waits for writes. A device that cannot write leaves service.
    pub(crate) async fn ended(&self, writes: Vec<(usize, OpFuture)>) -> Result<(), RaidError> {
        for (device, write) in writes {
            if write.await.is_err() {
                self.fail(device);
            }
        }
        self.check_alive()
    }

    /// Takes note of a failed read: a place that cannot be read is no reason to give up the whole device.
    pub(crate) fn read_failed(&self, device: usize, error: IoError) {
        if matches!(error.kind, IoErrorKind::Gone | IoErrorKind::Hung) {
            self.fail(device);
        }
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
