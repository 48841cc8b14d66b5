//! The head log: where superblocks and patches lie on a device without conventional zones.
//!
//! The head of such a device, from block 0 to the end of the area for patches, is written anywhere and any number of times, as on others.
//! What is written goes to a log: to the end of a run of sequential zones, a *side*, with a block that says what it replaces
//! ([`record`]). When the side is full, all that the head holds goes to the other side, durably; then a record says that this one is
//! complete, and the old side is reset. What was never written is zeros.
//!
//! Whoever opens the device reads both sides ([`scan`]), and goes by the newer one of those that are complete. There is none on a device
//! that was never written to in this way: its head is then what the device holds at its start, so that whoever looks for somebody
//! else's data finds it.
//!
//! What is done to the log is done one after the other, in turns of zone 0, which is nobody else's.

mod now;
mod record;
mod scan;
mod write;

use std::ops::Range;

use cygnus_runtime::{BufSlice, Extra, IoError, Op, Outcome, Runtime};
use cygnus_types::BLOCK;

use crate::ground::{Ground, told_in};
use crate::logged::HeadLog;
use crate::pieces::{all, part};
use crate::shape::written;
use crate::turn::Turn;

pub use record::{LogRecord, What};

/// The zone whose turns the log's users take.
const OF_LOG: u32 = 0;

/// Copies of what a side cannot do without.
const COPIES: u64 = 2;

impl Ground {
    /// Reads blocks of the head.
    pub(crate) async fn read_head(&self, rt: &Runtime, blocks: Range<u64>, buf: BufSlice) -> Result<Outcome, IoError> {
        let turn = Turn::join(self, rt, OF_LOG);
        turn.come(rt).await;
        let log = self.take_log(rt).await?;
        let read = self.read_logged(rt, &log, blocks, &buf).await;
        self.put_log(log);
        turn.close();
        read.map(|()| Outcome::Done)
    }

    /// Writes blocks of the head.
    pub(crate) async fn write_head(&self, rt: &Runtime, blocks: Range<u64>, buf: BufSlice) -> Result<Outcome, IoError> {
        let turn = Turn::join(self, rt, OF_LOG);
        turn.come(rt).await;
        // After an error nobody knows how far the log is written: whoever comes next looks.
        let mut log = self.take_log(rt).await?;
        self.append_to_log(rt, &mut log, blocks, &buf).await?;
        self.put_log(log);
        turn.close();
        Ok(Outcome::Done)
    }

    /// What is known of the log, for whoever has the turn.
    async fn take_log(&self, rt: &Runtime) -> Result<HeadLog, IoError> {
        let (known, opening) = {
            let mut table = self.zoned().table();
            (table.log.take(), table.opening)
        };
        match known {
            Some(log) => Ok(log),
            None => Ok(HeadLog { opening, ..self.scan_log(rt).await? }),
        }
    }

    fn put_log(&self, log: HeadLog) {
        let mut table = self.zoned().table();
        if table.opening == log.opening {
            table.log = Some(log);
        }
    }

    async fn read_logged(
        &self,
        rt: &Runtime,
        log: &HeadLog,
        blocks: Range<u64>,
        buf: &BufSlice,
    ) -> Result<(), IoError> {
        if log.side.is_none() {
            return self.read_as_it_is(rt, blocks, buf).await;
        }
        buf.zero(0..buf.len());
        let runs = log.runs(&self.zoned().shape, blocks.clone());
        all(runs.into_iter().map(|(run, at)| self.read_place(rt, at, part(buf, &blocks, &run))).collect()).await
    }

    /// Reads the start of a device that has no log. What it does not give, or was never written, is zeros.
    async fn read_as_it_is(&self, rt: &Runtime, blocks: Range<u64>, buf: &BufSlice) -> Result<(), IoError> {
        buf.zero(0..buf.len());
        for (zone, piece) in self.zoned().shape.pieces_beneath(blocks.clone()) {
            let report = rt.submit_beneath(Op::Extra { dev: self.dev(), what: Extra::Report { zone } }).await?;
            let there = written(&piece, &told_in(report));
            if there.is_empty() {
                continue;
            }
            let (offset, part) = (there.start * BLOCK as u64, part(buf, &blocks, &there));
            match rt.submit_beneath(Op::Read { dev: self.dev(), offset, buf: part.clone() }).await {
                Err(error) if error.kind.is_of_range() => part.zero(0..part.len()),
                other => drop(other?),
            }
        }
        Ok(())
    }
}
