//! Faults on purpose: what a test does to a device, and what it may ask about the truth.

use std::collections::BTreeSet;
use std::ops::Range;
use std::rc::Rc;

use cygnus_runtime::IoErrorKind;
use cygnus_types::{BLOCK, Nanos};

use crate::disk::DiskId;
use crate::faults::{FaultKind, FaultRates};
use crate::media::{Content, Media};
use crate::state::What;
use crate::world::World;
use crate::zones::ZoneTable;

/// All that a device held at some moment; for [`World::put_back`].
#[derive(Clone)]
pub struct Saved {
    media: Media,
    zones: Option<ZoneTable>,
    unreadable: BTreeSet<u64>,
}

impl World {
    /// Calls `watcher` in the moment in which an operation meets a fault. It must not touch the world.
    pub fn watch_faults(&self, watcher: impl Fn(FaultKind) + 'static) {
        self.0.borrow_mut().watcher = Some(Rc::new(watcher));
    }

    /// Changes what goes wrong by itself.
    pub fn set_faults(&self, disk: DiskId, faults: FaultRates) {
        self.with_disk(disk, |disk| disk.config.faults = faults);
    }

    /// Makes a byte range unreadable, in whole blocks, until it is written or trimmed.
    pub fn fail_reads(&self, disk: DiskId, range: Range<u64>) {
        let blocks = range.start / BLOCK as u64..range.end.div_ceil(BLOCK as u64);
        self.with_disk(disk, |disk| disk.unreadable.extend(blocks));
    }

    /// What could not be read can be again, and is as it was.
    pub fn read_again(&self, disk: DiskId) {
        self.with_disk(disk, |disk| disk.unreadable.clear());
    }

    /// Shortens the file that the device is, as `truncate` does; whoever has it open is not told.
    pub fn shorten(&self, disk: DiskId, bytes: u64) {
        let end = bytes / BLOCK as u64;
        self.with_disk(disk, |disk| {
            disk.length.end = Some(end);
            (end..disk.config.size / BLOCK as u64).for_each(|block| disk.store_durably(block, Content::Zeros));
        });
    }

    /// Flips one bit (0 to 7) of the byte at `offset`, silently.
    pub fn flip_bit(&self, disk: DiskId, offset: u64, bit: u8) {
        let (block, within) = (offset / BLOCK as u64, offset as usize % BLOCK);
        self.with_disk(disk, |disk| disk.damage(block, FaultKind::BitFlip, |bytes| bytes[within] ^= 1 << bit));
    }

    /// Flips a bit of what is beside each block, silently, where anything is. Says of how many blocks.
    pub fn flip_beside(&self, disk: DiskId, bit: usize) -> usize {
        self.with_disk(disk, |disk| {
            let blocks = 0..disk.config.size / BLOCK as u64;
            let flip = |beside: &mut [u8]| beside[bit / 8] ^= 1 << (bit % 8);
            blocks.filter(|&block| disk.media.damage_beside(block, FaultKind::BitFlip, flip)).count()
        })
    }

    /// From now on every write fails with `kind`, and stores nothing; `None`: writes work again.
    pub fn fail_writes(&self, disk: DiskId, kind: Option<IoErrorKind>) {
        self.with_disk(disk, |disk| disk.write_error = kind);
    }

    /// From now on everything is answered by `kind`, and nothing is done: a path that is lost, a file system below that has
    /// shut itself down. `None`: it works again.
    pub fn fail_everything(&self, disk: DiskId, kind: Option<IoErrorKind>) {
        self.with_disk(disk, |disk| disk.error = kind);
    }

    /// The file system below the device's backing file is full, or has space again.
    pub fn fill_up(&self, disk: DiskId, full: bool) {
        self.with_disk(disk, |disk| disk.full = full);
    }

    /// The device dies: everything in flight on it and everything later is answered by `Gone`.
    pub fn kill(&self, disk: DiskId) {
        self.with_disk(disk, |disk| disk.dead = true);
        self.release(disk);
    }

    /// The device loses its power, it alone: what no flush has covered survives block by block or not, as in a power cut. From
    /// then on it is dead; when it is revived, it has to be opened anew before it answers, as one that was plugged in again.
    pub fn lose_power_of(&self, disk: DiskId) {
        let mut state = self.0.borrow_mut();
        let mut rng = state.rng.fork();
        state.disks[disk.0 as usize].lose_cache(&mut rng);
        drop(state);
        self.release(disk);
    }

    /// A device that was dead works again, with what it held when it died.
    pub fn revive(&self, disk: DiskId) {
        self.with_disk(disk, |disk| disk.dead = false);
    }

    /// Multiplies the duration of everything the device does (1: as configured).
    pub fn slow_down(&self, disk: DiskId, factor: u64) {
        self.with_disk(disk, |disk| disk.slowness = factor);
    }

    /// Multiplies the duration of its writes and flushes in addition.
    pub fn slow_down_writes(&self, disk: DiskId, factor: u64) {
        self.with_disk(disk, |disk| disk.write_slowness = factor);
    }

    /// The device hangs: nothing completes until it is released, by [`World::release`] or after `span`.
    pub fn hang(&self, disk: DiskId, span: Option<Nanos>) {
        let mut state = self.0.borrow_mut();
        let hang = state.disks[disk.0 as usize].hang();
        if let Some(span) = span {
            let at = state.now + span;
            state.schedule(at, What::Release { disk, hang });
        }
    }

    /// A hung device goes on, with everything that waited.
    pub fn release(&self, disk: DiskId) {
        let mut state = self.0.borrow_mut();
        let hang = state.disks[disk.0 as usize].hangs();
        state.release(disk, hang);
    }

    /// Lets the device acknowledge flushes without doing them. No array can survive this; tests plant it as a bug.
    pub fn ignore_flushes(&self, disk: DiskId, ignore: bool) {
        self.with_disk(disk, |disk| disk.ignores_flushes = ignore);
    }

    /// A copy of all that the device holds now.
    pub fn save(&self, disk: DiskId) -> Saved {
        self.with_disk(disk, |disk| Saved {
            media: disk.media.clone(),
            zones: disk.zones.clone(),
            unreadable: disk.unreadable.clone(),
        })
    }

    /// The device holds again what it did when `saved` was made, durably.
    pub fn put_back(&self, disk: DiskId, saved: &Saved) {
        self.with_disk(disk, |disk| {
            let mut wrong = std::mem::take(&mut disk.media.wrong);
            for block in 0..disk.config.size / BLOCK as u64 {
                if disk.media.get(block) != saved.media.get(block) {
                    wrong.insert(block, FaultKind::StaleContent);
                }
            }
            disk.media = saved.media.clone();
            disk.media.wrong = wrong;
            disk.zones = saved.zones.clone();
            disk.harden(u64::MAX);
            disk.unreadable = saved.unreadable.clone();
        });
    }

    /// Whether the device holds anything else now than when `saved` was made.
    pub fn differs_from(&self, disk: DiskId, saved: &Saved) -> bool {
        self.with_disk(disk, |disk| {
            (0..disk.config.size / BLOCK as u64).any(|block| disk.media.get(block) != saved.media.get(block))
        })
    }

    /// Whether the device would deliver the block at `offset` as it was last written to it. Devices that die, lose
    /// writes or let bits flip do not; what a power cut takes back is not counted against a block.
    pub fn is_sound(&self, disk: DiskId, offset: u64) -> bool {
        let block = offset / BLOCK as u64;
        self.with_disk(disk, |disk| {
            !disk.dead && !disk.unreadable.contains(&block) && !disk.media.wrong.contains_key(&block)
        })
    }
}
