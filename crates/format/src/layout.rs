//! Physical addresses taken apart and put together.
//!
//! A *frame* is as many addresses as the blocks of a segment take, over all its columns, in the widest group that the array can have;
//! frame n begins at address `n * width * segment_blocks`. Each segment of each group has a frame to itself, in which its blocks are
//! numbered column by column, row by row: `pba = frame * width * segment_blocks + column * segment_blocks + row`. The rows of one
//! column being neighbours, a sequential read of a chunk is a run of consecutive addresses. Segments of narrower groups leave the
//! addresses of the columns that they do not have unused.
//!
//! Which frames a group has its description says, in *extents*: runs of frames. A group that comes takes the lowest
//! frames that are free, in as many extents as that takes, and one that goes leaves its frames to those that come: so no
//! address is above what the groups that were there at the same time needed. See [`allocate`].

use cygnus_types::{GroupId, MemberIx, Pba, SegmentId};

use crate::constants::{MAX_EXTENTS, MAX_GROUPS, MAX_MEMBERS, MAX_SEGMENTS};
use crate::geometry::{Geometry, GeometryError};
use crate::raid::Raid;

/// A run of frames that belong to one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Extent {
    /// Number of the first frame.
    pub first: u32,
    /// How many frames follow one another.
    pub frames: u32,
}

impl Extent {
    /// The frame behind its last one; in 64 bits, as what a superblock says may be anything.
    fn end(&self) -> u64 {
        u64::from(self.first) + u64::from(self.frames)
    }

    fn iter(&self) -> std::ops::Range<u32> {
        self.first..self.first + self.frames
    }
}

/// A physical block as its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// R-group that the block is in.
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
    /// A group with columns that its frames have no addresses for.
    #[error("group {group} is {raid}, and the array's addresses are for groups of at most {most} members")]
    TooWide {
        /// Number of the group that is too wide.
        group: usize,
        /// The columns that it has.
        raid: Raid,
        /// Members of the widest group that there can be.
        most: u8,
    },
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
    /// Two segments with the same addresses.
    #[error("frame {0} belongs to two segments")]
    Overlap(u32),
    /// The free addresses are in too many pieces.
    #[error("the addresses of all groups are in {0} pieces: at most {MAX_EXTENTS} can be listed")]
    Extents(usize),
}

/// The address arithmetic of one array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// That of the widest groups that there can be.
    geometry: Geometry,
    groups: Vec<Group>,
    /// The extents of all groups in the order of addresses.
    by_address: Vec<Piece>,
}

/// What a group has of the array's addresses and numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Group {
    /// In the order of its segments; none for a number that no group has.
    extents: Vec<Extent>,
    shape: Geometry,
    /// The number of its first member.
    first_member: u16,
}

/// An extent and the segments that lie in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    extent: Extent,
    group: u16,
    /// Segment of the group that lies in the first frame.
    segment: u32,
}

/// Frames that there are: what 2^36 addresses hold, and not more than there may be segments.
fn frames(geometry: &Geometry) -> u32 {
    let addressable = (Pba::MAX.0 + 1) / geometry.frame_blocks();
    addressable.min(MAX_SEGMENTS.into()) as u32
}

/// The lowest frames that are free beside those taken, for a group of this number of segments.
///
/// # Errors
/// When there are not as many.
pub fn allocate(
    geometry: &Geometry,
    taken: impl IntoIterator<Item = Extent>,
    segments: u32,
) -> Result<Vec<Extent>, LayoutError> {
    let mut taken: Vec<Extent> = taken.into_iter().collect();
    taken.sort_unstable();
    let (mut wanted, mut next, mut found) = (segments, 0, Vec::new());
    let limit = frames(geometry);
    for gap_end in taken.iter().map(|extent| extent.first).chain([limit]) {
        let frames = wanted.min(gap_end.saturating_sub(next));
        if frames > 0 {
            found.push(Extent { first: next, frames });
            wanted -= frames;
        }
        let behind = taken.iter().find(|extent| extent.first == gap_end).map_or(limit.into(), Extent::end);
        next = u32::try_from(behind).unwrap_or(limit);
    }
    if wanted == 0 {
        return Ok(found);
    }
    let all = taken.iter().map(|extent| u64::from(extent.frames)).sum::<u64>() + u64::from(segments);
    Err(match all > MAX_SEGMENTS.into() {
        true => LayoutError::Segments(all),
        false => LayoutError::Blocks(all * geometry.frame_blocks()),
    })
}

