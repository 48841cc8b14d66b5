//! The state of every segment, in a table that all reactors share.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use cygnus_format::{Layout, MAX_GROUPS, MAX_SEGMENTS};
use cygnus_types::{GroupId, Pba, ReactorId, SegmentId};

use crate::grown::Grown;

/// A segment counted over all groups, in the order of physical addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SegIx(pub u32);

/// Where a segment is in its life: free -> open -> sealed -> (cleaned ->) pending -> free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum SegState {
    /// Holds nothing that anybody needs.
    Free = 0,
    /// A reactor appends stripes to it, or some of them are not written yet.
    Open = 1,
    /// Written; a victim once enough of it is garbage.
    Sealed = 2,
    /// Holds no current block any more, but what replaced its blocks may not be durable yet.
    Pending = 3,
    /// Holds pages of a checkpoint that is still needed.
    Meta = 4,
    /// Holds blocks that cleaning could not read; left alone so that what is readable stays so, until they are overwritten
    /// or a scrub finds nothing wrong any more.
    Damaged = 5,
    /// Free, and not given out: its group is on its way into the array or out of it.
    Withheld = 6,
}

impl SegState {
    fn from_byte(byte: u8) -> Self {
        match byte {
            0 => Self::Free,
            1 => Self::Open,
            2 => Self::Sealed,
            3 => Self::Pending,
            4 => Self::Meta,
            5 => Self::Damaged,
            6 => Self::Withheld,
            _ => unreachable!("only SegState values are stored"),
        }
    }
}

#[derive(Default)]
struct Segment {
    /// Blocks to which some map entry points. Wraps below zero for a moment while a segment is open, because the
    /// additions of a stripe are made at once when it closes.
    live: AtomicU32,
    state: AtomicU8,
    owner: AtomicU16,
    /// Which life of the segment this is, counted over the array; 0 if it was not opened in this session.
    seq: AtomicU64,
    /// Highest stripe sequence here that carries a discard; 0 if none.
    discards: AtomicU64,
    /// Blocks that exist only here, in stripes that cannot protect them, until recovery has written them anew.
    rescues: AtomicU32,
}

/// Segments in a page of the table: 32 KiB.
const PAGE: usize = 1 << 10;

/// See the module's text.
pub(crate) struct SegmentTable {
    /// In pages, which stay where they are when groups are added.
    pages: Grown<Box<[Segment]>>,
    /// Number of the first segment of each group, and of the one that would follow the last.
    first_of_group: Grown<u32>,
    span: u64,
}

impl SegmentTable {
    pub(crate) fn new(layout: &Layout) -> Self {
        let geometry = layout.geometry();
        let table = Self {
            pages: Grown::new(MAX_SEGMENTS as usize / PAGE, []),
            first_of_group: Grown::new(MAX_GROUPS + 1, [0]),
            span: u64::from(geometry.width()) * u64::from(geometry.segment_blocks),
        };
        (0..layout.groups()).for_each(|group| table.add_group(layout.segments(GroupId(group as u16))));
        (0..table.count()).for_each(|seg| table.set_state(SegIx(seg), SegState::Free));
        table
    }

    /// Appends a group of free segments, which are withheld for now.
    pub(crate) fn add_group(&self, segments: u32) {
        let (begin, end) = (self.count(), self.count() + segments);
        while self.pages.len() * PAGE < end as usize {
            self.pages.push((0..PAGE).map(|_| Segment::default()).collect());
        }
        (begin..end).for_each(|seg| self.set_state(SegIx(seg), SegState::Withheld));
        self.first_of_group.push(end);
    }

    #[inline]
    fn at(&self, seg: SegIx) -> &Segment {
        &self.pages[seg.0 as usize / PAGE][seg.0 as usize % PAGE]
    }

    /// Segments in all.
    pub(crate) fn count(&self) -> u32 {
        self.first_of_group[self.first_of_group.len() - 1]
    }

    /// The segments of a group.
    pub(crate) fn of_group(&self, group: GroupId) -> impl Iterator<Item = SegIx> + use<> {
        (self.first_of_group[group.index()]..self.first_of_group[group.index() + 1]).map(SegIx)
    }

    pub(crate) fn index(&self, group: GroupId, segment: SegmentId) -> SegIx {
        SegIx(self.first_of_group[group.index()] + segment.0)
    }

    /// Group and number within it.
    pub(crate) fn locate(&self, seg: SegIx) -> (GroupId, SegmentId) {
        let later = self.first_of_group.iter().rev().take_while(|&&first| first > seg.0).count();
        let group = self.first_of_group.len() - later - 1;
        (GroupId(group as u16), SegmentId(seg.0 - self.first_of_group[group]))
    }

    /// The segment in which an address lies: all groups have the same width, so one division tells.
    #[inline]
    pub(crate) fn of(&self, pba: Pba) -> SegIx {
        SegIx((pba.0 / self.span) as u32)
    }

    pub(crate) fn state(&self, seg: SegIx) -> SegState {
        SegState::from_byte(self.at(seg).state.load(Ordering::Acquire))
    }

    pub(crate) fn set_state(&self, seg: SegIx, state: SegState) {
        self.at(seg).state.store(state as u8, Ordering::Release);
    }

    /// Marks a segment open and says which reactor holds what is not on the devices yet.
    pub(crate) fn open(&self, seg: SegIx, owner: ReactorId, seq: u64) {
        let segment = self.at(seg);
        segment.live.store(0, Ordering::Relaxed);
        segment.discards.store(0, Ordering::Relaxed);
        segment.owner.store(owner.0, Ordering::Relaxed);
        segment.seq.store(seq, Ordering::Relaxed);
        self.set_state(seg, SegState::Open);
    }

    pub(crate) fn seq(&self, seg: SegIx) -> u64 {
        self.at(seg).seq.load(Ordering::Relaxed)
    }

    pub(crate) fn owner(&self, seg: SegIx) -> ReactorId {
        ReactorId(self.at(seg).owner.load(Ordering::Relaxed))
    }

    #[inline]
    pub(crate) fn add_live(&self, seg: SegIx, blocks: u32) {
        self.at(seg).live.fetch_add(blocks, Ordering::Relaxed);
    }

    /// A block of this address is no longer current.
    #[inline]
    pub(crate) fn drop_live(&self, pba: Pba) {
        self.at(self.of(pba)).live.fetch_sub(1, Ordering::Relaxed);
    }

    /// Current blocks. Only meaningful for segments that are not open.
    pub(crate) fn live(&self, seg: SegIx) -> u32 {
        self.at(seg).live.load(Ordering::Relaxed)
    }

    pub(crate) fn note_discard(&self, seg: SegIx, stripe_seq: u64) {
        self.at(seg).discards.fetch_max(stripe_seq, Ordering::Relaxed);
    }

    /// A block of this segment waits to be written anew.
    pub(crate) fn add_rescue(&self, seg: SegIx) {
        self.at(seg).rescues.fetch_add(1, Ordering::Relaxed);
    }

    /// It was.
    pub(crate) fn drop_rescue(&self, seg: SegIx) {
        self.at(seg).rescues.fetch_sub(1, Ordering::Relaxed);
    }

    /// Blocks of this segment that wait to be written anew.
    pub(crate) fn rescues(&self, seg: SegIx) -> u32 {
        self.at(seg).rescues.load(Ordering::Relaxed)
    }

    pub(crate) fn newest_discard(&self, seg: SegIx) -> u64 {
        self.at(seg).discards.load(Ordering::Relaxed)
    }
}
