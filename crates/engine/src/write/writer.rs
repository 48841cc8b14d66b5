//! A lane, as its writer has it: the open stripe, the segment it lies in, and the stripes on their way to the devices.
//!
//! Each reactor has one writer per lane, so appending needs no lock: room is *granted* to it, a segment at a time, by
//! the space manager (ScalaAFA section 3.3's permissions, with segments for hero groups). Closing a stripe submits its
//! column writes at once and leaves the waiting to a task of its own.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use cygnus_format::{Discard, Entry, Geometry, MapEntry};
use cygnus_parity as parity;
use cygnus_runtime::{DeviceIx, OpFuture};
use cygnus_types::{BLOCK, GroupId, Lba, MAX_PAGE_BLOCKS, MemberIx, Pba};

use crate::autonomics::steering::Steering;
use crate::care::member::MemberShared;
use crate::counters::count;
use crate::lsa::{Publish, PublishPage, Published, PublishedPage};
use crate::planted::{self, Bug};
use crate::reactor::Reactor;
use crate::space::segments::{SegIx, SegState};
use crate::volume_state::VolumeState;
use crate::write::grant::{Grant, Room};
use crate::write::lane::Lane;
use crate::write::offload::{Copied, LastCopies, Offload};
use crate::write::page::Page;
use crate::write::replicate::standing_of;
use crate::write::stripe::{Closing, Moved, Stripe, StripePlace};
use crate::write::summed::Summed;
use crate::write::unflushed::OF_ZEROS;

/// A segment being filled. Sealed once it is closed and its last stripe is on the devices.
struct OpenSegment {
    grant: Grant,
    /// The stripes from the first one that is not on the devices, in the order of rows; the open one is the last.
    out: RefCell<VecDeque<Out>>,
    closed: Cell<bool>,
}

/// A stripe that is open or on its way, or waits for one before it to be on the devices.
struct Out {
    start_row: u32,
    /// The row behind it, once it is on the devices.
    landed: Option<u32>,
}

impl OpenSegment {
    fn new(grant: Grant) -> Self {
        Self { grant, out: RefCell::default(), closed: Cell::new(false) }
    }

    fn stripe_opens(&self, start_row: u32) {
        self.out.borrow_mut().push_back(Out { start_row, landed: None });
    }

    /// The open stripe holds nothing and is forgotten.
    fn stripe_forgotten(&self) {
        self.out.borrow_mut().pop_back().expect("the open stripe is the last");
    }

    /// A stripe is on the devices. Tells the other reactors how far all are.
    fn stripe_landed(&self, reactor: &Reactor, stripe: &Stripe) {
        let mut out = self.out.borrow_mut();
        let its = |out: &&mut Out| out.start_row == stripe.place.start_row;
        out.iter_mut().find(its).expect("it was opened here").landed = Some(stripe.end_row());
        while let Some(row) = out.front().and_then(|first| first.landed) {
            out.pop_front();
            reactor.shared.segments.set_landed(self.grant.seg, row);
        }
    }

    fn seal_if_done(&self, reactor: &Reactor, lane: Lane) {
        if self.closed.get() && self.out.borrow().is_empty() {
            let state = if lane == Lane::Meta { SegState::Meta } else { SegState::Sealed };
            reactor.shared.segments.set_state(self.grant.seg, state);
            reactor.segment_sealed();
        }
    }
}

/// How an append ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Appended {
    /// The block is in the stripe and the map points there.
    Done,
    /// The map has changed since; nothing was written.
    Changed,
    /// No open stripe has room: wait for [`Reactor::progress`] and try again.
    NoRoom,
}

/// A segment begun and put aside, and its next row.
type Begun = (Rc<OpenSegment>, u32);

/// See the module's text.
pub(crate) struct Writer {
    lane: Lane,
    segment: Option<Rc<OpenSegment>>,
    next_row: u32,
    /// The group that relocation last aimed at: a segment in another one was lent to it.
    aim: Option<GroupId>,
    /// Segments begun in other groups: relocation comes back to them when cleaning does.
    parked: Vec<Begun>,
    stripe: Option<Stripe>,
    /// The next segment, fetched before it is needed.
    spare: Option<Grant>,
    /// Whether a task is waiting for a grant on our behalf.
    asking: bool,
    /// Stripes on their way, oldest first; they serve reads until they are done.
    in_flight: VecDeque<Rc<Stripe>>,
    /// Finished stripes whose buffers wait to be used again.
    idle: Vec<Rc<Stripe>>,
}

