//! A superblock slot with any contents: an error or an array that can be written again, never a panic.
#![no_main]

use cygnus_format::superblock::SUPERBLOCK_MAGIC;
use cygnus_format::{
    ArrayState, CheckpointRoot, Extent, FORMAT_VERSION, Geometry, GroupDesc, GroupState, Holdings, Losses, MemberDesc,
    MemberErrors, MemberState, PolicyValue, Raid, RootSegment, RootUse, SUPERBLOCK_SLOT, SpareDesc, Superblock,
    VolumeDesc, crc32c, probe_with_tail,
};
use cygnus_types::{Acknowledged, Constraint, GroupId, Medium, MemberIx, Paging, SegmentId, Uuid, VolumeId};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let _ = probe_with_tail(input, input);
    let _ = Superblock::newest(input).map(check);
    for bytes in [sealed(input), edited(input)] {
        let _ = Superblock::decode(&bytes).and_then(|unverified| unverified.verify()).map(check);
    }
});

/// A good superblock with bytes of the input written over it: each three are an offset and a value.
fn edited(input: &[u8]) -> Vec<u8> {
    let mut bytes = good().encode().expect("is good");
    for edit in input.chunks_exact(3) {
        let offset = usize::from(u16::from_le_bytes([edit[0], edit[1]])) % 1024;
        bytes[offset] = edit[2];
    }
    let crc = crc32c(&bytes[12..]);
    bytes[8..12].copy_from_slice(&crc.to_le_bytes());
    bytes
}

/// A superblock with something in each of its tables.
fn good() -> Superblock {
    let geometry = Geometry {
        data: 2,
        parity: 1,
        chunk_blocks: 4,
        stripe_rows: 16,
        segment_blocks: 256,
        transient_blocks: 0,
        lead_blocks: 0,
    };
    let uuid = |n| Uuid::from_random(n, n);
    let member = |n| MemberDesc {
        uuid: uuid(n),
        size_bytes: 1 << 30,
        state: MemberState::Online,
        holds: Holdings::default(),
        errors: MemberErrors::default(),
    };
    let segments =
        vec![RootSegment { group: GroupId(1), segment: SegmentId(2), segment_seq: 3, use_of: RootUse::Open }];
    let root = |generation| CheckpointRoot {
        generation,
        barrier: 1,
        next_write_seq: 2,
        next_stripe_seq: 3,
        next_segment_seq: 4,
        mapped_blocks: 5,
        pages: 6,
        segments: segments.clone(),
    };
    let volume = |id, name: &str| VolumeDesc {
        id: VolumeId(id),
        name: name.into(),
        size_bytes: 1 << 20,
        created_unix: 7,
        start_mib: 0,
        in_doubt: false,
        acknowledged: Acknowledged::Written,
        constraint: Constraint::Prefers(Medium::Flash),
        paging: Paging::new(2, 9).expect("such pages there are"),
    };
    let state = ArrayState {
        name: "tank".into(),
        preset: "swan".into(),
        geometry,
        over_provisioning_permille: 200,
        policies: ["a", "b"].map(|name| PolicyValue { name: name.into(), value: 1 }).into(),
        groups: [(0, [1, 2, 3].as_slice()), (9, &[4, 5])]
            .map(|(first, m)| GroupDesc {
                extents: vec![Extent { first, frames: 9 }],
                state: GroupState::InService,
                medium: if first == 0 { Medium::Flash } else { Medium::Disk },
                raid: Raid { data: m.len() as u8 - 1, parity: 1 },
                members: m.iter().copied().map(member).collect(),
            })
            .into(),
        spares: vec![SpareDesc { uuid: uuid(8), size_bytes: 1 << 30 }],
        session: 1,
        clean: false,
        counted_from: 0,
        volumes: vec![volume(0, "vol0"), volume(1, "vol1")],
        next_volume_id: 2,
        last_scrub_unix: 0,
        losses: Losses::default(),
        roots: [Some(root(2)), Some(root(1))],
        in_place: None,
    };
    let (array, member_uuid) = (uuid(9), uuid(1));
    Superblock { generation: 1, array, member: MemberIx(0), member_uuid, read_only: false, state }
}

/// What verifies must survive being written and read again.
fn check(superblock: Superblock) {
    if superblock.read_only {
        return;
    }
    let bytes = superblock.encode().expect("a verified superblock can be written");
    assert!(bytes.len() as u64 <= SUPERBLOCK_SLOT);
    let again = Superblock::decode(&bytes).and_then(|unverified| unverified.verify()).expect("and read");
    assert_eq!(again, superblock);
}

/// The input as a superblock whose magic, version, length and checksum are right, so that the fuzzer gets behind them.
fn sealed(input: &[u8]) -> Vec<u8> {
    let mut bytes = input.to_vec();
    bytes.resize(input.len().clamp(1, SUPERBLOCK_SLOT as usize).next_multiple_of(4096), 0);
    let length = bytes.len() as u32;
    bytes[..8].copy_from_slice(&SUPERBLOCK_MAGIC);
    bytes[12..14].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
    bytes[16..20].copy_from_slice(&length.to_le_bytes());
    bytes[32..48].fill(0);
    let crc = crc32c(&bytes[12..]);
    bytes[8..12].copy_from_slice(&crc.to_le_bytes());
    bytes
}
