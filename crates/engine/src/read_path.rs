//! The way of a read: map, memory or device, checksum, and if need be the other columns.

use std::rc::Rc;

use cygnus_format::{MapEntry, Place, Stream};
use cygnus_parity as parity;
use cygnus_runtime::{Buf, BufSlice, IoErrorKind, OpFuture};
use cygnus_types::{BLOCK, GroupId, Lba};

use crate::error::VolumeError;
use crate::peers::ToOwner;
use crate::reactor::Reactor;
use crate::segments::SegState;
use crate::shared::{VolumeState, count};
use crate::writer::Publish;

/// Blocks that lie one behind the other on one column.
#[derive(Clone, Copy)]
struct Run {
    place: Place,
    /// First block of the request.
    first: usize,
    blocks: usize,
}

/// Counts a guest's read on its group while it lasts, so that cleaning there gives way.
struct ReadMark(Rc<Reactor>, GroupId);

impl ReadMark {
    fn new(reactor: &Rc<Reactor>, group: GroupId) -> Self {
        reactor.shared.read_begins(group);
        Self(reactor.clone(), group)
    }
}

impl Drop for ReadMark {
    fn drop(&mut self) {
        self.0.shared.read_ends(self.1);
    }
}

/// A run being read; no operation if its member is out of service.
struct Reading {
    run: Run,
    op: Option<(OpFuture, ReadMark)>,
}

/// Why a block did not come from its own column.
enum Miss {
    /// The column's member is out of service.
    Absent,
    /// The member gave an error or wrong data: the block deserves a new home.
    Bad,
}

impl Reactor {
    /// Reads whole blocks from `lba` on into `into`, whose memory is block-aligned.
    pub(crate) async fn read_blocks(
        self: &Rc<Self>,
        volume: &VolumeState,
        lba: Lba,
        into: &BufSlice,
    ) -> Result<(), VolumeError> {
        let blocks = into.len() / BLOCK;
        count(&self.shared.totals.user_read, blocks as u64);
        let mut reads: Vec<Reading> = Vec::new();
        let mut open_run: Option<Run> = None;
        for index in 0..blocks {
            let entry = volume.map.get(lba.plus(index as u64));
            if entry == MapEntry::EMPTY {
                into.zero(index * BLOCK..(index + 1) * BLOCK);
                continue;
            }
            let place = self.place(entry);
            if self.copy_from_memory(&place, index, into) {
                continue;
            }
            if let Some(run) = &mut open_run {
                if continues(run, &place, index) {
                    run.blocks += 1;
                    continue;
                }
                reads.push(self.start(open_run.take().expect("just seen"), into));
            }
            open_run = Some(Run { place, first: index, blocks: 1 });
        }
        let Some(last) = open_run else { return Ok(()) };
        let last = self.start(last, into);
        for read in reads {
            self.finish(volume, lba, into, read).await?;
        }
        self.finish(volume, lba, into, last).await
    }

    /// Where a mapped block lies.
    pub(crate) fn place(&self, entry: MapEntry) -> Place {
        self.shared.layout.locate(entry.pba()).expect("the map only points into the array")
    }

    fn copy_from_memory(&self, place: &Place, index: usize, into: &BufSlice) -> bool {
        let seg = self.shared.segments.index(place.group, place.segment);
        if self.shared.segments.state(seg) != SegState::Open || self.shared.segments.owner(seg) != self.rt.id() {
            return false;
        }
        [Stream::User, Stream::Relocation].into_iter().any(|stream| {
            let writer = self.writer(stream).borrow();
            writer.block(seg, place.column, place.row).is_some_and(|data| {
                into.copy_from(index * BLOCK, data);
                true
            })
        })
    }

    fn start(self: &Rc<Self>, run: Run, into: &BufSlice) -> Reading {
        let (member, state) = self.shared.member(run.place.group, run.place.column);
        let op = self.device_in_service(member).map(|dev| {
            let offset = self.shared.layout.geometry().device_offset(run.place.segment.0, run.place.row);
            count(&state.counters.read, (run.blocks * BLOCK) as u64);
            let part = into.slice(run.first * BLOCK..(run.first + run.blocks) * BLOCK);
            (self.rt.read(dev, offset, part), ReadMark::new(self, run.place.group))
        });
        Reading { run, op }
    }

    async fn finish(
        self: &Rc<Self>,
        volume: &VolumeState,
        lba: Lba,
        into: &BufSlice,
        Reading { run, op }: Reading,
    ) -> Result<(), VolumeError> {
        let delivered = match op {
            None => false,
            Some((op, _mark)) => op.await.is_ok(),
        };
        for index in run.first..run.first + run.blocks {
            let at = lba.plus(index as u64);
            let range = index * BLOCK..(index + 1) * BLOCK;
            // Against the entry of now: whatever happened to the block meanwhile, what matches it is right.
            let good = delivered && {
                let entry = volume.map.get(at);
                entry != MapEntry::EMPTY && entry.matches(parity::checksum::crc32c(into.part(range.clone())))
            };
            if !good {
                self.read_block(volume, at, &into.slice(range)).await?;
            }
        }
        Ok(())
    }

