//! Reads a trace line by line, whatever is in it.

use super::decompress::{self, Compression, Text};
use super::format::Parser;
use super::lines::{LONGEST, Line, next_line};
use super::{Format, LineError, Record, TraceError};
use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufReader, Chain, Cursor, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The beginning of a file, by which its format is recognised.
const SAMPLE: u64 = 64 << 10;
/// Bad lines that are kept to be shown.
const LISTED: usize = 5;

/// How many lines that are no requests may be skipped before the file is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skip {
    /// So many.
    AtMost(u64),
    /// Any number.
    All,
}

impl Default for Skip {
    /// A hundred: a few damaged lines do no harm to statistics, a garbled file is found out soon.
    fn default() -> Self {
        Skip::AtMost(100)
    }
}

/// How to read a trace.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReadOptions {
    /// Its format; found out if not given.
    pub format: Option<Format>,
    /// What to do about bad lines.
    pub skip: Skip,
}

/// A line that is no request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine {
    /// Its number, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub reason: LineError,
}

/// The lines that were skipped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// How many.
    pub count: u64,
    /// The first few.
    pub first: Vec<BadLine>,
}

/// The sample that was taken, and then the rest.
type Sampled<'a> = Chain<Cursor<Vec<u8>>, Text<'a>>;

/// The requests of a trace file, in the file's order.
pub struct TraceReader<'a> {
    path: PathBuf,
    text: BufReader<Sampled<'a>>,
    compression: Compression,
    parser: Parser,
    skip: Skip,
    line: Vec<u8>,
    line_number: u64,
    skipped: Skipped,
    requests: u64,
    position: Rc<Cell<u64>>,
    size: u64,
    ended: bool,
}

impl TraceReader<'static> {
    /// Opens a file, which may be compressed with gzip or bzip2.
    ///
    /// # Errors
    /// When it cannot be opened, or is in no format known.
    pub fn open(path: &Path, options: ReadOptions) -> Result<Self, TraceError> {
        let open = |source| TraceError::Open { path: path.into(), source };
        let file = File::open(path).map_err(open)?;
        let size = file.metadata().map_err(open)?.len();
        let mut reader = TraceReader::new(path, file, options)?;
        reader.size = size;
        Ok(reader)
    }
}

impl<'a> TraceReader<'a> {
    /// Reads a stream; `path` is what errors call it.
    ///
    /// # Errors
    /// When its beginning cannot be read, or is in no format known.
    pub fn new(path: &Path, stream: impl Read + 'a, options: ReadOptions) -> Result<TraceReader<'a>, TraceError> {
        let (mut text, compression, position) =
            decompress::open(stream).map_err(|source| TraceError::Read { path: path.into(), line: 1, source })?;
        if let Compression::Other(with) = compression {
            return Err(TraceError::Compression { path: path.into(), with });
        }
        let mut sample = Vec::new();
        if let Err(source) = text.by_ref().take(SAMPLE).read_to_end(&mut sample) {
            let line = 1 + sample.iter().filter(|&&byte| byte == b'\n').count() as u64;
            return Err(read_error(path, compression, line, source));
        }
        // The last line of the sample is likely to be cut; it does not matter among so many.
        let beginning = String::from_utf8_lossy(&sample);
        let parser = match options.format {
            Some(format) => Parser::new(format, &beginning),
            None => Parser::detect(&beginning).ok_or_else(|| no_format(path, &beginning))?,
        };
        Ok(TraceReader {
            path: path.into(),
            text: BufReader::with_capacity(64 << 10, Cursor::new(sample).chain(text)),
            compression,
            parser,
            skip: options.skip,
            line: Vec::new(),
            line_number: 0,
            skipped: Skipped::default(),
            requests: 0,
            position,
            size: 0,
            ended: false,
        })
    }

    /// The format it is read in.
    pub fn format(&self) -> Format {
        self.parser.format()
    }

    /// Lines skipped so far.
    pub fn skipped(&self) -> &Skipped {
        &self.skipped
    }

    /// Bytes of the file read so far, and its size (0 for a stream), to show progress.
    pub fn progress(&self) -> (u64, u64) {
        (self.position.get(), self.size)
    }

    fn next_record(&mut self) -> Result<Option<Record>, TraceError> {
        loop {
            let read = next_line(&mut self.text, &mut self.line);
            self.line_number += 1;
            let result = match read {
                Err(source) => return Err(read_error(&self.path, self.compression, self.line_number, source)),
                Ok(None) if self.requests == 0 => return Err(self.nothing_found()),
                Ok(None) => return Ok(None),
                Ok(Some(Line::TooLong)) => Err(LineError::TooLong(LONGEST)),
                Ok(Some(Line::Whole)) => {
                    std::str::from_utf8(&self.line).map_err(|_| LineError::NotText).and_then(|t| self.parser.parse(t))
                }
            };
            match result {
                Ok(Some(record)) => {
                    self.requests += 1;
                    return Ok(Some(record));
                }
                Ok(None) => {}
                Err(_) if self.line_number == 1 && is_heading(&self.line) => {}
                Err(reason) => self.skip_line(reason)?,
            }
        }
    }

    fn skip_line(&mut self, reason: LineError) -> Result<(), TraceError> {
        self.skipped.count += 1;
        if self.skipped.first.len() < LISTED {
            self.skipped.first.push(BadLine { line: self.line_number, reason });
        }
        match self.skip {
            Skip::AtMost(most) if self.skipped.count > most => Err(self.too_many()),
            _ => Ok(()),
        }
    }

    fn too_many(&self) -> TraceError {
        TraceError::TooManyBadLines {
            path: self.path.clone(),
            format: self.format(),
            count: self.skipped.count,
            first: self.skipped.first[0].clone(),
        }
    }

    /// A file of nothing but bad lines is no trace, however many may be skipped.
    fn nothing_found(&self) -> TraceError {
        match self.skipped.count {
            0 => TraceError::Empty { path: self.path.clone(), filtered: false },
            _ => self.too_many(),
        }
    }
}

impl Iterator for TraceReader<'_> {
    type Item = Result<Record, TraceError>;

    /// The next request; after an error there is none.
    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let next = self.next_record().transpose();
        self.ended = !matches!(next, Some(Ok(_)));
        next
    }
}

/// Column names above the first request.
fn is_heading(line: &[u8]) -> bool {
    line.first().is_some_and(u8::is_ascii_alphabetic) && line.is_ascii()
}

fn read_error(path: &Path, compression: Compression, line: u64, source: io::Error) -> TraceError {
    use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    let path = path.into();
    match source.kind() {
        UnexpectedEof | InvalidData | InvalidInput if compression != Compression::None => {
            TraceError::Compressed { path, line, source }
        }
        _ => TraceError::Read { path, line, source },
    }
}

fn no_format(path: &Path, beginning: &str) -> TraceError {
    let first_line: String = beginning.lines().next().unwrap_or_default().chars().take(60).collect();
    if first_line.is_empty() && beginning.trim().is_empty() {
        return TraceError::Empty { path: path.into(), filtered: false };
    }
    TraceError::UnknownFormat { path: path.into(), first_line }
}
