//! Physical addresses taken apart and put together.
//!
//! The blocks of the array are numbered group by group, segment by segment, column by column, row by row:
//! `pba = group_base + (segment * width + column) * segment_blocks + row`. The rows of one column being neighbours, a
//! sequential read of a chunk is a run of consecutive addresses.

use cygnus_types::{GroupId, MemberIx, Pba, SegmentId};

use crate::constants::{MAX_GROUPS, MAX_MEMBERS, MAX_SEGMENTS};
use crate::geometry::{Geometry, GeometryError};

/// A physical block as its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// R-group.
    pub group: GroupId,
    /// Segment within the group.
    pub segment: SegmentId,
    /// Physical column within the segment: which member of the group.
    pub column: u8,
    /// Row within the segment, headers counted.
    pub row: u32,
}

/// Why a set of groups cannot be addressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// The geometry itself is at fault.
    #[error(transparent)]
    Geometry(#[from] GeometryError),
    /// No group, or too many groups.
    #[error("{0} R-groups: use 1 to {MAX_GROUPS}")]
    Groups(usize),
    /// Too many members.
    #[error("{0} members: use at most {MAX_MEMBERS}, in fewer or narrower groups")]
    Members(usize),
    /// A group without space.
    #[error("group {0} has no segment: use larger devices or a smaller segment size")]
    EmptyGroup(usize),
    /// Too many segments.
    #[error("{0} segments in all: use at most {MAX_SEGMENTS}, by a larger segment size")]
    Segments(u64),
    /// The blocks do not fit in a physical address.
    #[error("{0} blocks in all: at most 2^36 (256 TiB) can be addressed; use smaller devices or fewer groups")]
    Blocks(u64),
}

/// The address arithmetic of one array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    geometry: Geometry,
    groups: Vec<Span>,
    blocks: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Span {
    base: u64,
    segments: u32,
}

impl Layout {
    /// The layout of an array whose groups have these numbers of segments, in order.
    pub fn new(geometry: Geometry, segments: impl IntoIterator<Item = u32>) -> Result<Layout, LayoutError> {
        geometry.validate()?;
        let per_segment = u64::from(geometry.width()) * u64::from(geometry.segment_blocks);
        let mut groups = Vec::new();
        let (mut base, mut total) = (0_u64, 0_u64);
        for count in segments {
            if count == 0 {
                return Err(LayoutError::EmptyGroup(groups.len()));
            }
            groups.push(Span { base, segments: count });
            base = base.saturating_add(u64::from(count) * per_segment);
            total += u64::from(count);
        }
        let members = groups.len() * usize::from(geometry.width());
        match () {
            _ if groups.is_empty() || groups.len() > MAX_GROUPS => Err(LayoutError::Groups(groups.len())),
            _ if members > MAX_MEMBERS => Err(LayoutError::Members(members)),
            _ if total > u64::from(MAX_SEGMENTS) => Err(LayoutError::Segments(total)),
            _ if base > Pba::MAX.0 + 1 => Err(LayoutError::Blocks(base)),
            _ => Ok(Layout { geometry, groups, blocks: base }),
        }
    }

    /// The same with more groups behind those there are: no address changes.
    pub fn extended(&self, segments: impl IntoIterator<Item = u32>) -> Result<Layout, LayoutError> {
        Layout::new(self.geometry, self.groups.iter().map(|span| span.segments).chain(segments))
    }

    /// The shape of segments and stripes.
    #[inline]
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Number of R-groups.
    pub fn groups(&self) -> usize {
        self.groups.len()
    }

    /// Segments of a group.
    pub fn segments(&self, group: GroupId) -> u32 {
        self.groups[group.index()].segments
    }

    /// Blocks of all data areas: every valid address is below this.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Address of row 0 of column 0 of a segment; block (column, row) is `column * segment_blocks + row` further on.
    #[inline]
    pub fn segment_base(&self, group: GroupId, segment: SegmentId) -> Pba {
        let span = &self.groups[group.index()];
        debug_assert!(segment.0 < span.segments);
        Pba(span.base + u64::from(segment.0) * self.segment_span())
    }

    /// Address of a place, which must lie within the array.
    #[inline]
    pub fn pba(&self, place: Place) -> Pba {
        debug_assert!(place.column < self.geometry.width() && place.row < self.geometry.segment_blocks);
        let within = u64::from(place.column) * u64::from(self.geometry.segment_blocks) + u64::from(place.row);
        Pba(self.segment_base(place.group, place.segment).0 + within)
    }

