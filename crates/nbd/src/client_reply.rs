//! Replies as the client reads them, in place.

use std::ops::Range;

use crate::error::{Errno, Malformed};
use crate::reply::Extent;
use crate::wire::{self, u16_at, u32_at, u64_at};

/// One simple reply, or one chunk of a structured one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The request answered.
    pub cookie: u64,
    /// No further chunk of this reply follows.
    pub last: bool,
    /// What it says.
    pub body: ReplyBody,
}

/// What a reply or chunk says. Ranges are places in the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplyBody {
    /// Success, with nothing to tell.
    Done,
    /// Data of a READ; the offset is told by structured replies only.
    Data {
        /// Offset in the export of the first byte.
        offset: Option<u64>,
        /// Where the data is.
        data: Range<usize>,
    },
    /// A part of a READ that is zeros.
    Hole {
        /// Offset in the export of the first zero.
        offset: u64,
        /// Bytes that are zeros.
        length: u32,
    },
    /// Extents of one metadata context, read with [`ExtentIter`].
    Status {
        /// The context's id.
        context: u32,
        /// Where the extents are.
        extents: Range<usize>,
    },
    /// The request failed, or this part of it.
    Error {
        /// What went wrong.
        errno: Errno,
        /// Where the message is; empty in simple replies.
        message: Range<usize>,
        /// Offset in the export, if told.
        offset: Option<u64>,
    },
}

/// What the front of a client's receive buffer holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplyParsed {
    /// A whole reply or chunk.
    Reply {
        /// What it says.
        reply: Reply,
        /// Bytes of the input it takes.
        consumed: usize,
    },
    /// A part of one: this many bytes are needed in all.
    NeedMore(usize),
    /// Not a reply: close the connection.
    Bad(Malformed),
}

/// The header of a simple reply, for clients that do not keep the data behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimpleReply {
    /// The request answered.
    pub cookie: u64,
    /// What went wrong, if anything did. If not, the data of a READ follows.
    pub errno: Option<Errno>,
}

impl SimpleReply {
    /// Reads a header.
    ///
    /// # Errors
    /// If it is not one.
    #[inline]
    pub fn decode(header: &[u8; wire::SIMPLE_REPLY_BYTES]) -> Result<SimpleReply, Malformed> {
        match u32_at(header, 0) {
            wire::SIMPLE_REPLY_MAGIC => {
                Ok(SimpleReply { cookie: u64_at(header, 8), errno: Errno::from_code(u32_at(header, 4)) })
            }
            other => Err(Malformed::ReplyMagic(other)),
        }
    }
}

/// The extents of a [`ReplyBody::Status`].
#[derive(Clone, Debug)]
pub struct ExtentIter<'a>(&'a [u8]);

impl<'a> ExtentIter<'a> {
    /// Over the bytes of the `extents` range.
    pub fn new(bytes: &'a [u8]) -> ExtentIter<'a> {
        ExtentIter(bytes)
    }
}

impl Iterator for ExtentIter<'_> {
    type Item = Extent;

    fn next(&mut self) -> Option<Extent> {
        let (one, rest) = self.0.split_at_checked(8)?;
        self.0 = rest;
        let hole = u32_at(one, 4) & wire::STATE_ZERO != 0;
        Some(Extent { length: u32_at(one, 0), hole })
    }
}

/// Takes one reply or chunk from the front of `input`, without copying.
///
/// A simple reply does not say whether data follows: `read_length` must tell, for the cookie of an
/// outstanding request, the bytes it reads (0 for other commands), or None if there is no such request.
#[inline]
pub fn parse_reply(input: &[u8], read_length: impl FnOnce(u64) -> Option<u32>) -> ReplyParsed {
    if input.len() < wire::SIMPLE_REPLY_BYTES {
        return ReplyParsed::NeedMore(wire::SIMPLE_REPLY_BYTES);
    }
    match u32_at(input, 0) {
        wire::SIMPLE_REPLY_MAGIC => simple(input, read_length),
        wire::STRUCTURED_REPLY_MAGIC => chunk(input, read_length),
        other => ReplyParsed::Bad(Malformed::ReplyMagic(other)),
    }
}

