//! One connection of the load generator.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;

use cygnus_nbd::{Command, NbdUri, Request, wire};
use cygnus_types::Nanos;

use super::dial::dial;
use super::replies::Replies;
use super::{Load, LoadError};

/// Most requests in flight on one connection.
pub(super) const MAX_DEPTH: usize = 4096;
/// Most pieces in one send: the kernel's limit.
const MAX_PIECES: usize = 1024;

/// A place for one request in flight; its index is the request's cookie.
struct Slot {
    read: bool,
    started: Nanos,
}

/// A stretch of what is to be sent.
enum Piece {
    /// Bytes of the slots' headers.
    Headers(Range<usize>),
    /// Bytes of the common data.
    Data(Range<usize>),
}

impl Piece {
    fn range(&mut self) -> &mut Range<usize> {
        match self {
            Piece::Headers(range) | Piece::Data(range) => range,
        }
    }
}

pub(super) struct Connection {
    stream: UnixStream,
    size: u64,
    slots: Vec<Slot>,
    /// The slots' request headers, one after the other: those of neighbouring reads leave as one piece.
    headers: Vec<u8>,
    to_send: VecDeque<Piece>,
    in_flight: usize,
    replies: Replies,
}

impl Connection {
    pub(super) fn open(uri: &NbdUri, depth: usize) -> Result<Connection, LoadError> {
        let dialled = dial(uri)?;
        Ok(Connection {
            stream: dialled.stream,
            size: dialled.size,
            slots: (0..depth).map(|_| Slot { read: false, started: Nanos::ZERO }).collect(),
            headers: vec![0; wire::REQUEST_BYTES * depth],
            to_send: VecDeque::with_capacity(2 * depth),
            in_flight: 0,
            replies: Replies::default(),
        })
    }

    pub(super) fn size(&self) -> u64 {
        self.size
    }

    pub(super) fn outstanding(&self) -> usize {
        self.in_flight
    }

    /// Queues the first requests.
    pub(super) fn fill(&mut self, load: &mut Load) {
        for slot in 0..self.slots.len() {
            self.in_flight += 1;
            self.issue(slot, load);
        }
    }

    fn issue(&mut self, slot: usize, load: &mut Load) {
        let read = load.rng.next_u64() % 100 < load.read_percent;
        let offset = load.rng.next_u64() % load.blocks * u64::from(load.block);
        let command = if read { Command::Read } else { Command::Write };
        let request = Request { cookie: slot as u64, offset, length: load.block, flags: 0, command };
        let header = slot * wire::REQUEST_BYTES..(slot + 1) * wire::REQUEST_BYTES;
        self.headers[header.clone()].copy_from_slice(&request.encode());
        self.slots[slot] = Slot { read, started: load.now };
        match self.to_send.back_mut() {
            Some(Piece::Headers(last)) if last.end == header.start => last.end = header.end,
            _ => self.to_send.push_back(Piece::Headers(header)),
        }
        if !read {
            self.to_send.push_back(Piece::Data(load.next_data()));
        }
    }

    /// Takes what has come, replaces what is done, sends what is due. True if anything happened.
    pub(super) fn turn(&mut self, load: &mut Load, input: &mut [u8]) -> Result<bool, LoadError> {
        let received = match self.stream.read(input) {
            Ok(0) => return Err(io::Error::new(ErrorKind::UnexpectedEof, "the server closed the connection").into()),
            Ok(bytes) => bytes,
            Err(error) if is_later(&error) => 0,
            Err(error) => return Err(error.into()),
        };
        self.take_replies(&input[..received], load)?;
        Ok(self.send(load)? || received > 0)
    }

    fn take_replies(&mut self, mut piece: &[u8], load: &mut Load) -> Result<(), LoadError> {
        let block = load.block as usize;
        let length =
            |slots: &[Slot], cookie: u64| slots.get(cookie as usize).map(|slot| if slot.read { block } else { 0 });
        while let Some((cookie, failed)) = self.replies.next(&mut piece, |cookie| length(&self.slots, cookie))? {
            self.answered(cookie as usize, failed, load);
        }
        Ok(())
    }

    fn answered(&mut self, slot: usize, failed: bool, load: &mut Load) {
        let Slot { read, started } = self.slots[slot];
        load.errors += u64::from(failed);
        if load.counting && !failed {
            load.latency.record(load.now.since(started));
            *if read { &mut load.reads } else { &mut load.writes } += 1;
        }
        if load.issuing {
            self.issue(slot, load);
        } else {
            self.in_flight -= 1;
        }
    }

    fn send(&mut self, load: &Load) -> Result<bool, LoadError> {
        let mut progress = false;
        while !self.to_send.is_empty() {
            let mut pieces = [IoSlice::new(&[]); MAX_PIECES];
            let used = self.to_send.len().min(MAX_PIECES);
            for (slice, piece) in pieces.iter_mut().zip(&self.to_send) {
                *slice = IoSlice::new(match piece {
                    Piece::Headers(range) => &self.headers[range.clone()],
                    Piece::Data(range) => &load.data[range.clone()],
                });
            }
            match self.stream.write_vectored(&pieces[..used]) {
                Ok(bytes) => self.sent(bytes),
                Err(error) if is_later(&error) => return Ok(progress),
                Err(error) => return Err(error.into()),
            }
            progress = true;
        }
        Ok(progress)
    }

    fn sent(&mut self, mut bytes: usize) {
        while let Some(piece) = self.to_send.front_mut() {
            let range = piece.range();
            if bytes < range.len() {
                range.start += bytes;
                return;
            }
            bytes -= range.len();
            self.to_send.pop_front();
        }
    }

    /// What to wait for on this connection.
    pub(super) fn poll(&self) -> libc::pollfd {
        let events = if self.to_send.is_empty() { libc::POLLIN } else { libc::POLLIN | libc::POLLOUT };
        libc::pollfd { fd: self.stream.as_raw_fd(), events, revents: 0 }
    }

    /// Says goodbye and closes.
    pub(super) fn disconnect(mut self) {
        let request = Request { cookie: 0, offset: 0, length: 0, flags: 0, command: Command::Disconnect };
        // The results are in; a server that is gone already changes nothing.
        let _ = self.stream.write_all(&request.encode());
    }
}

fn is_later(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
