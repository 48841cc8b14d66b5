//! A volume as its users see it: bytes at any offset.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use cygnus_runtime::BufSlice;
use cygnus_types::{Acknowledged, BLOCK, ByteSize, Lba, VolumeId};
use cygnus_volume::{Extent, Terms};

use crate::counters::count;
use crate::durable::answer::Answerer;
use crate::error::VolumeError;
use crate::reactor::Reactor;
use crate::read::client_tally::Answer;
use crate::volume_state::VolumeState;
use crate::work::Work;

/// Bytes of a read that is not of whole blocks which go through one piece of other memory.
const BOUNCED: usize = 1 << 20;
/// Entries of the map that are looked at in one go.
const LOOKS: usize = 1024;
/// Largest piece of zeros written at a time.
const ZEROS: usize = 64 << 10;

/// A handle to a volume on one reactor. Cheap to clone: nothing changes that cores share.
#[derive(Clone)]
pub struct Volume(Rc<Handle>);

/// What all clones of a handle share.
struct Handle {
    reactor: Rc<Reactor>,
    state: Arc<VolumeState>,
    /// Of the blocks lost, those that flushes of this handle, and of its clones, have told of.
    told: Cell<u64>,
    /// The volume's level when this handle was made.
    level: Acknowledged,
}

/// Extents being collected.
struct Extents {
    found: Vec<Extent>,
    /// Where the last one ends.
    at: u64,
    end: u64,
    most: usize,
}

impl Extents {
    /// All up to `until` is of one kind; `false` if there is no room for another extent.
    fn goes_on_to(&mut self, until: u64, mapped: bool) -> bool {
        let until = until.min(self.end);
        let found = self.found.len();
        match self.found.last_mut() {
            _ if until <= self.at => return true,
            Some(last) if last.mapped == mapped => last.len += until - self.at,
            _ if found == self.most => return false,
            _ => self.found.push(Extent { len: until - self.at, mapped }),
        }
        self.at = until;
        true
    }
}

/// A byte range cut at block borders.
struct Cut {
    /// Bytes before the first whole block, within the block before it.
    head: Option<(Lba, usize, usize)>,
    first: Lba,
    blocks: u64,
    /// Bytes behind the last whole block.
    tail: Option<(Lba, usize)>,
}

fn cut(offset: u64, len: u64) -> Cut {
    let block = BLOCK as u64;
    let (end, first) = (offset + len, offset.div_ceil(block));
    let last = end / block;
    if first > last {
        // Within one block.
        let head = Some((Lba(offset / block), (offset % block) as usize, len as usize));
        return Cut { head, first: Lba(first), blocks: 0, tail: None };
    }
    let before = (first * block - offset) as usize;
    let head = (before > 0).then(|| (Lba(offset / block), BLOCK - before, before));
    let behind = (end - last * block) as usize;
    Cut { head, first: Lba(first), blocks: last - first, tail: (behind > 0).then_some((Lba(last), behind)) }
}

fn is_aligned(offset: u64, len: u64) -> bool {
    (offset | len).is_multiple_of(BLOCK as u64)
}

impl Volume {
    pub(crate) fn new(reactor: Rc<Reactor>, state: Arc<VolumeState>) -> Self {
        let (told, level) = (Cell::new(state.told()), state.acknowledged());
        Self(Rc::new(Handle { reactor, state, told, level }))
    }

    pub(crate) fn state(&self) -> &VolumeState {
        &self.0.state
    }

    /// Identifier, unique for the life of the array.
    pub fn id(&self) -> VolumeId {
        self.0.state.id
    }

    /// Name.
    pub fn name(&self) -> &str {
        &self.0.state.name
    }

    /// Size in bytes; changes when the volume is resized.
    pub fn size(&self) -> u64 {
        self.0.state.size().0
    }

    /// Bytes for which the map has one entry.
    pub fn page(&self) -> ByteSize {
        self.0.state.paging.page()
    }

    /// Whether the volume was deleted or the array closed.
    pub fn is_gone(&self) -> bool {
        self.0.state.is_gone() || self.0.reactor.shared.is_closed()
    }

