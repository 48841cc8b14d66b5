//! Reads: how much of one is in memory at a time, and how it is sent.
//!
//! Up to 1 MiB is read and sent as a whole. A longer read is sent in chunks of that length where the client takes structured
//! replies. Else, or if it wants one chunk (DF), it is read as a whole first, for once its header is sent nothing but its
//! data may follow, not even an error.
//!
//! Where the memory for that is not to be had at once, a read goes on with less, and in the end with what each connection
//! has to itself. So it waits for no other client. In one chunk it is then sent as it is read; should the rest of it turn
//! out to be unreadable, the connection ends, as the protocol wants it.

use cygnus_runtime::{BufPool, BufSlice};
use cygnus_types::BLOCK;

use crate::asked::{Asked, REPLY_COST, Share, Shares, units_for};
use crate::event::EndReason;
use crate::nbd::{self, Agreed, Fault, Request};
use crate::pace::SHORT_BYTES;
use crate::purse::Curtailed;
use crate::transmission::Transmission;
use cygnus_volume::{BlockVolume, Extent, VolumeError};

/// Reads up to this length have their header in the block before the data, so that both go out as one part.
const INLINE_READ: usize = 32 << 10;
/// Reads from this length on are worth asking whether there is anything to send at all.
const HOLE_READ: u32 = 64 << 10;
/// Longer reads are done in pieces of this length, and if the reply form allows it sent so too.
pub(crate) const PIECE: usize = 1 << 20;
/// Where memory is short, reads are done in pieces of this length: one has room in what each connection has to itself,
/// beside its receive buffer.
const LEAST_PIECE: usize = 16 << 10;

/// What a read may make do with.
pub(crate) fn shares(request: &Request, agreed: &Agreed) -> Shares {
    // What is too long is refused.
    let len = request.len().min(nbd::LONGEST_READ) as usize;
    if len <= PIECE {
        return or_least(request, Shares::of_piece(whole_cost(request.offset(), len), len));
    }
    let piece_room = piece_cost(request.offset(), PIECE);
    let shares = if agreed.may_be_split(request) {
        Shares::of_piece(piece_room, PIECE)
    } else {
        // Each piece is a buffer of its own.
        let room = piece_room + (len - PIECE).next_multiple_of(PIECE);
        Shares::of_piece(room, len).or(piece_room, PIECE)
    };
    or_least(request, shares)
}

fn or_least(request: &Request, shares: Shares) -> Shares {
    let room = piece_cost(request.offset(), LEAST_PIECE);
    if shares.least().room > room { shares.or(room, LEAST_PIECE) } else { shares }
}

/// What a read takes that is sent in one part, with what stands before its data.
fn whole_cost(offset: u64, len: usize) -> usize {
    REPLY_COST + BufPool::footprint(header_room(len) + len) + around(offset, len)
}

/// What one piece of a read takes.
fn piece_cost(offset: u64, len: usize) -> usize {
    REPLY_COST + BufPool::footprint(len) + around(offset, len)
}

/// Whole blocks around data that has none.
fn around(offset: u64, len: usize) -> usize {
    if (offset | len as u64).is_multiple_of(BLOCK as u64) { 0 } else { BufPool::footprint(len + 2 * BLOCK) }
}

/// Bytes in front of a read's data, in the same buffer.
fn header_room(len: usize) -> usize {
    if len <= INLINE_READ { BLOCK } else { 0 }
}

impl<V: BlockVolume> Transmission<V> {
    pub(crate) async fn serve_read(&self, asked: &Asked) {
        let Asked { request, share, .. } = asked;
        if request.len() >= HOLE_READ && self.answer_hole(asked) {
            return;
        }
        if share.piece != request.len() as usize {
            return match self.agreed.may_be_split(request) {
                true => Box::pin(self.serve_chunks(asked)).await,
                false => Box::pin(self.serve_stream(asked)).await,
            };
        }
        let len = request.len() as usize;
        let head = header_room(len);
        let mut parts = Vec::new();
        let mut inline = None;
        let step = self.step();
        for at in (0..len).step_by(step) {
            let piece = step.min(len - at);
            if at > 0 {
                self.take_turn(units_for(piece)).await;
            }
            let buf = self.rt.alloc(head + piece);
            match self.volume.read(request.offset() + at as u64, buf.slice(head..head + piece)).await {
                Ok(data) => parts.push(data),
                Err(error) => return self.fail(asked, Fault::Volume(error)),
            }
            inline = Some(buf);
        }
        let mut header = [0; nbd::DATA_HEADER];
        let used = self.agreed.data(&mut header, request);
        match inline.filter(|buf| head > 0 && parts[0].is_within(buf)) {
            Some(buf) => {
                let part = buf.slice(head - used..head + len);
                part.copy_from(0, &header[..used]);
                self.outbox.push_part(part, share.room);
            }
            None => {
                self.outbox.push_bytes(&header[..used], 0);
                // Each part is held until it is sent; with the last one all is over.
                let (mut left, last) = (share.room, parts.len() - 1);
                for (n, part) in parts.into_iter().enumerate() {
                    let room = if n == last { left } else { part.len() };
                    left -= room;
                    self.outbox.push_part(part, room);
                }
            }
        }
        self.count(asked, false);
    }

