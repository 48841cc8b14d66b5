//! The way of a write: into the open stripe of this reactor, and into the map; the devices come later.
//!
//! A write is acknowledged once it lies in the stripe's memory, like a disk's with a volatile cache. So a write at queue
//! depth 1 waits for no device and no full stripe; it waits only when all stripe buffers are on their way, when a
//! segment must be granted, or when space is short and writers are slowed.

use std::rc::Rc;

use cygnus_format::Discard;
use cygnus_types::{BLOCK, ByteSize, Lba};

use crate::error::VolumeError;
use crate::hybrid::promote::Promoter;
use crate::lsa::{Publish, region_of};
use crate::reactor::Reactor;
use crate::volume_state::VolumeState;
use crate::write::by_page;
use crate::write::lane::Lane;
use crate::write::streams;
use crate::write::summed::Summed;
use crate::write::writer::{Appended, Writer};

/// Blocks (256 KiB, some 60 us) that a write copies before others get their turn.
const BLOCKS_PER_TURN: usize = 64;

/// Appends blocks to the clients' stripes, as many as go without waiting; says how many.
#[inline]
fn append_now(reactor: &Rc<Reactor>, volume: &VolumeState, lba: Lba, data: &[u8]) -> usize {
    let (shared, blocks) = (&reactor.shared, (data.len() / BLOCK) as u64);
    let ready = !shared.is_stopped() && !reactor.hold.get() && shared.controllers.has_room(blocks);
    // The volume may have become smaller while somebody waited; what is written behind its end would stay there.
    if !ready || shared.clogged() > 0 || volume.is_gone() || lba.0 + blocks > volume.blocks() {
        return 0;
    }
    let lane = streams::lane_of(reactor, volume, lba);
    if !streams::is_room_for(reactor, volume, lane, blocks) {
        return 0;
    }
    let (mut writer, mut appended) = (reactor.writer(lane).borrow_mut(), 0);
    if volume.paging.is_by_pages() {
        appended = by_page::append(&mut writer, reactor, volume, lba, data) as u64;
    } else {
        for block in data.chunks_exact(BLOCK) {
            match writer.append(reactor, volume, lba.plus(appended), Summed::of(block), Publish::Always) {
                Appended::Done => appended += 1,
                Appended::NoRoom => break,
                Appended::Changed => unreachable!("only conditional writes can find the block changed"),
            }
        }
    }
    drop(writer);
    if appended > 0 {
        streams::note(reactor, volume, lba, appended, lane);
    }
    appended as usize
}

/// Writes the first of these blocks, or those of its page, waiting as long as it takes; says how many.
async fn write_next(reactor: &Rc<Reactor>, volume: &VolumeState, lba: Lba, data: &[u8]) -> Result<usize, VolumeError> {
    if volume.paging.is_by_pages() {
        return Box::pin(by_page::write_piece(reactor, volume, lba, data)).await;
    }
    let block = Summed::of(&data[..BLOCK]);
    let append = |writer: &mut Writer| writer.append(reactor, volume, lba, block, Publish::Always);
    reactor.append_waiting(volume, lba, 1, append).await?;
    Ok(1)
}

/// Changes part of a block: reads it, merges, and writes it back if it is still what was read.
pub(super) async fn merge_block(
    reactor: &Rc<Reactor>,
    volume: &VolumeState,
    lba: Lba,
    within: usize,
    data: &[u8],
) -> Result<(), VolumeError> {
    let block = reactor.rt.alloc(BLOCK);
    let view = block.full();
    loop {
        let entry = reactor.read_block(volume, lba, &view).await?;
        view.copy_from(within, data);
        let merged = Summed::of(view.bytes());
        let append = |writer: &mut Writer| writer.append(reactor, volume, lba, merged, Publish::IfStill(entry));
        if reactor.append_waiting(volume, lba, 1, append).await? == Appended::Done {
            return Ok(());
        }
    }
}

impl Reactor {
    /// Writes whole blocks if that needs no waiting. `false`: use [`Reactor::write_blocks`]; a prefix may have been
    /// written then, with the same data.
    #[inline]
    pub(crate) fn try_write_blocks(self: &Rc<Self>, volume: &VolumeState, lba: Lba, data: &[u8]) -> bool {
        let blocks = data.len() / BLOCK;
        let is_let_in = self.shared.admission.is_open() && blocks <= BLOCKS_PER_TURN;
        is_let_in && append_now(self, volume, lba, data) == blocks
    }

    /// Writes whole blocks.
    pub(crate) async fn write_blocks(
        self: &Rc<Self>,
        volume: &VolumeState,
        lba: Lba,
        data: &[u8],
    ) -> Result<(), VolumeError> {
        self.wait_to_be_let_in(volume, data.len() / BLOCK).await;
        for (turn, data) in data.chunks(BLOCKS_PER_TURN * BLOCK).enumerate() {
            if turn > 0 {
                self.rt.yield_now().await;
            }
            let (first, blocks) = (lba.plus((turn * BLOCKS_PER_TURN) as u64), data.len() / BLOCK);
            let mut written = append_now(self, volume, first, data);
            while written < blocks {
                let (lba, rest) = (first.plus(written as u64), &data[written * BLOCK..]);
                written += write_next(self, volume, lba, rest).await?;
                written += append_now(self, volume, first.plus(written as u64), &data[written * BLOCK..]);
            }
        }
        Ok(())
    }

