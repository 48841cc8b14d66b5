//! One transmission request: parse it in place, check it against the export, encode it.

use std::ops::Range;

use crate::error::{Errno, Malformed};
use crate::handshake::Session;
use crate::wire::{self, u16_at, u32_at, u64_at};

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// Data from the export.
    Read,
    /// Data to the export; the only request with a payload.
    Write,
    /// A clean end: no reply.
    Disconnect,
    /// Make acknowledged writes durable.
    Flush,
    /// Contents are no longer needed.
    Trim,
    /// A hint that reads will follow.
    Cache,
    /// Make the range read as zeros.
    WriteZeroes,
    /// Tell which parts are allocated.
    BlockStatus,
    /// Something else: answered EINVAL.
    Unknown(u16),
}

impl Command {
    fn from_code(code: u16) -> Command {
        match code {
            0 => Command::Read,
            1 => Command::Write,
            2 => Command::Disconnect,
            3 => Command::Flush,
            4 => Command::Trim,
            5 => Command::Cache,
            6 => Command::WriteZeroes,
            7 => Command::BlockStatus,
            other => Command::Unknown(other),
        }
    }

    fn code(self) -> u16 {
        match self {
            Command::Read => 0,
            Command::Write => 1,
            Command::Disconnect => 2,
            Command::Flush => 3,
            Command::Trim => 4,
            Command::Cache => 5,
            Command::WriteZeroes => 6,
            Command::BlockStatus => 7,
            Command::Unknown(code) => code,
        }
    }

    /// The flags this command may carry. FUA is allowed on all: where nothing is written it says nothing.
    fn allowed_flags(self, structured: bool) -> u16 {
        wire::CMD_FLAG_FUA
            | match self {
                Command::Read if structured => wire::CMD_FLAG_DF,
                Command::WriteZeroes => wire::CMD_FLAG_NO_HOLE | wire::CMD_FLAG_FAST_ZERO,
                Command::BlockStatus => wire::CMD_FLAG_REQ_ONE,
                _ => 0,
            }
    }
}

/// A request's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Chosen by the client, returned in the reply.
    pub cookie: u64,
    /// First byte concerned.
    pub offset: u64,
    /// Bytes concerned.
    pub length: u32,
    /// Bits of the protocol, `CMD_FLAG_*`.
    pub flags: u16,
    /// What is asked.
    pub command: Command,
}

/// What the front of a receive buffer holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// A request that has arrived whole.
    Request {
        /// What the request's header says.
        request: Request,
        /// Where in the input the data of a WRITE is; empty for others.
        payload: Range<usize>,
        /// Bytes of the input it takes.
        consumed: usize,
    },
    /// A part of one: this many bytes are needed in all, at most `REQUEST_BYTES + MAX_PAYLOAD`.
    NeedMore(usize),
    /// Not a request: close the connection.
    Bad(Malformed),
}

/// Takes one request from the front of `input`, without copying or allocating.
#[inline]
pub fn parse_request(input: &[u8]) -> Parsed {
    let Some(header) = input.first_chunk::<{ wire::REQUEST_BYTES }>() else {
        // Noise is told apart as soon as it can be, not when 28 bytes of it have come.
        if input.len() >= 4 && u32_at(input, 0) != wire::REQUEST_MAGIC {
            return Parsed::Bad(Malformed::RequestMagic(u32_at(input, 0)));
        }
        return Parsed::NeedMore(wire::REQUEST_BYTES);
    };
    let magic = u32_at(header, 0);
    if magic != wire::REQUEST_MAGIC {
        return Parsed::Bad(Malformed::RequestMagic(magic));
    }
    let request = Request::decode(header);
    let data = if request.command == Command::Write { request.length } else { 0 };
    if data > wire::MAX_PAYLOAD {
        return Parsed::Bad(Malformed::WriteLength(data));
    }
    let consumed = wire::REQUEST_BYTES + data as usize;
    if input.len() < consumed {
        return Parsed::NeedMore(consumed);
    }
    Parsed::Request { request, payload: wire::REQUEST_BYTES..consumed, consumed }
}

/// The header of the request at the front of `input`, if it is one and has come; its payload need not have.
pub fn peek_request(input: &[u8]) -> Option<Request> {
    let header = input.first_chunk::<{ wire::REQUEST_BYTES }>()?;
    (u32_at(header, 0) == wire::REQUEST_MAGIC).then(|| Request::decode(header))
}

/// The offset that the request at the front of `input` will be found to have, should it prove to be one.
#[inline]
pub fn peek_offset(input: &[u8]) -> Option<u64> {
    input.first_chunk::<{ wire::REQUEST_BYTES }>().map(|header| u64_at(header, 16))
}

/// A well-formed request that cannot be served: answer with this, keep the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The error of the reply.
    pub errno: Errno,
    /// For humans; structured replies carry it.
    pub reason: &'static str,
}

impl Request {
    /// What a header says, whatever its magic.
    #[inline]
    fn decode(header: &[u8; wire::REQUEST_BYTES]) -> Request {
        Request {
            flags: u16_at(header, 4),
            command: Command::from_code(u16_at(header, 6)),
            cookie: u64_at(header, 8),
            offset: u64_at(header, 16),
            length: u32_at(header, 24),
        }
    }

