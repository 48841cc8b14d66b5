//! Two-phase writes: what an open stripe holds is made safe by backups, and by its parity when it is full (ScalaAFA, section 3.1).
//!
//! A flush need not end the stripe that clients are filling. What is new in it goes to its final places, and beside that a
//! *backup* of it to the transient areas of m other members ([`crate::write::holders`]): so m members may be lost. The
//! stripe stays open; when it is full, its headers and its parity are written, and what is in place is not written again.
//! Then nobody needs the backups any more ([`crate::write::transient`]).
//!
//! Each stream of clients' writes has an open stripe of its own (hot ones apart from others, media apart), and each of these is backed up or
//! ended by itself. The backups of all share the transient areas.
//!
//! With a *parity buffer* ([`UntilFull::ParityBuffer`]; SALSA, section 3.1) the members that will have the stripe's parity get that of
//! the rows in which the new blocks lie, where that is less than their copies. It is computed of all that the stripe holds in these
//! rows by then, and stays right when more is added: each backup knows up to which slot it counts. With what is in place it restores
//! as much as copies do.
//!
//! Either costs less than an end with padding and headers on every column if the new blocks are few
//! ([`cygnus_policy::Unfinished`]). Where they are many, where a member of the group is away, in trouble or written in order, or where
//! its transient area is full, the stripe is closed as if there were no backups. Nothing is ever less safe than by stripes alone.

use std::rc::Rc;

use cygnus_format::{Backup, Entry, Holds, MOST_RECORDS};
use cygnus_policy::{Unfinished, UntilFull, Way};
use cygnus_runtime::{BufSlice, DeviceIx, OpFuture, Runtime};
use cygnus_types::{BLOCK, ByteSize, GroupId, MemberIx};

use crate::care::member::MemberShared;
use crate::counters::count;
use crate::log::During;
use crate::planted::{self, Bug};
use crate::reactor::Reactor;
use crate::write::beside::Beside;
use crate::write::holders::{self, keeps_no_backups};
use crate::write::lane::Lane;
use crate::write::offload::Offload;
use crate::write::stripe::{BackedUp, Standing, Stripe};
use crate::write::transient::{Numbers, Transient, Wanted};

/// The rows below the header in which the blocks of a stripe lie that are in memory only.
fn rows_of_new(stripe: &Stripe) -> Vec<u32> {
    stripe.geometry().rows_of(stripe.backed_up().slots..stripe.used(), stripe.place.rows).collect()
}

/// What is to be weighed about so many new blocks of a stripe, which lie in these rows if their parity may be kept.
fn unfinished(stripe: &Stripe, new: u32, rows: Option<&[u32]>, described_beside: bool) -> Unfinished {
    Unfinished {
        data: stripe.place.columns.data,
        parity: stripe.place.columns.parity,
        new,
        backed_up: stripe.backed_up().slots,
        rows: stripe.closing_rows(),
        header: stripe.place.header_blocks,
        buffered_rows: rows.map(|rows| rows.len() as u32),
        described_beside,
        is_converted: !stripe.heroes.is_empty(),
    }
}

/// How the members of a group stand now.
pub(crate) fn standing_of(reactor: &Reactor, group: GroupId) -> Standing {
    Standing { membership: reactor.shared.membership(), silences: reactor.silences(group) }
}

/// How a device is told to write: copies as what will soon be invalid, and blocks that go to their places plainly.
type WriteKind = fn(&Runtime, DeviceIx, u64, BufSlice) -> OpFuture;

/// A write to a member.
struct BackupWrite {
    member: MemberIx,
    bytes: u64,
    op: OpFuture,
}

/// Where a member's part of a backup goes.
struct BackupPlace {
    member: MemberIx,
    /// Block of its transient area for the block that says what it is, if there is one.
    first: Option<u32>,
    /// Where its other blocks go.
    at: u32,
    /// How many these are.
    blocks: u32,
}

/// What is on its way: a backup, and its blocks to their places.
struct UnderWay<'a> {
    /// Told to whoever counts which faults meet what, until all writes have their answers.
    step: During<'a>,
    number: u64,
    /// The stream whose open stripe is copied.
    lane: Lane,
    writes: Vec<BackupWrite>,
    /// Row and segment sequence by which the stripe is known again.
    stripe: (u32, u64),
    group: GroupId,
    /// What the stripe has in place and backed up when all is there.
    then: BackedUp,
}

