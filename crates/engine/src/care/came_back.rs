//! A member that was awaited answers again: does it have what it took before?
//!
//! A device that loses power loses what it has taken since its last flush. One that hung, or was out of reach, loses nothing.
//! The two cannot be told apart for sure: a controller that starts anew answers like one that was slow. So whoever was
//! awaited is looked at always, and before it counts as back: the stripes that no flush has covered
//! ([`crate::write::unflushed`]) are read and compared with what was written. That costs a read of what was written in about the
//! last second, by the group that everybody waits for anyway.
//!
//! What the member lacks is written to it anew, in place, if all data of the stripe can be had: it is what was written
//! there before, so nothing else can be hurt by it. What neither its place nor its row has may be in a backup: a flush may have covered
//! a block while its stripe was open ([`crate::write::replicate`]), and its parity was written since. If it cannot be had, the others
//! of the group decide:
//!
//! * Somebody is in trouble, or is still owed something: the member waits, since the other one may have it.
//! * Everybody is there: blocks are *lost*. Their places are overwritten, so that nobody takes what lies there for them, and
//!   the headers say again what the stripe held. So the blocks are unreadable until they are written anew or discarded, now
//!   and for whoever opens the array later; the next flush of their volume tells of them.
//!
//! A block that was lost as a copy goes back to where it was copied from: no segment is given back before a flush has
//! covered what replaced it. And a checkpoint that was under way begins anew, as its pages may be lost too, or point to what
//! is.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use cygnus_format::{Entry, Kind, MapEntry, Place, StripeCommon, Summary};
use cygnus_parity as parity;
use cygnus_runtime::either;
use cygnus_types::{BLOCK, GroupId, MemberIx, Pba, VolumeId, counted};

use crate::care::member::MemberShared;
use crate::care::watch::ASK_AWAITED;
use crate::counters::count;
use crate::peers::{Answer, ToOwner};
use crate::planted::{self, Bug};
use crate::reactor::Reactor;
use crate::read::columns::Columns;
use crate::read::parallel::for_each_of;
use crate::recover::backups::Backups;
use crate::recover::tail::StripeReader;
use crate::space::segments::SegState;
use crate::write::unflushed::{OF_ZEROS, Unflushed};

/// Stripes looked at side by side.
const STRIPES_AT_ONCE: usize = 4;

/// Where blocks lie, and of which other ones they are copies.
type Origins = BTreeMap<Pba, Pba>;

/// What a member should have of a stripe cannot be had now.
struct NotYet;

/// A look at what a member has of the stripes that no flush has covered.
struct Look {
    member: MemberIx,
    origins: Origins,
    /// All stripes that no flush has covered, of every group.
    unflushed: Vec<StripeCommon>,
    /// Backups, once they were wanted: [`Look::backups_of`].
    backups: RefCell<Option<(u64, Rc<Backups>)>>,
    /// Columns that the member lacked and that were written anew.
    written: Cell<u64>,
    /// Stripes that have to wait for others.
    waits: Cell<bool>,
}

impl Look {
    /// The backups in a group's areas as they are since its members had fallen silent so many times: before, some could perhaps not be
    /// read.
    async fn backups_of(&self, reactor: &Rc<Reactor>, group: GroupId, silences: u64) -> Rc<Backups> {
        if let Some((_, backups)) = self.backups.borrow().as_ref().filter(|(then, _)| *then == silences) {
            return backups.clone();
        }
        let backups = Rc::new(Backups::of_group(reactor, group).await);
        *self.backups.borrow_mut() = Some((silences, backups.clone()));
        backups
    }
}

/// Finds out what a member lost while it was away: see the module's text.
#[derive(Clone)]
pub(crate) struct Inquiry {
    reactor: Rc<Reactor>,
}

impl Inquiry {
    pub(crate) fn of(reactor: &Rc<Reactor>) -> Self {
        Self { reactor: reactor.clone() }
    }

