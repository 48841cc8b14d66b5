use super::*;
use crate::constants::MAX_PARITY;
use crate::layout::LayoutError;
use proptest::prelude::*;

fn member(number: u64, geometry: &Geometry, segments: u32) -> MemberDesc {
    let size_bytes = geometry.segments_start() + u64::from(segments) * geometry.segment_bytes();
    MemberDesc {
        uuid: Uuid::from_random(number, number),
        size_bytes,
        state: MemberState::Online,
        holds: Holdings::default(),
        errors: MemberErrors { read: number as u8, wrong: 7, slow: u8::MAX },
    }
}

fn root(generation: u64, segments: Vec<RootSegment>) -> CheckpointRoot {
    CheckpointRoot {
        generation,
        barrier: 100 * generation,
        next_write_seq: 1000 * generation,
        next_stripe_seq: 101 * generation,
        next_segment_seq: 11 * generation,
        mapped_blocks: 17,
        pages: 3,
        segments,
    }
}

/// Two groups of 2+1 with two volumes and two checkpoints.
pub(crate) fn tank() -> ArrayState {
    let geometry = Geometry {
        data: 2,
        parity: 1,
        chunk_blocks: 4,
        stripe_rows: 16,
        segment_blocks: 256,
        transient_blocks: 0,
        lead_blocks: 0,
    };
    let group = |first: u64, extents: &[(u32, u32)]| {
        let extents: Vec<Extent> = extents.iter().map(|&(first, frames)| Extent { first, frames }).collect();
        let segments = extents.iter().map(|extent| extent.frames).sum();
        let members = (first..first + 3).map(|n| member(n, &geometry, segments)).collect();
        let raid = geometry.raid();
        GroupDesc { extents, state: GroupState::InService, medium: Medium::Flash, raid, members }
    };
    let volume = |id, name: &str| VolumeDesc {
        id: VolumeId(id),
        name: name.to_owned(),
        size_bytes: 1 << 30,
        created_unix: 1_700_000_000,
        start_mib: 0,
        in_doubt: false,
        acknowledged: Acknowledged::Memory,
        constraint: Constraint::None,
        paging: Paging::new(if id == 0 { 1 } else { 4 }, if id == 0 { 0 } else { 7 }).unwrap(),
    };
    let at = |group, segment| RootSegment {
        group: GroupId(group),
        segment: SegmentId(segment),
        segment_seq: 9,
        use_of: RootUse::Pages,
    };
    ArrayState {
        name: "tank".to_owned(),
        preset: "swan".to_owned(),
        geometry,
        over_provisioning_permille: 200,
        policies: vec![
            PolicyValue { name: "checkpoint.interval".to_owned(), value: 30 },
            PolicyValue { name: "watermark.low".to_owned(), value: 5 },
        ],
        groups: vec![group(10, &[(0, 8)]), group(20, &[(9, 3), (8, 1)])],
        spares: vec![SpareDesc { uuid: Uuid::from_random(30, 30), size_bytes: 1 << 30 }],
        session: 3,
        clean: true,
        volumes: vec![volume(0, "vol0"), volume(4, "db.main_1-a")],
        next_volume_id: 5,
        last_scrub_unix: 1_700_000_000,
        losses: Losses { found: 7, asked: 0 },
        counted_from: 77,
        roots: [Some(root(6, vec![at(0, 7), at(1, 3)])), Some(root(5, vec![at(0, 6)]))],
        in_place: None,
    }
}

prop_compose! {
    fn any_geometry()(
        data in 1..=5_u8, parity in 0..=MAX_PARITY, chunk_blocks in 1..=8_u32, chunks in 1..=4_u32, spare in 0..64_u32,
        transient in 0..9_u32,
    ) -> Geometry {
        let g = Geometry { data, parity, chunk_blocks, stripe_rows: chunk_blocks * chunks, segment_blocks: 0, transient_blocks: 0, lead_blocks: 0 };
        let transient_blocks = if parity > 0 { transient } else { 0 };
        // Narrower groups may have longer headers: with one data column there are more copies of them.
        let header = (1..=data).map(|data| Geometry { data, ..g }.header_blocks(g.stripe_rows)).max().unwrap();
        let segment_blocks = g.stripe_rows + header + spare;
        Geometry { segment_blocks, transient_blocks, ..g }
    }
}

