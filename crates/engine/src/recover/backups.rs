//! Recovery, step "backups": what open stripes held that a flush had covered, and that only copies make safe
//! ([`crate::write::replicate`]).
//!
//! Members' transient areas are read whole. A backup counts if its stripe was opened behind the checkpoint. If the stripe was
//! closed and is durable, or wholly there, nobody needs it; else its blocks are taken from wherever their checksums are right,
//! and are written anew like those of torn stripes. Where a backup has the parity of rows in place of copies, a block is computed of that
//! and of the other blocks of its row that had been written by then. Members that compute parity inside forget their copies then, and what was
//! durable in its places by that time ([`crate::write::convert`]) is had from its row, whether or not the stripe's headers are
//! there. A backup of a stripe whose segment was given back since does no harm: of
//! each of its blocks there is a copy with the same sequence, or a newer write or discard, in some stripe that recovery reads.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use cygnus_format::{BESIDE_BLOCK, Backup, BackupError, Discard, Entry, GroupState, Holds, Kind, Place, Rotation};
use cygnus_parity as parity;
use cygnus_runtime::{BufSlice, DeviceIx};
use cygnus_types::{BLOCK, GroupId, MemberIx, ReactorId, SegmentId};

use crate::planted::{self, Bug};
use crate::reactor::Reactor;
use crate::read::parallel::for_each;
use crate::read::reconstruct::restore_block;
use crate::write::beside::Beside;
use crate::write::holders::keeps_no_backups;

/// Bytes of a transient area that are read at once.
const PIECE: u32 = 256;

/// How a stripe is known: group, segment, its life, and the row of its header.
pub(crate) type StripeKey = (GroupId, SegmentId, u64, u32);

/// Where a copy of a backup lies.
#[derive(Clone, Copy)]
struct Copy {
    dev: DeviceIx,
    /// Block of the transient area where its first block is.
    at: u32,
    /// What these blocks are.
    holds: Holds,
}

/// A backup, and its copies.
struct Found {
    backup: Backup,
    copies: Vec<Copy>,
}

/// A block of an open stripe: where it belongs, and what it is.
#[derive(Clone, Copy)]
pub(crate) struct BackedUpBlock {
    pub column: u8,
    /// Row of the segment.
    pub row: u32,
    pub entry: Entry,
    /// Its backup, and its number in there.
    from: (u64, ReactorId, u64),
    nth: u32,
}

/// What a member's area has.
#[derive(Default)]
struct Area {
    found: Vec<(Backup, Copy)>,
    spoiled: Vec<String>,
}

impl Area {
    fn add(&mut self, backup: Backup, dev: DeviceIx, at: u32) {
        let holds = backup.holds;
        self.found.push((backup, Copy { dev, at, holds }));
    }
}

/// What transient areas tell of stripes that no checkpoint covers.
#[derive(Default)]
pub(crate) struct Backups {
    found: BTreeMap<(u64, ReactorId, u64), Found>,
    /// Backups of these numbers should be there, in words.
    pub lost: Vec<String>,
}

impl Backups {
    /// Reads all areas. Backups of stripes that were opened before `barrier` are of no account.
    pub(crate) async fn read(reactor: &Rc<Reactor>, barrier: u64) -> Self {
        let layout = &reactor.shared.layout;
        let groups = (0..layout.groups()).map(|n| GroupId(n as u16));
        let in_service = groups.filter(|&group| reactor.shared.group_state(group) != GroupState::Retired);
        Self::of_groups(reactor, in_service, barrier).await
    }

    /// Reads the areas of one group, where all is that its stripes are backed up in.
    pub(crate) async fn of_group(reactor: &Rc<Reactor>, group: GroupId) -> Self {
        Self::of_groups(reactor, [group].into_iter(), 0).await
    }

