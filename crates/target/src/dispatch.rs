//! What each command does to the volume, and how its outcome is told.

use std::rc::Rc;

use cygnus_nbd::wire::{self, CMD_FLAG_FAST_ZERO, CMD_FLAG_NO_HOLE, CMD_FLAG_REQ_ONE};
use cygnus_nbd::{Command, Errno, Extent, ReplyEncoder, Request, Session};
use cygnus_runtime::{BufPool, BufSlice};
use cygnus_types::{BLOCK, Nanos};

use crate::event::EndReason;
use crate::jobs::{Job, Work};
use crate::nbd::{errno, neutral};
use crate::pace::UNIT_BYTES;
use crate::reads::{self, PIECE, Share, Shares};
use crate::stats::OpClass;
use crate::transmission::Transmission;
use crate::write_through::Trouble;
use cygnus_volume::{BlockVolume, VolumeError};

/// Room counted for every reply besides its data: more than any header or error takes.
pub(crate) const REPLY_COST: usize = 256;
/// Bytes considered for one answer to BLOCK_STATUS: a client asks on from where an answer ends.
const STATUS_SPAN: u64 = 256 << 20;
/// Most extents in one answer to BLOCK_STATUS: with these it fills one of the outbox's buffers.
const STATUS_EXTENTS: usize = 2040;
/// Most bytes of an answer to BLOCK_STATUS.
const STATUS_BYTES: usize = wire::CHUNK_HEADER_BYTES + 4 + 8 * STATUS_EXTENTS;
/// Discards are done in pieces that end at multiples of so many bytes, which arrays record in one go.
const DISCARD_PIECE: u64 = 16 << 20;
/// Units of a turn's work for one look at a part of the map, and for a piece of a discard.
const LOOK: u32 = 16;
const DISCARD: u32 = 64;

const _: () = assert!(ReplyEncoder::MAX_BYTES <= REPLY_COST && REPLY_COST < BLOCK);
const _: () = assert!(STATUS_EXTENTS <= wire::MAX_EXTENTS && STATUS_BYTES <= crate::outbox::HEADERS);

/// A request that was let in.
#[derive(Clone, Copy)]
pub(crate) struct Asked {
    pub(crate) request: Request,
    /// What was taken for it.
    pub(crate) share: Share,
    /// When it was parsed.
    pub(crate) started: Nanos,
}

/// The shares that a request may be let in with, the best one first.
pub(crate) fn shares(request: &Request, agreed: &Session) -> Shares {
    match request.command {
        Command::Read => reads::shares(request, agreed),
        Command::BlockStatus => Shares::one(REPLY_COST + STATUS_BYTES),
        _ => Shares::one(REPLY_COST),
    }
}

/// Units of a turn's work that it takes to let a request in.
pub(crate) fn units(request: &Request) -> u32 {
    match request.command {
        Command::Read | Command::Write => units_for((request.length as usize).min(PIECE)),
        Command::Trim | Command::WriteZeroes => units_for((request.length as usize).min(PIECE) / 4),
        _ => 1,
    }
}

/// Units of a turn's work that it takes to copy so many bytes.
pub(crate) fn units_for(bytes: usize) -> u32 {
    1 + (bytes / UNIT_BYTES) as u32
}

/// How a request failed.
enum Failure {
    Volume(VolumeError),
    /// FAST_ZERO was asked for what would not be fast.
    NotFast,
}

impl From<VolumeError> for Failure {
    fn from(error: VolumeError) -> Self {
        Failure::Volume(error)
    }
}

