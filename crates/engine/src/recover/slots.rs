//! Superblock slots on devices: reading them all, and writing so that no power cut spoils both copies of one.

use std::rc::Rc;

use cygnus_format::{SUPERBLOCK_AREA, SUPERBLOCK_OFFSETS, SUPERBLOCK_SLOT, Slots, Superblock, copies_for, empty_slot};
use cygnus_runtime::{Buf, DeviceIx, IoError, Runtime};
use cygnus_types::{BLOCK, Uuid};

use crate::error::ArrayError;
use crate::read::parallel::for_each_of;

/// What could not be done to a device, and where.
#[derive(Debug)]
pub struct SlotError {
    /// "writing its superblock" or "a flush".
    pub doing: &'static str,
    /// Byte offset on the device.
    pub offset: u64,
    /// What it said.
    pub error: IoError,
}

impl SlotError {
    /// The error of the device of this name.
    pub fn of(self, device: &str) -> ArrayError {
        ArrayError::Io { device: device.into(), offset: self.offset, error: self.error }
    }
}

/// How often a range is asked for that a device says it cannot read. One that fails now and then must not pass for one that
/// has lost what was there: that stops an opening.
const ATTEMPTS: usize = 4;

async fn read(rt: &Runtime, dev: DeviceIx, offset: u64, len: usize) -> Result<Buf, IoError> {
    let buf = rt.alloc(len);
    for _ in 1..ATTEMPTS {
        match rt.read(dev, offset, buf.full()).await {
            Err(error) if error.kind.is_of_range() => {}
            Err(error) => return Err(error),
            Ok(_) => return Ok(buf),
        }
    }
    rt.read(dev, offset, buf.full()).await?;
    Ok(buf)
}

/// The superblock slots of a device as far as they can be read, and what kept it from being all of them. A copy that
/// cannot be read is zeros here, which is as good as none.
pub(crate) async fn read_head(rt: &Runtime, dev: DeviceIx) -> Result<(Buf, Option<IoError>), IoError> {
    let error = match read(rt, dev, 0, SUPERBLOCK_AREA as usize).await {
        Ok(head) => return Ok((head, None)),
        Err(error) if error.kind.is_of_range() => error,
        Err(error) => return Err(error),
    };
    let mut head = rt.alloc(SUPERBLOCK_AREA as usize);
    head.zero(0..SUPERBLOCK_AREA as usize);
    for at in SUPERBLOCK_OFFSETS.into_iter().flatten() {
        let unread = match read(rt, dev, at, SUPERBLOCK_SLOT as usize).await {
            Ok(slot) => {
                head.bytes_mut()[at as usize..(at + SUPERBLOCK_SLOT) as usize].copy_from_slice(slot.bytes());
                continue;
            }
            Err(error) => error,
        };
        if !unread.kind.is_of_range() {
            return Err(unread);
        }
        // It may be only behind the superblock that it cannot be read.
        read_blocks(rt, dev, at, &mut head).await?;
    }
    Ok((head, Some(error)))
}

