//! Map entries counted by the segments that they point to, by whoever has many of them at hand.
//!
//! The pool's own counts are shared and change by one atomic operation for each entry. Here it is an addition, and for most
//! entries no division: neighbours often lie in one segment.

use std::ops::Range;

use cygnus_format::Layout;
use cygnus_types::Pba;

use crate::space::segments::SegIx;

/// See the module's text.
#[derive(Default)]
pub(crate) struct Tally {
    /// By frame.
    live: Vec<u32>,
    /// The frame counted last, and its addresses.
    last: usize,
    of_last: Range<u64>,
}

impl Tally {
    /// Counts an entry with this address; `false` if no segment is there.
    #[inline]
    pub(super) fn add(&mut self, layout: &Layout, pba: Pba) -> bool {
        if !self.of_last.contains(&pba.0) && !self.go_to(layout, pba) {
            return false;
        }
        self.live[self.last] += 1;
        true
    }

    /// An entry that was counted counts no more.
    pub(super) fn remove(&mut self, layout: &Layout, pba: Pba) {
        let frame = pba.0 / layout.geometry().frame_blocks();
        self.live[frame as usize] -= 1;
    }

    /// The segment of the entry that was counted last.
    #[inline]
    pub(super) fn last(&self) -> SegIx {
        SegIx(self.last as u32)
    }

    fn go_to(&mut self, layout: &Layout, pba: Pba) -> bool {
        let span = layout.geometry().frame_blocks();
        let frame = pba.0 / span;
        let is_there = u32::try_from(frame).is_ok_and(|frame| layout.segment_of(frame).is_some());
        if is_there {
            self.last = frame as usize;
            self.of_last = frame * span..(frame + 1) * span;
            self.live.resize(self.live.len().max(layout.end_frame() as usize), 0);
        }
        is_there
    }

    /// What was counted of a segment.
    pub(super) fn of(&self, seg: SegIx) -> u32 {
        self.live.get(seg.0 as usize).copied().unwrap_or(0)
    }

    /// The segments of which anything was counted, and how much.
    pub(super) fn counted(&self) -> impl Iterator<Item = (SegIx, u32)> {
        let all = (0..).map(SegIx).zip(self.live.iter().copied());
        all.filter(|&(_, live)| live > 0)
    }
}

#[cfg(test)]
mod tests {
    use cygnus_format::{Extent, Geometry};
    use proptest::prelude::*;

    use super::*;

    /// Frames 2 to 4 and 6, of 512 addresses each.
    fn layout() -> Layout {
        let geometry = Geometry {
            data: 1,
            parity: 1,
            chunk_blocks: 1,
            stripe_rows: 8,
            segment_blocks: 256,
            transient_blocks: 0,
            lead_blocks: 0,
        };
        let group = |first, frames| (geometry.raid(), [Extent { first, frames }]);
        Layout::new(geometry, [group(2, 3), group(6, 1)]).expect("it is sound")
    }

    proptest! {
        #[test]
        fn each_entry_counts_for_its_segment_and_none_where_no_segment_is(
            pbas in prop::collection::vec((0..8 * 512_u64, 1..4_usize), 0..200)
        ) {
            let layout = layout();
            let mut tally = Tally::default();
            let mut expected = std::collections::BTreeMap::new();
            for pba in pbas.into_iter().flat_map(|(pba, times)| std::iter::repeat_n(Pba(pba), times)) {
                let place = layout.locate(pba);
                prop_assert_eq!(tally.add(&layout, pba), place.is_some());
                if let Some(place) = place {
                    *expected.entry(SegIx(layout.frame(place.group, place.segment))).or_insert(0) += 1;
                }
            }
            prop_assert!(expected.iter().all(|(&seg, &live)| tally.of(seg) == live));
            prop_assert_eq!(tally.counted().collect::<Vec<_>>(), expected.into_iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn nothing_lies_beyond_all_addresses() {
        assert!(!Tally::default().add(&layout(), Pba::MAX));
    }
}
