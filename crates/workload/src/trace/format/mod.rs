//! The formats, one file each, and how they are told apart.

mod alibaba;
mod blkparse;
mod cloudphysics;
mod fiu;
mod msr;
mod spc;
mod ssdsim;
mod systor;
mod tencent;

use super::{BadLine, Columns, LineError, Record};
use cygnus_types::Nanos;
use std::fmt;
use std::str::FromStr;

/// The format of a trace file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// MSR Cambridge and other SNIA CSV.
    Msr,
    /// FIU: mail and web servers, also with content hashes.
    Fiu,
    /// UMass repository, in the format of the Storage Performance Council.
    Spc,
    /// SSDSim and MQSim.
    Ssdsim,
    /// The text of blkparse, and its extract that WiscSee uses.
    Blkparse,
    /// Tencent block storage.
    Tencent,
    /// Alibaba block storage.
    Alibaba,
    /// SYSTOR'17, virtual desktops.
    Systor,
    /// CloudPhysics' traces of virtual machines as CSV.
    Cloudphysics,
    /// The same as VMware's tool writes them, which is not text.
    Vscsi,
    /// Recordings of this program's own servers, which are not text.
    Cygnus,
    /// Text with columns that the user names; see [`Columns`].
    Columns,
}

impl Format {
    /// All of them that a name is enough for.
    pub const ALL: [Format; 11] = [
        Format::Msr,
        Format::Fiu,
        Format::Spc,
        Format::Ssdsim,
        Format::Blkparse,
        Format::Tencent,
        Format::Alibaba,
        Format::Systor,
        Format::Cloudphysics,
        Format::Vscsi,
        Format::Cygnus,
    ];

    /// What it is called on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Msr => "msr",
            Self::Fiu => "fiu",
            Self::Spc => "spc",
            Self::Ssdsim => "ssdsim",
            Self::Blkparse => "blkparse",
            Self::Tencent => "tencent",
            Self::Alibaba => "alibaba",
            Self::Systor => "systor",
            Self::Cloudphysics => "cloudphysics",
            Self::Vscsi => "vscsi",
            Self::Cygnus => "cygnus",
            Self::Columns => "columns",
        }
    }

    /// Where it comes from.
    pub fn origin(self) -> &'static str {
        match self {
            Self::Msr => "MSR Cambridge and other SNIA CSV",
            Self::Fiu => "FIU mail, web and home servers",
            Self::Spc => "UMass repository (SPC)",
            Self::Ssdsim => "SSDSim and MQSim ASCII",
            Self::Blkparse => "blkparse text, WiscSee's extract",
            Self::Tencent => "Tencent block storage",
            Self::Alibaba => "Alibaba block storage",
            Self::Systor => "SYSTOR'17 virtual desktops",
            Self::Cloudphysics => "CloudPhysics, virtual machines, as CSV",
            Self::Vscsi => "VMware vscsiStats, CloudPhysics",
            Self::Cygnus => "cygnus serve --record",
            Self::Columns => "anything",
        }
    }

    /// Its columns, in order.
    pub fn columns(self) -> &'static str {
        match self {
            Self::Msr => "time (100 ns), host, disk, Read|Write, offset (B)[, size (B), response (100 ns)]",
            Self::Fiu => "time (ns) pid process sector sectors R|W major minor [hash]",
            Self::Spc => "unit, sector, size (B), R|W, time (s)",
            Self::Ssdsim => "time (ns) device sector sectors 1=read|0=write",
            Self::Blkparse => "major,minor cpu sequence time (s) pid action RWBS sector + sectors [process]",
            Self::Tencent => "time (s), sector, sectors, 0=read|1=write, volume",
            Self::Alibaba => "volume, R|W, offset (B), size (B), time (us)",
            Self::Systor => "time (s), response (s), R|W, LUN, offset (B), size (B)",
            Self::Cloudphysics => "version, time (s), SCSI operation code (hexadecimal), size (B), sector",
            Self::Vscsi => "binary; records of 32 or 40 bytes",
            Self::Cygnus => "binary; see docs/recordings.md",
            Self::Columns => super::columns::FORMS,
        }
    }

    /// The step of its clock. Requests with the same time on a clock as coarse as Tencent's did not arrive together.
    pub(super) fn tick(self) -> Nanos {
        match self {
            Self::Tencent | Self::Cloudphysics => Nanos::secs(1),
            Self::Alibaba | Self::Vscsi => Nanos::micros(1),
            Self::Msr => Nanos(100),
            _ => Nanos(1),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A word that names no format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is no trace format, write one of {names}", names = Format::ALL.map(Format::name).join(", "))]
pub struct UnknownFormat(String);

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(text: &str) -> Result<Format, UnknownFormat> {
        Self::ALL.into_iter().find(|format| format.name() == text).ok_or_else(|| UnknownFormat(text.into()))
    }
}

/// Why no format fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unlike {
    /// None fits the beginning.
    Any,
    /// This one fits the beginning, and most of the rest not: the first line that does not.
    Its(Format, BadLine),
}