impl Writer {
    pub(crate) fn new(lane: Lane) -> Self {
        Self {
            lane,
            segment: None,
            next_row: 0,
            aim: None,
            parked: Vec::new(),
            stripe: None,
            spare: None,
            asking: false,
            in_flight: VecDeque::new(),
            idle: Vec::new(),
        }
    }

    /// The open stripe with room for a block, if there is or can be one right now.
    #[inline]
    fn stripe_with_room(&mut self, reactor: &Rc<Reactor>) -> Option<&mut Stripe> {
        if self.stripe.as_ref().is_some_and(Stripe::is_full) {
            self.close_stripe(reactor);
        }
        if self.stripe.is_none() && !self.open_stripe(reactor) {
            return None;
        }
        self.stripe.as_mut()
    }

    fn open_stripe(&mut self, reactor: &Rc<Reactor>) -> bool {
        if self.has_enough_in_flight(reactor) || self.lane.waits_for_flushes() && reactor.must_flush_first() {
            return false;
        }
        if self.segment.as_ref().is_some_and(|segment| segment.grant.shape.full_rows_at(self.next_row) == 0) {
            self.close_segment(reactor);
        }
        if let Some(marks) = &reactor.shared.marks
            && self.is_better_left(reactor)
        {
            count(&marks.counts.left, 1);
            self.close_segment(reactor);
        }
        if self.segment.is_none() {
            let Some(grant) = self.spare.take() else {
                self.ask(reactor);
                return false;
            };
            let medium = reactor.shared.medium(grant.group);
            assert!(self.lane.medium().is_none_or(|on| on == medium), "a lane's segments are on its medium");
            reactor.shared.begin_segment(grant.group, grant.segment);
            self.segment = Some(Rc::new(OpenSegment::new(grant)));
            self.next_row = 0;
        }
        let segment = self.segment.as_ref().expect("just opened");
        let grant = segment.grant;
        let geometry = grant.shape;
        let rows = geometry.full_rows_at(self.next_row);
        let place = StripePlace {
            seg: grant.seg,
            group: grant.group,
            segment: grant.segment,
            segment_seq: grant.segment_seq,
            base: reactor.shared.layout.segment_base(grant.group, grant.segment),
            start_row: self.next_row,
            header_blocks: geometry.header_blocks(rows),
            rows,
            columns: reactor.columns_of_shape(&geometry, grant.segment),
            opened: reactor.shared.stripes.next(),
            lane: self.lane,
        };
        segment.stripe_opens(self.next_row);
        self.stripe = Some(self.stripe_object(reactor, geometry, place));
        if self.lane.waits_for_flushes() {
            reactor.destage_later();
        }
        if self.lane.is_for_clients() && geometry.full_rows_at(place.start_row + 2 * place.rows) == 0 {
            self.ask(reactor);
        }
        true
    }

    fn stripe_object(&mut self, reactor: &Reactor, geometry: Geometry, place: StripePlace) -> Stripe {
        // Cleaning goes from one medium to the other, and groups there may be of other width.
        while let Some(at) = self.idle.iter().rposition(|idle| idle.geometry().width() == geometry.width()) {
            let idle = self.idle.swap_remove(at);
            if let Ok(mut stripe) = Rc::try_unwrap(idle)
                && stripe.is_idle()
            {
                stripe.reset(reactor.rt.id(), geometry, place);
                return stripe;
            }
        }
        let cell = reactor.shared.kept.get().and_then(|kept| kept.cell(&reactor.rt, |text| reactor.shared.log(text)));
        Stripe::allocate(&reactor.rt, cell, reactor.shared.protections.tallest(), geometry, place)
    }

    /// Ends the stripe that keeps the log in a burdened group while there is a better one: where clients hardly write, nobody else
    /// would ever fill it.
    pub(crate) fn leave_burdened(&mut self, reactor: &Rc<Reactor>) {
        if self.is_better_left(reactor) {
            self.close_stripe(reactor);
        }
    }

