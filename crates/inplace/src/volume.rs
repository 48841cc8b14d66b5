//! A volume: a run of the array's space under a name, for requests of any alignment.

use std::pin::pin;
use std::rc::Rc;

use cygnus_engine::Suspended;
use cygnus_runtime::{Buf, BufSlice, Raced, either, race};
use cygnus_types::{BLOCK, Lba, Nanos, VolumeId};

use crate::error::RaidError;
use crate::inner::Inner;
use crate::layout::Level;
use crate::volume_state::VolumeState;

/// Most bytes that are zeroed or made up at a time.
const PIECE: u64 = 1 << 20;

/// Why a volume could not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VolumeError {
    /// The block cannot be delivered: too many of the devices that could restore it failed.
    #[error("volume {volume} {lba}: beyond redundancy: no combination of devices yields the block")]
    Unreadable {
        /// Which volume.
        volume: VolumeId,
        /// Which block.
        lba: Lba,
    },
    /// More members are in trouble than the level survives, and the request has waited for them as long as it may.
    #[error("the array waits for {waits_for}")]
    Suspended {
        /// For whom and why.
        waits_for: String,
    },
    /// More members have failed than the level survives.
    #[error("the array is read-only: more members have failed than its level survives")]
    ReadOnly,
    /// The request reaches past the end of the volume.
    #[error("bytes {offset}..{end} reach past the end of the volume")]
    OutOfRange {
        /// First byte asked for.
        offset: u64,
        /// End of the request.
        end: u64,
    },
    /// The volume was deleted, or the array closed.
    #[error("the volume is gone")]
    Gone,
}

/// An open volume. Cheap to clone.
#[derive(Clone)]
pub struct Volume {
    array: Rc<Inner>,
    state: Rc<VolumeState>,
}

/// The whole blocks around a range of bytes.
struct Around {
    first: u64,
    blocks: u64,
    /// Bytes of the first block in front of the range.
    skip: usize,
}

fn around(start: u64, len: u64) -> Around {
    let (first, end) = (start / BLOCK as u64, (start + len).div_ceil(BLOCK as u64));
    Around { first, blocks: end - first, skip: (start % BLOCK as u64) as usize }
}

impl Volume {
    pub(crate) fn new(array: Rc<Inner>, state: Rc<VolumeState>) -> Self {
        Self { array, state }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.state.name
    }

    /// Size in bytes.
    pub fn size(&self) -> u64 {
        self.state.size.get()
    }

    /// The place of a range in the array's space.
    fn place(&self, offset: u64, len: u64) -> Result<u64, VolumeError> {
        if self.state.gone.get() || self.array.closing.get() {
            return Err(VolumeError::Gone);
        }
        let end = offset.saturating_add(len);
        if end > self.size() {
            return Err(VolumeError::OutOfRange { offset, end });
        }
        Ok(self.state.start + offset)
    }

    fn error(&self, error: RaidError) -> VolumeError {
        match error {
            RaidError::Unreadable(Lba(block)) => {
                let lba = Lba(block.saturating_sub(self.state.start / BLOCK as u64));
                VolumeError::Unreadable { volume: self.state.id, lba }
            }
            RaidError::Suspended => self.array.suspended(),
            RaidError::Failed => VolumeError::ReadOnly,
            RaidError::Misaligned { .. } | RaidError::OutOfRange { .. } => {
                unreachable!("volumes lie in the array, and ask for whole blocks: {error}")
            }
        }
    }

    /// Reads as much as `into` takes from `offset`. Gives back where it is: `into`, or other memory if a device that hangs
    /// may still write to that.
    ///
    /// # Errors
    /// See [`VolumeError`].
    pub async fn read(&self, offset: u64, into: BufSlice) -> Result<BufSlice, VolumeError> {
        let start = self.place(offset, into.len() as u64)?;
        let core = self.array.core();
        let whole = (start | into.len() as u64).is_multiple_of(BLOCK as u64) && into.is_block_aligned();
        if !whole {
            return self.read_around(start, into.len()).await;
        }
        let unrest = core.unrest();
        self.array.raid.read(start, into.clone()).await.map_err(|error| self.error(error))?;
        match core.unrest() == unrest {
            true => Ok(into),
            false => self.read_around(start, into.len()).await,
        }
    }

    /// Reads into memory of its own, as often as devices fall silent meanwhile.
    async fn read_around(&self, start: u64, len: usize) -> Result<BufSlice, VolumeError> {
        let (core, around) = (self.array.core(), around(start, len as u64));
        loop {
            let unrest = core.unrest();
            let buf = self.read_blocks(&around).await?;
            if core.unrest() == unrest {
                return Ok(buf.slice(around.skip..around.skip + len));
            }
        }
    }

    async fn read_blocks(&self, around: &Around) -> Result<Buf, VolumeError> {
        let bytes = around.blocks as usize * BLOCK;
        let buf = self.array.rt.alloc(bytes);
        let into = buf.slice(0..bytes);
        let read = self.array.raid.read(around.first * BLOCK as u64, into).await;
        read.map_err(|error| self.error(error))?;
        Ok(buf)
    }