impl Layout {
    /// The layout of an array whose groups have these columns and extents, by number, none of them more columns than `geometry`.
    pub fn new(
        geometry: Geometry,
        groups: impl IntoIterator<Item = (Raid, impl IntoIterator<Item = Extent>)>,
    ) -> Result<Layout, LayoutError> {
        geometry.validate()?;
        let (mut members, mut described) = (0, Vec::new());
        for (raid, extents) in groups {
            let (group, most, shape) = (described.len(), geometry.width(), geometry.with_raid(raid));
            shape.validate()?;
            if raid.width() > most {
                return Err(LayoutError::TooWide { group, raid, most });
            }
            // More than fit in 16 bits are refused below.
            let first_member = members as u16;
            members += usize::from(raid.width());
            described.push(Group { extents: extents.into_iter().collect(), shape, first_member });
        }
        let all_extents = || described.iter().flat_map(|group| &group.extents);
        let extents = all_extents().count();
        let total: u64 = all_extents().map(|extent| u64::from(extent.frames)).sum();
        let end = all_extents().map(Extent::end).max().unwrap_or(0);
        match () {
            _ if extents == 0 || described.len() > MAX_GROUPS => return Err(LayoutError::Groups(described.len())),
            _ if members > MAX_MEMBERS => return Err(LayoutError::Members(members)),
            _ if extents > MAX_EXTENTS => return Err(LayoutError::Extents(extents)),
            _ if total.max(end) > u64::from(MAX_SEGMENTS) => return Err(LayoutError::Segments(total.max(end))),
            _ if end > u64::from(frames(&geometry)) => return Err(LayoutError::Blocks(end * geometry.frame_blocks())),
            _ => {}
        }
        let by_address = pieces(&described)?;
        Ok(Layout { geometry, groups: described, by_address })
    }

    /// The same when a group of this number has come, in the place of one that has left or behind all others; no address of another
    /// one changes.
    ///
    /// # Errors
    /// When there is such a group, its addresses are not free, or the one that has left had other columns: the members behind
    /// would get other numbers.
    pub fn with(&self, group: GroupId, raid: Raid, extents: &[Extent]) -> Result<Layout, LayoutError> {
        let mut groups: Vec<_> = self.described().collect();
        match groups.get_mut(group.index()) {
            None => {
                assert_eq!(group.index(), groups.len(), "groups are numbered one after the other");
                groups.push((raid, extents.to_vec()));
            }
            Some((_, there)) if !there.is_empty() => return Err(LayoutError::Overlap(there[0].first)),
            Some(left) => {
                assert_eq!(left.0.width(), raid.width(), "{group} would move the numbers of other members");
                *left = (raid, extents.to_vec());
            }
        }
        Layout::new(self.geometry, groups)
    }

    /// The same when a group has gone, which was not the only one.
    pub fn without(&self, group: GroupId) -> Layout {
        let mut groups: Vec<_> = self.described().collect();
        groups[group.index()].1.clear();
        Layout::new(self.geometry, groups).expect("part of a layout is one")
    }

    fn described(&self) -> impl Iterator<Item = (Raid, Vec<Extent>)> {
        self.groups.iter().map(|group| (group.shape.raid(), group.extents.clone()))
    }

    /// What the segments and stripes of all groups have in common, with the columns of the widest group that there can be. What depends
    /// on a group's columns is [`Layout::shape`]'s to tell.
    #[inline]
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// The shape of a group's segments and stripes.
    #[inline]
    pub fn shape(&self, group: GroupId) -> &Geometry {
        &self.groups[group.index()].shape
    }

    /// Columns of a group, k + m.
    #[inline]
    pub fn width(&self, group: GroupId) -> u8 {
        self.shape(group).width()
    }

    /// The members of a group, in the order of its columns.
    pub fn members_of(&self, group: GroupId) -> impl Iterator<Item = MemberIx> + use<> {
        let first = self.groups[group.index()].first_member;
        (first..first + u16::from(self.width(group))).map(MemberIx)
    }

    /// Numbers of R-groups, from 0 on: those that a group has and those that one had.
    pub fn groups(&self) -> usize {
        self.groups.len()
    }

    /// Segments of a group; none if there is no group of this number now.
    pub fn segments(&self, group: GroupId) -> u32 {
        self.groups[group.index()].extents.iter().map(|extent| extent.frames).sum()
    }

    /// How many segments all groups have together.
    pub fn all_segments(&self) -> u32 {
        self.by_address.iter().map(|piece| piece.extent.frames).sum()
    }

