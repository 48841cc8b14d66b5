//! The structures that a superblock is made of, byte by byte.

use cygnus_types::BLOCK;
use zerocopy::little_endian::{U16, U32, U64};

use crate::checksum;
use crate::constants::{
    MAX_ARRAY_NAME, MAX_CHECKPOINT_SEGMENTS, MAX_EXTENTS, MAX_GROUPS, MAX_MEMBERS, MAX_POLICIES, MAX_POLICY_NAME,
    MAX_PRESET_NAME, MAX_SPARES, MAX_VOLUME_NAME, MAX_VOLUMES, SUPERBLOCK_SLOT,
};

/// A name in a fixed field: its length, then its bytes, then zeros.
pub(crate) type NameField<const N: usize> = [u8; N];

on_disk! {
    /// The fixed header of a superblock.
    pub(crate) struct RawSuperblock: 384 bytes {
        /// `CYGNUSSB`
        magic: [u8; 8],
        /// CRC32C of everything that follows, `length` bytes from the magic on
        crc: U32,
        /// format version
        version: U16,
        /// number of this member, over all groups; 65535 for a spare
        member: U16,
        /// bytes of the superblock, a multiple of 4096
        length: U32,
        /// zero
        reserved_a: [u8; 4],
        /// features that old programs may ignore
        compat: U64,
        /// features that old programs may read past, but not write
        ro_compat: U64,
        /// features that old programs must not touch
        incompat: U64,
        /// number of this superblock write; the valid superblock with the highest one counts
        generation: U64,
        /// UUID of the array
        array: [u8; 16],
        /// UUID of this member
        member_uuid: [u8; 16],
        /// session epoch
        session: U64,
        /// 1 when the session ended cleanly
        clean: u8,
        /// data columns, k
        data: u8,
        /// parity columns, m
        parity: u8,
        /// checkpoint roots, 0 to 2
        roots: u8,
        /// over-provisioning in permille
        over_provisioning: U16,
        /// policy parameters
        policies: U16,
        /// striping unit in blocks
        chunk_blocks: U32,
        /// rows of a full stripe
        stripe_rows: U32,
        /// rows of a segment
        segment_blocks: U32,
        /// identifier for the next volume
        next_volume_id: U32,
        /// R-groups
        groups: U16,
        /// members over all groups
        members: U16,
        /// volumes
        volumes: U16,
        /// spares
        spares: U16,
        /// array name: length byte, then text
        name: NameField<{ MAX_ARRAY_NAME + 1 }>,
        /// preset name: length byte, then text
        preset: NameField<{ MAX_PRESET_NAME + 1 }>,
        /// end of the last whole scrub, seconds since 1970 UTC; 0: never
        last_scrub_unix: U64,
        /// with incompat bit 1: MiB of the array's space from which on nothing was ever written; else 0
        blank_from_mib: U64,
        /// stripe sequence from which on recovery must find every durable stripe that no checkpoint covers
        counted_from: U64,
        /// with incompat bit 2: blocks of each member's transient area, which lies before its segments; else 0
        transient_blocks: U32,
        /// with incompat bit 6: blocks that are left free before the first segment; else 0
        lead_blocks: U32,
        /// blocks of volumes that the last whole scrub found beyond redundancy
        lost_found: U64,
        /// times since that scrub began that a block was asked for and was beyond redundancy
        lost_asked: U64,
        /// zero
        reserved_c: [u8; 112],
    }
}

on_disk! {
    /// A policy parameter.
    pub(crate) struct RawPolicy: 32 bytes {
        /// name: length byte, then text
        name: NameField<{ MAX_POLICY_NAME + 1 }>,
        /// value
        value: U64,
    }
}

on_disk! {
    /// An R-group; its extents and its k + m members are the next ones of their tables.
    pub(crate) struct RawGroup: 8 bytes {
        /// extents; 0 exactly when it has retired
        extents: U32,
        /// 0 in service, 1 joining, 2 retiring, 3 retired; others than 0 only with incompat bit 0
        state: u8,
        /// what it stores on: 0 flash, 1 disks, 2 nvm, 3 smr; other than 0 only with incompat bit 4, above 1 only with bit 10
        medium: u8,
        /// with incompat bit 9: its data columns; 0: as many as the array as a whole has, of parity too
        data: u8,
        /// with incompat bit 9, if it has data columns of its own: its parity columns; else 0
        parity: u8,
    }
}

on_disk! {
    /// A run of frames in which a group has its segments, in their order.
    pub(crate) struct RawExtent: 8 bytes {
        /// first frame
        first: U32,
        /// frames
        frames: U32,
    }
}

