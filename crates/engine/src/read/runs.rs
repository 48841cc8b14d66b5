//! The runs of a read: blocks that lie one behind the other on one column, and are asked for together.
//!
//! What is rare is boxed. The future of each read is moved into a task and kept there, so it should not have room for all that may
//! become of a read.

use std::rc::Rc;

use cygnus_format::Place;
use cygnus_parity as parity;
use cygnus_runtime::{Buf, BufSlice, DeviceIx, OneshotReceiver, OpFuture, Raced, race};
use cygnus_types::{BLOCK, Lba, MemberIx, Nanos};

use crate::autonomics::rehome::{Asked, Rehomer};
use crate::counters::count;
use crate::error::VolumeError;
use crate::hybrid::promote::Promoter;
use crate::peers::Answer;
use crate::planted::{self, Bug};
use crate::reactor::Reactor;
use crate::read::delivered::Delivered;
use crate::read::of_page::{OfPage, read_page};
use crate::read::page_check::is_page;
use crate::read::reconstruct::{ReadMark, RowReads, Rows};
use crate::read::slow::note_late;
use crate::volume_state::VolumeState;

/// See the module's text.
#[derive(Clone, Copy)]
pub(super) struct Run {
    place: Place,
    /// First block of the request.
    first: usize,
    blocks: usize,
}

/// A run being read.
pub(super) struct Reading {
    run: Run,
    from: Source,
}

/// Where a run is being read from.
enum Source {
    /// The memory of another reactor, since it may not be on the devices yet.
    Keeper(OneshotReceiver<Answer>),
    /// Its own column.
    Own(OwnColumn),
    /// The other columns, since its member is out of service, or too slow.
    Others(RowReads),
    /// A page of which other blocks have entries of their own by now, and which of the run's blocks have not, as a bit each.
    Page(u32),
}

/// A read of a run's own column, late after so long.
struct OwnColumn {
    op: OpFuture,
    dev: DeviceIx,
    late_after: Nanos,
    asked: Option<Asked>,
    _mark: ReadMark,
}

/// A run that was read into memory of its own, because a device still has the memory that it was meant for.
pub(super) struct Elsewhere {
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

/// A request for whole blocks of a volume from `lba` on, into memory that is block-aligned.
pub(super) struct Runs<'a> {
    pub reactor: &'a Rc<Reactor>,
    pub volume: &'a VolumeState,
    pub lba: Lba,
    pub into: BufSlice,
}

