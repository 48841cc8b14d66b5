//! Relocation: the current blocks of a stripe read, rebuilt where that is needed, and written anew elsewhere.
//!
//! Cleaning empties victims this way, and scrubs empty stripes that cannot protect their blocks any more. Blocks move by
//! compare-and-swap on the map (SALSA section 3.3) and keep the sequence of the write that made them.

use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use cygnus_format::{Entry, Kind, MapEntry, Place};
use cygnus_parity as parity;
use cygnus_runtime::{Buf, BufSlice, OpFuture, either};
use cygnus_types::{BLOCK, Lba, Nanos};

use crate::clean::emptied::Emptied;
use crate::clean::haste::Haste;
use crate::clean::of_page::whole_page;
use crate::clean::stream::lane_of;
use crate::clean::through::Unread;
use crate::counters::count;
use crate::lsa::Publish;
use crate::reactor::Reactor;
use crate::read::got::Miss;
use crate::read::page_check::own_entry;
use crate::read::scan::FoundStripe;
use crate::volume_state::VolumeState;
use crate::write::lane::Lane;
use crate::write::streams;
use crate::write::summed::Summed;
use crate::write::writer::{Appended, Writer};

/// Blocks of a run that is read while clients' reads go first: what they may have to wait behind.
const SHORT_RUN: usize = 16;

/// How blocks are to be moved.
pub(crate) struct Moving {
    /// The lane that takes them; `None`: one where clients' writes go, by the media that each block's volume may be on.
    lane: Option<Lane>,
    /// How long to wait for room before a block is left where it is; `None`: until there is some. Whoever has waited in
    /// vain does not wait again.
    patience: Cell<Option<Nanos>>,
    /// Whether blocks found bad are news: a scrub has counted them already.
    is_news: bool,
    /// Whether clients' reads go first: one short run is read at a time.
    is_at_ease: Cell<bool>,
    /// Whether a stripe is left at the first block that cannot be read.
    pub(super) stops_at_lost: bool,
    /// Whether blocks are only read, to see whether they can be.
    pub(super) only_looks: bool,
}

/// How long a victim that is emptied beside another one, here or by a helper, waits for room before it is left for later. Only one may
/// insist: several that have each taken a part of the room could wait for one another for ever.
const BESIDE_PATIENCE: Nanos = Nanos::millis(5);
/// How long a block that is to be mended waits for room.
const PATIENCE: Nanos = Nanos::secs(10);

impl Moving {
    /// Into the segment of the group being cleaned; nothing goes on until the victim is empty.
    pub(crate) fn cleaning() -> Self {
        Self {
            lane: Some(Lane::Cleaning),
            patience: Cell::new(None),
            is_news: true,
            is_at_ease: Cell::new(false),
            stops_at_lost: false,
            only_looks: false,
        }
    }

    /// The same, and a victim that has a block that cannot be read is left as it is, as far as it was not moved yet.
    pub(crate) fn if_all_can_be(self) -> Self {
        Self { stops_at_lost: true, ..self }
    }

    /// Nothing is moved: it shows whether all can be.
    pub(crate) fn only_looking() -> Self {
        Self { is_news: false, stops_at_lost: true, only_looks: true, ..Self::cleaning() }
    }

    /// As `cleaning`, beside a victim that is, in its group or in another one: a block that finds no room for so long is
    /// left where it is.
    pub(crate) fn cleaning_beside(lane: Lane) -> Self {
        Self { lane: Some(lane), patience: Cell::new(Some(BESIDE_PATIENCE)), ..Self::cleaning() }
    }

    /// Whether a stripe is left at the first block that cannot be read.
    pub(crate) fn stops_at_lost(&self) -> bool {
        self.stops_at_lost
    }

    /// Whether clients' reads go first from now on.
    pub(crate) fn at_ease(&self, is_at_ease: bool) {
        self.is_at_ease.set(is_at_ease);
    }

    /// Out of a group that retires, where clients' writes go. It is tried again until there is room: in between it may
    /// be cancelled.
    pub(crate) fn evacuating() -> Self {
        Self { lane: None, patience: Cell::new(Some(Nanos::secs(1))), ..Self::cleaning() }
    }

    /// Out of a victim that has nothing else in it any more. Others may be at work beside it, so a block that finds no room stays.
    pub(crate) fn orphans() -> Self {
        Self { patience: Cell::new(Some(Nanos::secs(1))), ..Self::cleaning() }
    }

    /// Beside the clients' writes, as read repair does, whether or not anything is being cleaned. Without room, as when
    /// the pool is full, the rest is verified all the same.
    pub(crate) fn mending() -> Self {
        Self { lane: None, patience: Cell::new(Some(PATIENCE)), is_news: false, ..Self::cleaning() }
    }
}

