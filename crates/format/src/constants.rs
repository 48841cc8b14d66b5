//! The numbers of the format, with the reason for each and the relations between them checked at compile time.

use cygnus_types::{BLOCK, Pba};

/// Version of every structure described here. A reader refuses any other: additions go through the feature bits, so
/// this changes only when the old structures can no longer be told from the new ones.
pub const FORMAT_VERSION: u16 = 2;

/// Bytes of one superblock slot. Room for the worst array the limits below allow (asserted in `superblock`), so that
/// "superblock full" cannot happen to a user; a usual array writes 8 KiB of it.
pub const SUPERBLOCK_SLOT: u64 = 256 << 10;

/// Byte offsets of the two slots. Updates alternate between them: a power cut during an update spoils the slot being
/// written and leaves the other.
pub const SUPERBLOCK_OFFSETS: [u64; 2] = [0, SUPERBLOCK_SLOT];

/// Byte offset of the first segment column. One MiB is the alignment partitions have, so segment columns keep
/// whatever erase-unit alignment the device was partitioned for; the room behind the slots is spare.
pub const DATA_START: u64 = 1 << 20;

/// Most parity columns (m). Two is what the Reed-Solomon P+Q code gives; the format itself would carry more.
pub const MAX_PARITY: u8 = 2;

/// Most columns (k + m) of an R-group. Beyond that a double failure is too likely for m = 2 and a full stripe too large
/// to fill; column sets also fit a 32-bit mask.
pub const MAX_WIDTH: u8 = 32;

/// Most rows of a stripe: 4 MiB per column, so 128 MiB of buffer for the widest open stripe.
pub const MAX_STRIPE_ROWS: u32 = 1024;

/// Most rows of a segment column, 64 GiB: rows and blocks of one segment then fit in 32 bits whatever the width.
pub const MAX_SEGMENT_BLOCKS: u32 = 1 << 24;

/// Most segments of an array. With 1 GiB segments this is the whole 36-bit address space.
pub const MAX_SEGMENTS: u32 = 1 << 18;

/// Most R-groups of an array.
pub const MAX_GROUPS: usize = 64;

/// Most members of an array.
pub const MAX_MEMBERS: usize = 256;

/// Most spares of an array.
pub const MAX_SPARES: usize = 16;

/// Most volumes of an array.
pub const MAX_VOLUMES: usize = 1024;

/// Longest volume name in bytes; 127 instead of the usual 255 so that the volume table of the fullest array fits in the
/// superblock's slot together with everything else.
pub const MAX_VOLUME_NAME: usize = 127;

/// Longest array name in bytes.
pub const MAX_ARRAY_NAME: usize = 63;

/// Longest preset name in bytes.
pub const MAX_PRESET_NAME: usize = 31;

/// Most policy parameters.
pub const MAX_POLICIES: usize = 64;

/// Longest policy parameter name in bytes.
pub const MAX_POLICY_NAME: usize = 23;

/// Most segments that one checkpoint may lie in. The map is 8 bytes for each 4 KiB, so a dump of it fills one segment
/// in 512; this leaves a factor of four for headers, partly filled stripes and reuse of older dumps.
pub const MAX_CHECKPOINT_SEGMENTS: usize = 2048;

/// Map entries in one dumped page of the map: 8 bytes each.
pub const MAP_PAGE_ENTRIES: usize = BLOCK / 8;

/// Bytes of the fixed part of a stripe header; the summary entries follow it.
pub const STRIPE_FIXED: usize = 128;

/// Bytes of a summary entry and of a discard record. Equal, so that a header's room can serve either.
pub const ENTRY_BYTES: usize = 24;

/// Discards that every stripe header has room for, even in a stripe filled to its full height. A guest's TRIM thus
/// needs no stripe of its own while writes flow.
pub const MIN_DISCARDS: usize = 16;

/// Most blocks of a stripe header: more than the tallest stripe needs, so that a stripe without data can carry a long
/// list of discards.
pub const MAX_HEADER_BLOCKS: u32 = 32;

const _: () = {
    assert!(SUPERBLOCK_OFFSETS[1] + SUPERBLOCK_SLOT <= DATA_START, "slots end before the data begins");
    assert!(SUPERBLOCK_SLOT.is_multiple_of(BLOCK as u64) && DATA_START.is_multiple_of(BLOCK as u64));
    assert!(MAX_PARITY < MAX_WIDTH && MAX_WIDTH as u32 <= u32::BITS, "columns fit a 32-bit mask");
    assert!((MAX_WIDTH as u64) * (MAX_SEGMENT_BLOCKS as u64) <= u32::MAX as u64, "blocks of a segment fit 32 bits");
    // One GiB segments reach the end of the address space exactly when the segment limit does.
    assert!((MAX_SEGMENTS as u64) << 30 == (Pba::MAX.0 + 1) * BLOCK as u64);
    assert!(MAX_CHECKPOINT_SEGMENTS * MAP_PAGE_ENTRIES >= 4 * MAX_SEGMENTS as usize, "a factor of four of room");
    assert!(MAX_MEMBERS <= u16::MAX as usize && MAX_GROUPS <= MAX_MEMBERS);
    let tallest =
        STRIPE_FIXED + (MAX_PARITY as usize + 1) * MAX_STRIPE_ROWS as usize * ENTRY_BYTES + MIN_DISCARDS * ENTRY_BYTES;
    assert!(tallest <= MAX_HEADER_BLOCKS as usize * BLOCK, "the tallest stripe's header fits");
    assert!(MAX_STRIPE_ROWS + MAX_HEADER_BLOCKS <= MAX_SEGMENT_BLOCKS, "the tallest stripe fits in a segment");
};
