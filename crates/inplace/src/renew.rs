//! Whole stripes made to fit again: after a crash, when a device is filled, when somebody asks whether they do.

use std::rc::Rc;

use cygnus_runtime::Buf;
use cygnus_types::BLOCK;

use crate::band::generate;
use crate::core::Core;
use crate::error::RaidError;
use crate::lock::Range;
use crate::turns::Turn;

/// Nobody else writes to a stripe as long as this is kept.
pub(crate) enum Alone {
    Turn { _turn: Turn },
    Range { _range: Range },
}

/// Blocks of a device that are not what the others say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Misfit {
    /// A copy differs from the first one, or parity is not what the data gives, from this row of the stripe on.
    Differs { device: usize, row: u32, blocks: u32 },
    /// The device cannot deliver its part of the stripe.
    Unreadable { device: usize },
}

impl Core {
    pub(crate) async fn alone_at(self: &Rc<Self>, stripe: u64) -> Alone {
        if self.layout.level().parity() > 0 {
            return Alone::Turn { _turn: self.stripe_turn(stripe).await };
        }
        let blocks = u64::from(self.layout.chunk_blocks()) * self.layout.data_columns() as u64;
        Alone::Range { _range: self.ranges.take(stripe * blocks, blocks).await }
    }

    /// Makes the copies or the parity of a stripe fit its data.
    pub(crate) async fn resync_stripe(self: &Rc<Self>, stripe: u64) -> Result<(), RaidError> {
        let _alone = self.alone_at(stripe).await;
        match self.layout.level().parity() {
            0 => self.undisturbed(async || self.copy_to(stripe, |_| true).await).await,
            _ => self.undisturbed(async || self.renew_parity(stripe).await).await,
        }
    }

    /// Gives a device what it should hold of a stripe.
    pub(crate) async fn fill_stripe(self: &Rc<Self>, stripe: u64, device: usize) -> Result<(), RaidError> {
        let _alone = self.alone_at(stripe).await;
        if self.layout.level().parity() == 0 {
            return self.undisturbed(async || self.copy_to(stripe, |target| target == device).await).await;
        }
        let restored = self.undisturbed(async || self.column_of_others(stripe, device, 0, self.rows()).await).await?;
        if self.is_failed(device) {
            return Ok(());
        }
        self.ended(vec![self.start_write(device, stripe, 0, restored.full())]).await
    }

    /// Rows of a device's column, made from the other columns; only for levels with parity.
    pub(crate) async fn column_of_others(
        &self,
        stripe: u64,
        device: usize,
        row: u32,
        rows: u32,
    ) -> Result<Buf, RaidError> {
        let width = self.layout.devices();
        let wanted = (0..width).find(|&column| self.layout.device(stripe, column) == device);
        let wanted = wanted.expect("each device has a column of each stripe");
        let columns = self.read_columns(stripe, row, rows, (0..width).filter(|&column| column != wanted)).await;
        self.reconstruct(stripe, &columns, wanted, row, rows)
    }

    fn rows(&self) -> u32 {
        self.layout.chunk_blocks()
    }

    fn stripe_bytes(&self) -> usize {
        self.rows() as usize * BLOCK
    }

    /// Copies the first copy that can be read of each column to those of the others that `wants` names.
    async fn copy_to(self: &Rc<Self>, stripe: u64, wants: impl Fn(usize) -> bool) -> Result<(), RaidError> {
        // All reads come first: an attempt that ends with an unreadable one has written nothing.
        let mut copies = Vec::new();
        for column in 0..self.layout.data_columns() {
            let targets = || self.layout.copies(stripe, column).filter(|&device| !self.is_failed(device));
            if targets().count() < 2 || !targets().any(&wants) {
                continue;
            }
            let buf = self.rt.alloc(self.stripe_bytes());
            let source = self.read_copy(stripe, column, 0, &buf.full(), None).await?;
            copies.extend(
                targets().filter(|&device| device != source && wants(device)).map(|device| (device, buf.full())),
            );
        }
        let there = copies.into_iter().filter(|&(device, _)| !self.is_failed(device));
        self.ended(there.map(|(device, bytes)| self.start_write(device, stripe, 0, bytes)).collect()).await
    }

