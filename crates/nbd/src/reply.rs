//! Replies as the server writes them, into bytes the caller provides.

use crate::error::Errno;
use crate::wire;

/// A run of bytes of one kind, in the answer to BLOCK_STATUS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Bytes in the run.
    pub length: u32,
    /// Nothing is stored here and it reads as zeros.
    pub hole: bool,
}

impl Extent {
    fn state(self) -> u32 {
        if self.hole { wire::STATE_HOLE | wire::STATE_ZERO } else { 0 }
    }
}

/// Writes replies in the form that was negotiated.
#[derive(Clone, Copy, Debug)]
pub struct ReplyEncoder {
    structured: bool,
}

impl ReplyEncoder {
    /// Most bytes any reply of this encoder takes, apart from read data and extents.
    pub const MAX_BYTES: usize = wire::CHUNK_HEADER_BYTES + 4 + 2 + Self::MAX_MESSAGE + 8;
    /// An error's message is cut here.
    const MAX_MESSAGE: usize = 200;

    /// An encoder; `structured` as the session says.
    pub fn new(structured: bool) -> ReplyEncoder {
        ReplyEncoder { structured }
    }

    /// Success of a command without data. A simple reply in both forms: the protocol allows it for
    /// all but READ, and it is the shortest.
    #[inline]
    pub fn done(&self, out: &mut [u8], cookie: u64) -> usize {
        simple(out, 0, cookie)
    }

    /// What stands before the data of a successful READ; exactly `length` bytes of data must follow.
    #[inline]
    pub fn read_header(&self, out: &mut [u8], cookie: u64, offset: u64, length: u32) -> usize {
        if !self.structured {
            return simple(out, 0, cookie);
        }
        chunk(out, wire::CHUNK_OFFSET_DATA, cookie, length + 8);
        out[20..28].copy_from_slice(&offset.to_be_bytes());
        wire::DATA_CHUNK_BYTES
    }

    /// What stands before a part of the data of a READ that is answered in several chunks; only structured replies can be.
    pub fn read_part(&self, out: &mut [u8], cookie: u64, offset: u64, length: u32, last: bool) -> usize {
        assert!(self.structured, "a simple reply has one part");
        let used = self.read_header(out, cookie, offset, length);
        if !last {
            out[4..6].fill(0);
        }
        used
    }

    /// A READ of nothing but zeros, without sending them. None if only structured replies can say that.
    pub fn read_hole(&self, out: &mut [u8], cookie: u64, offset: u64, length: u32) -> Option<usize> {
        if !self.structured {
            return None;
        }
        chunk(out, wire::CHUNK_OFFSET_HOLE, cookie, 12);
        out[20..28].copy_from_slice(&offset.to_be_bytes());
        out[28..32].copy_from_slice(&length.to_be_bytes());
        Some(32)
    }

    /// A failure, with a message for humans and the first bad byte if the reply form has room for them.
    pub fn error(&self, out: &mut [u8], cookie: u64, errno: Errno, message: &str, offset: Option<u64>) -> usize {
        if !self.structured {
            return simple(out, errno.code(), cookie);
        }
        let message = shortened(message, Self::MAX_MESSAGE).as_bytes();
        let kind = if offset.is_some() { wire::CHUNK_ERROR_OFFSET } else { wire::CHUNK_ERROR };
        let end = 26 + message.len();
        out[20..24].copy_from_slice(&errno.code().to_be_bytes());
        out[24..26].copy_from_slice(&(message.len() as u16).to_be_bytes());
        out[26..end].copy_from_slice(message);
        let end = match offset {
            None => end,
            Some(offset) => {
                out[end..end + 8].copy_from_slice(&offset.to_be_bytes());
                end + 8
            }
        };
        chunk(out, kind, cookie, (end - wire::CHUNK_HEADER_BYTES) as u32);
        end
    }

    /// The answer to BLOCK_STATUS for `base:allocation`; appended, as it may be long.
    /// `extents` must not be empty, and at most `MAX_EXTENTS` long.
    pub fn block_status(&self, out: &mut Vec<u8>, cookie: u64, extents: &[Extent]) {
        assert!(!extents.is_empty() && extents.len() <= wire::MAX_EXTENTS, "{} extents", extents.len());
        let mut header = [0; wire::CHUNK_HEADER_BYTES];
        chunk(&mut header, wire::CHUNK_BLOCK_STATUS, cookie, 4 + 8 * extents.len() as u32);
        out.extend_from_slice(&header);
        out.extend_from_slice(&wire::BASE_ALLOCATION_ID.to_be_bytes());
        for extent in extents {
            out.extend_from_slice(&extent.length.to_be_bytes());
            out.extend_from_slice(&extent.state().to_be_bytes());
        }
    }
}

