//! The way of a read: map, memory or device, checksum, and if need be the other columns.

use std::rc::Rc;

use cygnus_format::{MapEntry, Place};
use cygnus_parity as parity;
use cygnus_runtime::{BufSlice, OneshotReceiver};
use cygnus_types::{BLOCK, Lba};

use crate::counters::count;
use crate::error::VolumeError;
use crate::hybrid::promote::Promoter;
use crate::lsa::{Publish, PublishPage};
use crate::peers::{Answer, ToOwner};
use crate::reactor::Reactor;
use crate::read::got::{Got, Miss};
use crate::read::of_page::{self, OfPage};
use crate::read::page_check::{all_of, blocks_of};
use crate::read::reconstruct::ReadMark;
use crate::read::runs::Runs;
use crate::read::slow::note_late;
use crate::space::segments::SegIx;
use crate::volume_state::VolumeState;
use crate::write::lane::Lane;
use crate::write::streams;
use crate::write::summed::Summed;
use crate::write::writer::Appended;

impl Reactor {
    /// Reads whole blocks from `lba` on into `into`, whose memory is block-aligned. Gives back where they are: in other
    /// memory, if a slow device still has hold of part of `into`.
    #[expect(clippy::manual_async_fn, reason = "the future of an async fn has room for its arguments twice")]
    pub(crate) fn read_blocks(
        self: &Rc<Self>,
        volume: &VolumeState,
        lba: Lba,
        into: BufSlice,
    ) -> impl Future<Output = Result<BufSlice, VolumeError>> {
        async move {
            let _look = self.looks.begin();
            self.shared.clients.of(self.rt.id()).asked_for(into.len() / BLOCK);
            if let Some(promoter) = Promoter::of(self, volume) {
                promoter.is_read(volume, lba, (into.len() / BLOCK) as u64);
            }
            if volume.paging.is_by_pages() {
                return Box::pin(of_page::read_blocks(self, volume, lba, into)).await;
            }
            Runs { reactor: self, volume, lba, into }.read().await
        }
    }

    /// Where a mapped block lies.
    pub(crate) fn place(&self, entry: MapEntry) -> Place {
        self.shared.layout.locate(entry.pba()).expect("the map only points into the array")
    }

    fn seg_at(&self, place: &Place) -> SegIx {
        self.shared.segments.index(place.group, place.segment)
    }

    pub(super) fn copy_from_memory(&self, place: &Place, index: usize, into: &BufSlice) -> bool {
        let seg = self.seg_at(place);
        if self.shared.segments.keeper(seg, place.row) != Some(self.rt.id()) {
            return false;
        }
        Lane::OF_DATA.iter().any(|&lane| {
            let writer = self.writer(lane).borrow();
            writer.block(seg, place.column, place.row).is_some_and(|data| {
                into.copy_from(index * BLOCK, data);
                true
            })
        })
    }

    /// Asks another reactor for blocks that it may have in memory and not yet on the devices. Their checksums could not
    /// tell: what lies on the device where they will be may have the same 27 bits. `None`: they are on the devices.
    pub(super) fn ask_keeper(&self, place: &Place, blocks: usize) -> Option<OneshotReceiver<Answer>> {
        let (seg, column, row) = (self.seg_at(place), place.column, place.row);
        let keeper = self.shared.segments.keeper(seg, row).filter(|&keeper| keeper != self.rt.id())?;
        count(&self.shared.totals.asked, 1);
        let count = blocks as u32;
        Some(self.peers.ask(&self.rt, keeper, |ticket| ToOwner::Blocks { ticket, seg, column, row, count }))
    }

    /// Reads one block with everything that can be done for it; returns the map entry that it belongs to.
    pub(crate) async fn read_block(
        self: &Rc<Self>,
        volume: &VolumeState,
        lba: Lba,
        into: &BufSlice,
    ) -> Result<MapEntry, VolumeError> {
        let _look = self.looks.begin();
        loop {
            let answers = self.answers.wait();
            let entry = volume.controller.locate(lba);
            if volume.controller.reads_as_zeros(entry) {
                into.zero(0..BLOCK);
                return Ok(entry);
            }
            if !entry.is_mapped() {
                return Err(self.unknown(volume, lba));
            }
            let place = self.place(entry);
            let silences = self.silences(place.group);
            if self.copy_from_memory(&place, 0, into) {
                return Ok(entry);
            }
            let got = match entry.is_of_page() {
                false => get_block(self, volume, lba, entry, place, into).await,
                true => Box::pin(OfPage::of(self, volume, lba, entry).get_block(volume, lba, entry, into)).await,
            };
            match got {
                Got::Right(None) => return Ok(entry),
                Got::Right(miss) => {
                    self.block_restored(volume, lba, entry, &place, into, miss);
                    return Ok(entry);
                }
                // It moved or was overwritten while we looked at its old place.
                Got::Changed => continue,
                Got::Nothing => {}
            }
            if volume.controller.locate(lba) != entry {
                continue;
            }
            if self.was_disturbed(place.group, silences) && self.shared.fault().is_none() {
                // What is missing may only be away.
                if self.was_disturbed(place.group, self.silences(place.group)) {
                    self.unless_suspended(answers).await?;
                }
                continue;
            }
            if volume.controller.locate(lba) == entry {
                return Err(unreadable(self, volume, lba, &place));
            }
        }
    }

    /// A block of a volume in doubt of which nobody knows what it holds.
    pub(super) fn unknown(&self, volume: &VolumeState, lba: Lba) -> VolumeError {
        count(&self.shared.totals.unreadable, 1);
        VolumeError::Unknown { volume: volume.id, lba }
    }