#[inline]
fn simple(input: &[u8], read_length: impl FnOnce(u64) -> Option<u32>) -> ReplyParsed {
    let (code, cookie) = (u32_at(input, 4), u64_at(input, 8));
    let Some(length) = read_length(cookie) else {
        return ReplyParsed::Bad(Malformed::UnknownCookie(cookie));
    };
    let start = wire::SIMPLE_REPLY_BYTES;
    let (body, consumed) = match Errno::from_code(code) {
        Some(errno) => (ReplyBody::Error { errno, message: start..start, offset: None }, start),
        None if length == 0 => (ReplyBody::Done, start),
        None => {
            let end = start + length as usize;
            if input.len() < end {
                return ReplyParsed::NeedMore(end);
            }
            (ReplyBody::Data { offset: None, data: start..end }, end)
        }
    };
    ReplyParsed::Reply { reply: Reply { cookie, last: true, body }, consumed }
}

#[inline]
fn chunk(input: &[u8], read_length: impl FnOnce(u64) -> Option<u32>) -> ReplyParsed {
    if input.len() < wire::CHUNK_HEADER_BYTES {
        return ReplyParsed::NeedMore(wire::CHUNK_HEADER_BYTES);
    }
    let (flags, kind, cookie, length) = (u16_at(input, 4), u16_at(input, 6), u64_at(input, 8), u32_at(input, 16));
    let Some(read_length) = read_length(cookie) else {
        return ReplyParsed::Bad(Malformed::UnknownCookie(cookie));
    };
    // Judged before waiting for it: a lie about the length must not make us buffer gigabytes.
    let fits = match kind {
        wire::CHUNK_NONE => length == 0,
        wire::CHUNK_OFFSET_DATA => length > 8 && u64::from(length) <= u64::from(read_length) + 8,
        wire::CHUNK_OFFSET_HOLE => length == 12,
        wire::CHUNK_BLOCK_STATUS => length >= 12 && length % 8 == 4 && length as usize <= 4 + 8 * MAX_REMOTE_EXTENTS,
        wire::CHUNK_ERROR => length >= 6 && length as usize <= 6 + wire::MAX_STRING,
        wire::CHUNK_ERROR_OFFSET => length >= 14 && length as usize <= 14 + wire::MAX_STRING,
        other => return ReplyParsed::Bad(Malformed::ChunkType(other)),
    };
    let wrong = ReplyParsed::Bad(Malformed::Length { what: "structured chunk", length });
    if !fits {
        return wrong;
    }
    let start = wire::CHUNK_HEADER_BYTES;
    let end = start + length as usize;
    if input.len() < end {
        return ReplyParsed::NeedMore(end);
    }
    let body = match kind {
        wire::CHUNK_NONE => ReplyBody::Done,
        wire::CHUNK_OFFSET_DATA => ReplyBody::Data { offset: Some(u64_at(input, start)), data: start + 8..end },
        wire::CHUNK_OFFSET_HOLE => ReplyBody::Hole { offset: u64_at(input, start), length: u32_at(input, start + 8) },
        wire::CHUNK_BLOCK_STATUS => ReplyBody::Status { context: u32_at(input, start), extents: start + 4..end },
        _ => {
            let message = start + 6..start + 6 + usize::from(u16_at(input, start + 4));
            let tail = if kind == wire::CHUNK_ERROR_OFFSET { 8 } else { 0 };
            if message.end + tail != end {
                return wrong;
            }
            let offset = (tail != 0).then(|| u64_at(input, end - 8));
            // An error chunk with the number 0 is a server's mistake, but certainly no success.
            let errno = Errno::from_code(u32_at(input, start)).unwrap_or(Errno::Inval);
            ReplyBody::Error { errno, message, offset }
        }
    };
    ReplyParsed::Reply { reply: Reply { cookie, last: flags & wire::CHUNK_DONE != 0, body }, consumed: end }
}

