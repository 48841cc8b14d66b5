//! Conversion: parity that members compute inside, from the copies that they have of a stripe (ScalaAFA, sections 3.4 and 4.2).
//!
//! Where an array is made for it, the copies of a stripe lie one behind the other on each member that will have its parity, in the
//! order of the stripe's slots: so the k chunks of each band are k chunks in a row there, which is what a drive that converts wants
//! (a *vertical hero*). When the stripe ends, the host writes its headers and what is not in its place yet, and the members are
//! told to compute the parity of those bands of which less than a chunk is not copied ([`cygnus_policy::rows_to_convert`]); what
//! is not is copied before.
//!
//! A drive that has converted has forgotten its copies. From then on a block of the stripe is safe only if all others of its row
//! are; so what is in the stripe's places is durable before anybody is told to convert. Until the headers are durable too, recovery
//! restores a block that is nowhere else from its row ([`crate::recover::backups`]). Copies that have their descriptions beside them
//! ([`crate::write::beside`]) are told to stay, as the descriptions have to: then nothing need be durable before.
//!
//! A member that does not convert, for whatever reason, gets its parity from here.
//!
//! A conversion may wait ([`crate::write::postponed`]): until nothing else is under way, the room for copies runs short, too many wait,
//! or somebody wants stripes whole.
//!
//! Answers do not wait for conversions, flushes do: once a stripe is in its places and all copies are made, any m members may be lost
//! without the parity. Copies that are made as a stripe ends have no description; its headers, and the place of those that are
//! described, tell recovery where they lie ([`crate::recover::backups`]).

use std::rc::Rc;

use cygnus_format::Rotation;
use cygnus_policy::{ConversionView, Converting, Postponement, UntilFull, rows_to_convert};
use cygnus_runtime::{Conversion, DeviceIx, Extra, IoError, IoErrorKind, OpFuture, either};
use cygnus_types::{BLOCK, GroupId, Nanos};

use crate::care::member::MemberShared;
use crate::counters::count;
use crate::planted::{self, Bug};
use crate::reactor::Reactor;
use crate::write::beside::Beside;
use crate::write::offload::{Copied, LastCopies, Offload};
use crate::write::postponed::Converted;
use crate::write::replicate::{Replicator, standing_of};
use crate::write::stripe::Stripe;
use crate::write::writer::write_parity;

/// How often is looked whether nothing else is under way, while stripes wait for that.
const LOOK: Nanos = Nanos::micros(200);

impl Offload for Rc<Reactor> {
    fn converts(&self, group: GroupId, columns: Rotation) -> bool {
        Converter::of(self).is_possible(group, columns)
    }

    fn rows_to_convert(&self, stripe: &Stripe) -> u32 {
        Converter::of(self).rows_of(stripe)
    }

    fn send_last_copies(&self, stripe: &Stripe) -> LastCopies {
        Converter::of(self).last_copies(stripe)
    }

    async fn complete_copies(&self, stripe: &Stripe, copies: LastCopies) -> Copied {
        Converter::of(self).complete_copies(stripe, copies).await
    }

    async fn convert(&self, stripe: &Stripe, copied: Copied) {
        Converter::of(self).convert(stripe, copied).await;
    }
}

/// See the module's text.
struct Converter<'a> {
    reactor: &'a Rc<Reactor>,
}

impl<'a> Converter<'a> {
    fn of(reactor: &'a Rc<Reactor>) -> Self {
        Self { reactor }
    }

