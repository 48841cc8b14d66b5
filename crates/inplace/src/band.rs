//! Renewing the parity of some rows of a stripe.
//!
//! Linux md chooses for each row between *read-modify-write* (read the old contents of what is written, and the parity;
//! the parity changes by the difference) and *reconstruct-write* (read everything that is not written, and make the
//! parity anew), whichever reads fewer blocks. With devices missing, one of the two may be impossible, and when both are,
//! everything there is gets read and what is missing is restored first.

use std::rc::Rc;

use cygnus_parity as parity;
use cygnus_runtime::{Buf, OpFuture};
use cygnus_types::BLOCK;

use crate::batch::{Band, Batch, Columns};
use crate::core::Core;
use crate::device::Slot;
use crate::error::RaidError;
use crate::stripes::Waiting;

/// What is read before the parity of a band can be renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plan {
    /// Nothing, and no parity is made: all its devices have failed.
    DataOnly,
    /// Nothing: all of it is written.
    Full,
    /// The old contents of what is written, and the parity.
    ReadModify,
    /// What is not written.
    Reconstruct,
    /// Everything there is.
    Restore,
}

/// What a plan depends on. Columns are bits; parity columns follow the data columns.
#[derive(Clone, Copy, Debug)]
struct Situation {
    data: usize,
    parity: usize,
    written: Columns,
    /// Columns whose devices have failed.
    failed: u128,
    /// Columns that cannot be read, those failed included.
    unreadable: u128,
}

impl Situation {
    fn plan(&self) -> Plan {
        let all = u64::MAX >> (64 - self.data);
        let parity = ((1u128 << self.parity) - 1) << self.data;
        let unwritten = all & !self.written;
        if self.failed & parity == parity {
            return Plan::DataOnly;
        }
        if unwritten == 0 {
            return Plan::Full;
        }
        let renewed = parity & !self.failed;
        let modify = (u128::from(self.written) | renewed) & self.unreadable == 0;
        let reconstruct = u128::from(unwritten) & self.unreadable == 0;
        let cost_of_modify = self.written.count_ones() + renewed.count_ones();
        match (modify, reconstruct) {
            (true, true) if cost_of_modify < unwritten.count_ones() => Plan::ReadModify,
            (_, true) => Plan::Reconstruct,
            (true, false) => Plan::ReadModify,
            (false, false) => Plan::Restore,
        }
    }

    fn reads(&self, plan: Plan, column: usize) -> bool {
        let is_parity = column >= self.data;
        let written = !is_parity && self.written >> column & 1 == 1;
        let readable = self.unreadable >> column & 1 == 0;
        readable
            && match plan {
                Plan::DataOnly | Plan::Full => false,
                Plan::ReadModify => written || is_parity,
                Plan::Reconstruct => !written && !is_parity,
                Plan::Restore => true,
            }
    }
}

/// A band whose reads are on their way.
struct Prepared {
    band: Band,
    plan: Plan,
    reads: Vec<Option<(Slot, Buf, OpFuture)>>,
}

impl Core {
    /// Writes to a stripe: data, and the parity that goes with it.
    pub(crate) async fn carry_out(self: &Rc<Self>, stripe: u64, writes: &[Waiting]) -> Result<(), RaidError> {
        self.check_alive()?;
        let silences = self.care.silences();
        let batch = Batch::new(&self.rt, self.layout.data_columns(), self.layout.chunk_blocks(), writes);
        let prepared: Vec<Prepared> = batch.bands().into_iter().map(|band| self.prepare(stripe, band, 0)).collect();
        let mut out = Vec::new();
        for prepared in prepared {
            let band = prepared.band;
            let parity = self.renew(stripe, &batch, prepared, silences).await?;
            let data = (0..self.layout.data_columns()).filter(|&column| band.written >> column & 1 == 1);
            let data = data.map(|column| (column, batch.slice(column, &band)));
            let parity = (self.layout.data_columns()..).zip(parity.iter().map(Buf::full));
            for (column, bytes) in data.chain(parity) {
                let device = self.layout.device(stripe, column);
                if !self.is_failed(device) {
                    out.push(self.start_write(device, stripe, band.row, bytes));
                }
            }
        }
        self.ended(out).await
    }