/// What became of the current blocks of a stripe.
#[derive(Default)]
pub(crate) struct Moved {
    /// The array stops; the rest was not looked at.
    pub stopped: bool,
    /// Blocks written anew, those rebuilt among them.
    pub moved: u64,
    /// Blocks rebuilt because their device gave an error or wrong data.
    pub repaired: u64,
    /// Blocks that stay where they are for want of room.
    pub without_room: u64,
    /// Blocks beyond redundancy.
    pub lost: Vec<Unread>,
}

/// A block that must move.
pub(crate) struct Live {
    pub(super) volume: Arc<VolumeState>,
    pub(super) lba: Lba,
    pub(super) entry: Entry,
    pub(super) current: MapEntry,
    /// What it must match by itself: where the map has a page, as the stripe's header says.
    own: MapEntry,
    pub place: Place,
}

impl Live {
    /// Whether nobody has written or moved it since.
    pub(super) fn is_still(&self) -> bool {
        self.volume.controller.is_still(self.lba, self.current)
    }
}

/// What a block's own column gave.
pub(super) enum Source<'a> {
    /// The block as it was written.
    Intact(&'a [u8]),
    /// An error, which need not be this block's: others were asked for with it.
    Error,
    /// Something else.
    Bad,
    /// Nothing, since its member is out of service.
    Absent,
}

/// Moves blocks: see the module's text.
#[derive(Clone)]
pub(crate) struct Mover {
    pub(super) reactor: Rc<Reactor>,
}

impl Mover {
    pub(crate) fn of(reactor: &Rc<Reactor>) -> Self {
        Self { reactor: reactor.clone() }
    }

    /// Moves the current blocks of a stripe.
    pub(crate) async fn move_stripe(&self, stripe: &FoundStripe, how: &Moving) -> Moved {
        let live = self.live_blocks(stripe);
        let mut result = Moved::default();
        let through = self.reactor.shared.policies.read_through;
        let runs = live.chunk_by(|a, b| a.place.column == b.place.column && b.place.row - a.place.row <= through);
        let longest = if how.is_at_ease.get() { SHORT_RUN } else { usize::MAX };
        let mut coming = runs.flat_map(|run| pieces(run, longest));
        let mut reading = VecDeque::new();
        let (mut begun, mut worked) = (self.reactor.rt.now(), Nanos::ZERO);
        loop {
            let has_time = || Haste::of(&self.reactor).has_time(stripe.common.group);
            // A stripe that is read in short runs between clients' reads lasts longer than what time there was may do.
            how.at_ease(how.is_at_ease.get() && has_time());
            let at_once = if how.is_at_ease.get() { 1 } else { usize::MAX };
            while reading.len() < at_once
                && let Some(run) = coming.next()
            {
                if how.is_at_ease.get() {
                    Haste::of(&self.reactor).rest(stripe.common.group, worked).await;
                    Haste::of(&self.reactor).give_way_to_reads(stripe.common.group).await;
                }
                begun = self.reactor.rt.now();
                reading.push_back((run, self.read_run(run)));
            }
            let Some((run, read)) = reading.pop_front() else { return result };
            let absent = read.is_none();
            let bytes = match read {
                Some((buf, op)) => op.await.is_ok().then_some(buf),
                None => None,
            };
            // Copying a run takes some microseconds: what clients wait for comes first.
            self.reactor.rt.yield_now().await;
            let source_of = |block: &Live| {
                let at = (block.place.row - run[0].place.row) as usize * BLOCK;
                match bytes.as_ref().map(|b| b.part(at..at + BLOCK)) {
                    Some(data) if is_intact(block, data) => Source::Intact(data),
                    Some(_) => Source::Bad,
                    None if absent => Source::Absent,
                    None => Source::Error,
                }
            };
            let mut rest = run;
            while let Some(blocks) = whole_page(rest).or(rest.first().map(|_| 1)) {
                let (unit, behind) = rest.split_at(blocks);
                rest = behind;
                match unit {
                    [block] if !how.only_looks && self.is_to_be_gathered(block) => {
                        self.gather(block, source_of(block), how, &mut result).await;
                    }
                    [block] => self.move_block(block, source_of(block), how, &mut result).await,
                    page => self.move_page(page, source_of, how, &mut result).await,
                }
                if result.stopped || how.stops_at_lost && !result.lost.is_empty() {
                    return result;
                }
            }
            worked = self.reactor.rt.now().since(begun);
        }
    }