    /// The place at an address, or `None` beyond the end of the array.
    #[inline]
    pub fn locate(&self, pba: Pba) -> Option<Place> {
        if pba.0 >= self.blocks {
            return None;
        }
        let group = self.groups.partition_point(|span| span.base <= pba.0) - 1;
        let within = pba.0 - self.groups[group].base;
        let rows = u64::from(self.geometry.segment_blocks);
        // At most MAX_SEGMENTS * MAX_WIDTH, so the second division is a cheap 32-bit one.
        let columns = (within / rows) as u32;
        let width = u32::from(self.geometry.width());
        Some(Place {
            group: GroupId(group as u16),
            segment: SegmentId(columns / width),
            column: (columns % width) as u8,
            row: (within % rows) as u32,
        })
    }

    /// The member that holds a column of a group: members are numbered group by group, column by column.
    #[inline]
    pub fn member(&self, group: GroupId, column: u8) -> MemberIx {
        MemberIx(group.0 * u16::from(self.geometry.width()) + u16::from(column))
    }

    /// Group and column of a member; the inverse of [`Layout::member`].
    pub fn column_of(&self, member: MemberIx) -> (GroupId, u8) {
        let width = u16::from(self.geometry.width());
        (GroupId(member.0 / width), (member.0 % width) as u8)
    }

    /// Blocks of one segment over all its columns.
    #[inline]
    fn segment_span(&self) -> u64 {
        u64::from(self.geometry.width()) * u64::from(self.geometry.segment_blocks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constants::{MAX_SEGMENT_BLOCKS, MAX_WIDTH};

    const SMALL: Geometry = Geometry { data: 2, parity: 1, chunk_blocks: 2, stripe_rows: 4, segment_blocks: 16 };

    #[test]
    fn addresses_and_places_are_a_bijection() {
        let layout = Layout::new(SMALL, [3, 1, 2]).unwrap();
        assert_eq!(layout.blocks(), 6 * 3 * 16);
        let mut last = None;
        for pba in (0..layout.blocks()).map(Pba) {
            let place = layout.locate(pba).unwrap();
            assert!(place.segment.0 < layout.segments(place.group));
            assert_eq!(layout.pba(place), pba);
            assert!(last < Some(place), "order of addresses is order of places");
            last = Some(place);
        }
        assert_eq!(layout.locate(Pba(layout.blocks())), None);
        assert_eq!(layout.locate(Pba(u64::MAX)), None);
    }

    #[test]
    fn members_are_numbered_group_by_group() {
        let layout = Layout::new(SMALL, [3, 1, 2]).unwrap();
        assert_eq!(layout.member(GroupId(2), 1), MemberIx(7));
        assert_eq!(layout.column_of(MemberIx(7)), (GroupId(2), 1));
    }

    #[test]
    fn an_extended_layout_keeps_every_address() {
        let before = Layout::new(SMALL, [3, 1]).unwrap();
        let after = before.extended([2]).unwrap();
        assert_eq!(after, Layout::new(SMALL, [3, 1, 2]).unwrap());
        assert!((0..before.blocks()).all(|pba| before.locate(Pba(pba)) == after.locate(Pba(pba))));
    }

    #[test]
    fn arrays_beyond_the_limits_are_refused() {
        let error = |geometry, groups: &[u32]| Layout::new(geometry, groups.iter().copied()).unwrap_err();
        assert_eq!(error(SMALL, &[]), LayoutError::Groups(0));
        assert_eq!(error(SMALL, &[1, 0]), LayoutError::EmptyGroup(1));
        assert_eq!(error(SMALL, &[1; 65]), LayoutError::Groups(65));
        assert_eq!(error(SMALL, &[u32::MAX; 2]), LayoutError::Segments(2 * u64::from(u32::MAX)));
        let wide = Geometry { data: MAX_WIDTH - 1, ..SMALL };
        assert_eq!(error(wide, &[1; 9]), LayoutError::Members(288));
        let huge = Geometry { segment_blocks: MAX_SEGMENT_BLOCKS, ..wide };
        assert_eq!(error(huge, &[129]), LayoutError::Blocks(129 << 29));
        assert!(Layout::new(huge, [128]).is_ok(), "exactly 2^36 blocks");
    }
}
