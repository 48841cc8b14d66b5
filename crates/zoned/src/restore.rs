//! A zone gets what lies behind the area for patches; its patches go.

use std::ops::Range;

use cygnus_runtime::{BufSlice, Extra, IoError, Runtime};
use cygnus_types::BLOCK;

use crate::device::ZonedDevice;
use crate::patch::{FIXED, HEADERS, SwapRecord};
use crate::pieces::{all, bytes};
use crate::table::Pointer;

/// Blocks that are copied at once.
const AT_ONCE: u64 = 256;

impl ZonedDevice {
    /// Does what a record says: the zone gets what lies behind the area. Then there is no record, and no patch of the zone. Is the device
    /// opened anew meanwhile, it is for whoever did that to do so.
    pub(crate) async fn restore(&self, rt: &Runtime, record: SwapRecord, opening: u64) -> Result<(), IoError> {
        let SwapRecord { zone, blocks } = record;
        let (range, swap) = (self.zoned().shape.blocks_of(zone), self.zoned().shape.swap.start);
        self.zoned().table().zone(zone).pointer = Pointer::Unknown;
        self.is_still(opening)?;
        self.zoned().table().active.rewrites(Some(zone));
        self.ask(rt, Extra::Reset { zone }).await?;
        let mut done = 0;
        while done < blocks {
            self.is_still(opening)?;
            let piece = (blocks - done).min(AT_ONCE);
            let copy = rt.alloc(bytes(piece)).full();
            self.read_beneath(rt, swap + done, copy.clone()).await?;
            self.write_beneath(rt, range.start + done, copy).await?;
            done += piece;
        }
        self.flush_beneath(rt).await?;
        {
            let mut table = self.zoned().table();
            table.active.rewrites(None);
            if range.start + blocks == range.end {
                table.active.remove(zone);
            }
        }
        self.forget_patches(rt, &range).await?;
        let zeros = rt.alloc(BLOCK).full();
        zeros.zero(0..BLOCK);
        self.write_records(rt, zeros).await?;
        self.zoned().table().zone(zone).pointer = Pointer::At(range.start + blocks);
        Ok(())
    }

    /// Both copies of the record, durably.
    pub(crate) async fn write_records(&self, rt: &Runtime, block: BufSlice) -> Result<(), IoError> {
        let area = self.zoned().shape.patches.start;
        let copies = area + HEADERS..area + FIXED;
        all(copies.map(|at| self.write_beneath(rt, at, block.clone())).collect()).await?;
        self.flush_beneath(rt).await
    }

    /// Durably before the zone is: a patch that were found after its zone was written anew would hide what is there.
    pub(crate) async fn forget_patches(&self, rt: &Runtime, blocks: &Range<u64>) -> Result<(), IoError> {
        let descriptions = self.zoned().table().patches.descriptions_of(blocks);
        if descriptions.is_empty() {
            return Ok(());
        }
        let zeros = rt.alloc(BLOCK).full();
        zeros.zero(0..BLOCK);
        all(descriptions.iter().map(|&at| self.write_beneath(rt, at, zeros.clone())).collect()).await?;
        self.flush_beneath(rt).await?;
        self.zoned().table().patches.remove(&descriptions, blocks.clone());
        Ok(())
    }
}
