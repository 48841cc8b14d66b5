//! Reads of what is patched, or not written yet.

use std::ops::Range;

use cygnus_runtime::{BufSlice, IoError, OpFuture, Outcome, Runtime};
use cygnus_types::BLOCK;

use crate::device::ZonedDevice;
use crate::table::Pointer;
use crate::turn::Turn;
use crate::write::part;

impl ZonedDevice {
    /// Reads blocks: up to each zone's pointer from the device, zeros behind it, and over both what is patched.
    pub(crate) async fn read(&self, rt: &Runtime, blocks: Range<u64>, buf: BufSlice) -> Result<Outcome, IoError> {
        self.load(rt).await?;
        let mut reads = Vec::new();
        for piece in self.zoned().shape.pieces(blocks.clone()) {
            let end = match self.known_pointer(rt, self.zoned().shape.zone_of(piece.start)).await? {
                Pointer::At(pointer) => pointer.clamp(piece.start, piece.end),
                Pointer::Anywhere | Pointer::Unknown => piece.end,
            };
            let (written, beyond) = (piece.start..end, end..piece.end);
            if !written.is_empty() {
                reads.push(self.read_beneath(rt, written.start, part(&buf, &blocks, &written)));
            }
            let zeros = part(&buf, &blocks, &beyond);
            zeros.zero(0..zeros.len());
        }
        all(reads).await?;
        all(self.read_patches(rt, blocks, &buf)).await?;
        Ok(Outcome::Done)
    }

    /// Asks for what is patched of a range, run by run.
    fn read_patches(&self, rt: &Runtime, blocks: Range<u64>, buf: &BufSlice) -> Vec<OpFuture> {
        let patched: Vec<(u64, u64)> = self.zoned().table().patches.within(blocks.clone()).collect();
        let follows = |a: &(u64, u64), b: &(u64, u64)| b.0 == a.0 + 1 && b.1 == a.1 + 1;
        let read = |run: &[(u64, u64)]| {
            let (block, at) = run[0];
            self.read_beneath(rt, at, part(buf, &blocks, &(block..block + run.len() as u64)))
        };
        patched.chunk_by(follows).map(read).collect()
    }

    async fn known_pointer(&self, rt: &Runtime, zone: u32) -> Result<Pointer, IoError> {
        let known = self.zoned().table().zone(zone).pointer;
        if known != Pointer::Unknown {
            return Ok(known);
        }
        let turn = Turn::join(self, rt, zone);
        turn.come(rt).await;
        let pointer = self.pointer(rt, zone).await?;
        turn.close();
        Ok(pointer)
    }
}

/// Waits for all of them; the first error counts.
pub(crate) async fn all(ops: Vec<OpFuture>) -> Result<(), IoError> {
    let mut result = Ok(());
    for op in ops {
        result = result.and(op.await.map(drop));
    }
    result
}

/// Bytes of so many blocks.
pub(crate) const fn bytes(blocks: u64) -> usize {
    blocks as usize * BLOCK
}
