//! The state of every segment, in a table that all reactors share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use cygnus_format::{Geometry, MAX_SEGMENTS, Protection};
use cygnus_types::{GroupId, Medium, Pba, ReactorId, SegmentId};

use crate::space::changed::Changed;
use crate::space::grown::Grown;
use crate::space::newest::NewestLayout;
use crate::write::residence::Residence;

pub(crate) use crate::write::residence::SegState;

/// A segment, by the frame of addresses that it has: see [`cygnus_format::layout`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SegIx(pub u32);

#[derive(Default)]
struct Segment {
    /// Blocks to which some map entry points. Wraps below zero for a moment while a segment is open, because the
    /// additions of a stripe are made at once when it closes.
    live: AtomicU32,
    residence: Residence,
    /// Highest stripe sequence here of those written in this session; 0 if none was.
    newest: AtomicU64,
    /// Highest stripe sequence here that carries a discard; 0 if none.
    discards: AtomicU64,
    /// Blocks that exist only here, in stripes that cannot protect them, until recovery has written them anew.
    rescues: AtomicU32,
    /// What it is protected by, as [`Protection::to_byte`] has it; 0 where no group has a segment.
    protection: AtomicU8,
    /// What the group stores on that it belongs to: a [`Medium`].
    medium: AtomicU8,
}

/// Segments in a page of the table: 32 KiB.
const PAGE: usize = 1 << 10;

/// See the module's text.
pub(crate) struct SegmentTable {
    /// By frame, in pages, which stay where they are when groups are added.
    pages: Grown<Box<[Segment]>>,
    layout: Arc<NewestLayout>,
    span: u64,
    /// Segments of which something has changed that their rank as victims may depend on.
    changed: Changed,
    /// Segments that are damaged.
    damaged: AtomicU32,
}

impl SegmentTable {
    pub(crate) fn new(layout: Arc<NewestLayout>) -> Self {
        let pages = Grown::new(MAX_SEGMENTS as usize / PAGE, []);
        let span = layout.geometry().frame_blocks();
        let table = Self { pages, span, layout, changed: Changed::new(), damaged: AtomicU32::new(0) };
        table.make_room(table.layout.end_frame() as usize);
        for group in (0..table.layout.groups()).map(|group| GroupId(group as u16)) {
            let promised = table.layout.shape(group).protection();
            table.of_group(group).for_each(|seg| table.set_protection(seg, promised));
        }
        table
    }

    fn make_room(&self, frames: usize) {
        while self.pages.len() * PAGE < frames {
            self.pages.push((0..PAGE).map(|_| Segment::default()).collect());
        }
    }

    /// Makes frames ready that no group has and a group on this medium is to have, whose segments are protected so: free segments, which
    /// are withheld for now.
    pub(crate) fn take_in(&self, frames: impl Iterator<Item = u32>, (on, promised): (Medium, Protection)) {
        for frame in frames {
            self.make_room(frame as usize + 1);
            let Segment { live, residence, newest, discards, rescues, protection, medium } = self.at(SegIx(frame));
            protection.store(promised.to_byte(), Ordering::Release);
            medium.store(on as u8, Ordering::Release);
            newest.store(0, Ordering::Relaxed);
            live.store(0, Ordering::Relaxed);
            discards.store(0, Ordering::Relaxed);
            rescues.store(0, Ordering::Relaxed);
            residence.set_state(SegState::Withheld);
            self.changed.mark(frame);
        }
    }

    /// Gives each segment to `of` that has changed since this was asked last, of groups that have left too.
    pub(crate) fn take_changed(&self, mut of: impl FnMut(SegIx)) {
        self.changed.take(|frame| of(SegIx(frame)));
    }

    /// What a segment's rank depends on has changed elsewhere.
    pub(crate) fn mark_changed(&self, seg: SegIx) {
        self.changed.mark(seg.0);
    }

    /// Data blocks and parity blocks of a segment, headers too: no count of its blocks is higher.
    pub(crate) fn most_blocks(&self) -> u64 {
        self.span
    }