/// Reads the lines of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parser {
    format: Format,
    /// Which of the events that blkparse prints for a request stands for it.
    event: blkparse::Event,
    /// Whether lines of MSR say how long requests are.
    lengths: bool,
    /// Of [`Format::Columns`].
    columns: Option<Columns>,
}

impl Parser {
    /// For a file of this format that begins with `sample`.
    pub(super) fn new(format: Format, sample: &str) -> Parser {
        Parser { format, event: blkparse::Event::of(sample), lengths: msr::has_lengths(sample), columns: None }
    }

    /// For a file of these columns.
    pub(super) fn of_columns(columns: Columns) -> Parser {
        Parser { columns: Some(columns), ..Parser::new(Format::Columns, "") }
    }

    /// For a file that begins with `sample`, if at least half of its lines are requests in some format.
    pub(super) fn detect(sample: &str) -> Result<Parser, Unlike> {
        let requests = |format| {
            let parser = Parser::new(format, sample);
            sample.lines().filter(|line| matches!(parser.parse(line), Ok(Some(_)))).count()
        };
        let formats = Format::ALL.into_iter().map(|format| (requests(format), format));
        let (count, format) = formats.max_by_key(|&(count, _)| count).ok_or(Unlike::Any)?;
        let parser = Parser::new(format, sample);
        let bad = |(line, text)| Some(BadLine { line, reason: parser.parse(text).err()? });
        let mut wrong = (1..).zip(sample.lines()).filter_map(bad);
        let (first, others) = (wrong.next(), wrong.count());
        match first {
            _ if count == 0 => Err(Unlike::Any),
            Some(first) if count < others + 1 && first.line == 1 => Err(Unlike::Any),
            Some(first) if count < others + 1 => Err(Unlike::Its(format, first)),
            _ => Ok(parser),
        }
    }

    /// The format.
    pub(super) fn format(&self) -> Format {
        self.format
    }

    /// The step of the file's clock, if all of its times are multiples of it.
    pub(super) fn tick(&self) -> Nanos {
        self.columns.as_ref().map_or(self.format.tick(), Columns::tick)
    }

    /// Whether the file does not say how long requests are.
    pub(super) fn lacks_lengths(&self) -> bool {
        match &self.columns {
            Some(columns) => columns.lack_lengths(),
            None => self.format == Format::Msr && !self.lengths,
        }
    }

    /// Reads a line; `None` is a line that is no request and need not be one.
    pub(super) fn parse(&self, line: &str) -> Result<Option<Record>, LineError> {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            return Ok(None);
        }
        match self.format {
            Format::Msr => msr::parse(line, self.lengths),
            Format::Fiu => fiu::parse(line),
            Format::Spc => spc::parse(line),
            Format::Ssdsim => ssdsim::parse(line),
            Format::Blkparse => blkparse::parse(line, self.event),
            Format::Tencent => tencent::parse(line),
            Format::Alibaba => alibaba::parse(line),
            Format::Systor => systor::parse(line),
            Format::Cloudphysics => cloudphysics::parse(line),
            Format::Vscsi | Format::Cygnus => Err(LineError::NotText),
            Format::Columns => self.columns.as_ref().map_or(Ok(None), |columns| columns.parse(line)),
        }
    }
}
