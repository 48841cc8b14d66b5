//! Reads at every level, and writes at the levels without parity.

use std::rc::Rc;

use cygnus_parity as parity;
use cygnus_runtime::{Buf, BufSlice, IoClass, OpFuture};
use cygnus_types::BLOCK;

use crate::core::{Core, Reading};
use crate::device::Slot;
use crate::error::RaidError;
use crate::layout::Piece;
use crate::lock::Range;

/// A piece of a read on its way; no operation where no device of the piece's column is in service.
struct Started {
    piece: Piece,
    part: BufSlice,
    on: Option<(Slot, OpFuture, Reading)>,
}

impl Core {
    /// Reads blocks; waits for members that are silent, if there is no other way.
    pub(crate) async fn read(self: &Rc<Self>, first: u64, blocks: u64, into: BufSlice) -> Result<(), RaidError> {
        loop {
            let silences = self.care.silences();
            match self.try_read(first, blocks, &into).await {
                Err(RaidError::Unreadable(_)) if self.was_disturbed(silences) => {
                    self.until_they_answer_or_late().await?
                }
                other => return other,
            }
        }
    }

    async fn try_read(self: &Rc<Self>, first: u64, blocks: u64, into: &BufSlice) -> Result<(), RaidError> {
        let started: Vec<Started> = self.layout.pieces(first, blocks).map(|piece| self.start(piece, into)).collect();
        for Started { piece, part, on } in started {
            let tried = match on {
                None => None,
                Some((slot, op, _mark)) => match op.await {
                    Ok(_) => continue,
                    Err(error) => {
                        self.read_failed(slot, piece.stripe, error);
                        Some(slot.device)
                    }
                },
            };
            self.read_otherwise(piece, tried, &part).await?;
        }
        Ok(())
    }

    fn start(self: &Rc<Self>, piece: Piece, into: &BufSlice) -> Started {
        let from = piece.at as usize * BLOCK;
        let part = into.slice(from..from + piece.rows as usize * BLOCK);
        let mut copies =
            self.layout.copies(piece.stripe, piece.column).filter(|&device| !self.cannot_read(device, piece.stripe));
        // Copies that may differ are not read in turns: what was read once must be read again.
        let chosen = if self.is_stale(piece.stripe) { copies.next() } else { self.idlest(copies) };
        let on = chosen.map(|device| {
            let op = self.start_read(device, piece.stripe, piece.row, part.clone());
            (self.slot(device), op, self.reading(device))
        });
        Started { piece, part, on }
    }

    /// Reads what the device asked first could not deliver.
    async fn read_otherwise(
        self: &Rc<Self>,
        piece: Piece,
        tried: Option<usize>,
        part: &BufSlice,
    ) -> Result<(), RaidError> {
        let Piece { stripe, column, row, rows, .. } = piece;
        if self.layout.level().parity() > 0 {
            let restored = self.restore(stripe, column, row, rows).await?;
            part.copy_from(0, restored.bytes());
            self.counters.borrow_mut().reconstructed += u64::from(rows);
            return Ok(());
        }
        self.read_copy(stripe, column, row, part, tried).await.map(|_| ())
    }

    /// Reads rows of a column from its first copy that can be read, but `not` from one device; returns which it was.
    pub(crate) async fn read_copy(
        &self,
        stripe: u64,
        column: usize,
        row: u32,
        into: &BufSlice,
        not: Option<usize>,
    ) -> Result<usize, RaidError> {
        for device in self.layout.copies(stripe, column).filter(|&device| Some(device) != not) {
            if self.cannot_read(device, stripe) {
                continue;
            }
            let slot = self.slot(device);
            match self.start_read(device, stripe, row, into.clone()).await {
                Ok(_) => return Ok(device),
                Err(error) => self.read_failed(slot, stripe, error),
            }
        }
        Err(self.unreadable(stripe, column, row))
    }

