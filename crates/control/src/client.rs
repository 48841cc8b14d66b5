//! The blocking client: what the short-lived commands use to speak with a running `serve`.

use crate::lines::{LineBuffer, LineError, MAX_LINE};
use crate::protocol::{ErrorKind, Request, Response, decode_response, encode_request};
use std::io::{ErrorKind as Io, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use thiserror::Error;

/// How long a command waits for an answer. Volume commands flush to the devices, which a busy array may delay.
pub const TIMEOUT: Duration = Duration::from_secs(30);

/// Why a command got no answer, or not the one it asked for.
#[derive(Debug, Error)]
pub enum ClientError {
    /// No server listens on the socket, or there is none.
    #[error("{path}: {source}: no running 'cygnus serve' answers there", path = path.display())]
    Connect {
        /// The control socket.
        path: PathBuf,
        /// What the system said to the attempt to connect.
        source: std::io::Error,
    },
    /// The connection broke before the answer was there.
    #[error("{path}: {source}: 'cygnus serve' went away during the request", path = path.display())]
    Io {
        /// The control socket.
        path: PathBuf,
        /// What the system said to the read or write that failed.
        source: std::io::Error,
    },
    /// No answer in time.
    #[error("{path}: no answer within {seconds} s: is 'cygnus serve' stopped (SIGSTOP) or waiting for a device?", path = path.display())]
    Timeout {
        /// The control socket.
        path: PathBuf,
        /// How long was waited.
        seconds: u64,
    },
    /// The answer could not be understood.
    #[error("{path}: {message}", path = path.display())]
    Protocol {
        /// The control socket.
        path: PathBuf,
        /// What was wrong with it.
        message: String,
    },
    /// `serve` refused, and says why.
    #[error("{message}")]
    Refused {
        /// What kind of failure.
        kind: ErrorKind,
        /// What went wrong and what to do.
        message: String,
    },
}

/// How long a killed `serve` may take to be gone: on a busy machine the kernel takes seconds to let go of its memory and files, and of
/// its sockets after these.
const GOING_AWAY: Duration = Duration::from_secs(10);
/// How often is looked whether it is.
const GOING_AWAY_POLL: Duration = Duration::from_millis(20);

/// A connection to a running `serve`.
#[derive(Debug)]
pub struct Client {
    path: PathBuf,
    stream: UnixStream,
    lines: LineBuffer,
    timeout: Duration,
}

impl Client {
    /// Connects to the control socket at `path`.
    ///
    /// Fails with [`ClientError::Connect`] when no server serves the array, which for most commands is no failure at all
    /// (see [`Client::connect_if_served`]).
    pub fn connect(path: &Path) -> Result<Self, ClientError> {
        let stream = UnixStream::connect(path).map_err(|source| ClientError::Connect { path: path.into(), source })?;
        Ok(Self { path: path.into(), stream, lines: LineBuffer::new(MAX_LINE), timeout: TIMEOUT })
    }

    /// Connects, or returns `None` when there is no socket or no server behind it (the remains of a killed `serve`).
    ///
    /// A connection proves little: for a moment after a `serve` was killed, the kernel still takes connections to its
    /// socket, and resets them. So the other side has to answer, within `patience`.
    pub fn connect_if_served(path: &Path, patience: Duration) -> Result<Option<Self>, ClientError> {
        let begun = Instant::now();
        loop {
            let connected = Self::connect(path).map(|client| client.with_timeout(patience));
            match connected.and_then(|mut client| client.call(&Request::Ping).map(|_| client)) {
                Ok(client) => return Ok(Some(client.with_timeout(TIMEOUT))),
                Err(ClientError::Connect { source, .. })
                    if matches!(source.kind(), Io::NotFound | Io::ConnectionRefused) =>
                {
                    return Ok(None);
                }
                Err(ClientError::Io { .. }) if begun.elapsed() < GOING_AWAY => std::thread::sleep(GOING_AWAY_POLL),
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits at most `timeout` for each answer instead of [`TIMEOUT`].
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sends a request and waits for its answer; an error answer becomes [`ClientError::Refused`].
    pub fn call(&mut self, request: &Request) -> Result<Response, ClientError> {
        self.call_noting(request, self.timeout, || ())
    }

    /// The same, and calls `is_slow` once if there is no answer after that time.
    pub fn call_noting(
        &mut self,
        request: &Request,
        after: Duration,
        is_slow: impl FnOnce(),
    ) -> Result<Response, ClientError> {
        let begun = Instant::now();
        let deadline = begun + self.timeout;
        self.limit_wait(deadline)?;
        self.stream.write_all(encode_request(request).as_bytes()).map_err(|source| self.io_error(source))?;
        let line = match self.read_line(begun + after.min(self.timeout)) {
            Err(ClientError::Timeout { .. }) => {
                is_slow();
                self.read_line(deadline)?
            }
            read => read?,
        };
        match decode_response(&line) {
            Ok(Response::Error { kind, message }) => Err(ClientError::Refused { kind, message }),
            Ok(response) => Ok(response),
            Err(error) => Err(ClientError::Protocol { path: self.path.clone(), message: error.to_string() }),
        }
    }

    /// The error for an answer of another kind than the request asks for.
    pub fn unexpected(&self, response: &Response) -> ClientError {
        ClientError::Protocol {
            path: self.path.clone(),
            message: format!("an answer to another question: {response:?}"),
        }
    }

    fn read_line(&mut self, deadline: Instant) -> Result<String, ClientError> {
        let mut chunk = [0; 16 << 10];
        loop {
            if let Some(line) = self.lines.next_line().map_err(|error| self.line_error(error))? {
                return Ok(line);
            }
            self.limit_wait(deadline)?;
            match self.stream.read(&mut chunk) {
                Ok(0) => return Err(self.io_error(Io::UnexpectedEof.into())),
                Ok(count) => self.lines.feed(&chunk[..count]),
                Err(error) if error.kind() == Io::Interrupted => {}
                Err(error) => return Err(self.io_error(error)),
            }
        }
    }

    /// A peer that trickles bytes must not stretch the wait: each read gets only what is left of it.
    fn limit_wait(&self, deadline: Instant) -> Result<(), ClientError> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(self.timed_out());
        }
        let set = self.stream.set_read_timeout(Some(left)).and_then(|()| self.stream.set_write_timeout(Some(left)));
        set.map_err(|source| self.io_error(source))
    }

    fn timed_out(&self) -> ClientError {
        ClientError::Timeout { path: self.path.clone(), seconds: self.timeout.as_secs() }
    }

    fn io_error(&self, source: std::io::Error) -> ClientError {
        match source.kind() {
            Io::WouldBlock | Io::TimedOut => self.timed_out(),
            _ => ClientError::Io { path: self.path.clone(), source },
        }
    }

    fn line_error(&self, error: LineError) -> ClientError {
        ClientError::Protocol { path: self.path.clone(), message: error.to_string() }
    }
}
