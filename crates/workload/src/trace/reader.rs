//! Opens a trace, whatever it is, and reads its requests.

use super::decompress::{self, Compression, Sampled};
use super::format::{Parser, Unlike};
use super::lines::line_end;
use super::skip::{Skip, Skipped};
use super::text::{TextReader, read_error};
use super::vscsi::{Version, VscsiReader};
use super::{Columns, Format, Place, Record, TraceError};
use crate::recording::{Damage, Frames, Header, HeaderError};
use cygnus_types::Nanos;
use std::cell::Cell;
use std::fs::File;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The beginning of a file, by which its format is recognised.
const SAMPLE: u64 = 64 << 10;

/// What some programs write before a text, and is no part of its first line.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// How to read a trace.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// Its format; found out if not given.
    pub format: Option<Format>,
    /// Its columns, instead of a format.
    pub columns: Option<Columns>,
    /// What to do about bad lines.
    pub skip: Skip,
}

enum Body<'a> {
    Text(TextReader<'a>),
    Vscsi(VscsiReader<'a>),
    Recording(Recording<'a>),
}

struct Recording<'a> {
    header: Header,
    frames: Frames<Sampled<'a>>,
    skip: Skip,
    empty: bool,
}

/// The requests of a trace file, in the file's order.
pub struct TraceReader<'a> {
    path: PathBuf,
    body: Body<'a>,
    compression: Compression,
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
        let (mut text, compression, position) = decompress::open(stream).map_err(|source| TraceError::Read {
            path: path.into(),
            place: Place::Line(1),
            source,
        })?;
        if let Compression::Other(with) = compression {
            return Err(TraceError::Compression { path: path.into(), with });
        }
        let mut sample = Vec::new();
        if let Err(source) = text.by_ref().take(SAMPLE).read_to_end(&mut sample) {
            let line = 1 + sample.iter().filter(|&&byte| byte == line_end(&sample)).count() as u64;
            return Err(read_error(path, compression, Place::Line(line), source));
        }
        let vscsi = match options.format {
            Some(Format::Vscsi) => {
                Some(Version::of(&sample).ok_or_else(|| no_format(path, &String::from_utf8_lossy(&sample)))?)
            }
            // What has no zero in it is text.
            None if options.columns.is_none() && sample.contains(&0) => Version::of(&sample),
            _ => None,
        };
        let body = match (vscsi, Header::decode(&sample)) {
            (Some(version), _) => {
                Body::Vscsi(VscsiReader::new(Cursor::new(sample).chain(text), compression, version, options.skip))
            }
            (None, Err(HeaderError::Magic)) if options.format != Some(Format::Cygnus) => {
                if sample.starts_with(BYTE_ORDER_MARK) {
                    sample.drain(..BYTE_ORDER_MARK.len());
                }
                let parser = match options.columns {
                    Some(columns) => Parser::of_columns(columns),
                    None => parser(path, &sample, options.format)?,
                };
                Body::Text(TextReader::new(Cursor::new(sample).chain(text), compression, parser, options.skip))
            }
            (None, Err(reason)) => return Err(TraceError::Recording { path: path.into(), reason }),
            (None, Ok((header, len))) => {
                let mut bytes = Cursor::new(sample);
                bytes.set_position(len as u64);
                let frames = Frames::new(bytes.chain(text), len as u64, header.clock);
                Body::Recording(Recording { header, frames, skip: options.skip, empty: true })
            }
        };
        Ok(TraceReader { path: path.into(), body, compression, position, size: 0, ended: false })
    }

    /// The format it is read in.
    pub fn format(&self) -> Format {
        match &self.body {
            Body::Text(text) => text.parser.format(),
            Body::Vscsi(_) => Format::Vscsi,
            Body::Recording(_) => Format::Cygnus,
        }
    }

    /// The step of its clock, if all of its times are multiples of it.
    pub fn tick(&self) -> Nanos {
        match &self.body {
            Body::Text(text) => text.parser.tick(),
            Body::Vscsi(_) | Body::Recording(_) => self.format().tick(),
        }
    }

    /// Lines skipped so far.
    pub fn skipped(&self) -> Skipped {
        match &self.body {
            Body::Text(text) => text.skipped.clone(),
            Body::Vscsi(vscsi) => vscsi.skipped.clone(),
            Body::Recording(_) => Skipped::default(),
        }
    }

    /// Requests so far of which the trace does not say how long they are: they were taken for [`ASSUMED_LEN`](super::ASSUMED_LEN).
    pub fn assumed_lengths(&self) -> u64 {
        match &self.body {
            Body::Text(text) => text.assumed_lengths,
            Body::Vscsi(_) | Body::Recording(_) => 0,
        }
    }

    /// If it is a recording, of what, and what was found missing so far.
    pub fn recording(&self) -> Option<(&Header, Damage)> {
        match &self.body {
            Body::Text(_) | Body::Vscsi(_) => None,
            Body::Recording(recording) => Some((&recording.header, recording.frames.damage())),
        }
    }

    /// Bytes of the file read so far, and its size (0 for a stream), to show progress.
    pub fn progress(&self) -> (u64, u64) {
        (self.position.get(), self.size)
    }

    fn next_record(&mut self) -> Result<Option<Record>, TraceError> {
        let path = &self.path;
        match &mut self.body {
            Body::Text(text) => text.next_record(path),
            Body::Vscsi(vscsi) => vscsi.next_record(path),
            Body::Recording(recording) => recording.next_record(path, self.compression),
        }
    }
}

impl Recording<'_> {
    fn next_record(&mut self, path: &Path, compression: Compression) -> Result<Option<Record>, TraceError> {
        let place = Place::Byte(self.frames.position());
        let record = self.frames.next_record().map_err(|source| read_error(path, compression, place, source))?;
        let damage = self.frames.damage();
        if self.skip.is_exceeded(damage.places) {
            return Err(TraceError::Damaged { path: path.into(), damage });
        }
        if record.is_none() && self.empty {
            return Err(TraceError::Empty { path: path.into() });
        }
        self.empty = false;
        Ok(record)
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

/// The parser of a text that begins with `sample`.
fn parser(path: &Path, sample: &[u8], format: Option<Format>) -> Result<Parser, TraceError> {
    // The last line of the sample is likely to be cut; one line among many does not matter.
    let mut beginning = String::from_utf8_lossy(sample);
    if line_end(sample) == b'\r' {
        beginning = beginning.replace('\r', "\n").into();
    }
    match format {
        Some(format) => Ok(Parser::new(format, &beginning)),
        None => Parser::detect(&beginning).map_err(|unlike| match unlike {
            Unlike::Any => no_format(path, &beginning),
            Unlike::Its(format, first) => TraceError::MostlyBadLines { path: path.into(), format, first },
        }),
    }
}

fn no_format(path: &Path, beginning: &str) -> TraceError {
    let first_line: String = beginning.lines().next().unwrap_or_default().chars().take(60).collect();
    if first_line.is_empty() && beginning.trim().is_empty() {
        return TraceError::Empty { path: path.into() };
    }
    TraceError::UnknownFormat { path: path.into(), first_line }
}
