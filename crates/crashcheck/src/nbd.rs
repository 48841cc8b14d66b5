//! The smallest NBD client the checker can do with: fixed newstyle, GO, simple replies, a Unix socket.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

const NBD_MAGIC: u64 = 0x4e42_444d_4147_4943;
const OPT_MAGIC: u64 = 0x4948_4156_454f_5054;
const OPT_REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;
const REQUEST_MAGIC: u32 = 0x2560_9513;
const SIMPLE_REPLY_MAGIC: u32 = 0x6744_6698;

const OPT_GO: u32 = 7;
const REP_ACK: u32 = 1;
const REP_INFO: u32 = 3;
const INFO_EXPORT: u16 = 0;
const INFO_BLOCK_SIZE: u16 = 3;

const FLAG_FIXED_NEWSTYLE: u16 = 1;
const FLAG_NO_ZEROES: u16 = 2;
const TX_SEND_FLUSH: u16 = 1 << 2;
const TX_CAN_MULTI_CONN: u16 = 1 << 8;

/// The command of a request, by its number in the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Command {
    /// Read `length` bytes.
    Read = 0,
    /// Write the payload.
    Write = 1,
    /// End the connection; no reply follows.
    Disconnect = 2,
    /// Make everything acknowledged before durable.
    Flush = 3,
    /// Discard.
    Trim = 4,
    /// Write zeros without sending them.
    WriteZeroes = 6,
}

/// Request flag: durable before the reply.
pub const FLAG_FUA: u16 = 1;
/// Request flag of WRITE_ZEROES: keep the space allocated.
pub const FLAG_NO_HOLE: u16 = 2;

/// What the server said about the export.
#[derive(Clone, Copy, Debug)]
pub struct Export {
    /// Size of the export in bytes.
    pub size: u64,
    /// A flush on one connection covers the writes acknowledged on all of them.
    pub multi_conn: bool,
    /// It may be flushed.
    pub flush: bool,
    /// Smallest request and alignment, bytes.
    pub min_block: u32,
}

/// One request, without its payload.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Which command it is.
    pub command: Command,
    /// [`FLAG_FUA`], [`FLAG_NO_HOLE`], both or 0.
    pub flags: u16,
    /// Comes back in the reply.
    pub cookie: u64,
    /// Bytes from the start of the export.
    pub offset: u64,
    /// Bytes to read, write, zero or trim; 0 for a flush.
    pub length: u32,
}

/// Connects to `export` at `socket` and negotiates up to the transmission phase.
pub fn connect(socket: &Path, export: &str) -> io::Result<(UnixStream, Export)> {
    let mut s = UnixStream::connect(socket)?;
    if read_u64(&mut s)? != NBD_MAGIC || read_u64(&mut s)? != OPT_MAGIC {
        return Err(bad("greeting is not NBD newstyle"));
    }
    let offered = read_u16(&mut s)?;
    if offered & FLAG_FIXED_NEWSTYLE == 0 {
        return Err(bad("server does not speak fixed newstyle"));
    }
    let mut hello = Vec::new();
    hello.extend(u32::from(offered & (FLAG_FIXED_NEWSTYLE | FLAG_NO_ZEROES)).to_be_bytes());
    hello.extend(OPT_MAGIC.to_be_bytes());
    hello.extend(OPT_GO.to_be_bytes());
    hello.extend((4 + export.len() as u32 + 2 + 2).to_be_bytes());
    hello.extend((export.len() as u32).to_be_bytes());
    hello.extend(export.as_bytes());
    hello.extend(1u16.to_be_bytes());
    hello.extend(INFO_BLOCK_SIZE.to_be_bytes());
    s.write_all(&hello)?;
    let about = read_go_replies(&mut s)?;
    Ok((s, about))
}