impl<V: BlockVolume> Transmission<V> {
    /// Serves a request as far as that is possible at once; what has to wait goes to the workers.
    /// `payload` is a WRITE's data, in the receive buffer.
    pub(crate) async fn admit(
        self: &Rc<Self>,
        request: Request,
        share: Share,
        payload: &[u8],
    ) -> Result<(), EndReason> {
        let asked = Asked { request, share, started: self.rt.now() };
        if let Err(refusal) = request.check(&self.agreed, self.volume.size()) {
            self.fail(&asked, refusal.errno, refusal.reason, None);
            return Ok(());
        }
        self.tell_tap(&asked);
        match request.command {
            Command::Write => return self.admit_write(asked, payload).await,
            // Reads do not get faster by being announced.
            Command::Cache => self.succeed(&asked),
            _ => self.queue(Job { asked, work: Work::Whole }),
        }
        Ok(())
    }

    pub(crate) fn tell_tap(&self, asked: &Asked) {
        if let Some(tap) = &self.tap
            && let Some(request) = neutral(&asked.request)
        {
            tap.request(asked.started, &request);
        }
    }

    async fn admit_write(self: &Rc<Self>, asked: Asked, payload: &[u8]) -> Result<(), EndReason> {
        match self.volume.try_write(asked.request.offset, payload) {
            Some(Ok(())) if asked.request.fua() => self.queue(Job { asked, work: Work::Durable }),
            Some(Ok(())) => self.succeed(&asked),
            Some(Err(error)) => self.fail_volume(&asked, error),
            None => {
                let data = self.copy_of(payload).await?;
                self.queue(Job { asked, work: Work::Write(data) });
            }
        }
        Ok(())
    }

    /// A copy of part of the receive buffer, as soon as there is memory for it.
    pub(crate) async fn copy_of(&self, payload: &[u8]) -> Result<BufSlice, EndReason> {
        self.take_room(BufPool::footprint(payload.len())).await?;
        let mut data = self.rt.alloc(payload.len());
        data.bytes_mut().copy_from_slice(payload);
        Ok(data.full())
    }

    /// Writes what was copied, and lets go of it.
    async fn write_copy(&self, offset: u64, data: BufSlice) -> Result<(), VolumeError> {
        let footprint = BufPool::footprint(data.len());
        let written = self.volume.write(offset, data).await;
        self.give_room(footprint);
        written
    }

    /// Does a job to its end, reply included.
    pub(crate) async fn serve(self: &Rc<Self>, job: Job) {
        let Job { asked, work } = job;
        let request = asked.request;
        let (offset, len) = (request.offset, u64::from(request.length));
        let done = match (work, request.command) {
            (_, Command::Read) => return self.serve_read(&asked).await,
            (_, Command::BlockStatus) => return self.serve_status(&asked).await,
            (Work::Piece(write, offset, data), _) => {
                if let Err(error) = self.write_copy(offset, data).await {
                    write.fail(Trouble::Volume(error));
                }
                return self.piece_is_done(&write);
            }
            (Work::Durable, _) | (_, Command::Flush) => self.volume.flush().await.map_err(Failure::from),
            (Work::Write(data), _) => {
                let written = self.write_copy(offset, data).await;
                self.durable_if_asked(request, written).await
            }
            (_, Command::Trim) => {
                let trimmed = self.in_pieces(offset, len, async |at, len| self.volume.trim(at, len).await).await;
                self.durable_if_asked(request, trimmed).await
            }
            (_, Command::WriteZeroes)
                if request.has(CMD_FLAG_FAST_ZERO) && (!V::FAST_ZEROES || request.has(CMD_FLAG_NO_HOLE)) =>
            {
                // Zeros that have space have to be written: not faster than a write.
                Err(Failure::NotFast)
            }
            (_, Command::WriteZeroes) => {
                let no_hole = request.has(CMD_FLAG_NO_HOLE);
                let zero = async |at, len| self.volume.write_zeroes(at, len, no_hole).await;
                let zeroed = self.in_pieces(offset, len, zero).await;
                self.durable_if_asked(request, zeroed).await
            }
            (_, command) => unreachable!("{command:?} is never queued"),
        };
        match done {
            Ok(()) => self.succeed(&asked),
            Err(Failure::Volume(error)) => self.fail_volume(&asked, error),
            Err(Failure::NotFast) => {
                self.fail(&asked, Errno::NotSup, "zeros without a hole are written, which is not fast", None);
            }
        }
    }

