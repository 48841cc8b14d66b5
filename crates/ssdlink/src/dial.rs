//! How a host connects: blocking, with patience, up to the drive's welcome.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::{
    Address, Admission, Command, HELLO_BYTES, Hello, REPLY_BYTES, Reply, Request, Status, Stream, VERSION,
    WELCOME_BYTES, Welcome, WireError, check_payload,
};

/// How long a drive may take to answer a greeting.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum DialError {
    /// Nobody answers there.
    #[error("no drive answers there ({0}): start it with 'cygnus ssd serve', or check the address")]
    Unreachable(#[source] io::Error),
    /// Somebody does, in another language.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// Another host has it.
    #[error("another host has claimed the drive: stop that one first")]
    Claimed,
    /// It speaks another version.
    #[error(
        "the drive speaks version {theirs} of the protocol and this host version {VERSION}: use one release for both"
    )]
    Version {
        /// What it speaks.
        theirs: u16,
    },
    /// It has enough.
    #[error("the drive has too many connections: end some of those that only look")]
    Crowded,
    /// It would not tell.
    #[error("the drive does not say how it fares ({0:?})")]
    NoStatus(Status),
}

impl From<io::Error> for DialError {
    fn from(error: io::Error) -> Self {
        Self::Unreachable(error)
    }
}

/// Connects to the drive at an address. The connection has no limits of patience afterwards.
///
/// # Errors
/// See [`DialError`].
pub fn dial(address: &Address, claims: bool, host: [u8; 16]) -> Result<(Stream, Welcome), DialError> {
    let stream = connect(address)?;
    stream.prepare()?;
    stream.set_patience(Some(PATIENCE), Some(PATIENCE))?;
    let hello: [u8; HELLO_BYTES] = Hello { version: VERSION, claims, host }.encode();
    (&stream).write_all(&hello)?;
    let mut welcome = [0; WELCOME_BYTES];
    (&stream).read_exact(&mut welcome)?;
    let welcome = Welcome::decode(&welcome)?;
    match welcome.admission {
        Admission::Admitted if welcome.version == VERSION => {}
        Admission::Admitted | Admission::Version => return Err(DialError::Version { theirs: welcome.version }),
        Admission::Claimed => return Err(DialError::Claimed),
        Admission::Crowded => return Err(DialError::Crowded),
    }
    stream.set_patience(None, None)?;
    Ok((stream, welcome))
}

fn connect(address: &Address) -> io::Result<Stream> {
    let place = match address {
        Address::Unix(path) => return UnixStream::connect(path).map(Stream::Unix),
        Address::Tcp(place) => place,
    };
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for at in place.as_str().to_socket_addrs()? {
        match TcpStream::connect_timeout(&at, PATIENCE) {
            Ok(stream) => return Ok(Stream::Tcp(stream)),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// What the drive at an address is, and how it has fared: JSON text.
///
/// # Errors
/// See [`DialError`].
pub fn fetch_status(address: &Address) -> Result<(Welcome, String), DialError> {
    let (stream, welcome) = dial(address, false, [0; 16])?;
    stream.set_patience(Some(PATIENCE), Some(PATIENCE))?;
    (&stream).write_all(&Request::new(0, Command::Status, &[]).encode())?;
    let mut header = [0; REPLY_BYTES];
    (&stream).read_exact(&mut header)?;
    let reply = Reply::decode(&header)?;
    let mut text = vec![0; reply.payload_bytes as usize];
    (&stream).read_exact(&mut text)?;
    check_payload(&text, reply.payload_crc)?;
    match (reply.status, String::from_utf8(text)) {
        (Status::Done, Ok(text)) => Ok((welcome, text)),
        (Status::Done, Err(_)) => Err(WireError::Meaning { what: "the drive's status" }.into()),
        (other, _) => Err(DialError::NoStatus(other)),
    }
}