fn any_name(max: usize) -> impl Strategy<Value = String> {
    let pattern = format!("[A-Za-z0-9][A-Za-z0-9._-]{{0,{}}}", max - 1);
    prop::string::string_regex(&pattern).unwrap()
}

fn any_groups(geometry: Geometry) -> impl Strategy<Value = Vec<GroupDesc>> {
    let holds = any::<(u64, u32, u64, u64, u64)>();
    prop::collection::vec((1..=9_u32, 0..=3_u8, 1..=4_u8, holds), 1..=4).prop_map(move |groups| {
        let mut next = 0;
        // In up to two pieces, with gaps. The first group is always there: checkpoints name it.
        let mut extents = move |frames: u32| {
            let pieces = [
                Extent { first: next + 1, frames: frames / 2 },
                Extent { first: next + 12, frames: frames.div_ceil(2) },
            ];
            next += 20;
            pieces.into_iter().filter(|extent| extent.frames > 0).collect()
        };
        let describe = |(ix, (segments, group_state, state, holds)): (usize, (u32, u8, u8, _))| {
            let (below, restored, restored_below, generation, session) = holds;
            let describe_member = |column: u8| MemberDesc {
                state: MemberState::from_byte(state).unwrap(),
                holds: Holdings { below, restored, restored_below, generation, session },
                ..member((ix * 100 + usize::from(column)) as u64, &geometry, segments)
            };
            let group_state = GroupState::from_byte(group_state).filter(|&s| ix > 0 || s != GroupState::Retired);
            let group_state = group_state.unwrap_or_default();
            // Every other one is narrower, if there can be such groups.
            let Geometry { data, parity, .. } = geometry;
            let raid = Raid { data: if ix % 2 == 1 { data.div_ceil(2) } else { data }, parity };
            let members = (0..raid.width()).map(describe_member).collect();
            let medium = Medium::ALL[ix % Medium::ALL.len()];
            let extents = if group_state == GroupState::Retired { Vec::new() } else { extents(segments) };
            GroupDesc { extents, state: group_state, medium, raid, members }
        };
        groups.into_iter().enumerate().map(describe).collect()
    })
}

fn any_volumes() -> impl Strategy<Value = Vec<VolumeDesc>> {
    let described = (any_name(MAX_VOLUME_NAME), any::<u64>(), any::<u64>());
    prop::collection::btree_map(0..1000_u32, described, 0..12).prop_map(|volumes| {
        let mut names = BTreeSet::new();
        let described = volumes.into_iter().map(|(id, (name, size_bytes, created_unix))| VolumeDesc {
            id: VolumeId(id),
            name,
            size_bytes,
            created_unix,
            start_mib: id,
            in_doubt: id % 2 == 1,
            acknowledged: Acknowledged::ALL[id as usize % 3],
            constraint: Constraint::from_byte((id % 15) as u8).unwrap(),
            paging: Paging::BLOCKS,
        });
        described.filter(|v| names.insert(v.name.clone())).collect()
    })
}

fn any_policies() -> impl Strategy<Value = Vec<PolicyValue>> {
    prop::collection::btree_map(any_name(MAX_POLICY_NAME), any::<u64>(), 0..9)
        .prop_map(|policies| policies.into_iter().map(|(name, value)| PolicyValue { name, value }).collect())
}

fn any_roots() -> impl Strategy<Value = [Option<CheckpointRoot>; 2]> {
    let segments = || prop::collection::vec(any::<u64>(), 0..40);
    (0..=2_usize, 1..1000_u64, segments(), segments()).prop_map(|(count, generation, newer, older)| {
        let at = |segment_seq: u64| {
            let use_of = if segment_seq.is_multiple_of(2) { RootUse::Pages } else { RootUse::Open };
            RootSegment { group: GroupId(0), segment: SegmentId(0), segment_seq, use_of }
        };
        let newer = root(generation + 1, newer.into_iter().map(at).collect());
        let older = root(generation, older.into_iter().map(at).collect());
        [(count > 0).then_some(newer), (count > 1).then_some(older)]
    })
}

