//! Writes to the log: at its end, or to the other side when its own is full.

use std::ops::Range;

use cygnus_runtime::{BufSlice, Extra, IoError, IoErrorKind, Op, Runtime};
use cygnus_types::BLOCK;

use super::record::MOST_BLOCKS;
use super::{COPIES, LogRecord, What};
use crate::ground::Ground;
use crate::logged::HeadLog;
use crate::pieces::{all, part, read_whatever};
use crate::shape::LogShape;

impl Ground {
    pub(super) async fn append_to_log(
        &self,
        rt: &Runtime,
        log: &mut HeadLog,
        blocks: Range<u64>,
        buf: &BufSlice,
    ) -> Result<(), IoError> {
        for zone in std::mem::take(&mut log.left) {
            self.is_still(log.opening)?;
            self.finish_zone(rt, zone).await?;
        }
        if log.side.is_some() && self.put(rt, log, blocks.clone(), buf).await? {
            return Ok(());
        }
        *log = self.begin_side(rt, log).await?;
        match self.put(rt, log, blocks, buf).await? {
            true => Ok(()),
            false => Err(IoError::new(IoErrorKind::NoSpace)),
        }
    }

    /// Contents of blocks go to the end of the log. `false`: it has no room for all of them.
    async fn put(&self, rt: &Runtime, log: &mut HeadLog, blocks: Range<u64>, buf: &BufSlice) -> Result<bool, IoError> {
        let mut first = blocks.start;
        while first < blocks.end {
            let Some(room) = self.find_room(rt, log, 2).await? else { return Ok(false) };
            let piece = first..blocks.end.min(first + (room - 1).min(MOST_BLOCKS));
            let new = part(buf, &blocks, &piece);
            self.put_record(rt, log, What::of(first, new.bytes()), Some(&new)).await?;
            log.places.extend(piece.clone().zip(log.at - (piece.end - piece.start)..));
            first = piece.end;
        }
        Ok(true)
    }

    /// Goes on to a zone that has room for at least so many blocks, and tells how many it has.
    async fn find_room(&self, rt: &Runtime, log: &mut HeadLog, least: u64) -> Result<Option<u64>, IoError> {
        let (shape, of_log) = (&self.zoned().shape, self.log_shape());
        loop {
            match log.room(shape, of_log) {
                0 => return Ok(None),
                room if room >= least => return Ok(Some(room)),
                room => {
                    self.is_still(log.opening)?;
                    self.finish_zone(rt, shape.zone_of(log.at)).await?;
                    log.at += room;
                }
            }
        }
    }

    /// A record, with its blocks, goes where the log goes on. There is room for it.
    async fn put_record(
        &self,
        rt: &Runtime,
        log: &mut HeadLog,
        what: What,
        blocks: Option<&BufSlice>,
    ) -> Result<(), IoError> {
        let len = blocks.map_or(0, BufSlice::len);
        let mut buf = rt.alloc(BLOCK + len);
        let record = LogRecord { generation: log.generation, secret: log.secret, at: log.at, what };
        record.encode_into(&mut buf.bytes_mut()[..BLOCK]);
        if let Some(blocks) = blocks {
            buf.write(BLOCK, blocks.bytes());
        }
        self.write_place(rt, log.at, buf.full(), log.opening).await?;
        log.at += 1 + (len / BLOCK) as u64;
        Ok(())
    }

    async fn put_copies(&self, rt: &Runtime, log: &mut HeadLog, what: &What) -> Result<(), IoError> {
        for _ in 0..COPIES {
            self.find_room(rt, log, 1).await?.ok_or(IoError::new(IoErrorKind::NoSpace))?;
            self.put_record(rt, log, what.clone(), None).await?;
        }
        Ok(())
    }

    /// All that the head holds goes to the side that does not count, which then does.
    async fn begin_side(&self, rt: &Runtime, old: &HeadLog) -> Result<HeadLog, IoError> {
        let (shape, of_log) = (&self.zoned().shape, self.log_shape());
        let side = old.side.map_or(0, |side| 1 - side);
        self.is_still(old.opening)?;
        self.reset_side(rt, of_log, side).await?;
        let mut new = HeadLog {
            side: Some(side),
            generation: old.generation + 1,
            secret: (u128::from(rt.rng_u64()) << 64 | u128::from(rt.rng_u64())).to_le_bytes(),
            at: u64::from(side * of_log.side) * shape.zone,
            opening: old.opening,
            ..HeadLog::default()
        };
        self.put_copies(rt, &mut new, &What::Begins).await?;
        for (run, at) in old.runs(shape, 0..of_log.head) {
            let copy =
                read_whatever(rt, at..at + (run.end - run.start), |at, buf| self.read_place(rt, at, buf)).await?;
            if !self.put(rt, &mut new, run, &copy.full()).await? {
                return Err(IoError::new(IoErrorKind::NoSpace));
            }
        }
        self.flush_beneath(rt).await?;
        self.put_copies(rt, &mut new, &What::Complete).await?;
        self.flush_beneath(rt).await?;
        self.is_still(old.opening)?;
        if let Some(side) = old.side {
            self.reset_side(rt, of_log, side).await?;
        }
        Ok(new)
    }

    async fn reset_side(&self, rt: &Runtime, log: LogShape, side: u32) -> Result<(), IoError> {
        let zones = side * log.side..(side + 1) * log.side;
        let written = zones.clone().zip(self.written_of_all(rt, zones.clone()).await?);
        let resets = written.filter(|(_, written)| !written.is_empty());
        all(resets.map(|(zone, _)| self.command(rt, Extra::Reset { zone })).collect()).await?;
        let mut table = self.zoned().table();
        zones.for_each(|zone| table.active.remove(zone));
        Ok(())
    }

    /// Writes where the head log lies, if the device is open as it was.
    async fn write_place(&self, rt: &Runtime, at: u64, buf: BufSlice, opening: u64) -> Result<(), IoError> {
        let shape = &self.zoned().shape;
        let (zone, end) = (shape.zone_of(at), at + (buf.len() / BLOCK) as u64);
        self.activate(rt, zone).await?;
        self.is_still(opening)?;
        let offset = self.zoned().shape.offset(at * BLOCK as u64);
        rt.submit_beneath(Op::Write { dev: self.dev(), offset, buf, transient: false }).await?;
        if end == shape.blocks_of(zone).end {
            self.zoned().table().active.remove(zone);
        }
        Ok(())
    }
}
