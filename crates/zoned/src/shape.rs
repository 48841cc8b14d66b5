//! Where things lie on a zoned device.

use std::ops::Range;

use cygnus_runtime::{ZoneInfo, Zones};
use cygnus_types::{BLOCK, ByteSize};

/// Bytes at the start of a device that hold superblocks, and are never in order.
pub const HEAD: u64 = 2 << 20;

/// Bytes of the smallest area for patches.
const LEAST_PATCHES: u64 = 1 << 20;

/// Bytes of the largest one. All of it is read when the device is opened, which takes a disk some seconds.
const MOST_PATCHES: u64 = 1 << 30;

/// Bytes of the largest one that lies in a log: where no conventional zone is, it shares a zone's room with the log's own needs.
const MOST_LOGGED: u64 = 64 << 20;

/// Zones that the log of the head, and a zone that is being rewritten, may keep active beside those of segments.
const OWN_ACTIVE: u32 = 4;

/// Where things lie on a zoned device; in blocks of 4 KiB, as the engine counts them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Blocks of a zone that can be written.
    pub zone: u64,
    /// Blocks of the device, in whole zones where these have less capacity than size.
    pub size: u64,
    /// The first block of the first sequential zone that is not the head log's.
    pub sequential: u64,
    /// The blocks that hold patches.
    pub patches: Range<u64>,
    /// The blocks where a zone lies while it is rewritten; behind the patches.
    pub swap: Range<u64>,
    /// What the device itself is like where that differs from what is said above.
    pub beneath: Option<Beneath>,
}

/// A device that lacks something of a shingled disk: conventional zones, zones that can be written to their end, as many active
/// ones as anybody likes. Zoned flash (ZNS) lacks all three.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beneath {
    /// Blocks from the start of one zone to that of the next.
    pub stride: u64,
    /// Zones at the start of the device that are left alone: conventional ones of a device that has too few.
    pub skipped: u32,
    /// The log that holds what lies in conventional zones on other devices.
    pub log: Option<LogShape>,
    /// Zones that can be partly written at a time; 0: as many as there are.
    pub active_limit: u32,
}

/// Where a head log lies: in two runs of zones at the start, its *sides*, of which one counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogShape {
    /// Zones of a side.
    pub side: u32,
    /// Blocks that it holds, from block 0 on: superblocks and patches.
    pub head: u64,
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
    /// Zones in which hardly anything can be written.
    #[error("of its zones only {} can be written, and {} are the least", ByteSize(*.0), ByteSize(LEAST_ZONE * BLOCK as u64))]
    Short(u64),
    /// Nowhere to put superblocks and patches, and segments besides.
    #[error(
        "its {have} sequential zones of {} are too few: superblocks and blocks that come out of order need {need} of them; \
         give a device with more zones",
        ByteSize(*.bytes)
    )]
    TooFew {
        /// Sequential zones.
        have: u64,
        /// How many of them are needed before there is a segment.
        need: u64,
        /// Bytes of a zone that can be written.
        bytes: u64,
    },
    /// So few zones may be partly written that none is left for segments.
    #[error("only {have} of its zones may be partly written at a time, and {need} are the least")]
    FewActive {
        /// The device's limit.
        have: u32,
        /// What is needed.
        need: u32,
    },
}

/// Blocks of the shortest zone that is of use.
const LEAST_ZONE: u64 = 8;

const fn in_blocks(bytes: u64) -> u64 {
    bytes / BLOCK as u64
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
        for bytes in [zones.bytes, zones.capacity] {
            if bytes == 0 || !bytes.is_multiple_of(BLOCK as u64) {
                return Err(ShapeError::NotBlocks(bytes));
            }
        }
        if zones.active_limit > 0 && zones.active_limit <= OWN_ACTIVE {
            return Err(ShapeError::FewActive { have: zones.active_limit, need: OWN_ACTIVE + 1 });
        }
        let conventional = (u64::from(zones.conventional.unwrap_or(0)) * zones.bytes).min(size);
        if conventional < HEAD + LEAST_PATCHES + zones.bytes || zones.capacity < zones.bytes {
            return Self::with_log(zones, size);
        }
        let end = (conventional - zones.bytes).min(HEAD + MOST_PATCHES);
        let zone = in_blocks(zones.bytes);
        let beneath = Beneath { stride: zone, skipped: 0, log: None, active_limit: zones.active_limit };
        Ok(Self {
            zone,
            size: in_blocks(size),
            sequential: in_blocks(conventional),
            patches: in_blocks(HEAD)..in_blocks(end),
            swap: in_blocks(end)..in_blocks(end + zones.bytes),
            beneath: (zones.active_limit > 0).then_some(beneath),
        })
    }

    /// The shape of a device whose superblocks and patches lie in a log: its first zones are the log's two sides, and behind these is
    /// the room for a zone. A side has room for twice what the log holds, so that it has to be begun anew only now and then.
    fn with_log(zones: &Zones, size: u64) -> Result<Self, ShapeError> {
        let (zone, skipped) = (in_blocks(zones.capacity.min(zones.bytes)), zones.conventional.unwrap_or(0));
        if zone < LEAST_ZONE {
            return Err(ShapeError::Short(zones.capacity));
        }
        // A zone may end with a block in which no record has room; the log begins and ends with two blocks of its own.
        let side = (2 * in_blocks(HEAD + LEAST_PATCHES) + 4).div_ceil(zone - 1);
        let head = ((side * (zone - 1) - 4) / 2).min(in_blocks(HEAD + MOST_LOGGED));
        let (have, need) = ((size / zones.bytes).saturating_sub(u64::from(skipped)), 2 * side + 1);
        if have <= need {
            return Err(ShapeError::TooFew { have, need, bytes: zones.capacity });
        }
        let log = LogShape { side: u32::try_from(side).expect("3 MiB are fewer than 2^32 zones"), head };
        let stride = in_blocks(zones.bytes);
        Ok(Self {
            zone,
            size: have * zone,
            sequential: 2 * side * zone,
            patches: in_blocks(HEAD)..head,
            swap: 2 * side * zone..need * zone,
            beneath: Some(Beneath { stride, skipped, log: Some(log), active_limit: zones.active_limit }),
        })
    }

    /// Whether the room for a zone is a sequential zone, and has to be reset before it is written.
    pub(crate) fn swap_is_sequential(&self) -> bool {
        self.swap.start >= self.sequential
    }

    /// How many zones of segments can be partly written at a time; `None`: as many as there are.
    pub fn active_for_segments(&self) -> Option<u32> {
        self.beneath
            .as_ref()
            .filter(|beneath| beneath.active_limit > 0)
            .map(|beneath| beneath.active_limit - OWN_ACTIVE)
    }

    /// Where a byte lies on the device.
    pub(crate) fn offset(&self, offset: u64) -> u64 {
        let Some(beneath) = &self.beneath else { return offset };
        let zone = self.zone * BLOCK as u64;
        (offset / zone + u64::from(beneath.skipped)) * beneath.stride * BLOCK as u64 + offset % zone
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
        cut(blocks, self.zone)
    }

    /// A range of the device's own blocks, cut where its own zones begin, each piece with the zone's number there.
    pub(crate) fn pieces_beneath(&self, blocks: Range<u64>) -> impl Iterator<Item = (u32, Range<u64>)> + use<> {
        let stride = self.beneath.as_ref().map_or(self.zone, |beneath| beneath.stride);
        let number = move |block: u64| u32::try_from(block / stride).expect("a device has fewer than 2^32 zones");
        cut(blocks, stride).map(move |piece| (number(piece.start), piece))
    }
}