on_disk! {
    /// A member.
    pub(crate) struct RawMember: 64 bytes {
        /// UUID of the member
        uuid: [u8; 16],
        /// usable bytes of the device when it joined
        size_bytes: U64,
        /// 1 online, 2 failed, 3 missing, 4 rebuilding
        state: u8,
        /// reads that it answered with an error; 255: at least
        read_errors: u8,
        /// blocks that were not what had been written, likewise
        wrong_blocks: u8,
        /// times that it became far slower than its peers, likewise
        slow: u8,
        /// unless online: segment of the group up to which everything was restored
        restored: U32,
        /// unless online: stripe sequence below which it has every stripe
        below: U64,
        /// unless online: stripe sequence below which it has every stripe of the restored segments
        restored_below: U64,
        /// unless online: generation of the superblock that it had for certain when it left
        generation: U64,
        /// unless online: session in which it left
        session: U64,
    }
}

on_disk! {
    /// A spare.
    pub(crate) struct RawSpare: 32 bytes {
        /// UUID of the device
        uuid: [u8; 16],
        /// usable bytes of the device when it joined
        size_bytes: U64,
        /// zero
        reserved: [u8; 8],
    }
}

on_disk! {
    /// A volume.
    pub(crate) struct RawVolume: 160 bytes {
        /// identifier
        id: U32,
        /// with incompat bit 1: where it begins, in MiB of the array's space; else 0
        start_mib: U32,
        /// size in bytes
        size_bytes: U64,
        /// creation, seconds since 1970 UTC
        created_unix: U64,
        /// 1: blocks that are not in the map may have held data, and are unreadable; else 0
        in_doubt: u8,
        /// a write is answered when it is: 0 in memory, 1 on the members, 2 durable there
        acknowledged: u8,
        /// where its blocks may be: 0 anywhere, 1 only on flash, 2 only on disks, 3 on flash if there is room, 4 on disks if there
        /// is room, 5 on disks, and on flash what is often read; 6 only on nvm, 7 only on smr, 8 on nvm and 9 on smr if there is room; what
        /// is often read on the first and the rest on the second of: 10 nvm, flash, 11 nvm, disks, 12 nvm, smr, 13 flash, smr, 14 disks,
        /// smr; other than 0 only with incompat bit 4, 5 and from 10 on only with bit 5, from 6 on only with bit 10
        constraint: u8,
        /// blocks of a page, for each of which the map has an entry: a power of two up to 16
        page: u8,
        /// blocks that may have entries of their own although they are of pages
        fine: U32,
        /// name: length byte, then text
        name: NameField<{ MAX_VOLUME_NAME + 1 }>,
    }
}

on_disk! {
    /// A checkpoint root; its segments are the next ones of the root segment table.
    pub(crate) struct RawRoot: 64 bytes {
        /// generation of the checkpoint
        generation: U64,
        /// first stripe sequence not covered
        barrier: U64,
        /// next write sequence
        next_write_seq: U64,
        /// next stripe sequence
        next_stripe_seq: U64,
        /// next segment sequence
        next_segment_seq: U64,
        /// blocks mapped
        mapped_blocks: U64,
        /// pages dumped
        pages: U64,
        /// segments the pages lie in
        segments: U32,
        /// zero
        reserved: [u8; 4],
    }
}

on_disk! {
    /// A segment of a checkpoint.
    pub(crate) struct RawRootSegment: 16 bytes {
        /// segment within the group
        segment: U32,
        /// R-group
        group: U16,
        /// 0: holds pages of the map; 1: was being filled when the barrier was taken
        use_of: u8,
        /// zero
        reserved: u8,
        /// life of the segment
        segment_seq: U64,
    }
}

const _: () = {
    assert!(std::mem::offset_of!(RawSuperblock, crc) == checksum::CRC_OFFSET);
    assert!(size_of::<RawSuperblock>() <= BLOCK, "one read finds the length");
    let fullest = size_of::<RawSuperblock>()
        + MAX_POLICIES * size_of::<RawPolicy>()
        + MAX_GROUPS * size_of::<RawGroup>()
        + MAX_EXTENTS * size_of::<RawExtent>()
        + MAX_MEMBERS * size_of::<RawMember>()
        + MAX_SPARES * size_of::<RawSpare>()
        + MAX_VOLUMES * size_of::<RawVolume>()
        + 2 * (size_of::<RawRoot>() + MAX_CHECKPOINT_SEGMENTS * size_of::<RawRootSegment>());
    assert!(fullest.next_multiple_of(BLOCK) as u64 <= SUPERBLOCK_SLOT, "the fullest array fits in a slot");
};