    /// Reads a block from its own column; from the others if its device is late.
    pub(crate) async fn read_column(
        self: &Rc<Self>,
        place: &Place,
        entry: MapEntry,
        into: &BufSlice,
    ) -> Result<(), Miss> {
        let (member, state) = self.shared.member(place.group, place.column);
        let Some(dev) = self.device_holding(member, place.segment) else { return Err(Miss::Absent) };
        let _mark = ReadMark::new(self, place.group);
        let offset = self.shared.layout.geometry().device_offset(place.segment.0, place.row);
        self.shared.clients.of(self.rt.id()).read_from(member, BLOCK);
        // Into memory of its own, of which a device that is late may keep hold.
        let buf = self.rt.alloc(BLOCK);
        let mut op = self.rt.read(dev, offset, buf.full());
        let result = match op.within(self.late_after(place.group, dev, 1)).await {
            Some(result) => result,
            None => {
                note_late(self, dev);
                let hedged = self.can_do_without(place, member) && self.paces.may_hedge();
                if hedged && self.rebuild_block(place, entry, into).await {
                    count(&self.shared.totals.hedged, 1);
                    return Ok(());
                }
                op.await
            }
        };
        match result {
            Ok(_) => {
                into.copy_from(0, buf.bytes());
                Ok(())
            }
            Err(error) => {
                if !error.kind.is_of_range() {
                    return Err(Miss::Absent);
                }
                count(&state.counters.read_errors, 1);
                Err(Miss::Unread)
            }
        }
    }

    /// Reports a block that had to be rebuilt, or a page from its first block on, and writes it anew if its place proved bad.
    pub(super) fn block_restored(
        self: &Rc<Self>,
        volume: &VolumeState,
        lba: Lba,
        entry: MapEntry,
        place: &Place,
        data: &BufSlice,
        miss: Option<Miss>,
    ) {
        count(&self.shared.totals.reconstructed, 1);
        let (_, state) = self.shared.member(place.group, place.column);
        let what = match miss {
            Some(Miss::Bad) => {
                count(&state.counters.corrupt, 1);
                "wrong data"
            }
            Some(Miss::Unread) => "read error",
            Some(Miss::Absent) | None => return,
        };
        if self.shared.is_stopped() || self.hold.get() {
            return;
        }
        // Without room it stays where it is: the next read will find it bad again.
        if append_restored(self, volume, lba, entry, place, data) == Appended::Done {
            count(&self.shared.totals.repaired, 1);
            count(&state.counters.repaired, 1);
            let name = state.name();
            let text =
                format!("{what} on {name}: {lba} of volume {} is made from the other columns and moved", volume.name);
            self.shared.log_repeated(what, &name, text);
        }
    }
}

/// Looks for a block where the map has it, and in the other columns.
async fn get_block(
    reactor: &Rc<Reactor>,
    volume: &VolumeState,
    lba: Lba,
    entry: MapEntry,
    place: Place,
    into: &BufSlice,
) -> Got {
    let seg = reactor.seg_at(&place);
    let life = reactor.shared.segments.seq(seg);
    let kept = match reactor.ask_keeper(&place, 1) {
        Some(answer) => answer.await.and_then(Answer::blocks),
        None => None,
    };
    let read = match kept {
        Some(data) => {
            into.copy_from(0, &data);
            Ok(())
        }
        None => reactor.read_column(&place, entry, into).await,
    };
    let miss = match read {
        Ok(()) if entry.matches(parity::checksum::crc32c(into.bytes())) => {
            let is_its = volume.controller.locate(lba) == entry || reactor.shared.segments.still_holds(seg, life);
            // Else its place was given back while we read, and may have held another block already.
            return if is_its { Got::Right(None) } else { Got::Changed };
        }
        Ok(()) => Miss::Bad,
        Err(miss) => miss,
    };
    match () {
        () if volume.controller.locate(lba) != entry => Got::Changed,
        () if reactor.rebuild_block(&place, entry, into).await => Got::Right(Some(miss)),
        () => Got::Nothing,
    }
}

/// Writes what was made from the other columns to another place, if it still is what the map has: a block, or a page.
fn append_restored(
    reactor: &Rc<Reactor>,
    volume: &VolumeState,
    lba: Lba,
    entry: MapEntry,
    place: &Place,
    data: &BufSlice,
) -> Appended {
    let lane = streams::lane_of_moved(reactor, volume, lba, reactor.shared.medium(place.group));
    let mut writer = reactor.writer(lane).borrow_mut();
    match data.len() / BLOCK {
        1 => writer.append(reactor, volume, lba, Summed::of(data.bytes()), Publish::IfStill(entry)),
        blocks => {
            let were = blocks_of(entry, blocks);
            let how = PublishPage::IfStill { were: &were[..blocks], same: all_of(blocks) };
            writer.append_whole(reactor, volume, lba, data.bytes(), how)
        }
    }
}

/// A block that neither its device nor the others of its group give. Its client hears of that, and so does the operator.
fn unreadable(reactor: &Reactor, volume: &VolumeState, lba: Lba, place: &Place) -> VolumeError {
    let shared = &reactor.shared;
    let state = shared.member(place.group, place.column).1;
    shared.totals.count_lost(1);
    count(&state.counters.unrepairable, 1);
    let (name, offset) = (state.name(), shared.layout.geometry().device_offset(place.segment.0, place.row));
    let text = format!(
        "{lba} of volume {} cannot be read from {name} at byte {offset}, nor made from other members: reads of it fail until it is \
         written anew or discarded",
        volume.name
    );
    shared.log_repeated("unreadable block", &name, text);
    VolumeError::Unreadable { volume: volume.id, lba }
}