    /// The group that the next blocks go to. `None`: the next segment is asked for, where clients hardly write nobody else does.
    pub(crate) fn next_group(&mut self, reactor: &Rc<Reactor>) -> Option<GroupId> {
        let has_stripe = self.stripe.as_ref().is_some_and(|stripe| !stripe.is_full());
        let has_rows = |segment: &Rc<OpenSegment>| segment.grant.shape.full_rows_at(self.next_row) > 0;
        if has_stripe || self.segment.as_ref().is_some_and(has_rows) && !self.is_better_left(reactor) {
            return self.segment.as_ref().map(|segment| segment.grant.group);
        }
        self.ask(reactor);
        self.spare.map(|spare| spare.group)
    }

    /// Whether new writes should go to the next segment already, because this one's group is burdened and that one's is not.
    fn is_better_left(&mut self, reactor: &Rc<Reactor>) -> bool {
        let Some(here) = self.segment.as_ref().map(|segment| segment.grant.group) else { return false };
        let (steering, now) = (Steering::of(&reactor.shared), reactor.rt.now());
        if !self.lane.is_for_clients() || !steering.is_burdened(here, now) {
            return false;
        }
        self.ask(reactor);
        self.spare.is_some_and(|spare| !steering.is_burdened(spare.group, now))
    }

    /// Whether there is a segment with room, or one to come next.
    pub(crate) fn has_segment(&mut self, reactor: &Rc<Reactor>) -> bool {
        if self.stripe.as_ref().is_some_and(Stripe::is_full) {
            self.close_stripe(reactor);
        }
        let has_rows = |segment: &Rc<OpenSegment>| segment.grant.shape.full_rows_at(self.next_row) > 0;
        self.stripe.is_some() || self.spare.is_some() || self.segment.as_ref().is_some_and(has_rows)
    }

    /// Stripes whose parity is postponed do not count, as far as they may be: devices have nothing to do for these. They are counted only
    /// where there are many stripes, since this is asked for each write.
    fn has_enough_in_flight(&self, reactor: &Reactor) -> bool {
        let may_wait = reactor.shared.policies.converting.most_waiting();
        let waiting = || reactor.postponed.waiting_in(self.lane).min(may_wait);
        let most = self.lane.most_in_flight();
        self.in_flight.len() >= most && self.in_flight.len() >= most + waiting()
    }

    /// Whether there is a segment with room, or one that was asked for.
    pub(crate) fn has_begun_a_segment(&self) -> bool {
        let has_rows = |segment: &Rc<OpenSegment>| segment.grant.shape.full_rows_at(self.next_row) > 0;
        self.asking || self.stripe.is_some() || self.spare.is_some() || self.segment.as_ref().is_some_and(has_rows)
    }

    /// Whether a block would have room now, as far as is known before one tries. Asks for a segment if there is none.
    pub(crate) fn is_ready(&mut self, reactor: &Rc<Reactor>) -> bool {
        let has_segment = self.has_segment(reactor);
        if !has_segment {
            self.ask(reactor);
        }
        has_segment && (self.stripe.is_some() || !self.has_enough_in_flight(reactor))
    }

    /// Gets the next segment without having asked, if it wants one.
    pub(crate) fn takes(&mut self, grant: impl FnOnce() -> Option<Grant>) -> bool {
        if self.spare.is_none() && !self.asking {
            self.spare = grant();
        }
        self.spare.is_some()
    }

    /// Has a task fetch the next segment, unless one is at it already.
    pub(crate) fn ask(&mut self, reactor: &Rc<Reactor>) {
        if self.asking || self.spare.is_some() {
            return;
        }
        self.asking = true;
        let (reactor, lane, to) = (reactor.clone(), self.lane, self.aim);
        reactor.clone().rt.spawn(async move {
            let grant = reactor.grant(lane, to).await;
            let unfit = {
                let mut writer = reactor.writer(lane).borrow_mut();
                writer.asking = false;
                let unfit = grant.filter(|grant| !writer.may_go_to(&reactor, grant.group));
                writer.spare = grant.filter(|_| unfit.is_none());
                unfit
            };
            if let Some(grant) = unfit {
                reactor.give_back(grant);
            }
            reactor.progress.notify();
        });
    }

    /// Whether a segment of a group serves what the lane has come to aim at since it asked. To relocation another one on its medium does;
    /// what moves out of the way of contention goes to one group.
    fn may_go_to(&self, reactor: &Reactor, group: GroupId) -> bool {
        if matches!(self.lane, Lane::Moved(_)) {
            return self.aim == Some(group);
        }
        self.aim.is_none_or(|aim| reactor.shared.medium(aim) == reactor.shared.medium(group))
    }

