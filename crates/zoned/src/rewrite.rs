//! A zone that is rewritten with its patches in their places: what is done where the area for patches is full.
//!
//! All that the zone holds goes to a place behind the area, durably; then a record says so; then the zone is reset and written from there.
//! Whoever finds the record after a power cut, or after an error, does the latter again. Reads of the zone wait until it is done.

use std::ops::Range;

use cygnus_runtime::{BufSlice, Extra, IoError, IoErrorKind, Runtime, either};
use cygnus_types::BLOCK;

use crate::device::ZonedDevice;
use crate::patch::SwapRecord;
use crate::pieces::{bytes, part};
use crate::table::{Once, Pointer, Table};
use crate::turn::{POLL, Turn};

/// Blocks that are copied at once.
const AT_ONCE: u64 = 256;

/// A zone is being rewritten, and no other one.
struct Rewriting<'a> {
    device: &'a ZonedDevice,
    zone: u32,
}

impl Drop for Rewriting<'_> {
    fn drop(&mut self) {
        let mut table = self.device.zoned().table();
        table.zone(self.zone).is_rewritten = false;
        table.swap_taken = false;
        drop(table);
        self.device.changed().notify();
    }
}

impl ZonedDevice {
    /// Rewrites a zone that goes on at a pointer, with new contents of some blocks before that. The caller has the zone's turn.
    pub(crate) async fn rewrite(
        &self,
        rt: &Runtime,
        zone: u32,
        pointer: u64,
        new: Range<u64>,
        buf: &BufSlice,
    ) -> Result<(), IoError> {
        self.make_area(rt).await?;
        self.wait_until(rt, |table| !std::mem::replace(&mut table.swap_taken, true)).await;
        let _rewriting = Rewriting { device: self, zone };
        let opening = {
            let mut table = self.zoned().table();
            if (table.loaded, table.made) != (Once::Done, Once::Done) {
                // Opened anew since the caller looked: which patches there are is not known.
                return Err(IoError::new(IoErrorKind::Gone));
            }
            table.zone(zone).is_rewritten = true;
            table.opening
        };
        self.wait_until(rt, |table| table.zone(zone).readers == 0).await;
        let end = self.end_with_patches(zone, pointer);
        self.copy_to_swap(rt, zone, pointer..end, new, buf).await?;
        // Was it opened anew meanwhile, the copy may lack patches: nothing is to say that it counts.
        self.is_still(opening)?;
        let record = SwapRecord { zone, blocks: end - self.zoned().shape.blocks_of(zone).start };
        let secret = self.zoned().table().secret;
        let mut block = rt.alloc(BLOCK);
        record.encode_into(&secret, block.bytes_mut());
        let written = match self.write_records(rt, block.full()).await {
            Ok(()) => self.restore(rt, record, opening).await,
            failed => failed,
        };
        if written.is_err() {
            // The record may be there: whoever comes next looks, and does what it says.
            let mut table = self.zoned().table();
            if table.opening == opening {
                table.loaded = Once::Not;
            }
        }
        written
    }

    /// Waits until the table is as wanted.
    async fn wait_until(&self, rt: &Runtime, mut is_so: impl FnMut(&mut Table) -> bool) {
        loop {
            let changed = self.changed().wait();
            if is_so(&mut self.zoned().table()) {
                return;
            }
            either(changed, rt.sleep(POLL)).await;
        }
    }

    /// Where the contents of a zone end that goes on at a pointer: a device that lost its cache may have kept patches of what it has
    /// no more. They are read, so they go into the zone too.
    fn end_with_patches(&self, zone: u32, pointer: u64) -> u64 {
        let blocks = self.zoned().shape.blocks_of(zone);
        let last = self.zoned().table().patches.within(blocks).last();
        last.map_or(pointer, |(block, _)| pointer.max(block + 1))
    }

    /// Has what a zone holds behind the area too, durably: up to the start of `behind`, its pointer, what is written, and from there to
    /// its end zeros and patches.
    async fn copy_to_swap(
        &self,
        rt: &Runtime,
        zone: u32,
        behind: Range<u64>,
        new: Range<u64>,
        buf: &BufSlice,
    ) -> Result<(), IoError> {
        let shape = &self.zoned().shape;
        let (start, swap) = (shape.blocks_of(zone).start, shape.swap.start);
        let turn = Turn::join(self, rt, shape.zone_of(swap));
        turn.come(rt).await;
        if shape.swap_is_sequential() {
            self.ask(rt, Extra::Reset { zone: turn.zone }).await?;
        }
        let mut at = start;
        while at < behind.end {
            let piece = at..behind.end.min(at + AT_ONCE);
            let copy = rt.alloc(bytes(piece.end - piece.start)).full();
            self.read_readable(rt, piece.clone(), &copy, behind.start).await?;
            let changed = piece.start.max(new.start)..piece.end.min(new.end);
            if changed.start < changed.end {
                let to = (changed.start - piece.start) as usize * BLOCK;
                copy.copy_from(to, part(buf, &new, &changed).bytes());
            }
            self.write_beneath(rt, swap + (piece.start - start), copy).await?;
            at = piece.end;
        }
        self.flush_beneath(rt).await
    }

    /// A block that cannot be read is zeros: what it held is lost, and found to be so by whoever reads it.
    async fn read_readable(
        &self,
        rt: &Runtime,
        blocks: Range<u64>,
        buf: &BufSlice,
        pointer: u64,
    ) -> Result<(), IoError> {
        let pointers = [Pointer::At(pointer)];
        match self.read_blocks(rt, blocks.clone(), buf, &pointers).await {
            Err(error) if error.kind.is_of_range() => {}
            other => return other,
        }
        for block in blocks.clone() {
            let one = part(buf, &blocks, &(block..block + 1));
            match self.read_blocks(rt, block..block + 1, &one, &pointers).await {
                Err(error) if error.kind.is_of_range() => one.zero(0..BLOCK),
                other => other?,
            }
        }
        Ok(())
    }
}
