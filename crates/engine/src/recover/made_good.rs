//! The columns of a stripe as they are once those of re-admitted members are good, as far as that goes.

use cygnus_format::{Entry, Kind, MapEntry, Place, StripeCommon};
use cygnus_parity as parity;
use cygnus_runtime::{Buf, DeviceIx};
use cygnus_types::{BLOCK, GroupId, Pba};

use crate::error::ArrayError;
use crate::planted::{self, Bug};
use crate::reactor::Reactor;
use crate::read::columns::Columns;
use crate::read::scan::{FoundStripe, Scanner};
use crate::recover::assemble::Readmission;
use crate::recover::tail::StripeReader;

/// The members of a group that are re-admitted, and what is done with them.
pub(super) struct Task {
    pub(super) group: GroupId,
    pub(super) members: Vec<Readmission>,
    /// Their columns are made good; else only looked at.
    pub(super) writes: bool,
}

impl Task {
    /// Those that lack a stripe, as far as is on record.
    pub(super) fn lacking(&self, common: &StripeCommon) -> impl Iterator<Item = &Readmission> {
        let has = |of: &Readmission| of.holds.has(common.segment, common.stripe_seq);
        self.members.iter().filter(move |of| !has(of) && !planted::is(Bug::ReadmittedAsWhole))
    }
}

/// What the columns of a stripe are made.
pub(super) struct MadeGood<'a> {
    pub(super) columns: Columns<'a>,
    /// Blocks that nobody has: column and row below the headers.
    pub(super) wrong: Vec<(u8, u32)>,
    /// There was enough to restore all columns from.
    pub(super) enough: bool,
}

/// Makes columns good: see the module's text.
pub(crate) struct GoodColumns<'a> {
    reactor: &'a Reactor,
}

impl<'a> GoodColumns<'a> {
    pub(crate) fn of(reactor: &'a Reactor) -> Self {
        Self { reactor }
    }

    /// Adds what the headers of re-admitted members say of columns of a stripe that nobody else tells of: a header has the
    /// entries of m + 2 columns, and there may be but one member that was there all the time.
    pub(super) async fn ask_readmitted(&self, stripe: &mut FoundStripe, task: &Task) {
        for of in &task.members {
            if stripe.entries.iter().all(Option::is_some) {
                return;
            }
            let Some(told) = self.told_by(of, &stripe.common).await else { continue };
            for (entries, told) in stripe.entries.iter_mut().zip(told) {
                *entries = entries.take().or(told);
            }
        }
    }

    pub(super) fn cannot_readmit(&self, task: &Task, at: &Place, why: &str) -> ArrayError {
        let offset = self.reactor.shared.layout.geometry().device_offset(at.segment.0, at.row);
        let names: Vec<&str> = task.members.iter().map(|of| &*of.device.name).collect();
        let why = format!("at byte {offset} of the devices of {} {why}", at.group);
        ArrayError::CannotReadmit { device: names.join(", "), why }
    }

