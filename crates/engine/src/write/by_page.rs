//! Writes to volumes that are mapped by pages: a page that is written whole goes as it is. Of one that is written in part the blocks
//! get entries of their own while the volume may have some; else the rest is read, and the page is written whole (SALSA, section 3.4).

use std::rc::Rc;

use cygnus_types::{BLOCK, Lba};

use crate::error::VolumeError;
use crate::lsa::{Publish, PublishPage};
use crate::reactor::Reactor;
use crate::read::page_check::all_of;
use crate::volume_state::VolumeState;
use crate::write::path::merge_block;
use crate::write::summed::Summed;
use crate::write::writer::{Appended, Writer};

/// Blocks from `lba` on that are of one page, of at most so many, and whether they are all of it.
fn piece(volume: &VolumeState, lba: Lba, most: usize) -> (usize, bool) {
    let page = volume.controller.page_blocks();
    let first = volume.controller.page_of(lba);
    let left = (first.0 + page - lba.0) as usize;
    (left.min(most), left as u64 == page && most >= left)
}

/// Appends blocks to a stripe, as many as go without waiting or reading; says how many.
pub(crate) fn append(writer: &mut Writer, reactor: &Rc<Reactor>, volume: &VolumeState, lba: Lba, data: &[u8]) -> usize {
    let (mut done, blocks) = (0, data.len() / BLOCK);
    while done < blocks {
        let at = lba.plus(done as u64);
        let (len, is_whole) = piece(volume, at, blocks - done);
        let part = &data[done * BLOCK..(done + len) * BLOCK];
        if is_whole {
            if writer.append_whole(reactor, volume, at, part, PublishPage::Always) == Appended::NoRoom {
                break;
            }
        } else {
            let alone = volume.controller.has_fine_room(len as u64);
            let mut each = part.chunks_exact(BLOCK).enumerate();
            let goes = |(n, block)| {
                let appended = writer.append(reactor, volume, at.plus(n as u64), Summed::of(block), Publish::Always);
                appended == Appended::Done
            };
            if !alone || !each.all(goes) {
                break;
            }
        }
        done += len;
    }
    done
}

/// Writes blocks of one page, as many of these as are of it, waiting for room and reading the rest if need be; says how many.
pub(crate) async fn write_piece(
    reactor: &Rc<Reactor>,
    volume: &VolumeState,
    lba: Lba,
    data: &[u8],
) -> Result<usize, VolumeError> {
    let (len, is_whole) = piece(volume, lba, data.len() / BLOCK);
    let part = &data[..len * BLOCK];
    if is_whole {
        let append = |writer: &mut Writer| writer.append_whole(reactor, volume, lba, part, PublishPage::Always);
        reactor.append_waiting(volume, lba, len as u64, append).await?;
    } else if volume.controller.has_fine_room(len as u64) {
        write_alone(reactor, volume, lba, part).await?;
    } else {
        let within = (lba.0 - volume.controller.page_of(lba).0) as usize * BLOCK;
        merge(reactor, volume, lba, within, part).await?;
    }
    Ok(len)
}

/// Writes blocks that get entries of their own.
async fn write_alone(reactor: &Rc<Reactor>, volume: &VolumeState, lba: Lba, data: &[u8]) -> Result<(), VolumeError> {
    for (at, block) in (lba.0..).map(Lba).zip(data.chunks_exact(BLOCK)) {
        let block = Summed::of(block);
        let append = |writer: &mut Writer| writer.append(reactor, volume, at, block, Publish::Always);
        reactor.append_waiting(volume, at, 1, append).await?;
    }
    Ok(())
}

/// Changes a page from byte `within` on: reads it, merges, and writes it whole if all of it still is what was read.
pub(crate) async fn merge(
    reactor: &Rc<Reactor>,
    volume: &VolumeState,
    lba: Lba,
    within: usize,
    data: &[u8],
) -> Result<(), VolumeError> {
    let (first, blocks) = (volume.controller.page_of(lba), volume.controller.page_blocks() as usize);
    let _merge = reactor.merging.begin((volume.id, first)).await;
    let touched = within / BLOCK..(within + data.len()).div_ceil(BLOCK);
    let same = all_of(blocks) & !touched.fold(0, |bits, nth| bits | 1 << nth);
    loop {
        let were = volume.controller.locate_page(first);
        let into = reactor.rt.alloc(blocks * BLOCK).full();
        let page = match reactor.read_blocks(volume, first, into).await {
            Ok(page) => page,
            Err(VolumeError::Unreadable { .. } | VolumeError::Unknown { .. }) => {
                return write_without_the_rest(reactor, volume, first, within, data).await;
            }
            Err(error) => return Err(error),
        };
        page.copy_from(within, data);
        let how = PublishPage::IfStill { were: &were[..blocks], same };
        let append = |writer: &mut Writer| writer.append_whole(reactor, volume, first, page.bytes(), how);
        if reactor.append_waiting(volume, first, blocks as u64, append).await? == Appended::Done {
            return Ok(());
        }
    }
}

/// As [`merge`], where the rest of the page cannot be read: what is written gets entries of its own.
async fn write_without_the_rest(
    reactor: &Rc<Reactor>,
    volume: &VolumeState,
    first: Lba,
    within: usize,
    data: &[u8],
) -> Result<(), VolumeError> {
    let (mut at, end) = (within, within + data.len());
    while at < end {
        let (lba, begun) = (first.plus((at / BLOCK) as u64), at % BLOCK);
        let len = (BLOCK - begun).min(end - at);
        let part = &data[at - within..at - within + len];
        match len {
            BLOCK => write_alone(reactor, volume, lba, part).await?,
            _ => Box::pin(merge_block(reactor, volume, lba, begun, part)).await?,
        }
        at += len;
    }
    Ok(())
}