    /// Waits until a member that answers again has everything that was written to it in stripes closed before `below`, or
    /// what it lacks is lost. Then all of it is durable. `false`: it is in trouble again, or nobody waits for it any more.
    pub(crate) async fn has_all_it_took(&self, member: MemberIx, below: u64) -> bool {
        let state = &self.reactor.shared.members[member.index()];
        let (group, _) = self.reactor.shared.layout.column_of(member);
        let _step = self.reactor.shared.during("awaited: look");
        loop {
            let answers = self.reactor.answers.wait();
            let is_there = state.device().is_some() && state.trouble().is_none();
            if !is_there || self.reactor.shared.fault().is_some() || self.reactor.home().watch.ended.get() {
                return false;
            }
            if planted::is(Bug::ComesBackUnseen) || self.look_at_member(member, below).await {
                break;
            }
            either(answers, self.reactor.rt.sleep(ASK_AWAITED)).await;
        }
        // Of a stripe that is spoiled the others got something too.
        let devices: Vec<_> = self.reactor.of_group(group).filter(|of| of.trouble().is_none()).collect();
        let flushes: Vec<_> =
            devices.iter().filter_map(|of| of.device()).map(|dev| self.reactor.rt.flush(dev)).collect();
        for flush in flushes {
            // Who does not do it is in trouble, and looked at in its turn.
            let _ = flush.await;
        }
        state.device().is_some() && state.trouble().is_none()
    }

    /// Looks at all stripes once; says whether nothing is left to be waited for.
    async fn look_at_member(&self, member: MemberIx, below: u64) -> bool {
        let (group, _) = self.reactor.shared.layout.column_of(member);
        let mut stripes = self.reactor.unflushed.borrow().before(below);
        let of_others =
            self.reactor.peers.answers_of_others(&self.reactor.rt, |ticket| ToOwner::Unflushed { ticket, below }).await;
        of_others.into_iter().map(Answer::unflushed).for_each(|theirs| stripes.extend(theirs));
        let origins = stripes.iter().flat_map(|stripe| self.origins_in(stripe)).collect();
        let unflushed = stripes.iter().map(|stripe| stripe.common).collect();
        let look = Rc::new(Look {
            member,
            origins,
            unflushed,
            backups: RefCell::default(),
            written: Cell::new(0),
            waits: Cell::new(false),
        });
        stripes.retain(|stripe| stripe.common.group == group);
        let (inquiry, shared_look) = (self.clone(), look.clone());
        for_each_of(&self.reactor.rt, STRIPES_AT_ONCE, stripes, move |stripe| {
            let (inquiry, look) = (inquiry.clone(), shared_look.clone());
            async move {
                if inquiry.see_to_stripe(&look, &stripe).await.is_err() {
                    look.waits.set(true);
                }
            }
        })
        .await;
        if look.written.get() > 0 {
            let (name, written) = (self.reactor.shared.members[member.index()].name(), look.written.get());
            let columns = counted(written, "column").or("columns");
            self.reactor.shared.log(format!("{name} had lost what it took before: {columns} of stripes written anew"));
        }
        !look.waits.get()
    }

    fn origins_in(&self, stripe: &Unflushed) -> Vec<(Pba, Pba)> {
        let at = |column, row| self.reactor.shared.layout.pba(place_of(stripe, column, row));
        stripe.copies.iter().map(|copied| (at(copied.column, copied.row), copied.from)).collect()
    }