    /// Rows of a data column, made from the other columns of the stripe while nobody writes to it.
    async fn restore(self: &Rc<Self>, stripe: u64, wanted: usize, row: u32, rows: u32) -> Result<Buf, RaidError> {
        let _turn = self.stripe_turn(stripe).await;
        if self.waits_rather(stripe, wanted) {
            return Err(self.unreadable(stripe, wanted, row));
        }
        let others = (0..self.layout.devices()).filter(|&column| column != wanted);
        let columns = self.read_columns(stripe, row, rows, others).await;
        self.reconstruct(stripe, &columns, wanted, row, rows)
    }

    /// Rows of a column, data or parity, made from those of the columns that are there.
    pub(crate) fn reconstruct(
        &self,
        stripe: u64,
        columns: &[Option<Buf>],
        wanted: usize,
        row: u32,
        rows: u32,
    ) -> Result<Buf, RaidError> {
        let len = rows as usize * BLOCK;
        let views: Vec<Option<&[u8]>> = columns.iter().map(|c| c.as_ref().map(|buf| buf.part(0..len))).collect();
        let mut out = self.rt.alloc(len);
        // A parity column has no block of its own: the stripe's first one stands for it.
        let named = if wanted < self.layout.data_columns() { wanted } else { 0 };
        parity::reconstruct(self.layout.data_columns(), &views, wanted, out.part_mut(0..len))
            .map_err(|_| self.unreadable(stripe, named, row))?;
        Ok(out)
    }

    /// Reads rows of some columns of a stripe at once; `None` where a column was not asked for, or not delivered.
    pub(crate) async fn read_columns(
        &self,
        stripe: u64,
        row: u32,
        rows: u32,
        wanted: impl Iterator<Item = usize>,
    ) -> Vec<Option<Buf>> {
        let mut reads = Vec::new();
        for column in wanted {
            let device = self.layout.device(stripe, column);
            if !self.cannot_read(device, stripe) {
                let buf = self.rt.alloc(rows as usize * BLOCK);
                let op = self.start_read(device, stripe, row, buf.full());
                reads.push((column, self.slot(device), buf, op));
            }
        }
        let mut columns: Vec<_> = std::iter::repeat_with(|| None).take(self.layout.devices()).collect();
        for (column, slot, buf, op) in reads {
            match op.await {
                Ok(_) => columns[column] = Some(buf),
                Err(error) => self.read_failed(slot, stripe, error),
            }
        }
        columns
    }

    /// Writes to every copy of every piece.
    pub(crate) async fn write_copies(&self, first: u64, blocks: u64, data: BufSlice) -> Result<(), RaidError> {
        self.check_alive()?;
        let mut writes = Vec::new();
        for piece in self.layout.pieces(first, blocks) {
            let from = piece.at as usize * BLOCK;
            let part = data.slice(from..from + piece.rows as usize * BLOCK);
            for device in self.layout.copies(piece.stripe, piece.column).filter(|&device| !self.is_failed(device)) {
                writes.push(self.start_write(device, piece.stripe, piece.row, part.clone()));
            }
        }
        self.ended(writes).await
    }

    /// Tells the devices that blocks hold nothing of value, to its end, whatever becomes of the caller. Only for levels
    /// without redundancy.
    pub(crate) async fn trim(self: &Rc<Self>, first: u64, blocks: u64, alone: Range) -> Result<(), RaidError> {
        self.check_alive()?;
        let trim = |piece: Piece| {
            let device = self.layout.device(piece.stripe, piece.column);
            let in_trouble = self.device(device).trouble.get().is_some();
            let len = u64::from(piece.rows) * BLOCK as u64;
            let gives_back = self.rt.capabilities(self.device_ix(device)).trim;
            (gives_back && !in_trouble)
                .then(|| (self.slot(device), self.start_trim(device, piece.stripe, piece.row, len)))
        };
        let trims: Vec<_> = self.layout.pieces(first, blocks).filter_map(trim).collect();
        let core = self.clone();
        let end = async move {
            let _alone = alone;
            for (slot, trim) in trims {
                match trim.await {
                    Ok(_) => core.device(slot.device).note_write(),
                    // What was not trimmed is still there, which nobody is promised not to find.
                    Err(error) => core.undone(slot, IoClass::Trim, error),
                }
            }
            core.check_alive()
        };
        self.rt.carry_out(end).await
    }
}