    /// Appends a block and publishes it in the map; all of it at once, so nobody sees half of it.
    #[inline]
    pub(crate) fn append(
        &mut self,
        reactor: &Rc<Reactor>,
        volume: &VolumeState,
        lba: Lba,
        block: Summed<'_>,
        publish: Publish,
    ) -> Appended {
        let Some(stripe) = self.stripe_with_room(reactor) else { return Appended::NoRoom };
        let shared = &reactor.shared;
        let (spot, crc) = (stripe.next_spot(), block.crc());
        let entry = MapEntry::new(spot.pba, crc);
        // A volume that is being deleted gets no blocks any more from those that move them.
        if !matches!(publish, Publish::Always) && volume.is_gone() {
            return Appended::Changed;
        }
        let Some(Published { kind, seq, old }) = shared.controllers.publish(&volume.controller, lba, entry, publish)
        else {
            return Appended::Changed;
        };
        stripe.commit(&spot, Entry::new(kind, volume.id, lba, seq, crc), block.data());
        stripe.note_move(publish);
        // What is moved was verified; a block of a page can be verified by itself in no other way.
        let is_moved = matches!(publish, Publish::Move(..) | Publish::Rehome(_));
        let is_same = old.matches(crc) || old.is_of_page() && is_moved;
        if !matches!(publish, Publish::Always) && old.is_mapped() && is_same {
            stripe.is_copy_of(old.pba());
        }
        Appended::Done
    }

    /// The open stripe, if so many blocks can come to lie one behind the other there, with slots before them left out if need be.
    fn stripe_with_run(&mut self, reactor: &Rc<Reactor>, blocks: u32) -> Option<&mut Stripe> {
        while !self.stripe_with_room(reactor)?.leave_out_for(blocks) {
            if self.stripe.as_ref().is_some_and(Stripe::is_empty) {
                // The last one of its segment, of too few rows.
                self.close_segment(reactor);
            } else {
                self.close_stripe(reactor);
            }
        }
        self.stripe.as_mut()
    }

    /// Appends a page of a volume, whole, and publishes it in the map; all of it at once.
    pub(crate) fn append_whole(
        &mut self,
        reactor: &Rc<Reactor>,
        volume: &VolumeState,
        first: Lba,
        data: &[u8],
        how: PublishPage<'_>,
    ) -> Appended {
        let blocks = data.len() / BLOCK;
        let Some(stripe) = self.stripe_with_run(reactor, blocks as u32) else { return Appended::NoRoom };
        // A volume that is being deleted gets no blocks any more from those that move them.
        if !matches!(how, PublishPage::Always) && volume.is_gone() {
            return Appended::Changed;
        }
        let mut crcs = [0; MAX_PAGE_BLOCKS as usize];
        data.chunks_exact(BLOCK).zip(&mut crcs).for_each(|(block, crc)| *crc = parity::checksum::crc32c(block));
        let pba = stripe.next_run();
        let entry = MapEntry::of_page(pba, MapEntry::page_check(crcs[..blocks].iter().copied()));
        let published = reactor.shared.controllers.publish_page(&volume.controller, first, entry, how);
        let Some(PublishedPage { kind, seq, old }) = published else { return Appended::Changed };
        for (n, block) in data.chunks_exact(BLOCK).enumerate() {
            let entry = Entry::new(kind, volume.id, first.plus(n as u64), how.seq_of(n, seq), crcs[n]);
            stripe.commit_next(Pba(pba.0 + n as u64), entry, block);
            if how.is_same(n) {
                stripe.note_move_of_page(&how);
                stripe.is_copy_of(if old[n].is_mapped() { old[n].pba() } else { OF_ZEROS });
            }
        }
        Appended::Done
    }

    /// Appends a block that no map points to: a page of a checkpoint.
    pub(crate) fn append_page(&mut self, reactor: &Rc<Reactor>, page: &Page, generation: u64) -> Appended {
        let Some(stripe) = self.stripe_with_room(reactor) else { return Appended::NoRoom };
        let crc = parity::checksum::crc32c(&page.bytes[..]);
        let entry = Entry::new(page.kind, page.volume, page.first, generation, crc);
        stripe.commit(&stripe.next_spot(), entry, &page.bytes[..]);
        Appended::Done
    }