    /// Sees to it that a member has its column of a stripe.
    async fn see_to_stripe(&self, look: &Look, stripe: &Unflushed) -> Result<(), NotYet> {
        let (common, shared) = (stripe.common, &self.reactor.shared);
        let _pin = self.reactor.home().pins.pin(stripe.seg);
        if common.stripe_seq < shared.durable() {
            // Flushed by now, and perhaps given back.
            return Ok(());
        }
        let state = &shared.members[look.member.index()];
        let (_, column) = shared.layout.column_of(look.member);
        let silences = self.reactor.silences(common.group);
        let Some(dev) = state.device() else { return Err(NotYet) };
        let has = self.reactor.rt.alloc((common.header_blocks + common.rows) as usize * BLOCK);
        let offset = shared.layout.geometry().device_offset(common.segment.0, common.start_row);
        let read = match self.reactor.rt.read(dev, offset, has.full()).await {
            Ok(_) => true,
            Err(error) if error.kind.is_of_range() => false,
            Err(_) => return Err(NotYet),
        };
        let mut columns = Columns::new(&common, StripeReader::of(&self.reactor).read_stripe(&common).await);
        let spoiled = self.reactor.home().spoils.stripes.borrow().get(&common.stripe_seq).cloned();
        let is_spoiled = spoiled.is_some();
        let mut entries = spoiled.unwrap_or_else(|| stripe.entries.clone());
        let by_column = by_column(&entries, stripe);
        columns.fill_missing();
        columns.blank(&by_column);
        let mut wrong = columns.heal(&by_column);
        if !wrong.is_empty() {
            self.take_from_backups(look, stripe, silences, &mut columns, &mut wrong).await;
        }
        if !wrong.is_empty() && !is_spoiled {
            if !stripe.landed || !self.is_all_there(stripe, silences) {
                return Err(NotYet);
            }
            entries = self.give_up_blocks(look, stripe, &wrong, silences).await?;
        }
        for &(column, row) in &wrong {
            columns.supply(column, row, &instead_of(&entries[index(stripe, column, row)]));
        }
        if !wrong.is_empty() && !is_spoiled {
            return self.write_columns(stripe, &entries, &columns).await;
        }
        let should = encoded(stripe, &entries, &columns, column);
        if read && has.bytes() == &should[..] {
            return Ok(());
        }
        look.written.set(look.written.get() + 1);
        self.write_column(stripe, column, &should).await
    }

    /// Of the blocks of a stripe that are wrong, those that a backup has are right from now on.
    async fn take_from_backups(
        &self,
        look: &Look,
        stripe: &Unflushed,
        silences: u64,
        columns: &mut Columns<'_>,
        wrong: &mut Vec<(u8, u32)>,
    ) {
        let common = &stripe.common;
        let backups = look.backups_of(&self.reactor, common.group, silences).await;
        let key = (common.group, common.segment, common.segment_seq, common.start_row);
        for block in backups.blocks_of(&self.reactor, key) {
            let is_it = |&(column, row): &(u8, u32)| {
                let is_there = (column, common.first_data_row() + row) == (block.column, block.row);
                is_there && stripe.entries[index(stripe, column, row)] == block.entry
            };
            let Some(nth) = wrong.iter().position(is_it) else { continue };
            if let Some(data) = backups.fetch(&self.reactor, key, &block).await {
                let (column, row) = wrong.remove(nth);
                columns.supply(column, row, &data);
            }
        }
    }

    /// Whether nobody of a stripe's group is in trouble or owed anything, nor was since there were `silences`.
    fn is_all_there(&self, stripe: &Unflushed, silences: u64) -> bool {
        let group = stripe.common.group;
        let has_all =
            self.reactor.of_group(group).all(|of| of.device().is_none() || of.trouble().is_none() && of.owed() == 0);
        has_all && self.reactor.silences(group) == silences
    }

    /// Takes note that blocks of a stripe are lost: those that were copies go back to where they were, the others will be
    /// told of. Returns what the headers have to say from now on.
    async fn give_up_blocks(
        &self,
        look: &Look,
        stripe: &Unflushed,
        wrong: &[(u8, u32)],
        silences: u64,
    ) -> Result<Vec<Entry>, NotYet> {
        let (home, seq) = (self.reactor.home(), stripe.common.stripe_seq);
        let mut entries = stripe.entries.clone();
        let (mut copies, mut lost) = (Vec::new(), Vec::new());
        for &(column, row) in wrong {
            let entry = &mut entries[index(stripe, column, row)];
            let at = self.reactor.shared.layout.pba(place_of(stripe, column, row));
            if matches!(entry.kind(), Kind::Data | Kind::Relocated) {
                match self.origin_of(at, *entry, look, stripe).await? {
                    // Did the headers name it, a recovery would take it for the newer one.
                    Some(from) => copies.push((std::mem::replace(entry, entry.voided()), at, from)),
                    None => lost.push((*entry, at)),
                }
            }
        }
        // No await from here on.
        if !self.is_all_there(stripe, silences) || home.spoils.stripes.borrow().contains_key(&seq) {
            return Err(NotYet);
        }
        copies.into_iter().for_each(|(entry, at, from)| self.goes_back(entry, at, from));
        self.count_lost(stripe, &lost);
        let durable = self.reactor.shared.durable();
        let mut spoiled = home.spoils.stripes.borrow_mut();
        spoiled.retain(|&seq, _| seq >= durable);
        spoiled.insert(seq, entries.clone());
        home.spoils.times.set(home.spoils.times.get() + 1);
        Ok(entries)
    }

