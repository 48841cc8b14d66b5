//! An array that moves data and knows nothing but its devices.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

use cygnus_runtime::{BufSlice, DeviceIx, Rounds, Runtime};
use cygnus_types::BLOCK;

use crate::bad_places::BadPlaces;
use crate::care::Care;
use crate::core::Core;
use crate::counters::Counters;
use crate::device::Device;
use crate::error::RaidError;
use crate::layout::{Layout, Level};
use crate::stripes::Stripes;

/// An array that updates in place, on one reactor. Cheap to clone.
#[derive(Clone)]
pub struct Raid(pub(crate) Rc<Core>);

impl Raid {
    /// An array over `devices`, whose space begins at byte `start` of each. What lies there is taken as it is: new parity
    /// arrays need a [`Raid::resync`], unless all devices read as zeros.
    ///
    /// # Panics
    /// If the number of devices is not the layout's.
    pub fn new(rt: Runtime, devices: &[DeviceIx], start: u64, layout: Layout) -> Self {
        assert_eq!(devices.len(), layout.devices(), "devices and layout");
        Self(Rc::new(Core {
            rt,
            layout,
            devices: devices.iter().map(|&ix| Device::new(ix)).collect(),
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
