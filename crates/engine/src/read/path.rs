//! The way of a read: map, memory or device, checksum, and if need be the other columns.

use std::rc::Rc;

use cygnus_format::{MapEntry, Place};
use cygnus_parity as parity;
use cygnus_runtime::{Buf, BufSlice, DeviceIx, OneshotReceiver, OpFuture, Raced, race};
use cygnus_types::{BLOCK, Lba, MemberIx, Nanos};

use crate::autonomics::rehome::{Asked, Delivered, Rehomer};
use crate::counters::count;
use crate::error::VolumeError;
use crate::lsa::Publish;
use crate::peers::{Answer, ToOwner};
use crate::planted::{self, Bug};
use crate::reactor::Reactor;
use crate::read::reconstruct::{ReadMark, RowReads, Rows};
use crate::space::segments::SegIx;
use crate::volume_state::VolumeState;
use crate::write::lane::Lane;
use crate::write::streams;
use crate::write::writer::Appended;

/// Blocks that lie one behind the other on one column.
#[derive(Clone, Copy)]
struct Run {
    place: Place,
    /// First block of the request.
    first: usize,
    blocks: usize,
}

/// A run being read.
struct Reading {
    run: Run,
    from: Source,
}

/// Where a run is being read from.
enum Source {
    /// From the memory of another reactor, since it may not be on the devices yet.
    Keeper(OneshotReceiver<Answer>),
    Devices(Devices),
}

/// From which devices a run is being read.
enum Devices {
    /// From its own column, late after so long.
    Own { op: OpFuture, dev: DeviceIx, late_after: Nanos, asked: Option<Asked>, _mark: ReadMark },
    /// From the other columns, since its member is out of service, or too slow.
    Others(RowReads),
}

/// A run that was read into memory of its own, because a device still has the memory that it was meant for.
struct Elsewhere {
    run: Run,
    data: Buf,
}

/// Who won.
enum Hedged {
    /// The run's own device has ended the read, with or without success.
    Own(bool),
    /// The other columns are there; the device still has hold of the memory that the run was meant for.
    Others(Rows),
}

/// Why a block did not come from its own column.
pub(crate) enum Miss {
    /// The column's member is out of service.
    Absent,
    /// The member gave wrong data: the block deserves a new home.
    Bad,
    /// The member gave an error: likewise.
    Unread,
}

impl Reactor {
    /// Reads whole blocks from `lba` on into `into`, whose memory is block-aligned. Gives back where they are: in other
    /// memory, if a slow device still has hold of part of `into`.
    pub(crate) async fn read_blocks(
        self: &Rc<Self>,
        volume: &VolumeState,
        lba: Lba,
        into: BufSlice,
    ) -> Result<BufSlice, VolumeError> {
        let _look = self.looks.begin();
        let blocks = into.len() / BLOCK;
        self.shared.reads.of(self.rt.id()).asked_for(blocks);
        let mut reads: Vec<Reading> = Vec::new();
        let mut open_run: Option<Run> = None;
        for index in 0..blocks {
            let entry = volume.controller.locate(lba.plus(index as u64));
            if volume.controller.reads_as_zeros(entry) {
                into.zero(index * BLOCK..(index + 1) * BLOCK);
                continue;
            }
            if !entry.is_mapped() {
                return Err(self.unknown(volume, lba.plus(index as u64)));
            }
            let place = self.place(entry);
            if self.copy_from_memory(&place, index, &into) {
                continue;
            }
            if let Some(run) = &mut open_run {
                if continues(run, &place, index) {
                    run.blocks += 1;
                    continue;
                }
                reads.push(self.start_run(open_run.take().expect("just seen"), &into));
            }
            open_run = Some(Run { place, first: index, blocks: 1 });
        }
        let Some(last) = open_run else { return Ok(into) };
        let last = self.start_run(last, &into);
        let begun = self.rt.now();
        let mut elsewhere = Vec::new();
        for read in reads {
            elsewhere.extend(self.finish(volume, lba, &into, read).await?);
        }
        elsewhere.extend(self.finish(volume, lba, &into, last).await?);
        self.shared.reads.of(self.rt.id()).waited(self.rt.now().since(begun));
        Ok(if elsewhere.is_empty() { into } else { self.gathered(&into, &elsewhere) })
    }

