use super::*;
use crate::constants::{MAX_SEGMENT_BLOCKS, MAX_WIDTH};
use cygnus_types::BLOCK;

const SMALL: Geometry = Geometry {
    data: 2,
    parity: 1,
    chunk_blocks: 2,
    stripe_rows: 4,
    segment_blocks: 16,
    transient_blocks: 0,
    lead_blocks: 0,
};

fn extent(first: u32, frames: u32) -> Extent {
    Extent { first, frames }
}

/// Groups with these numbers of segments that come one after the other; a zero is a number without a group.
fn layout(geometry: Geometry, segments: &[u32]) -> Result<Layout, LayoutError> {
    let mut groups: Vec<Vec<Extent>> = Vec::new();
    for &count in segments {
        groups.push(allocate(&geometry, groups.iter().flatten().copied(), count)?);
    }
    of_extents(geometry, groups)
}

/// Groups with these extents and as many columns as the geometry has.
fn of_extents(
    geometry: Geometry,
    groups: impl IntoIterator<Item = impl IntoIterator<Item = Extent>>,
) -> Result<Layout, LayoutError> {
    Layout::new(geometry, groups.into_iter().map(|extents| (geometry.raid(), extents)))
}

fn is_a_bijection(layout: &Layout) {
    let mut known = 0;
    for pba in (0..layout.blocks()).map(Pba) {
        let Some(place) = layout.locate(pba) else { continue };
        assert!(place.segment.0 < layout.segments(place.group));
        assert_eq!(layout.pba(place), pba);
        known += 1;
    }
    assert_eq!(known, u64::from(layout.all_segments()) * 3 * 16);
    assert_eq!(layout.locate(Pba(layout.blocks())), None);
    assert_eq!(layout.locate(Pba(u64::MAX)), None);
    assert_eq!(layout.frames().count(), layout.all_segments() as usize);
    for group in (0..layout.groups()).map(|group| GroupId(group as u16)) {
        let segments = layout.frames_of(group).map(|frame| layout.segment_of(frame));
        assert!(segments.eq((0..layout.segments(group)).map(|segment| Some((group, SegmentId(segment))))));
    }
}

#[test]
fn addresses_and_places_are_a_bijection() {
    let plain = layout(SMALL, &[3, 1, 2]).unwrap();
    assert_eq!(plain.blocks(), 6 * 3 * 16);
    is_a_bijection(&plain);
    let in_pieces =
        of_extents(SMALL, [vec![extent(5, 2), extent(0, 1)], vec![], vec![extent(3, 1)], vec![extent(1, 1)]]).unwrap();
    assert_eq!(in_pieces.blocks(), 7 * 3 * 16, "frames 2 and 4 are nobody's");
    is_a_bijection(&in_pieces);
    assert_eq!(in_pieces.segment_of(0), Some((GroupId(0), SegmentId(2))), "the order of a group's extents counts");
    assert_eq!((in_pieces.segment_of(2), in_pieces.segment_of(4), in_pieces.segment_of(7)), (None, None, None));
}

#[test]
fn members_are_numbered_group_by_group() {
    let layout = layout(SMALL, &[3, 1, 2]).unwrap();
    assert_eq!(layout.member(GroupId(2), 1), MemberIx(7));
    assert_eq!(layout.column_of(MemberIx(7)), (GroupId(2), 1));
}

#[test]
fn whoever_comes_or_goes_leaves_the_addresses_of_others() {
    let before = layout(SMALL, &[3, 1, 2]).unwrap();
    let gone = before.without(GroupId(1));
    assert_eq!((gone.groups(), gone.segments(GroupId(1)), gone.all_segments()), (3, 0, 5));
    let free = allocate(&SMALL, [extent(0, 3), extent(4, 2)], 4).unwrap();
    assert_eq!(free, [extent(3, 1), extent(6, 3)], "the lowest ones, in as many pieces as that takes");
    let after = gone.with(GroupId(1), SMALL.raid(), &free).unwrap();
    for pba in (0..before.blocks()).map(Pba) {
        let place = before.locate(pba);
        if place.is_some_and(|place| place.group != GroupId(1)) {
            assert_eq!((gone.locate(pba), after.locate(pba)), (place, place));
        }
    }
    assert_eq!(
        after.with(GroupId(1), SMALL.raid(), &[extent(20, 1)]),
        Err(LayoutError::Overlap(3)),
        "there is such a group"
    );
    assert_eq!(after.with(GroupId(3), SMALL.raid(), &[extent(5, 2)]), Err(LayoutError::Overlap(5)), "not free");
}

