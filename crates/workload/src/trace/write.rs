//! Writes traces as MSR CSV, which everybody reads.

use super::Record;
use crate::Kind;
use cygnus_types::Nanos;
use std::io::{self, Write};

/// The MSR columns of an operation.
fn operation(kind: Kind) -> &'static str {
    match kind {
        Kind::Read => "Read",
        Kind::Write => "Write",
        // The original has no more; these are what this crate's own parser knows.
        Kind::Trim => "Trim",
        Kind::Flush => "Flush",
        Kind::WriteZeroes => "WriteZeroes",
    }
}

/// Writes MSR CSV. The host column says where the requests come from.
#[derive(Debug)]
pub struct MsrWriter<W> {
    out: W,
    host: String,
}

impl<W: Write> MsrWriter<W> {
    /// Names the origin of the requests; commas and line ends in it become spaces.
    pub fn new(out: W, host: &str) -> Self {
        Self { out, host: host.replace([',', '\n', '\r'], " ") }
    }

    /// Writes a request. The clock of the format counts 100 ns; the response time, which is not known, is 0. It has no
    /// column for [`Record::fua`].
    ///
    /// # Errors
    /// When the output fails.
    pub fn write(&mut self, record: &Record) -> io::Result<()> {
        let Record { at: Nanos(at), kind, offset, len, volume, .. } = *record;
        writeln!(self.out, "{},{},{volume},{},{offset},{len},0", at / 100, self.host, operation(kind))
    }

    /// Writes out what is buffered and gives the output back.
    ///
    /// # Errors
    /// When the output fails.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}