    /// The header's bytes. A WRITE's data must follow.
    pub fn encode(&self) -> [u8; wire::REQUEST_BYTES] {
        let mut bytes = [0; wire::REQUEST_BYTES];
        bytes[0..4].copy_from_slice(&wire::REQUEST_MAGIC.to_be_bytes());
        bytes[4..6].copy_from_slice(&self.flags.to_be_bytes());
        bytes[6..8].copy_from_slice(&self.command.code().to_be_bytes());
        bytes[8..16].copy_from_slice(&self.cookie.to_be_bytes());
        bytes[16..24].copy_from_slice(&self.offset.to_be_bytes());
        bytes[24..28].copy_from_slice(&self.length.to_be_bytes());
        bytes
    }

    /// Whether the reply must wait until the effect is durable.
    #[inline]
    pub fn fua(&self) -> bool {
        self.flags & wire::CMD_FLAG_FUA != 0
    }

    /// Whether `flag` (one of `CMD_FLAG_*`) is set.
    #[inline]
    pub fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }

    /// Judges the request against what was negotiated and the export's size in bytes as it is now.
    ///
    /// # Errors
    /// [`Refusal`]: the reply to give. The connection stays.
    #[inline]
    pub fn check(&self, session: &Session, size: u64) -> Result<(), Refusal> {
        if self.flags & !self.command.allowed_flags(session.structured) != 0 {
            return refuse(Errno::Inval, "a flag that this command does not take");
        }
        match self.command {
            Command::Disconnect => return Ok(()),
            Command::Unknown(_) => return refuse(Errno::Inval, "unknown command"),
            Command::Flush if self.offset != 0 || self.length != 0 => {
                return refuse(Errno::Inval, "FLUSH takes neither offset nor length");
            }
            Command::Flush => return Ok(()),
            Command::BlockStatus if !session.allocation => {
                return refuse(Errno::Inval, "no metadata context was selected");
            }
            Command::Read if self.length > wire::MAX_PAYLOAD => {
                return refuse(Errno::Inval, "READ above the largest payload");
            }
            _ => {}
        }
        if self.length == 0 {
            return refuse(Errno::Inval, "a length of zero");
        }
        let writes = matches!(self.command, Command::Write | Command::Trim | Command::WriteZeroes);
        if writes && session.export.flags & wire::EXPORT_READ_ONLY != 0 {
            return refuse(Errno::Perm, "the export is read-only");
        }
        if self.offset > size || u64::from(self.length) > size - self.offset {
            // The protocol wants ENOSPC for what would need room past the end, EINVAL for the rest.
            let needs_room = matches!(self.command, Command::Write | Command::WriteZeroes);
            return refuse(if needs_room { Errno::NoSpc } else { Errno::Inval }, "past the end of the export");
        }
        Ok(())
    }
}