    /// The whole of a request in memory that no device has hold of.
    fn gathered(&self, into: &BufSlice, elsewhere: &[Elsewhere]) -> BufSlice {
        let whole = self.rt.alloc(into.len()).full();
        for index in 0..into.len() / BLOCK {
            let found = elsewhere.iter().find(|e| (e.run.first..e.run.first + e.run.blocks).contains(&index));
            let range = |at: usize| at * BLOCK..(at + 1) * BLOCK;
            let block = found.map_or(into.part(range(index)), |e| e.data.part(range(index - e.run.first)));
            whole.copy_from(index * BLOCK, block);
        }
        whole
    }

    /// Where a mapped block lies.
    pub(crate) fn place(&self, entry: MapEntry) -> Place {
        self.shared.layout.locate(entry.pba()).expect("the map only points into the array")
    }

    fn seg_at(&self, place: &Place) -> SegIx {
        self.shared.segments.index(place.group, place.segment)
    }

    fn copy_from_memory(&self, place: &Place, index: usize, into: &BufSlice) -> bool {
        let seg = self.seg_at(place);
        if self.shared.segments.keeper(seg, place.row) != Some(self.rt.id()) {
            return false;
        }
        Lane::OF_DATA.into_iter().any(|lane| {
            let writer = self.writer(lane).borrow();
            writer.block(seg, place.column, place.row).is_some_and(|data| {
                into.copy_from(index * BLOCK, data);
                true
            })
        })
    }

    /// Asks another reactor for blocks that it may have in memory and not yet on the devices. Their checksums could not
    /// tell: what lies on the device where they will be may have the same 28 bits. `None`: they are on the devices.
    fn ask_keeper(&self, place: &Place, blocks: usize) -> Option<OneshotReceiver<Answer>> {
        let (seg, column, row) = (self.seg_at(place), place.column, place.row);
        let keeper = self.shared.segments.keeper(seg, row).filter(|&keeper| keeper != self.rt.id())?;
        count(&self.shared.totals.asked, 1);
        let count = blocks as u32;
        Some(self.peers.ask(&self.rt, keeper, |ticket| ToOwner::Blocks { ticket, seg, column, row, count }))
    }

    fn start_run(self: &Rc<Self>, run: Run, into: &BufSlice) -> Reading {
        let from = match self.ask_keeper(&run.place, run.blocks) {
            Some(answer) => Source::Keeper(answer),
            None => Source::Devices(self.start_on_devices(&run, into)),
        };
        Reading { run, from }
    }

    fn start_on_devices(self: &Rc<Self>, run: &Run, into: &BufSlice) -> Devices {
        let group = run.place.group;
        let (member, _) = self.shared.member(group, run.place.column);
        let offset = self.shared.layout.geometry().device_offset(run.place.segment.0, run.place.row);
        match self.device_to_read(&run.place, member, offset, run.blocks) {
            Some(dev) => {
                self.shared.reads.of(self.rt.id()).read_from(member, run.blocks * BLOCK);
                let part = into.slice(run.first * BLOCK..(run.first + run.blocks) * BLOCK);
                Devices::Own {
                    // Before it is: what it does not include itself.
                    asked: Rehomer::of(self).map(|rehomer| rehomer.asks(dev, self.shared.medium(group))),
                    op: self.rt.read(dev, offset, part),
                    dev,
                    late_after: self.late_after(group, dev, run.blocks),
                    _mark: ReadMark::new(self, group),
                }
            }
            None => Devices::Others(self.start_rows(&run.place, run.blocks)),
        }
    }