    async fn durable_if_asked(&self, request: Request, done: Result<(), VolumeError>) -> Result<(), Failure> {
        done?;
        if request.fua() {
            self.volume.flush().await?;
        }
        Ok(())
    }

    /// Does something to a range piece by piece, each when there is time for it.
    async fn in_pieces(
        &self,
        offset: u64,
        len: u64,
        act: impl AsyncFn(u64, u64) -> Result<(), VolumeError>,
    ) -> Result<(), VolumeError> {
        let (mut at, end) = (offset, offset + len);
        loop {
            let until = ((at / DISCARD_PIECE + 1) * DISCARD_PIECE).min(end);
            if len > DISCARD_PIECE {
                self.take_turn(DISCARD).await;
            }
            act(at, until - at).await?;
            at = until;
            if at >= end {
                return Ok(());
            }
        }
    }

    /// Looks at the map step by step, until the answer is long enough.
    async fn serve_status(&self, asked: &Asked) {
        let request = &asked.request;
        let most = if request.has(CMD_FLAG_REQ_ONE) { 1 } else { STATUS_EXTENTS };
        let (mut at, end) = (request.offset, request.offset + u64::from(request.length).min(STATUS_SPAN));
        let mut extents: Vec<Extent> = Vec::new();
        while at < end {
            self.take_turn(LOOK).await;
            let before = (at, extents.len());
            for found in self.volume.extents(at, end - at, most) {
                // One extent must not reach beyond what was asked.
                let length = found.len.min(end - at) as u32;
                let is_full = extents.len() == most;
                match extents.last_mut() {
                    Some(last) if last.hole != found.mapped => last.length += length,
                    _ if is_full => break,
                    _ => extents.push(Extent { length, hole: !found.mapped }),
                }
                at += u64::from(length);
            }
            // The volume has become smaller, or the answer is full.
            if (at, extents.len()) == before {
                break;
            }
        }
        if extents.is_empty() {
            // Between the check and now, the volume was made smaller.
            return self.fail(asked, Errno::Inval, "past the end of the export", None);
        }
        let mut reply = Vec::with_capacity(STATUS_BYTES.min(REPLY_COST + 8 * extents.len()));
        self.encoder.block_status(&mut reply, request.cookie, &extents);
        self.outbox.push_bytes(&reply, asked.share.room);
        self.count(asked, false);
    }

    pub(crate) fn succeed(&self, asked: &Asked) {
        let mut reply = [0; wire::SIMPLE_REPLY_BYTES];
        let used = self.encoder.done(&mut reply, asked.request.cookie);
        self.outbox.push_bytes(&reply[..used], asked.share.room);
        self.count(asked, false);
    }

    #[cold]
    pub(crate) fn fail_volume(&self, asked: &Asked, error: VolumeError) {
        let request = &asked.request;
        // A bad block found at the edge of an unaligned request may begin before the request does.
        let end = request.offset + u64::from(request.length);
        let offset = error.offset().map(|at| at.clamp(request.offset, end.saturating_sub(1)));
        self.fail(asked, errno(error), &error.to_string(), offset);
        if error == VolumeError::Gone {
            self.end(EndReason::VolumeGone);
        }
    }

    #[cold]
    pub(crate) fn fail(&self, asked: &Asked, errno: Errno, message: &str, offset: Option<u64>) {
        let mut reply = [0; REPLY_COST];
        let used = self.encoder.error(&mut reply, asked.request.cookie, errno, message, offset);
        self.outbox.push_bytes(&reply[..used], asked.share.room);
        self.count(asked, true);
    }

    pub(crate) fn count(&self, asked: &Asked, failed: bool) {
        let class = OpClass::of(asked.request.command);
        let bytes = u64::from(asked.request.length);
        self.handle.counters.answered(class, bytes, failed);
        self.totals.answered(class, bytes, failed, self.rt.now().since(asked.started));
    }
}
