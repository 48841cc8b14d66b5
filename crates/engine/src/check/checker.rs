//! What segments are checked with.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::atomic::AtomicU64;

use cygnus_format::{CheckpointRoot, Place, RootUse};
use cygnus_types::{Lba, VolumeId};

use crate::counters::{MemberCounters, count};
use crate::reactor::Reactor;
use crate::space::segments::SegIx;

/// Blocks of each column that are read at a time, at least: 1 MiB, which any device delivers at full speed.
pub(crate) const WINDOW_BLOCKS: u32 = 256;

/// What all segments are checked with.
pub(crate) struct Checker {
    pub reactor: Rc<Reactor>,
    /// Segments that hold a checkpoint's pages: their life, and the checkpoint's generation.
    pub pages: BTreeMap<SegIx, (u64, u64)>,
    /// Stripes of this sequence and above are covered by no checkpoint; `None` while that is as it should be.
    pub horizon: Option<u64>,
    pub window: u32,
    /// Whether others need the devices too.
    pub beside_guests: bool,
}

pub(crate) fn window_blocks(reactor: &Reactor) -> u32 {
    let geometry = reactor.shared.layout.geometry();
    WINDOW_BLOCKS.max(reactor.shared.protections.tallest() * 2).min(geometry.segment_blocks)
}

pub(crate) fn pages_of(reactor: &Reactor, roots: &[&CheckpointRoot]) -> BTreeMap<SegIx, (u64, u64)> {
    let mut pages = BTreeMap::new();
    for root in roots {
        for at in root.segments.iter().filter(|s| s.use_of == RootUse::Pages) {
            let seg = reactor.shared.segments.index(at.group, at.segment);
            pages.insert(seg, (at.segment_seq, root.generation));
        }
    }
    pages
}

pub(crate) fn block_name(reactor: &Reactor, volume: VolumeId, lba: Lba) -> String {
    match reactor.shared.volume(volume) {
        Some(state) => format!("volume {} {lba} (bytes {} on)", state.name, lba.byte_offset()),
        None => format!("{volume} (deleted) {lba}"),
    }
}

impl Checker {
    /// For a look at a segment of an array in service, whose checkpoints come and go.
    pub(crate) fn in_service_of(reactor: &Rc<Reactor>) -> Self {
        let state = reactor.home().state.borrow();
        let roots: Vec<&CheckpointRoot> = state.roots.iter().flatten().collect();
        let window = window_blocks(reactor);
        Self { reactor: reactor.clone(), pages: pages_of(reactor, &roots), horizon: None, window, beside_guests: true }
    }

    /// Name of the device that holds a column, and where on it a row lies.
    pub(crate) fn locate(&self, place: Place) -> (String, u64) {
        let shared = &self.reactor.shared;
        let offset = shared.layout.geometry().device_offset(place.segment.0, place.row);
        (shared.member(place.group, place.column).1.name(), offset)
    }

    /// Counts a block that was not what it should be against the device that holds it.
    pub(crate) fn blame(&self, place: Place, what: impl Fn(&MemberCounters) -> &AtomicU64) {
        count(what(&self.reactor.shared.member(place.group, place.column).1.counters), 1);
    }

    /// "block 7 of volume v", for people.
    pub(crate) fn block_name(&self, volume: VolumeId, lba: Lba) -> String {
        block_name(&self.reactor, volume, lba)
    }
}