    /// Where a block can be read of which a lost one is a copy, or a copy of a copy.
    async fn origin_of(&self, at: Pba, entry: Entry, look: &Look, stripe: &Unflushed) -> Result<Option<Pba>, NotYet> {
        let mut from = look.origins.get(&at).copied();
        let block = self.reactor.rt.alloc(BLOCK).full();
        let is_it = || parity::checksum::crc32c(block.bytes()) == entry.crc();
        while let Some(origin) = from {
            if origin == OF_ZEROS {
                return Ok(from);
            }
            let (current, silences) =
                (MapEntry::new(origin, entry.crc()), self.reactor.silences(self.place_at(origin).group));
            let place = self.place_at(origin);
            if self.reactor.read_column(&place, current, &block).await.is_ok() && is_it() {
                return Ok(from);
            }
            if self.reactor.rebuild_block(&place, current, &block).await && is_it() {
                return Ok(from);
            }
            if place.group != stripe.common.group && !self.is_settled(look, &place, silences) {
                return Err(NotYet);
            }
            from = look.origins.get(&origin).copied();
        }
        Ok(None)
    }

    /// Whether what another group did not deliver is not there, and will not be. Of groups that are both awaited each may have copies of
    /// what the other had, so it is asked of the one stripe and not of the group: a copy is newer than what it was made of, and so
    /// nobody waits for itself.
    fn is_settled(&self, look: &Look, place: &Place, silences: u64) -> bool {
        let reactor = &self.reactor;
        if !reactor.was_disturbed(place.group, silences) {
            return true;
        }
        let answers = |state: &MemberShared| state.device().is_none() || state.is_readable();
        let holds = |of: &&StripeCommon| {
            (of.group, of.segment) == (place.group, place.segment) && (of.start_row..of.end_row()).contains(&place.row)
        };
        let is_spoiled = |of: &StripeCommon| reactor.home().spoils.stripes.borrow().contains_key(&of.stripe_seq);
        reactor.silences(place.group) == silences
            && reactor.of_group(place.group).all(answers)
            && look.unflushed.iter().find(holds).is_none_or(is_spoiled)
    }

    fn place_at(&self, at: Pba) -> Place {
        self.reactor.shared.layout.locate(at).expect("blocks were only copied within the array")
    }

    /// A block whose copy is lost is current again where it was copied from, unless it was written anew meanwhile.
    fn goes_back(&self, entry: Entry, at: Pba, from: Pba) {
        let (shared, table) = (&self.reactor.shared, &self.reactor.shared.segments);
        let Some(volume) = shared.volume(entry.volume()) else { return };
        if from == OF_ZEROS {
            return shared.controllers.go_back_to_zeros(&volume.controller, entry.lba(), at);
        }
        let origin = MapEntry::new(from, entry.crc());
        if !shared.controllers.go_back(&volume.controller, entry.lba(), at, origin) {
            return;
        }
        // One that is being given back already stays with who does that, and is kept there if the block is still current. Did
        // cleaning choose it anew meanwhile, it would be given back twice.
        let mut space = self.reactor.home().space.borrow_mut();
        let seg = table.of(from);
        if let Some(waiting) = space.pending.iter().position(|&pending| pending == seg) {
            space.pending.remove(waiting);
            table.set_state(seg, SegState::Sealed);
        }
    }

