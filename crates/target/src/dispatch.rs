//! What each command does to the volume, and how its outcome is told.

use std::rc::Rc;

use cygnus_nbd::wire::{self, CMD_FLAG_FAST_ZERO, CMD_FLAG_NO_HOLE, CMD_FLAG_REQ_ONE};
use cygnus_nbd::{Command, Errno, Extent, ReplyEncoder, Request};
use cygnus_types::{BLOCK, Nanos};

use crate::jobs::{Job, Work};
use crate::session::Transmission;
use crate::stats::OpClass;
use crate::volume::{Volume, VolumeError};

/// Room counted for every reply besides its data: more than any header or error takes.
pub(crate) const REPLY_COST: usize = 256;
/// Reads up to this length have their header in the block before the data, so that both go out as one part.
const INLINE_READ: usize = 32 << 10;
/// Reads from this length on are worth asking whether there is anything to send at all.
const HOLE_READ: u32 = 64 << 10;
/// Bytes considered for one answer to BLOCK_STATUS: a client asks on from where an answer ends, and a reactor must not
/// scan the map of gigabytes in one go.
const STATUS_SPAN: u64 = 256 << 20;

const _: () = assert!(ReplyEncoder::MAX_BYTES <= REPLY_COST && REPLY_COST < BLOCK);

