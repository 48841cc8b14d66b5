//! Bytes as they arrive from a socket into lines, with a bound on what an ill-behaved peer can make us hold.

use thiserror::Error;

/// The longest line taken, in bytes: a request is a few hundred bytes; a status of a large array fits many times.
pub const MAX_LINE: usize = 8 << 20;

/// The longest line a server takes: requests are small, and memory for them is held per connection.
pub const MAX_REQUEST: usize = 64 << 10;

/// Why the rest of a connection cannot be read.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum LineError {
    /// More bytes than allowed came without a line end.
    #[error("a line of more than {0} bytes")]
    TooLong(usize),
    /// The line is no UTF-8.
    #[error("a line that is not UTF-8")]
    NotUtf8,
}

/// Collects bytes and hands out whole lines.
#[derive(Debug)]
pub struct LineBuffer {
    bytes: Vec<u8>,
    /// Where what was not handed out begins.
    start: usize,
    /// Up to here there is no line end behind `start`, so that no byte is looked at twice, however small the parts are in which
    /// a line comes.
    searched: usize,
    limit: usize,
}

impl LineBuffer {
    /// An empty buffer that refuses lines of more than `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { bytes: Vec::new(), start: 0, searched: 0, limit }
    }

    /// Adds what has arrived.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// Whether part of a line is there.
    pub fn has_begun(&self) -> bool {
        self.start < self.bytes.len()
    }

    /// Takes the next whole line, without its end; `None` when more bytes are needed.
    ///
    /// After [`LineError::TooLong`] the connection must be closed: where the next line begins is unknown.
    pub fn next_line(&mut self) -> Result<Option<String>, LineError> {
        let found = self.bytes[self.searched..].iter().position(|&byte| byte == b'\n');
        let end = found.map_or(self.bytes.len(), |at| self.searched + at);
        if end - self.start > self.limit {
            return Err(LineError::TooLong(self.limit));
        }
        if found.is_none() {
            self.searched = end;
            return Ok(None);
        }
        let line = &self.bytes[self.start..end];
        let line = line.strip_suffix(b"\r").unwrap_or(line).to_vec();
        self.start = end + 1;
        self.searched = self.start;
        String::from_utf8(line).map(Some).map_err(|_| LineError::NotUtf8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn endless_lines_are_refused() {
        let mut buffer = LineBuffer::new(10);
        buffer.feed(b"0123456789");
        assert_eq!(buffer.next_line(), Ok(None));
        buffer.feed(b"x");
        assert_eq!(buffer.next_line(), Err(LineError::TooLong(10)));
    }

    #[test]
    fn a_bad_line_does_not_take_the_next_with_it() {
        let mut buffer = LineBuffer::new(100);
        buffer.feed(b"\xff\xfe\r\nfine\r\n");
        assert_eq!(buffer.next_line(), Err(LineError::NotUtf8));
        assert_eq!(buffer.next_line(), Ok(Some("fine".into())));
        assert_eq!(buffer.next_line(), Ok(None));
    }

    #[test]
    fn no_byte_is_searched_twice() {
        let mut buffer = LineBuffer::new(MAX_REQUEST);
        buffer.feed(b"one\n");
        for n in 1..=100 {
            buffer.feed(b"xyz");
            if n == 1 {
                assert_eq!(buffer.next_line(), Ok(Some("one".into())));
            }
            assert_eq!(buffer.next_line(), Ok(None));
            assert_eq!(buffer.searched, buffer.bytes.len(), "the next search begins where this one ended");
        }
        buffer.feed(b"\r\ntwo\n");
        assert_eq!(buffer.next_line(), Ok(Some("xyz".repeat(100))));
        assert_eq!(buffer.next_line(), Ok(Some("two".into())));
        assert!(!buffer.has_begun());
    }

    proptest! {
        #[test]
        fn lines_do_not_depend_on_how_bytes_arrive(
            lines in prop::collection::vec("[a-z]{0,20}", 0..20),
            cuts in prop::collection::vec(1usize..30, 1..40),
        ) {
            let wire: Vec<u8> = lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect();
            let mut buffer = LineBuffer::new(64);
            let mut got = Vec::new();
            let mut rest = &wire[..];
            for cut in cuts.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (now, later) = rest.split_at((*cut).min(rest.len()));
                rest = later;
                buffer.feed(now);
                while let Some(line) = buffer.next_line().unwrap() {
                    got.push(line);
                }
            }
            prop_assert_eq!(got, lines);
        }
    }
}
