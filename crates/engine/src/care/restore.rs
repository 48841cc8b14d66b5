//! Restoring what a member should hold, a segment at a time: the headers of all stripes, so that the column describes
//! itself, and the blocks of those stripes that hold anything current. (Of a stripe without a current block nothing can
//! ever be missed: before the member counts as online, whatever replaced the blocks is made durable.)

use std::cell::Cell;
use std::rc::Rc;

use cygnus_format::{Entry, Kind, Stream, Summary};
use cygnus_parity as parity;
use cygnus_types::{BLOCK, GroupId, Nanos, SegmentId, counted};

use crate::care::fill::Fill;
use crate::care::seats::Seats;
use crate::clean::relocate::{Live, Mover};
use crate::counters::count;
use crate::reactor::Reactor;
use crate::read::columns::Columns;
use crate::read::parallel::for_each_of;
use crate::read::scan::{Ending, FoundStripe, Scanner};
use crate::recover::tail::StripeReader;
use crate::space::segments::SegIx;

/// Stripes restored at a time: enough to read, compute and write at once, few enough that clients find their way in.
const STRIPES_AT_ONCE: usize = 4;

/// How long a segment waits for the end of a deletion before it is restored once more.
const AFTER_A_DELETION: Nanos = Nanos::millis(10);

/// A column to be restored, on its member's device or on that of a successor.
struct Target {
    fill: Rc<Fill>,
    column: u8,
}

/// Restores segments: see the module's text.
#[derive(Clone)]
pub(crate) struct Restorer {
    reactor: Rc<Reactor>,
}

impl Restorer {
    pub(crate) fn of(reactor: &Rc<Reactor>) -> Self {
        Self { reactor: reactor.clone() }
    }

    /// Restores the columns of a segment that members being filled lack.
    pub(crate) async fn restore_segment(&self, seg: SegIx) {
        let (group, segment) = self.reactor.shared.segments.locate(seg);
        let targets: Rc<[Target]> = self.targets(group, segment).into();
        if targets.is_empty() {
            // It left service while the rebuilder waited for something else; its job ends when that comes round.
            return;
        }
        let live = u64::from(self.reactor.shared.segments.live(seg));
        let _look = self.reactor.looks.begin();
        let _pin = self.reactor.home().pins.pin(seg);
        let drains = targets.iter().all(|target| target.fill.successor.is_some());
        let _step = self.reactor.shared.during(if drains { "drain: copy" } else { "rebuild: restore" });
        let Ok((stripes, end_row)) = self.stripes_of(group, segment).await else { return };
        let (interrupted, found) = (Rc::new(Cell::new(false)), Rc::new(Cell::new(0)));
        let at_once = if self.forget_columns(segment, &stripes, &targets) { 1 } else { STRIPES_AT_ONCE };
        for_each_of(&self.reactor.rt, at_once, stripes, {
            let (restorer, targets) = (self.clone(), targets.clone());
            let (interrupted, found) = (interrupted.clone(), found.clone());
            move |stripe| {
                let (restorer, targets) = (restorer.clone(), targets.clone());
                let (interrupted, found) = (interrupted.clone(), found.clone());
                async move {
                    let live = Mover::of(&restorer.reactor).live_blocks(&stripe);
                    found.set(found.get() + live.len() as u64);
                    let pauses = Seats::of(&restorer.reactor).rebuild_must_pause(&targets[0].fill);
                    if pauses || restorer.restore_stripe(&stripe, &live, &targets).await.is_err() {
                        interrupted.set(true);
                    }
                }
            }
        })
        .await;
        if interrupted.get() {
            return;
        }
        // What is current becomes less meanwhile, not more. Of the rest no header tells that can be read.
        let unfound = u64::from(self.reactor.shared.segments.live(seg)).saturating_sub(found.get());
        let takes_over = targets.iter().any(|target| target.fill.successor.is_some());
        if unfound > 0 && takes_over && self.reactor.home().regroup.deleting.get() > 0 {
            // Blocks of a volume that is being deleted are still counted. The segment's turn comes again.
            return self.reactor.rt.sleep(AFTER_A_DELETION).await;
        }
        note_unread(targets.iter(), unfound);
        self.end_column((group, segment), end_row, &targets).await;
        for Target { fill, .. } in targets.iter().filter(|t| Seats::of(&self.reactor).filled_device(&t.fill).is_some())
        {
            self.reactor.shared.members[fill.member.index()].set_whole(segment, true);
            fill.job.advance(self.share_of_member(group, live));
        }
    }

