//! Replies taken from a stream that comes in pieces, without keeping the data.
//!
//! A load generator has no use for what it reads, and copying it would cost as much as the server's own work. So each
//! piece received is looked through in place: headers are judged, data is stepped over, and what a piece ends in the
//! middle of is remembered as a few bytes of header or as a count.

use cygnus_nbd::{Malformed, SimpleReply, wire};

/// Where in the stream of replies a connection is.
#[derive(Default)]
pub(super) struct Replies {
    /// The beginning of a header that the last piece ended in.
    header: [u8; wire::SIMPLE_REPLY_BYTES],
    have: usize,
    /// Data of a reply that is still to be stepped over, and that reply's cookie.
    skip: usize,
    reading: u64,
}

impl Replies {
    /// The next reply that is complete, taken from the front of `piece`: its cookie, and whether it failed. `None` once
    /// the piece is used up. `data` tells how many bytes follow a reply with this cookie if it succeeded (`None`: there is
    /// no such request).
    pub(super) fn next(
        &mut self,
        piece: &mut &[u8],
        data: impl FnOnce(u64) -> Option<usize>,
    ) -> Result<Option<(u64, bool)>, Malformed> {
        if self.skip == 0 {
            let wanted = (wire::SIMPLE_REPLY_BYTES - self.have).min(piece.len());
            self.header[self.have..self.have + wanted].copy_from_slice(&piece[..wanted]);
            *piece = &piece[wanted..];
            self.have += wanted;
            if self.have < wire::SIMPLE_REPLY_BYTES {
                return Ok(None);
            }
            self.have = 0;
            let SimpleReply { cookie, errno } = SimpleReply::decode(&self.header)?;
            let bytes = data(cookie).ok_or(Malformed::UnknownCookie(cookie))?;
            if errno.is_some() || bytes == 0 {
                return Ok(Some((cookie, errno.is_some())));
            }
            (self.skip, self.reading) = (bytes, cookie);
        }
        let skipped = self.skip.min(piece.len());
        *piece = &piece[skipped..];
        self.skip -= skipped;
        Ok((self.skip == 0).then_some((self.reading, false)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cygnus_nbd::{Errno, ReplyEncoder};

    /// Replies to reads of 5 bytes (cookies below 10) and to writes (from 10 on), the odd ones failed.
    fn stream(cookies: &[u64]) -> Vec<u8> {
        let encoder = ReplyEncoder::new(false);
        let (mut stream, mut header) = (Vec::new(), [0; 256]);
        for &cookie in cookies {
            let used = match cookie {
                odd if odd % 2 == 1 => encoder.error(&mut header, cookie, Errno::Io, "", None),
                0..10 => encoder.read_header(&mut header, cookie, 0, 5),
                _ => encoder.done(&mut header, cookie),
            };
            stream.extend_from_slice(&header[..used]);
            if cookie < 10 && cookie % 2 == 0 {
                stream.extend_from_slice(b"data!");
            }
        }
        stream
    }

    fn length(cookie: u64) -> Option<usize> {
        (cookie < 20).then_some(if cookie < 10 { 5 } else { 0 })
    }

    #[test]
    fn however_the_stream_is_cut() {
        let cookies = [2, 3, 10, 11, 4, 6, 12, 8];
        let stream = stream(&cookies);
        let expected: Vec<_> = cookies.iter().map(|&cookie| (cookie, cookie % 2 == 1)).collect();
        for size in 1..=stream.len() {
            let (mut replies, mut seen) = (Replies::default(), Vec::new());
            for mut piece in stream.chunks(size) {
                while let Some(reply) = replies.next(&mut piece, length).unwrap() {
                    seen.push(reply);
                }
                assert!(piece.is_empty());
            }
            assert_eq!(seen, expected, "in pieces of {size} bytes");
        }
    }

    #[test]
    fn what_is_no_reply_is_refused() {
        let refusal = |piece: &[u8]| Replies::default().next(&mut &piece[..], length).unwrap_err();
        assert_eq!(refusal(&stream(&[20])), Malformed::UnknownCookie(20));
        assert_eq!(refusal(&[7; 16]), Malformed::ReplyMagic(0x0707_0707));
    }
}
