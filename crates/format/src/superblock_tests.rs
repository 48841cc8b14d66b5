use super::*;
use crate::SPARE;
use crate::array_state::tests::any_state;
use crate::constants::{MAX_CHECKPOINT_SEGMENTS, MAX_POLICIES, MAX_POLICY_NAME, MAX_VOLUME_NAME, MAX_VOLUMES};
use cygnus_types::{Acknowledged, Constraint, Medium, Paging, Tiers};
use proptest::prelude::*;

fn any_superblock() -> impl Strategy<Value = Superblock> {
    (any_state(), any::<(u64, u64)>(), any::<prop::sample::Index>()).prop_map(|(state, (generation, array), ix)| {
        let members = state.members().enumerate().map(|(ix, desc)| (MemberIx(ix as u16), desc.uuid));
        let all: Vec<_> = members.chain(state.spares.iter().map(|spare| (SPARE, spare.uuid))).collect();
        let (member, member_uuid) = *ix.get(&all);
        Superblock { generation, array: Uuid::from_random(array, 0), member, member_uuid, read_only: false, state }
    })
}

pub(crate) fn sample() -> Superblock {
    let state = crate::array_state::tests::tank();
    let member_uuid = state.groups[0].members[1].uuid;
    let array = Uuid::from_random(1, 2);
    Superblock { generation: 7, array, member: MemberIx(1), member_uuid, read_only: false, state }
}

fn decode(bytes: &[u8]) -> Result<Superblock, SuperblockError> {
    Superblock::decode(bytes)?.verify()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn round_trip(superblock in any_superblock(), behind in 0..8192_usize) {
        let mut bytes = superblock.encode().unwrap();
        prop_assert!(bytes.len().is_multiple_of(BLOCK) && bytes.len() as u64 <= SUPERBLOCK_SLOT);
        // A slot may hold the rest of a longer superblock behind this one.
        bytes.resize(bytes.len() + behind, 0x5a);
        prop_assert_eq!(decode(&bytes), Ok(superblock));
    }

    #[test]
    fn a_flipped_bit_is_seen(superblock in any_superblock(), at: prop::sample::Index, bit in 0..8_u32) {
        let mut bytes = superblock.encode().unwrap();
        let at = at.index(bytes.len());
        bytes[at] ^= 1_u8 << bit;
        prop_assert!(decode(&bytes).is_err());
    }

    #[test]
    fn cut_short_is_an_error(superblock in any_superblock(), at: prop::sample::Index) {
        let bytes = superblock.encode().unwrap();
        let cut = at.index(bytes.len());
        let truncated = matches!(decode(&bytes[..cut]), Err(SuperblockError::Truncated { have, .. }) if have == cut);
        prop_assert!(truncated);
    }

    /// Bytes changed behind the checksum's back: whatever still verifies is an array that can be written again.
    #[test]
    fn no_sealed_bytes_panic(
        superblock in any_superblock(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        in_header: bool,
    ) {
        let mut bytes = superblock.encode().unwrap();
        for (at, value) in changes {
            let at = at.index(if in_header { size_of::<RawSuperblock>() } else { bytes.len() });
            bytes[at] = value;
        }
        checksum::seal(&mut bytes);
        if let Ok(decoded) = decode(&bytes) {
            prop_assert!(decoded.read_only || decoded.encode().is_ok());
        }
    }
}

#[test]
fn group_states_are_a_feature_that_old_programs_refuse() {
    let mut superblock = sample();
    assert!(!superblock.is_joining());
    superblock.state.groups[0].state = GroupState::Joining;
    assert!(superblock.is_joining(), "member 1 is in group 0");
    let mut bytes = superblock.encode().unwrap();
    assert_eq!(decode(&bytes), Ok(superblock));
    let at = std::mem::offset_of!(RawSuperblock, incompat);
    assert_eq!(bytes[at..at + 8], GROUP_STATES.to_le_bytes());
    bytes[at] = 0;
    checksum::seal(&mut bytes);
    assert_eq!(decode(&bytes), Err(SuperblockError::Malformed("group state")));
}

#[test]
fn room_behind_transient_areas_is_a_feature_that_old_programs_refuse() {
    let at = std::mem::offset_of!(RawSuperblock, incompat);
    let bits = |transient_blocks, lead_blocks| {
        let mut superblock = sample();
        let geometry = &mut superblock.state.geometry;
        (geometry.transient_blocks, geometry.lead_blocks) = (transient_blocks, lead_blocks);
        let mut members: Vec<_> = superblock.state.groups.iter_mut().flat_map(|group| &mut group.members).collect();
        members.iter_mut().for_each(|member| member.size_bytes += 1 << 20);
        let bytes = superblock.encode().unwrap();
        assert_eq!(decode(&bytes), Ok(superblock));
        u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap()) & (TRANSIENT | LEAD | LEAD_BEHIND_AREA) as u16
    };
    assert_eq!([bits(0, 0), bits(8, 0), bits(0, 8)], [0, TRANSIENT as u16, LEAD as u16], "what it took before");
    assert_eq!(bits(8, 8), (TRANSIENT | LEAD | LEAD_BEHIND_AREA) as u16);
}