/// Any state that may be written.
pub(crate) fn any_state() -> impl Strategy<Value = ArrayState> {
    let names = (any_name(MAX_ARRAY_NAME), any_name(MAX_PRESET_NAME));
    let spares = prop::collection::btree_map(1000..2000_u64, any::<u64>(), 0..4).prop_map(|spares| {
        spares.into_iter().map(|(n, size_bytes)| SpareDesc { uuid: Uuid::from_random(n, n), size_bytes }).collect()
    });
    let shape = any_geometry().prop_flat_map(|g| (Just(g), any_groups(g)));
    let shape = (shape, spares);
    (names, shape, 0..1000_u16, any_policies(), any_volumes(), any_roots(), any::<(u64, bool)>()).prop_map(
        |(
            (name, preset),
            ((geometry, groups), spares),
            over_provisioning_permille,
            policies,
            volumes,
            roots,
            (session, clean),
        )| {
            ArrayState {
                name,
                preset,
                geometry,
                over_provisioning_permille,
                policies,
                groups,
                spares,
                session,
                clean,
                volumes,
                next_volume_id: 1000,
                last_scrub_unix: session ^ 5,
                losses: Losses { found: session ^ 8, asked: session >> 3 },
                counted_from: session ^ 6,
                roots,
                in_place: session.is_multiple_of(3).then_some(InPlace { blank_from_mib: session / 3 }),
            }
        },
    )
}

#[test]
fn what_a_member_holds_is_told_by_sequence_and_segment() {
    let holds = Holdings { below: 10, restored: 3, restored_below: 50, ..Holdings::default() };
    for (segment, seq, has) in
        [(0, 9, true), (9, 9, true), (2, 49, true), (2, 50, false), (3, 10, false), (3, 49, false)]
    {
        assert_eq!(holds.has(SegmentId(segment), seq), has, "segment {segment}, stripe {seq}");
    }
    assert!(!Holdings::default().has(SegmentId(0), 0), "a new device holds nothing");
}

#[test]
fn names_are_safe_everywhere() {
    for good in ["a", "tank", "vol0", "db.main_1-a", "0"] {
        assert!(valid_name(good, 63), "{good}");
    }
    for bad in ["", ".", "..", "-rf", "_x", "a/b", "a b", "ä", "a\0", "a\n"] {
        assert!(!valid_name(bad, 63), "{bad:?}");
    }
    assert!(valid_name(&"x".repeat(63), 63) && !valid_name(&"x".repeat(64), 63));
}

fn error(change: impl FnOnce(&mut ArrayState)) -> InvalidState {
    let mut state = tank();
    change(&mut state);
    state.validate().unwrap_err()
}

