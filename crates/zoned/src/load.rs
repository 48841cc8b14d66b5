//! The area for patches: made when the first patch is written, and read when the device is first used.

use cygnus_parity::checksum::crc32c;
use cygnus_runtime::{IoError, Runtime};
use cygnus_types::BLOCK;

use crate::device::ZonedDevice;
use crate::patch::{AreaHeader, FIXED, HEADERS, Patch, SwapRecord};
use crate::patches::Patches;
use crate::pieces::{all, read_whatever};
use crate::table::Once;

/// Blocks that are read at once.
const AT_ONCE: u64 = 256;

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
                if table.opening != doing.opening() {
                    continue;
                }
                table.patches = patches;
                if let Some(secret) = secret {
                    (table.secret, table.made) = (secret, Once::Done);
                }
            }
            // Whoever was to end this was kept from it.
            if let Some(record) = record {
                self.restore(rt, record, doing.opening()).await?;
            }
            doing.is_done();
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
        if table.opening == doing.opening() {
            table.secret = secret;
            doing.is_done();
        }
        Ok(())
    }

    async fn read_area(&self, rt: &Runtime) -> Result<Area, IoError> {
        let area = self.zoned().shape.patches.clone();
        let room = area.start + FIXED..area.end;
        let mut patches = Patches::new(room.clone());
        let heads = read_whatever(rt, area.start..room.start, |at, buf| self.read_beneath(rt, at, buf)).await?;
        let Some(secret) = heads.bytes().chunks_exact(BLOCK).find_map(|block| self.secret_in(block)) else {
            return Ok(Area { secret: None, record: None, patches });
        };
        let record = heads.bytes().chunks_exact(BLOCK).find_map(|block| SwapRecord::decode(block, &secret));
        let record = record.filter(|record| self.is_possible(record));
        let (mut at, mut found) = (room.start, None);
        while at < room.end {
            let end = room.end.min(at + AT_ONCE);
            let buf = read_whatever(rt, at..end, |at, buf| self.read_beneath(rt, at, buf)).await?;
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
