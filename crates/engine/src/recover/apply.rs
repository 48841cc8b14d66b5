//! Recovery, the end of step "replay": blocks that were found go into the maps, window by window in order of their addresses.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use cygnus_format::MapEntry;
use cygnus_types::{Lba, VolumeId};

use crate::error::ArrayError;
use crate::planted::{self, Bug};
use crate::reactor::Reactor;
use crate::read::parallel::for_each;
use crate::recover::behind::Behind;
use crate::recover::discards::Discards;
use crate::recover::gone::LostBlocks;
use crate::recover::lost::Lost;
use crate::recover::progress::Progress;
use crate::recover::room::Findings;
use crate::recover::window::{Address, Candidate, Window};
use crate::space::segments::SegIx;

/// Blocks after which parts of the maps that were replaced are given back.
const BLOCKS_PER_SETTLING: usize = 1 << 12;

/// Stripes whose headers are read again before the answers of these are looked at.
const STRIPES_PER_LOOK: usize = 1 << 10;

/// A block of a stripe that cannot protect all of its blocks, or a copy beside an open one.
pub(crate) struct Apart {
    pub candidate: Candidate,
    /// Cleaning has moved it there.
    pub moved: bool,
    /// Its data, if it must be written anew.
    pub rescue: Option<Box<[u8]>>,
}

/// A block that must be written anew before the array goes into service.
pub(crate) struct Rescue {
    /// Where it was found.
    pub from: SegIx,
    /// The same to the block, unless that lies only in a copy beside its stripe.
    pub at: MapEntry,
    pub volume: VolumeId,
    pub lba: Lba,
    pub seq: u64,
    /// Cleaning moved it there: where it came from it may still be.
    pub moved: bool,
    pub data: Box<[u8]>,
}

/// What came of it.
#[derive(Default)]
pub(crate) struct Applied {
    pub blocks: usize,
    pub rescues: Vec<Rescue>,
    /// Blocks that were written after all that is lost.
    pub newer: BTreeSet<(VolumeId, Lba)>,
    /// How often the stripes were gone through.
    pub passes: usize,
    /// The highest sequence of a write.
    pub top_write_seq: u64,
}

/// Puts blocks into the maps: see the module's text.
pub(crate) struct Applier<'a> {
    reactor: &'a Rc<Reactor>,
    stripes: Rc<Vec<Behind>>,
    findings: &'a Findings,
    discards: &'a Discards,
    lost: &'a Lost,
    gone: &'a Rc<LostBlocks>,
    done: Applied,
    /// The page of a volume mapped by pages that had a block last.
    page: Option<Address>,
}

impl<'a> Applier<'a> {
    /// For the blocks of `stripes`, but for those that are kept apart.
    pub(crate) fn of(
        reactor: &'a Rc<Reactor>,
        stripes: Rc<Vec<Behind>>,
        findings: &'a Findings,
        discards: &'a Discards,
        lost: &'a Lost,
        gone: &'a Rc<LostBlocks>,
    ) -> Self {
        Self { reactor, stripes, findings, discards, lost, gone, done: Applied::default(), page: None }
    }

    /// For each block the newest write, unless a discard is newer still.
    ///
    /// # Errors
    /// When headers cannot be read again.
    pub(crate) async fn apply(mut self, mut apart: Vec<Apart>) -> Result<Applied, ArrayError> {
        apart.sort_unstable_by_key(|block| (block.candidate.address(), block.candidate.age()));
        self.done.top_write_seq = apart.iter().map(|block| block.candidate.seq).max().unwrap_or(0);
        let (mut from, mut apart) = ((VolumeId(0), Lba(0)), apart.into_iter().peekable());
        let (all, mut before) = (self.findings.blocks(), 0);
        let progress = Progress::of(self.reactor, "replay", "blocks", all);
        loop {
            let room = self.findings.window(&self.reactor.shared);
            let window = Rc::new(RefCell::new(Window::new(from, room)));
            let into = window.clone();
            let take = move |candidate| into.borrow_mut().take(candidate);
            for_each_block(self.reactor, &self.stripes, self.gone, take).await?;
            let (found, next) = window.borrow_mut().end();
            let (left, top) = (window.borrow().left(), window.borrow().top());
            self.done.passes += 1;
            self.done.top_write_seq = self.done.top_write_seq.max(top);
            let is_here = |block: &Apart| next.is_none_or(|next| block.candidate.address() < next);
            let mut here = Vec::new();
            while let Some(block) = apart.next_if(is_here) {
                here.push(block);
            }
            self.apply_window(found, here, |blocks| progress.reach(before + blocks));
            before = all.saturating_sub(left);
            progress.reach(before);
            match next {
                Some(next) => from = next,
                None => break,
            }
        }
        self.page.take().into_iter().for_each(|page| self.fold(page));
        self.reactor.shared.settle_maps();
        Ok(self.done)
    }

