//! Opening, step "remains": what a server that was killed has left in kept memory is put where it was on its way to.
//!
//! A stripe that had its sequence is made again as it was, to the byte: some of its columns may be on their devices already,
//! and what the killed process had handed to the system may still come there. One that was being filled is closed at the height it
//! had reached, with a sequence above all others. When the devices have all of them, flushed, the rest of the opening finds
//! them as it finds all stripes that no flush was known to cover. So it does no harm to do this twice.

use std::collections::BTreeSet;
use std::io;
use std::rc::Rc;

use cygnus_format::{
    ArrayState, KEPT_NUMBERS, KeptError, KeptHeader, KeptShape, KeptStripe, Kind, OpenStripe, Rotation, Stream,
};
use cygnus_parity as parity;
use cygnus_runtime::{DeviceIx, Keeper, KeptFile};
use cygnus_types::BLOCK;

use crate::error::ArrayError;
use crate::planted::{self, Bug};
use crate::reactor::Reactor;
use crate::write::kept::{CELLS_AT, shape_of};
use crate::write::lane::Lane;
use crate::write::stripe::{Closing, Stripe, StripePlace};

/// What came of it.
#[derive(Default)]
pub(crate) struct Restored {
    pub stripes: usize,
    pub blocks: u64,
    /// Not all that was on its way was in kept memory.
    pub is_short: bool,
}

impl Restored {
    pub(crate) fn add(&mut self, other: &Self) {
        self.stripes += other.stripes;
        self.blocks += other.blocks;
        self.is_short |= other.is_short;
    }
}

/// A stripe that was left, and what it is to be closed with.
struct Remains {
    cell: u64,
    record: Vec<u8>,
    /// Its sequence, and below which one all were durable then.
    seq: Option<(u64, u64)>,
}

/// What was left cannot be put on the devices.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RestoreError {
    #[error(transparent)]
    Unreadable(#[from] io::Error),
    #[error("it was cut short: it has room for {has} stripes, and had it for {had}")]
    CutShort { has: u64, had: u64 },
    #[error("cell {cell}: {error}")]
    Record { cell: u64, error: KeptError },
    #[error("the stripe in cell {cell}: {what}")]
    Changed { cell: u64, what: Changed },
    #[error("too few members take it ({0})")]
    Refused(String),
}

/// How a stripe that was left is not what it was.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Changed {
    #[error("the array has no such place")]
    NoPlace,
    #[error("{0}")]
    Unreadable(io::Error),
    #[error("a block in it has another checksum than was noted")]
    Checksum,
    #[error("it has more discards than there is room for")]
    Discards,
}

/// Puts what was left on the devices: see the module's text.
pub(crate) struct Restorer {
    reactor: Rc<Reactor>,
    file: KeptFile,
    session: u64,
    shape: KeptShape,
}

impl Restorer {
    /// What the keeper has of the session before, if that was killed and this array goes on after it.
    ///
    /// # Errors
    /// When there is something that cannot be read, or is of a session that the members know nothing of.
    pub(crate) fn find(
        reactor: &Rc<Reactor>,
        keeper: &dyn Keeper,
        state: &ArrayState,
    ) -> Result<Option<Self>, ArrayError> {
        let unusable = |why: String| ArrayError::Remains { place: keeper.place(), why };
        let file = match keeper.left() {
            Ok(Some(file)) => file,
            Ok(None) => return Ok(None),
            // Whatever it is, it is not of a server that was killed.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && state.clean => return Ok(None),
            Err(error) => return Err(unusable(error.to_string())),
        };
        let mut block = [0; BLOCK];
        if file.read(0, &mut block).is_err() || block == [0; BLOCK] {
            // A session was about to begin. Nothing had been written in it, numbers neither.
            let has_numbers = file.read(KEPT_NUMBERS, &mut block).is_ok() && block != [0; BLOCK];
            return match has_numbers && !state.clean {
                true => Err(unusable("it has lost its beginning".into())),
                false => Ok(None),
            };
        }
        let header = KeptHeader::decode(&block).map_err(|error| unusable(error.to_string()))?;
        let (array, session, shape) = (header.array, header.session, header.shape);
        if array != reactor.home().uuid {
            return Err(unusable(format!("it is of another array ({array})")));
        }
        // The array was closed since, or has gone on elsewhere: then all of it is on the devices, or nobody was promised it.
        if session < state.session || state.clean && session == state.session {
            return Ok(None);
        }
        let found = Self { reactor: reactor.clone(), file, session, shape };
        let is_empty = || found.remains().map(|all| all.is_empty()).map_err(|error| unusable(error.to_string()));
        if header.is_of_others(state) {
            return match is_empty()? {
                true => Ok(None),
                false => Err(unusable("it is of members that went on without those that are here".into())),
            };
        }
        if session == state.session {
            let expected = shape_of(&reactor.shared.protections);
            return match shape == expected {
                true => Ok(Some(found)),
                false => Err(unusable("its cells are of another shape than the array's stripes".into())),
            };
        }
        // It was made, and the members never got word of the session.
        match is_empty()? {
            true => Ok(None),
            false => Err(unusable(format!("it is of session {session}, and the members know {} only", state.session))),
        }
    }

