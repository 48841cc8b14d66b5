//! The demo's NBD client: one connection, many requests in flight, on a plain non-blocking socket.
//!
//! It dials as the load generator of `target` does, and its replies are taken apart by the parser of `nbd`. The load generator's own
//! connections are of no use here: they choose what to ask for themselves, and step over what comes, as keeping it would cost as much
//! as the server's work. Here each request is the workload's, and each byte that comes is compared.

use cygnus_nbd::{Address, Command, NbdUri, ReplyBody, ReplyParsed, Request, parse_reply};
use cygnus_target::loadgen::{Dialled, LoadError, dial};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};
use thiserror::Error;

/// Why the client gave up.
#[derive(Debug, Error)]
pub enum ClientError {
    /// The socket failed, or the server closed it.
    #[error("the NBD connection broke: {0}")]
    Io(#[from] std::io::Error),
    /// Nobody answered, or not as NBD has it.
    #[error(transparent)]
    Dial(#[from] LoadError),
    /// The server does not speak as it should.
    #[error("the NBD server's answer cannot be understood: {0}")]
    Protocol(String),
    /// A request was refused.
    #[error("{command:?} of {length} bytes at {offset} failed: {errno}")]
    Refused {
        /// What was asked.
        command: Command,
        /// Where.
        offset: u64,
        /// How much.
        length: u32,
        /// The server's error.
        errno: cygnus_nbd::Errno,
    },
}

/// A request in flight.
#[derive(Clone, Copy, Debug)]
pub struct InFlight {
    /// Which command was sent.
    pub command: Command,
    /// First byte of the export that it is about; 0 for a flush.
    pub offset: u64,
    /// Bytes that it is about; 0 for a flush.
    pub length: u32,
    /// When it was sent.
    pub sent: Instant,
}

/// A connection in the transmission phase.
#[derive(Debug)]
pub struct Connection {
    stream: UnixStream,
    size: u64,
    inbox: Vec<u8>,
    /// Bytes of `inbox` already handled.
    taken: usize,
    outbox: Vec<u8>,
    sent: usize,
    /// By cookie.
    in_flight: Vec<Option<InFlight>>,
    free: Vec<usize>,
}

impl Connection {
    /// Connects to the export at a Unix socket, for at most `depth` requests at a time.
    pub fn open(socket: &Path, export: &str, depth: usize) -> Result<Self, ClientError> {
        let Dialled { stream, size } = dial(&NbdUri { address: Address::Unix(socket.into()), export: export.into() })?;
        Ok(Self {
            stream,
            size,
            inbox: Vec::new(),
            taken: 0,
            outbox: Vec::new(),
            sent: 0,
            in_flight: vec![None; depth],
            free: (0..depth).rev().collect(),
        })
    }

    /// The export's size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Whether another request may be queued.
    pub fn has_room(&self) -> bool {
        !self.free.is_empty()
    }

    /// Requests without a reply.
    pub fn in_flight(&self) -> impl Iterator<Item = &InFlight> {
        self.in_flight.iter().flatten()
    }

    /// Queues a request; `payload` is appended by the caller's closure, for a write. [`Connection::exchange`] sends it.
    pub fn queue(&mut self, command: Command, offset: u64, length: u32, payload: impl FnOnce(&mut Vec<u8>)) {
        let slot = self.free.pop().expect("has_room was asked");
        self.in_flight[slot] = Some(InFlight { command, offset, length, sent: Instant::now() });
        let request = Request { cookie: slot as u64, offset, length, flags: 0, command };
        self.outbox.extend_from_slice(&request.encode());
        payload(&mut self.outbox);
    }

    /// Sends what is queued and waits at most `patience` for replies, each of which `done` gets with its data.
    pub fn exchange(&mut self, patience: Duration, mut done: impl FnMut(InFlight, &[u8])) -> Result<(), ClientError> {
        self.send()?;
        if !self.wait(patience)? {
            return Ok(());
        }
        self.send()?;
        self.receive()?;
        while let Some((answered, data)) = self.next_reply()? {
            done(answered, &self.inbox[data]);
        }
        // Whole replies are gone; the beginning of the next one moves to the front.
        self.inbox.drain(..self.taken);
        self.taken = 0;
        Ok(())
    }

    fn next_reply(&mut self) -> Result<Option<(InFlight, std::ops::Range<usize>)>, ClientError> {
        let in_flight = &self.in_flight;
        let read_length = |cookie: u64| {
            let request = in_flight.get(usize::try_from(cookie).ok()?)?.as_ref()?;
            Some(if request.command == Command::Read { request.length } else { 0 })
        };
        match parse_reply(&self.inbox[self.taken..], read_length) {
            ReplyParsed::NeedMore(_) => Ok(None),
            ReplyParsed::Bad(error) => Err(ClientError::Protocol(error.to_string())),
            ReplyParsed::Reply { reply, consumed } => {
                let start = self.taken;
                self.taken += consumed;
                let slot = reply.cookie as usize;
                let request = self.in_flight[slot].take().expect("the parser knows outstanding cookies only");
                self.free.push(slot);
                match reply.body {
                    ReplyBody::Done => Ok(Some((request, start..start))),
                    ReplyBody::Data { data, .. } => Ok(Some((request, start + data.start..start + data.end))),
                    ReplyBody::Error { errno, .. } => {
                        let InFlight { command, offset, length, .. } = request;
                        Err(ClientError::Refused { command, offset, length, errno })
                    }
                    other => Err(ClientError::Protocol(format!("{other:?} without structured replies"))),
                }
            }
        }
    }

    fn send(&mut self) -> Result<(), ClientError> {
        while self.sent < self.outbox.len() {
            match self.stream.write(&self.outbox[self.sent..]) {
                Ok(0) => return Err(std::io::Error::from(ErrorKind::WriteZero).into()),
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.outbox.clear();
        self.sent = 0;
        Ok(())
    }

    /// Waits until there is something to read, or room to write if that is wanted. False if the time ran out.
    fn wait(&self, patience: Duration) -> Result<bool, ClientError> {
        let mut events = libc::POLLIN;
        if !self.outbox.is_empty() {
            events |= libc::POLLOUT;
        }
        let mut poll = libc::pollfd { fd: self.stream.as_raw_fd(), events, revents: 0 };
        let millis = patience.as_millis().min(i32::MAX as u128) as i32;
        // SAFETY: `poll` is one valid pollfd, alive and not otherwise borrowed during the call; the count says one.
        let ready = unsafe { libc::poll(&mut poll, 1, millis) };
        match ready {
            0 => Ok(false),
            1.. => Ok(true),
            _ => match std::io::Error::last_os_error() {
                error if error.kind() == ErrorKind::Interrupted => Ok(false),
                error => Err(error.into()),
            },
        }
    }

    /// Appends what has arrived to the inbox, without waiting for more than the socket's mode asks.
    fn receive(&mut self) -> Result<(), ClientError> {
        let mut chunk = [0; 256 << 10];
        match self.stream.read(&mut chunk) {
            Ok(0) => Err(std::io::Error::from(ErrorKind::UnexpectedEof).into()),
            Ok(count) => {
                self.inbox.extend_from_slice(&chunk[..count]);
                Ok(())
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
