//! A connection, whatever it goes over.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// A connected socket. Reading and writing work on a shared reference, so two threads can do one each.
#[derive(Debug)]
pub enum Stream {
    /// To a socket file.
    Unix(UnixStream),
    /// Over a network.
    Tcp(TcpStream),
}

impl Stream {
    /// Ends the connection in both directions; whoever waits for it is woken.
    pub fn hang_up(&self) {
        // That the peer was faster is no failure.
        let _ = match self {
            Self::Unix(stream) => stream.shutdown(Shutdown::Both),
            Self::Tcp(stream) => stream.shutdown(Shutdown::Both),
        };
    }

    /// How long a read and a write may wait for the peer; `None`: for ever.
    ///
    /// # Errors
    /// The operating system's.
    pub fn set_patience(&self, read: Option<Duration>, write: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Unix(stream) => stream.set_read_timeout(read).and_then(|()| stream.set_write_timeout(write)),
            Self::Tcp(stream) => stream.set_read_timeout(read).and_then(|()| stream.set_write_timeout(write)),
        }
    }

    /// Has small messages sent at once, and a peer noticed that is gone without a word: after 15 seconds.
    ///
    /// # Errors
    /// The operating system's.
    pub fn prepare(&self) -> io::Result<()> {
        let Self::Tcp(stream) = self else { return Ok(()) };
        stream.set_nodelay(true)?;
        let options = [
            (libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1),
            (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, 5),
            (libc::IPPROTO_TCP, libc::TCP_KEEPINTVL, 5),
            (libc::IPPROTO_TCP, libc::TCP_KEEPCNT, 2),
            (libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT, 15_000),
        ];
        options.into_iter().try_for_each(|(level, name, value)| set_option(stream.as_raw_fd(), level, name, value))
    }
}

fn set_option(fd: RawFd, level: libc::c_int, name: libc::c_int, value: libc::c_int) -> io::Result<()> {
    let (at, len) = ((&raw const value).cast(), size_of::<libc::c_int>() as libc::socklen_t);
    // SAFETY: the descriptor is open, and the option is a C int that outlives the call.
    match unsafe { libc::setsockopt(fd, level, name, at, len) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

impl Read for &Stream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(stream) => (&mut &*stream).read(into),
            Stream::Tcp(stream) => (&mut &*stream).read(into),
        }
    }
}

impl Write for &Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(stream) => (&mut &*stream).write(bytes),
            Stream::Tcp(stream) => (&mut &*stream).write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