    /// Blocks of a stripe to which the map still points, in the order of column and row.
    pub(crate) fn live_blocks(&self, stripe: &FoundStripe) -> Vec<Live> {
        let layout = &self.reactor.shared.layout;
        let (group, segment) = (stripe.common.group, stripe.common.segment);
        let of_volumes = stripe.blocks().filter(|(.., entry)| matches!(entry.kind(), Kind::Data | Kind::Relocated));
        let blocks: Vec<(Entry, Place)> = of_volumes
            .map(|(column, row, entry)| {
                (*entry, Place { group, segment, column, row: stripe.common.first_data_row() + row })
            })
            .collect();
        let mut live = Vec::new();
        for blocks in blocks.chunk_by(|(a, _), (b, _)| a.volume() == b.volume()) {
            let Some(volume) = self.reactor.shared.volume(blocks[0].0.volume()) else { continue };
            let add = |&(entry, place): &(Entry, Place), current: MapEntry| {
                let own = own_entry_of(stripe, &volume, &entry, &place, current);
                live.push(Live { volume: volume.clone(), lba: entry.lba(), entry, current, own, place });
            };
            volume.controller.current(blocks, |(entry, _)| entry.lba(), |&(_, place)| layout.pba(place), add);
        }
        live
    }

    fn read_run(&self, run: &[Live]) -> Option<(Buf, OpFuture)> {
        let place = run[0].place;
        let (member, state) = self.reactor.shared.member(place.group, place.column);
        let dev = self.reactor.device_holding(member, place.segment)?;
        let blocks = (run[run.len() - 1].place.row - place.row + 1) as usize;
        let buf = self.reactor.rt.alloc(blocks * BLOCK);
        let offset = self.reactor.shared.layout.geometry().device_offset(place.segment.0, place.row);
        count(&state.counters.cleaning_read, (blocks * BLOCK) as u64);
        let op = self.reactor.rt.read(dev, offset, buf.full());
        Some((buf, op))
    }

    /// Moves one block, rebuilding it first if its column did not deliver it intact.
    pub(super) async fn move_block(&self, block: &Live, source: Source<'_>, how: &Moving, result: &mut Moved) {
        let rebuilt;
        let (moved, is_bad) = match source {
            // Nearly all are, and need no memory of their own.
            Source::Intact(data) => (Summed::as_verified(data, block.entry.crc()), false),
            source => {
                rebuilt = self.reactor.rt.alloc(BLOCK).full();
                let Some((data, is_bad)) = self.obtain(block, source, &rebuilt, how, result).await else { return };
                (Summed::of(data), is_bad)
            }
        };
        if how.only_looks {
            return;
        }
        let publish = Publish::Move(block.current, block.entry.seq());
        let appended = self.append_moved(&block.volume, block.lba, moved, publish, block.place, how).await;
        self.note(block, appended, is_bad, result);
    }