#[test]
fn arrays_beyond_the_limits_are_refused() {
    let error = |geometry, groups: &[u32]| layout(geometry, groups).unwrap_err();
    assert_eq!(error(SMALL, &[]), LayoutError::Groups(0));
    assert_eq!(error(SMALL, &[0]), LayoutError::Groups(1));
    assert_eq!(error(SMALL, &[1; 65]), LayoutError::Groups(65));
    assert_eq!(error(SMALL, &[u32::MAX; 2]), LayoutError::Segments(u64::from(u32::MAX)));
    assert_eq!(of_extents(SMALL, [[extent(1, 0)]]), Err(LayoutError::EmptyGroup(0)));
    let everywhere = of_extents(SMALL, [[extent(u32::MAX, u32::MAX)]]);
    assert_eq!(everywhere, Err(LayoutError::Segments(2 * u64::from(u32::MAX))));
    let scattered = (0..=MAX_EXTENTS as u32).map(|n| extent(2 * n, 1));
    assert_eq!(of_extents(SMALL, [scattered]), Err(LayoutError::Extents(MAX_EXTENTS + 1)));
    let wide = Geometry { data: MAX_WIDTH - 1, ..SMALL };
    assert_eq!(error(wide, &[1; 9]), LayoutError::Members(288));
    let huge = Geometry { segment_blocks: MAX_SEGMENT_BLOCKS, ..wide };
    assert_eq!(error(huge, &[129]), LayoutError::Blocks(129 << 29));
    assert_eq!(of_extents(huge, [[extent(128, 1)]]), Err(LayoutError::Blocks(129 << 29)));
    assert!(layout(huge, &[128]).is_ok(), "exactly 2^36 blocks");
}

/// A group of 2+1 and one of 3+2, on frames of five columns.
#[test]
fn narrow_groups_leave_addresses_unused() {
    let wide = Geometry { data: 3, parity: 2, segment_blocks: 32, ..SMALL };
    let [narrow, own] = [Raid { data: 2, parity: 1 }, wide.raid()];
    let groups = [(narrow, [extent(0, 2)]), (own, [extent(3, 2)]), (narrow, [extent(2, 1)])];
    let layout = Layout::new(wide, groups).unwrap();
    assert_eq!((layout.width(GroupId(0)), layout.width(GroupId(1)), layout.shape(GroupId(0)).data), (3, 5, 2));
    assert_eq!(layout.blocks(), 5 * 5 * 32);
    let known: Vec<Pba> = (0..layout.blocks()).map(Pba).filter(|&pba| layout.locate(pba).is_some()).collect();
    assert_eq!(known.len(), 2 * 3 * 32 + 2 * 5 * 32 + 3 * 32);
    for pba in known {
        let place = layout.locate(pba).unwrap();
        assert_eq!(layout.pba(place), pba);
        assert!(place.column < layout.width(place.group));
    }
    let members: Vec<_> = (0..3).flat_map(|group| layout.members_of(GroupId(group))).collect();
    assert_eq!(members, (0..11).map(MemberIx).collect::<Vec<_>>(), "numbers have no gaps");
    for member in members {
        let (group, column) = layout.column_of(member);
        assert_eq!(layout.member(group, column), member);
    }
    let too_wide = Layout::new(SMALL, [(narrow, [extent(0, 2)]), (own, [extent(3, 2)])]);
    assert_eq!(too_wide, Err(LayoutError::TooWide { group: 1, raid: own, most: 3 }));
}

