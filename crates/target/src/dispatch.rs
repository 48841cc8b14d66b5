//! What each command does to the volume, and how its outcome is told.

use std::rc::Rc;

use cygnus_nbd::wire::{self, CMD_FLAG_DF, CMD_FLAG_FAST_ZERO, CMD_FLAG_NO_HOLE, CMD_FLAG_REQ_ONE};
use cygnus_nbd::{Command, Errno, Extent, ReplyEncoder, Request, Session};
use cygnus_runtime::{BufPool, BufSlice};
use cygnus_types::{BLOCK, Nanos};

use crate::event::EndReason;
use crate::jobs::{Job, Work};
use crate::pace::UNIT_BYTES;
use crate::stats::OpClass;
use crate::transmission::Transmission;
use crate::volume::{Volume, VolumeError, VolumeExtent};
use crate::write_through::Trouble;

/// Room counted for every reply besides its data: more than any header or error takes.
pub(crate) const REPLY_COST: usize = 256;
/// Reads up to this length have their header in the block before the data, so that both go out as one part.
const INLINE_READ: usize = 32 << 10;
/// Reads from this length on are worth asking whether there is anything to send at all.
const HOLE_READ: u32 = 64 << 10;
/// Longer reads are done in pieces of this length, and if the reply form allows it sent so too.
const READ_PIECE: usize = 1 << 20;
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

/// Bytes of memory that a request takes until its reply is sent; of a read that is sent in pieces, one of them.
pub(crate) fn cost(request: &Request, agreed: &Session) -> usize {
    match request.command {
        Command::Read if !goes_in_pieces(request, agreed) => {
            // What is too long is refused.
            whole_read_cost(request.offset, request.length.min(wire::MAX_PAYLOAD) as usize)
        }
        Command::Read => piece_cost(request.offset, READ_PIECE),
        Command::BlockStatus => REPLY_COST + STATUS_BYTES,
        _ => REPLY_COST,
    }
}

/// Structured replies may come in several chunks, unless the client forbids it.
fn goes_in_pieces(request: &Request, agreed: &Session) -> bool {
    request.length as usize > READ_PIECE && agreed.structured && !request.has(CMD_FLAG_DF)
}

/// What one piece of a read takes: its data with what stands before it, and whole blocks around it if it has none.
fn piece_cost(offset: u64, len: usize) -> usize {
    let around =
        if (offset | len as u64).is_multiple_of(BLOCK as u64) { 0 } else { BufPool::footprint(len + 2 * BLOCK) };
    REPLY_COST + BufPool::footprint(header_room(len) + len) + around
}

fn whole_read_cost(offset: u64, len: usize) -> usize {
    let rest = len.saturating_sub(READ_PIECE);
    piece_cost(offset, len.min(READ_PIECE)) + rest.next_multiple_of(READ_PIECE)
}

/// Bytes in front of a read's data, in the same buffer.
fn header_room(len: usize) -> usize {
    if len <= INLINE_READ { BLOCK } else { 0 }
}

