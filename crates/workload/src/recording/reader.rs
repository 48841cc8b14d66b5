//! Reads frames, whatever became of the file.

use super::frame::{self, Frame, HEADER, MAGIC};
use crate::trace::Record;
use std::io::{self, Read};

/// Bytes read at a time.
const CHUNK: usize = 128 << 10;

/// What a recording has lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// Requests that the server did not write because the file could not keep up.
    pub lost: u64,
    /// Places where bytes are no frames although there are frames behind.
    pub places: u64,
    /// Where the first of them is, in bytes from the (uncompressed) file's start.
    pub first: u64,
    /// Bytes of them all.
    pub bytes: u64,
    /// Bytes at the end that are no whole frame: the recording was not ended in order.
    pub torn: u64,
}

/// The requests of a recording, from behind its header.
#[derive(Debug)]
pub struct Frames<R> {
    input: R,
    clock: u64,
    /// Bytes read and not used, from `used` on.
    buffer: Vec<u8>,
    used: usize,
    /// Where in the file the first unused byte is.
    position: u64,
    records: std::vec::IntoIter<Record>,
    damage: Damage,
}

impl<R: Read> Frames<R> {
    /// Reads frames from `input`, the first of which begins at byte `position` of the file. `clock` is added to all times.
    pub fn new(input: R, position: u64, clock: u64) -> Frames<R> {
        let (buffer, records, damage) = (Vec::new(), Vec::new().into_iter(), Damage::default());
        Frames { input, clock, buffer, used: 0, position, records, damage }
    }

    /// What was found missing so far.
    pub fn damage(&self) -> Damage {
        self.damage
    }

    /// Where in the (uncompressed) file the next frame is looked for.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The next request; `None` at the end. Of one reactor they are in order; those of several are within a frame.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn next_record(&mut self) -> io::Result<Option<Record>> {
        loop {
            if let Some(record) = self.records.next() {
                return Ok(Some(record));
            }
            match self.next_frame()? {
                Some(frame) => {
                    self.damage.lost += u64::from(frame.lost);
                    self.records = frame.records.into_iter();
                }
                None => return Ok(None),
            }
        }
    }

    fn next_frame(&mut self) -> io::Result<Option<Frame>> {
        let begun = self.position;
        loop {
            if let Some((frame, len)) = self.frame_here()? {
                let skipped = self.position - begun;
                if skipped > 0 {
                    self.damage.first = if self.damage.places == 0 { begun } else { self.damage.first };
                    self.damage.places += 1;
                    self.damage.bytes += skipped;
                }
                self.consume(len);
                return Ok(Some(frame));
            }
            if !self.find_magic()? {
                self.damage.torn = self.position - begun;
                return Ok(None);
            }
        }
    }

    /// The whole frame that begins here, if there is one.
    fn frame_here(&mut self) -> io::Result<Option<(Frame, usize)>> {
        let Some(Some(len)) = self.peek(HEADER)?.map(|header| frame::length(&super::number(header, 0))) else {
            return Ok(None);
        };
        let clock = self.clock;
        let frame = self.peek(len)?.and_then(|bytes| frame::decode(bytes, clock));
        Ok(frame.map(|frame| (frame, len)))
    }

    /// Goes on to where a frame may begin, at least a byte from here; false at the end.
    fn find_magic(&mut self) -> io::Result<bool> {
        if self.peek(1)?.is_some() {
            self.consume(1);
        }
        loop {
            if self.peek(MAGIC.len())?.is_none() {
                self.consume(self.buffer.len() - self.used);
                return Ok(false);
            }
            let ahead = &self.buffer[self.used..];
            match ahead.windows(MAGIC.len()).position(|window| window == MAGIC) {
                Some(distance) => {
                    self.consume(distance);
                    return Ok(true);
                }
                // Its beginning may be the last bytes that were read.
                None => self.consume(ahead.len() - (MAGIC.len() - 1)),
            }
        }
    }

    /// The next `len` bytes, if the file has them.
    fn peek(&mut self, len: usize) -> io::Result<Option<&[u8]>> {
        while self.buffer.len() - self.used < len {
            self.buffer.drain(..self.used);
            self.used = 0;
            let filled = self.buffer.len();
            self.input.by_ref().take(CHUNK.max(len - filled) as u64).read_to_end(&mut self.buffer)?;
            if self.buffer.len() == filled {
                return Ok(None);
            }
        }
        Ok(Some(&self.buffer[self.used..self.used + len]))
    }

    fn consume(&mut self, len: usize) {
        self.used += len;
        self.position += len as u64;
    }
}