fn read_go_replies(s: &mut UnixStream) -> io::Result<Export> {
    let mut about = Export { size: 0, multi_conn: false, flush: false, min_block: 1 };
    loop {
        if read_u64(s)? != OPT_REPLY_MAGIC {
            return Err(bad("option reply without its magic"));
        }
        let option = read_u32(s)?;
        let kind = read_u32(s)?;
        let mut data = vec![0u8; read_u32(s)? as usize];
        s.read_exact(&mut data)?;
        match kind {
            _ if option != OPT_GO => return Err(bad("reply to an option that was not sent")),
            REP_ACK => return Ok(about),
            REP_INFO if data.len() == 12 && data[..2] == INFO_EXPORT.to_be_bytes() => {
                about.size = u64::from_be_bytes(data[2..10].try_into().expect("eight bytes"));
                let flags = u16::from_be_bytes([data[10], data[11]]);
                about.multi_conn = flags & TX_CAN_MULTI_CONN != 0;
                about.flush = flags & TX_SEND_FLUSH != 0;
            }
            REP_INFO if data.len() == 14 && data[..2] == INFO_BLOCK_SIZE.to_be_bytes() => {
                about.min_block = u32::from_be_bytes(data[2..6].try_into().expect("four bytes"));
            }
            REP_INFO => {}
            _ => return Err(bad(&format!("GO refused: {kind:#x} {}", String::from_utf8_lossy(&data)))),
        }
    }
}

/// Sends a request and, for writes, its payload.
pub fn send(s: &mut impl Write, request: &Request, payload: &[u8]) -> io::Result<()> {
    let mut head = [0u8; 28];
    head[0..4].copy_from_slice(&REQUEST_MAGIC.to_be_bytes());
    head[4..6].copy_from_slice(&request.flags.to_be_bytes());
    head[6..8].copy_from_slice(&(request.command as u16).to_be_bytes());
    head[8..16].copy_from_slice(&request.cookie.to_be_bytes());
    head[16..24].copy_from_slice(&request.offset.to_be_bytes());
    head[24..28].copy_from_slice(&request.length.to_be_bytes());
    s.write_all(&head)?;
    s.write_all(payload)
}

/// Receives the head of a simple reply: (error, cookie). The data of a successful read follows in the stream.
pub fn recv(s: &mut impl Read) -> io::Result<(u32, u64)> {
    let mut head = [0u8; 16];
    s.read_exact(&mut head)?;
    if head[0..4] != SIMPLE_REPLY_MAGIC.to_be_bytes() {
        return Err(bad("reply without the simple reply magic"));
    }
    let error = u32::from_be_bytes(head[4..8].try_into().expect("four bytes"));
    Ok((error, u64::from_be_bytes(head[8..16].try_into().expect("eight bytes"))))
}

/// Reads `buf.len()` bytes at `offset` with nothing else in flight; the server's errno becomes an error.
pub fn read_at(s: &mut UnixStream, offset: u64, buf: &mut [u8]) -> io::Result<()> {
    let length = buf.len() as u32;
    send(s, &Request { command: Command::Read, flags: 0, cookie: offset, offset, length }, &[])?;
    let (error, cookie) = recv(s)?;
    if cookie != offset {
        return Err(bad("reply to a request that was not sent"));
    }
    if error != 0 {
        return Err(io::Error::other(format!("server answers errno {error}")));
    }
    s.read_exact(buf)
}

fn bad(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

fn read_u16(s: &mut impl Read) -> io::Result<u16> {
    let mut b = [0u8; 2];
    s.read_exact(&mut b).map(|()| u16::from_be_bytes(b))
}

fn read_u32(s: &mut impl Read) -> io::Result<u32> {
    let mut b = [0u8; 4];
    s.read_exact(&mut b).map(|()| u32::from_be_bytes(b))
}

fn read_u64(s: &mut impl Read) -> io::Result<u64> {
    let mut b = [0u8; 8];
    s.read_exact(&mut b).map(|()| u64::from_be_bytes(b))
}
