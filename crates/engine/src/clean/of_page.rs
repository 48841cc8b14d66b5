//! Relocation of pages: of volumes that are mapped by these a page is moved whole, so that it keeps one entry.

use std::pin::pin;

use cygnus_format::{MapEntry, Place};
use cygnus_runtime::{BufSlice, Raced, race};
use cygnus_types::{BLOCK, Lba};

use crate::clean::relocate::{Live, Moved, Mover, Moving, Source};
use crate::error::VolumeError;
use crate::lsa::PublishPage;
use crate::read::page_check::all_of;
use crate::volume_state::VolumeState;
use crate::write::writer::{Appended, Writer};

/// How often a page is gathered that clients change meanwhile; then its block is moved alone.
const TRIES: usize = 3;

/// What became of writing a page anew.
pub(crate) enum Anew {
    /// As of a block.
    Appended(Option<Appended>),
    /// Not all its blocks hold data, or can be read.
    NotWhole,
    /// The array is ending.
    Stopped,
}

/// Blocks at the beginning of a run that are a page, all of it, one behind the other.
pub(super) fn whole_page(run: &[Live]) -> Option<usize> {
    let first = run.first().filter(|first| first.current.is_of_page())?;
    let controller = &first.volume.controller;
    let blocks = controller.page_blocks() as usize;
    let goes_on = |(n, block): (usize, &Live)| {
        block.volume.id == first.volume.id
            && block.lba == first.lba.plus(n as u64)
            && block.current == first.current.nth(n as u64)
            && block.place.row == first.place.row + n as u32
    };
    let is_all = controller.page_of(first.lba) == first.lba
        && run.len() >= blocks
        && run[..blocks].iter().enumerate().all(goes_on);
    is_all.then_some(blocks)
}

impl Mover {
    /// Moves a page, block by block if not all of it is to be had.
    pub(super) async fn move_page<'b>(
        &self,
        page: &'b [Live],
        source_of: impl Fn(&'b Live) -> Source<'b>,
        how: &Moving,
        result: &mut Moved,
    ) {
        let reactor = &self.reactor;
        let whole = reactor.rt.alloc(page.len() * BLOCK).full();
        let mut obtained = Vec::with_capacity(page.len());
        for (n, block) in page.iter().enumerate() {
            let rebuilt = reactor.rt.alloc(BLOCK).full();
            if let Some((data, is_bad)) = self.obtain(block, source_of(block), &rebuilt, how, result).await {
                whole.copy_from(n * BLOCK, data);
                obtained.push((n, is_bad));
            }
            if result.stopped || how.stops_at_lost && !result.lost.is_empty() {
                return;
            }
        }
        if how.only_looks {
            return;
        }
        if obtained.len() < page.len() {
            for (n, is_bad) in obtained {
                let (block, data) = (&page[n], whole.slice(n * BLOCK..(n + 1) * BLOCK));
                let source = if is_bad { Source::Bad } else { Source::Intact(data.bytes()) };
                self.move_block(block, source, how, result).await;
                if result.stopped {
                    return;
                }
            }
            return;
        }
        let (were, seqs): (Vec<_>, Vec<_>) = page.iter().map(|block| (block.current, block.entry.seq())).unzip();
        let publish = PublishPage::Move { were: &were, seqs: &seqs };
        let first = &page[0];
        let append =
            |writer: &mut Writer| writer.append_whole(reactor, &first.volume, first.lba, whole.bytes(), publish);
        let what = (first.lba, page.len());
        let appended = self.append_when_room(&first.volume, what, append, first.place, how).await;
        if appended == Some(Appended::Changed) {
            // A client has written some of it.
            for block in page.iter().filter(|block| block.is_still()) {
                self.gather(block, Source::Error, how, result).await;
                if result.stopped {
                    return;
                }
            }
            return;
        }
        for (n, is_bad) in obtained {
            self.note(&page[n], appended, is_bad, result);
        }
    }

    /// Reads blocks as a client would, who may have to wait for members that are away; `None`: the array is ending.
    async fn read_unless_ending(
        &self,
        volume: &VolumeState,
        first: Lba,
        blocks: usize,
    ) -> Option<Result<BufSlice, VolumeError>> {
        let reactor = &self.reactor;
        let mut read = pin!(reactor.read_blocks(volume, first, reactor.rt.alloc(blocks * BLOCK).full()));
        loop {
            let answers = reactor.answers.wait();
            if reactor.is_ending() {
                return None;
            }
            if let Raced::First(read) = race(read.as_mut(), answers).await {
                return Some(read);
            }
        }
    }

    /// Whether the page of a block should have one entry again: others of its blocks are elsewhere, or more blocks have entries of their
    /// own than may.
    pub(super) fn is_to_be_gathered(&self, block: &Live) -> bool {
        block.volume.paging.is_by_pages() && (block.current.is_of_page() || !block.volume.controller.has_fine_room(0))
    }

    /// Moves a block and with it the others of its page, wherever they are, if all hold data and can be read; else the block alone.
    pub(super) async fn gather(&self, block: &Live, source: Source<'_>, how: &Moving, result: &mut Moved) {
        let volume = &block.volume;
        let first = volume.controller.page_of(block.lba);
        for _ in 0..TRIES {
            if !block.is_still() {
                return;
            }
            let same = all_of(volume.controller.page_blocks() as usize);
            match self.write_anew(volume, first, |were| PublishPage::IfStill { were, same }, block.place, how).await {
                Anew::Appended(Some(Appended::Changed)) => {}
                Anew::Appended(appended) => return self.note(block, appended, false, result),
                Anew::NotWhole => break,
                Anew::Stopped => {
                    result.stopped = true;
                    return;
                }
            }
        }
        self.move_block(block, source, how, result).await;
    }

    /// Reads a page, wherever its blocks are, and writes it to where it should be now.
    pub(crate) async fn write_anew(
        &self,
        volume: &VolumeState,
        first: Lba,
        publish: impl for<'w> Fn(&'w [MapEntry]) -> PublishPage<'w>,
        from: Place,
        how: &Moving,
    ) -> Anew {
        let blocks = volume.controller.page_blocks() as usize;
        let were = &volume.controller.locate_page(first)[..blocks];
        if !were.iter().all(|entry| entry.is_mapped()) {
            return Anew::NotWhole;
        }
        let page = match self.read_unless_ending(volume, first, blocks).await {
            None => return Anew::Stopped,
            Some(Err(_)) => return Anew::NotWhole,
            Some(Ok(page)) => page,
        };
        let publish = publish(were);
        let append = |writer: &mut Writer| writer.append_whole(&self.reactor, volume, first, page.bytes(), publish);
        Anew::Appended(self.append_when_room(volume, (first, blocks), append, from, how).await)
    }
}
