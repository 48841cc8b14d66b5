//! Writes: where a zone goes on, beyond that, and before it.

use std::ops::Range;

use cygnus_runtime::{BufSlice, IoError, IoErrorKind, Outcome, Runtime};
use cygnus_types::BLOCK;

use crate::device::ZonedDevice;
use crate::patch::{MOST_BLOCKS, Patch};
use crate::pieces::part;
use crate::table::{Once, Pointer};
use crate::turn::Turn;

/// Most bytes of zeros that are written at once.
const PADDING: usize = 1 << 20;

impl ZonedDevice {
    /// Writes blocks, zone by zone, each in its turn.
    pub(crate) async fn write_anywhere(
        &self,
        rt: &Runtime,
        blocks: Range<u64>,
        buf: BufSlice,
        turns: Vec<Turn>,
    ) -> Result<Outcome, IoError> {
        self.load(rt).await?;
        let pieces = self.zoned().shape.pieces(blocks.clone());
        for (piece, turn) in pieces.zip(turns) {
            turn.come(rt).await;
            // Somebody may have left the zone to be restored.
            self.load(rt).await?;
            self.write_in_zone(rt, turn.zone, piece.clone(), part(&buf, &blocks, &piece)).await?;
            turn.close();
        }
        Ok(Outcome::Done)
    }

    async fn write_in_zone(&self, rt: &Runtime, zone: u32, blocks: Range<u64>, buf: BufSlice) -> Result<(), IoError> {
        let pointer = match self.pointer(rt, zone).await? {
            Pointer::At(pointer) => pointer,
            Pointer::Anywhere => return self.write_beneath(rt, blocks.start, buf).await.map(drop),
            Pointer::Unknown => unreachable!("the device has just been asked"),
        };
        let (before, behind) =
            (blocks.start..pointer.clamp(blocks.start, blocks.end), pointer.max(blocks.start)..blocks.end);
        if !behind.is_empty() {
            self.pad(rt, zone, pointer..behind.start).await?;
            self.append(rt, zone, behind.clone(), part(&buf, &blocks, &behind)).await?;
        }
        // Patches behind the pointer are of what a device has lost: they would hide what was just written.
        let is_hidden = !behind.is_empty() && self.zoned().table().patches.any_within(behind.clone());
        for patched in
            [Some(before), is_hidden.then_some(behind)].into_iter().flatten().filter(|range| !range.is_empty())
        {
            let new = part(&buf, &blocks, &patched);
            match self.patch(rt, patched.clone(), &new).await {
                Err(error) if error.kind == IoErrorKind::NoSpace => {
                    self.rewrite(rt, zone, pointer.max(blocks.end), patched, &new).await?;
                }
                other => other?,
            }
        }
        Ok(())
    }

    /// Writes where the zone goes on.
    async fn append(&self, rt: &Runtime, zone: u32, blocks: Range<u64>, buf: BufSlice) -> Result<(), IoError> {
        self.write_beneath(rt, blocks.start, buf).await?;
        self.zoned().table().zone(zone).pointer = Pointer::At(blocks.end);
        Ok(())
    }

    /// Zeros up to where something else is to be written.
    async fn pad(&self, rt: &Runtime, zone: u32, blocks: Range<u64>) -> Result<(), IoError> {
        let mut at = blocks.start;
        while at < blocks.end {
            let end = blocks.end.min(at + (PADDING / BLOCK) as u64);
            let zeros = rt.alloc((end - at) as usize * BLOCK).full();
            zeros.zero(0..zeros.len());
            self.append(rt, zone, at..end, zeros).await?;
            at = end;
        }
        Ok(())
    }

    /// Has blocks that lie before the pointer elsewhere from now on.
    async fn patch(&self, rt: &Runtime, blocks: Range<u64>, buf: &BufSlice) -> Result<(), IoError> {
        let mut at = blocks.start;
        while at < blocks.end {
            let piece = at..blocks.end.min(at + MOST_BLOCKS as u64);
            self.write_patch(rt, piece.start, part(buf, &blocks, &piece).bytes()).await?;
            at = piece.end;
        }
        Ok(())
    }

    async fn write_patch(&self, rt: &Runtime, first: u64, bytes: &[u8]) -> Result<(), IoError> {
        let (patch, secret, opening) = self.describe(rt, first, bytes).await?;
        let mut buf = rt.alloc(BLOCK + bytes.len());
        patch.encode_into(&secret, &mut buf.bytes_mut()[..BLOCK]);
        buf.write(BLOCK, bytes);
        let written = self.write_beneath(rt, patch.at, buf.full()).await;
        let mut table = self.zoned().table();
        if table.opening != opening {
            // What the device has now is being read, or was. Whoever wrote this writes it again.
            return Err(IoError::new(IoErrorKind::Gone));
        }
        match written {
            Ok(_) => table.patches.insert(&patch),
            // Part of it may be there, and is to go with its zone.
            Err(_) => table.patches.insert_unwritten(&patch),
        }
        written.map(drop)
    }

    /// The description of a patch that has its room, the area's secret, and the opening of the device in which this is so.
    async fn describe(&self, rt: &Runtime, first: u64, bytes: &[u8]) -> Result<(Patch, [u8; 16], u64), IoError> {
        loop {
            self.load(rt).await?;
            self.make_area(rt).await?;
            let mut table = self.zoned().table();
            if (table.loaded, table.made) == (Once::Done, Once::Done) {
                let count = (bytes.len() / BLOCK) as u64;
                let (at, sequence) = table.patches.take_room(count).ok_or(IoError::new(IoErrorKind::NoSpace))?;
                return Ok((Patch::of(sequence, at, first, bytes), table.secret, table.opening));
            }
        }
    }
}