/// The longest prefix of at most `limit` bytes that ends between characters.
fn shortened(text: &str, limit: usize) -> &str {
    let end = (0..=limit.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or(0)]
}

#[inline]
fn simple(out: &mut [u8], error: u32, cookie: u64) -> usize {
    let out = &mut out[..wire::SIMPLE_REPLY_BYTES];
    out[0..4].copy_from_slice(&wire::SIMPLE_REPLY_MAGIC.to_be_bytes());
    out[4..8].copy_from_slice(&error.to_be_bytes());
    out[8..16].copy_from_slice(&cookie.to_be_bytes());
    wire::SIMPLE_REPLY_BYTES
}

/// The header of a chunk that is the whole reply.
#[inline]
fn chunk(out: &mut [u8], kind: u16, cookie: u64, length: u32) {
    let out = &mut out[..wire::CHUNK_HEADER_BYTES];
    out[0..4].copy_from_slice(&wire::STRUCTURED_REPLY_MAGIC.to_be_bytes());
    out[4..6].copy_from_slice(&wire::CHUNK_DONE.to_be_bytes());
    out[6..8].copy_from_slice(&kind.to_be_bytes());
    out[8..16].copy_from_slice(&cookie.to_be_bytes());
    out[16..20].copy_from_slice(&length.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_each_reply() {
        let (plain, structured) = (ReplyEncoder::new(false), ReplyEncoder::new(true));
        let mut out = [0xee; ReplyEncoder::MAX_BYTES];
        let simple_ok: &[u8] = b"\x67\x44\x66\x98\0\0\0\0\0\0\0\0\0\0\0\x09";
        for encoder in [plain, structured] {
            let n = encoder.done(&mut out, 9);
            assert_eq!(&out[..n], simple_ok);
        }
        let n = plain.read_header(&mut out, 9, 512, 64);
        assert_eq!(&out[..n], simple_ok);
        let n = structured.read_header(&mut out, 9, 512, 64);
        assert_eq!(&out[..n], b"\x66\x8e\x33\xef\0\x01\0\x01\0\0\0\0\0\0\0\x09\0\0\0\x48\0\0\0\0\0\0\x02\0");
        let n = structured.read_part(&mut out, 9, 512, 64, false);
        assert_eq!(&out[..n], b"\x66\x8e\x33\xef\0\0\0\x01\0\0\0\0\0\0\0\x09\0\0\0\x48\0\0\0\0\0\0\x02\0");
        let n = structured.read_part(&mut out, 9, 512, 64, true);
        assert_eq!(out[4..6], [0, 1], "the last one of {n} bytes says so");
        assert_eq!(plain.read_hole(&mut out, 9, 512, 64), None);
        let n = structured.read_hole(&mut out, 9, 512, 64).unwrap();
        assert_eq!(&out[..n], b"\x66\x8e\x33\xef\0\x01\0\x02\0\0\0\0\0\0\0\x09\0\0\0\x0c\0\0\0\0\0\0\x02\0\0\0\0\x40");
        let n = plain.error(&mut out, 9, Errno::Io, "bad", Some(1));
        assert_eq!(&out[..n], b"\x67\x44\x66\x98\0\0\0\x05\0\0\0\0\0\0\0\x09");
        let n = structured.error(&mut out, 9, Errno::Io, "bad", None);
        assert_eq!(&out[..n], b"\x66\x8e\x33\xef\0\x01\x80\x01\0\0\0\0\0\0\0\x09\0\0\0\x09\0\0\0\x05\0\x03bad");
        let n = structured.error(&mut out, 9, Errno::Io, "bad", Some(1));
        assert_eq!(
            &out[..n],
            b"\x66\x8e\x33\xef\0\x01\x80\x02\0\0\0\0\0\0\0\x09\0\0\0\x11\0\0\0\x05\0\x03bad\0\0\0\0\0\0\0\x01"
        );
        let mut status = Vec::new();
        structured.block_status(
            &mut status,
            9,
            &[Extent { length: 4096, hole: false }, Extent { length: 8, hole: true }],
        );
        assert_eq!(
            status,
            b"\x66\x8e\x33\xef\0\x01\0\x05\0\0\0\0\0\0\0\x09\0\0\0\x14\0\0\0\x01\0\0\x10\0\0\0\0\0\0\0\0\x08\0\0\0\x03"
        );
    }

    #[test]
    fn long_messages_are_cut_at_a_character() {
        let mut out = [0; ReplyEncoder::MAX_BYTES];
        let message = format!("x{}", "é".repeat(300));
        let n = ReplyEncoder::new(true).error(&mut out, 1, Errno::Io, &message, Some(0));
        assert_eq!(n, ReplyEncoder::MAX_BYTES - 1);
        assert!(std::str::from_utf8(&out[26..n - 8]).is_ok());
    }
}
