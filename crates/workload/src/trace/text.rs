//! Reads the lines of a trace that is text, whatever is in it.

use super::decompress::{Compression, Sampled};
use super::format::Parser;
use super::lines::{LONGEST, Line, line_end, next_line};
use super::skip::{BadLine, LISTED, Skip, Skipped};
use super::{LineError, Place, Record, TraceError};
use std::io::{self, BufReader};
use std::path::Path;

/// The requests of a text, line by line.
pub(super) struct TextReader<'a> {
    text: BufReader<Sampled<'a>>,
    compression: Compression,
    pub(super) parser: Parser,
    skip: Skip,
    line: Vec<u8>,
    line_end: u8,
    line_number: u64,
    pub(super) skipped: Skipped,
    requests: u64,
    pub(super) assumed_lengths: u64,
}

impl<'a> TextReader<'a> {
    pub(super) fn new(text: Sampled<'a>, compression: Compression, parser: Parser, skip: Skip) -> TextReader<'a> {
        let line_end = line_end(text.get_ref().0.get_ref());
        TextReader {
            text: BufReader::with_capacity(64 << 10, text),
            compression,
            parser,
            skip,
            line: Vec::new(),
            line_end,
            line_number: 0,
            skipped: Skipped::default(),
            requests: 0,
            assumed_lengths: 0,
        }
    }

    /// The next request; `None` at the end. `path` is what errors call the file.
    pub(super) fn next_record(&mut self, path: &Path) -> Result<Option<Record>, TraceError> {
        loop {
            let read = next_line(&mut self.text, &mut self.line, self.line_end);
            self.line_number += 1;
            let result = match read {
                Err(source) => return Err(read_error(path, self.compression, Place::Line(self.line_number), source)),
                Ok(None) if self.requests == 0 => return Err(self.nothing_found(path)),
                Ok(None) => return Ok(None),
                Ok(Some(Line::TooLong)) => Err(LineError::TooLong(LONGEST)),
                Ok(Some(Line::Whole)) => {
                    std::str::from_utf8(&self.line).map_err(|_| LineError::NotText).and_then(|t| self.parser.parse(t))
                }
            };
            match result {
                Ok(Some(record)) => {
                    self.requests += 1;
                    self.assumed_lengths += u64::from(self.parser.lacks_lengths() && record.kind.has_range());
                    return Ok(Some(record));
                }
                Ok(None) => {}
                Err(_) if self.line_number == 1 && is_heading(&self.line) => {}
                Err(reason) => self.skip_line(path, reason)?,
            }
        }
    }

    fn skip_line(&mut self, path: &Path, reason: LineError) -> Result<(), TraceError> {
        self.skipped.count += 1;
        if self.skipped.first.len() < LISTED {
            self.skipped.first.push(BadLine { line: self.line_number, reason });
        }
        if self.skip.is_exceeded(self.skipped.count) { Err(self.too_many(path)) } else { Ok(()) }
    }

    fn too_many(&self, path: &Path) -> TraceError {
        TraceError::TooManyBadLines {
            path: path.into(),
            format: self.parser.format(),
            count: self.skipped.count,
            first: self.skipped.first[0].clone(),
        }
    }

    /// A file of nothing but bad lines is no trace, however many may be skipped.
    fn nothing_found(&self, path: &Path) -> TraceError {
        match self.skipped.count {
            0 => TraceError::Empty { path: path.into() },
            _ => {
                let first = self.skipped.first[0].clone();
                TraceError::OnlyBadLines { path: path.into(), format: self.parser.format(), first }
            }
        }
    }
}

/// Column names above the first request.
fn is_heading(line: &[u8]) -> bool {
    let line = line.strip_prefix(b"\"").unwrap_or(line);
    line.first().is_some_and(u8::is_ascii_alphabetic) && line.is_ascii()
}

/// What became of a file that cannot be read on.
pub(super) fn read_error(path: &Path, compression: Compression, place: Place, source: io::Error) -> TraceError {
    use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    let path = path.into();
    match source.kind() {
        UnexpectedEof | InvalidData | InvalidInput if compression != Compression::None => {
            TraceError::Compressed { path, place, source }
        }
        _ => TraceError::Read { path, place, source },
    }
}
