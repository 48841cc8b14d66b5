//! Connecting and negotiating, blocking, before the load begins.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use cygnus_nbd::{Address, ClientHandshake, ClientStep, Goal, NbdUri};

use super::LoadError;

/// How long a server may take for each step of the negotiation.
const PATIENCE: Duration = Duration::from_secs(10);
/// Bytes that a local socket may hold on its way to the server: by default some 200 KiB, less than a deep queue of
/// writes, whose rest would wait until the server has begun to read.
const SEND_BUFFER: libc::c_int = 4 << 20;

/// A connection that has entered its export.
#[derive(Debug)]
pub struct Dialled {
    /// TCP connections are held as this type too: past connecting, both are only read and written.
    pub stream: UnixStream,
    /// Size of the export in bytes.
    pub size: u64,
}

/// Connects and enters the export, with simple replies; the stream does not block any more.
///
/// # Errors
/// When no server answers there, or not as NBD has it.
pub fn dial(uri: &NbdUri) -> Result<Dialled, LoadError> {
    let failed = |source| LoadError::Connect { uri: uri.clone(), source };
    let mut stream = match &uri.address {
        Address::Unix(path) => {
            let stream = UnixStream::connect(path).map_err(failed)?;
            enlarge_send_buffer(&stream);
            stream
        }
        Address::Tcp { host, port } => {
            let stream = TcpStream::connect((host.as_str(), *port)).map_err(failed)?;
            stream.set_nodelay(true)?;
            UnixStream::from(OwnedFd::from(stream))
        }
    };
    stream.set_read_timeout(Some(PATIENCE))?;
    let size = negotiate(&mut stream, &uri.export)?;
    stream.set_nonblocking(true)?;
    Ok(Dialled { stream, size })
}

/// What the system refuses costs speed and nothing else.
fn enlarge_send_buffer(stream: &UnixStream) {
    let bytes = SEND_BUFFER;
    let (value, len) = ((&raw const bytes).cast(), size_of_val(&bytes) as libc::socklen_t);
    for option in [libc::SO_SNDBUFFORCE, libc::SO_SNDBUF] {
        // The first needs a privilege; the second gives what the system's limit allows.
        // SAFETY: `stream` keeps the descriptor open; the kernel reads `len` bytes from `value`, which is a local variable of
        // that size, and keeps no pointer.
        if unsafe { libc::setsockopt(stream.as_raw_fd(), libc::SOL_SOCKET, option, value, len) } == 0 {
            return;
        }
    }
}

/// Enters the export and returns its size in bytes.
fn negotiate(stream: &mut UnixStream, export: &str) -> Result<u64, LoadError> {
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
            ClientStep::Ready(_) if !input.is_empty() => {
                let what = "the server sent something before it was asked";
                return Err(io::Error::new(ErrorKind::InvalidData, what).into());
            }
            ClientStep::Ready(agreed) => return Ok(agreed.session.export.size),
            ClientStep::Exports(_) => unreachable!("a listing was not asked for"),
        }
    }
}
