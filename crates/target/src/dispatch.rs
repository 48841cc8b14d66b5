//! What each command does to the volume, and how its outcome is told.

use std::collections::VecDeque;
use std::iter;
use std::rc::Rc;

use cygnus_runtime::{BufPool, BufSlice};

use crate::asked::{Asked, REPLY_COST, Share, Shares, units_for};
use crate::event::EndReason;
use crate::jobs::{Job, Lane, Work};
use crate::nbd::{self, Agreed, Fault, Request};
use crate::reads::{self, PIECE};
use crate::transmission::{Transmission, WORKER};
use cygnus_types::Acknowledged;
use cygnus_volume::{BlockVolume, Extent, Kind, Terms, VolumeError};

/// Bytes considered for one answer to who asks what is mapped: a client asks on from where an answer ends.
const STATUS_SPAN: u64 = 256 << 20;
/// Most extents in one such answer: with these it fills one of the outbox's buffers.
const STATUS_EXTENTS: usize = 2040;
/// Most bytes of one.
const STATUS_BYTES: usize = nbd::extents_bytes(STATUS_EXTENTS);
/// Discards are done in pieces that end at multiples of this many bytes, which arrays record in one go.
const DISCARD_PIECE: u64 = 16 << 20;
/// Units of a turn's work for one look at a part of the map, and for a piece of a discard.
const LOOK: u32 = 16;
const DISCARD: u32 = 64;

const _: () = assert!(STATUS_EXTENTS <= nbd::MOST_EXTENTS && STATUS_BYTES <= crate::outbox::HEADERS);

/// The shares that a request may be let in with, the best one first.
pub(crate) fn shares(request: &Request, agreed: &Agreed) -> Shares {
    match request.kind() {
        Some(Kind::Read) => reads::shares(request, agreed),
        Some(Kind::Extents) => Shares::one(REPLY_COST + STATUS_BYTES),
        _ => Shares::one(REPLY_COST),
    }
}

/// Units of a turn's work that it takes to let a request in and to do its first step of `step` bytes.
pub(crate) fn units(request: &Request, step: usize) -> u32 {
    match request.kind() {
        Some(Kind::Read) => units_for((request.len() as usize).min(step)),
        Some(Kind::Write) => units_for((request.len() as usize).min(PIECE)),
        Some(Kind::Trim | Kind::WriteZeroes) => units_for((request.len() as usize).min(PIECE) / 4),
        _ => 1,
    }
}

impl<V: BlockVolume> Transmission<V> {
    /// Serves a request as far as that is possible at once; what has to wait goes to the workers. `payload` is a WRITE's data, in the
    /// receive buffer. Gives back a write that has to wait: see [`Transmission::queue_write`].
    pub(crate) fn admit(self: &Rc<Self>, request: Request, share: Share, payload: &[u8]) -> Option<Asked> {
        let asked = Asked { request, share, started: self.rt.now(), terms: self.volume.terms() };
        if let Err(fault) = self.agreed.check(&request, self.volume.size()) {
            self.fail(&asked, fault);
            return None;
        }
        self.tell_tap(&asked);
        match request.kind() {
            Some(Kind::Write) if self.volume.try_write(request.offset(), payload) => self.taken(asked),
            Some(Kind::Write) => return Some(asked),
            // Reads do not get faster by being announced.
            Some(Kind::Prefetch) => self.succeed(&asked),
            Some(Kind::Flush) => self.queue(Job { asked, work: Work::Durable }),
            _ => self.queue(Job { asked, work: Work::Whole }),
        }
        None
    }

    /// Leaves a write to the workers, with a copy of its data.
    pub(crate) async fn queue_write(self: &Rc<Self>, asked: Asked, payload: &[u8]) -> Result<(), EndReason> {
        let data = self.copy_of(payload).await?;
        self.queue(Job { asked, work: Work::Write(data) });
        Ok(())
    }

    pub(crate) fn tell_tap(&self, asked: &Asked) {
        if let Some(tap) = &self.tap
            && let Some(request) = asked.request.neutral()
        {
            tap.request(asked.started, &request);
        }
    }

    /// A copy of part of the receive buffer, as soon as there is memory for it.
    pub(crate) async fn copy_of(&self, payload: &[u8]) -> Result<BufSlice, EndReason> {
        self.take_room(BufPool::footprint(payload.len())).await?;
        let mut data = self.rt.alloc(payload.len());
        data.bytes_mut().copy_from_slice(payload);
        Ok(data.full())
    }

    /// Writes what was copied, when it is this session's turn, and lets go of it.
    async fn write_copy(&self, offset: u64, data: BufSlice) -> Result<(), VolumeError> {
        let footprint = BufPool::footprint(data.len());
        let _turn = self.queue.turn(&self.had, data.len()).await;
        let written = self.volume.write(offset, data).await;
        self.give_room(footprint);
        written
    }