    /// Blocks up to the end of the last frame: every valid address is below this.
    pub fn blocks(&self) -> u64 {
        self.end_frame() * self.segment_span()
    }

    /// The frame behind the last one that a segment has.
    pub fn end_frame(&self) -> u64 {
        self.by_address.last().map_or(0, |piece| piece.extent.end())
    }

    /// The frame of a segment, which must be one of the group's.
    #[inline]
    pub fn frame(&self, group: GroupId, segment: SegmentId) -> u32 {
        let mut before = 0;
        for extent in &self.groups[group.index()].extents {
            if segment.0 - before < extent.frames {
                return extent.first + (segment.0 - before);
            }
            before += extent.frames;
        }
        panic!("{group} has {before} segments, and not {segment}")
    }

    /// The segment to which a frame belongs, if any.
    #[inline]
    pub fn segment_of(&self, frame: u32) -> Option<(GroupId, SegmentId)> {
        let behind = self.by_address.partition_point(|piece| piece.extent.first <= frame);
        let piece = self.by_address.get(behind.checked_sub(1)?)?;
        let within = frame - piece.extent.first;
        (within < piece.extent.frames).then(|| (GroupId(piece.group), SegmentId(piece.segment + within)))
    }

    /// The frames of a group, in the order of its segments.
    pub fn frames_of(&self, group: GroupId) -> impl Iterator<Item = u32> {
        self.groups[group.index()].extents.iter().flat_map(Extent::iter)
    }

    /// The frames that belong to segments, in their order.
    pub fn frames(&self) -> impl Iterator<Item = u32> {
        self.by_address.iter().flat_map(|piece| piece.extent.iter())
    }

    /// Address of row 0 of column 0 of a segment; block (column, row) is `column * segment_blocks + row` further on.
    #[inline]
    pub fn segment_base(&self, group: GroupId, segment: SegmentId) -> Pba {
        Pba(u64::from(self.frame(group, segment)) * self.segment_span())
    }

    /// Address of a place, which must lie within the array.
    #[inline]
    pub fn pba(&self, place: Place) -> Pba {
        debug_assert!(place.column < self.width(place.group) && place.row < self.geometry.segment_blocks);
        let within = u64::from(place.column) * u64::from(self.geometry.segment_blocks) + u64::from(place.row);
        Pba(self.segment_base(place.group, place.segment).0 + within)
    }

    /// The place at an address, or `None` if no segment is there.
    #[inline]
    pub fn locate(&self, pba: Pba) -> Option<Place> {
        let (group, segment) = self.segment_of(u32::try_from(pba.0 / self.segment_span()).ok()?)?;
        // The blocks of a segment fit in 32 bits, so this division is a cheap one.
        let within = (pba.0 % self.segment_span()) as u32;
        let rows = self.geometry.segment_blocks;
        let column = (within / rows) as u8;
        (column < self.width(group)).then_some(Place { group, segment, column, row: within % rows })
    }

    /// The member that holds a column of a group: members are numbered group by group, column by column.
    #[inline]
    pub fn member(&self, group: GroupId, column: u8) -> MemberIx {
        MemberIx(self.groups[group.index()].first_member + u16::from(column))
    }

    /// Group and column of a member; the inverse of [`Layout::member`].
    pub fn column_of(&self, member: MemberIx) -> (GroupId, u8) {
        let group = self.groups.partition_point(|group| group.first_member <= member.0) - 1;
        (GroupId(group as u16), (member.0 - self.groups[group].first_member) as u8)
    }

    /// Addresses of a frame.
    #[inline]
    fn segment_span(&self) -> u64 {
        self.geometry.frame_blocks()
    }
}

/// The extents of all groups in the order of addresses.
fn pieces(groups: &[Group]) -> Result<Vec<Piece>, LayoutError> {
    let mut pieces = Vec::new();
    for (group, of) in (0..).zip(groups) {
        let mut segment = 0;
        for &extent in &of.extents {
            if extent.frames == 0 {
                return Err(LayoutError::EmptyGroup(group.into()));
            }
            pieces.push(Piece { extent, group, segment });
            segment += extent.frames;
        }
    }
    pieces.sort_unstable_by_key(|piece| piece.extent);
    match pieces.windows(2).find(|pair| pair[0].extent.end() > pair[1].extent.first.into()) {
        Some(pair) => Err(LayoutError::Overlap(pair[1].extent.first)),
        None => Ok(pieces),
    }
}

#[cfg(test)]
#[path = "layout_tests.rs"]
mod tests;