    /// Starts the reads that a band needs.
    fn prepare(&self, stripe: u64, band: Band, unreadable: u128) -> Prepared {
        let columns = 0..self.layout.devices();
        let those = |is: &dyn Fn(usize) -> bool| {
            let columns = columns.clone().filter(|&column| is(self.layout.device(stripe, column)));
            columns.fold(0, |mask, column| mask | 1 << column)
        };
        let failed = those(&|device| self.is_failed(device));
        let unreadable = unreadable | those(&|device| self.cannot_read(device, stripe));
        let (data, parity) = (self.layout.data_columns(), self.layout.level().parity());
        let situation = Situation { data, parity, written: band.written, failed, unreadable };
        let plan = situation.plan();
        let reads: Vec<_> = columns
            .map(|column| {
                situation.reads(plan, column).then(|| {
                    let buf = self.rt.alloc(band.rows as usize * BLOCK);
                    let device = self.layout.device(stripe, column);
                    let op = self.start_read(device, stripe, band.row, buf.full());
                    (self.slot(device), buf, op)
                })
            })
            .collect();
        let mut counters = self.counters.borrow_mut();
        counters.read_for_parity += u64::from(band.rows) * reads.iter().flatten().count() as u64;
        match plan {
            Plan::DataOnly | Plan::Full => counters.full += 1,
            Plan::ReadModify => counters.read_modify += 1,
            Plan::Reconstruct | Plan::Restore => counters.reconstruct += 1,
        }
        Prepared { band, plan, reads }
    }

    /// Waits for a band's reads and makes its parity. What could not be read because somebody was silent, since there were so
    /// many `silences`, is read when everybody answers: on the band's devices there is nothing new yet.
    async fn renew(
        &self,
        stripe: u64,
        batch: &Batch,
        mut prepared: Prepared,
        mut silences: u64,
    ) -> Result<Vec<Buf>, RaidError> {
        let band = prepared.band;
        loop {
            match self.try_renew(stripe, batch, prepared).await {
                Err(RaidError::Unreadable(_)) if self.was_disturbed(silences) => self.until_they_answer().await?,
                other => return other,
            }
            silences = self.care.silences();
            prepared = self.prepare(stripe, band, 0);
        }
    }

    /// Where a read fails, by another plan.
    async fn try_renew(&self, stripe: u64, batch: &Batch, mut prepared: Prepared) -> Result<Vec<Buf>, RaidError> {
        let mut unreadable = 0u128;
        loop {
            let mut columns = Vec::with_capacity(prepared.reads.len());
            let before = unreadable;
            for (column, read) in prepared.reads.into_iter().enumerate() {
                columns.push(match read {
                    None => None,
                    Some((slot, buf, op)) => match op.await {
                        Ok(_) => Some(buf),
                        Err(error) => {
                            self.read_failed(slot, stripe, error);
                            unreadable |= 1 << column;
                            None
                        }
                    },
                });
            }
            let band = prepared.band;
            if unreadable == before {
                return match prepared.plan {
                    Plan::DataOnly => Ok(Vec::new()),
                    Plan::ReadModify => Ok(self.modified(batch, &band, &columns)),
                    _ => self.made_anew(stripe, batch, &band, columns),
                };
            }
            self.check_alive()?;
            prepared = self.prepare(stripe, band, unreadable);
        }
    }

