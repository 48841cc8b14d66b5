//! One connection of the load generator.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use cygnus_nbd::{
    Address, ClientHandshake, ClientStep, Command, Goal, Malformed, NbdUri, ReplyBody, ReplyParsed, Request,
    parse_reply, wire,
};
use cygnus_runtime::Rng;
use cygnus_types::Nanos;

use super::{Load, LoadError};

/// Most requests in flight on one connection.
pub(super) const MAX_DEPTH: usize = 4096;
/// Bytes one receive can take, unless a single reply is larger.
const RECEIVE: usize = 512 << 10;
/// Most frames in one send: the kernel takes 1024 pieces at most.
const MAX_FRAMES: usize = 128;
/// How long a server may take for each step of the negotiation.
const PATIENCE: Duration = Duration::from_secs(10);

/// A place for one request in flight; its index is the request's cookie.
struct Slot {
    read: bool,
    started: Nanos,
}

pub(super) struct Connection {
    /// TCP connections are held as this type too: past connecting, both are only read and written.
    stream: UnixStream,
    size: u64,
    slots: Vec<Slot>,
    /// The slots' frames, one after the other: header and data of a write.
    frames: Vec<u8>,
    frame: usize,
    /// Slots whose frames are to be sent, in order, and the bytes of the first that already were.
    to_send: VecDeque<u16>,
    sent: usize,
    in_flight: usize,
    input: Vec<u8>,
    start: usize,
    end: usize,
}

impl Connection {
    pub(super) fn open(uri: &NbdUri, depth: usize, block: u32, rng: &mut Rng) -> Result<Connection, LoadError> {
        let connect = |source| LoadError::Connect { uri: uri.clone(), source };
        let mut stream = match &uri.address {
            Address::Unix(path) => UnixStream::connect(path).map_err(connect)?,
            Address::Tcp { host, port } => {
                let stream = TcpStream::connect((host.as_str(), *port)).map_err(connect)?;
                stream.set_nodelay(true)?;
                UnixStream::from(OwnedFd::from(stream))
            }
        };
        stream.set_read_timeout(Some(PATIENCE))?;
        let (size, rest) = negotiate(&mut stream, &uri.export)?;
        stream.set_nonblocking(true)?;
        let frame = wire::REQUEST_BYTES + block as usize;
        let mut frames = vec![0; frame * depth];
        rng.fill(&mut frames);
        let mut input = vec![0; RECEIVE.max(2 * (block as usize + wire::DATA_CHUNK_BYTES))];
        input[..rest.len()].copy_from_slice(&rest);
        let slots = (0..depth).map(|_| Slot { read: false, started: Nanos::ZERO }).collect();
        let (to_send, end) = (VecDeque::with_capacity(depth), rest.len());
        Ok(Connection { stream, size, slots, frames, frame, to_send, sent: 0, in_flight: 0, input, start: 0, end })
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
        let at = slot * self.frame;
        self.frames[at..at + wire::REQUEST_BYTES].copy_from_slice(&request.encode());
        self.slots[slot] = Slot { read, started: load.now };
        self.to_send.push_back(slot as u16);
    }

    /// Takes what has come, replaces what is done, sends what is due. True if anything happened.
    pub(super) fn turn(&mut self, load: &mut Load) -> Result<bool, LoadError> {
        let received = self.receive()?;
        if received {
            self.take_replies(load)?;
        }
        Ok(self.send()? || received)
    }

    fn receive(&mut self) -> Result<bool, LoadError> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.input.len() - self.end < self.input.len() / 2 {
            self.input.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        match self.stream.read(&mut self.input[self.end..]) {
            Ok(0) => Err(io::Error::new(ErrorKind::UnexpectedEof, "the server closed the connection").into()),
            Ok(bytes) => {
                self.end += bytes;
                Ok(true)
            }
            Err(error) if is_later(&error) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn take_replies(&mut self, load: &mut Load) -> Result<(), Malformed> {
        loop {
            let slots = &self.slots;
            let length = |cookie| slots.get(cookie as usize).map(|slot: &Slot| if slot.read { load.block } else { 0 });
            match parse_reply(&self.input[self.start..self.end], length) {
                ReplyParsed::NeedMore(_) => return Ok(()),
                ReplyParsed::Bad(reason) => return Err(reason),
                ReplyParsed::Reply { reply, consumed } => {
                    self.start += consumed;
                    let failed = matches!(reply.body, ReplyBody::Error { .. });
                    load.errors += u64::from(failed);
                    if reply.last {
                        self.answered(reply.cookie as usize, failed, load);
                    }
                }
            }
        }
    }

    fn answered(&mut self, slot: usize, failed: bool, load: &mut Load) {
        let Slot { read, started } = self.slots[slot];
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

    fn send(&mut self) -> Result<bool, LoadError> {
        let mut progress = false;
        while !self.to_send.is_empty() {
            let mut pieces = [IoSlice::new(&[]); MAX_FRAMES];
            let mut skip = self.sent;
            let mut used = 0;
            for (piece, slot) in pieces.iter_mut().zip(&self.to_send) {
                let at = *slot as usize * self.frame;
                *piece = IoSlice::new(&self.frames[at + skip..at + self.frame_len(*slot)]);
                skip = 0;
                used += 1;
            }
            match self.stream.write_vectored(&pieces[..used]) {
                Ok(bytes) => self.advance(bytes),
                Err(error) if is_later(&error) => return Ok(progress),
                Err(error) => return Err(error.into()),
            }
            progress = true;
        }
        Ok(progress)
    }

    fn frame_len(&self, slot: u16) -> usize {
        if self.slots[slot as usize].read { wire::REQUEST_BYTES } else { self.frame }
    }

    fn advance(&mut self, bytes: usize) {
        self.sent += bytes;
        while let Some(slot) = self.to_send.front() {
            let len = self.frame_len(*slot);
            if self.sent < len {
                return;
            }
            self.sent -= len;
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

/// Enters the export. Returns its size in bytes and what was received beyond the negotiation.
fn negotiate(stream: &mut UnixStream, export: &str) -> Result<(u64, Vec<u8>), LoadError> {
    // Simple replies are the cheapest, and structured ones have nothing to tell a load generator.
    let goal = Goal::Go { export: export.into(), structured: false, allocation: false };
    let (mut handshake, mut input, mut out) = (ClientHandshake::new(goal), Vec::new(), Vec::new());
    loop {
        let (consumed, step) = handshake.step(&input, &mut out)?;
        input.drain(..consumed);
        stream.write_all(&out)?;
        out.clear();
        match step {
            ClientStep::Again => {}
            ClientStep::NeedMore(_) => {
                let mut piece = [0; 4096];
                let bytes = stream.read(&mut piece)?;
                if bytes == 0 {
                    return Err(io::Error::new(ErrorKind::UnexpectedEof, "the server closed the connection").into());
                }
                input.extend_from_slice(&piece[..bytes]);
            }
            ClientStep::Ready(agreed) => return Ok((agreed.session.export.size, input)),
            ClientStep::Exports(_) => unreachable!("a listing was not asked for"),
        }
    }
}