    /// The columns of a stripe as they are once those of re-admitted members are good; `None` if none of them lacks it.
    pub(super) async fn columns_made_good<'s>(
        &self,
        stripe: &'s FoundStripe,
        task: &Task,
    ) -> Result<Option<MadeGood<'s>>, ArrayError> {
        let common = &stripe.common;
        let targets: Vec<&Readmission> = task.lacking(common).collect();
        if targets.is_empty() {
            return Ok(None);
        }
        let devices = self.devices_with(stripe, task);
        let enough = common.rotation.restores(devices.iter().flatten().count());
        for attempt in 0..=u8::MAX {
            let mut physical = StripeReader::of(self.reactor).read_columns(common, &devices).await;
            for of in targets.iter().filter(|_| !enough && common.rows > 0) {
                let own = if attempt == 0 { self.proved_column(stripe, of).await } else { None };
                physical[usize::from(self.column_readmitted(of))] =
                    Some(own.unwrap_or_else(|| self.filled(common, attempt)));
            }
            let mut columns = Columns::new(common, physical);
            if !columns.fill_missing() {
                let place = Place { group: common.group, segment: common.segment, column: 0, row: common.start_row };
                return Err(self.cannot_readmit(task, &place, "a stripe cannot be read"));
            }
            columns.blank(&stripe.entries);
            let wrong = columns.heal(&stripe.entries);
            if enough || !wrong.iter().any(|&(column, row)| could_pass(&columns, stripe, column, row)) {
                return Ok(Some(MadeGood { columns, wrong, enough }));
            }
        }
        let place = Place { group: common.group, segment: common.segment, column: 0, row: common.start_row };
        Err(self.cannot_readmit(task, &place, "whatever is put in place of lost blocks passes for one of them"))
    }

    /// What was read of a stripe, by physical column; where re-admitted members lack it and nothing was written, as it will be.
    pub(crate) async fn foreseen(&self, stripe: &FoundStripe, read: Vec<Option<Buf>>) -> Vec<Option<Buf>> {
        let group = stripe.common.group;
        let of_group = |of: &&Readmission| self.reactor.shared.layout.column_of(of.member).0 == group;
        let members: Vec<Readmission> =
            self.reactor.home().records.unwritten.borrow().iter().filter(of_group).cloned().collect();
        if members.is_empty() || stripe.common.rows == 0 {
            return read;
        }
        let task = Task { group, members, writes: false };
        let Ok(Some(good)) = self.columns_made_good(stripe, &task).await else { return read };
        let whole = |column| {
            let mut buf = self.reactor.rt.alloc(stripe.common.rows as usize * BLOCK);
            buf.write(0, &good.columns.whole(column));
            Some(buf)
        };
        (0..stripe.common.width()).map(whole).collect()
    }

    pub(super) fn column_readmitted(&self, of: &Readmission) -> u8 {
        self.reactor.shared.layout.column_of(of.member).1
    }

    /// The devices that have their columns of a stripe, by column.
    fn devices_with(&self, stripe: &FoundStripe, task: &Task) -> Vec<Option<DeviceIx>> {
        let common = &stripe.common;
        let has = |of: &&Readmission| of.holds.has(common.segment, common.stripe_seq);
        let device = |column: u8| {
            let member = self.reactor.shared.layout.member(common.group, column);
            match task.members.iter().find(|of| of.member == member) {
                Some(of) => Some(of).filter(has).map(|of| of.device.ix),
                None => self.reactor.device_holding(member, common.segment),
            }
        };
        (0..common.width()).map(device).collect()
    }

    /// What a member has of a stripe below the header, if it has the header of this very stripe. A block that its device cannot
    /// read costs it no other. Zeros are known by their entries, and need not be there: an opening that was cut short may have
    /// written the header, and not yet what it had found to be zeros.
    async fn proved_column(&self, stripe: &FoundStripe, of: &Readmission) -> Option<Buf> {
        self.told_by(of, &stripe.common).await?;
        let mut own =
            StripeReader::of(self.reactor).read_columns(&stripe.common, &[Some(of.device.ix)]).await.pop().flatten()?;
        let (column, zeros) = (self.column_readmitted(of), parity::checksum::crc32c(&[0; BLOCK]));
        for (row, block) in own.bytes_mut().chunks_exact_mut(BLOCK).enumerate() {
            if is_of_zeros(stripe, column, row, zeros) {
                block.fill(0);
            }
        }
        Some(own)
    }

    /// The entries, by column, in the header on a member's column, if it is that of this very stripe.
    async fn told_by(&self, of: &Readmission, common: &StripeCommon) -> Option<Vec<Option<Vec<Entry>>>> {
        let bytes = self.reactor.rt.alloc(common.header_bytes());
        let offset = self.reactor.shared.layout.geometry().device_offset(common.segment.0, common.start_row);
        self.reactor.rt.read(of.device.ix, offset, bytes.full()).await.ok()?;
        let column = self.column_readmitted(of);
        let place = Place { group: common.group, segment: common.segment, column, row: common.start_row };
        let header = Scanner::of(self.reactor).header_at(place, bytes.bytes(), Some(common.segment_seq)).ok()?;
        let entries = |column| header.entries_of(column).map(<[Entry]>::to_vec);
        (header.common() == common).then(|| (0..common.width()).map(entries).collect())
    }

    /// Something in place of a column that nobody has.
    fn filled(&self, common: &StripeCommon, with: u8) -> Buf {
        let mut buf = self.reactor.rt.alloc(common.rows as usize * BLOCK);
        buf.bytes_mut().fill(with);
        buf
    }
}

/// Whether a block of a stripe is zeros, by the entries of its row; `zeros` is the checksum of zeros.
fn is_of_zeros(stripe: &FoundStripe, column: u8, row: usize, zeros: u32) -> bool {
    let entry = |column: u8| stripe.entries[usize::from(column)].as_ref().map(|of| of[row]);
    // Where nothing was put there are zeros too, and the parity counts on them.
    let zeros_are_there = |entry: Entry| entry.kind() == Kind::Void || entry.crc() == zeros;
    let rotation = stripe.common.rotation;
    if rotation.is_data(column) {
        return entry(column).is_some_and(zeros_are_there);
    }
    let mut data = (0..stripe.common.width()).filter(|&column| rotation.is_data(column));
    data.all(|column| entry(column).is_some_and(zeros_are_there))
}

/// Whether what lies in the place of a block that is lost has the bits of its checksum that maps have.
fn could_pass(columns: &Columns<'_>, stripe: &FoundStripe, column: u8, row: u32) -> bool {
    let entry = stripe.entries[usize::from(column)].as_ref().map_or(Entry::VOID, |of| of[row as usize]);
    let Some(block) = columns.block(column, row).filter(|_| entry.kind() != Kind::Void) else { return false };
    MapEntry::new(Pba(1), entry.crc()).matches(parity::checksum::crc32c(block))
}