    /// Counts the blocks that are lost and current, and says so.
    fn count_lost(&self, stripe: &Unflushed, lost: &[(Entry, Pba)]) {
        let mut by_volume: BTreeMap<VolumeId, u64> = BTreeMap::new();
        for (entry, at) in lost {
            let Some(volume) = self.reactor.shared.volume(entry.volume()) else { continue };
            if volume.controller.current_at(entry.lba(), *at).is_some() {
                *by_volume.entry(entry.volume()).or_default() += 1;
            }
        }
        let group = stripe.common.group;
        for (volume, blocks) in by_volume {
            let Some(volume) = self.reactor.shared.volume(volume) else { continue };
            volume.loses(blocks);
            let (name, blocks) = (&volume.name, counted(blocks, "block").or("blocks"));
            let text = format!(
                "volume {name}: {blocks} that no flush had covered are lost, as members of {group} have lost what they \
                 had taken; the next flush of the volume says so"
            );
            self.reactor.shared.log_repeated("lost with the caches of devices", name, text);
        }
    }

    /// Writes all columns of a stripe as they should be.
    async fn write_columns(&self, stripe: &Unflushed, entries: &[Entry], columns: &Columns<'_>) -> Result<(), NotYet> {
        let mut all = Ok(());
        for column in 0..stripe.common.width() {
            let written = self.write_column(stripe, column, &encoded(stripe, entries, columns, column)).await;
            all = all.and(written);
        }
        all
    }

    /// Writes a column, unless its member is out of service.
    async fn write_column(&self, stripe: &Unflushed, column: u8, bytes: &[u8]) -> Result<(), NotYet> {
        let common = &stripe.common;
        let (member, state) = self.reactor.shared.member(common.group, column);
        let offset = self.reactor.shared.layout.geometry().device_offset(common.segment.0, common.start_row);
        for dev in self.reactor.shared.members[member.index()].devices_to_write() {
            let mut buf = self.reactor.rt.alloc(bytes.len());
            buf.bytes_mut().copy_from_slice(bytes);
            self.reactor.rt.write(dev, offset, buf.full()).await.map_err(|_| NotYet)?;
            count(&state.counters.written, bytes.len() as u64);
            state.mark_dirty();
        }
        Ok(())
    }
}

fn place_of(stripe: &Unflushed, column: u8, row: u32) -> Place {
    let common = &stripe.common;
    Place { group: common.group, segment: common.segment, column, row: common.first_data_row() + row }
}

/// The place of a block among a stripe's entries.
fn index(stripe: &Unflushed, column: u8, row: u32) -> usize {
    usize::from(column) * stripe.common.rows as usize + row as usize
}

fn by_column(entries: &[Entry], stripe: &Unflushed) -> Vec<Option<Vec<Entry>>> {
    let rows = stripe.common.rows as usize;
    (0..usize::from(stripe.common.width())).map(|column| Some(entries[column * rows..][..rows].to_vec())).collect()
}

/// A column as it should be on its device.
fn encoded(stripe: &Unflushed, entries: &[Entry], columns: &Columns<'_>, column: u8) -> Vec<u8> {
    let common = &stripe.common;
    let mut bytes = vec![0; common.header_bytes()];
    common.encode_into(&mut bytes, column, Summary::new(entries, common.rows), &stripe.discards);
    bytes.extend_from_slice(&columns.whole(column));
    bytes
}

/// What is written in place of a block that is lost: something that cannot pass for it by the bits of a checksum that maps
/// have.
fn instead_of(entry: &Entry) -> [u8; BLOCK] {
    let zeros = [0; BLOCK];
    let is_void = entry.kind() == Kind::Void;
    let passes = MapEntry::new(Pba(1), entry.crc()).matches(parity::checksum::crc32c(&zeros));
    if passes && !is_void { [u8::MAX; BLOCK] } else { zeros }
}