    /// Has targets whose zones are kept in order forget a column of which they have nothing, so that it is written from its start.
    /// Whether there are such targets: stripes are restored to them one after the other.
    fn forget_columns(&self, segment: SegmentId, stripes: &[FoundStripe], targets: &[Target]) -> bool {
        let geometry = self.reactor.shared.layout.geometry();
        let mut any = false;
        for target in targets {
            let dev = Seats::of(&self.reactor).filled_device(&target.fill);
            let Some(dev) = dev.filter(|&dev| self.reactor.rt.capabilities(dev).resets.is_some()) else { continue };
            any = true;
            if !stripes.iter().any(|stripe| target.fill.had.has(segment, stripe.common.stripe_seq)) {
                drop(self.reactor.rt.trim(dev, geometry.device_offset(segment.0, 0), geometry.segment_bytes()));
            }
        }
        any
    }

    /// What a member of a group has of so many blocks there, in bytes.
    pub(crate) fn share_of_member(&self, group: GroupId, live: u64) -> u64 {
        live * BLOCK as u64 / u64::from(self.reactor.shared.layout.shape(group).data)
    }

    fn targets(&self, group: GroupId, segment: SegmentId) -> Vec<Target> {
        let fills = self.reactor.home().fills.all.borrow();
        let here = fills.iter().filter(|fill| fill.is_prepared()).filter_map(|fill| {
            let (of, column) = self.reactor.shared.layout.column_of(fill.member);
            let whole = self.reactor.shared.members[fill.member.index()].is_whole(segment);
            let lacks = of == group && Seats::of(&self.reactor).filled_device(fill).is_some() && !whole;
            lacks.then(|| Target { fill: fill.clone(), column })
        });
        here.collect()
    }

    /// All stripes of a segment, and the row behind them.
    async fn stripes_of(&self, group: GroupId, segment: SegmentId) -> Result<(Vec<FoundStripe>, u32), Ending> {
        let (mut stripes, mut row, mut life) = (Vec::new(), 0, None);
        while let Some(stripe) = Scanner::of(&self.reactor).stripe_surely_at(group, segment, row, life).await? {
            (row, life) = (stripe.common.end_row(), Some(stripe.common.segment_seq));
            stripes.push(stripe);
        }
        Ok((stripes, row))
    }

    /// `live` are the blocks of the stripe to which the map points.
    async fn restore_stripe(&self, stripe: &FoundStripe, live: &[Live], targets: &[Target]) -> Result<(), Ending> {
        let common = stripe.common;
        let lacks = |t: &&Target| !t.fill.had.has(common.segment, common.stripe_seq);
        let lacks = |t: &&Target| lacks(t) && Seats::of(&self.reactor).filled_device(&t.fill).is_some();
        let targets: Vec<&Target> = targets.iter().filter(lacks).collect();
        if targets.is_empty() {
            return Ok(());
        }
        let rows = if is_needed(stripe, live) { common.rows } else { 0 };
        let column_bytes = (common.header_blocks + rows) as usize * BLOCK;
        self.reactor.throttle(column_bytes as u64).await;
        let contents = if rows > 0 { self.contents(stripe, &targets).await? } else { vec![Vec::new(); targets.len()] };
        let mut writes = Vec::new();
        for (target, contents) in targets.into_iter().zip(contents) {
            let Some(dev) = Seats::of(&self.reactor).filled_device(&target.fill) else { continue };
            let mut buf = self.reactor.rt.alloc(column_bytes);
            let (header, data) = buf.bytes_mut().split_at_mut(common.header_bytes());
            if !encode_header(stripe, target.column, header) {
                header.fill(0);
            }
            data.copy_from_slice(&contents);
            let offset = self.reactor.shared.layout.geometry().device_offset(common.segment.0, common.start_row);
            writes.push((target.fill.member, self.reactor.rt.write(dev, offset, buf.full())));
        }
        for (member, write) in writes {
            let state = &self.reactor.shared.members[member.index()];
            // One that did not take it is in trouble, and leaves.
            if write.await.is_ok() {
                count(&state.counters.written, column_bytes as u64);
                state.mark_dirty();
            }
        }
        Ok(())
    }

    /// What the targets' columns should hold below their headers: as the member itself has it where that still works and
    /// can be believed, else as all columns together have it.
    async fn contents(&self, stripe: &FoundStripe, targets: &[&Target]) -> Result<Vec<Vec<u8>>, Ending> {
        let mut contents = Vec::new();
        for target in targets {
            let drained = target.fill.successor.is_some();
            contents.push(if drained { self.own_column(stripe, target.column).await } else { None });
        }
        if contents.iter().any(Option::is_none) {
            let mut columns =
                Columns::new(&stripe.common, StripeReader::of(&self.reactor).read_stripe_surely(&stripe.common).await?);
            columns.fill_missing();
            columns.blank(&stripe.entries);
            let lost = self.report_lost(stripe, columns.heal(&stripe.entries));
            let not_as_it_was = contents.iter().zip(targets).filter(|(contents, _)| contents.is_none());
            note_unread(not_as_it_was.map(|(_, target)| *target), lost);
            for (contents, target) in contents.iter_mut().zip(targets) {
                contents.get_or_insert_with(|| columns.whole(target.column));
            }
        }
        Ok(contents.into_iter().flatten().collect())
    }