    /// Kept while a read goes on with smaller pieces than it would have if there were memory.
    fn curtailed(&self, request: &Request, share: Share) -> Option<Curtailed> {
        (share.piece < PIECE.min(request.len() as usize)).then(|| self.handle.account.curtail())
    }

    async fn read_piece(&self, at: u64, len: usize) -> Result<BufSlice, VolumeError> {
        self.volume.read(at, self.rt.alloc(len).full()).await
    }

    /// Sends the pieces of a read as chunks, each as soon as there is room for it; for the first there is.
    async fn serve_chunks(&self, asked: &Asked) {
        let (request, mut share) = (&asked.request, asked.share);
        let (mut at, end) = (request.offset(), request.end());
        let shares = shares(request, &self.agreed);
        let mut _curtailed = self.curtailed(request, share);
        loop {
            let len = self.piece_len(at, end, share);
            let data = match self.read_piece(at, len).await {
                Ok(data) => data,
                Err(error) => return self.fail(&Asked { share, ..*asked }, Fault::Volume(error)),
            };
            let mut header = [0; nbd::DATA_HEADER];
            let is_last = at + len as u64 == end;
            let used = self.agreed.piece(&mut header, request, at, len as u32, is_last);
            self.outbox.push_bytes(&header[..used], 0);
            self.outbox.push_part(data, share.room);
            if is_last {
                return self.count(asked, false);
            }
            at += len as u64;
            self.take_turn(units_for(len)).await;
            match self.take_more_room(&shares).await {
                Some(more) => share = more,
                None => return,
            }
            _curtailed = self.curtailed(request, share);
        }
    }

    /// Sends the pieces of a read as one chunk, or as one simple reply. It has room for one piece, and keeps that until the
    /// last one is sent: replies that wait behind it may have all the rest.
    async fn serve_stream(&self, asked: &Asked) {
        let Asked { request, share, .. } = asked;
        let _curtailed = self.curtailed(request, *share);
        let (mut at, end) = (request.offset(), request.end());
        let first = match self.read_piece(at, self.piece_len(at, end, *share)).await {
            Ok(data) => data,
            Err(error) => return self.fail(asked, Fault::Volume(error)),
        };
        let stream = self.outbox.stream().await;
        let mut header = [0; nbd::DATA_HEADER];
        let used = self.agreed.data(&mut header, request);
        stream.push_bytes(&header[..used]);
        let mut data = first;
        loop {
            at += data.len() as u64;
            if at == end {
                stream.push_part(data, share.room);
                return self.count(asked, false);
            }
            stream.push_part(data, 0);
            self.take_turn(units_for(share.piece.min(self.step()))).await;
            if !stream.is_sent().await {
                return;
            }
            data = match self.read_piece(at, self.piece_len(at, end, *share)).await {
                Ok(data) => data,
                Err(error) => {
                    self.count(asked, true);
                    return self.break_off(EndReason::BrokenReply(error.to_string()));
                }
            };
        }
    }

    /// Bytes that this session reads or sends at a time.
    pub(crate) fn step(&self) -> usize {
        if self.makes_small_steps() { SHORT_BYTES } else { PIECE }
    }

    /// Bytes of the piece that begins at `at`.
    fn piece_len(&self, at: u64, end: u64, share: Share) -> usize {
        share.piece.min(self.step()).min((end - at) as usize)
    }

    /// Answers a read of nothing but zeros without reading, if the reply form can say so.
    fn answer_hole(&self, asked: &Asked) -> bool {
        let request = &asked.request;
        let mut reply = [0; nbd::REPLY_BYTES];
        let Some(used) = self.agreed.zeros(&mut reply, request) else {
            return false;
        };
        let (mut at, end) = (request.offset(), request.end());
        while at < end {
            match self.volume.extents(at, end - at, 1).first() {
                Some(Extent { len, mapped: false }) => at += len,
                _ => return false,
            }
        }
        self.outbox.push_bytes(&reply[..used], asked.share.room);
        self.count(asked, false);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_fits_beside_the_receive_buffer() {
        let least = piece_cost(1, LEAST_PIECE);
        assert!(least + crate::receive::OWN + crate::outbox::HEADERS <= crate::purse::RESERVE, "{least}");
    }
}