/// Groups that come and go in an array, as far as addresses are concerned.
struct Fleet {
    geometry: Geometry,
    groups: Vec<Vec<Extent>>,
    /// Most segments at one time.
    peak: u64,
    /// Most extents at one time.
    pieces: usize,
}

impl Fleet {
    fn new(geometry: Geometry) -> Self {
        Self { geometry, groups: Vec::new(), peak: 0, pieces: 0 }
    }

    fn add(&mut self, segments: u32) -> Result<(), LayoutError> {
        let extents = allocate(&self.geometry, self.groups.iter().flatten().copied(), segments)?;
        match self.groups.iter().position(Vec::is_empty) {
            Some(vacant) => self.groups[vacant] = extents,
            None => self.groups.push(extents),
        }
        let layout = of_extents(self.geometry, self.groups.iter().cloned())?;
        self.peak = self.peak.max(layout.all_segments().into());
        self.pieces = self.pieces.max(self.groups.iter().map(Vec::len).sum());
        assert!(layout.end_frame() <= self.peak, "no address above what was ever needed at once");
        Ok(())
    }

    fn retire(&mut self, group: usize) -> u32 {
        std::mem::take(&mut self.groups[group]).iter().map(|extent| extent.frames).sum()
    }
}

/// 256 TiB, data and parity, filled to the last address: ten times, each group is replaced by one of other devices.
#[test]
fn ten_refreshes_of_a_full_array_fit() {
    // 32 groups of 6+2 with segments of 128 MiB on each member.
    let geometry = Geometry {
        data: 6,
        parity: 2,
        chunk_blocks: 16,
        stripe_rows: 48,
        segment_blocks: 32 << 10,
        transient_blocks: 0,
        lead_blocks: 0,
    };
    let all = frames(&geometry);
    assert_eq!(u64::from(all) * geometry.frame_blocks() * BLOCK as u64, 256 << 40);
    let mut fleet = Fleet::new(geometry);
    (0..32).for_each(|_| fleet.add(all / 32).unwrap());
    assert_eq!(fleet.add(1), Err(LayoutError::Segments(u64::from(all) + 1)), "not one more");
    for refresh in 1..=10_u32 {
        // Sizes differ from group to group and from refresh to refresh; what one has more the next one has less.
        let odd = 97 * refresh;
        for group in 0..32 {
            let was = fleet.retire(group);
            let new = if group % 2 == 0 { was - odd } else { was + odd };
            fleet.add(new).unwrap();
        }
        assert!(fleet.add(1).is_err(), "as full as before");
    }
    // A new generation of twice the size: half as many groups, each when two old ones have left.
    for pair in 0..16 {
        let room = fleet.retire(2 * pair) + fleet.retire(2 * pair + 1);
        fleet.add(room).unwrap();
    }
    assert_eq!(fleet.groups.iter().filter(|extents| !extents.is_empty()).count(), 16);
    assert!(fleet.pieces < MAX_EXTENTS / 4, "{} pieces", fleet.pieces);
}

/// However groups come and go, whoever fits gets in.
#[test]
fn addresses_do_not_fall_to_pieces() {
    let mut state = 1_u64;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut fleet = Fleet::new(Geometry { segment_blocks: 1 << 16, ..SMALL });
    let all = u64::from(frames(&fleet.geometry));
    let mut added = 0;
    for _ in 0..20_000 {
        let there: Vec<usize> = (0..fleet.groups.len()).filter(|&group| !fleet.groups[group].is_empty()).collect();
        let used: u64 = fleet.groups.iter().flatten().map(|extent| u64::from(extent.frames)).sum();
        let wanted = 16 + draw(all / 20);
        if there.len() == MAX_GROUPS || used + wanted > all || (there.len() > 1 && draw(2) == 0) {
            fleet.retire(there[draw(there.len() as u64) as usize]);
        } else {
            fleet.add(wanted as u32).unwrap();
            added += 1;
        }
    }
    assert!(added > 5_000 && fleet.pieces < MAX_EXTENTS / 2, "{added} groups, at most {} pieces", fleet.pieces);
}