    /// What a block holds, made from the other columns if its own did not deliver it intact, in `rebuilt`; and whether it was bad.
    /// `None`: it is current no more, it is lost, or the array stops.
    pub(super) async fn obtain<'b>(
        &self,
        block: &Live,
        source: Source<'b>,
        rebuilt: &'b BufSlice,
        how: &Moving,
        result: &mut Moved,
    ) -> Option<(&'b [u8], bool)> {
        let counters = &self.reactor.shared.member(block.place.group, block.place.column).1.counters;
        let source = match source {
            Source::Error => self.read_again(block, rebuilt).await,
            source => source,
        };
        let is_bad = matches!(source, Source::Bad);
        if let Source::Intact(data) = source {
            return Some((data, is_bad));
        }
        if !block.is_still() {
            return None;
        }
        count(&counters.corrupt, u64::from(is_bad && how.is_news));
        let group = block.place.group;
        let mut silences = self.reactor.silences(group);
        while !self.reactor.rebuild_block(&block.place, block.own, rebuilt).await {
            if self.reactor.was_disturbed(group, silences) && block.is_still() {
                // What is missing may only be away.
                if !self.reactor.until_it_answers(group).await {
                    result.stopped = true;
                    return None;
                }
                silences = self.reactor.silences(group);
                continue;
            }
            if block.is_still() {
                count(&counters.unrepairable, 1);
                result.lost.push(Unread { volume: block.volume.id, lba: block.lba, entry: block.current });
            }
            return None;
        }
        count(&self.reactor.shared.totals.reconstructed, 1);
        Some((rebuilt.bytes(), is_bad))
    }

    /// Notes what became of writing a block to its new place.
    pub(super) fn note(&self, block: &Live, appended: Option<Appended>, is_bad: bool, result: &mut Moved) {
        match appended {
            Some(Appended::Done) => {
                result.moved += 1;
                if is_bad {
                    result.repaired += 1;
                    let counters = &self.reactor.shared.member(block.place.group, block.place.column).1.counters;
                    count(&counters.repaired, 1);
                    count(&self.reactor.shared.totals.repaired, 1);
                }
            }
            Some(Appended::Changed) => {}
            Some(Appended::NoRoom) => result.without_room += 1,
            None => result.stopped = true,
        }
    }

    /// Reads a block that could not be read together with others.
    async fn read_again<'a>(&self, block: &Live, into: &'a BufSlice) -> Source<'a> {
        match self.reactor.read_column(&block.place, block.own, into).await {
            Ok(()) if is_intact(block, into.bytes()) => Source::Intact(into.bytes()),
            Ok(()) | Err(Miss::Bad | Miss::Unread) => Source::Bad,
            Err(Miss::Absent) => Source::Absent,
        }
    }

    /// Writes a block to its new place as soon as there is room; `None` when the array stops.
    pub(crate) async fn append_moved(
        &self,
        volume: &VolumeState,
        lba: Lba,
        block: Summed<'_>,
        publish: Publish,
        from: Place,
        how: &Moving,
    ) -> Option<Appended> {
        let append = |writer: &mut Writer| writer.append(&self.reactor, volume, lba, block, publish);
        self.append_when_room(volume, (lba, 1), append, from, how).await
    }

    /// Writes blocks, from this one on so many, to their new place as soon as there is room; `None` when the array stops.
    pub(super) async fn append_when_room(
        &self,
        volume: &VolumeState,
        what: (Lba, usize),
        append: impl Fn(&mut Writer) -> Appended,
        from: Place,
        how: &Moving,
    ) -> Option<Appended> {
        let deadline = how.patience.get().map(|patience| self.reactor.rt.now() + patience);
        loop {
            let progress = self.reactor.progress.wait();
            if self.reactor.is_ending() {
                return None;
            }
            if !self.reactor.hold.get() {
                let appended = self.append_now(volume, what, &append, from, how);
                if appended != Appended::NoRoom {
                    return Some(appended);
                }
            }
            match deadline {
                None => {
                    if !Emptied::of(&self.reactor).room_for_relocation(from, progress).await {
                        how.patience.set(Some(Nanos::ZERO));
                        return Some(Appended::NoRoom);
                    }
                }
                Some(at) if self.reactor.rt.now() >= at => {
                    how.patience.set(Some(Nanos::ZERO));
                    return Some(Appended::NoRoom);
                }
                Some(at) => either(progress, self.reactor.rt.sleep_until(at)).await,
            }
        }
    }

    /// The same if there is room at once.
    fn append_now(
        &self,
        volume: &VolumeState,
        (lba, blocks): (Lba, usize),
        append: &impl Fn(&mut Writer) -> Appended,
        from: Place,
        how: &Moving,
    ) -> Appended {
        let (reactor, medium) = (&self.reactor, self.reactor.shared.medium(from.group));
        let append = |lane| append(&mut reactor.writer(lane).borrow_mut());
        // Cleaning waits for no other medium: what should leave the faster one stays on it while the slower one has no segment to give.
        let slower = streams::cools_to(reactor, volume, lba, medium);
        let appended = slower.map_or(Appended::NoRoom, |to| append(streams::lane_on(reactor, volume, to)));
        if appended != Appended::NoRoom {
            count(&reactor.shared.totals.demoted, if appended == Appended::Done { blocks as u64 } else { 0 });
            return appended;
        }
        append(match how.lane {
            Some(Lane::Cleaning) => lane_of(reactor, volume),
            Some(lane) => lane,
            None => streams::lane_of_moved(reactor, volume, lba, medium),
        })
    }
}

/// A run in pieces of so many blocks at most, none of which ends within a page that is all there.
fn pieces(run: &[Live], longest: usize) -> impl Iterator<Item = &[Live]> {
    let mut rest = run;
    std::iter::from_fn(move || {
        let mut len = 0;
        while let Some(unit) = whole_page(&rest[len..]).or(rest.get(len).map(|_| 1)) {
            if len > 0 && len + unit > longest {
                break;
            }
            len += unit;
        }
        let (piece, behind) = rest.split_at(len);
        rest = behind;
        (len > 0).then_some(piece)
    })
}

/// What a block must match by itself that the map has at `current`. What no header confirms matches nothing.
fn own_entry_of(
    stripe: &FoundStripe,
    volume: &VolumeState,
    entry: &Entry,
    place: &Place,
    current: MapEntry,
) -> MapEntry {
    if !current.is_of_page() {
        return current;
    }
    let row = place.row - stripe.common.first_data_row();
    let nth = (entry.lba().0 - volume.controller.page_of(entry.lba()).0, volume.controller.page_blocks());
    own_entry(stripe, (place.column, row), current, nth).unwrap_or(current)
}

/// Whether a column gave what both the stripe's summary and the map want. They agree, or something is badly wrong, and
/// then nothing may be moved in the name of the one that the other denies.
fn is_intact(block: &Live, data: &[u8]) -> bool {
    let crc = parity::checksum::crc32c(data);
    crc == block.entry.crc() && block.own.matches(crc)
}