    #[inline]
    fn at(&self, seg: SegIx) -> &Segment {
        &self.pages[seg.0 as usize / PAGE][seg.0 as usize % PAGE]
    }

    /// Segments of all groups.
    pub(crate) fn all(&self) -> impl Iterator<Item = SegIx> {
        self.layout.frames().map(SegIx)
    }

    /// The segments of a group.
    pub(crate) fn of_group(&self, group: GroupId) -> impl Iterator<Item = SegIx> {
        self.layout.frames_of(group).map(SegIx)
    }

    #[inline]
    pub(crate) fn index(&self, group: GroupId, segment: SegmentId) -> SegIx {
        SegIx(self.layout.frame(group, segment))
    }

    /// Group and number within it.
    pub(crate) fn locate(&self, seg: SegIx) -> (GroupId, SegmentId) {
        self.layout.segment_of(seg.0).expect("segments of groups that have left are on no list")
    }

    /// The segment in which an address lies: all frames are alike, so one division tells.
    #[inline]
    pub(crate) fn of(&self, pba: Pba) -> SegIx {
        SegIx((pba.0 / self.span) as u32)
    }

    /// What a segment's group stores on.
    #[inline]
    pub(crate) fn medium(&self, seg: SegIx) -> Medium {
        Medium::from_byte(self.at(seg).medium.load(Ordering::Acquire)).expect("what was stored is a medium")
    }

    /// Says what a group stores on; while an array is opened.
    pub(crate) fn set_medium(&self, group: GroupId, medium: Medium) {
        self.of_group(group).for_each(|seg| self.at(seg).medium.store(medium as u8, Ordering::Release));
    }

    pub(crate) fn state(&self, seg: SegIx) -> SegState {
        self.at(seg).residence.state()
    }

    /// A segment goes on to its next state.
    ///
    /// # Panics
    /// If it may not from where it is: what it holds would be overwritten, or kept for ever.
    pub(crate) fn set_state(&self, seg: SegIx, state: SegState) {
        let was = self.state(seg);
        assert!(was.may_become(state), "{seg:?} is {} and cannot become {}", was.word(), state.word());
        if matches!(state, SegState::Free | SegState::Withheld) {
            // What is given out next must hold nothing: it will be overwritten.
            assert_eq!((self.live(seg), self.rescues(seg)), (0, 0), "{seg:?}, {}, is needed", was.word());
        }
        self.store_state(seg, state);
    }

    /// What an opening, before anything is written, finds a segment to be of which it knew nothing yet.
    ///
    /// # Panics
    /// If the segment has been given out.
    pub(crate) fn found(&self, seg: SegIx, state: SegState) {
        let was = self.state(seg);
        assert!(
            matches!(was, SegState::Free | SegState::Withheld | SegState::Sealed | SegState::Meta),
            "{seg:?} is {}",
            was.word()
        );
        self.store_state(seg, state);
    }

    fn store_state(&self, seg: SegIx, state: SegState) {
        // Only the home reactor makes a segment damaged, and only there that ends.
        if state == SegState::Damaged || self.state(seg) == SegState::Damaged {
            let (was, is) = (self.state(seg) == SegState::Damaged, state == SegState::Damaged);
            self.damaged.fetch_add(u32::from(is), Ordering::Relaxed);
            let before = self.damaged.fetch_sub(u32::from(was), Ordering::Relaxed);
            assert!(before >= u32::from(was), "what ends being damaged was counted");
        }
        self.at(seg).residence.set_state(state);
        self.changed.mark(seg.0);
    }

    /// Segments that are damaged.
    pub(crate) fn damaged(&self) -> u32 {
        self.damaged.load(Ordering::Relaxed)
    }

    /// Whether any segment is damaged.
    pub(crate) fn any_is_damaged(&self) -> bool {
        self.damaged.load(Ordering::Relaxed) > 0
    }

    /// What a segment is protected by. Meaningful while it holds anything.
    #[inline]
    pub(crate) fn protection(&self, seg: SegIx) -> Protection {
        let byte = self.at(seg).protection.load(Ordering::Acquire);
        Protection::from_byte(byte).expect("each segment of a group has one")
    }