    /// The device of a member, unless it has not the column of the segment or is so slow that it is left alone.
    fn device_to_read(&self, place: &Place, member: MemberIx, offset: u64, blocks: usize) -> Option<DeviceIx> {
        let dev = self.device_holding(member, place.segment)?;
        if !self.leaves_alone(place, member, dev) {
            return Some(dev);
        }
        count(&self.shared.totals.read_around, blocks as u64);
        self.probe(dev, offset, blocks);
        None
    }

    async fn finish(
        self: &Rc<Self>,
        volume: &VolumeState,
        lba: Lba,
        into: &BufSlice,
        Reading { run, from }: Reading,
    ) -> Result<Option<Elsewhere>, VolumeError> {
        let part = into.slice(run.first * BLOCK..(run.first + run.blocks) * BLOCK);
        let from_lba = lba.plus(run.first as u64);
        let from = match from {
            Source::Devices(devices) => devices,
            Source::Keeper(answer) => match answer.await.and_then(Answer::blocks) {
                Some(data) => {
                    part.copy_from(0, &data);
                    self.verify_run(volume, from_lba, &run, true, &part).await?;
                    return Ok(None);
                }
                None => self.start_on_devices(&run, into),
            },
        };
        let (delivered, asked) = match from {
            Devices::Others(rows) => {
                let rows = rows.ended(run.place).await;
                let restored = self.restore_run(volume, from_lba, &rows, &part).await?;
                // A slow member that was read around is counted as such, and has lost nothing.
                let (member, _) = self.shared.member(run.place.group, run.place.column);
                if self.device_holding(member, run.place.segment).is_none() {
                    count(&self.shared.totals.reconstructed, restored);
                }
                return Ok(None);
            }
            Devices::Own { mut op, dev, late_after, asked, _mark } => match op.within(late_after).await {
                Some(result) => (result.is_ok(), asked),
                None => match self.hedge(&run, dev, &mut op).await {
                    Hedged::Own(delivered) => (delivered, asked),
                    Hedged::Others(rows) => {
                        let data = self.rt.alloc(part.len());
                        self.restore_run(volume, from_lba, &rows, &data.full()).await?;
                        return Ok(Some(Elsewhere { run, data }));
                    }
                },
            },
        };
        self.verify_run(volume, from_lba, &run, delivered, &part).await?;
        if let (Some(rehomer), Some(asked)) = (Rehomer::of(self), asked) {
            rehomer.delivered(&asked, &Delivered { volume, lba: from_lba, place: run.place, data: &part });
        }
        Ok(None)
    }

    /// Sees to it that what was read for a run is right. What the map has for a block now must be where the run was read,
    /// and match: had the block moved meanwhile, its old place might hold another one by now. What is not so is read anew.
    async fn verify_run(
        self: &Rc<Self>,
        volume: &VolumeState,
        lba: Lba,
        run: &Run,
        delivered: bool,
        part: &BufSlice,
    ) -> Result<(), VolumeError> {
        for index in 0..run.blocks {
            let at = lba.plus(index as u64);
            let range = index * BLOCK..(index + 1) * BLOCK;
            let good = delivered && {
                let entry = volume.controller.locate(at);
                self.lies_at(entry, &run.place, index)
                    && (entry.matches(parity::checksum::crc32c(part.part(range.clone())))
                        || planted::is(Bug::ChecksumSkipped))
            };
            if !good {
                self.read_block(volume, at, &part.slice(range)).await?;
            }
        }
        Ok(())
    }

    /// Whether a map entry points to the `nth` row from a place on.
    pub(crate) fn lies_at(&self, entry: MapEntry, place: &Place, nth: usize) -> bool {
        entry.is_mapped() && entry.pba().0 == self.shared.layout.pba(*place).0 + nth as u64
    }

    /// Lets a late read race against the other columns.
    async fn hedge(self: &Rc<Self>, run: &Run, dev: DeviceIx, op: &mut OpFuture) -> Hedged {
        self.paces.late(dev, self.rt.now());
        let (member, _) = self.shared.member(run.place.group, run.place.column);
        if !self.can_do_without(&run.place, member) || !self.paces.may_hedge() {
            return Hedged::Own(op.await.is_ok());
        }
        count(&self.shared.totals.hedged, run.blocks as u64);
        let others = self.start_rows(&run.place, run.blocks).ended(run.place);
        match race(op, others).await {
            Raced::First(result) => Hedged::Own(result.is_ok()),
            Raced::Second(rows) => Hedged::Others(rows),
        }
    }