    /// Both in order of their addresses. Tells now and then how many blocks are done.
    fn apply_window(&mut self, found: Vec<Candidate>, apart: Vec<Apart>, tell: impl Fn(u64)) {
        let is_left = |candidate: &Candidate| !self.discards.cover(candidate);
        let mut found = found.into_iter().filter(|candidate| is_left(candidate)).peekable();
        let mut apart = apart.into_iter().filter(|block| is_left(&block.candidate)).peekable();
        for n in 0.. {
            let next = [found.peek().map(Candidate::address), apart.peek().map(|block| block.candidate.address())];
            let Some(address) = next.into_iter().flatten().min() else { break };
            let in_place = found.next_if(|candidate| candidate.address() == address);
            let mut beside = Vec::new();
            while let Some(block) = apart.next_if(|block| block.candidate.address() == address) {
                beside.push(block);
            }
            apply_to_block(self.reactor, self.lost, in_place, beside, &mut self.done);
            // A page that is through gets one entry again.
            let page = self.page_of(address);
            if page != self.page {
                std::mem::replace(&mut self.page, page).into_iter().for_each(|page| self.fold(page));
            }
            if n % BLOCKS_PER_SETTLING == 0 {
                // Tables that were too small are kept until then.
                self.reactor.shared.settle_maps();
                tell(n as u64);
            }
        }
    }

    /// The page of a volume that is mapped by pages.
    fn page_of(&self, (volume, lba): Address) -> Option<Address> {
        let state = self.reactor.shared.volume(volume).filter(|state| state.paging.is_by_pages())?;
        Some((volume, state.controller.page_of(lba)))
    }

    fn fold(&self, (volume, first): Address) {
        let shared = &self.reactor.shared;
        if let Some(state) = shared.volume(volume) {
            shared.controllers.fold(&state.controller, &shared.layout, first);
        }
    }
}

/// What was found of one block: in a stripe that protects it, and elsewhere, oldest first. A newest one that must be rescued becomes
/// current only when it has been written anew; until then the map shows the newest one before it, so that this is kept too. (Were
/// its segment freed, a second crash together with a lost member could leave neither.)
fn apply_to_block(reactor: &Reactor, lost: &Lost, in_place: Option<Candidate>, beside: Vec<Apart>, done: &mut Applied) {
    let in_place = in_place.map(|candidate| Apart { candidate, moved: false, rescue: None });
    let mut others = beside;
    let newest = if others.is_empty() { in_place } else { newest_of(&mut others, in_place) };
    let Some(newest) = newest else { return };
    let Candidate { volume, lba, seq, entry, after, .. } = newest.candidate;
    let Some(volume) = reactor.shared.volume(volume).filter(|volume| lba.0 < volume.blocks()) else { return };
    done.blocks += 1;
    if lost.is_older_than(after) {
        done.newer.insert((volume.id, lba));
    }
    let controllers = &reactor.shared.controllers;
    let Some(data) = newest.rescue else {
        controllers.replay_write(&volume.controller, lba, entry);
        return;
    };
    let from = reactor.shared.segments.of(entry.pba());
    reactor.shared.segments.add_rescue(from);
    done.rescues.push(Rescue { from, at: entry, volume: volume.id, lba, seq, moved: newest.moved, data });
    if let Some(safe) = others.iter().rfind(|block| block.rescue.is_none() && !block.candidate.is_lost) {
        controllers.replay_write(&volume.controller, lba, safe.candidate.entry);
    }
}

/// Takes the newest of all that was found of a block; `others` are those before it then, oldest first.
fn newest_of(others: &mut Vec<Apart>, in_place: Option<Apart>) -> Option<Apart> {
    others.extend(in_place);
    others.sort_unstable_by_key(|block| block.candidate.age());
    if planted::is(Bug::OldestWriteWins) {
        others.reverse();
    }
    let mut newest = others.pop()?;
    others.iter().for_each(|older| newest.candidate.learn_from(&older.candidate));
    Some(newest)
}

/// Calls `look` with each block of the stripes, but for those that are kept apart. What is not kept in memory is read again.
///
/// # Errors
/// When it cannot be read.
pub(crate) async fn for_each_block(
    reactor: &Rc<Reactor>,
    stripes: &Rc<Vec<Behind>>,
    gone: &Rc<LostBlocks>,
    look: impl FnMut(Candidate) + 'static,
) -> Result<(), ArrayError> {
    let layout = &reactor.shared.layout;
    let look = Rc::new(RefCell::new(look));
    let mut again = Vec::new();
    for (n, stripe) in stripes.iter().enumerate().filter(|(_, stripe)| !stripe.is_apart) {
        match stripe.kept() {
            Some(stripe) => Candidate::all_of(layout, stripe, gone).for_each(&mut *look.borrow_mut()),
            None => again.push(n),
        }
    }
    let progress = Progress::of(reactor, "replay", "stripes read again in this pass", again.len() as u64);
    for some in again.chunks(STRIPES_PER_LOOK) {
        let answers = for_each(&reactor.rt, some.to_vec(), {
            let (reactor, stripes, gone, look) = (reactor.clone(), stripes.clone(), gone.clone(), look.clone());
            move |n| {
                let (reactor, stripes, gone, look) = (reactor.clone(), stripes.clone(), gone.clone(), look.clone());
                async move {
                    let stripe = stripes[n].again().read(&reactor).await?;
                    Candidate::all_of(&reactor.shared.layout, &stripe, &gone).for_each(&mut *look.borrow_mut());
                    Ok(())
                }
            }
        });
        answers.await.into_iter().collect::<Result<(), ArrayError>>()?;
        progress.add(some.len() as u64);
    }
    Ok(())
}
