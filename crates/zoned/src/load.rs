//! The area for patches: made when the first patch is written, and read when the device is first used.

use std::ops::Range;

use cygnus_parity::checksum::crc32c;
use cygnus_runtime::{Buf, IoError, Runtime, either};
use cygnus_types::BLOCK;

use crate::device::ZonedDevice;
use crate::patch::{AreaHeader, FIXED, HEADERS, Patch, SwapRecord};
use crate::patches::Patches;
use crate::pieces::{all, bytes};
use crate::table::{Once, Table};
use crate::turn::POLL;

/// Blocks that are read at once.
const AT_ONCE: u64 = 256;

/// What one reactor does for all. Unless it came to its end, the next one begins anew.
struct Doing<'a> {
    device: &'a ZonedDevice,
    which: fn(&mut Table) -> &mut Once,
    opening: u64,
    outcome: Once,
}

impl Drop for Doing<'_> {
    fn drop(&mut self) {
        let mut table = self.device.zoned().table();
        // Did somebody open the device anew meanwhile, that counts.
        if table.opening == self.opening {
            *(self.which)(&mut table) = self.outcome;
        }
        drop(table);
        self.device.changed().notify();
    }
}

/// What the area was found to hold.
struct Area {
    /// `None`: there is no area yet.
    secret: Option<[u8; 16]>,
    record: Option<SwapRecord>,
    patches: Patches,
}

/// A patch of which the blocks are being looked at.
struct Found {
    patch: Patch,
    seen: u64,
    whole: Vec<u64>,
}

impl ZonedDevice {
    /// Sees to it that what the device has of patches is known.
    pub(crate) async fn load(&self, rt: &Runtime) -> Result<(), IoError> {
        while let Some(mut doing) = self.undertake(rt, |table| &mut table.loaded).await {
            let Area { secret, record, patches } = self.read_area(rt).await?;
            {
                let mut table = self.zoned().table();
                if table.opening != doing.opening {
                    continue;
                }
                table.patches = patches;
                if let Some(secret) = secret {
                    (table.secret, table.made) = (secret, Once::Done);
                }
            }
            // Whoever was to end this was kept from it.
            if let Some(record) = record {
                self.restore(rt, record, doing.opening).await?;
            }
            doing.outcome = Once::Done;
        }
        Ok(())
    }

    /// Sees to it that the area has a header, unless the device is opened anew meanwhile.
    pub(crate) async fn make_area(&self, rt: &Runtime) -> Result<(), IoError> {
        let Some(mut doing) = self.undertake(rt, |table| &mut table.made).await else { return Ok(()) };
        let secret = (u128::from(rt.rng_u64()) << 64 | u128::from(rt.rng_u64())).to_le_bytes();
        let shape = &self.zoned().shape;
        let blocks = shape.patches.end - shape.patches.start;
        let mut buf = rt.alloc(BLOCK);
        AreaHeader { secret, zone: shape.zone, blocks }.encode_into(buf.bytes_mut());
        let copies = shape.patches.start..shape.patches.start + HEADERS;
        all(copies.map(|at| self.write_beneath(rt, at, buf.full())).collect()).await?;
        let mut table = self.zoned().table();
        if table.opening == doing.opening {
            table.secret = secret;
            doing.outcome = Once::Done;
        }
        Ok(())
    }

    /// `None`: it is done. Else the caller is to do it.
    async fn undertake(&self, rt: &Runtime, which: fn(&mut Table) -> &mut Once) -> Option<Doing<'_>> {
        loop {
            let changed = self.changed().wait();
            {
                let mut table = self.zoned().table();
                match *which(&mut table) {
                    Once::Done => return None,
                    Once::Not => {
                        *which(&mut table) = Once::UnderWay;
                        return Some(Doing { device: self, which, opening: table.opening, outcome: Once::Not });
                    }
                    Once::UnderWay => {}
                }
            }
            either(changed, rt.sleep(POLL)).await;
        }
    }

    async fn read_area(&self, rt: &Runtime) -> Result<Area, IoError> {
        let area = self.zoned().shape.patches.clone();
        let room = area.start + FIXED..area.end;
        let mut patches = Patches::new(room.clone());
        let heads = self.read_whatever(rt, area.start..room.start).await?;
        let Some(secret) = heads.bytes().chunks_exact(BLOCK).find_map(|block| self.secret_in(block)) else {
            return Ok(Area { secret: None, record: None, patches });
        };
        let record = heads.bytes().chunks_exact(BLOCK).find_map(|block| SwapRecord::decode(block, &secret));
        let record = record.filter(|record| self.is_possible(record));
        let (mut at, mut found) = (room.start, None);
        while at < room.end {
            let end = room.end.min(at + AT_ONCE);
            let buf = self.read_whatever(rt, at..end).await?;
            for (block, at) in buf.bytes().chunks_exact(BLOCK).zip(at..) {
                look_at(block, at, &secret, &mut found, &mut patches);
            }
            at = end;
        }
        Ok(Area { secret: Some(secret), record, patches })
    }

    fn is_possible(&self, record: &SwapRecord) -> bool {
        let shape = &self.zoned().shape;
        let is_there = u64::from(record.zone) < shape.zones() && shape.blocks_of(record.zone).start >= shape.lead();
        is_there && record.blocks <= shape.zone
    }

    fn secret_in(&self, block: &[u8]) -> Option<[u8; 16]> {
        let (header, shape) = (AreaHeader::decode(block)?, &self.zoned().shape);
        let is_ours = header.zone == shape.zone && header.blocks == shape.patches.end - shape.patches.start;
        is_ours.then_some(header.secret)
    }

    /// Reads a range of the area. A block that cannot be read is zeros: what it held is lost, and found to be so by whoever reads
    /// what it replaced.
    async fn read_whatever(&self, rt: &Runtime, blocks: Range<u64>) -> Result<Buf, IoError> {
        let buf = rt.alloc(bytes(blocks.end - blocks.start));
        match self.read_beneath(rt, blocks.start, buf.full()).await {
            Ok(_) => return Ok(buf),
            Err(error) if error.kind.is_of_range() => {}
            Err(error) => return Err(error),
        }
        for (at, n) in blocks.zip(0..) {
            let block = buf.slice(bytes(n)..bytes(n + 1));
            match self.read_beneath(rt, at, block.clone()).await {
                Ok(_) => {}
                Err(error) if error.kind.is_of_range() => block.zero(0..BLOCK),
                Err(error) => return Err(error),
            }
        }
        Ok(buf)
    }
}

/// One block of the area after the other: a description, a block of the patch that was described last, or nothing.
fn look_at(block: &[u8], at: u64, secret: &[u8; 16], found: &mut Option<Found>, patches: &mut Patches) {
    let Some(open) = found else {
        *found = Patch::decode(block, secret, at).map(|patch| Found { patch, seen: 0, whole: Vec::new() });
        return;
    };
    if crc32c(block) == open.patch.checksums[open.seen as usize] {
        open.whole.push(open.seen);
    }
    open.seen += 1;
    if open.seen == open.patch.checksums.len() as u64 {
        patches.found(&open.patch, open.whole.iter().copied());
        *found = None;
    }
}