    /// Reads one block with everything that can be done for it; returns the map entry that it belongs to.
    pub(crate) async fn read_block(
        self: &Rc<Self>,
        volume: &VolumeState,
        lba: Lba,
        into: &BufSlice,
    ) -> Result<MapEntry, VolumeError> {
        loop {
            let entry = volume.map.get(lba);
            if entry == MapEntry::EMPTY {
                into.zero(0..BLOCK);
                return Ok(entry);
            }
            let place = self.place(entry);
            if self.copy_from_memory(&place, 0, into) || self.copy_from_peer(&place, entry, into).await {
                return Ok(entry);
            }
            let miss = match self.read_column(&place, into).await {
                Ok(()) if entry.matches(parity::checksum::crc32c(into.bytes())) => return Ok(entry),
                Ok(()) => Some(Miss::Bad),
                Err(miss) => Some(miss),
            };
            if volume.map.get(lba) != entry {
                // It moved or was overwritten while we looked at its old place.
                continue;
            }
            if self.rebuild_block(&place, entry, into).await {
                self.block_restored(volume, lba, entry, &place, into, miss);
                return Ok(entry);
            }
            if volume.map.get(lba) == entry {
                count(&self.shared.totals.unreadable, 1);
                return Err(VolumeError::Unreadable { volume: volume.id, lba });
            }
        }
    }

    /// Asks the reactor that still has the block in memory.
    async fn copy_from_peer(self: &Rc<Self>, place: &Place, entry: MapEntry, into: &BufSlice) -> bool {
        let seg = self.shared.segments.index(place.group, place.segment);
        let owner = self.shared.segments.owner(seg);
        if self.shared.segments.state(seg) != SegState::Open || owner == self.rt.id() {
            return false;
        }
        let question = |ticket| ToOwner::Block { ticket, seg, column: place.column, row: place.row };
        match self.peers.ask(self, owner.index(), question).await.and_then(|answer| answer.block()) {
            Some(data) if entry.matches(parity::checksum::crc32c(&data[..])) => {
                into.copy_from(0, &data[..]);
                true
            }
            _ => false,
        }
    }

    async fn read_column(self: &Rc<Self>, place: &Place, into: &BufSlice) -> Result<(), Miss> {
        let (member, state) = self.shared.member(place.group, place.column);
        let Some(dev) = self.device_in_service(member) else { return Err(Miss::Absent) };
        let _mark = ReadMark::new(self, place.group);
        let offset = self.shared.layout.geometry().device_offset(place.segment.0, place.row);
        count(&state.counters.read, BLOCK as u64);
        match self.rt.read(dev, offset, into.clone()).await {
            Ok(_) => Ok(()),
            Err(error) => {
                count(&state.counters.errors, 1);
                if error.kind == IoErrorKind::Gone {
                    self.member_failed(member, &format!("a read at byte {offset} failed: {error}"));
                    return Err(Miss::Absent);
                }
                Err(Miss::Bad)
            }
        }
    }

    /// Rebuilds a block from the other columns of its row. When the first attempt does not match the checksum and
    /// there is parity to spare, each other column in turn is suspected too.
    pub(crate) async fn rebuild_block(self: &Rc<Self>, place: &Place, entry: MapEntry, into: &BufSlice) -> bool {
        let rotation = self.rotation(place.segment);
        let k = usize::from(rotation.data);
        let columns = self.read_row(place).await;
        let wanted = (0..columns.len())
            .find(|&l| crate::stripe::physical_column(rotation, l as u8) == place.column)
            .expect("every physical column has a role");
        let mut out = self.rt.alloc(BLOCK);
        let mut attempt = |suspect: Option<usize>| {
            let mut sources = [None; cygnus_format::MAX_WIDTH as usize];
            for (logical, column) in columns.iter().enumerate() {
                if logical != wanted && Some(logical) != suspect {
                    sources[logical] = column.as_ref().map(Buf::bytes);
                }
            }
            parity::reconstruct(k, &sources[..columns.len()], wanted, out.bytes_mut()).is_ok()
                && entry.matches(parity::checksum::crc32c(out.bytes()))
        };
        let present = columns.iter().enumerate().filter(|(l, c)| *l != wanted && c.is_some()).map(|(l, _)| l);
        let found = attempt(None) || present.into_iter().any(|suspect| attempt(Some(suspect)));
        if found {
            into.copy_from(0, out.bytes());
        }
        found
    }

    /// All other columns of a row, by logical number; `None` where a column cannot be read.
    async fn read_row(self: &Rc<Self>, place: &Place) -> Vec<Option<Buf>> {
        let rotation = self.rotation(place.segment);
        let width = self.shared.layout.geometry().width();
        let offset = self.shared.layout.geometry().device_offset(place.segment.0, place.row);
        let _mark = ReadMark::new(self, place.group);
        let reads: Vec<_> = (0..width)
            .map(|logical| {
                let physical = crate::stripe::physical_column(rotation, logical);
                let (member, state) = self.shared.member(place.group, physical);
                let dev = self.device_in_service(member).filter(|_| physical != place.column)?;
                let buf = self.rt.alloc(BLOCK);
                count(&state.counters.read, BLOCK as u64);
                let op = self.rt.read(dev, offset, buf.full());
                Some((buf, op))
            })
            .collect();
        crate::scan::ended(reads).await
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
        let Some(Miss::Bad) = miss else { return };
        let (_, state) = self.shared.member(place.group, place.column);
        count(&state.counters.corrupt, 1);
        if self.shared.is_stopped() || self.hold.get() {
            return;
        }
        let mut writer = self.writer(Stream::User).borrow_mut();
        // Without room it stays where it is: the next read will find it bad again.
        if writer.append(self, volume, lba, data.bytes(), Publish::IfStill(entry)) == crate::writer::Appended::Done {
            count(&self.shared.totals.repaired, 1);
            let name = &state.name;
            let id = volume.id;
            self.shared.log(format!("{id} {lba}: wrong data on {name}, repaired from the other columns and moved"));
        }
    }
}

fn continues(run: &Run, place: &Place, index: usize) -> bool {
    let next = Place { row: run.place.row + run.blocks as u32, ..run.place };
    *place == next && index == run.first + run.blocks
}