    /// Tells of current blocks that nothing restores, and how many they are. (Those of torn stripes were never there.)
    fn report_lost(&self, stripe: &FoundStripe, wrong: Vec<(u8, u32)>) -> u64 {
        if wrong.is_empty() {
            return 0;
        }
        let first = stripe.common.first_data_row();
        let current = Mover::of(&self.reactor).live_blocks(stripe);
        let is_current = |&(column, row): &(u8, u32)| {
            current.iter().any(|block| block.place.column == column && block.place.row == first + row)
        };
        let lost = wrong.iter().filter(|at| is_current(at)).count();
        if lost > 0 {
            self.reactor.shared.totals.count_lost(lost as u64);
            let (group, segment) = (stripe.common.group, stripe.common.segment);
            let words = counted(lost, "block is").or("blocks are");
            let text = format!("{group} {segment}: {words} beyond redundancy and could not be restored");
            self.reactor.shared.log_repeated("beyond redundancy", &group.to_string(), text);
        }
        lost as u64
    }

    /// Behind the last stripe there must be nothing that could pass for another one.
    async fn end_column(&self, (group, segment): (GroupId, SegmentId), end_row: u32, targets: &[Target]) {
        let geometry = *self.reactor.shared.layout.geometry();
        if self.reactor.shared.shapes(group).rows_at(end_row) == 0 {
            return;
        }
        for target in targets {
            let state = &self.reactor.shared.members[target.fill.member.index()];
            let Some(dev) = Seats::of(&self.reactor).filled_device(&target.fill) else { continue };
            let buf = self.reactor.rt.alloc(BLOCK).full();
            buf.zero(0..BLOCK);
            let offset = geometry.device_offset(segment.0, end_row);
            if self.reactor.rt.write(dev, offset, buf).await.is_ok() {
                state.mark_dirty();
            }
        }
    }
}

/// Whether a stripe holds anything that somebody may want to read.
fn is_needed(stripe: &FoundStripe, live: &[Live]) -> bool {
    let unknown = stripe.entries.iter().any(Option::is_none);
    unknown || stripe.common.stream == Stream::Meta || !live.is_empty()
}

/// So many current blocks could be had from nowhere. Whoever takes over from a member that works must not do so without them: the
/// member's device may give them another time, or what they are computed from.
fn note_unread<'a>(targets: impl IntoIterator<Item = &'a Target>, blocks: u64) {
    for Target { fill, .. } in targets.into_iter().filter(|target| target.fill.successor.is_some()) {
        fill.unread.set(fill.unread.get() + blocks);
    }
}

/// A column's header of the stripe. `false` if not all is known that should be in it: one that is not there is better than
/// one that says of blocks that they hold nothing.
pub(crate) fn encode_header(stripe: &FoundStripe, column: u8, header: &mut [u8]) -> bool {
    let common = &stripe.common;
    let is_unknown = |of: u8| common.has_entries_of(column, of) && stripe.entries[usize::from(of)].is_none();
    if (0..common.width()).any(is_unknown) {
        return false;
    }
    let rows = common.rows as usize;
    let void = vec![Entry::VOID; rows];
    let entries: Vec<Entry> =
        stripe.entries.iter().flat_map(|of_column| of_column.as_ref().unwrap_or(&void)).copied().collect();
    common.encode_into(header, column, Summary::new(&entries, common.rows), &stripe.discards);
    true
}

impl Restorer {
    /// The blocks of a stripe's column as its own member has them; `None` if they cannot all be believed, or if nothing
    /// tells: no checksum is known of parity.
    pub(crate) async fn own_column(&self, stripe: &FoundStripe, column: u8) -> Option<Vec<u8>> {
        let common = &stripe.common;
        let entries = stripe.entries[usize::from(column)].as_ref()?;
        let (member, _) = self.reactor.shared.member(common.group, column);
        let dev = self.reactor.device_holding(member, common.segment).filter(|&dev| !self.reactor.is_slow(dev))?;
        if !common.rotation.is_data(column) {
            return None;
        }
        let buf = self.reactor.rt.alloc(common.rows as usize * BLOCK);
        let offset = self.reactor.shared.layout.geometry().device_offset(common.segment.0, common.first_data_row());
        self.reactor.rt.read(dev, offset, buf.full()).await.ok()?;
        let mut contents = buf.bytes().to_vec();
        for (entry, block) in entries.iter().zip(contents.chunks_exact_mut(BLOCK)) {
            match entry.kind() {
                Kind::Void => block.fill(0),
                _ if parity::checksum::crc32c(block) == entry.crc() => {}
                _ => return None,
            }
        }
        Some(contents)
    }
}