    fn beside(&self) -> Beside<'_> {
        Beside::of(&self.reactor.shared, &self.reactor.rt)
    }

    /// Whether the members with the parity of such stripes of a group compute it.
    fn is_possible(&self, group: GroupId, columns: Rotation) -> bool {
        let all = |columns: Rotation| (0..columns.parity).map(move |p| columns.parity_column(p));
        self.reactor.shared.until_full == UntilFull::Offload && all(columns).all(|column| self.converts(group, column))
    }

    fn converts(&self, group: GroupId, column: u8) -> bool {
        let (member, state) = self.reactor.shared.member(group, column);
        let Some(dev) = self.reactor.device_in_service(member) else { return false };
        if self.reactor.lacking.0.borrow().contains(&dev) {
            return false;
        }
        let can = self.reactor.rt.capabilities(dev).convert;
        if !can {
            self.does_not_convert(dev, state, "its device has no command for that");
        }
        can
    }

    fn does_not_convert(&self, dev: DeviceIx, state: &MemberShared, why: &str) {
        if self.reactor.lacking.0.borrow_mut().insert(dev) {
            let text = format!("{} computes no parity inside ({why}): the host does it", state.name());
            self.reactor.shared.log_repeated("conversion", &state.name(), text);
        }
    }

    /// Rows of a stripe that is about to be closed whose parity its members are to compute.
    fn rows_of(&self, stripe: &Stripe) -> u32 {
        let (place, done) = (&stripe.place, stripe.backed_up());
        let sound = !stripe.heroes.is_empty()
            && done.under == standing_of(self.reactor, place.group)
            && Replicator::of(self.reactor).all_are_well(place.group)
            && self.is_possible(place.group, place.columns);
        let chunk = stripe.geometry().chunk_blocks;
        if sound { rows_to_convert(place.columns.data, chunk, place.rows, stripe.used(), done.slots) } else { 0 }
    }

    /// Sends the copies that are missing for the conversion of a stripe that was just closed.
    fn last_copies(&self, stripe: &Stripe) -> LastCopies {
        let (place, shared) = (&stripe.place, &self.reactor.shared);
        let converted = stripe.geometry().slots(stripe.converted());
        let copied = stripe.backed_up().slots.min(converted);
        let pieces = stripe.pieces(if planted::is(Bug::ConvertedUncopied) { converted } else { copied }..converted);
        let mut ops = Vec::new();
        for (p, hero) in (0..).zip(&stripe.heroes) {
            let (member, state) = shared.member(place.group, place.columns.parity_column(p));
            let Some(dev) = self.reactor.device_in_service(member) else { continue };
            for (slot, bytes) in &pieces {
                count(&shared.totals.backup_written, (bytes.len() / BLOCK) as u64);
                count(&state.counters.written, bytes.len() as u64);
                let at = shared.layout.geometry().transient_offset(hero + slot);
                ops.push(self.reactor.rt.write_transient(dev, at, bytes.clone()));
            }
        }
        LastCopies(ops)
    }

    /// Has the members compute the parity of a stripe of which all else is on its way no more. Those who do not get it from here.
    async fn convert(&self, stripe: &Stripe, copied: Copied) {
        let _converted = self.until_it_is_time(stripe, copied).await;
        let _step = self.reactor.shared.during("conversion");
        let sound = self.is_ready(stripe, copied).await;
        let parity = 0..stripe.place.columns.parity;
        let under_way: Vec<_> = parity.clone().map(|p| sound.then(|| self.submit(stripe, p)).flatten()).collect();
        for (p, ops) in parity.zip(under_way) {
            let is_converted = match ops {
                Some((dev, ops)) => self.is_converted(stripe, p, dev, ops).await,
                None => false,
            };
            if !is_converted {
                write_parity(self.reactor, stripe, stripe.place.columns.parity_column(p)).await;
            }
        }
    }

    /// Waits until the parity of a stripe is to be made, if that is not at once.
    async fn until_it_is_time(&self, stripe: &Stripe, copied: Copied) -> Option<Converted<'a>> {
        let Converting::Later(rule) = self.reactor.shared.policies.converting else { return None };
        let (postponed, seq) = (&self.reactor.postponed, stripe.seq());
        let waiting = postponed.wait(seq, stripe.place.lane);
        let mut waits = None;
        loop {
            let changed = postponed.changed();
            let is_first = postponed.is_first(seq);
            if copied == Copied::InPart || self.is_wanted_now(stripe) || is_first && self.begins(rule) {
                break;
            }
            waits.get_or_insert_with(|| {
                count(&self.reactor.shared.totals.postponed, 1);
                self.reactor.shared.during("postponed conversion")
            });
            match is_first {
                true => either(changed, self.reactor.rt.sleep(LOOK)).await,
                false => changed.await,
            }
        }
        if waits.is_some() {
            count(&self.reactor.shared.totals.postponed_ended, 1);
        }
        let converted = postponed.convert();
        drop(waiting);
        Some(converted)
    }

    /// Whether a stripe must not wait: somebody waits until it is whole, or until its segment is sealed; or its copies may not be what
    /// they were.
    fn is_wanted_now(&self, stripe: &Stripe) -> bool {
        let shared = &self.reactor.shared;
        self.reactor.postponed.is_wanted(stripe.seq())
            || self.reactor.is_ending()
            || !shared.admission.is_open()
            || !self.stand_as_they_did(stripe)
    }

    /// Whether the stripe that has waited longest is to be converted.
    fn begins(&self, rule: Postponement) -> bool {
        let postponed = &self.reactor.postponed;
        let free = self.reactor.transient.borrow().free_percent();
        postponed.is_short.set(rule.is_short(postponed.is_short.get(), free));
        rule.begins(ConversionView {
            under_way: self.reactor.rt.under_way(),
            converting: postponed.converting(),
            waiting: postponed.waiting() as u32,
            is_short: postponed.is_short.get(),
        })
    }

    async fn complete_copies(&self, stripe: &Stripe, LastCopies(ops): LastCopies) -> Copied {
        let all_before = ops.is_empty();
        let _step = (!all_before).then(|| self.reactor.shared.during("replication"));
        let mut all = true;
        for op in ops {
            all &= op.await.is_ok();
        }
        match all && self.stand_as_they_did(stripe) {
            false => Copied::InPart,
            true if all_before => Copied::Before,
            true => Copied::Now,
        }
    }

    /// Whether no member of its group has come, gone or fallen silent since a stripe was copied.
    fn stand_as_they_did(&self, stripe: &Stripe) -> bool {
        standing_of(self.reactor, stripe.place.group) == stripe.backed_up().under
    }

    /// Whether all copies are there, all blocks are durable in their places, and no member has gone or fallen silent since.
    async fn is_ready(&self, stripe: &Stripe, copied: Copied) -> bool {
        let mut sound = copied != Copied::InPart;
        let shared = &self.reactor.shared;
        let is_durable = copied == Copied::Before && {
            let mut transient = self.reactor.transient.borrow_mut();
            transient.learn(shared.durable(), shared.flushes.ended());
            transient.is_durable(stripe.backed_up().last)
        };
        let copies_stay = self.beside().have_room(stripe.place.group, stripe.place.columns);
        if sound && !is_durable && !copies_stay && !planted::is(Bug::ConvertedUnflushed) {
            sound = self.flush_data(stripe).await;
        }
        sound && self.stand_as_they_did(stripe)
    }

    async fn flush_data(&self, stripe: &Stripe) -> bool {
        let columns = stripe.place.columns;
        let device = |d| {
            let (member, _) = self.reactor.shared.member(stripe.place.group, columns.data_column(d));
            self.reactor.device_in_service(member)
        };
        let flushes: Vec<_> = (0..columns.data).map(|d| device(d).map(|dev| self.reactor.rt.flush(dev))).collect();
        let mut all = true;
        for flush in flushes {
            all &= match flush {
                Some(op) => op.await.is_ok(),
                None => false,
            };
        }
        all
    }

    /// Tells the member of a parity column to compute its part, band by band; and the device that was told.
    fn submit(&self, stripe: &Stripe, p: u8) -> Option<(DeviceIx, Vec<OpFuture>)> {
        let place = &stripe.place;
        let (member, _) = self.reactor.shared.member(place.group, place.columns.parity_column(p));
        let dev = self.reactor.device_in_service(member)?;
        let convert = |what| self.reactor.rt.extra(dev, Extra::Convert(what));
        Some((dev, self.conversions(stripe, p, self.beside().has_room(dev)).map(convert).collect()))
    }

    /// Whether the member of a parity column has done its part.
    async fn is_converted(&self, stripe: &Stripe, p: u8, dev: DeviceIx, ops: Vec<OpFuture>) -> bool {
        let (place, shared) = (&stripe.place, &self.reactor.shared);
        let (_, state) = shared.member(place.group, place.columns.parity_column(p));
        let mut failed = None;
        for op in ops {
            if let Err(error) = op.await {
                failed.get_or_insert(error);
            }
        }
        match failed {
            None => count(&shared.totals.converted_inside, stripe.converted().into()),
            Some(error) => self.has_failed(dev, state, error),
        }
        failed.is_none()
    }

    fn conversions(&self, stripe: &Stripe, p: u8, keeps: bool) -> impl Iterator<Item = Conversion> {
        let (place, geometry) = (stripe.place, *stripe.geometry());
        let hero = stripe.heroes[usize::from(p)];
        let converted = stripe.converted();
        (0..converted).step_by(geometry.chunk_blocks as usize).map(move |top| {
            let row = place.start_row + place.header_blocks + top;
            Conversion {
                source: geometry.transient_offset(hero + geometry.slots(top)),
                destination: geometry.device_offset(place.segment.0, row),
                chunk: u64::from(geometry.chunk_blocks.min(converted - top)) * BLOCK as u64,
                chunks: place.columns.data.into(),
                row: p,
                keeps,
            }
        })
    }

    fn has_failed(&self, dev: DeviceIx, state: &MemberShared, error: IoError) {
        if matches!(error.kind, IoErrorKind::Unsupported | IoErrorKind::Range) {
            // It would refuse the next one too: such chunks are more than it converts at a time.
            return self.does_not_convert(dev, state, &error.to_string());
        }
        let text = format!("{} did not compute parity inside ({error}): the host does it", state.name());
        self.reactor.shared.log_repeated("conversion", &state.name(), text);
    }
}