    /// Puts all of it on the devices.
    ///
    /// # Errors
    /// When the devices do not take it, or it is not what it was.
    pub(crate) async fn restore(&self) -> Result<Restored, RestoreError> {
        let mut numbers = vec![0; BLOCK];
        self.file.read(KEPT_NUMBERS, &mut numbers)?;
        let numbers: Vec<u64> =
            numbers.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes"))).collect();
        let mut restored = Restored { stripes: 0, blocks: 0, is_short: numbers[0] != 0 };
        let (had, has) = (numbers[CELLS_AT], self.shape.cells_in(self.file.len()?));
        if has < had {
            return Err(RestoreError::CutShort { has, had });
        }
        let mut next = numbers[1..CELLS_AT].iter().copied().max().unwrap_or(0);
        let mut written = BTreeSet::new();
        for remains in self.remains()? {
            let (seq, durable) = remains.seq.unwrap_or_else(|| {
                next += 1;
                (next, 0)
            });
            let stripe = self.made_again(&remains, seq, durable)?;
            restored.stripes += 1;
            restored.blocks += u64::from(stripe.blocks());
            if planted::is(Bug::RemainsStayBehind) {
                continue;
            }
            written.extend(self.write(&stripe).await?);
        }
        self.flush(written).await;
        Ok(restored)
    }

    /// The stripes that were left: those that have sequences first, in their order.
    fn remains(&self) -> Result<Vec<Remains>, RestoreError> {
        let cells = self.shape.cells_in(self.file.len()?);
        let mut all = Vec::new();
        for cell in 0..cells {
            let mut record = vec![0; self.shape.record_bytes()];
            self.file.read(self.shape.record_at(cell), &mut record)?;
            let stripe = KeptStripe::decode(&record, &self.shape);
            let stripe = stripe.map_err(|error| RestoreError::Record { cell, error })?;
            let Some(seq) = stripe.map(|stripe| stripe.seq) else { continue };
            all.push(Remains { cell, record, seq });
        }
        all.sort_by_key(|remains| remains.seq.map_or(u64::MAX, |(seq, _)| seq));
        Ok(all)
    }