/// What is to be done about an open stripe.
enum Step<'a> {
    /// It has nothing that is not safe.
    Nothing,
    /// A backup of it is on its way.
    BackedUp(UnderWay<'a>),
    /// It has to end.
    Close,
    /// It should be backed up, and some member has no room for that: stripes have to end, whose backups are needed no more then.
    NoRoom,
}

/// Makes what clients have written outlast the machine, as soon as devices are flushed: see the module's text.
#[derive(Clone)]
pub(crate) struct Replicator {
    reactor: Rc<Reactor>,
}

impl Replicator {
    pub(crate) fn of(reactor: &Rc<Reactor>) -> Self {
        Self { reactor: reactor.clone() }
    }

    /// Waits until all that clients had written here before this call is on the members, in stripes or in backups. One round
    /// serves all who ask before it begins. It does not wait for parity that members compute from copies.
    pub(crate) async fn settle(&self) {
        if !self.reactor.shared.is_two_phase() {
            return self.reactor.drain(Lane::OF_CLIENTS).await;
        }
        self.reactor.settling.next(&self.reactor.rt, || self.clone().settle_now()).await;
    }

    async fn settle_now(self) {
        let mut under_way = Vec::new();
        for &lane in Lane::OF_CLIENTS {
            match self.step(lane) {
                Step::Nothing => {}
                Step::BackedUp(of) => under_way.push(of),
                Step::Close => self.close(lane),
                Step::NoRoom => self.close_all(),
            }
        }
        for of in under_way {
            let lane = of.lane;
            if !self.finish(of).await {
                self.close(lane);
            }
        }
        let (below, progress) = (self.reactor.shared.stripes.next(), &self.reactor.progress);
        self.reactor.landing.until_landed_or_copied(Lane::OF_CLIENTS, below, progress).await;
        self.see_to_room();
    }

    /// Only flushes make room for backups. Where nobody asks for any, since answers wait for members alone, one is begun in time.
    fn see_to_room(&self) {
        let (reactor, shared) = (self.reactor.clone(), &self.reactor.shared);
        let is_due = {
            let mut transient = reactor.transient.borrow_mut();
            transient.learn(shared.durable(), shared.flushes.ended());
            transient.wants_flush()
        };
        if !is_due || reactor.makes_room.replace(true) {
            return;
        }
        self.reactor.rt.spawn(async move {
            // Whoever needs to know whether it worked flushes.
            let _ = reactor.flush().await;
            reactor.makes_room.set(false);
        });
    }

    /// As [`Replicator::settle`], for a round of flush: what members are computing is waited for, as a flush makes whole stripes
    /// durable. If it `closes`, there is no stripe left that only backups make safe.
    pub(crate) async fn settle_for(&self, round: u64, closes: bool) {
        if closes {
            self.close_all();
        }
        self.settle().await;
        let shared = &self.reactor.shared;
        if shared.is_two_phase() {
            self.reactor.until_landed(Lane::OF_CLIENTS).await;
            let mut transient = self.reactor.transient.borrow_mut();
            transient.learn(shared.durable(), shared.flushes.ended());
            transient.asked_by_flush(round);
        }
    }