    /// Appends blocks from `lba` on to the clients' stripes, waiting for room as long as it takes.
    pub(super) async fn append_waiting(
        self: &Rc<Self>,
        volume: &VolumeState,
        lba: Lba,
        blocks: u64,
        append: impl Fn(&mut Writer) -> Appended,
    ) -> Result<Appended, VolumeError> {
        loop {
            let progress = self.progress.wait();
            self.check_writable(volume)?;
            // The volume may have become smaller while this waited; what is written behind its end would stay there.
            if lba.0 + blocks > volume.blocks() {
                let (offset, end) = (lba.byte_offset(), lba.plus(blocks).byte_offset());
                return Err(VolumeError::OutOfRange { offset, end, size: volume.size() });
            }
            let is_new = |n: &u64| !volume.controller.locate(lba.plus(*n)).is_held();
            let new = (0..blocks).filter(is_new).count() as u64;
            let fits = new == 0 || self.shared.controllers.has_room(new);
            if !fits && !self.shared.controllers.waits_for_checkpoint() {
                return Err(self.no_space());
            }
            if !streams::is_room(self, volume, lba, blocks) {
                return Err(streams::no_space(self, volume));
            }
            let segments = self.shared.clogged();
            if segments > 0 {
                return Err(VolumeError::Clogged { segments });
            }
            if fits && !self.hold.get() {
                let lane = streams::lane_of(self, volume, lba);
                let appended = append(&mut self.writer(lane).borrow_mut());
                if appended != Appended::NoRoom {
                    streams::note(self, volume, lba, blocks, lane);
                    return Ok(appended);
                }
            }
            self.unless_suspended(progress).await?;
        }
    }

    fn no_space(&self) -> VolumeError {
        let memory = self.shared.controllers.memory();
        match memory.has_room() {
            true => VolumeError::NoSpace { usable: ByteSize(self.shared.held.usable() * BLOCK as u64) },
            false => VolumeError::MapMemory { limit: ByteSize(memory.limit()) },
        }
    }

    /// Changes part of a block, or of its page as a whole.
    pub(crate) async fn write_partial(
        self: &Rc<Self>,
        volume: &VolumeState,
        lba: Lba,
        within: usize,
        data: &[u8],
    ) -> Result<(), VolumeError> {
        let blocks = volume.controller.page_blocks();
        self.wait_to_be_let_in(volume, blocks as usize).await;
        if volume.controller.has_fine_room(1) {
            return merge_block(self, volume, lba, within, data).await;
        }
        let before = (lba.0 - volume.controller.page_of(lba).0) as usize * BLOCK;
        Box::pin(by_page::merge(self, volume, lba, before + within, data)).await
    }

    /// Unmaps whole blocks; they read as zeros from now on.
    pub(crate) async fn discard_blocks(
        self: &Rc<Self>,
        volume: &VolumeState,
        lba: Lba,
        blocks: u64,
    ) -> Result<(), VolumeError> {
        let end = lba.plus(blocks);
        let mut from = volume.controller.skip_holes(lba, end);
        let mut regions = 0;
        while from < end {
            let n = region_of(from).end.min(end.0) - from.0;
            self.discard_region(volume, from, n).await?;
            from = volume.controller.skip_holes(from.plus(n), end);
            regions += 1;
            if regions % 16 == 0 {
                // A large discard is long work: others get their turn.
                self.rt.yield_now().await;
            }
        }
        if self.is_home() {
            self.home().space_changed.notify();
        }
        if let Some(promoter) = Promoter::of(self, volume) {
            promoter.is_discarded(volume, lba, blocks);
        }
        Ok(())
    }

    async fn discard_region(self: &Rc<Self>, volume: &VolumeState, from: Lba, n: u64) -> Result<(), VolumeError> {
        loop {
            let progress = self.progress.wait();
            self.check_writable(volume)?;
            // Where data may be lost, each block of which it is known that it holds zeros has an entry.
            if volume.controller.is_in_doubt() && !self.shared.controllers.memory().has_room() {
                return Err(self.no_space());
            }
            if !self.hold.get() {
                let has_room = |lane: &Lane| self.writer(*lane).borrow_mut().has_discard_room(self);
                let lane = streams::lanes_of_discards(self, volume).find(has_room);
                if let Some(lane) = lane {
                    let mut writer = self.writer(lane).borrow_mut();
                    self.shared.controllers.discard(&volume.controller, from, n, |seq| {
                        writer.discard(Discard::new(volume.id, from, n as u32, seq));
                    });
                    return Ok(());
                }
            }
            self.unless_suspended(progress).await?;
        }
    }

    fn check_writable(&self, volume: &VolumeState) -> Result<(), VolumeError> {
        self.shared.check_fault()?;
        if volume.is_gone() || self.shared.is_closed() {
            return Err(VolumeError::Gone);
        }
        Ok(())
    }

    /// Waits until so many blocks of a volume may be written.
    pub(crate) async fn wait_to_be_let_in(&self, volume: &VolumeState, blocks: usize) {
        let admission = &self.shared.admission;
        if !admission.is_open() {
            let Some(mut writer) = admission.comes(blocks as u64, volume.constraint.medium(), self.rt.now()) else {
                return;
            };
            while let Some(wait) = writer.wait(self.rt.now()) {
                self.rt.sleep(wait).await;
            }
        }
    }
}