/// The superblock of a copy alone, block by block up to the first that cannot be read.
async fn read_blocks(rt: &Runtime, dev: DeviceIx, at: u64, head: &mut Buf) -> Result<(), IoError> {
    for offset in (at..at + SUPERBLOCK_SLOT).step_by(BLOCK) {
        match read(rt, dev, offset, BLOCK).await {
            Ok(block) => head.bytes_mut()[offset as usize..offset as usize + BLOCK].copy_from_slice(block.bytes()),
            Err(error) if error.kind.is_of_range() => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The slots of a device, if it can be read and has a superblock.
pub(crate) async fn slots_of(rt: &Runtime, dev: DeviceIx) -> Option<Slots> {
    let (head, _) = read_head(rt, dev).await.ok()?;
    Slots::read(head.bytes()).ok()
}

/// Writes a superblock of one device, as it was encoded, to both copies of its generation's slot, and makes it durable.
///
/// # Errors
/// When the device did not take all of it: the next opening may find it, or not.
pub(crate) async fn write_superblock(
    rt: &Runtime,
    dev: DeviceIx,
    generation: u64,
    bytes: &[u8],
) -> Result<(), SlotError> {
    let mut buf = rt.alloc(bytes.len());
    buf.bytes_mut().copy_from_slice(bytes);
    let [first, second] = copies_for(generation);
    rt.write(dev, first, buf.full()).await.map_err(writing(first))?;
    // A single block is written whole or not at all; of several, a power cut could tear both copies.
    if bytes.len() > BLOCK {
        rt.flush(dev).await.map_err(flushing(first))?;
    }
    rt.write(dev, second, buf.full()).await.map_err(writing(second))?;
    rt.flush(dev).await.map_err(flushing(second))?;
    Ok(())
}

/// Writes superblocks of one generation to their devices, side by side, and makes them durable; tells of each device, in
/// their order, what [`write_superblock`] would.
pub async fn write_superblocks(
    rt: &Runtime,
    generation: u64,
    superblocks: Vec<(DeviceIx, Vec<u8>)>,
) -> Vec<Result<(), SlotError>> {
    let on = rt.clone();
    for_each_of(rt, superblocks.len(), superblocks, move |(dev, bytes)| {
        let rt = on.clone();
        async move { write_superblock(&rt, dev, generation, &bytes).await }
    })
    .await
}

/// Writes all slots anew as empty ones, and makes it durable: nothing older can be taken for newer, nor a slot to which nothing
/// was written for one that was lost.
///
/// # Errors
/// When the device does not take it.
pub(crate) async fn write_empty(rt: &Runtime, dev: DeviceIx) -> Result<(), SlotError> {
    let empty = empty_slot();
    clear(rt, dev, &empty).await
}

/// Writes zeros over all slots, and makes it durable: the device was never a member.
///
/// # Errors
/// When the device does not take it.
pub(crate) async fn write_zeros(rt: &Runtime, dev: DeviceIx) -> Result<(), SlotError> {
    clear(rt, dev, &[]).await
}

async fn clear(rt: &Runtime, dev: DeviceIx, begin: &[u8]) -> Result<(), SlotError> {
    let mut slot = rt.alloc(SUPERBLOCK_SLOT as usize);
    slot.bytes_mut().fill(0);
    slot.bytes_mut()[..begin.len()].copy_from_slice(begin);
    for offset in SUPERBLOCK_OFFSETS.into_iter().flatten() {
        rt.write(dev, offset, slot.full()).await.map_err(writing(offset))?;
    }
    rt.flush(dev).await.map_err(flushing(0)).map(drop)
}

fn writing(offset: u64) -> impl Fn(IoError) -> SlotError {
    move |error| SlotError { doing: "writing its superblock", offset, error }
}

fn flushing(offset: u64) -> impl Fn(IoError) -> SlotError {
    move |error| SlotError { doing: "a flush", offset, error }
}

/// A device on which a copy of a superblock is to be written anew.
#[derive(Clone, Debug)]
pub(crate) struct Mendable {
    pub dev: DeviceIx,
    /// Its name.
    pub name: Rc<str>,
    /// Offset of the copy that is good.
    pub from: u64,
    /// Offset of the one that is not.
    pub to: u64,
}

/// A device of which both copies of a slot are spoiled: it may have held the newest state.
#[derive(Clone, Debug)]
pub(crate) struct LostSlot {
    /// The device's.
    pub uuid: Uuid,
    /// The generation of the superblock in its other slot.
    pub other: u64,
    /// Where, and why it cannot be used.
    pub what: String,
}

/// Copies what a slot holds to its spoiled copy, so that the next update has one to rely on. What a device does not take
/// is written anew by the updates.
pub(crate) async fn mend(rt: &Runtime, mendable: &Mendable, log: impl Fn(String)) {
    let Mendable { dev, name, from, to } = mendable;
    let copied = async {
        let slot = read(rt, *dev, *from, SUPERBLOCK_SLOT as usize).await?;
        rt.write(*dev, *to, slot.full()).await?;
        rt.flush(*dev).await
    };
    match copied.await {
        Ok(_) => {
            log(format!("{name} at byte {to}: a spoiled copy of its superblock was written anew from the other one"))
        }
        Err(error) => {
            log(format!("{name} at byte {to}: a spoiled copy of its superblock could not be mended: {error}"))
        }
    }
}

/// The newest superblock of a device, if it can be read and has one.
pub(crate) async fn superblock_of(rt: &Runtime, dev: DeviceIx) -> Option<Superblock> {
    slots_of(rt, dev).await.map(|slots| slots.newest)
}

/// Segments of a device without a superblock in which a stripe header is looked for.
pub(crate) const PROBED: u32 = 64;