#[test]
fn media_are_a_feature_that_old_programs_refuse() {
    let at = std::mem::offset_of!(RawSuperblock, incompat);
    let bits = |superblock: &Superblock| superblock.encode().unwrap()[at];
    let plain = sample();
    let (mut on_disks, mut constrained) = (plain.clone(), plain.clone());
    on_disks.state.groups[0].medium = Medium::Disk;
    constrained.state.volumes[0].constraint = Constraint::Only(Medium::Flash);
    assert_eq!([&plain, &on_disks, &constrained].map(bits), [0, MEDIA as u8, MEDIA as u8]);
    let mut bytes = on_disks.encode().unwrap();
    assert_eq!(decode(&bytes), Ok(on_disks));
    bytes[at] = 0;
    checksum::seal(&mut bytes);
    assert!(decode(&bytes).is_err());
}

#[test]
fn media_beside_flash_and_disks_are_a_feature_that_old_programs_refuse() {
    let at = std::mem::offset_of!(RawSuperblock, incompat);
    let bits =
        |superblock: &Superblock| u16::from_le_bytes(superblock.encode().unwrap()[at..at + 2].try_into().unwrap());
    let plain = sample();
    let with = |change: &dyn Fn(&mut ArrayState)| {
        let mut changed = plain.clone();
        change(&mut changed.state);
        changed
    };
    let older = with(&|state| state.volumes[0].constraint = Constraint::Hybrid(Tiers::FLASH_AND_DISK));
    assert_eq!(bits(&older), (MEDIA | HYBRID) as u16, "what was there before takes what it took");
    let tiers = Tiers::new(Medium::Flash, Medium::Smr).unwrap();
    let raid = PolicyValue { name: RAID_ON[Medium::Smr.index()].into(), value: 0x0201 };
    let more: [(Superblock, u64); 5] = [
        (with(&|state| state.groups[0].medium = Medium::Nvm), MEDIA),
        (with(&|state| state.groups[0].medium = Medium::Smr), MEDIA),
        (with(&|state| state.volumes[0].constraint = Constraint::Prefers(Medium::Smr)), MEDIA),
        (with(&|state| state.volumes[0].constraint = Constraint::Hybrid(tiers)), MEDIA | HYBRID),
        (with(&|state| state.policies = vec![raid.clone()]), GROUP_RAID),
    ];
    for (superblock, beside) in more {
        assert_eq!(bits(&superblock), (MORE_MEDIA | beside) as u16);
        let mut bytes = superblock.encode().unwrap();
        assert_eq!(decode(&bytes), Ok(superblock));
        bytes[at + 1] &= !((MORE_MEDIA >> 8) as u8);
        checksum::seal(&mut bytes);
        assert!(decode(&bytes).is_err(), "without the bit it is malformed");
    }
}