    fn beside(&self) -> Beside<'_> {
        Beside::of(&self.reactor.shared, &self.reactor.rt)
    }

    fn close(&self, lane: Lane) {
        self.reactor.writer(lane).borrow_mut().close_stripe(&self.reactor);
    }

    /// Ends the open stripes of all that clients write: none needs its backups any longer than until it is durable.
    pub(crate) fn close_all(&self) {
        Lane::OF_CLIENTS.iter().for_each(|&lane| self.close(lane));
    }

    fn step(&self, lane: Lane) -> Step<'_> {
        let mut writer = self.reactor.writer(lane).borrow_mut();
        let Some(stripe) = writer.open_stripe_mut() else { return Step::Nothing };
        let done = stripe.backed_up();
        let standing = standing_of(&self.reactor, stripe.place.group);
        let is_sound = done.slots + done.discards == 0 || done.under == standing;
        let discards = stripe.discards().len() as u32;
        if is_sound && done.slots == stripe.used() && done.discards == discards {
            return Step::Nothing;
        }
        let new = stripe.used() - done.slots;
        let is_small = (new + discards - done.discards) as usize <= MOST_RECORDS;
        if !is_sound || !is_small || !self.all_are_well(stripe.place.group) {
            return Step::Close;
        }
        let has_buffer = self.reactor.shared.until_full == UntilFull::ParityBuffer;
        let rows = has_buffer.then(|| rows_of_new(stripe));
        let beside = self.beside().have_room(stripe.place.group, stripe.place.columns)
            && Backup::fits_beside(new as usize, (discards - done.discards) as usize);
        let unfinished = unfinished(stripe, new, rows.as_deref(), beside);
        let backed_up = match self.reactor.shared.policies.copying.way(unfinished) {
            Way::End => return Step::Close,
            Way::Copies => self.back_up(stripe, standing, None, beside),
            Way::Parity => self.back_up(stripe, standing, rows.as_deref(), false),
        };
        backed_up.map_or(Step::NoRoom, Step::BackedUp)
    }

    /// Whether backups may be relied on: recovery is over, and every member of the group is there, does its work, and has room for them
    /// that can be written over.
    pub(crate) fn all_are_well(&self, group: GroupId) -> bool {
        let is_well = |state: &MemberShared| {
            let has_area = state.device().is_some_and(|dev| !keeps_no_backups(&self.reactor.rt, dev));
            has_area && state.devices_to_write().count() == 1 && state.trouble().is_none() && !state.is_awaited()
        };
        self.reactor.shared.is_two_phase() && self.reactor.of_group(group).all(is_well)
    }

    /// What a member has to do that copies would wait behind, and how much of its area is taken.
    fn load(&self, member: MemberIx) -> (usize, u32) {
        let under_way = self.reactor.device_in_service(member).map_or(usize::MAX, |dev| self.reactor.rt.in_flight(dev));
        (under_way, self.reactor.transient.borrow().used(member))
    }

    /// Sends copies of what is new in a stripe on their way, or the parity of the given rows; `None` if some member has no room for them.
    /// What describes copies is `beside` them, or in a block of its own.
    fn back_up(
        &self,
        stripe: &mut Stripe,
        under: Standing,
        rows: Option<&[u32]>,
        beside: bool,
    ) -> Option<UnderWay<'_>> {
        let shared = &self.reactor.shared;
        let (lane, group, done) = (stripe.place.lane, stripe.place.group, stripe.backed_up());
        stripe.give_up_left_out();
        let blocks = rows.map_or(stripe.used() - done.slots, |rows| rows.len() as u32);
        // Whoever has the first of the blocks, or the first column's, has what says so.
        let columns = stripe.place.columns;
        let witness = if stripe.used() > done.slots { stripe.slot(done.slots).0 } else { columns.data_column(0) };
        let is_converted = !stripe.heroes.is_empty() || self.reactor.converts(group, columns);
        let members = match rows.is_some() || beside || is_converted {
            true => holders::of_parity(&shared.layout, stripe),
            false => holders::of_copies(&shared.layout, stripe, (done.slots, witness), |member| self.load(member)),
        };
        let witness = shared.layout.member(group, witness);
        let before = u32::from(!beside);
        let (numbers, places) = self.take_room(stripe, (members, witness), (done.slots, blocks, before))?;
        let (slots, discards) = (stripe.used(), stripe.discards().len() as u32);
        let then = BackedUp { slots, discards, last: numbers.number, under };
        let (entries, image) = self.image(stripe, done.slots, then.slots);
        let backup = Backup {
            array_tag: shared.array_tag,
            session: shared.session,
            number: numbers.number,
            released: numbers.released,
            durable: numbers.durable,
            stripe: stripe.place.described(self.reactor.rt.id()),
            first_slot: done.slots,
            blocks_at: None,
            holds: Holds::Copies,
            entries,
            discards: stripe.discards()[done.discards as usize..].to_vec(),
        };
        // Before the first write: a device may refuse one at once.
        let step = shared.during("replication");
        let mut writes = self.to_their_places(stripe, done.slots, &image);
        for BackupPlace { first, blocks, .. } in &places {
            count(&shared.totals.backup_written, u64::from(u32::from(first.is_some()) + blocks));
        }
        match rows {
            None => self.send_copies(&mut writes, backup, &image, places),
            Some(rows) => {
                let from = if planted::is(Bug::ParityOfNewOnly) { done.slots } else { 0 };
                let parity = stripe.parity_of_rows(&self.reactor.rt, rows, from..then.slots);
                self.send_parity(&mut writes, backup, parity, places);
            }
        }
        let stripe = (stripe.place.start_row, stripe.place.segment_seq);
        Some(UnderWay { step, number: numbers.number, lane, writes, stripe, group, then })
    }

    /// Sends a backup to its places, where copies of the blocks of an image follow.
    fn send_copies(&self, writes: &mut Vec<BackupWrite>, backup: Backup, image: &BufSlice, places: Vec<BackupPlace>) {
        let geometry = self.reactor.shared.layout.geometry();
        self.describe(&backup, image);
        for BackupPlace { member, first, at: copies_at, blocks } in places {
            let (at, copies) = (geometry.transient_offset(copies_at), BLOCK..(1 + blocks) as usize * BLOCK);
            match first {
                None => self.write_described(writes, member, at, image.slice(copies), &backup),
                Some(first) if copies_at == first + 1 => {
                    let at = geometry.transient_offset(first);
                    self.write(writes, member, at, image.slice(0..copies.end), Runtime::write_transient);
                }
                Some(first) => {
                    let description = self.reactor.rt.alloc(BLOCK).full();
                    self.describe(&Backup { blocks_at: Some(copies_at), ..backup.clone() }, &description);
                    let first = geometry.transient_offset(first);
                    self.write(writes, member, first, description, Runtime::write_transient);
                    if blocks > 0 {
                        self.write(writes, member, at, image.slice(copies), Runtime::write_transient);
                    }
                }
            }
        }
    }

    /// Writes copies with what describes them beside them.
    fn write_described(
        &self,
        writes: &mut Vec<BackupWrite>,
        member: MemberIx,
        at: u64,
        copies: BufSlice,
        backup: &Backup,
    ) {
        if let Some(dev) = self.reactor.device_in_service(member) {
            let bytes = copies.len() as u64;
            count(&self.reactor.shared.totals.described_beside, bytes / BLOCK as u64);
            writes.push(BackupWrite { member, bytes, op: self.beside().write(dev, at, copies, backup) });
        }
    }

    /// Sends a backup to its places: with what each parity column has of its rows, and to the last one without.
    fn send_parity(
        &self,
        writes: &mut Vec<BackupWrite>,
        mut backup: Backup,
        parity: Vec<BufSlice>,
        places: Vec<BackupPlace>,
    ) {
        let shared = &self.reactor.shared;
        let with_parity = (0..).zip(parity).map(|(column, image)| (Holds::Parity(column), image));
        let witness = (Holds::ParityElsewhere, self.reactor.rt.alloc(BLOCK).full());
        for ((holds, image), BackupPlace { member, first, blocks, .. }) in with_parity.chain([witness]).zip(places) {
            count(&shared.totals.backup_parity, blocks.into());
            backup.holds = holds;
            self.describe(&backup, &image);
            let first = first.expect("parity lies behind a block that says so");
            let at = shared.layout.geometry().transient_offset(first);
            self.write(writes, member, at, image, Runtime::write_transient);
        }
    }

    fn describe(&self, backup: &Backup, first: &BufSlice) {
        let mut bytes = [0; BLOCK];
        backup.encode_into(&mut bytes);
        first.copy_from(0, &bytes);
    }

    /// Takes room for a backup of a stripe: on `members` for all of it, with so many blocks `before` it, and on the `witness` for the
    /// block that says what it is. The first copies of a stripe whose parity these members are to compute take the room for all of it,
    /// so that its copies lie one behind the other.
    fn take_room(
        &self,
        stripe: &mut Stripe,
        (members, witness): (Vec<MemberIx>, MemberIx),
        (from, blocks, before): (u32, u32, u32),
    ) -> Option<(Numbers, Vec<BackupPlace>)> {
        let (group, columns) = (stripe.place.group, stripe.place.columns);
        let witness_wants = Wanted::Blocks(witness, 1);
        let take = |on_each: u32| {
            let wanted = members.iter().map(|&member| Wanted::Blocks(member, on_each));
            self.take(stripe.place.lane, wanted.chain([witness_wants]))
        };
        let take_within = || {
            let wanted = members.iter().zip(&stripe.heroes).map(|(&member, hero)| Wanted::Within(member, hero + from));
            self.take(stripe.place.lane, wanted.chain([witness_wants]))
        };
        let begins = from == 0 && blocks > 0 && self.reactor.converts(group, columns);
        let whole = if begins { take(before + stripe.geometry().slots(stripe.place.rows)) } else { None };
        let has_begun = whole.is_some();
        if begins && !has_begun {
            self.tell_if_never_whole(before + stripe.geometry().slots(stripe.place.rows));
        }
        let (numbers, at) = match whole {
            Some(taken) => taken,
            None if stripe.heroes.is_empty() => take(before + blocks)?,
            None if before > 0 => take(before)?,
            None => take_within()?,
        };
        if has_begun {
            stripe.heroes.extend(at[..members.len()].iter().map(|at| at + before));
        }
        let mut places: Vec<BackupPlace> = (0..)
            .zip(members.iter().zip(&at))
            .map(|(p, (&member, &at))| BackupPlace {
                member,
                first: (before > 0).then_some(at),
                at: stripe.heroes.get(p).map_or(at + before, |hero| hero + from),
                blocks,
            })
            .collect();
        let first = at[members.len()];
        places.push(BackupPlace { member: witness, first: Some(first), at: first + 1, blocks: 0 });
        Some((numbers, places))
    }

    /// Says so if the areas have no room for the copies of a whole stripe, however little is in them.
    fn tell_if_never_whole(&self, blocks: u32) {
        let shared = &self.reactor.shared;
        let part = shared.transient_part(self.reactor.index()).len() as u32;
        if !Transient::could_ever_hold(part, blocks) && self.reactor.transient.borrow_mut().is_to_be_told() {
            let text = format!(
                "a reactor's part of the transient areas ({}) has no room for the copies of a whole stripe ({}), so members compute no \
                 parity inside and the host does it: serve with fewer reactors, or create the array with a larger --transient",
                ByteSize::of_blocks(part.into()),
                ByteSize::of_blocks(blocks.into())
            );
            shared.log(text);
        }
    }

    fn take(&self, lane: Lane, wanted: impl Iterator<Item = Wanted>) -> Option<(Numbers, Vec<u32>)> {
        let shared = &self.reactor.shared;
        let mut transient = self.reactor.transient.borrow_mut();
        transient.learn(shared.durable(), shared.flushes.ended());
        transient.take(&shared.transient_part(self.reactor.index()), lane, &wanted.collect::<Vec<_>>())
    }

    /// The entries of some slots, and memory with their blocks behind a block that is still to be filled.
    fn image(&self, stripe: &Stripe, from: u32, to: u32) -> (Vec<Entry>, BufSlice) {
        let image = self.reactor.rt.alloc((1 + to - from) as usize * BLOCK).full();
        let mut entries = Vec::with_capacity((to - from) as usize);
        for slot in from..to {
            let (_, _, entry, block) = stripe.slot(slot);
            image.copy_from((1 + slot - from) as usize * BLOCK, block);
            entries.push(entry);
        }
        (entries, image.slice(0..(1 + to - from) as usize * BLOCK))
    }

    /// Writes blocks of the image to their places, neighbours in one request.
    fn to_their_places(&self, stripe: &Stripe, from: u32, image: &BufSlice) -> Vec<BackupWrite> {
        let shared = &self.reactor.shared;
        let mut writes = Vec::new();
        let mut slot = from;
        while slot < stripe.used() {
            let (column, row, ..) = stripe.slot(slot);
            let begun = slot;
            while slot < stripe.used() && (stripe.slot(slot).0, stripe.slot(slot).1) == (column, row + slot - begun) {
                slot += 1;
            }
            let at = shared.layout.geometry().device_offset(stripe.place.segment.0, row);
            let part = image.slice((1 + begun - from) as usize * BLOCK..(1 + slot - from) as usize * BLOCK);
            let member = shared.layout.member(stripe.place.group, column);
            self.write(&mut writes, member, at, part, Runtime::write);
        }
        writes
    }

    fn write(&self, writes: &mut Vec<BackupWrite>, member: MemberIx, at: u64, part: BufSlice, kind: WriteKind) {
        // All are there, as was just seen; one that has left since leaves its copy out, which its standing tells.
        let device: Option<DeviceIx> = self.reactor.device_in_service(member);
        if let Some(dev) = device {
            let bytes = part.len() as u64;
            writes.push(BackupWrite { member, bytes, op: kind(&self.reactor.rt, dev, at, part) });
        }
    }

    /// Waits for a backup; says whether it can be relied on.
    async fn finish(&self, of: UnderWay<'_>) -> bool {
        let UnderWay { step: _step, number, lane, writes, stripe, group, then } = of;
        let mut all = true;
        for BackupWrite { member, bytes, op } in writes {
            let state = &self.reactor.shared.members[member.index()];
            if op.await.is_ok() {
                count(&state.counters.written, bytes);
                state.mark_dirty();
            } else {
                all = false;
            }
        }
        let relies_on_all = !planted::is(Bug::CopiesOfTheAbsent);
        if relies_on_all && (!all || standing_of(&self.reactor, group) != then.under) {
            return false;
        }
        self.reactor.transient.borrow_mut().is_whole(number);
        let mut writer = self.reactor.writer(lane).borrow_mut();
        // It may have been closed meanwhile, being full: then all of it was written.
        let same = |open: &&mut Stripe| (open.place.start_row, open.place.segment_seq) == stripe;
        if let Some(open) = writer.open_stripe_mut().filter(same) {
            open.is_backed_up(then);
        }
        true
    }
}
