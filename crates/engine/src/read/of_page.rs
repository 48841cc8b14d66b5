//! Blocks of a page, which only the page as a whole verifies: the map has one checksum for all of them.
//!
//! A page is read with all its blocks, those among them that nobody wants any more. What does not match is made from the other columns,
//! all of it; and if that does not match either, the stripe's header tells of each block by itself.

use std::rc::Rc;

use cygnus_format::{MapEntry, Place};
use cygnus_parity as parity;
use cygnus_runtime::{Buf, BufSlice, Raced, race};
use cygnus_types::{BLOCK, Lba};

use crate::counters::count;
use crate::error::VolumeError;
use crate::peers::Answer;
use crate::reactor::Reactor;
use crate::read::got::{Got, Miss};
use crate::read::page_check::{all_of, is_page, own_entry};
use crate::read::reconstruct::ReadMark;
use crate::read::runs::Runs;
use crate::read::scan::Scanner;
use crate::read::slow::note_late;
use crate::volume_state::VolumeState;

/// A page as it was written, as far as it is to be had.
pub(crate) struct Fetched {
    pub data: Buf,
    /// The blocks of it that are right, as a bit each.
    pub right: u32,
    /// What was the matter with its own column, if anything was.
    pub miss: Option<Miss>,
}

impl Fetched {
    /// Whether all its blocks are right.
    pub(crate) fn is_whole(&self) -> bool {
        self.right == all_of(self.data.len() / BLOCK)
    }
}

/// A page of a volume, by the entry of its first block and where that lies.
pub(crate) struct OfPage<'a> {
    reactor: &'a Rc<Reactor>,
    entry: MapEntry,
    place: Place,
    blocks: usize,
}

impl<'a> OfPage<'a> {
    /// The page that a block is of, whose entry is that of a page.
    pub(crate) fn of(reactor: &'a Rc<Reactor>, volume: &VolumeState, lba: Lba, entry: MapEntry) -> Self {
        let nth = lba.0 - volume.controller.page_of(lba).0;
        let place = reactor.place(entry);
        let place = Place { row: place.row - nth as u32, ..place };
        let entry = MapEntry::of_page(reactor.shared.layout.pba(place), entry.crc_bits());
        Self { reactor, entry, place, blocks: volume.controller.page_blocks() as usize }
    }

    fn at(&self, nth: usize) -> Place {
        Place { row: self.place.row + nth as u32, ..self.place }
    }

    /// All of it, from memory, from its column or from the others.
    pub(crate) async fn fetch(&self) -> Fetched {
        let reactor = self.reactor;
        let data = reactor.rt.alloc(self.blocks * BLOCK);
        let into = data.full();
        if (0..self.blocks).all(|nth| reactor.copy_from_memory(&self.at(nth), nth, &into)) {
            return Fetched { data, right: all_of(self.blocks), miss: None };
        }
        let kept = match reactor.ask_keeper(&self.place, self.blocks) {
            Some(answer) => answer.await.and_then(Answer::blocks),
            None => None,
        };
        let miss = match kept {
            Some(kept) => {
                into.copy_from(0, &kept);
                None
            }
            None => self.read_column(&into).await.err(),
        };
        if miss.is_none() && is_page(self.entry, into.bytes()) {
            return Fetched { data, right: all_of(self.blocks), miss };
        }
        let miss = miss.or(Some(Miss::Bad));
        if self.rebuild(&into).await {
            return Fetched { data, right: all_of(self.blocks), miss };
        }
        let right = self.each_by_itself(&into).await;
        Fetched { data, right, miss }
    }

    /// Looks for one of its blocks, which the map has at `entry`.
    pub(super) async fn get_block(&self, volume: &VolumeState, lba: Lba, entry: MapEntry, into: &BufSlice) -> Got {
        let segments = &self.reactor.shared.segments;
        let seg = segments.of(entry.pba());
        let life = segments.seq(seg);
        let Fetched { data, right, miss } = self.fetch().await;
        let nth = (entry.pba().0 - self.entry.pba().0) as usize;
        if volume.controller.locate(lba) != entry && !segments.still_holds(seg, life) {
            return Got::Changed;
        }
        if right & 1 << nth == 0 {
            return Got::Nothing;
        }
        into.copy_from(0, data.part(nth * BLOCK..(nth + 1) * BLOCK));
        Got::Right(miss)
    }

    /// Reads it from its own column; from the others if the device is late.
    async fn read_column(&self, into: &BufSlice) -> Result<(), Miss> {
        let (reactor, place) = (self.reactor, self.place);
        let (member, state) = reactor.shared.member(place.group, place.column);
        let Some(dev) = reactor.device_holding(member, place.segment) else { return Err(Miss::Absent) };
        let _mark = ReadMark::new(reactor, place.group);
        let offset = reactor.shared.layout.geometry().device_offset(place.segment.0, place.row);
        reactor.shared.clients.of(reactor.rt.id()).read_from(member, self.blocks * BLOCK);
        // Memory of its own: a device that is late may keep hold of it.
        let buf = reactor.rt.alloc(self.blocks * BLOCK);
        let mut op = reactor.rt.read(dev, offset, buf.full());
        let result = match op.within(reactor.late_after(place.group, dev, self.blocks)).await {
            Some(result) => result,
            None => {
                note_late(reactor, dev);
                if !reactor.can_do_without(&place, member) || !reactor.paces.may_hedge() {
                    op.await
                } else {
                    match race(&mut op, Box::pin(self.rebuild(into))).await {
                        Raced::First(result) => result,
                        Raced::Second(true) => {
                            count(&reactor.shared.totals.hedged, self.blocks as u64);
                            return Ok(());
                        }
                        Raced::Second(false) => op.await,
                    }
                }
            }
        };
        match result {
            Ok(_) => {
                into.copy_from(0, buf.bytes());
                Ok(())
            }
            Err(error) if error.kind.is_of_range() => {
                count(&state.counters.read_errors, 1);
                Err(Miss::Unread)
            }
            Err(_) => Err(Miss::Absent),
        }
    }