    /// Parity from all the data of a band; what is neither written nor read is restored first.
    fn made_anew(
        &self,
        stripe: u64,
        batch: &Batch,
        band: &Band,
        mut columns: Vec<Option<Buf>>,
    ) -> Result<Vec<Buf>, RaidError> {
        let k = self.layout.data_columns();
        let len = band.rows as usize * BLOCK;
        let mut parity = self.parity_bufs(len);
        let is_written = |column: usize| band.written >> column & 1 == 1;
        for column in (0..k).filter(|&column| !is_written(column)) {
            if columns[column].is_some() {
                continue;
            }
            if self.waits_rather(stripe, column) {
                return Err(self.unreadable(stripe, column, band.row));
            }
            let views: Vec<Option<&[u8]>> = columns.iter().map(|c| c.as_ref().map(|buf| buf.part(0..len))).collect();
            let mut out = self.rt.alloc(len);
            parity::reconstruct(k, &views, column, out.bytes_mut())
                .map_err(|_| self.unreadable(stripe, column, band.row))?;
            columns[column] = Some(out);
        }
        let data: Vec<&[u8]> = (0..k)
            .map(|column| match &columns[column] {
                Some(old) if !is_written(column) => old.part(0..len),
                _ => batch.bytes(column, band),
            })
            .collect();
        generate(&data, &mut parity, len);
        Ok(parity)
    }

    /// The old parity plus the parity of what changes: both codes are linear.
    fn modified(&self, batch: &Batch, band: &Band, columns: &[Option<Buf>]) -> Vec<Buf> {
        let k = self.layout.data_columns();
        let len = band.rows as usize * BLOCK;
        let sum = |a: &[u8], b: &[u8]| {
            let mut out = [self.rt.alloc(len)];
            generate(&[a, b], &mut out, len);
            out
        };
        let changes: Vec<Option<[Buf; 1]>> = (0..k)
            .map(|column| {
                let old = columns[column].as_ref().filter(|_| band.written >> column & 1 == 1)?;
                Some(sum(old.part(0..len), batch.bytes(column, band)))
            })
            .collect();
        let data: Vec<&[u8]> =
            changes.iter().map(|change| change.as_ref().map_or(&[][..], |[buf]| buf.part(0..len))).collect();
        let mut change_of_parity = self.parity_bufs(len);
        generate(&data, &mut change_of_parity, len);
        let renewed = change_of_parity.into_iter().zip(&columns[k..]).map(|(change, old)| match old {
            Some(old) => {
                let [new] = sum(old.part(0..len), change.part(0..len));
                new
            }
            // Its device has failed: nobody will write it.
            None => change,
        });
        renewed.collect()
    }

    pub(crate) fn parity_bufs(&self, len: usize) -> Vec<Buf> {
        (0..self.layout.level().parity()).map(|_| self.rt.alloc(len)).collect()
    }
}

pub(crate) fn generate(data: &[&[u8]], parity: &mut [Buf], len: usize) {
    let mut views: Vec<&mut [u8]> = parity.iter_mut().map(|buf| buf.part_mut(0..len)).collect();
    parity::generate(data, &mut views);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(data: usize, parity: usize, written: &[usize], failed: &[usize]) -> Plan {
        let written = written.iter().fold(0, |mask, c| mask | 1 << c);
        let failed = failed.iter().fold(0, |mask, c| mask | 1 << c);
        Situation { data, parity, written, failed, unreadable: failed }.plan()
    }

    #[test]
    fn whichever_reads_less() {
        assert_eq!(plan(8, 1, &[3], &[]), Plan::ReadModify, "two blocks against seven");
        assert_eq!(plan(8, 1, &[0, 1, 2, 3, 4, 5, 6], &[]), Plan::Reconstruct, "one block against eight");
        assert_eq!(plan(3, 1, &[0], &[]), Plan::Reconstruct, "two against two");
        assert_eq!(plan(8, 1, &[0, 1, 2, 3, 4, 5, 6, 7], &[]), Plan::Full);
        assert_eq!(plan(64, 2, &[5], &[]), Plan::ReadModify);
    }

    #[test]
    fn what_has_failed_forbids_plans() {
        assert_eq!(plan(8, 1, &[3], &[3]), Plan::Reconstruct, "its old contents are gone");
        assert_eq!(plan(3, 1, &[0], &[1]), Plan::ReadModify, "a bystander is gone");
        assert_eq!(plan(8, 1, &[3], &[8]), Plan::DataOnly, "no parity is left to renew");
        assert_eq!(plan(8, 2, &[3], &[8]), Plan::ReadModify, "Q is");
        assert_eq!(plan(8, 2, &[3], &[3, 4]), Plan::Restore);
    }
}