    /// The open stripe, if it holds anything.
    pub(crate) fn open_stripe_mut(&mut self) -> Option<&mut Stripe> {
        self.stripe.as_mut().filter(|stripe| !stripe.is_empty())
    }

    /// Whether something is in an open stripe that was opened before a stripe got this number.
    pub(crate) fn holds_from_before(&self, number: u64) -> bool {
        self.stripe.as_ref().is_some_and(|stripe| !stripe.is_empty() && stripe.place.opened <= number)
    }

    /// Whether there is an open stripe that holds something and has room for more.
    pub(crate) fn has_begun_a_stripe(&self) -> bool {
        self.stripe.as_ref().is_some_and(|stripe| !stripe.is_empty() && !stripe.is_full())
    }

    /// Whether a discard record would find room; opens a stripe for it if need be.
    pub(crate) fn has_discard_room(&mut self, reactor: &Rc<Reactor>) -> bool {
        if self.stripe.as_ref().is_some_and(|s| !s.has_discard_room()) {
            self.close_stripe(reactor);
        }
        self.stripe.is_some() || self.open_stripe(reactor)
    }

    /// Records a discard in the open stripe, for which [`Writer::has_discard_room`] just said yes.
    pub(crate) fn discard(&mut self, discard: Discard) {
        self.stripe.as_mut().expect("the caller made sure of room").discard(discard);
    }

    /// Sends the open stripe to the devices at the height it has reached. One that holds nothing is forgotten.
    pub(crate) fn close_stripe(&mut self, reactor: &Rc<Reactor>) {
        let Some(mut stripe) = self.stripe.take() else { return };
        let segment = self.segment.clone().expect("an open stripe lies in a segment");
        if stripe.is_empty() {
            segment.stripe_forgotten();
            self.idle.push(Rc::new(stripe));
            return;
        }
        let shared = &reactor.shared;
        let seq = reactor.number_stripe(self.lane);
        let (array_tag, session, durable) = (shared.array_tag, shared.session, shared.durable());
        stripe.is_converted(reactor.rows_to_convert(&stripe));
        stripe.close(Closing { seq, array_tag, session, durable, reactor: reactor.rt.id() });
        shared.segments.note_stripe(stripe.place.seg, seq);
        if self.lane.is_for_clients() {
            reactor.transient.borrow_mut().stripe_closed(self.lane, seq);
        }
        self.next_row = stripe.end_row();
        // No map knows the pages of a checkpoint.
        if self.lane != Lane::Meta {
            shared.segments.add_live(stripe.place.seg, stripe.blocks());
        }
        if stripe.carries_discards() {
            shared.segments.note_discard(stripe.place.seg, seq);
        }
        self.count(reactor, &stripe);
        let mut unflushed = reactor.unflushed.borrow_mut();
        unflushed.add(durable, stripe.closed(), stripe.place.seg, |unflushed| stripe.describe(unflushed));
        drop(unflushed);
        let stripe = Rc::new(stripe);
        self.in_flight.push_back(stripe.clone());
        let writes = submit_columns(reactor, &stripe);
        let copies = reactor.send_last_copies(&stripe);
        reactor.rt.spawn(finish_stripe(reactor.clone(), stripe, segment, writes, copies));
    }

    fn count(&self, reactor: &Reactor, stripe: &Stripe) {
        let columns = stripe.place.columns;
        let totals = &reactor.shared.totals;
        let rows = stripe.end_row() - stripe.place.start_row - stripe.place.header_blocks;
        let width = u64::from(columns.width());
        let blocks = u64::from(stripe.blocks());
        match self.lane {
            Lane::Clients(_) | Lane::Hot(_) | Lane::Own(..) | Lane::Moved(_) => {
                let Moved { rehomed, relocated } = stripe.moved();
                let (rehomed, relocated) = (u64::from(rehomed), u64::from(relocated));
                count(&totals.rehomed, rehomed);
                count(&totals.relocated, relocated);
                count(&totals.client_written, blocks - rehomed - relocated);
            }
            Lane::Cleaning | Lane::CleaningOwn(_) | Lane::Beside => count(&totals.relocated, blocks),
            Lane::Meta => count(&totals.checkpoint_written, blocks),
        }
        let parity = u64::from(rows - stripe.converted()) * u64::from(columns.parity);
        count(&totals.parity_written, parity);
        if stripe.backed_up().slots > 0 {
            count(&totals.converted_here, parity);
        }
        count(&totals.header_written, u64::from(stripe.place.header_blocks) * width);
        count(&totals.padding_written, u64::from(rows) * u64::from(columns.data) - blocks);
        if self.lane != Lane::Meta {
            count(&reactor.shared.since_checkpoint, blocks * BLOCK as u64);
        }
    }