    /// Makes all of it from the other columns; whether that is it.
    async fn rebuild(&self, into: &BufSlice) -> bool {
        let rows = self.reactor.start_rows(&self.place, self.blocks).ended(self.place).await;
        rows.restore_page(self.reactor, 0, self.entry, into)
    }

    /// Each of its blocks as the header of its stripe tells of it; which of them are right, as a bit each.
    async fn each_by_itself(&self, into: &BufSlice) -> u32 {
        let seg = self.reactor.shared.segments.index(self.place.group, self.place.segment);
        // What was filled before this session is in its newest life.
        let life = Some(self.reactor.shared.segments.seq(seg)).filter(|&life| life > 0);
        let Some(stripe) = Scanner::of(self.reactor).stripe_with(self.place, life).await else { return 0 };
        let Some(row) = self.place.row.checked_sub(stripe.common.first_data_row()) else { return 0 };
        let mut right = 0;
        for nth in 0..self.blocks {
            let (at, of_page) = ((self.place.column, row + nth as u32), (nth as u64, self.blocks as u64));
            let Some(own) = own_entry(&stripe, at, self.entry.nth(nth as u64), of_page) else { return 0 };
            let (place, part) = (self.at(nth), into.slice(nth * BLOCK..(nth + 1) * BLOCK));
            let is_there = self.reactor.read_column(&place, own, &part).await.is_ok();
            let is_right = is_there && own.matches(parity::checksum::crc32c(part.bytes()))
                || self.reactor.rebuild_block(&place, own, &part).await;
            right |= u32::from(is_right) << nth;
        }
        right
    }
}

/// Reads a page of a volume, whose blocks are of one page or have entries of their own, with everything that can be done for it.
pub(crate) async fn read_page(
    reactor: &Rc<Reactor>,
    volume: &VolumeState,
    first: Lba,
    into: &BufSlice,
) -> Result<(), VolumeError> {
    let (were, blocks) = (volume.controller.locate_page(first), volume.controller.page_blocks());
    if were[0].is_of_page() && (0..blocks).all(|n| were[n as usize] == were[0].nth(n)) {
        let seg = reactor.shared.segments.of(were[0].pba());
        let life = reactor.shared.segments.seq(seg);
        let fetched = OfPage::of(reactor, volume, first, were[0]).fetch().await;
        let is_there =
            || volume.controller.locate_page(first) == were || reactor.shared.segments.still_holds(seg, life);
        if fetched.is_whole() && is_there() {
            into.copy_from(0, fetched.data.bytes());
            if fetched.miss.is_some() {
                let place = reactor.place(were[0]);
                reactor.block_restored(volume, first, were[0], &place, into, fetched.miss);
            }
            return Ok(());
        }
    }
    for n in 0..blocks {
        let part = into.slice(n as usize * BLOCK..(n as usize + 1) * BLOCK);
        reactor.read_block(volume, first.plus(n), &part).await?;
    }
    Ok(())
}

/// Reads blocks of a volume that is mapped by pages, as [`Reactor::read_blocks`]: with the rest of the first page and the last, where
/// these are read as a whole.
pub(crate) async fn read_blocks(
    reactor: &Rc<Reactor>,
    volume: &VolumeState,
    lba: Lba,
    into: BufSlice,
) -> Result<BufSlice, VolumeError> {
    let (controller, end) = (&volume.controller, lba.plus((into.len() / BLOCK) as u64));
    let blocks = controller.page_blocks();
    let first = controller.page_of(lba);
    let past = controller.page_of(Lba(end.0 + blocks - 1));
    let is_of_page = |lba: u64| controller.locate(Lba(lba)).is_of_page();
    let begins_within = first < lba && (lba.0..end.0.min(first.0 + blocks)).any(is_of_page);
    let ends_within = end < past && (lba.0.max(past.0 - blocks)..end.0).any(is_of_page);
    if !begins_within && !ends_within {
        return Runs { reactor, volume, lba, into }.read().await;
    }
    let (from, to) = (if begins_within { first } else { lba }, if ends_within { past } else { end });
    let whole = reactor.rt.alloc((to.0 - from.0) as usize * BLOCK);
    let whole = match (Runs { reactor, volume, lba: from, into: whole.full() }).read().await {
        Ok(whole) => whole,
        Err(VolumeError::Unreadable { .. } | VolumeError::Unknown { .. }) => {
            // It need not be one that was asked for.
            for n in 0..into.len() / BLOCK {
                let part = into.slice(n * BLOCK..(n + 1) * BLOCK);
                reactor.read_block(volume, lba.plus(n as u64), &part).await?;
            }
            return Ok(into);
        }
        Err(error) => return Err(error),
    };
    let skip = (lba.0 - from.0) as usize * BLOCK;
    into.copy_from(0, &whole.bytes()[skip..skip + into.len()]);
    Ok(into)
}
