//! What the controllers of all volumes share: the order of their changes, their memory, and the pool's counts that follow each
//! change.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use cygnus_format::{Kind, MapEntry};
use cygnus_types::{Lba, Paging, Pba, VolumeId};

use crate::lsa::controller::{Controller, MAX_VOLUME_BLOCKS, Publish, Published};
use crate::lsa::l2p::MapMemory;
use crate::lsa::order::WriteOrder;
use crate::lsa::pages::PageReader;
use crate::lsa::rule::MapRule;
use crate::planted::{self, Bug};
use crate::space::held::Held;
use crate::space::segments::SegmentTable;
use crate::volume_state::VolumeState;

/// See the module's text.
pub(crate) struct Controllers {
    pub(super) order: WriteOrder,
    memory: Arc<MapMemory>,
    pub(super) segments: Arc<SegmentTable>,
    pub(super) held: Arc<Held>,
}

impl Controllers {
    /// `first_write_seq`: higher than every write sequence on the devices.
    pub(crate) fn new(rule: MapRule, first_write_seq: u64, segments: Arc<SegmentTable>, held: Arc<Held>) -> Self {
        Self { order: WriteOrder::new(first_write_seq), memory: Arc::new(MapMemory::new(rule)), segments, held }
    }

    /// The controller of a volume, which holds nothing yet.
    pub(crate) fn controller(&self, volume: VolumeId, paging: Paging, in_doubt: bool) -> Controller {
        Controller::new(volume, paging, in_doubt, &self.memory)
    }

    /// What the maps take of memory.
    pub(crate) fn memory(&self) -> &MapMemory {
        &self.memory
    }

    /// Whether `blocks` more can be held at once.
    #[inline]
    pub(crate) fn has_room(&self, blocks: u64) -> bool {
        self.held.has_room(blocks) && self.memory.has_room()
    }

    /// Whether one more cannot be held only because of the checkpoint under way.
    pub(crate) fn waits_for_checkpoint(&self) -> bool {
        self.held.has_room_after_checkpoint() && self.memory.has_room()
    }

    /// A write sequence higher than all given out so far.
    pub(crate) fn next_write_seq(&self) -> u64 {
        self.order.ceiling()
    }

    /// Lifts the write sequences to at least `seq`; during recovery, when nobody writes yet.
    pub(crate) fn raise_write_seq(&self, seq: u64) {
        self.order.raise(seq);
    }

    /// A block has come to a new place. `None`: it is not what `how` wants any more, and nothing has changed.
    #[inline]
    pub(crate) fn publish(&self, of: &Controller, lba: Lba, entry: MapEntry, how: Publish) -> Option<Published> {
        let turn = self.order.enter(of.volume, lba);
        let (kind, seq, old) = match how {
            Publish::Always => (Kind::Data, turn.seq(), of.swap(lba, entry)),
            Publish::IfStill(expected) | Publish::Rehome(expected) | Publish::Move(expected, _) => {
                if !of.replace(lba, expected, entry) {
                    return None;
                }
                match how {
                    Publish::Move(_, seq) => (Kind::Relocated, seq, expected),
                    _ => (Kind::Data, turn.seq(), expected),
                }
            }
        };
        drop(turn);
        self.replaced(of, old, entry);
        Some(Published { kind, seq, old })
    }

    /// Discards blocks, all of them in one region, and if anything was known of them calls `record` with the sequence of the
    /// discard, before any later write of the region can be published.
    pub(crate) fn discard(&self, of: &Controller, from: Lba, blocks: u64, record: impl FnOnce(u64)) {
        let turn = self.order.enter(of.volume, from);
        let mut any = false;
        of.clear(from, blocks, |old| {
            any |= old != MapEntry::ZEROS;
            self.replaced(of, old, MapEntry::EMPTY);
        });
        if any {
            record(turn.seq());
        }
    }

    /// Forgets blocks of a volume that nobody can write to any more: from `from` on, a part. Returns where to go on.
    pub(crate) fn forget(&self, of: &Controller, from: Lba) -> Option<Lba> {
        const AT_A_TIME: u64 = 1 << 16;
        let end = Lba(MAX_VOLUME_BLOCKS);
        let from = Some(of.next_known_at(from, end)).filter(|&from| from < end)?;
        // Whole pages, where there are any.
        let until = Lba((from.0 / AT_A_TIME + 1) * AT_A_TIME);
        of.clear_known(from, until.0 - from.0, |old| self.replaced(of, old, MapEntry::EMPTY));
        Some(until)
    }

    /// Has a block unreadable until it is written anew or discarded: what it held is lost. While an array is opened.
    pub(crate) fn lose(&self, of: &Controller, lba: Lba) {
        let old = of.swap(lba, MapEntry::LOST);
        self.replaced(of, old, MapEntry::LOST);
    }

    /// A block whose copy at `at` is lost is current again where it was copied from, which `origin` says, unless it was written
    /// anew meanwhile. Says whether it is.
    pub(crate) fn go_back(&self, of: &Controller, lba: Lba, at: Pba, origin: MapEntry) -> bool {
        let Some(current) = of.current_at(lba, at) else { return false };
        self.segments.add_live(self.segments.of(origin.pba()), 1);
        let is_back = of.replace(lba, current, origin);
        self.segments.drop_live(if is_back { at } else { origin.pba() });
        if is_back {
            self.lies_elsewhere(of, current, origin);
        }
        is_back
    }