/// Room in the window that a request takes until its reply is sent.
pub(crate) fn cost(request: &Request) -> usize {
    match request.command {
        Command::Read => REPLY_COST + request.length.min(wire::MAX_PAYLOAD) as usize,
        _ => REPLY_COST,
    }
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
    pub(crate) fn admit(self: &Rc<Self>, request: Request, payload: &[u8]) {
        let started = self.rt.now();
        if let Err(refusal) = request.check(&self.agreed, self.volume.size()) {
            self.fail(&request, refusal.errno, refusal.reason, None, started);
            return;
        }
        if let Some(tap) = &self.tap {
            tap.request(started, &request);
        }
        match request.command {
            Command::Write => self.admit_write(request, payload, started),
            // Reads do not get faster by being announced.
            Command::Cache => self.succeed(&request, started),
            _ => self.queue(Job { request, work: Work::Whole, started }),
        }
    }

    fn admit_write(self: &Rc<Self>, request: Request, payload: &[u8], started: Nanos) {
        match self.volume.try_write(request.offset, payload) {
            Some(Ok(())) if request.fua() => self.queue(Job { request, work: Work::Durable, started }),
            Some(Ok(())) => self.succeed(&request, started),
            Some(Err(error)) => self.fail_volume(&request, error, started),
            None => {
                let mut data = self.rt.alloc(payload.len());
                data.bytes_mut().copy_from_slice(payload);
                // The copy is room that was not counted when the request was let in.
                self.take_room(payload.len());
                self.queue(Job { request, work: Work::Write(data.full()), started });
            }
        }
    }

    /// Does a job to its end, reply included.
    pub(crate) async fn serve(&self, job: Job) {
        let Job { request, work, started } = job;
        let (offset, len) = (request.offset, u64::from(request.length));
        let done = match (work, request.command) {
            (_, Command::Read) => return self.serve_read(request, started).await,
            (_, Command::BlockStatus) => return self.serve_status(request, started),
            (Work::Durable, _) | (_, Command::Flush) => self.volume.flush().await.map_err(Failure::from),
            (Work::Write(data), _) => {
                let copied = data.len();
                let written = self.volume.write(offset, data).await;
                self.give_room(copied);
                self.durable_if_asked(request, written).await
            }
            (_, Command::Trim) => {
                let trimmed = self.volume.trim(offset, len).await;
                self.durable_if_asked(request, trimmed).await
            }
            (_, Command::WriteZeroes)
                if request.has(CMD_FLAG_FAST_ZERO) && (!V::FAST_ZEROES || request.has(CMD_FLAG_NO_HOLE)) =>
            {
                // Zeros that have space have to be written: not faster than a write.
                Err(Failure::NotFast)
            }
            (_, Command::WriteZeroes) => {
                let zeroed = self.volume.write_zeroes(offset, len, request.has(CMD_FLAG_NO_HOLE)).await;
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

    async fn serve_read(&self, request: Request, started: Nanos) {
        let len = request.length as usize;
        if request.length >= HOLE_READ && self.answer_hole(&request, started) {
            return;
        }
        let head = if len <= INLINE_READ { BLOCK } else { 0 };
        let buf = self.rt.alloc(head + len);
        let data = match self.volume.read(request.offset, buf.slice(head..head + len)).await {
            Ok(data) => data,
            Err(error) => return self.fail_volume(&request, error, started),
        };
        let mut header = [0; wire::DATA_CHUNK_BYTES];
        let used = self.encoder.read_header(&mut header, request.cookie, request.offset, request.length);
        let cost = cost(&request);
        if head > 0 && data.is_within(&buf) {
            let part = buf.slice(head - used..head + len);
            part.copy_from(0, &header[..used]);
            self.outbox.push_part(part, cost);
        } else {
            self.outbox.push_bytes(&header[..used], 0);
            self.outbox.push_part(data, cost);
        }
        self.count(&request, false, started);
    }

    /// Answers a read of nothing but zeros without reading, if the reply form can say so.
    fn answer_hole(&self, request: &Request, started: Nanos) -> bool {
        let mut reply = [0; REPLY_COST];
        let Some(used) = self.encoder.read_hole(&mut reply, request.cookie, request.offset, request.length) else {
            return false;
        };
        let len = u64::from(request.length);
        let extents = self.volume.extents(request.offset, len, 1);
        if !extents.first().is_some_and(|extent| !extent.mapped && extent.len >= len) {
            return false;
        }
        self.outbox.push_bytes(&reply[..used], cost(request));
        self.count(request, false, started);
        true
    }

    fn serve_status(&self, request: Request, started: Nanos) {
        let max = if request.has(CMD_FLAG_REQ_ONE) { 1 } else { wire::MAX_EXTENTS };
        let span = u64::from(request.length).min(STATUS_SPAN);
        let mut left = span;
        let mut extents = Vec::new();
        for extent in self.volume.extents(request.offset, span, max) {
            // One extent must not reach beyond what was asked.
            let length = extent.len.min(left) as u32;
            left -= u64::from(length);
            extents.push(Extent { length, hole: !extent.mapped });
        }
        if extents.is_empty() {
            // Between the check and now, the volume was made smaller.
            return self.fail(&request, Errno::Inval, "past the end of the export", None, started);
        }
        let mut reply = Vec::with_capacity(REPLY_COST + 8 * extents.len());
        self.encoder.block_status(&mut reply, request.cookie, &extents);
        self.outbox.push_bytes(&reply, cost(&request));
        self.count(&request, false, started);
    }

    fn succeed(&self, request: &Request, started: Nanos) {
        let mut reply = [0; wire::SIMPLE_REPLY_BYTES];
        let used = self.encoder.done(&mut reply, request.cookie);
        self.outbox.push_bytes(&reply[..used], cost(request));
        self.count(request, false, started);
    }

    #[cold]
    fn fail_volume(&self, request: &Request, error: VolumeError, started: Nanos) {
        // A bad block found at the edge of an unaligned request may begin before the request does.
        let end = request.offset + u64::from(request.length);
        let offset = error.offset().map(|at| at.clamp(request.offset, end.saturating_sub(1)));
        self.fail(request, error.errno(), &error.to_string(), offset, started);
        if error == VolumeError::Gone {
            self.volume_is_gone();
        }
    }

    #[cold]
    fn fail(&self, request: &Request, errno: Errno, message: &str, offset: Option<u64>, started: Nanos) {
        let mut reply = [0; REPLY_COST];
        let used = self.encoder.error(&mut reply, request.cookie, errno, message, offset);
        self.outbox.push_bytes(&reply[..used], cost(request));
        self.count(request, true, started);
    }

    fn count(&self, request: &Request, failed: bool, started: Nanos) {
        let class = OpClass::of(request.command);
        let bytes = u64::from(request.length);
        self.handle.counters.answered(class, bytes, failed);
        self.totals.answered(class, bytes, failed, self.rt.now().since(started));
    }
}