    /// Ends the present segment, whatever it has left; the next stripe opens another one.
    pub(crate) fn close_segment(&mut self, reactor: &Rc<Reactor>) {
        self.close_stripe(reactor);
        if let Some(segment) = self.segment.take() {
            segment.closed.set(true);
            segment.seal_if_done(reactor, self.lane);
        }
    }

    /// Ends all segments.
    pub(crate) fn close_segments(&mut self, reactor: &Rc<Reactor>) {
        self.close_segment(reactor);
        while let Some((segment, next_row)) = self.parked.pop() {
            self.segment = Some(segment);
            self.next_row = next_row;
            self.close_segment(reactor);
        }
    }

    /// Goes on appending in a group, in the segment begun there if there is one. Returns a segment of another group
    /// that was granted and not begun, which the caller gives back. (A segment left half empty at each change of the
    /// group would cost more space than cleaning gains.)
    pub(crate) fn aim_at(&mut self, reactor: &Rc<Reactor>, group: GroupId) -> Option<Grant> {
        let aimed_before = self.aim.replace(group);
        if aimed_before == Some(group) && self.lives_on_loan(reactor, group) {
            return None;
        }
        if let Some(here) = self.segment.as_ref().map(|segment| segment.grant.group).filter(|&here| here != group) {
            let begun = self.put_aside(reactor, here).expect("just seen");
            self.park(reactor, begun);
        }
        if self.segment.is_none()
            && let Some((segment, next_row)) = self.put_aside(reactor, group)
        {
            self.segment = Some(segment);
            self.next_row = next_row;
        }
        self.spare.take_if(|spare| spare.group != group)
    }

    /// Appends in a group from now on. A segment begun in another group ends: to keep one in each, as [`Writer::aim_at`] does, takes room
    /// that is kept for one reactor only. Returns a segment of another group that was granted and not begun.
    pub(crate) fn go_to(&mut self, reactor: &Rc<Reactor>, group: GroupId) -> Option<Grant> {
        self.aim = Some(group);
        if !self.is_in(group) {
            self.close_segment(reactor);
        }
        self.spare.take_if(|spare| spare.group != group)
    }

    /// Whether the present segment was lent to a group that has no room of its own. Put aside half empty, it would have to be
    /// lent anew for each victim, until nothing is left to lend.
    fn lives_on_loan(&self, reactor: &Reactor, group: GroupId) -> bool {
        let is_lent = self.segment.is_some() && !self.is_in(group);
        let has_begun = || self.parked.iter().any(|(segment, _)| segment.grant.group == group);
        is_lent && !has_begun() && reactor.home().space.borrow().free_in(group.index()) == 0
    }

    /// Leaves the segment that is begun in a group to another lane's writer, which is about to go on there.
    pub(crate) fn leave_to(&mut self, other: &mut Writer, reactor: &Rc<Reactor>, group: GroupId) {
        if let Some(begun) = self.put_aside(reactor, group) {
            other.park(reactor, begun);
        }
    }

    /// A segment that was granted and is not needed now, which the caller gives back.
    pub(crate) fn give_back_spare(&mut self) -> Option<Grant> {
        self.spare.take()
    }

    /// Lets go of the segment that is begun in a group.
    fn put_aside(&mut self, reactor: &Rc<Reactor>, group: GroupId) -> Option<Begun> {
        if self.is_in(group) {
            self.close_stripe(reactor);
            return self.segment.take().map(|segment| (segment, self.next_row));
        }
        let at = self.parked.iter().position(|(segment, _)| segment.grant.group == group)?;
        Some(self.parked.swap_remove(at))
    }

