//! A volume as all reactors see it: its name and size, its controller, and what was lost of it.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use cygnus_format::VolumeDesc;
use cygnus_types::{Acknowledged, BLOCK, ByteSize, Constraint, Paging, VolumeId};

use crate::lsa::Controller;

/// What a volume may be made with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VolumeOptions {
    /// Where a write is when it is answered.
    pub acknowledged: Acknowledged,
    /// On which media its blocks may be.
    pub constraint: Constraint,
    /// For how many of its blocks the map has one entry.
    pub paging: Paging,
}

/// A volume as the reactors see it.
pub(crate) struct VolumeState {
    pub id: VolumeId,
    pub name: String,
    blocks: AtomicU64,
    gone: AtomicBool,
    acknowledged: AtomicU8,
    /// On which media its blocks may be.
    pub constraint: Constraint,
    /// For how many of its blocks the map has one entry.
    pub paging: Paging,
    /// Where its blocks are.
    pub controller: Controller,
    /// Blocks that were acknowledged and are lost with the caches of devices, since the array was opened.
    lost: AtomicU64,
    /// Of these, those that some flush has told of.
    told: AtomicU64,
}

impl VolumeState {
    pub(crate) fn new(desc: &VolumeDesc, controller: Controller) -> Self {
        Self {
            id: desc.id,
            name: desc.name.clone(),
            blocks: AtomicU64::new(desc.size_bytes / BLOCK as u64),
            gone: AtomicBool::new(false),
            acknowledged: AtomicU8::new(desc.acknowledged as u8),
            constraint: desc.constraint,
            paging: desc.paging,
            controller,
            lost: AtomicU64::new(0),
            told: AtomicU64::new(0),
        }
    }

    pub(crate) fn blocks(&self) -> u64 {
        self.blocks.load(Ordering::Relaxed)
    }

    pub(crate) fn size(&self) -> ByteSize {
        ByteSize(self.blocks() * BLOCK as u64)
    }

    pub(crate) fn set_size(&self, size: ByteSize) {
        self.blocks.store(size.0 / BLOCK as u64, Ordering::Relaxed);
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }

    pub(crate) fn set_gone(&self) {
        self.gone.store(true, Ordering::Relaxed);
    }

    /// Where a write is when it is answered.
    #[inline]
    pub(crate) fn acknowledged(&self) -> Acknowledged {
        Acknowledged::from_byte(self.acknowledged.load(Ordering::Acquire)).expect("only levels are stored")
    }

    pub(crate) fn set_acknowledged(&self, level: Acknowledged) {
        self.acknowledged.store(level as u8, Ordering::Release);
    }

    /// Blocks that were acknowledged and are lost with the caches of devices.
    pub(crate) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Acquire)
    }

    /// Counts more blocks that were acknowledged and are lost.
    pub(crate) fn loses(&self, blocks: u64) {
        self.lost.fetch_add(blocks, Ordering::AcqRel);
    }

    /// Of the blocks that are lost, those that some flush has told of: whoever comes later is not told of them.
    pub(crate) fn told(&self) -> u64 {
        self.told.load(Ordering::Acquire)
    }

    /// A flush tells of so many in all.
    pub(crate) fn tell_lost(&self, lost: u64) {
        self.told.fetch_max(lost, Ordering::AcqRel);
    }
}
