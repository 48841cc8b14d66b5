//! A volume in memory, with switches for what a test wants to go wrong.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use cygnus_runtime::{BufSlice, Event};
use cygnus_target::{Export, Exports};
use cygnus_types::{Acknowledged, BLOCK, Lba, VolumeId};
use cygnus_volume::{BlockVolume, Extent, Terms, VolumeError};

/// Blocks looked at for extents in one go.
const LOOKS: usize = 1024;

#[derive(Default)]
pub struct Ram {
    bytes: RefCell<Vec<u8>>,
    /// Per block: whether it was ever written.
    mapped: RefCell<Vec<bool>>,
    pub flushes: Cell<u64>,
    /// Bytes of the longest read.
    pub longest_read: Cell<usize>,
    /// Writes that took the waiting path.
    pub slow_writes: Cell<u64>,
    /// Writes take the waiting path.
    pub slow: Cell<bool>,
    pub full: Cell<bool>,
    pub gone: Cell<bool>,
    /// Reads of this block fail.
    pub bad: Cell<Option<Lba>>,
    /// Reads wait at the gate until it is opened.
    pub shut: Cell<bool>,
    pub gate: Event,
    /// So do flushes.
    pub flushes_wait: Cell<bool>,
    /// Writes of the waiting path wait at the gate, too.
    pub writes_wait: Cell<bool>,
    /// Where a write is when it is answered; beyond memory answers wait at the gate while flushes do.
    pub level: Cell<Acknowledged>,
    /// Waits for answers.
    pub waits: Cell<u64>,
    shrink_to: Cell<Option<usize>>,
}

#[derive(Clone)]
pub struct RamVolume(pub Rc<Ram>);

impl RamVolume {
    pub fn new(size: usize) -> RamVolume {
        let (bytes, mapped) = (RefCell::new(vec![0; size]), RefCell::new(vec![false; size.div_ceil(BLOCK)]));
        RamVolume(Rc::new(Ram { bytes, mapped, ..Ram::default() }))
    }

    /// What the volume holds.
    pub fn contents(&self) -> Vec<u8> {
        self.0.bytes.borrow().clone()
    }

    /// Writes all of it, so that no page is touched for the first time later.
    pub fn fill(&self, byte: u8) {
        self.0.bytes.borrow_mut().fill(byte);
        self.0.mapped.borrow_mut().fill(true);
    }

    /// Resizes between the check of the next request and its execution.
    pub fn shrink_at_next_look(&self, size: usize) {
        self.0.shrink_to.set(Some(size));
    }

    pub fn resize(&self, size: usize) {
        self.0.bytes.borrow_mut().resize(size, 0);
        self.0.mapped.borrow_mut().resize(size.div_ceil(BLOCK), false);
    }

    pub fn open_gate(&self) {
        self.0.shut.set(false);
        self.0.writes_wait.set(false);
        self.0.flushes_wait.set(false);
        self.0.gate.notify();
    }

    fn store(&self, offset: u64, data: &[u8]) -> Result<(), VolumeError> {
        if self.0.gone.get() {
            return Err(VolumeError::Gone);
        }
        if self.0.full.get() {
            return Err(VolumeError::NoSpace);
        }
        if offset + data.len() as u64 > self.size() {
            return Err(VolumeError::OutOfRange);
        }
        let offset = offset as usize;
        self.0.bytes.borrow_mut()[offset..offset + data.len()].copy_from_slice(data);
        self.0.mapped.borrow_mut()[offset / BLOCK..(offset + data.len()).div_ceil(BLOCK)].fill(true);
        Ok(())
    }

    fn unmap(&self, offset: u64, len: u64) {
        let (first, end) = ((offset as usize).div_ceil(BLOCK), (offset + len) as usize / BLOCK);
        if first < end {
            self.0.mapped.borrow_mut()[first..end].fill(false);
            self.0.bytes.borrow_mut()[first * BLOCK..end * BLOCK].fill(0);
        }
    }
}

impl BlockVolume for RamVolume {
    fn name(&self) -> &str {
        "ram"
    }

    fn size(&self) -> u64 {
        self.0.bytes.borrow().len() as u64
    }

    fn acknowledged(&self) -> Acknowledged {
        self.0.level.get()
    }