    /// Keeps a segment for later. One in a group where another is begun already, as one that was lent may be, would wait
    /// for ever for its turn: it ends.
    fn park(&mut self, reactor: &Rc<Reactor>, begun: Begun) {
        let group = begun.0.grant.group;
        if self.is_in(group) || self.parked.iter().any(|(segment, _)| segment.grant.group == group) {
            begun.0.closed.set(true);
            begun.0.seal_if_done(reactor, self.lane);
        } else {
            self.parked.push(begun);
        }
    }

    fn is_in(&self, group: GroupId) -> bool {
        self.segment.as_ref().is_some_and(|segment| segment.grant.group == group)
    }

    /// Ends the segments that lie in a group. Returns one there that was granted and not begun, which the caller gives
    /// back.
    pub(crate) fn leave(&mut self, reactor: &Rc<Reactor>, group: GroupId) -> Option<Grant> {
        if self.is_in(group) {
            self.close_segment(reactor);
        }
        // Those put aside have no open stripe.
        for (segment, _) in self.parked.extract_if(.., |(segment, _)| segment.grant.group == group) {
            segment.closed.set(true);
            segment.seal_if_done(reactor, self.lane);
        }
        self.spare.take_if(|spare| spare.group == group)
    }

    /// The block at a place, if it is still in memory.
    pub(crate) fn block(&self, seg: SegIx, column: u8, row: u32) -> Option<&[u8]> {
        self.in_flight
            .iter()
            .map(|s| &**s)
            .chain(&self.stripe)
            .filter(|s| s.place.seg == seg)
            .find_map(|s| s.block(column, row))
    }

    fn retire(&mut self, stripe: Rc<Stripe>) {
        self.in_flight.retain(|s| !Rc::ptr_eq(s, &stripe));
        self.idle.push(stripe);
    }
}

/// A column that a device should get.
struct ColumnWrite {
    column: u8,
    member: MemberIx,
    dev: DeviceIx,
    /// What is on its way: the column, or the parts of it that are not in their places yet. None: the device is not written to
    /// now, and the column is owed to it.
    ops: Vec<OpFuture>,
    bytes: u64,
}

fn submit_columns(reactor: &Reactor, stripe: &Stripe) -> Vec<ColumnWrite> {
    let mut writes = Vec::with_capacity(usize::from(reactor.shared.layout.geometry().width()));
    let standing = standing_of(reactor, stripe.place.group);
    for (column, buf) in stripe.column_writes() {
        let (member, state) = reactor.shared.member(stripe.place.group, column);
        let devices = if planted::is(Bug::SuccessorMissesWrites) { 1 } else { 2 };
        for dev in state.devices_to_write().take(devices) {
            let (mut ops, mut bytes) = (Vec::with_capacity(1), 0);
            if reactor.takes_writes_now(state, dev) {
                begin_column(reactor, stripe, dev);
                let rows = stripe.rows_in_place(column, standing);
                for part in stripe.parts_left(rows) {
                    bytes += part.len() as u64;
                    let at = reactor.place_of(stripe) + part.start as u64;
                    ops.push(reactor.rt.write(dev, at, buf.slice(part)));
                }
            }
            writes.push(ColumnWrite { column, member, dev, ops, bytes });
        }
    }
    writes
}

/// Where zones are kept in order a column is forgotten before it is written anew. It was when the segment was given back, unless the
/// device was away then; what is submitted behind this goes to the zone after it.
fn begin_column(reactor: &Reactor, stripe: &Stripe, dev: DeviceIx) {
    if stripe.place.start_row == 0 && reactor.rt.capabilities(dev).resets.is_some() {
        // One that will not forget takes what follows as a patch.
        drop(reactor.rt.trim(dev, reactor.place_of(stripe), reactor.shared.layout.geometry().segment_bytes()));
    }
}

