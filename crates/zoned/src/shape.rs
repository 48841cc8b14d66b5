//! Where things lie on a zoned device.

use std::ops::Range;

use cygnus_runtime::Zones;
use cygnus_types::{BLOCK, ByteSize};

/// Bytes at the start of a device that hold superblocks, and are never in order.
pub const HEAD: u64 = 2 << 20;

/// Bytes of the smallest area for patches.
const LEAST_PATCHES: u64 = 1 << 20;

/// Bytes of the largest one. All of it is read when the device is opened, which takes a disk some seconds.
const MOST_PATCHES: u64 = 1 << 30;

/// Where things lie on a zoned device; in blocks of 4 KiB.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Blocks of a zone.
    pub zone: u64,
    /// Blocks of the device.
    pub size: u64,
    /// The first block of the first sequential zone.
    pub sequential: u64,
    /// The blocks that hold patches.
    pub patches: Range<u64>,
    /// The blocks where a zone lies while it is rewritten; behind the patches.
    pub swap: Range<u64>,
}

/// Why a zoned device cannot be a member.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// Its driver cannot ask for the state of zones, or reset them.
    #[error("it has zones of {}, and nothing here can reset them", ByteSize(*.0))]
    NoCommands(u64),
    /// Zones of an odd size.
    #[error("its zones have {0} bytes, which are not whole blocks of {BLOCK}")]
    NotBlocks(u64),
    /// Nowhere to put superblocks and patches.
    #[error(
        "its conventional zones, which may be written anywhere, have {} together; superblocks, blocks that come out of \
         order and a zone that is rewritten need {}: give a device with more of them",
        ByteSize(*.have), ByteSize(*.need)
    )]
    NoRoom {
        /// Bytes of its conventional zones.
        have: u64,
        /// Bytes that are needed.
        need: u64,
    },
}

impl Shape {
    /// The shape of a device of `size` bytes with such zones.
    ///
    /// # Errors
    /// When it cannot be a member.
    pub fn of(zones: &Zones, size: u64) -> Result<Self, ShapeError> {
        if !zones.commands {
            return Err(ShapeError::NoCommands(zones.bytes));
        }
        if zones.bytes == 0 || !zones.bytes.is_multiple_of(BLOCK as u64) {
            return Err(ShapeError::NotBlocks(zones.bytes));
        }
        let have = (u64::from(zones.conventional.unwrap_or(0)) * zones.bytes).min(size);
        let need = HEAD + LEAST_PATCHES + zones.bytes;
        if have < need {
            return Err(ShapeError::NoRoom { have, need });
        }
        let in_blocks = |bytes: u64| bytes / BLOCK as u64;
        let end = (have - zones.bytes).min(HEAD + MOST_PATCHES);
        Ok(Self {
            zone: in_blocks(zones.bytes),
            size: in_blocks(size),
            sequential: in_blocks(have),
            patches: in_blocks(HEAD)..in_blocks(end),
            swap: in_blocks(end)..in_blocks(end + zones.bytes),
        })
    }

    /// The first block from which segments may lie, at the start of a zone.
    pub fn lead(&self) -> u64 {
        self.swap.end.next_multiple_of(self.zone)
    }

    /// How many zones there are; the last one may be short.
    pub fn zones(&self) -> u64 {
        self.size.div_ceil(self.zone)
    }

    /// The zone of a block.
    pub fn zone_of(&self, block: u64) -> u32 {
        u32::try_from(block / self.zone).expect("a device has fewer than 2^32 zones")
    }

    /// The blocks of a zone.
    pub fn blocks_of(&self, zone: u32) -> Range<u64> {
        let start = u64::from(zone) * self.zone;
        start..(start + self.zone).min(self.size)
    }

    /// A range of blocks, cut where zones begin.
    pub fn pieces(&self, blocks: Range<u64>) -> impl Iterator<Item = Range<u64>> + use<> {
        let (zone, mut at) = (self.zone, blocks.start);
        std::iter::from_fn(move || {
            let end = ((at / zone + 1) * zone).min(blocks.end);
            let piece = at..end;
            at = end;
            (!piece.is_empty()).then_some(piece)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn zones(bytes: u64, conventional: u32) -> Zones {
        Zones { bytes, conventional: Some(conventional), open_limit: 0, commands: true }
    }

    #[test]
    fn patches_lie_between_superblocks_and_segments() {
        let shape = Shape::of(&zones(4 * MIB, 3), 64 * MIB).unwrap();
        assert_eq!((shape.zone, shape.sequential, shape.patches.clone()), (1024, 3072, 512..2048));
        assert_eq!(shape.swap, 2048..3072);
        assert_eq!((shape.lead(), shape.zones()), (3072, 16));
        let shape = Shape::of(&zones(256 * MIB, 64), 1 << 40).unwrap();
        assert_eq!(
            shape.patches.end * BLOCK as u64,
            HEAD + (1 << 30),
            "what is left of the conventional zones is for segments"
        );
        assert_eq!(shape.lead() * BLOCK as u64, 6 * 256 * MIB);
    }

    #[test]
    fn what_cannot_be_a_member_is_refused_with_a_reason() {
        let without = Zones { commands: false, ..zones(MIB, 8) };
        assert_eq!(Shape::of(&without, 64 * MIB), Err(ShapeError::NoCommands(MIB)));
        assert_eq!(Shape::of(&zones(MIB + 512, 8), 64 * MIB), Err(ShapeError::NotBlocks(MIB + 512)));
        let none = Shape::of(&zones(MIB, 2), 64 * MIB).unwrap_err();
        assert_eq!(none, ShapeError::NoRoom { have: 2 * MIB, need: 4 * MIB });
        assert!(none.to_string().contains("have 2 MiB together"), "{none}");
    }

    #[test]
    fn a_range_is_cut_where_zones_begin() {
        let shape = Shape::of(&zones(MIB, 4), 64 * MIB).unwrap();
        assert_eq!(shape.pieces(1000..1600).collect::<Vec<_>>(), [1000..1024, 1024..1280, 1280..1536, 1536..1600]);
        assert_eq!(shape.pieces(7..7).count(), 0);
    }
}