fn cut(blocks: Range<u64>, zone: u64) -> impl Iterator<Item = Range<u64>> {
    let mut at = blocks.start;
    std::iter::from_fn(move || {
        let end = ((at / zone + 1) * zone).min(blocks.end);
        let piece = at..end;
        at = end;
        (!piece.is_empty()).then_some(piece)
    })
}

/// What is written of a piece of a zone, both in the device's own blocks. What a drive gives behind that is anything: zeros, ones, or
/// an error.
pub(crate) fn written(piece: &Range<u64>, info: &ZoneInfo) -> Range<u64> {
    let end = info.pointer.map_or(piece.end, |at| (at / BLOCK as u64).clamp(piece.start, piece.end));
    piece.start..end
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn zones(bytes: u64, conventional: u32) -> Zones {
        Zones { bytes, capacity: bytes, conventional: Some(conventional), active_limit: 0, commands: true }
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
        let short = Zones { capacity: 4 * BLOCK as u64, ..zones(MIB, 0) };
        assert_eq!(Shape::of(&short, 64 * MIB), Err(ShapeError::Short(4 * BLOCK as u64)));
        let few = Shape::of(&zones(MIB, 2), 16 * MIB).unwrap_err();
        assert_eq!(few, ShapeError::TooFew { have: 14, need: 15, bytes: MIB });
        assert!(few.to_string().contains("14 sequential zones of 1 MiB are too few"), "{few}");
        let lazy = Zones { active_limit: 4, ..zones(MIB, 8) };
        assert_eq!(Shape::of(&lazy, 64 * MIB), Err(ShapeError::FewActive { have: 4, need: 5 }));
    }

    #[test]
    fn zoned_flash_has_a_log_in_place_of_conventional_zones() {
        let zns = Zones { capacity: 1077 * MIB, active_limit: 14, ..zones(2048 * MIB, 0) };
        let shape = Shape::of(&zns, 900 * 2048 * MIB).unwrap();
        let log = LogShape { side: 1, head: (HEAD + MOST_LOGGED) / BLOCK as u64 };
        let beneath = Beneath { stride: 2048 * 256, skipped: 0, log: Some(log), active_limit: 14 };
        assert_eq!((shape.zone, shape.size, shape.beneath.clone()), (1077 * 256, 900 * 1077 * 256, Some(beneath)));
        assert_eq!((shape.swap.clone(), shape.lead()), (2 * shape.zone..3 * shape.zone, 3 * shape.zone));
        assert_eq!((shape.patches.end, shape.active_for_segments()), (log.head, Some(10)));
        assert!(shape.swap_is_sequential() && shape.zones() == 900);
    }

    #[test]
    fn a_log_has_room_in_zones_of_any_size() {
        for blocks in 8..600 {
            let shape = Shape::of(&zones(blocks * BLOCK as u64, 1), 64 * MIB).unwrap();
            let Beneath { skipped, log: Some(log), .. } = shape.beneath.clone().unwrap() else { panic!("no log") };
            assert!(2 * log.head + 4 <= u64::from(log.side) * (blocks - 1), "zones of {blocks}");
            assert!(shape.patches.end > shape.patches.start + 255 && shape.patches.end <= shape.sequential);
            assert_eq!((skipped, shape.size), (1, (64 * 256 / blocks - 1) * blocks));
        }
    }

    #[test]
    fn a_range_is_cut_where_zones_begin() {
        let shape = Shape::of(&zones(MIB, 4), 64 * MIB).unwrap();
        assert_eq!(shape.pieces(1000..1600).collect::<Vec<_>>(), [1000..1024, 1024..1280, 1280..1536, 1536..1600]);
        assert_eq!(shape.pieces(7..7).count(), 0);
    }
}
