//! Map files of GNU ddrescue: which bytes of a copy are there and which are holes, for the tools that read them.
//!
//! A status line (position, status, pass), then one line for each run of bytes: position, size, and `+` for copied or
//! `-` for unreadable; `?` where nobody knows what was there. Lines that begin with `#` are comments.

use std::fmt::Write;
use std::ops::Range;

/// What became of a run of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It was copied.
    Copied,
    /// It could not be read.
    Lost,
    /// Nobody knows whether anything was there.
    Unknown,
}

/// The runs of a copy, which follow each other without gaps.
#[derive(Debug, Default)]
pub struct Map(Vec<(Range<u64>, Status)>);

impl Map {
    /// The next bytes became this.
    pub fn push(&mut self, bytes: u64, status: Status) {
        let from = self.0.last().map_or(0, |(last, _)| last.end);
        match self.0.last_mut() {
            _ if bytes == 0 => {}
            Some((last, same)) if *same == status => last.end += bytes,
            _ => self.0.push((from..from + bytes, status)),
        }
    }

    /// All runs of equal status, in bytes, in the order of their offsets and without gaps.
    pub fn runs(&self) -> &[(Range<u64>, Status)] {
        &self.0
    }

    /// As a map file; `command` is what made it.
    pub fn text(&self, command: &str) -> String {
        let version = env!("CARGO_PKG_VERSION");
        let mut out = format!(
            "# Mapfile. Created by cygnus {version}\n# Command line: {command}\n\
             # current_pos  current_status  current_pass\n0x00000000     +               1\n\
             #      pos        size  status\n"
        );
        for (range, status) in &self.0 {
            let status = match status {
                Status::Copied => '+',
                Status::Lost => '-',
                Status::Unknown => '?',
            };
            let (at, size) = (range.start, range.end - range.start);
            writeln!(out, "0x{at:08X}  0x{size:08X}  {status}").expect("memory takes it");
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_as_ddrescue_writes_it() {
        let mut map = Map::default();
        for (bytes, status) in [
            (0x1000, Status::Lost),
            (0x1000, Status::Copied),
            (0, Status::Lost),
            (0x2000, Status::Copied),
            (0x1000, Status::Unknown),
        ] {
            map.push(bytes, status);
        }
        let text = map.text("x");
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        let expected = [
            "0x00000000     +               1",
            "0x00000000  0x00001000  -",
            "0x00001000  0x00003000  +",
            "0x00004000  0x00001000  ?",
        ];
        assert_eq!(lines, expected);
    }
}