/// Waits until a stripe's columns are where they are wanted. Then the stripe leaves memory.
async fn finish_stripe(
    reactor: Rc<Reactor>,
    stripe: Rc<Stripe>,
    segment: Rc<OpenSegment>,
    writes: Vec<ColumnWrite>,
    copies: LastCopies,
) {
    for write in writes {
        reactor.deliver(&stripe, write).await;
    }
    if stripe.converted() > 0 {
        let copied = reactor.complete_copies(&stripe, copies).await;
        if copied != Copied::InPart {
            reactor.landing.lacks_only_parity(stripe.seq(), &reactor.progress);
        }
        reactor.convert(&stripe, copied).await;
    }
    let place = stripe.place;
    // Before anybody may clean its segment: what the next opening finds of it in kept memory, it would write there again. An array
    // that takes no writes any more cleans nothing either, and has perhaps given up columns that devices still owe an answer for.
    if reactor.shared.fault().is_none() {
        stripe.is_on_devices();
    }
    segment.stripe_landed(&reactor, &stripe);
    segment.seal_if_done(&reactor, place.lane);
    // Only now: until readers on other reactors have been told to go to the devices they ask for it.
    let seq = stripe.seq();
    reactor.unflushed.borrow_mut().landed(seq);
    reactor.writer(place.lane).borrow_mut().retire(stripe);
    reactor.end_stripe(seq);
    reactor.progress.notify();
}

/// Writes the parity that the member of a column was to compute, and waits until it is there.
pub(crate) async fn write_parity(reactor: &Reactor, stripe: &Stripe, column: u8) {
    let (member, state) = reactor.shared.member(stripe.place.group, column);
    let parity = stripe.parity_of_converted(&reactor.rt, column);
    let (rows, bytes) = (u64::from(stripe.converted()), parity.len() as u64);
    count(&reactor.shared.totals.parity_written, rows);
    count(&reactor.shared.totals.converted_here, rows);
    let at = reactor.place_of(stripe) + u64::from(stripe.place.header_blocks) * BLOCK as u64;
    let write = |dev| {
        let is_taken = reactor.takes_writes_now(state, dev);
        let ops = is_taken.then(|| reactor.rt.write(dev, at, parity.clone())).into_iter().collect();
        ColumnWrite { column, member, dev, ops, bytes }
    };
    let writes: Vec<ColumnWrite> = state.devices_to_write().map(write).collect();
    for write in writes {
        reactor.deliver(stripe, write).await;
    }
}

impl Reactor {
    /// Where the columns of a stripe begin on their devices.
    fn place_of(&self, stripe: &Stripe) -> u64 {
        self.shared.layout.geometry().device_offset(stripe.place.segment.0, stripe.place.start_row)
    }

    /// Whether a device of a member may be written to now. A successor is no member yet, and in no trouble.
    fn takes_writes_now(&self, state: &MemberShared, dev: DeviceIx) -> bool {
        state.trouble().is_none() || state.known_device() != Some(dev)
    }

    /// Waits until a column is on its device. One that the device did not take is owed to it: it is written again when the
    /// device answers again, and given up only when the member has left service, for then its parity has it.
    async fn deliver(&self, stripe: &Stripe, write: ColumnWrite) {
        let state = &self.shared.members[write.member.index()];
        let ColumnWrite { column, dev, mut ops, mut bytes, .. } = write;
        let mut owed = None;
        loop {
            let mut written = !ops.is_empty();
            for op in ops.drain(..) {
                written &= op.await.is_ok();
            }
            if written {
                count(&state.counters.written, bytes);
                return state.mark_dirty();
            }
            owed.get_or_insert_with(|| Owed::new(state));
            if !self.until_writable(state, dev).await || planted::is(Bug::OwedIsForgotten) {
                return;
            }
            bytes = stripe.column_bytes();
            ops.push(self.rt.write(dev, self.place_of(stripe), stripe.whole_column(&self.rt, column)));
        }
    }

    /// Waits until a device of a member may be written to; `false`: nothing is wanted there any more.
    async fn until_writable(&self, state: &MemberShared, dev: DeviceIx) -> bool {
        loop {
            let answers = self.answers.wait();
            if self.shared.fault().is_some() || !state.devices_to_write().any(|wanted| wanted == dev) {
                return false;
            }
            if self.takes_writes_now(state, dev) {
                return true;
            }
            answers.await;
        }
    }
}

/// A column that a member is owed.
struct Owed<'a>(&'a MemberShared);

impl<'a> Owed<'a> {
    fn new(member: &'a MemberShared) -> Self {
        member.owe();
        Self(member)
    }
}

impl Drop for Owed<'_> {
    fn drop(&mut self) {
        self.0.settle();
    }
}

/// The writers of a reactor, one per lane.
pub(crate) fn writers() -> [RefCell<Writer>; Lane::ALL.len()] {
    Lane::ALL.map(|lane| RefCell::new(Writer::new(lane)))
}