    async fn of_groups(reactor: &Rc<Reactor>, groups: impl Iterator<Item = GroupId>, barrier: u64) -> Self {
        let layout = &reactor.shared.layout;
        let blocks = layout.geometry().transient_blocks;
        if blocks == 0 || planted::is(Bug::BackupsIgnored) {
            return Self::default();
        }
        let members: Vec<usize> = groups.flat_map(|group| layout.members_of(group)).map(MemberIx::index).collect();
        let areas = for_each(&reactor.rt, members, {
            let reactor = reactor.clone();
            move |member| {
                let reactor = reactor.clone();
                async move { read_area(&reactor, member, blocks).await }
            }
        });
        let mut all = Self::default();
        let mut spoiled = Vec::new();
        for area in areas.await {
            spoiled.extend(area.spoiled);
            for (backup, copy) in area.found {
                let key = (backup.session, backup.stripe.reactor, backup.number);
                all.found.entry(key).or_insert_with(|| Found { backup, copies: Vec::new() }).copies.push(copy);
            }
        }
        all.count_lost(barrier, &spoiled);
        all.found.retain(|_, found| found.backup.stripe.opened >= barrier);
        all
    }

    /// Looks whether all are there that should be, of the newest session that has any that count.
    fn count_lost(&mut self, barrier: u64, spoiled: &[String]) {
        let counts = |found: &&Found| found.backup.stripe.opened >= barrier;
        let Some(session) = self.found.values().filter(counts).map(|found| found.backup.session).max() else { return };
        let of_session = || self.found.range((session, ReactorId(0), 0)..=(session, ReactorId(u16::MAX), u64::MAX));
        let reactors: BTreeSet<ReactorId> = of_session().map(|(key, _)| key.1).collect();
        for reactor in reactors {
            let own = || of_session().filter(|(key, _)| key.1 == reactor);
            let released = own().map(|(_, found)| found.backup.released).max().unwrap_or(0);
            let durable = own().map(|(_, found)| found.backup.durable).max().unwrap_or(0);
            let there: BTreeSet<u64> = own().map(|(key, _)| key.2).collect();
            let gone: Vec<u64> = (released..durable).filter(|number| !there.contains(number)).collect();
            if let (Some(first), Some(last)) = (gone.first(), gone.last()) {
                let hint = spoiled.first().map_or(String::new(), |place| format!(" (a spoiled one is {place})"));
                self.lost.push(format!(
                    "{} backups of open stripes, numbers {first} to {last} of {reactor}, were durable and are not there{hint}",
                    gone.len(),
                ));
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// The stripes that they tell of, with the discards that these carry.
    pub(crate) fn stripes(&self) -> BTreeMap<StripeKey, Vec<Discard>> {
        let mut stripes = BTreeMap::<_, Vec<Discard>>::new();
        for Found { backup, .. } in self.found.values() {
            stripes.entry(key_of(backup)).or_default().extend_from_slice(&backup.discards);
        }
        stripes
    }

    /// The blocks of a stripe that were backed up.
    pub(crate) fn blocks_of(&self, reactor: &Reactor, stripe: StripeKey) -> Vec<BackedUpBlock> {
        let mut blocks = Vec::new();
        for (&from, Found { backup, .. }) in self.found.iter().filter(|(_, found)| key_of(&found.backup) == stripe) {
            let of = &backup.stripe;
            let Some(geometry) = reactor.shared.shapes(of.group).shape(of.rotation.protection()) else { continue };
            for (nth, entry) in (0..).zip(&backup.entries) {
                let (column, row) = geometry.slot_place(backup.first_slot + nth, of.rows);
                let (column, row) = (of.rotation.data_column(column), of.start_row + of.header_blocks + row);
                blocks.push(BackedUpBlock { column, row, entry: *entry, from, nth });
            }
        }
        blocks.retain(|block| matches!(block.entry.kind(), Kind::Data | Kind::Relocated));
        blocks
    }

    /// The highest sequence of a write or discard that they tell of.
    pub(crate) fn top_write_seq(&self) -> u64 {
        let tops = self.found.values().flat_map(|found| {
            let discards = found.backup.discards.iter().map(Discard::seq);
            found.backup.entries.iter().map(Entry::seq).chain(discards)
        });
        tops.max().unwrap_or(0)
    }

    /// The highest of segments' sequences likewise.
    pub(crate) fn top_segment_seq(&self) -> u64 {
        self.found.values().map(|found| found.backup.stripe.segment_seq).max().unwrap_or(0)
    }

    /// Stripes had been closed up to this sequence when the newest of those was opened that they tell of.
    pub(crate) fn top_opened(&self) -> u64 {
        self.found.values().map(|found| found.backup.stripe.opened).max().unwrap_or(0)
    }

    /// Stripes had been closed up to this sequence when the block's was opened.
    pub(crate) fn opened(&self, block: &BackedUpBlock) -> u64 {
        self.found[&block.from].backup.stripe.opened
    }

    /// Whether a flush had covered the block for certain.
    pub(crate) fn was_durable(&self, block: &BackedUpBlock) -> bool {
        let (session, reactor, number) = block.from;
        let of = self.found.range((session, reactor, 0)..=(session, reactor, u64::MAX));
        of.map(|(_, found)| found.backup.durable).max().is_some_and(|durable| number < durable)
    }

    /// The block, from its place, from a copy or the parity of its row then, or from the row as it is now, wherever it is right.
    pub(crate) async fn fetch(&self, reactor: &Reactor, stripe: StripeKey, block: &BackedUpBlock) -> Option<Box<[u8]>> {
        let place = Place { group: stripe.0, segment: stripe.1, column: block.column, row: block.row };
        let geometry = reactor.shared.layout.geometry();
        let member = reactor.shared.layout.member(place.group, place.column);
        let own = reactor.device_holding(member, place.segment);
        let own = own.map(|dev| (dev, geometry.device_offset(place.segment.0, place.row)));
        let copies = self.found[&block.from].copies.iter().filter(|copy| copy.holds == Holds::Copies);
        let copies = copies.filter(|copy| copy.at.saturating_add(block.nth) < geometry.transient_blocks);
        let copies = copies.map(|copy| (copy.dev, geometry.transient_offset(copy.at + block.nth)));
        for (dev, offset) in own.into_iter().chain(copies) {
            if let Some(buf) = read_right(reactor, dev, offset, &block.entry).await {
                return Some(buf.bytes().into());
            }
        }
        match self.by_buffered_parity(reactor, stripe, block).await {
            Some(restored) => Some(restored),
            None => self.by_its_row(reactor, stripe, block).await,
        }
    }

    /// A block that was copied when its stripe was closed, for members to compute parity from: physical column and row of the segment,
    /// and what the stripe's headers say of it. No backup describes that copy. It lies behind those that are described, as all of a
    /// stripe's do where members compute parity.
    pub(crate) async fn last_copy(
        &self,
        reactor: &Reactor,
        stripe: StripeKey,
        (column, row): (u8, u32),
        entry: &Entry,
    ) -> Option<Box<[u8]>> {
        if planted::is(Bug::LastCopiesUnread) {
            return None;
        }
        let areas = reactor.shared.layout.geometry();
        for Found { backup, copies } in self.found.values().filter(|found| key_of(&found.backup) == stripe) {
            let of = &backup.stripe;
            let geometry = reactor.shared.shapes(of.group).shape(of.rotation.protection())?;
            let below = row - of.start_row - of.header_blocks;
            let slot = geometry.slot_at(of.rotation.logical(column) as u8, below, of.rows);
            let Some(behind) = slot.checked_sub(backup.first_slot) else { continue };
            for copy in copies.iter().filter(|copy| copy.holds == Holds::Copies) {
                let at = copy.at.saturating_add(behind);
                if at < areas.transient_blocks
                    && let Some(buf) = read_right(reactor, copy.dev, areas.transient_offset(at), entry).await
                {
                    return Some(buf.bytes().into());
                }
            }
        }
        None
    }

    /// The block as its backup's parity has it, and the blocks of its row that were in the stripe by then.
    async fn by_buffered_parity(
        &self,
        reactor: &Reactor,
        stripe: StripeKey,
        block: &BackedUpBlock,
    ) -> Option<Box<[u8]>> {
        let Found { backup, copies } = &self.found[&block.from];
        let parities: Vec<&Copy> = copies.iter().filter(|copy| matches!(copy.holds, Holds::Parity(_))).collect();
        let (of, shared) = (&backup.stripe, &reactor.shared);
        let geometry = shared.shapes(of.group).shape(of.rotation.protection()).filter(|_| !parities.is_empty())?;
        let below = block.row - of.start_row - of.header_blocks;
        let entries = self.entries_of(stripe);
        let mut row = vec![None; usize::from(of.rotation.width())];
        for column in (0..of.rotation.data).filter(|&column| of.rotation.data_column(column) != block.column) {
            let slot = geometry.slot_at(column, below, of.rows);
            let entry = if slot < backup.slots().end { entries.get(&slot).copied() } else { Some(Entry::VOID) };
            row[usize::from(column)] =
                self.in_place(reactor, stripe, of.rotation.data_column(column), block.row, entry).await;
        }
        let nth = geometry.rows_of(backup.slots(), of.rows).position(|row| row == below)? as u32;
        let transient = shared.layout.geometry();
        for copy in parities.into_iter().filter(|copy| copy.at.saturating_add(nth) < transient.transient_blocks) {
            let Holds::Parity(column) = copy.holds else { continue };
            let buf: BufSlice = reactor.rt.alloc(BLOCK).full();
            if reactor.rt.read(copy.dev, transient.transient_offset(copy.at + nth), buf.clone()).await.is_ok() {
                row[of.rotation.needed() + usize::from(column)] = Some(buf);
            }
        }
        restored(of.rotation, &row, block)
    }

    /// What slots of a stripe hold, as far as backups tell.
    fn entries_of(&self, stripe: StripeKey) -> BTreeMap<u32, Entry> {
        let of_stripe = self.found.values().filter(|found| key_of(&found.backup) == stripe);
        of_stripe.flat_map(|found| found.backup.slots().zip(found.backup.entries.iter().copied())).collect()
    }

    /// A block of an open stripe from its place, if it is what its entry says; zeros where the slot held nothing. Without an entry nobody
    /// can tell, so it is taken as it is.
    async fn in_place(
        &self,
        reactor: &Reactor,
        stripe: StripeKey,
        column: u8,
        row: u32,
        entry: Option<Entry>,
    ) -> Option<BufSlice> {
        if entry.is_some_and(|entry| entry.kind() == Kind::Void) {
            let zeros: BufSlice = reactor.rt.alloc(BLOCK).full();
            zeros.zero(0..BLOCK);
            return Some(zeros);
        }
        let (group, segment, ..) = stripe;
        let dev = reactor.device_holding(reactor.shared.layout.member(group, column), segment)?;
        let offset = reactor.shared.layout.geometry().device_offset(segment.0, row);
        match entry {
            Some(entry) => read_right(reactor, dev, offset, &entry).await,
            None => {
                let buf: BufSlice = reactor.rt.alloc(BLOCK).full();
                reactor.rt.read(dev, offset, buf.clone()).await.is_ok().then_some(buf)
            }
        }
    }

    /// The block as the others of its row have it.
    async fn by_its_row(&self, reactor: &Reactor, stripe: StripeKey, block: &BackedUpBlock) -> Option<Box<[u8]>> {
        let (shared, (group, segment, ..)) = (&reactor.shared, stripe);
        let columns = self.found[&block.from].backup.stripe.rotation;
        let offset = shared.layout.geometry().device_offset(segment.0, block.row);
        let mut row = Vec::with_capacity(usize::from(columns.width()));
        for column in columns.physical_columns() {
            let dev = reactor.device_holding(shared.layout.member(group, column), segment);
            let buf: BufSlice = reactor.rt.alloc(BLOCK).full();
            let is_read = match dev {
                Some(dev) => reactor.rt.read(dev, offset, buf.clone()).await.is_ok(),
                None => false,
            };
            row.push(is_read.then_some(buf));
        }
        restored(columns, &row, block)
    }
}

/// A block that is at this place, if it is what its entry says.
async fn read_right(reactor: &Reactor, dev: DeviceIx, offset: u64, entry: &Entry) -> Option<BufSlice> {
    let buf: BufSlice = reactor.rt.alloc(BLOCK).full();
    let is_read = reactor.rt.read(dev, offset, buf.clone()).await.is_ok();
    (is_read && parity::checksum::crc32c(buf.bytes()) == entry.crc()).then_some(buf)
}

/// A block restored from the other columns of a row, in logical order.
fn restored(columns: Rotation, row: &[Option<BufSlice>], block: &BackedUpBlock) -> Option<Box<[u8]>> {
    let row: Vec<Option<&[u8]>> = row.iter().map(|buf| buf.as_ref().map(BufSlice::bytes)).collect();
    let mut out = vec![0; BLOCK];
    let is_right = |bytes: &[u8]| parity::checksum::crc32c(bytes) == block.entry.crc();
    restore_block(columns, &row, columns.logical(block.column), &mut out, is_right).then(|| out.into_boxed_slice())
}

fn key_of(backup: &Backup) -> StripeKey {
    let of = &backup.stripe;
    (of.group, of.segment, of.segment_seq, of.start_row)
}

/// Finds the backups of a member's area. Whatever its blocks are is looked at: one may begin anywhere.
async fn read_area(reactor: &Reactor, member: usize, blocks: u32) -> Area {
    let mut area = Area::default();
    let state = &reactor.shared.members[member];
    let keeps_some = |dev: &DeviceIx| state.is_readable() && !keeps_no_backups(&reactor.rt, *dev);
    let Some(dev) = state.device().filter(keeps_some) else { return area };
    let geometry = *reactor.shared.layout.geometry();
    for at in (0..blocks).step_by(PIECE as usize) {
        let len = PIECE.min(blocks - at);
        let buf = reactor.rt.alloc(len as usize * BLOCK).full().slice(0..len as usize * BLOCK);
        let whole = reactor.rt.read(dev, geometry.transient_offset(at), buf.clone()).await.is_ok();
        for n in 0..len {
            let offset = geometry.transient_offset(at + n);
            let single;
            let bytes: &[u8] = if whole {
                &buf.bytes()[n as usize * BLOCK..(n as usize + 1) * BLOCK]
            } else {
                single = reactor.rt.alloc(BLOCK).full();
                match reactor.rt.read(dev, offset, single.clone()).await {
                    Ok(_) => single.bytes(),
                    Err(_) => continue,
                }
            };
            let bytes: &[u8; BLOCK] = bytes.try_into().expect("a block");
            match Backup::decode(bytes) {
                Ok(backup) if is_of(reactor, &backup) => {
                    let at = backup.blocks_at.unwrap_or(at + n + 1);
                    area.add(backup, dev, at);
                }
                Ok(_) | Err(BackupError::NotABackup) => {}
                Err(error) if Backup::resembles(bytes, reactor.shared.array_tag) => {
                    area.spoiled.push(format!("{} at byte {offset}: {error}", state.name()));
                }
                Err(_) => {}
            }
        }
    }
    read_beside(reactor, (dev, &state.name()), blocks, &mut area).await;
    area
}

/// Finds those whose descriptions are beside their copies, on a member that has such bytes.
async fn read_beside(reactor: &Reactor, (dev, name): (DeviceIx, &str), blocks: u32, area: &mut Area) {
    let (beside, geometry) = (Beside::of(&reactor.shared, &reactor.rt), reactor.shared.layout.geometry());
    if !beside.has_room(dev) || planted::is(Bug::BesideUnread) {
        return;
    }
    let bytes = beside.read(dev, geometry.transient_offset(0), blocks).await;
    for at in 0..blocks {
        let here = &bytes[at as usize * BESIDE_BLOCK..];
        match Backup::decode_beside(here) {
            Ok(backup) if is_of(reactor, &backup) => area.add(backup, dev, at),
            Ok(_) | Err(BackupError::NotABackup) => {}
            Err(error) if Backup::resembles(here, reactor.shared.array_tag) => {
                let offset = geometry.transient_offset(at);
                area.spoiled.push(format!("{name}, beside the block at byte {offset}: {error}"));
            }
            Err(_) => {}
        }
    }
}

/// Whether it is of this array, and of a stripe that there can be.
fn is_of(reactor: &Reactor, backup: &Backup) -> bool {
    let (shared, of) = (&reactor.shared, &backup.stripe);
    if backup.array_tag != shared.array_tag || of.group.index() >= shared.layout.groups() {
        return false;
    }
    let exists = shared.group_state(of.group) != GroupState::Retired && of.segment.0 < shared.layout.segments(of.group);
    let shape = shared.shapes(of.group).shape(of.rotation.protection()).filter(|_| exists);
    shape.is_some_and(|shape| {
        let fits = of.rotation == reactor.columns_of_shape(&shape, of.segment);
        fits && of.rows == shape.full_rows_at(of.start_row) && of.header_blocks == shape.header_blocks(of.rows)
    })
}