    /// Does a job to its end, reply included, if it is not to read.
    async fn serve(self: &Rc<Self>, job: Job) {
        let Job { asked, work } = job;
        let request = asked.request;
        let (offset, len) = (request.offset(), u64::from(request.len()));
        let done = match (work, request.kind()) {
            (_, Some(Kind::Extents)) => return self.serve_extents(&asked).await,
            (Work::Piece(write, offset, data), _) => {
                if let Err(error) = self.write_copy(offset, data).await {
                    write.fail(Fault::Volume(error));
                }
                return self.piece_is_done(&write);
            }
            (Work::Durable, _) => return self.make_durable(asked).await,
            (Work::Answer(terms), _) => return self.answer_when(terms, asked).await,
            (Work::Write(data), _) => self.write_copy(offset, data).await.map_err(Fault::from),
            (_, Some(Kind::Trim)) => {
                let trim = async |at, len| self.volume.trim(at, len).await;
                self.in_pieces(offset, len, trim).await.map_err(Fault::from)
            }
            (_, Some(Kind::WriteZeroes)) if request.must_be_fast() && (!V::FAST_ZEROES || request.no_hole()) => {
                // Zeros that have space have to be written: not faster than a write.
                Err(Fault::NotFast)
            }
            (_, Some(Kind::WriteZeroes)) => {
                let no_hole = request.no_hole();
                let zero = async |at, len| self.volume.write_zeroes(at, len, no_hole).await;
                self.in_pieces(offset, len, zero).await.map_err(Fault::from)
            }
            (_, kind) => unreachable!("{kind:?} is never queued"),
        };
        match done {
            Ok(()) => self.taken(asked),
            Err(fault) => self.fail(&asked, fault),
        }
    }

    /// The volume has taken what a request changes: it is answered as soon as it may be.
    #[inline]
    pub(crate) fn taken(self: &Rc<Self>, asked: Asked) {
        match asked.terms {
            // What is durable when it is answered needs no flush of its own.
            Some(terms) if !asked.request.fua() || terms.level == Acknowledged::Durable => {
                self.queue(Job { asked, work: Work::Answer(terms) })
            }
            _ if asked.request.fua() => self.queue(Job { asked, work: Work::Durable }),
            _ => self.succeed(&asked),
        }
    }

    /// Flushes once for a request and for all that wait for the same.
    async fn make_durable(&self, asked: Asked) {
        let others = self.jobs(Lane::Durable).take_all();
        let flushed = self.volume.flush().await;
        self.answer_all(asked, others, flushed).await;
    }

    /// Waits once for the terms of a request and of all that wait for theirs.
    async fn answer_when(&self, terms: Terms, asked: Asked) {
        let others = self.jobs(Lane::Answers).take_all();
        let terms = others.iter().filter_map(|job| job.asked.terms).fold(terms, Terms::and);
        let met = self.volume.answerable(terms).await;
        self.answer_all(asked, others, met).await;
    }

    async fn answer_all(&self, asked: Asked, others: VecDeque<Job>, done: Result<(), VolumeError>) {
        for asked in iter::once(asked).chain(others.iter().map(|job| job.asked)) {
            // There may be thousands.
            self.take_turn(1).await;
            self.answer(&asked, done.map_err(Fault::from));
        }
    }

    fn answer(&self, asked: &Asked, done: Result<(), Fault>) {
        match done {
            Ok(()) => self.succeed(asked),
            Err(fault) => self.fail(asked, fault),
        }
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
    async fn serve_extents(&self, asked: &Asked) {
        let request = &asked.request;
        let most = if request.wants_one_extent() { 1 } else { STATUS_EXTENTS };
        let (mut at, end) = (request.offset(), request.offset() + u64::from(request.len()).min(STATUS_SPAN));
        let mut extents: Vec<Extent> = Vec::new();
        while at < end {
            self.take_turn(LOOK).await;
            let before = (at, extents.len());
            for found in self.volume.extents(at, end - at, most) {
                // One extent must not reach beyond what was asked.
                let len = found.len.min(end - at);
                let is_full = extents.len() == most;
                match extents.last_mut() {
                    Some(last) if last.mapped == found.mapped => last.len += len,
                    _ if is_full => break,
                    _ => extents.push(Extent { len, mapped: found.mapped }),
                }
                at += len;
            }
            // The volume has become smaller, or the answer is full.
            if (at, extents.len()) == before {
                break;
            }
        }
        if extents.is_empty() {
            return self.fail(asked, Fault::Shrunk);
        }
        self.outbox.push_bytes(&self.agreed.extents(request, &extents), asked.share.room);
        self.count(asked, false);
    }

    /// Hands a job to the workers, starting one more if all are busy and there is memory for it.
    pub(crate) fn queue(self: &Rc<Self>, job: Job) {
        let lane = Lane::of(&job);
        if let Some(worker) = self.jobs(lane).push(job, || self.handle.account.try_take(WORKER)) {
            let (session, shift) = (self.clone(), self.jobs(lane).shift());
            self.rt.spawn(async move {
                while let Some(job) = session.jobs(lane).next(shift, worker).await {
                    match job.asked.request.kind() {
                        Some(Kind::Read) => session.serve_read(&job.asked).await,
                        // Each job has a future of its own. That of a read is small; a worker need not have room for the others.
                        _ => Box::pin(session.serve(job)).await,
                    }
                }
            });
        }
    }
}
