//! The numbers of the format, with the reason for each and the relations between them checked at compile time.

use cygnus_types::{BLOCK, MemberIx, Pba};

/// Version of every structure described here. A reader refuses any other: additions go through the feature bits, so
/// this changes only when the old structures can no longer be told from the new ones.
pub const FORMAT_VERSION: u16 = 6;

/// The member number in the superblock of a spare.
pub const SPARE: MemberIx = MemberIx(u16::MAX);

/// Bytes of one superblock slot. Room for the worst array the limits below allow (asserted in `superblock`), so that
/// "superblock full" cannot happen to a user; a usual array writes 8 KiB of it.
pub const SUPERBLOCK_SLOT: u64 = 320 << 10;

/// Byte offsets of the two slots, of both copies of each. Updates alternate between the slots and write the copies of a
/// slot one after the other: a power cut during an update spoils one copy, and leaves the other one and the other slot.
pub const SUPERBLOCK_OFFSETS: [[u64; 2]; 2] = [[0, 2 * SUPERBLOCK_SLOT], [SUPERBLOCK_SLOT, 3 * SUPERBLOCK_SLOT]];

/// Bytes at the start of a device that all copies of all slots take.
pub const SUPERBLOCK_AREA: u64 = 4 * SUPERBLOCK_SLOT;

/// Byte offset of the first segment column. A multiple of 1 MiB is the alignment partitions have, so segment columns keep
/// whatever erase-unit alignment the device was partitioned for; the room behind the slots is spare.
pub const DATA_START: u64 = 2 << 20;

/// Byte offset of a block that is written now and then to see whether the device takes writes, and never read: the last
/// one before the data.
pub const PROBE_OFFSET: u64 = DATA_START - BLOCK as u64;

/// Most parity columns (m): P, Q and R. The format itself would carry more.
pub const MAX_PARITY: u8 = 3;

/// Most columns (k + m) of an R-group. Beyond that another failure during a rebuild is too likely and a full stripe too large
/// to fill; column sets also fit a 32-bit mask.
pub const MAX_WIDTH: u8 = 32;

/// Most rows of a stripe: 4 MiB per column, so 128 MiB of buffer for the widest open stripe.
pub const MAX_STRIPE_ROWS: u32 = 1024;

/// Most rows of a segment column, 64 GiB: rows and blocks of one segment then fit in 32 bits whatever the width.
pub const MAX_SEGMENT_BLOCKS: u32 = 1 << 24;

/// Most blocks of a member's transient area, 16 GiB: more than a second's writes of any drive.
pub const MAX_TRANSIENT_BLOCKS: u32 = 1 << 22;

/// Most blocks that are left free before the first segment, 4 TiB: less than any disk's conventional zones.
pub const MAX_LEAD_BLOCKS: u32 = 1 << 30;

/// Most segments of an array. With 1 GiB segments this is the whole 36-bit address space.
pub const MAX_SEGMENTS: u32 = 1 << 18;

/// Most runs of addresses that the groups of an array have in all. A new group takes the lowest addresses that are free,
/// so with each one that comes there is at most one run more than before, and one that goes joins its neighbours; groups
/// that come and go for ever, of any sizes, need a few hundred (a test plays it).
pub const MAX_EXTENTS: usize = 1024;

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

/// Most segments that one checkpoint may name. A dump of the map fills one segment in [`PACKED_ENTRIES`] at most, and twice as
/// many where it is written twice; this leaves a thousand for the segments that are being filled at its barrier.
pub const MAX_CHECKPOINT_SEGMENTS: usize = 3072;

/// Map entries in one dumped page of the map: 8 bytes each.
pub const MAP_PAGE_ENTRIES: usize = BLOCK / 8;

/// Map entries that one packed block of a checkpoint has room for, if they are of one volume: 16 bytes each, behind the
/// head of their section.
pub const PACKED_ENTRIES: usize = BLOCK / 16 - 1;

/// Bytes of the fixed part of a stripe header; the summary entries follow it.
pub const STRIPE_FIXED: usize = 128;

/// Bytes of a summary entry and of a discard record. Equal, so that a header's room can serve either.
pub const ENTRY_BYTES: usize = 24;

/// Discards that every stripe header has room for, even in a stripe filled to its full height. A client's TRIM thus
/// needs no stripe of its own while writes flow.
pub const MIN_DISCARDS: usize = 16;

/// The same of triple parity, whose headers have the entries of five columns: with these few, one block describes a stripe of 32 rows. With
/// more it would be one of 16 rows, of which the header took a seventeenth.
pub const MIN_DISCARDS_OF_TRIPLE: usize = 5;

/// Most blocks of a stripe header, all copies of it on one column together: more than the tallest stripe needs, so that a
/// stripe without data can carry a long list of discards.
pub const MAX_HEADER_BLOCKS: u32 = 52;

const _: () = {
    assert!(SUPERBLOCK_AREA <= PROBE_OFFSET, "slots end before the data begins");
    assert!(SUPERBLOCK_SLOT.is_multiple_of(BLOCK as u64) && DATA_START.is_multiple_of(BLOCK as u64));
    assert!(MAX_PARITY < MAX_WIDTH && MAX_WIDTH as u32 <= u32::BITS, "columns fit a 32-bit mask");
    assert!((MAX_WIDTH as u64) * (MAX_SEGMENT_BLOCKS as u64) <= u32::MAX as u64, "blocks of a segment fit 32 bits");
    // One GiB segments reach the end of the address space exactly when the segment limit does.
    assert!((MAX_SEGMENTS as u64) << 30 == (Pba::MAX.0 + 1) * BLOCK as u64);
    // Blocks of a checkpoint are to the blocks mapped as its segments are to all.
    assert!(
        MAX_CHECKPOINT_SEGMENTS >= 2 * MAX_SEGMENTS as usize / PACKED_ENTRIES + 1000,
        "any map fits, and 1000 more"
    );
    assert!(MAX_MEMBERS <= u16::MAX as usize && MAX_GROUPS <= MAX_MEMBERS);
    assert!(header_blocks(MAX_PARITY as usize + 2) <= MAX_HEADER_BLOCKS as usize, "the tallest stripe's header fits");
    assert!(2 * header_blocks(MAX_PARITY as usize + 1) <= MAX_HEADER_BLOCKS as usize, "and where it is there twice");
    assert!(MAX_STRIPE_ROWS + MAX_HEADER_BLOCKS <= MAX_SEGMENT_BLOCKS, "the tallest stripe fits in a segment");
};

/// Blocks of one copy of the tallest stripe's header, with the entries of `tables` columns.
const fn header_blocks(tables: usize) -> usize {
    (STRIPE_FIXED + (tables * MAX_STRIPE_ROWS as usize + MIN_DISCARDS) * ENTRY_BYTES).div_ceil(BLOCK)
}