    /// Where a write is when it is answered. Whoever was told that nothing need be flushed is never told otherwise: a handle that
    /// was made while the volume's level was [`Acknowledged::Durable`] keeps it.
    #[inline]
    pub fn acknowledged(&self) -> Acknowledged {
        if self.0.level == Acknowledged::Durable { self.0.level } else { self.0.state.acknowledged() }
    }

    /// What a request that comes now must wait for before it is answered, once it has been taken: see [`Volume::answerable`].
    #[inline]
    pub fn terms(&self) -> Option<Terms> {
        match self.acknowledged() {
            Acknowledged::Memory => None,
            level => Some(Terms { level, lost: self.0.state.lost() }),
        }
    }

    /// Waits until writes, trims and zeroings may be answered that came under these terms and have ended.
    ///
    /// # Errors
    /// As [`Volume::flush`]; [`VolumeError::Lost`] is told to each whose blocks may be among those lost.
    pub fn answerable(&self, terms: Terms) -> Work<'_, Result<(), VolumeError>> {
        Box::pin(async move {
            Answerer::of(&self.0.reactor).until(terms.level).await?;
            match self.0.state.lost().saturating_sub(terms.lost) {
                0 => Ok(()),
                blocks => Err(VolumeError::Lost { volume: self.0.state.name.clone(), blocks }),
            }
        })
    }

    fn check(&self, offset: u64, len: u64) -> Result<(), VolumeError> {
        if self.is_gone() {
            return Err(VolumeError::Gone);
        }
        let size = self.0.state.size();
        match offset.checked_add(len) {
            Some(end) if end <= size.0 => Ok(()),
            end => Err(VolumeError::OutOfRange { offset, end: end.unwrap_or(u64::MAX), size }),
        }
    }

    /// Says that a request for `offset` will follow soon, so that what is known of it is at hand then.
    #[inline]
    pub fn announce(&self, offset: u64) {
        if offset < self.size() {
            self.0.state.controller.announce(Lba::containing(offset));
        }
    }

    /// Reads `into.len()` bytes from `offset` on. Gives back where they are: usually `into`; other memory, if a device
    /// that was too slow to be waited for still has hold of `into` and may yet write there.
    ///
    /// # Errors
    /// [`VolumeError::Unreadable`] names the first block that could not be delivered.
    #[expect(clippy::manual_async_fn, reason = "the future of an async fn has room for its arguments twice")]
    pub fn read(&self, offset: u64, into: BufSlice) -> impl Future<Output = Result<BufSlice, VolumeError>> {
        async move {
            self.check(offset, into.len() as u64)?;
            if is_aligned(offset, into.len() as u64) && into.is_block_aligned() {
                return self.0.reactor.read_blocks(&self.0.state, Lba::containing(offset), into).await;
            }
            if into.is_empty() {
                return Ok(into);
            }
            // What is rare is boxed, so that the future of each read stays small.
            Box::pin(self.read_unaligned(offset, into)).await
        }
    }

    async fn read_unaligned(&self, offset: u64, into: BufSlice) -> Result<BufSlice, VolumeError> {
        let mut done = 0;
        while done < into.len() {
            let (at, len) = (offset + done as u64, (into.len() - done).min(BOUNCED));
            let first = Lba::containing(at);
            let blocks = (at + len as u64).div_ceil(BLOCK as u64) - first.0;
            let bounce = self.0.reactor.rt.alloc(blocks as usize * BLOCK).full();
            let bounce = self.0.reactor.read_blocks(&self.0.state, first, bounce).await?;
            let skip = (at - first.byte_offset()) as usize;
            into.copy_from(done, &bounce.bytes()[skip..skip + len]);
            done += len;
        }
        Ok(into)
    }

    /// Writes if that needs no waiting, which is so for aligned writes while nothing is short. `false`: use [`Volume::write`]
    /// instead, which tells of errors too; part of the data may have been written then.
    #[inline]
    pub fn try_write(&self, offset: u64, data: &[u8]) -> bool {
        let len = data.len() as u64;
        is_aligned(offset, len)
            && self.check(offset, len).is_ok()
            && self.0.reactor.try_write_blocks(&self.0.state, Lba::containing(offset), data)
    }

    /// Writes `data` at `offset`. Durable after the next [`Volume::flush`] that begins after this has ended; to be answered as
    /// [`Volume::terms`] says.
    ///
    /// # Errors
    /// [`VolumeError::NoSpace`] when the array is full, [`VolumeError::Clogged`] when blocks that cannot be read keep its space,
    /// [`VolumeError::ReadOnly`] when it takes no writes any more.
    /// A prefix may have been written.
    pub fn write(&self, offset: u64, data: BufSlice) -> Work<'_, Result<(), VolumeError>> {
        Box::pin(async move {
            self.check(offset, data.len() as u64)?;
            let data = data.bytes();
            let cut = cut(offset, data.len() as u64);
            let mut at = 0;
            if let Some((lba, within, len)) = cut.head {
                self.0.reactor.write_partial(&self.0.state, lba, within, &data[..len]).await?;
                at = len;
            }
            let whole = cut.blocks as usize * BLOCK;
            self.0.reactor.write_blocks(&self.0.state, cut.first, &data[at..at + whole]).await?;
            if let Some((lba, _)) = cut.tail {
                self.0.reactor.write_partial(&self.0.state, lba, 0, &data[at + whole..]).await?;
            }
            Ok(())
        })
    }

    /// Makes everything acknowledged so far durable, on all volumes and reactors.
    ///
    /// # Errors
    /// When more devices have failed than the parity covers; [`VolumeError::Lost`], once for each handle that is not a
    /// clone, when blocks of this volume were lost before they were durable. All else that was acknowledged is durable then.
    pub fn flush(&self) -> Work<'_, Result<(), VolumeError>> {
        Box::pin(async move {
            count(&self.0.reactor.shared.totals.flushes, 1);
            let awaited = self.0.reactor.shared.clients.of(self.0.reactor.rt.id()).awaits(Answer::Flush);
            self.0.reactor.flush().await?;
            drop(awaited);
            let (lost, told) = (self.0.state.lost(), self.0.told.get());
            if lost > told {
                self.0.told.set(lost);
                self.0.state.tell_lost(lost);
                return Err(VolumeError::Lost { volume: self.0.state.name.clone(), blocks: lost - told });
            }
            Ok(())
        })
    }

    /// Gives up the whole blocks within a range, or the whole pages where the volume is mapped by these; they read as zeros. What is
    /// at its ends is left as it is.
    ///
    /// # Errors
    /// As [`Volume::write`].
    pub fn trim(&self, offset: u64, len: u64) -> Work<'_, Result<(), VolumeError>> {
        Box::pin(async move {
            self.check(offset, len)?;
            let (first, blocks) = self.whole_pages(offset, len);
            self.0.reactor.discard_blocks(&self.0.state, first, blocks).await
        })
    }

    /// Makes a range read as zeros, every byte of it. With `allocate` the blocks stay allocated.
    ///
    /// # Errors
    /// As [`Volume::write`].
    pub fn write_zeroes(&self, offset: u64, len: u64, allocate: bool) -> Work<'_, Result<(), VolumeError>> {
        Box::pin(async move {
            self.check(offset, len)?;
            let cut = cut(offset, len);
            let zeros = [0; BLOCK];
            if let Some((lba, within, len)) = cut.head {
                self.0.reactor.write_partial(&self.0.state, lba, within, &zeros[..len]).await?;
            }
            if allocate {
                self.allocate_zeros(cut.first, cut.blocks).await?;
            } else {
                let (first, blocks) = self.whole_pages(offset, len);
                let (end, past) = (cut.first.plus(cut.blocks), first.plus(blocks));
                self.allocate_zeros(cut.first, first.0.min(end.0) - cut.first.0).await?;
                self.0.reactor.discard_blocks(&self.0.state, first, blocks).await?;
                self.allocate_zeros(past, end.0.saturating_sub(past.0)).await?;
            }
            if let Some((lba, len)) = cut.tail {
                self.0.reactor.write_partial(&self.0.state, lba, 0, &zeros[..len]).await?;
            }
            Ok(())
        })
    }

    /// The whole pages within a range, blocks where the volume is not mapped by pages: the first block, and how many. With none, it is
    /// the end of the range's whole blocks.
    fn whole_pages(&self, offset: u64, len: u64) -> (Lba, u64) {
        let (page, cut) = (self.0.state.controller.page_blocks(), cut(offset, len));
        let end = cut.first.plus(cut.blocks);
        let (first, past) = (cut.first.0.next_multiple_of(page), self.0.state.controller.page_of(end));
        if first < past.0 { (Lba(first), past.0 - first) } else { (end, 0) }
    }

    async fn allocate_zeros(&self, first: Lba, blocks: u64) -> Result<(), VolumeError> {
        let zeros = vec![0; ZEROS.min(blocks as usize * BLOCK)];
        let mut at = 0;
        while at < blocks {
            let n = (blocks - at).min((ZEROS / BLOCK) as u64);
            self.0.reactor.write_blocks(&self.0.state, first.plus(at), &zeros[..n as usize * BLOCK]).await?;
            at += n;
            self.0.reactor.rt.yield_now().await;
        }
        Ok(())
    }

    /// What is mapped in a range: at most `most` extents, which together cover the range or a prefix of it. Looks at so many
    /// blocks only that it takes no time worth mentioning.
    pub fn extents(&self, offset: u64, len: u64, most: usize) -> Vec<Extent> {
        let end = offset.saturating_add(len).min(self.size());
        if self.0.state.controller.is_in_doubt() && offset < end {
            // What nobody knows is no hole.
            return vec![Extent { len: end - offset, mapped: true }];
        }
        let mut extents = Extents { found: Vec::new(), at: offset, end, most };
        let (mut from, past) = (Lba::containing(offset), Lba(end.div_ceil(BLOCK as u64)));
        let mut mapped = Vec::new();
        let mut looks = LOOKS;
        while let Some(next) = self.0.state.controller.next_known(from, past, &mut mapped) {
            looks = looks.saturating_sub(mapped.len().max(1));
            for (lba, _) in mapped.drain(..) {
                // What lies before it is a hole.
                if !extents.goes_on_to(lba.byte_offset(), false) || !extents.goes_on_to(lba.plus(1).byte_offset(), true)
                {
                    return extents.found;
                }
            }
            from = next;
            if looks == 0 {
                extents.goes_on_to(from.byte_offset(), false);
                return extents.found;
            }
        }
        extents.goes_on_to(end, false);
        extents.found
    }

    /// Bytes of data that the volume holds.
    pub fn mapped(&self) -> ByteSize {
        ByteSize(self.0.state.controller.held() * BLOCK as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_cut_at_block_borders() {
        let all = |offset, len| {
            let c = cut(offset, len);
            (c.head.map(|(l, w, n)| (l.0, w, n)), c.first.0, c.blocks, c.tail.map(|(l, n)| (l.0, n)))
        };
        assert_eq!(all(0, 8192), (None, 0, 2, None));
        assert_eq!(all(512, 100), (Some((0, 512, 100)), 1, 0, None));
        assert_eq!(all(512, 3584), (Some((0, 512, 3584)), 1, 0, None));
        assert_eq!(all(4000, 200), (Some((0, 4000, 96)), 1, 0, Some((1, 104))));
        assert_eq!(all(4000, 96 + 4096 + 1), (Some((0, 4000, 96)), 1, 1, Some((2, 1))));
        assert_eq!(all(4096, 100), (None, 1, 0, Some((1, 100))));
        assert_eq!(all(8192, 0), (None, 2, 0, None));
    }

    #[test]
    fn every_byte_is_in_exactly_one_part() {
        for offset in [0, 1, 4095, 4096, 5000, 8191] {
            for len in [0, 1, 95, 96, 4095, 4096, 4097, 12000] {
                let c = cut(offset, len);
                let head = c.head.map_or(0, |(_, _, n)| n as u64);
                let tail = c.tail.map_or(0, |(_, n)| n as u64);
                assert_eq!(head + c.blocks * 4096 + tail, len, "{offset}+{len}");
            }
        }
    }
}