    /// Fills `part` with a run restored from its rows; what they do not yield is read one by one. Returns how many blocks
    /// they did yield.
    async fn restore_run(
        self: &Rc<Self>,
        volume: &VolumeState,
        lba: Lba,
        rows: &Rows,
        part: &BufSlice,
    ) -> Result<u64, VolumeError> {
        let mut restored = 0;
        for index in 0..part.len() / BLOCK {
            let at = lba.plus(index as u64);
            let into = part.slice(index * BLOCK..(index + 1) * BLOCK);
            let entry = volume.controller.locate(at);
            if self.lies_at(entry, &rows.place, index) && self.restore(rows, index, entry, &into) {
                restored += 1;
            } else {
                self.read_block(volume, at, &into).await?;
            }
        }
        Ok(restored)
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
            let seg = self.seg_at(&place);
            let life = self.shared.segments.seq(seg);
            let kept = match self.ask_keeper(&place, 1) {
                Some(answer) => answer.await.and_then(Answer::blocks),
                None => None,
            };
            let read = match kept {
                Some(data) => {
                    into.copy_from(0, &data);
                    Ok(())
                }
                None => self.read_column(&place, entry, into).await,
            };
            let miss = match read {
                Ok(()) if entry.matches(parity::checksum::crc32c(into.bytes())) => {
                    if volume.controller.locate(lba) == entry || self.shared.segments.still_holds(seg, life) {
                        return Ok(entry);
                    }
                    // Its place was given back while we read, and may have held another block already.
                    continue;
                }
                Ok(()) => Some(Miss::Bad),
                Err(miss) => Some(miss),
            };
            if volume.controller.locate(lba) != entry {
                // It moved or was overwritten while we looked at its old place.
                continue;
            }
            if self.rebuild_block(&place, entry, into).await {
                self.block_restored(volume, lba, entry, &place, into, miss);
                return Ok(entry);
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
                count(&self.shared.totals.unreadable, 1);
                count(&self.shared.member(place.group, place.column).1.counters.unrepairable, 1);
                return Err(VolumeError::Unreadable { volume: volume.id, lba });
            }
        }
    }

    /// A block of a volume in doubt of which nobody knows what it holds.
    fn unknown(&self, volume: &VolumeState, lba: Lba) -> VolumeError {
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
        self.shared.reads.of(self.rt.id()).read_from(member, BLOCK);
        // Into memory of its own, of which a device that is late may keep hold.
        let buf = self.rt.alloc(BLOCK);
        let mut op = self.rt.read(dev, offset, buf.full());
        let result = match op.within(self.late_after(place.group, dev, 1)).await {
            Some(result) => result,
            None => {
                self.paces.late(dev, self.rt.now());
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

    /// Reports a block that had to be rebuilt, and writes it anew if its place proved bad.
    fn block_restored(
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
        let lane = streams::lane_of_moved(self, volume, self.shared.medium(place.group));
        let mut writer = self.writer(lane).borrow_mut();
        // Without room it stays where it is: the next read will find it bad again.
        if writer.append(self, volume, lba, data.bytes(), Publish::IfStill(entry)) == Appended::Done {
            count(&self.shared.totals.repaired, 1);
            count(&state.counters.repaired, 1);
            let name = state.name();
            let text =
                format!("{what} on {name}: {lba} of volume {} is made from the other columns and moved", volume.name);
            self.shared.log_repeated(what, &name, text);
        }
    }
}

fn continues(run: &Run, place: &Place, index: usize) -> bool {
    let next = Place { row: run.place.row + run.blocks as u32, ..run.place };
    *place == next && index == run.first + run.blocks
}