    /// The stripe as it is to be written.
    fn made_again(&self, remains: &Remains, seq: u64, durable: u64) -> Result<Stripe, RestoreError> {
        let shared = &self.reactor.shared;
        let decoded = KeptStripe::decode(&remains.record, &self.shape);
        let left = decoded.ok().flatten().expect("it was decoded before");
        let changed = |what| RestoreError::Changed { cell: remains.cell, what };
        let OpenStripe { rotation, reactor, .. } = left.place;
        let place = self.place(&left.place).ok_or_else(|| changed(Changed::NoPlace))?;
        let geometry = shared.shapes(place.group).shape(rotation.protection()).expect("its place was found");
        let mut stripe = Stripe::allocate(&self.reactor.rt, None, shared.protections.tallest(), geometry, place);
        let mut block = [0; BLOCK];
        for (slot, entry) in (0..).zip(left.entries) {
            if entry.kind() == Kind::Void {
                stripe.leave_out();
                stripe.give_up_left_out();
                continue;
            }
            let (column, row) = geometry.slot_place(slot, place.rows);
            let within = u64::from(place.header_blocks + row) * BLOCK as u64;
            let at = self.shape.column_at(remains.cell, column) + within;
            self.file.read(at, &mut block).map_err(|error| changed(Changed::Unreadable(error)))?;
            if parity::checksum::crc32c(&block) != entry.crc() {
                return Err(changed(Changed::Checksum));
            }
            stripe.commit(&stripe.next_spot(), *entry, &block);
        }
        for discard in left.discards {
            if !stripe.has_discard_room() {
                return Err(changed(Changed::Discards));
            }
            stripe.discard(*discard);
        }
        stripe.close(Closing { seq, array_tag: shared.array_tag, session: self.session, durable, reactor });
        Ok(stripe)
    }

    /// Where the stripe lies, if the array has that place.
    fn place(&self, place: &OpenStripe) -> Option<StripePlace> {
        let shared = &self.reactor.shared;
        let exists = place.group.index() < shared.layout.groups()
            && place.segment.0 < shared.layout.segments(place.group)
            && shared.group_state(place.group) != cygnus_format::GroupState::Retired;
        let geometry = Some(place.group)
            .filter(|_| exists)
            .and_then(|group| shared.shapes(group).shape(place.rotation.protection()))?;
        let rows = geometry.full_rows_at(place.start_row);
        let is_so = |rotation: Rotation| rotation == self.reactor.columns_of_shape(&geometry, place.segment);
        let fits = rows > 0 && place.rows == rows && place.header_blocks == geometry.header_blocks(rows);
        (fits && is_so(place.rotation)).then(|| StripePlace {
            seg: shared.segments.index(place.group, place.segment),
            group: place.group,
            segment: place.segment,
            segment_seq: place.segment_seq,
            base: shared.layout.segment_base(place.group, place.segment),
            start_row: place.start_row,
            header_blocks: place.header_blocks,
            rows,
            columns: place.rotation,
            opened: place.opened,
            lane: match place.stream {
                Stream::Clients => Lane::Clients(shared.medium(place.group)),
                Stream::Relocation => Lane::Cleaning,
                Stream::Meta => Lane::Meta,
            },
        })
    }

    /// Writes a stripe's columns; returns the devices that have taken theirs. What a device does not take is restored from the
    /// others, like all that a member lacks.
    async fn write(&self, stripe: &Stripe) -> Result<Vec<DeviceIx>, RestoreError> {
        let shared = &self.reactor.shared;
        let at = shared.layout.geometry().device_offset(stripe.place.segment.0, stripe.place.start_row);
        let mut writes = Vec::new();
        for (column, buf) in stripe.column_writes() {
            let (_, state) = shared.member(stripe.place.group, column);
            let devices = state.devices_to_write();
            writes.extend(devices.map(|dev| (column, dev, state.name(), self.reactor.rt.write(dev, at, buf.clone()))));
        }
        let (mut taken, mut columns, mut refused) = (Vec::new(), BTreeSet::new(), Vec::new());
        for (column, dev, name, op) in writes {
            match op.await {
                Ok(_) => {
                    taken.push(dev);
                    columns.insert(column);
                }
                Err(error) => refused.push(format!("{name}: {error}")),
            }
        }
        match stripe.place.columns.restores(columns.len()) {
            true => Ok(taken),
            false => Err(RestoreError::Refused(refused.join("; "))),
        }
    }

    /// A device that does not flush is found by the flush with which the session begins.
    async fn flush(&self, devices: BTreeSet<DeviceIx>) {
        let flushes: Vec<_> = devices.into_iter().map(|dev| self.reactor.rt.flush(dev)).collect();
        for flush in flushes {
            let _ = flush.await;
        }
    }
}