/// Most extents believed of a server, as libnbd does: a mebi.
const MAX_REMOTE_EXTENTS: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply::ReplyEncoder;
    use proptest::prelude::*;

    fn parse(bytes: &[u8], length: u32) -> (Reply, usize) {
        match parse_reply(bytes, |_| Some(length)) {
            ReplyParsed::Reply { reply, consumed } => (reply, consumed),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn replies_of_our_server_are_understood() {
        let mut out = [0; ReplyEncoder::MAX_BYTES + 8];
        for structured in [false, true] {
            let encoder = ReplyEncoder::new(structured);
            let n = encoder.done(&mut out, 3);
            assert_eq!(parse(&out[..n], 0), (Reply { cookie: 3, last: true, body: ReplyBody::Done }, n));
            let n = encoder.read_header(&mut out, 3, 77, 8);
            assert_eq!(parse_reply(&out[..n], |_| Some(8)), ReplyParsed::NeedMore(n + 8));
            let offset = structured.then_some(77);
            let body = ReplyBody::Data { offset, data: n..n + 8 };
            assert_eq!(parse(&out[..n + 8], 8), (Reply { cookie: 3, last: true, body }, n + 8));
            let n = encoder.error(&mut out, 3, Errno::Io, "lost", Some(5));
            let ReplyBody::Error { errno, message, offset } = parse(&out[..n], 8).0.body else { panic!() };
            assert_eq!((errno, offset), (Errno::Io, structured.then_some(5)));
            assert_eq!(&out[message], if structured { &b"lost"[..] } else { b"" });
        }
        let encoder = ReplyEncoder::new(true);
        let n = encoder.read_hole(&mut out, 3, 77, 9).unwrap();
        assert_eq!(parse(&out[..n], 9).0.body, ReplyBody::Hole { offset: 77, length: 9 });
        let extents = [Extent { length: 1, hole: true }, Extent { length: 2, hole: false }];
        let mut status = Vec::new();
        encoder.block_status(&mut status, 3, &extents);
        let ReplyBody::Status { context, extents: range } = parse(&status, 0).0.body else { panic!() };
        assert_eq!(context, wire::BASE_ALLOCATION_ID);
        assert_eq!(ExtentIter::new(&status[range]).collect::<Vec<_>>(), extents);
    }

    #[test]
    fn lies_are_found_before_buffering() {
        let chunk = |kind: u16, length: u32| {
            let head =
                [&wire::STRUCTURED_REPLY_MAGIC.to_be_bytes()[..], &1u16.to_be_bytes(), &kind.to_be_bytes()].concat();
            [&head[..], &[0; 8], &length.to_be_bytes()].concat()
        };
        let cases = [
            (wire::CHUNK_OFFSET_DATA, 4096 + 9),
            (wire::CHUNK_OFFSET_DATA, 8),
            (wire::CHUNK_OFFSET_HOLE, 13),
            (wire::CHUNK_NONE, 1),
            (wire::CHUNK_BLOCK_STATUS, 4),
            (wire::CHUNK_BLOCK_STATUS, 13),
            (wire::CHUNK_BLOCK_STATUS, u32::MAX - 3),
            (wire::CHUNK_ERROR, 5),
            (wire::CHUNK_ERROR, 1 << 20),
            (wire::CHUNK_ERROR_OFFSET, 13),
            (77, 0),
        ];
        for (kind, length) in cases {
            let parsed = parse_reply(&chunk(kind, length), |_| Some(4096));
            assert!(matches!(parsed, ReplyParsed::Bad(_)), "{kind} {length}: {parsed:?}");
        }
        let unknown = parse_reply(&chunk(wire::CHUNK_NONE, 0), |_| None);
        assert_eq!(unknown, ReplyParsed::Bad(Malformed::UnknownCookie(0)));
        assert!(matches!(parse_reply(&[0; 16], |_| Some(0)), ReplyParsed::Bad(Malformed::ReplyMagic(0))));
    }

    proptest! {
        #[test]
        fn noise_never_panics(noise in prop::collection::vec(any::<u8>(), 0..80), kind in 0u16..8, high: bool, length in 0u32..60) {
            let kind = kind | if high { 1 << 15 } else { 0 };
            let mut bytes = wire::STRUCTURED_REPLY_MAGIC.to_be_bytes().to_vec();
            bytes.extend_from_slice(&[0, 1]);
            bytes.extend_from_slice(&kind.to_be_bytes());
            bytes.extend_from_slice(&[0; 8]);
            bytes.extend_from_slice(&length.to_be_bytes());
            bytes.extend_from_slice(&noise);
            if let ReplyParsed::Reply { consumed, .. } = parse_reply(&bytes, |_| Some(40)) {
                prop_assert!(consumed <= bytes.len());
            }
            parse_reply(&noise, |_| Some(40));
        }
    }
}