/// Units of a turn's work that it takes to let a request in.
pub(crate) fn units(request: &Request) -> u32 {
    match request.command {
        Command::Read | Command::Write => units_for((request.length as usize).min(READ_PIECE)),
        Command::Trim | Command::WriteZeroes => units_for((request.length as usize).min(READ_PIECE) / 4),
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

impl<V: Volume> Transmission<V> {
    /// Serves a request as far as that is possible at once; what has to wait goes to the workers.
    /// `payload` is a WRITE's data, in the receive buffer.
    pub(crate) async fn admit(self: &Rc<Self>, request: Request, payload: &[u8]) -> Result<(), EndReason> {
        let started = self.rt.now();
        if let Err(refusal) = request.check(&self.agreed, self.volume.size()) {
            self.fail(&request, refusal.errno, refusal.reason, None, started);
            return Ok(());
        }
        self.tell_tap(&request, started);
        match request.command {
            Command::Write => return self.admit_write(request, payload, started).await,
            // Reads do not get faster by being announced.
            Command::Cache => self.succeed(&request, started),
            _ => self.queue(Job { request, work: Work::Whole, started }),
        }
        Ok(())
    }

    pub(crate) fn tell_tap(&self, request: &Request, started: Nanos) {
        if let Some(tap) = &self.tap {
            tap.request(started, request);
        }
    }

    async fn admit_write(self: &Rc<Self>, request: Request, payload: &[u8], started: Nanos) -> Result<(), EndReason> {
        match self.volume.try_write(request.offset, payload) {
            Some(Ok(())) if request.fua() => self.queue(Job { request, work: Work::Durable, started }),
            Some(Ok(())) => self.succeed(&request, started),
            Some(Err(error)) => self.fail_volume(&request, error, started),
            None => {
                let data = self.copy_of(payload).await?;
                self.queue(Job { request, work: Work::Write(data), started });
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
        let Job { request, work, started } = job;
        let (offset, len) = (request.offset, u64::from(request.length));
        let done = match (work, request.command) {
            (_, Command::Read) => return self.serve_read(request, started).await,
            (_, Command::BlockStatus) => return self.serve_status(request, started).await,
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
            Ok(()) => self.succeed(&request, started),
            Err(Failure::Volume(error)) => self.fail_volume(&request, error, started),
            Err(Failure::NotFast) => {
                self.fail(
                    &request,
                    Errno::NotSup,
                    "zeros without a hole are written, which is not fast",
                    None,
                    started,
                );
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

    async fn serve_read(&self, request: Request, started: Nanos) {
        if request.length >= HOLE_READ && self.answer_hole(&request, started) {
            return;
        }
        if goes_in_pieces(&request, &self.agreed) {
            self.serve_read_in_pieces(request, started).await;
        } else {
            self.serve_whole_read(request, started).await;
        }
    }

    async fn serve_whole_read(&self, request: Request, started: Nanos) {
        let len = request.length as usize;
        let head = header_room(len);
        let mut parts = Vec::new();
        let mut inline = None;
        for at in (0..len).step_by(READ_PIECE) {
            let piece = READ_PIECE.min(len - at);
            let buf = self.rt.alloc(head + piece);
            match self.volume.read(request.offset + at as u64, buf.slice(head..head + piece)).await {
                Ok(data) => parts.push(data),
                Err(error) => return self.fail_volume(&request, error, started),
            }
            inline = Some(buf);
        }
        let mut header = [0; wire::DATA_CHUNK_BYTES];
        let used = self.encoder.read_header(&mut header, request.cookie, request.offset, request.length);
        let cost = cost(&request, &self.agreed);
        match inline.filter(|buf| head > 0 && parts[0].is_within(buf)) {
            Some(buf) => {
                let part = buf.slice(head - used..head + len);
                part.copy_from(0, &header[..used]);
                self.outbox.push_part(part, cost);
            }
            None => {
                self.outbox.push_bytes(&header[..used], 0);
                // Each part is held until it is sent; with the last one all is over.
                let (mut left, last) = (cost, parts.len() - 1);
                for (n, part) in parts.into_iter().enumerate() {
                    let share = if n == last { left } else { part.len() };
                    left -= share;
                    self.outbox.push_part(part, share);
                }
            }
        }
        self.count(&request, false, started);
    }

    /// Sends the pieces of a read as they come, each as soon as there is room for it; for the first there is.
    async fn serve_read_in_pieces(&self, request: Request, started: Nanos) {
        let (mut at, end) = (request.offset, request.offset + u64::from(request.length));
        let cost = cost(&request, &self.agreed);
        loop {
            let len = (READ_PIECE as u64).min(end - at);
            let is_last = at + len == end;
            let data = match self.volume.read(at, self.rt.alloc(len as usize).full()).await {
                Ok(data) => data,
                Err(error) => return self.fail_volume(&request, error, started),
            };
            let mut header = [0; wire::DATA_CHUNK_BYTES];
            let used = self.encoder.read_part(&mut header, request.cookie, at, len as u32, is_last);
            self.outbox.push_bytes(&header[..used], 0);
            self.outbox.push_part(data, cost);
            if is_last {
                return self.count(&request, false, started);
            }
            at += len;
            self.take_turn(units_for(len as usize)).await;
            if !self.take_more_room(cost).await {
                return;
            }
        }
    }

    /// Answers a read of nothing but zeros without reading, if the reply form can say so.
    fn answer_hole(&self, request: &Request, started: Nanos) -> bool {
        let mut reply = [0; REPLY_COST];
        let Some(used) = self.encoder.read_hole(&mut reply, request.cookie, request.offset, request.length) else {
            return false;
        };
        let (mut at, end) = (request.offset, request.offset + u64::from(request.length));
        while at < end {
            match self.volume.extents(at, end - at, 1).first() {
                Some(VolumeExtent { len, mapped: false }) => at += len,
                _ => return false,
            }
        }
        self.outbox.push_bytes(&reply[..used], cost(request, &self.agreed));
        self.count(request, false, started);
        true
    }

    /// Looks at the map step by step, until the answer is long enough.
    async fn serve_status(&self, request: Request, started: Nanos) {
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
            return self.fail(&request, Errno::Inval, "past the end of the export", None, started);
        }
        let mut reply = Vec::with_capacity(STATUS_BYTES.min(REPLY_COST + 8 * extents.len()));
        self.encoder.block_status(&mut reply, request.cookie, &extents);
        self.outbox.push_bytes(&reply, cost(&request, &self.agreed));
        self.count(&request, false, started);
    }

    pub(crate) fn succeed(&self, request: &Request, started: Nanos) {
        let mut reply = [0; wire::SIMPLE_REPLY_BYTES];
        let used = self.encoder.done(&mut reply, request.cookie);
        self.outbox.push_bytes(&reply[..used], cost(request, &self.agreed));
        self.count(request, false, started);
    }

    #[cold]
    pub(crate) fn fail_volume(&self, request: &Request, error: VolumeError, started: Nanos) {
        // A bad block found at the edge of an unaligned request may begin before the request does.
        let end = request.offset + u64::from(request.length);
        let offset = error.offset().map(|at| at.clamp(request.offset, end.saturating_sub(1)));
        self.fail(request, error.errno(), &error.to_string(), offset, started);
        if error == VolumeError::Gone {
            self.volume_is_gone();
        }
    }

    #[cold]
    pub(crate) fn fail(&self, request: &Request, errno: Errno, message: &str, offset: Option<u64>, started: Nanos) {
        let mut reply = [0; REPLY_COST];
        let used = self.encoder.error(&mut reply, request.cookie, errno, message, offset);
        self.outbox.push_bytes(&reply[..used], cost(request, &self.agreed));
        self.count(request, true, started);
    }

    fn count(&self, request: &Request, failed: bool, started: Nanos) {
        let class = OpClass::of(request.command);
        let bytes = u64::from(request.length);
        self.handle.counters.answered(class, bytes, failed);
        self.totals.answered(class, bytes, failed, self.rt.now().since(started));
    }
}