    /// The same of a block that was zeros before it was written with the rest of its page.
    pub(crate) fn go_back_to_zeros(&self, of: &Controller, lba: Lba, at: Pba) {
        let Some(current) = of.current_at(lba, at) else { return };
        let zeros = if of.is_in_doubt() { MapEntry::ZEROS } else { MapEntry::EMPTY };
        if of.replace(lba, current, zeros) {
            self.replaced(of, current, zeros);
        }
    }

    /// Parts of the maps that were replaced until now can go when all reactors have answered a message from now on.
    pub(crate) fn begin_settling<'a>(&self, all: impl Iterator<Item = &'a Controller>) {
        self.memory.begin_round(all.map(|controller| &controller.map));
    }

    /// They have.
    pub(crate) fn end_settling<'a>(&self, all: impl Iterator<Item = &'a Controller>) {
        self.memory.end_round(all.map(|controller| &controller.map));
    }

    /// Accounts for an entry that has changed.
    #[inline]
    pub(super) fn replaced(&self, of: &Controller, old: MapEntry, now: MapEntry) {
        if old.is_mapped() {
            self.segments.drop_live(old.pba());
        }
        self.lies_elsewhere(of, old, now);
        match (old.is_held(), now.is_held()) {
            (false, true) => {
                self.held.add(1);
                of.held.fetch_add(1, Ordering::Relaxed);
            }
            (true, false) => {
                self.held.drop_one();
                of.held.fetch_sub(1, Ordering::Relaxed);
            }
            (true, true) | (false, false) => {}
        }
    }
}

impl Controllers {
    /// Accounts for the media that a block has left and come to.
    #[inline]
    fn lies_elsewhere(&self, of: &Controller, old: MapEntry, now: MapEntry) {
        if !self.held.counts_media() {
            return;
        }
        let medium = |entry: MapEntry| entry.is_mapped().then(|| self.segments.medium(self.segments.of(entry.pba())));
        let (left, come_to) = (medium(old), medium(now));
        if left == come_to {
            return;
        }
        if let Some(medium) = come_to {
            self.held.come_to(medium, 1);
            of.elsewhere.come_to(medium, 1);
        }
        if let Some(medium) = left {
            self.held.one_leaves(medium);
            of.elsewhere.one_leaves(medium);
        }
    }
}

/// What recovery does before anybody else uses the maps. The counts follow it from the first page on, as they follow clients.
impl Controllers {
    /// What takes pages of a checkpoint into the maps of `volumes`.
    pub(crate) fn page_reader(&self, volumes: Vec<Arc<VolumeState>>) -> PageReader {
        PageReader::new(volumes, self.held.counts_media().then(|| self.segments.clone()))
    }

    /// A checkpoint's pages are in the maps. Returns the volumes.
    pub(crate) fn has_read(&self, pages: PageReader) -> Vec<Arc<VolumeState>> {
        let (volumes, tally) = pages.into_parts();
        for (seg, live) in tally.counted() {
            self.segments.add_live(seg, live);
            self.held.come_to(self.segments.medium(seg), live.into());
        }
        self.held.add(volumes.iter().map(|volume| volume.controller.held()).sum());
        volumes
    }

    /// A write that a stripe tells of is the newest of its block.
    pub(crate) fn replay_write(&self, of: &Controller, lba: Lba, entry: MapEntry) {
        self.segments.add_live(self.segments.of(entry.pba()), 1);
        let old = of.swap(lba, entry);
        if !planted::is(Bug::ReplacedCountsOn) {
            self.replaced(of, old, entry);
        }
    }

    /// A discard that a stripe tells of. Writes that are newer are replayed after it.
    pub(crate) fn replay_discard(&self, of: &Controller, from: Lba, blocks: u64) {
        of.clear(from, blocks, |old| self.replaced(of, old, MapEntry::EMPTY));
    }

    /// Forgets of a volume in doubt which blocks were discarded: what is lost may have been written to them afterwards.
    pub(crate) fn forget_zeros(&self, of: &Controller) {
        let mut zeros = Vec::new();
        of.for_each_known(MAX_VOLUME_BLOCKS, |lba, entry| {
            if entry == MapEntry::ZEROS {
                zeros.push(lba);
            }
        });
        for lba in zeros {
            of.swap(lba, MapEntry::EMPTY);
        }
    }

    /// Forgets every block for which `is_gone` says so; returns these, and what was said of each.
    pub(crate) fn give_up(
        &self,
        of: &Controller,
        mut is_gone: impl FnMut(Lba, MapEntry) -> bool,
    ) -> Vec<(Lba, MapEntry)> {
        let mut gone = Vec::new();
        of.for_each_mapped(|lba, entry| {
            if is_gone(lba, entry) {
                gone.push((lba, entry));
            }
        });
        for &(lba, _) in &gone {
            self.replaced(of, of.swap(lba, MapEntry::EMPTY), MapEntry::EMPTY);
        }
        gone
    }
}