    fn terms(&self) -> Option<Terms> {
        let level = self.0.level.get();
        (level != Acknowledged::Memory).then_some(Terms { level, lost: 0 })
    }

    async fn answerable(&self, _terms: Terms) -> Result<(), VolumeError> {
        self.0.waits.set(self.0.waits.get() + 1);
        while self.0.flushes_wait.get() {
            self.0.gate.wait().await;
        }
        if self.0.gone.get() { Err(VolumeError::Gone) } else { Ok(()) }
    }

    async fn read(&self, offset: u64, into: BufSlice) -> Result<BufSlice, VolumeError> {
        while self.0.shut.get() {
            self.0.gate.wait().await;
        }
        if self.0.gone.get() {
            return Err(VolumeError::Gone);
        }
        self.0.longest_read.set(self.0.longest_read.get().max(into.len()));
        let end = offset + into.len() as u64;
        if let Some(lba) = self.0.bad.get().filter(|lba| lba.byte_offset() < end && lba.plus(1).byte_offset() > offset)
        {
            return Err(VolumeError::Io { volume: VolumeId(1), lba });
        }
        if end > self.size() {
            return Err(VolumeError::OutOfRange);
        }
        into.copy_from(0, &self.0.bytes.borrow()[offset as usize..end as usize]);
        Ok(into)
    }

    fn try_write(&self, offset: u64, data: &[u8]) -> bool {
        !self.0.slow.get() && self.store(offset, data).is_ok()
    }

    async fn write(&self, offset: u64, data: BufSlice) -> Result<(), VolumeError> {
        self.0.slow_writes.set(self.0.slow_writes.get() + 1);
        while self.0.writes_wait.get() {
            self.0.gate.wait().await;
        }
        self.store(offset, data.bytes())
    }

    async fn flush(&self) -> Result<(), VolumeError> {
        self.0.flushes.set(self.0.flushes.get() + 1);
        while self.0.flushes_wait.get() {
            self.0.gate.wait().await;
        }
        if self.0.gone.get() { Err(VolumeError::Gone) } else { Ok(()) }
    }

    async fn trim(&self, offset: u64, len: u64) -> Result<(), VolumeError> {
        self.unmap(offset, len);
        Ok(())
    }

    async fn write_zeroes(&self, offset: u64, len: u64, no_hole: bool) -> Result<(), VolumeError> {
        self.store(offset, &vec![0; len as usize])?;
        if !no_hole {
            self.unmap(offset, len);
        }
        Ok(())
    }

    fn extents(&self, offset: u64, len: u64, max: usize) -> Vec<Extent> {
        if let Some(size) = self.0.shrink_to.take() {
            self.resize(size);
        }
        let (mapped, end) = (self.0.mapped.borrow(), (offset + len).min(self.size()));
        let (mut extents, mut at) = (Vec::<Extent>::new(), offset);
        for _ in 0..LOOKS {
            if at >= end {
                break;
            }
            let next = end.min((at / BLOCK as u64 + 1) * BLOCK as u64);
            let kind = mapped[at as usize / BLOCK];
            let full = extents.len() == max;
            match extents.last_mut() {
                Some(last) if last.mapped == kind => last.len += next - at,
                _ if full => break,
                _ => extents.push(Extent { len: next - at, mapped: kind }),
            }
            at = next;
        }
        extents
    }
}

/// A set of named volumes that tests change while the server runs.
#[derive(Clone, Default)]
pub struct Shelf(pub Rc<RefCell<Vec<(String, RamVolume)>>>);

impl Shelf {
    pub fn with(name: &str, volume: &RamVolume) -> Shelf {
        Shelf(Rc::new(RefCell::new(vec![(name.into(), volume.clone())])))
    }
}

impl Exports for Shelf {
    type Volume = RamVolume;

    fn list(&self) -> Vec<(String, String)> {
        self.0.borrow().iter().map(|(name, _)| (name.clone(), format!("volume {name}"))).collect()
    }

    fn open(&self, name: &str) -> Option<Export<RamVolume>> {
        let shelf = self.0.borrow();
        let (name, volume) = shelf.iter().find(|(have, _)| have == name || (name.is_empty() && shelf.len() == 1))?;
        Some(Export { name: name.clone(), description: format!("volume {name}"), volume: volume.clone(), tap: None })
    }
}