    /// Notes what a segment is protected by, as its headers or a checkpoint say.
    pub(crate) fn set_protection(&self, seg: SegIx, protection: Protection) {
        self.at(seg).protection.store(protection.to_byte(), Ordering::Release);
    }

    /// The shape of a segment's columns and stripes.
    #[inline]
    pub(crate) fn shape(&self, seg: SegIx) -> Geometry {
        let shape = self.layout.shape(self.locate(seg).0).protected_by(self.protection(seg));
        shape.expect("no segment has a protection that its columns are too few for")
    }

    /// Marks a segment open, which is to be protected so, and says which reactor holds what is not on the devices yet.
    ///
    /// # Panics
    /// If it was not free.
    pub(crate) fn open(&self, seg: SegIx, owner: ReactorId, life: u64, protection: Protection) {
        assert_eq!(self.state(seg), SegState::Free, "{seg:?} was given out");
        self.set_protection(seg, protection);
        let segment = self.at(seg);
        segment.live.store(0, Ordering::Relaxed);
        segment.newest.store(0, Ordering::Relaxed);
        segment.discards.store(0, Ordering::Relaxed);
        segment.residence.open(owner, life);
        self.changed.mark(seg.0);
    }

    pub(crate) fn seq(&self, seg: SegIx) -> u64 {
        self.at(seg).residence.life()
    }

    /// See [`Residence::keeper`].
    #[inline]
    pub(crate) fn keeper(&self, seg: SegIx, row: u32) -> Option<ReactorId> {
        self.at(seg).residence.keeper(row)
    }

    /// See [`Residence::set_landed`].
    pub(crate) fn set_landed(&self, seg: SegIx, row: u32) {
        self.at(seg).residence.set_landed(row);
    }

    /// See [`Residence::still_holds`].
    pub(crate) fn still_holds(&self, seg: SegIx, life: u64) -> bool {
        self.at(seg).residence.still_holds(life)
    }

    #[inline]
    pub(crate) fn add_live(&self, seg: SegIx, blocks: u32) {
        self.at(seg).live.fetch_add(blocks, Ordering::SeqCst);
        self.changed.mark(seg.0);
    }

    /// A block of this address is no longer current.
    #[inline]
    pub(crate) fn drop_live(&self, pba: Pba) {
        let seg = self.of(pba);
        self.at(seg).live.fetch_sub(1, Ordering::SeqCst);
        self.changed.mark(seg.0);
    }

    /// Current blocks. Only meaningful for segments that are not open.
    pub(crate) fn live(&self, seg: SegIx) -> u32 {
        self.at(seg).live.load(Ordering::SeqCst)
    }

    pub(crate) fn note_stripe(&self, seg: SegIx, stripe_seq: u64) {
        self.at(seg).newest.fetch_max(stripe_seq, Ordering::Relaxed);
    }

    /// Highest stripe sequence of a segment, if any of its stripes was written in this session.
    pub(crate) fn newest_stripe(&self, seg: SegIx) -> u64 {
        self.at(seg).newest.load(Ordering::Relaxed)
    }

    pub(crate) fn note_discard(&self, seg: SegIx, stripe_seq: u64) {
        self.at(seg).discards.fetch_max(stripe_seq, Ordering::SeqCst);
        self.changed.mark(seg.0);
    }

    /// A block of this segment waits to be written anew.
    pub(crate) fn add_rescue(&self, seg: SegIx) {
        self.at(seg).rescues.fetch_add(1, Ordering::SeqCst);
        self.changed.mark(seg.0);
    }

    /// It was.
    pub(crate) fn drop_rescue(&self, seg: SegIx) {
        self.at(seg).rescues.fetch_sub(1, Ordering::SeqCst);
        self.changed.mark(seg.0);
    }

    /// Blocks of this segment that wait to be written anew.
    pub(crate) fn rescues(&self, seg: SegIx) -> u32 {
        self.at(seg).rescues.load(Ordering::SeqCst)
    }

    pub(crate) fn newest_discard(&self, seg: SegIx) -> u64 {
        self.at(seg).discards.load(Ordering::SeqCst)
    }
}