    /// Writes. Once this returns the data is on the devices, which may yet have it in volatile caches.
    ///
    /// # Errors
    /// See [`VolumeError`].
    pub async fn write(&self, offset: u64, data: BufSlice) -> Result<(), VolumeError> {
        let start = self.place(offset, data.len() as u64)?;
        if data.is_empty() {
            return Ok(());
        }
        self.array.unless_suspended(self.write_at(start, data)).await?
    }

    async fn write_at(&self, start: u64, data: BufSlice) -> Result<(), VolumeError> {
        let (core, around) = (self.array.core(), around(start, data.len() as u64));
        // Parts of one block are the volume's to put together, one after the other.
        let alone = core.ranges.take(around.first, around.blocks).await;
        let data = match (start | data.len() as u64).is_multiple_of(BLOCK as u64) && data.is_block_aligned() {
            true => data,
            false => self.completed(&around, &data).await?,
        };
        core.write(around.first, around.blocks, data, Some(alone)).await.map_err(|error| self.error(error))
    }

    /// The whole blocks that a write makes of what is there.
    async fn completed(&self, around: &Around, data: &BufSlice) -> Result<BufSlice, VolumeError> {
        let bytes = around.blocks as usize * BLOCK;
        let mut out = self.array.rt.alloc(bytes);
        let last = around.blocks - 1;
        let (head, tail) = (around.skip > 0, !(around.skip + data.len()).is_multiple_of(BLOCK));
        for block in [(head, 0), (tail && (last > 0 || !head), last)].into_iter().filter_map(|(is, n)| is.then_some(n))
        {
            let edge = self.read_around((around.first + block) * BLOCK as u64, BLOCK).await?;
            out.write(block as usize * BLOCK, edge.bytes());
        }
        out.write(around.skip, data.bytes());
        Ok(out.slice(0..bytes))
    }

    /// Makes durable whatever was written before.
    ///
    /// # Errors
    /// See [`VolumeError`].
    pub async fn flush(&self) -> Result<(), VolumeError> {
        self.place(0, 0)?;
        let flushed = self.array.unless_suspended(self.array.core().flush()).await?;
        flushed.map_err(|error| self.error(error))
    }

    /// Forgets a range. Only RAID-0 passes this on to the devices: what a trimmed device returns is undefined, and on two
    /// of them may differ, so copies and parity would not fit any more. The other levels keep the data.
    ///
    /// # Errors
    /// See [`VolumeError`].
    pub async fn trim(&self, offset: u64, len: u64) -> Result<(), VolumeError> {
        let start = self.place(offset, len)?;
        let core = self.array.core();
        let (first, end) = (start.div_ceil(BLOCK as u64), (start + len) / BLOCK as u64);
        if core.layout.level() != Level::Raid0 || first >= end {
            return Ok(());
        }
        let trim = async {
            let alone = core.ranges.take(first, end - first).await;
            core.trim(first, end - first, alone).await
        };
        self.array.unless_suspended(trim).await?.map_err(|error| self.error(error))
    }

    /// Makes a range read as zeros, by writing them.
    ///
    /// # Errors
    /// See [`VolumeError`].
    pub async fn write_zeroes(&self, offset: u64, len: u64) -> Result<(), VolumeError> {
        self.place(offset, len)?;
        let (mut at, end) = (offset, offset + len);
        let mut zeros = self.array.rt.alloc(PIECE.min(len.max(1)) as usize);
        zeros.zero(0..zeros.len());
        while at < end {
            // Whole pieces from the first boundary on.
            let piece = (PIECE - at % PIECE).min(end - at);
            self.write(at, zeros.slice(0..piece as usize)).await?;
            at += piece;
        }
        Ok(())
    }
}

impl Inner {
    fn suspended(&self) -> VolumeError {
        let waits_for = self.core().care.waits_for.borrow().as_ref().map_or_else(String::new, Suspended::words);
        VolumeError::Suspended { waits_for }
    }

    /// Waits for something that somebody's request needs, unless the array waits for members and the request has waited as
    /// long as it may. What was begun goes on then, in its order.
    async fn unless_suspended<T>(&self, work: impl Future<Output = T>) -> Result<T, VolumeError> {
        let (care, mut work) = (&self.core().care, pin!(work));
        loop {
            let changed = care.changed.wait();
            let fail_at = care.requests_fail_at();
            if self.rt.now() >= fail_at {
                return Err(self.suspended());
            }
            let limit = async {
                match fail_at {
                    Nanos::MAX => changed.await,
                    at => either(changed, self.rt.sleep_until(at)).await,
                }
            };
            if let Raced::First(done) = race(work.as_mut(), limit).await {
                return Ok(done);
            }
        }
    }

    /// Makes part of the array's space read as zeros. Bounds are whole blocks.
    pub(crate) async fn zero(&self, start: u64, end: u64) -> Result<(), RaidError> {
        let mut zeros = self.rt.alloc(PIECE as usize);
        zeros.zero(0..PIECE as usize);
        let mut at = start;
        while at < end {
            let piece = (end - at).min(PIECE);
            let (first, blocks) = (at / BLOCK as u64, piece / BLOCK as u64);
            let alone = self.core().ranges.take(first, blocks).await;
            self.core().write(first, blocks, zeros.slice(0..piece as usize), Some(alone)).await?;
            at += piece;
        }
        Ok(())
    }
}
