//! VSCSI traces of VMware's vscsiStats, as CloudPhysics published them: binary records of 32 or 40 bytes, little-endian.

use super::decompress::{Compression, Sampled};
use super::line::{LineError, SECTOR, record};
use super::skip::{BadLine, LISTED, Skip, Skipped};
use super::text::read_error;
use super::{Format, Place, Record, TraceError, scsi};
use cygnus_types::Nanos;
use std::io::{self, BufReader, Read};
use std::path::Path;

/// Which of the two forms records have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// sn u32, length u32, scatter-gather u32, command u16, version u16, sector u64, time u64.
    One,
    /// command u16, version u16, sn u32, length u32, scatter-gather u32, sector u64, time u64, response u64.
    Two,
}

/// Records that a beginning must have, all of one version.
const TELLING: usize = 2;

impl Version {
    /// The version of a file that begins with these bytes; nothing if it is none.
    pub fn of(sample: &[u8]) -> Option<Self> {
        let alike = |version: &Version| {
            let mut records = sample.chunks_exact(version.size()).take(TELLING);
            sample.len() >= version.size() && records.all(|record| version.number_in(record) == version.number())
        };
        [Self::One, Self::Two].into_iter().find(alike)
    }

    fn number(self) -> u8 {
        match self {
            Self::One => 1,
            Self::Two => 2,
        }
    }

    fn size(self) -> usize {
        match self {
            Self::One => 32,
            Self::Two => 40,
        }
    }

    /// The version stands in the upper byte.
    fn number_in(self, record: &[u8]) -> u8 {
        match self {
            Self::One => record[15],
            Self::Two => record[3],
        }
    }

    fn parse(self, bytes: &[u8]) -> Result<Option<Record>, LineError> {
        if self.number_in(bytes) != self.number() {
            return Err(LineError::Version(self.number_in(bytes)));
        }
        let (command, len) = match self {
            Self::One => (12, 4),
            Self::Two => (0, 8),
        };
        let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let len = u32::from_le_bytes(bytes[len..len + 4].try_into().expect("four bytes"));
        let command = u16::from_le_bytes(bytes[command..command + 2].try_into().expect("two bytes"));
        let Some(kind) = scsi::kind(command) else { return Ok(None) };
        let (sector, micros) = (long(16), long(24));
        let beyond = |column, value: u64| LineError::Number { column, text: value.to_string() };
        let offset = sector.checked_mul(SECTOR).ok_or_else(|| beyond("sector", sector))?;
        let at = micros.checked_mul(1000).ok_or_else(|| beyond("time", micros))?;
        record(Nanos(at), kind, offset, u64::from(len), 0)
    }
}

/// The requests of a file, record by record. What text calls a line is a record here.
pub(super) struct VscsiReader<'a> {
    records: BufReader<Sampled<'a>>,
    compression: Compression,
    version: Version,
    skip: Skip,
    number: u64,
    requests: u64,
    pub(super) skipped: Skipped,
}

impl<'a> VscsiReader<'a> {
    pub(super) fn new(file: Sampled<'a>, compression: Compression, version: Version, skip: Skip) -> VscsiReader<'a> {
        let records = BufReader::with_capacity(64 << 10, file);
        VscsiReader { records, compression, version, skip, number: 0, requests: 0, skipped: Skipped::default() }
    }

    /// The next request; `None` at the end. `path` is what errors call the file.
    pub(super) fn next_record(&mut self, path: &Path) -> Result<Option<Record>, TraceError> {
        loop {
            self.number += 1;
            let read = self.read();
            let place = Place::Line(self.number);
            let parsed = match read.map_err(|source| read_error(path, self.compression, place, source))? {
                None if self.requests == 0 => return Err(TraceError::Empty { path: path.into() }),
                None => return Ok(None),
                Some(bytes) if bytes.len() < self.version.size() => Err(LineError::Torn(bytes.len())),
                Some(bytes) => self.version.parse(&bytes),
            };
            match parsed {
                Ok(Some(record)) => {
                    self.requests += 1;
                    return Ok(Some(record));
                }
                Ok(None) => {}
                Err(reason) => self.pass_over(path, reason)?,
            }
        }
    }

    /// The bytes of the next record, fewer at a torn end; nothing at the end.
    fn read(&mut self) -> io::Result<Option<Vec<u8>>> {
        let size = self.version.size();
        let mut bytes = Vec::with_capacity(size);
        self.records.by_ref().take(size as u64).read_to_end(&mut bytes)?;
        Ok((!bytes.is_empty()).then_some(bytes))
    }

    fn pass_over(&mut self, path: &Path, reason: LineError) -> Result<(), TraceError> {
        let bad = BadLine { line: self.number, reason };
        self.skipped.count += 1;
        if self.skipped.first.len() < LISTED {
            self.skipped.first.push(bad);
        }
        if !self.skip.is_exceeded(self.skipped.count) {
            return Ok(());
        }
        let (count, first) = (self.skipped.count, self.skipped.first[0].clone());
        Err(TraceError::TooManyBadLines { path: path.into(), format: Format::Vscsi, count, first })
    }
}