#[test]
fn contradictions_are_named() {
    tank().validate().unwrap();
    assert!(matches!(error(|s| s.name.clear()), InvalidState::Name { what: "array", .. }));
    assert!(matches!(error(|s| s.preset = "x y".to_owned()), InvalidState::Name { what: "preset", .. }));
    assert!(matches!(error(|s| s.volumes[0].name = "/".to_owned()), InvalidState::Name { what: "volume", .. }));
    assert_eq!(error(|s| s.groups.clear()), InvalidState::Layout(LayoutError::Groups(0)));
    assert_eq!(error(|s| s.over_provisioning_permille = 1000), InvalidState::OverProvisioning(1000));
    assert_eq!(error(|s| s.policies.swap(0, 1)), InvalidState::Policies);
    let twice = tank().groups[0].members[0].uuid;
    assert_eq!(error(|s| s.spares[0].uuid = twice), InvalidState::DuplicateMember(twice));
    assert_eq!(error(|s| s.spares = vec![s.spares[0]; MAX_SPARES + 1]), InvalidState::TooManySpares(MAX_SPARES + 1));
    assert_eq!(error(|s| s.policies[1] = s.policies[0].clone()), InvalidState::Policies);
    assert!(matches!(error(|s| s.groups[1].members.truncate(2)), InvalidState::GroupWidth { group: 1, .. }));
    assert!(matches!(error(|s| s.groups[1].extents[0].frames = 4), InvalidState::MemberTooSmall { group: 1, .. }));
    assert_eq!(error(|s| s.groups[1].extents.clear()), InvalidState::Layout(LayoutError::EmptyGroup(1)));
    assert_eq!(error(|s| s.groups[1].state = GroupState::Retired), InvalidState::Layout(LayoutError::EmptyGroup(1)));
    assert_eq!(error(|s| s.groups[1].extents[0].first = 7), InvalidState::Layout(LayoutError::Overlap(7)));
    let twice = error(|s| s.groups[1].members[0].uuid = s.groups[0].members[0].uuid);
    assert_eq!(twice, InvalidState::DuplicateMember(tank().groups[0].members[0].uuid));
    assert_eq!(error(|s| s.volumes[1].name = "vol0".to_owned()), InvalidState::DuplicateVolume("vol0".to_owned()));
    assert!(matches!(error(|s| s.volumes[1].id = VolumeId(0)), InvalidState::VolumeId { .. }));
    assert!(matches!(error(|s| s.next_volume_id = 4), InvalidState::VolumeId { next: 4, .. }));
}

#[test]
fn checkpoints_must_be_possible() {
    let first = |s: &mut ArrayState| s.roots[0].clone().unwrap();
    assert_eq!(error(|s| s.roots.swap(0, 1)), InvalidState::CheckpointOrder);
    assert_eq!(error(|s| s.roots[0] = None), InvalidState::CheckpointOrder);
    let elsewhere = error(|s| {
        let mut root = first(s);
        root.segments[0] =
            RootSegment { group: GroupId(1), segment: SegmentId(4), segment_seq: 1, use_of: RootUse::Pages };
        s.roots[0] = Some(root);
    });
    let (group, segment) = (GroupId(1), SegmentId(4));
    assert_eq!(elsewhere, InvalidState::CheckpointSegment { generation: 6, group, segment });
    let long = error(|s| {
        let mut root = first(s);
        root.segments = vec![root.segments[0]; MAX_CHECKPOINT_SEGMENTS + 1];
        s.roots[0] = Some(root);
    });
    assert!(
        matches!(long, InvalidState::CheckpointTooLarge { generation: 6, segments } if segments == MAX_CHECKPOINT_SEGMENTS + 1)
    );
}

#[test]
fn a_group_that_comes_gets_the_number_and_the_addresses_of_one_that_left() {
    let mut state = tank();
    state.roots = [None, None];
    state.groups[0].state = GroupState::Retired;
    state.groups[0].extents.clear();
    state.validate().unwrap();
    let (geometry, gone) = (state.geometry, state.groups[0].members[0].uuid);
    let new = |first: u64, segments| (first..first + 3).map(|n| member(n, &geometry, segments)).collect::<Vec<_>>();
    assert_eq!(state.admit(10, (Medium::Flash, geometry.raid()), new(40, 10), GroupState::InService), Ok(GroupId(0)));
    assert_eq!(state.groups[0].extents, [Extent { first: 0, frames: 8 }, Extent { first: 12, frames: 2 }]);
    assert_eq!(
        state.admit(5, (Medium::Disk, geometry.raid()), new(50, 5), GroupState::Joining),
        Ok(GroupId(2)),
        "no other number is vacant"
    );
    assert_eq!(state.groups[2].extents, [Extent { first: 14, frames: 5 }]);
    state.validate().unwrap();
    assert!(!(0..9).any(|ix| state.lists(MemberIx(ix), gone)), "whoever had the number is a stranger now");
    let before = state.clone();
    let too_many = state.admit(u32::MAX, (Medium::Flash, geometry.raid()), new(60, 1), GroupState::InService);
    assert!(matches!(too_many, Err(LayoutError::Segments(_))));
    assert_eq!(state, before);
}