#[cold]
fn refuse(errno: Errno, reason: &'static str) -> Result<(), Refusal> {
    Err(Refusal { errno, reason })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handshake::ExportInfo;
    use proptest::prelude::*;

    fn request(command: Command, offset: u64, length: u32, flags: u16) -> Request {
        Request { cookie: 7, offset, length, flags, command }
    }

    #[test]
    fn a_write_on_the_wire() {
        let bytes = b"\x25\x60\x95\x13\0\x01\0\x01\0\0\0\0\0\0\0\x2a\0\0\0\0\0\0\x10\0\0\0\0\x03abcREST";
        let write = Request { cookie: 42, offset: 4096, length: 3, flags: wire::CMD_FLAG_FUA, command: Command::Write };
        assert_eq!(parse_request(bytes), Parsed::Request { request: write, payload: 28..31, consumed: 31 });
        assert!(write.fua());
        assert_eq!(write.encode(), bytes[..28]);
        for cut in 0..28 {
            assert_eq!(parse_request(&bytes[..cut]), Parsed::NeedMore(28));
            assert_eq!(peek_request(&bytes[..cut]), None);
        }
        assert_eq!(peek_request(&bytes[..28]), Some(write));
        assert_eq!(peek_request(&[0; 28]), None);
        for cut in 28..31 {
            assert_eq!(parse_request(&bytes[..cut]), Parsed::NeedMore(31));
        }
    }

    #[test]
    fn noise_and_excess_are_bad() {
        assert_eq!(parse_request(b"GET / HT"), Parsed::Bad(Malformed::RequestMagic(0x4745_5420)));
        let long = request(Command::Write, 0, wire::MAX_PAYLOAD + 1, 0).encode();
        assert_eq!(parse_request(&long), Parsed::Bad(Malformed::WriteLength(wire::MAX_PAYLOAD + 1)));
        let limit = request(Command::Write, 0, wire::MAX_PAYLOAD, 0).encode();
        assert_eq!(parse_request(&limit), Parsed::NeedMore(28 + wire::MAX_PAYLOAD as usize));
        // Without a payload, the length is no reason to distrust the stream.
        let trim = request(Command::Trim, 0, u32::MAX, 0);
        assert_eq!(parse_request(&trim.encode()), Parsed::Request { request: trim, payload: 28..28, consumed: 28 });
    }

    #[test]
    fn checks() {
        use Command::*;
        let export = ExportInfo {
            name: "v".into(),
            description: String::new(),
            size: 0,
            page: 4096,
            flags: wire::EXPORT_WRITABLE,
        };
        let full = Session { export: export.clone(), structured: true, allocation: true };
        let bare = Session { export: export.clone(), structured: false, allocation: false };
        let read_only = Session {
            export: ExportInfo { flags: wire::EXPORT_HAS_FLAGS | wire::EXPORT_READ_ONLY, ..export },
            structured: true,
            allocation: true,
        };
        let size = 1 << 20;
        let cases = [
            (&full, request(Read, 0, 1 << 20, 0), None),
            (&full, request(Read, 0, 4096, wire::CMD_FLAG_DF | wire::CMD_FLAG_FUA), None),
            (&bare, request(Read, 0, 4096, wire::CMD_FLAG_DF), Some(Errno::Inval)),
            (&full, request(Read, 1, 1 << 20, 0), Some(Errno::Inval)),
            (&full, request(Read, u64::MAX, 2, 0), Some(Errno::Inval)),
            (&full, request(Read, 0, 0, 0), Some(Errno::Inval)),
            (&full, request(Read, 0, wire::MAX_PAYLOAD + 1, 0), Some(Errno::Inval)),
            (&full, request(Write, size - 1, 2, 0), Some(Errno::NoSpc)),
            (&full, request(Write, size - 1, 1, wire::CMD_FLAG_FUA), None),
            (&full, request(Write, 0, 1, wire::CMD_FLAG_DF), Some(Errno::Inval)),
            (&full, request(WriteZeroes, 1, 1 << 20, 0), Some(Errno::NoSpc)),
            (&full, request(WriteZeroes, 0, 1, wire::CMD_FLAG_NO_HOLE | wire::CMD_FLAG_FAST_ZERO), None),
            (&full, request(Trim, 1, 1 << 20, 0), Some(Errno::Inval)),
            (&full, request(Trim, 0, 1, wire::CMD_FLAG_NO_HOLE), Some(Errno::Inval)),
            (&full, request(Cache, 0, 1 << 20, 0), None),
            (&full, request(Flush, 0, 0, 0), None),
            (&full, request(Flush, 0, 1, 0), Some(Errno::Inval)),
            (&full, request(BlockStatus, 0, 512, wire::CMD_FLAG_REQ_ONE), None),
            (&bare, request(BlockStatus, 0, 512, 0), Some(Errno::Inval)),
            (&full, request(Unknown(99), 0, 1, 0), Some(Errno::Inval)),
            (&full, request(Read, 0, 1, 1 << 15), Some(Errno::Inval)),
            (&read_only, request(Write, 0, 1, 0), Some(Errno::Perm)),
            (&read_only, request(Trim, 0, 1, 0), Some(Errno::Perm)),
            (&read_only, request(Read, 0, 1, 0), None),
        ];
        for (session, request, expected) in cases {
            assert_eq!(request.check(session, size).err().map(|refusal| refusal.errno), expected, "{request:?}");
        }
    }

    /// Requests with their payloads, as a client could send them.
    fn stream() -> impl Strategy<Value = Vec<(Request, Vec<u8>)>> {
        let one = (
            0u16..10,
            any::<u16>(),
            any::<u64>(),
            any::<u64>(),
            any::<u32>(),
            prop::collection::vec(any::<u8>(), 0..600),
        );
        let one = one.prop_map(|(code, flags, cookie, offset, length, payload)| {
            let command = Command::from_code(code);
            let write = command == Command::Write;
            let (length, payload) = if write { (payload.len() as u32, payload) } else { (length, Vec::new()) };
            (Request { cookie, offset, length, flags, command }, payload)
        });
        prop::collection::vec(one, 0..20)
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same_requests(sent in stream(), cuts in prop::collection::vec(1usize..900, 1..40)) {
            let bytes: Vec<u8> = sent.iter().flat_map(|(request, data)| [&request.encode()[..], data].concat()).collect();
            let (mut received, mut buffer, mut position) = (Vec::new(), Vec::new(), 0);
            let mut cuts = cuts.into_iter().cycle();
            loop {
                match parse_request(&buffer) {
                    Parsed::Request { request, payload, consumed } => {
                        received.push((request, buffer[payload].to_vec()));
                        buffer.drain(..consumed);
                        continue;
                    }
                    Parsed::NeedMore(total) => prop_assert!(total > buffer.len()),
                    Parsed::Bad(reason) => prop_assert!(false, "{}", reason),
                }
                if position == bytes.len() {
                    break;
                }
                let piece = cuts.next().unwrap().min(bytes.len() - position);
                buffer.extend_from_slice(&bytes[position..position + piece]);
                position += piece;
            }
            prop_assert!(buffer.is_empty());
            prop_assert_eq!(received, sent);
        }
    }
}
