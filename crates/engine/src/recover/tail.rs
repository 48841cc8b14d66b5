//! Recovery, step "tail": stripes written after the last known flush may be torn, so their blocks are read and judged.
//!
//! A block that matches its checksum was written; one that does not, and that the parity cannot restore, was not, and
//! since no flush covered it, nobody was promised it. A stripe that is not wholly consistent cannot protect its blocks
//! any more: they are kept in memory and written anew before the array goes into service. So are those of the stripes
//! behind it in its segment, which are found by way of its headers, and these may be on fewer columns than a loss of m
//! members leaves.

use cygnus_format::{Kind, Place, StripeCommon};
use cygnus_parity as parity;
use cygnus_runtime::{Buf, DeviceIx};
use cygnus_types::BLOCK;

use crate::planted::{self, Bug};
use crate::reactor::Reactor;
use crate::read::columns::Columns;
use crate::read::scan::{Ending, FoundStripe};
use crate::recover::gone::LostBlocks;
use crate::recover::made_good::GoodColumns;

/// A block that exists: physical column, row below the header, and the data if it must be written anew.
pub(crate) type Existing = (u8, u32, Option<Box<[u8]>>);

/// What reading a stripe of the tail showed.
pub(crate) struct Verdict {
    /// Every block, header and parity block is as it should be.
    pub consistent: bool,
    pub blocks: Vec<Existing>,
    /// Blocks that do not exist.
    pub lost: usize,
}

/// Reads whole stripes, and judges those of the tail: see the module's text.
pub(crate) struct StripeReader<'a> {
    reactor: &'a Reactor,
}

impl<'a> StripeReader<'a> {
    pub(crate) fn of(reactor: &'a Reactor) -> Self {
        Self { reactor }
    }

    /// Rows of all columns below the headers, by physical column; `None` where a column cannot be read. A block that its
    /// device cannot read is zeros, which its checksum tells, and costs its column no other.
    pub(crate) async fn read_stripe(&self, common: &StripeCommon) -> Vec<Option<Buf>> {
        let member = |column| self.reactor.shared.layout.member(common.group, column);
        let devices: Vec<_> =
            (0..common.width()).map(|column| self.reactor.device_holding(member(column), common.segment)).collect();
        self.read_columns(common, &devices).await
    }

    /// The same of these devices, by physical column.
    pub(crate) async fn read_columns(&self, common: &StripeCommon, devices: &[Option<DeviceIx>]) -> Vec<Option<Buf>> {
        let bytes = common.rows as usize * BLOCK;
        let offset = self.reactor.shared.layout.geometry().device_offset(common.segment.0, common.first_data_row());
        let reads: Vec<_> = devices
            .iter()
            .map(|&dev| {
                let dev = dev?;
                (bytes > 0).then(|| {
                    let buf = self.reactor.rt.alloc(bytes);
                    let op = self.reactor.rt.read(dev, offset, buf.full());
                    (buf, op)
                })
            })
            .collect();
        let mut columns = Vec::with_capacity(reads.len());
        for (&dev, read) in devices.iter().zip(reads) {
            columns.push(match (dev, read) {
                (None, _) | (_, None) => None,
                (Some(dev), Some((buf, op))) => match op.await {
                    Ok(_) => Some(buf),
                    Err(error) if error.kind.is_of_range() => Some(self.read_singly(common, dev).await),
                    Err(_) => None,
                },
            });
        }
        columns
    }

    /// As [`StripeReader::read_stripe`], from a group all of whose members in service answer.
    pub(crate) async fn read_stripe_surely(&self, common: &StripeCommon) -> Result<Vec<Option<Buf>>, Ending> {
        loop {
            let silences = self.reactor.silences(common.group);
            let columns = self.read_stripe(common).await;
            if !self.reactor.was_disturbed(common.group, silences) {
                return Ok(columns);
            }
            if !self.reactor.until_it_answers(common.group).await {
                return Err(Ending);
            }
        }
    }

    /// The rows of a column, block by block.
    async fn read_singly(&self, common: &StripeCommon, dev: DeviceIx) -> Buf {
        let mut whole = self.reactor.rt.alloc(common.rows as usize * BLOCK);
        for (row, into) in (common.first_data_row()..).zip(whole.bytes_mut().chunks_exact_mut(BLOCK)) {
            let buf = self.reactor.rt.alloc(BLOCK);
            let offset = self.reactor.shared.layout.geometry().device_offset(common.segment.0, row);
            match self.reactor.rt.read(dev, offset, buf.full()).await {
                Ok(_) => into.copy_from_slice(buf.bytes()),
                Err(_) => into.fill(0),
            }
        }
        whole
    }

    /// Reads and judges a stripe. Blocks that are `given_up` were there, and are lost.
    pub(crate) async fn judge_stripe(&self, stripe: &FoundStripe, given_up: &LostBlocks) -> Verdict {
        let common = &stripe.common;
        let columns = GoodColumns::of(self.reactor).foreseen(stripe, self.read_stripe(common).await).await;
        let mut full = Columns::new(common, columns);
        let mut consistent = stripe.has_all_copies(self.reactor) && stripe.entries.iter().all(Option::is_some);
        consistent &= full.fill_missing() && full.parity_matches() && full.void_is_zeros(&stripe.entries);
        let mut blocks = Vec::new();
        let mut lost = 0;
        for (column, row, entry) in stripe.blocks() {
            if entry.kind() == Kind::Void {
                continue;
            }
            let row_below = common.first_data_row() + row;
            let place = Place { group: common.group, segment: common.segment, column, row: row_below };
            if given_up.contains(&place) && !planted::is(Bug::LostCountsAsUnwritten) {
                // Whatever lies there. Where nothing is written it is still what the member had.
                consistent = false;
                blocks.push((column, row, None));
                continue;
            }
            let here = full.block(column, row).filter(|b| parity::checksum::crc32c(b) == entry.crc());
            match here.map(Box::from).or_else(|| full.restore(column, row, entry.crc())) {
                Some(data) if here.is_some() => blocks.push((column, row, Some(data))),
                Some(data) => {
                    consistent = false;
                    blocks.push((column, row, Some(data)));
                }
                None => {
                    consistent = false;
                    lost += 1;
                }
            }
        }
        Verdict { consistent, blocks, lost }
    }
}