    async fn read_chunk(&self, stripe: u64, device: usize) -> Option<Buf> {
        let buf = self.rt.alloc(self.stripe_bytes());
        let slot = self.slot(device);
        match self.start_read(device, stripe, 0, buf.full()).await {
            Ok(_) => Some(buf),
            Err(error) => {
                self.read_failed(slot, stripe, error);
                None
            }
        }
    }

    /// The parity of a stripe, from its data; data that cannot be read is restored from the parity there is.
    async fn renew_parity(self: &Rc<Self>, stripe: u64) -> Result<(), RaidError> {
        let mut columns = self.read_columns(stripe, 0, self.rows(), 0..self.layout.devices()).await;
        let parity = self.parity_of(stripe, &mut columns)?;
        let mut writes = Vec::new();
        for (column, buf) in (self.layout.data_columns()..).zip(&parity) {
            let device = self.layout.device(stripe, column);
            if !self.is_failed(device) {
                writes.push(self.start_write(device, stripe, 0, buf.full()));
            }
        }
        self.ended(writes).await
    }

    /// Restores the data columns that are missing, and makes all parity from the data.
    fn parity_of(&self, stripe: u64, columns: &mut [Option<Buf>]) -> Result<Vec<Buf>, RaidError> {
        let k = self.layout.data_columns();
        for column in 0..k {
            if columns[column].is_none() {
                columns[column] = Some(self.reconstruct(stripe, columns, column, 0, self.rows())?);
            }
        }
        let len = self.stripe_bytes();
        let data: Vec<&[u8]> = columns[..k].iter().flatten().map(|buf| buf.part(0..len)).collect();
        let mut parity = self.parity_bufs(len);
        generate(&data, &mut parity, len);
        Ok(parity)
    }

    /// Whether the copies or the parity of a stripe fit its data, and if not, where.
    pub(crate) async fn misfits(self: &Rc<Self>, stripe: u64) -> Vec<Misfit> {
        let _alone = self.alone_at(stripe).await;
        let mut misfits = Vec::new();
        if self.layout.level().parity() > 0 {
            self.parity_misfits(stripe, &mut misfits).await;
        } else {
            for column in 0..self.layout.data_columns() {
                self.copy_misfits(stripe, column, &mut misfits).await;
            }
        }
        misfits
    }

    async fn parity_misfits(self: &Rc<Self>, stripe: u64, misfits: &mut Vec<Misfit>) {
        let width = self.layout.devices();
        let mut columns = self.read_columns(stripe, 0, self.rows(), 0..width).await;
        for (column, read) in columns.iter().enumerate() {
            let device = self.layout.device(stripe, column);
            if read.is_none() && !self.lacks(device, stripe) {
                misfits.push(Misfit::Unreadable { device });
            }
        }
        let found: Vec<Option<Buf>> = columns.drain(self.layout.data_columns()..).collect();
        let absent = found.iter().map(|_| None);
        let mut known: Vec<Option<Buf>> = columns.into_iter().chain(absent).collect();
        if known[..self.layout.data_columns()].iter().any(Option::is_none) {
            // With data missing there is less parity to compare with; what is restored from all of it fits by itself.
            return;
        }
        let Ok(wanted) = self.parity_of(stripe, &mut known) else { return };
        for (which, (wanted, found)) in wanted.iter().zip(&found).enumerate() {
            let device = self.layout.device(stripe, self.layout.data_columns() + which);
            if let Some(found) = found {
                misfits.extend(self.difference(device, wanted, found));
            }
        }
    }

    async fn copy_misfits(self: &Rc<Self>, stripe: u64, column: usize, misfits: &mut Vec<Misfit>) {
        let mut first: Option<Buf> = None;
        for device in self.layout.copies(stripe, column).filter(|&device| !self.lacks(device, stripe)) {
            match (self.read_chunk(stripe, device).await, &first) {
                (None, _) => misfits.push(Misfit::Unreadable { device }),
                (Some(copy), Some(first)) => misfits.extend(self.difference(device, first, &copy)),
                (Some(copy), None) => first = Some(copy),
            }
        }
    }

    fn difference(&self, device: usize, wanted: &Buf, found: &Buf) -> Option<Misfit> {
        let differs = |row: &u32| {
            let range = *row as usize * BLOCK..(*row as usize + 1) * BLOCK;
            wanted.part(range.clone()) != found.part(range)
        };
        let rows: Vec<u32> = (0..self.rows()).filter(differs).collect();
        let &row = rows.first()?;
        Some(Misfit::Differs { device, row, blocks: rows.len() as u32 })
    }
}
