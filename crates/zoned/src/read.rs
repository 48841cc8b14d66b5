//! Reads of what is patched, or not written yet.

use std::ops::Range;

use cygnus_runtime::{BufSlice, IoError, OpFuture, Outcome, Runtime, either};

use crate::device::ZonedDevice;
use crate::pieces::{all, part};
use crate::table::{Once, Pointer};
use crate::turn::{POLL, Turn};

/// Reads of some zones are under way: nobody rewrites these meanwhile.
struct Readers<'a> {
    device: &'a ZonedDevice,
    zones: Range<u32>,
}

impl Drop for Readers<'_> {
    fn drop(&mut self) {
        let mut table = self.device.zoned().table();
        self.zones.clone().for_each(|zone| table.zone(zone).readers -= 1);
        drop(table);
        self.device.changed().notify();
    }
}

impl ZonedDevice {
    /// Reads blocks: up to each zone's pointer from the device, zeros behind it, and over both what is patched.
    pub(crate) async fn read_anywhere(
        &self,
        rt: &Runtime,
        blocks: Range<u64>,
        buf: BufSlice,
    ) -> Result<Outcome, IoError> {
        let shape = &self.zoned().shape;
        let zones = shape.zone_of(blocks.start)..shape.zone_of(blocks.end - 1) + 1;
        let (_readers, pointers) = self.begin_reading(rt, zones).await?;
        self.read_blocks(rt, blocks, &buf, &pointers).await?;
        Ok(Outcome::Done)
    }

    /// Waits until nobody rewrites these zones. From then on nobody will, and they go on at these pointers at least.
    async fn begin_reading(&self, rt: &Runtime, zones: Range<u32>) -> Result<(Readers<'_>, Vec<Pointer>), IoError> {
        loop {
            self.load(rt).await?;
            // Before anybody counts on this reader to end: for that a turn may be needed, which somebody has who rewrites the zone.
            for zone in zones.clone() {
                self.known_pointer(rt, zone).await?;
            }
            let changed = self.changed().wait();
            {
                let mut table = self.zoned().table();
                let pointers: Vec<Pointer> = zones.clone().map(|zone| table.zone(zone).pointer).collect();
                let is_free = zones.clone().all(|zone| !table.zone(zone).is_rewritten);
                if is_free && !pointers.contains(&Pointer::Unknown) && table.loaded == Once::Done {
                    zones.clone().for_each(|zone| table.zone(zone).readers += 1);
                    return Ok((Readers { device: self, zones }, pointers));
                }
            }
            either(changed, rt.sleep(POLL)).await;
        }
    }

    /// Reads blocks of zones that go on at these pointers, and that nobody rewrites meanwhile.
    pub(crate) async fn read_blocks(
        &self,
        rt: &Runtime,
        blocks: Range<u64>,
        buf: &BufSlice,
        pointers: &[Pointer],
    ) -> Result<(), IoError> {
        let mut reads = Vec::new();
        for (piece, pointer) in self.zoned().shape.pieces(blocks.clone()).zip(pointers) {
            let end = match pointer {
                Pointer::At(pointer) => (*pointer).clamp(piece.start, piece.end),
                Pointer::Anywhere | Pointer::Unknown => piece.end,
            };
            let (written, beyond) = (piece.start..end, end..piece.end);
            if !written.is_empty() {
                reads.push(self.read_beneath(rt, written.start, part(buf, &blocks, &written)));
            }
            let zeros = part(buf, &blocks, &beyond);
            zeros.zero(0..zeros.len());
        }
        all(reads).await?;
        all(self.read_patches(rt, blocks, buf)).await
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