#[test]
fn the_fullest_array_fits_in_its_slot() {
    let mut superblock = sample();
    let state = &mut superblock.state;
    state.policies = (0..MAX_POLICIES)
        .map(|i| PolicyValue { name: format!("{i:0width$}", width = MAX_POLICY_NAME), value: i as u64 })
        .collect();
    state.volumes = (0..MAX_VOLUMES as u32)
        .map(|id| VolumeDesc {
            id: VolumeId(id),
            name: format!("{id:0width$}", width = MAX_VOLUME_NAME),
            size_bytes: u64::MAX,
            created_unix: u64::MAX,
            start_mib: u32::MAX,
            in_doubt: false,
            acknowledged: Acknowledged::Durable,
            constraint: Constraint::Prefers(Medium::Disk),
            paging: Paging::new(4, u32::MAX).unwrap(),
        })
        .collect();
    state.next_volume_id = MAX_VOLUMES as u32;
    let at = RootSegment { group: GroupId(0), segment: SegmentId(0), segment_seq: 1, use_of: RootUse::Pages };
    for root in state.roots.iter_mut().flatten() {
        root.segments = vec![at; MAX_CHECKPOINT_SEGMENTS];
    }
    let bytes = superblock.encode().unwrap();
    assert!(bytes.len() as u64 <= SUPERBLOCK_SLOT);
    assert_eq!(decode(&bytes), Ok(superblock));
}

#[test]
#[should_panic(expected = "not written")]
fn what_newer_programs_made_is_not_written() {
    let _ = Superblock { read_only: true, ..sample() }.encode();
}

/// Decodes the sample with one header field overwritten and the checksum made right again.
fn with_field(offset: usize, value: &[u8]) -> Result<Superblock, SuperblockError> {
    let mut bytes = sample().encode().unwrap();
    bytes[offset..offset + value.len()].copy_from_slice(value);
    checksum::seal(&mut bytes);
    decode(&bytes)
}

#[test]
fn features_decide_about_access() {
    use std::mem::offset_of;
    let unknown = 1 << KNOWN_INCOMPAT.trailing_ones();
    let incompat = with_field(offset_of!(RawSuperblock, incompat), &u64::to_le_bytes(unknown));
    assert_eq!(incompat, Err(SuperblockError::UnknownFeatures(unknown)));
    assert!(with_field(offset_of!(RawSuperblock, ro_compat), &[1]).unwrap().read_only);
    assert_eq!(with_field(offset_of!(RawSuperblock, compat), &[1]), Ok(sample()));
}

#[test]
fn impossible_fields_are_named() {
    use std::mem::offset_of;
    let malformed = |what| Err(SuperblockError::Malformed(what));
    assert_eq!(with_field(offset_of!(RawSuperblock, magic), b"x"), Err(SuperblockError::NotASuperblock));
    assert_eq!(with_field(offset_of!(RawSuperblock, version), &[9]), Err(SuperblockError::UnsupportedVersion(9)));
    assert_eq!(with_field(offset_of!(RawSuperblock, length), &[1]), malformed("length"));
    assert_eq!(with_field(offset_of!(RawSuperblock, length), &[0; 4]), malformed("length"));
    assert_eq!(with_field(offset_of!(RawSuperblock, roots), &[3]), malformed("number of checkpoints"));
    assert_eq!(with_field(offset_of!(RawSuperblock, members), &[5]), malformed("number of members"));
    assert_eq!(with_field(offset_of!(RawSuperblock, volumes), &[0xff, 0xff]), malformed("number of volumes"));
    assert_eq!(with_field(offset_of!(RawSuperblock, member), &[2]), malformed("member number"));
    assert_eq!(with_field(offset_of!(RawSuperblock, member), &[99]), malformed("member number"));
    assert_eq!(with_field(offset_of!(RawSuperblock, name), &[64]), malformed("name"));
    let width = with_field(offset_of!(RawSuperblock, data), &[255, 255]);
    assert!(matches!(width, Err(SuperblockError::Invalid(InvalidState::Layout(_)))));
}
