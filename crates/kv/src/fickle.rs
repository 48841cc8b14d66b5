//! A volume in memory that keeps, of what no flush has covered, whatever it likes: less orderly than an array is.

use std::cell::RefCell;
use std::rc::Rc;

use cygnus_runtime::BufSlice;
use cygnus_types::{Acknowledged, BLOCK, Rng};
use cygnus_volume::{BlockVolume, Extent, VolumeError};

struct Held {
    durable: Vec<u8>,
    now: Vec<u8>,
    /// Writes and trims until the power is cut.
    until_cut: Option<u64>,
    /// Writes until there is no space.
    until_full: Option<u64>,
    /// What is there after that cut.
    cut: Option<Vec<u8>>,
    rng: Rng,
}

impl Held {
    fn after_a_cut(&mut self) -> Vec<u8> {
        let mut left = self.durable.clone();
        for (old, new) in left.chunks_exact_mut(BLOCK).zip(self.now.chunks_exact(BLOCK)) {
            if old != new && self.rng.below(2) == 0 {
                old.copy_from_slice(new);
            }
        }
        left
    }
}

/// See the module's text. A clone is the same volume.
#[derive(Clone)]
pub(crate) struct Fickle(Rc<RefCell<Held>>);

impl Fickle {
    pub(crate) fn new(size: u64, seed: u64) -> Self {
        Self::holding(vec![0; size as usize], seed)
    }

    fn holding(bytes: Vec<u8>, seed: u64) -> Self {
        let held = Held {
            durable: bytes.clone(),
            now: bytes,
            until_cut: None,
            until_full: None,
            cut: None,
            rng: Rng::new(seed),
        };
        Self(Rc::new(RefCell::new(held)))
    }

    /// Cuts the power after one of the next so many writes and trims; what is done afterwards is not there.
    pub(crate) fn cut_within(&self, writes: u64) {
        let mut held = self.0.borrow_mut();
        held.until_cut = Some(held.rng.below(writes));
    }

    /// Has no space after so many writes, or has space again.
    pub(crate) fn full_after(&self, writes: Option<u64>) {
        self.0.borrow_mut().until_full = writes;
    }

    /// What is there after a power cut: the one that came, or else one now.
    pub(crate) fn after_a_cut(&self) -> Self {
        let mut held = self.0.borrow_mut();
        let left = held.cut.take().unwrap_or_else(|| held.after_a_cut());
        Self::holding(left, held.rng.next_u64())
    }

    fn put(&self, offset: u64, data: &[u8]) {
        let mut held = self.0.borrow_mut();
        held.now[offset as usize..][..data.len()].copy_from_slice(data);
        held.until_cut = match held.until_cut {
            Some(0) => {
                held.cut = Some(held.after_a_cut());
                None
            }
            left => left.map(|writes| writes - 1),
        };
    }
}

impl BlockVolume for Fickle {
    fn name(&self) -> &'static str {
        "fickle"
    }

    fn size(&self) -> u64 {
        self.0.borrow().now.len() as u64
    }

    fn acknowledged(&self) -> Acknowledged {
        Acknowledged::Memory
    }

    async fn read(&self, offset: u64, into: BufSlice) -> Result<BufSlice, VolumeError> {
        into.copy_from(0, &self.0.borrow().now[offset as usize..][..into.len()]);
        Ok(into)
    }

    fn try_write(&self, offset: u64, data: &[u8]) -> bool {
        self.put(offset, data);
        true
    }

    async fn write(&self, offset: u64, data: BufSlice) -> Result<(), VolumeError> {
        if let Some(writes) = &mut self.0.borrow_mut().until_full {
            *writes = writes.checked_sub(1).ok_or(VolumeError::NoSpace)?;
        }
        self.put(offset, data.bytes());
        Ok(())
    }

    async fn flush(&self) -> Result<(), VolumeError> {
        let mut held = self.0.borrow_mut();
        held.durable = held.now.clone();
        Ok(())
    }

    async fn trim(&self, offset: u64, len: u64) -> Result<(), VolumeError> {
        self.put(offset, &vec![0; len as usize]);
        Ok(())
    }

    async fn write_zeroes(&self, offset: u64, len: u64, _: bool) -> Result<(), VolumeError> {
        self.trim(offset, len).await
    }

    fn extents(&self, _: u64, len: u64, _: usize) -> Vec<Extent> {
        vec![Extent { len, mapped: true }]
    }
}