impl Runs<'_> {
    /// Reads the blocks into the memory that they are meant for, or into other memory, which is given back: see
    /// [`Reactor::read_blocks`].
    #[expect(clippy::manual_async_fn, reason = "the future of an async fn has room for its arguments twice")]
    pub(super) fn read(self) -> impl Future<Output = Result<BufSlice, VolumeError>> {
        async move {
            let (mut earlier, mut last) = (Vec::new(), None);
            self.start(&mut earlier, &mut last)?;
            let Some(last) = &mut last else { return Ok(self.into) };
            let begun = self.reactor.rt.now();
            let elsewhere = match earlier.is_empty() {
                true => self.finish(last).await?.into_iter().collect(),
                false => Box::pin(self.finish_all(earlier, last)).await?,
            };
            self.reactor.shared.clients.of(self.reactor.rt.id()).waited(self.reactor.rt.now().since(begun));
            Ok(if elsewhere.is_empty() { self.into } else { self.gathered(&elsewhere) })
        }
    }

    /// Puts what is in memory where it belongs, and begins to read all else: all runs, and the last one, if there is any.
    // Into what the caller has of them: they are large, and most reads are of one.
    fn start(&self, reads: &mut Vec<Reading>, last: &mut Option<Reading>) -> Result<(), VolumeError> {
        let Runs { reactor, volume, lba, ref into } = *self;
        let mut open_run: Option<Run> = None;
        for index in 0..into.len() / BLOCK {
            let entry = volume.controller.locate(lba.plus(index as u64));
            if volume.controller.reads_as_zeros(entry) {
                into.zero(index * BLOCK..(index + 1) * BLOCK);
                continue;
            }
            if !entry.is_mapped() {
                return Err(reactor.unknown(volume, lba.plus(index as u64)));
            }
            let place = reactor.place(entry);
            if reactor.copy_from_memory(&place, index, into) {
                continue;
            }
            if entry.is_of_page() && !self.is_whole(index) {
                let run = self.rest_of_page(place, index);
                match reads.last_mut() {
                    Some(Reading { run: last, from: Source::Page(which) })
                        if last.first + last.blocks == run.first + run.blocks =>
                    {
                        *which |= 1 << (index - last.first);
                    }
                    _ => reads.push(Reading { run, from: Source::Page(1) }),
                }
                continue;
            }
            if let Some(run) = &mut open_run {
                if continues(run, &place, index) {
                    run.blocks += 1;
                    continue;
                }
                reads.push(self.start_run(open_run.take().expect("just seen")));
            }
            open_run = Some(Run { place, first: index, blocks: 1 });
        }
        *last = match open_run {
            Some(run) => Some(self.start_run(run)),
            None => reads.pop(),
        };
        Ok(())
    }

    /// Whether no block of the page of this block of the request has an entry of its own.
    fn is_whole(&self, index: usize) -> bool {
        let controller = &self.volume.controller;
        let first = controller.page_of(self.lba.plus(index as u64));
        controller.whole_page(first, controller.page_blocks() as usize).is_some()
    }

    /// From this block of the request on, which lies at `place`, to the end of its page.
    fn rest_of_page(&self, place: Place, index: usize) -> Run {
        let lba = self.lba.plus(index as u64);
        let left = self.volume.controller.page_of(lba).0 + self.volume.controller.page_blocks() - lba.0;
        Run { place, first: index, blocks: (left as usize).min(self.into.len() / BLOCK - index) }
    }

    fn start_run(&self, run: Run) -> Reading {
        let from = match self.reactor.ask_keeper(&run.place, run.blocks) {
            Some(answer) => Source::Keeper(answer),
            None => self.start_on_devices(&run),
        };
        Reading { run, from }
    }

    fn start_on_devices(&self, run: &Run) -> Source {
        let reactor = self.reactor;
        let group = run.place.group;
        let (member, _) = reactor.shared.member(group, run.place.column);
        let offset = reactor.shared.layout.geometry().device_offset(run.place.segment.0, run.place.row);
        match self.device_to_read(&run.place, member, offset, run.blocks) {
            Some(dev) => {
                reactor.shared.clients.of(reactor.rt.id()).read_from(member, run.blocks * BLOCK);
                Source::Own(OwnColumn {
                    // Before it is: what it does not include itself.
                    asked: Rehomer::of(reactor).map(|rehomer| rehomer.asks(dev, group)),
                    op: reactor.rt.read(dev, offset, self.part(run)),
                    dev,
                    late_after: reactor.late_after(group, dev, run.blocks),
                    _mark: ReadMark::new(reactor, group),
                })
            }
            None => Source::Others(reactor.start_rows(&run.place, run.blocks)),
        }
    }

    /// The device of a member, unless it has not the column of the segment or is so slow that it is left alone.
    fn device_to_read(&self, place: &Place, member: MemberIx, offset: u64, blocks: usize) -> Option<DeviceIx> {
        let reactor = self.reactor;
        let dev = reactor.device_holding(member, place.segment)?;
        if !reactor.leaves_alone(place, member, dev) {
            return Some(dev);
        }
        count(&reactor.shared.totals.read_around, blocks as u64);
        reactor.probe(dev, offset, blocks);
        None
    }

    /// Ends several, the last one too.
    async fn finish_all(&self, earlier: Vec<Reading>, last: &mut Reading) -> Result<Vec<Elsewhere>, VolumeError> {
        let mut elsewhere = Vec::new();
        for mut read in earlier {
            elsewhere.extend(self.finish(&mut read).await?);
        }
        elsewhere.extend(self.finish(last).await?);
        Ok(elsewhere)
    }

    /// Ends the read of a run.
    async fn finish(&self, read: &mut Reading) -> Result<Option<Elsewhere>, VolumeError> {
        let Source::Own(own) = &mut read.from else { return Box::pin(self.finish_otherwise(read)).await };
        let Some(result) = own.op.within(own.late_after).await else {
            return Box::pin(self.finish_late(read)).await;
        };
        let delivered = result.is_ok();
        if !self.is_right(&read.run, delivered) {
            Box::pin(self.mend(&read.run, delivered)).await?;
        }
        self.tell_movers(read);
        Ok(None)
    }

    /// Ends a read that is not of the run's own column.
    async fn finish_otherwise(&self, read: &mut Reading) -> Result<Option<Elsewhere>, VolumeError> {
        let run = read.run;
        match &mut read.from {
            Source::Own(_) => unreachable!("the caller sees to it"),
            Source::Page(which) => self.read_mixed(&run, *which).await?,
            Source::Keeper(answer) => match answer.await.and_then(Answer::blocks) {
                Some(data) => {
                    self.part(&run).copy_from(0, &data);
                    self.mend(&run, true).await?;
                }
                None => {
                    read.from = self.start_on_devices(&run);
                    return self.finish(read).await;
                }
            },
            Source::Others(rows) => {
                let rows = rows.ended(run.place).await;
                let restored = self.restore(&run, &rows, &self.part(&run)).await?;
                // A slow member that was read around is counted as such, and has lost nothing.
                let reactor = self.reactor;
                let (member, _) = reactor.shared.member(run.place.group, run.place.column);
                if reactor.device_holding(member, run.place.segment).is_none() {
                    count(&reactor.shared.totals.reconstructed, restored);
                }
            }
        }
        Ok(None)
    }

    /// Reads those blocks of a run that have no entries of their own from the page that they are of.
    async fn read_mixed(&self, run: &Run, which: u32) -> Result<(), VolumeError> {
        let (reactor, controller, base) =
            (self.reactor, &self.volume.controller, self.reactor.shared.layout.pba(run.place));
        let begun = self.lba_of(run, 0);
        let entry = controller.locate(begun);
        let fetched = match entry.is_of_page() && entry.pba() == base {
            true => Some(OfPage::of(reactor, self.volume, begun, entry).fetch().await),
            false => None,
        };
        let skipped = (begun.0 - controller.page_of(begun).0) as usize;
        for nth in (0..run.blocks).filter(|nth| which & 1 << nth != 0) {
            let into = self.into.slice((run.first + nth) * BLOCK..(run.first + nth + 1) * BLOCK);
            let is_there = controller.locate(self.lba_of(run, nth)) == entry.nth(nth as u64);
            match fetched.as_ref().filter(|fetched| is_there && fetched.miss.is_none() && fetched.is_whole()) {
                Some(fetched) => {
                    into.copy_from(0, fetched.data.part((skipped + nth) * BLOCK..(skipped + nth + 1) * BLOCK))
                }
                None => drop(reactor.read_block(self.volume, self.lba_of(run, nth), &into).await?),
            }
        }
        Ok(())
    }

    /// Ends a read of the run's own column that is late.
    async fn finish_late(&self, read: &mut Reading) -> Result<Option<Elsewhere>, VolumeError> {
        let run = read.run;
        let Source::Own(own) = &mut read.from else { unreachable!("only reads of the own column are late") };
        match self.hedge(&run, own).await {
            Hedged::Own(delivered) => {
                self.mend(&run, delivered).await?;
                self.tell_movers(read);
                Ok(None)
            }
            Hedged::Others(rows) => {
                let data = self.reactor.rt.alloc(run.blocks * BLOCK);
                self.restore(&run, &rows, &data.full()).await?;
                Ok(Some(Elsewhere { run, data }))
            }
        }
    }

    /// Lets a late read race against the other columns.
    async fn hedge(&self, run: &Run, own: &mut OwnColumn) -> Hedged {
        let reactor = self.reactor;
        note_late(reactor, own.dev);
        let (member, _) = reactor.shared.member(run.place.group, run.place.column);
        if !reactor.can_do_without(&run.place, member) || !reactor.paces.may_hedge() {
            return Hedged::Own((&mut own.op).await.is_ok());
        }
        count(&reactor.shared.totals.hedged, run.blocks as u64);
        let mut others = reactor.start_rows(&run.place, run.blocks);
        match race(&mut own.op, others.ended(run.place)).await {
            Raced::First(result) => Hedged::Own(result.is_ok()),
            Raced::Second(rows) => Hedged::Others(rows),
        }
    }

    /// Whether what was read for a run is right.
    fn is_right(&self, run: &Run, delivered: bool) -> bool {
        let mut nth = 0;
        while delivered && nth < run.blocks {
            let Some(right) = self.right_from(run, nth) else { return false };
            nth += right;
        }
        delivered
    }

    /// How many blocks of a run are right for certain, from the `nth` on: a block, or the page that it begins. What the map has for a
    /// block now must be where it was read, and match: had the block moved meanwhile, its old place might hold another one by now.
    #[inline]
    fn right_from(&self, run: &Run, nth: usize) -> Option<usize> {
        let entry = self.volume.controller.locate(self.lba_of(run, nth));
        if !self.reactor.shared.lies_at(entry, &run.place, nth) {
            return None;
        }
        let at = (run.first + nth) * BLOCK;
        if entry.is_of_page() {
            let blocks = self.page_in(run, nth)?;
            return is_page(entry, self.into.part(at..at + blocks * BLOCK)).then_some(blocks);
        }
        let matches = entry.matches(parity::checksum::crc32c(self.into.part(at..at + BLOCK)));
        (matches || planted::is(Bug::ChecksumSkipped)).then_some(1)
    }

    /// Blocks of the page that begins at the `nth` block of a run, if all of it is in the run.
    fn page_in(&self, run: &Run, nth: usize) -> Option<usize> {
        self.volume.controller.whole_page(self.lba_of(run, nth), run.blocks - nth)
    }

    /// Sees to it that what was read for a run is right: what is not so is read anew.
    async fn mend(&self, run: &Run, delivered: bool) -> Result<(), VolumeError> {
        let mut nth = 0;
        while nth < run.blocks {
            nth += match self.right_from(run, nth).filter(|_| delivered) {
                Some(right) => right,
                None => self.read_anew(run, nth, &self.into, run.first + nth).await?,
            };
        }
        Ok(())
    }

    /// Reads the `nth` block of a run with everything that can be done for it, or the page that it begins, into `part` from block `at`
    /// on. Says how many blocks that was.
    async fn read_anew(&self, run: &Run, nth: usize, part: &BufSlice, at: usize) -> Result<usize, VolumeError> {
        let (lba, blocks) = (self.lba_of(run, nth), self.page_in(run, nth));
        let into = part.slice(at * BLOCK..(at + blocks.unwrap_or(1)) * BLOCK);
        match blocks {
            Some(_) => Box::pin(read_page(self.reactor, self.volume, lba, &into)).await?,
            None => drop(self.reactor.read_block(self.volume, lba, &into).await?),
        }
        Ok(blocks.unwrap_or(1))
    }

    /// Fills `part` with a run restored from its rows; what they do not yield is read block by block. Returns how many blocks
    /// they did yield.
    async fn restore(&self, run: &Run, rows: &Rows, part: &BufSlice) -> Result<u64, VolumeError> {
        let (mut restored, mut nth) = (0, 0);
        while nth < run.blocks {
            let entry = self.volume.controller.locate(self.lba_of(run, nth));
            let blocks = self.page_in(run, nth).unwrap_or(1);
            let into = part.slice(nth * BLOCK..(nth + blocks) * BLOCK);
            let is_there = self.reactor.shared.lies_at(entry, &rows.place, nth);
            let is_restored = is_there
                && match blocks {
                    1 => rows.restore(self.reactor, nth, entry, &into),
                    _ => rows.restore_page(self.reactor, nth, entry, &into),
                };
            if is_restored {
                restored += blocks as u64;
                nth += blocks;
            } else {
                nth += self.read_anew(run, nth, part, nth).await?;
            }
        }
        Ok(restored)
    }

    /// Tells those who may want the run elsewhere that its own column has delivered it.
    #[inline]
    fn tell_movers(&self, read: &Reading) {
        let Source::Own(OwnColumn { asked, .. }) = &read.from else { return };
        let (rehomer, promoter) = (Rehomer::of(self.reactor), Promoter::of(self.reactor, self.volume));
        if rehomer.is_none() && promoter.is_none() {
            return;
        }
        let (volume, lba, place) = (self.volume, self.lba_of(&read.run, 0), read.run.place);
        let blocks = Delivered { volume, lba, place, data: &self.part(&read.run) };
        if let (Some(rehomer), Some(asked)) = (rehomer, asked) {
            rehomer.delivered(asked, &blocks);
        }
        if let Some(promoter) = promoter {
            promoter.delivered(&blocks);
        }
    }

    /// The whole of the request in memory that no device has hold of.
    fn gathered(&self, elsewhere: &[Elsewhere]) -> BufSlice {
        let whole = self.reactor.rt.alloc(self.into.len()).full();
        for index in 0..self.into.len() / BLOCK {
            let found = elsewhere.iter().find(|e| (e.run.first..e.run.first + e.run.blocks).contains(&index));
            let range = |at: usize| at * BLOCK..(at + 1) * BLOCK;
            let block = found.map_or(self.into.part(range(index)), |e| e.data.part(range(index - e.run.first)));
            whole.copy_from(index * BLOCK, block);
        }
        whole
    }

    /// The `nth` block of a run.
    fn lba_of(&self, run: &Run, nth: usize) -> Lba {
        self.lba.plus((run.first + nth) as u64)
    }

    /// A run's part of the request's memory.
    fn part(&self, run: &Run) -> BufSlice {
        self.into.slice(run.first * BLOCK..(run.first + run.blocks) * BLOCK)
    }
}

fn continues(run: &Run, place: &Place, index: usize) -> bool {
    let next = Place { row: run.place.row + run.blocks as u32, ..run.place };
    *place == next && index == run.first + run.blocks
}
