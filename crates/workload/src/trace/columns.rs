//! Traces of any columns, which the user names: `time=0,op=3,offset=4,size=5`.

use super::line::{self, LineError, SECTOR, decimal, number, operation, record};
use super::{ASSUMED_LEN, Record};
use crate::Kind;
use cygnus_types::Nanos;
use std::str::FromStr;

/// Which columns, counted from 0, tell what. Columns are separated by commas, semicolons, tabs or blanks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    time: usize,
    /// Nanoseconds of the unit of times, which may have fractions.
    unit: u64,
    op: usize,
    /// What stands there for a read, if it is not a word that everybody knows; all else but such words is a write.
    read: Option<String>,
    offset: usize,
    /// Bytes of an offset's unit.
    offset_unit: u64,
    size: Option<usize>,
    size_unit: u64,
    volume: Option<usize>,
}

/// What to write.
pub(super) const FORMS: &str = "time=N[:s|ms|us|100ns|ns], op=N[:TEXT-OF-READS], offset=N[:bytes|sectors|blocks], \
    size=N[:bytes|sectors|blocks], volume=N; columns count from 0, size and volume may be left out";

/// Columns that say not enough, or nothing that is known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ColumnsError {
    /// A part that says nothing.
    #[error("\"{part}\": {why}: write {}", FORMS)]
    Part {
        /// Which.
        part: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A column that every trace has is not named.
    #[error("\"{text}\": there is no {column}: write {}", FORMS)]
    Lacks {
        /// What was said.
        text: String,
        /// The column.
        column: &'static str,
    },
    /// A unit of volumes.
    #[error("\"{0}\": volumes have no unit: write {forms}", forms = FORMS)]
    UnitOfVolumes(String),
    /// No unit of time.
    #[error("\"{0}\" is no unit of time: write s, ms, us, 100ns or ns")]
    UnitOfTime(String),
    /// No unit of addresses.
    #[error("\"{0}\" is no unit of addresses: write bytes, sectors (512) or blocks (4096)")]
    UnitOfAddresses(String),
}

impl FromStr for Columns {
    type Err = ColumnsError;

    fn from_str(text: &str) -> Result<Self, ColumnsError> {
        let (mut time, mut op, mut offset, mut size, mut volume) = (None, None, None, None, None);
        for part in text.split(',') {
            let wrong = |why| ColumnsError::Part { part: part.trim().into(), why };
            let (name, place) = part.trim().split_once('=').ok_or_else(|| wrong("no column"))?;
            let (column, unit) = place.split_once(':').map_or((place, None), |(column, unit)| (column, Some(unit)));
            let column: usize = column.trim().parse().map_err(|_| wrong("the number of a column counts from 0"))?;
            let slot = match name.trim() {
                "time" => &mut time,
                "op" => &mut op,
                "offset" => &mut offset,
                "size" => &mut size,
                "volume" => &mut volume,
                _ => return Err(wrong("nothing is known by this name")),
            };
            if slot.replace((column, unit)).is_some() {
                return Err(wrong("named twice"));
            }
        }
        let needed = |column| ColumnsError::Lacks { text: text.into(), column };
        let (time, unit) = time.ok_or_else(|| needed("time"))?;
        let (op, read) = op.ok_or_else(|| needed("op"))?;
        let (offset, offset_unit) = offset.ok_or_else(|| needed("offset"))?;
        if volume.is_some_and(|(_, unit)| unit.is_some()) {
            return Err(ColumnsError::UnitOfVolumes(text.into()));
        }
        Ok(Self {
            time,
            unit: unit.map_or(Ok(SECOND), unit_of_time)?,
            op,
            read: read.map(str::to_owned),
            offset,
            offset_unit: offset_unit.map_or(Ok(1), unit_of)?,
            size: size.map(|(column, _)| column),
            size_unit: size.and_then(|(_, unit)| unit).map_or(Ok(1), unit_of)?,
            volume: volume.map(|(column, _)| column),
        })
    }
}

impl<'de> serde::Deserialize<'de> for Columns {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Nanoseconds of the unit of times that are said to have none.
const SECOND: u64 = 1_000_000_000;

fn unit_of_time(unit: &str) -> Result<u64, ColumnsError> {
    match unit {
        "s" => Ok(SECOND),
        "ms" => Ok(1_000_000),
        "us" => Ok(1000),
        "100ns" => Ok(100),
        "ns" => Ok(1),
        _ => Err(ColumnsError::UnitOfTime(unit.into())),
    }
}

fn unit_of(unit: &str) -> Result<u64, ColumnsError> {
    match unit {
        "bytes" => Ok(1),
        "sectors" => Ok(SECTOR),
        "blocks" => Ok(u64::from(ASSUMED_LEN)),
        _ => Err(ColumnsError::UnitOfAddresses(unit.into())),
    }
}

impl Columns {
    /// The unit of times: the step of the clock, if all of them are whole.
    pub(super) fn tick(&self) -> Nanos {
        Nanos(self.unit)
    }

    /// Whether no column says how long a request is.
    pub(super) fn lack_lengths(&self) -> bool {
        self.size.is_none()
    }

    /// The cells of a line. Of its separators the first one is taken that makes enough of them: a comma may stand in a cell,
    /// as in a device's 8,0. Quotes keep a cell together.
    fn cells<'a>(&self, line: &'a str) -> Vec<&'a str> {
        let always = self.time.max(self.op).max(self.offset);
        let last = always.max(self.size.unwrap_or(0)).max(self.volume.unwrap_or(0));
        let enough = |cells: &Vec<&str>| cells.len() > last;
        let split = |separator| line::cells(line, separator).collect();
        let separators = [',', ';', '\t'].into_iter().filter(|separator| line.contains(*separator));
        let mut ways = separators.map(split).chain(std::iter::once_with(|| line.split_ascii_whitespace().collect()));
        let first = ways.next().unwrap_or_default();
        if enough(&first) { first } else { ways.find(enough).unwrap_or(first) }
    }

    pub(super) fn parse(&self, line: &str) -> Result<Option<Record>, LineError> {
        let cells = self.cells(line);
        let cell = |column: usize| {
            let missing = LineError::Columns { wanted: column.saturating_add(1), got: cells.len() };
            cells.get(column).map(|cell| cell.trim_matches('"')).ok_or(missing)
        };
        let at = decimal(cell(self.time)?, self.unit)?;
        let word = cell(self.op)?;
        let kind = match &self.read {
            None => operation(word)?,
            Some(read) if word == read => Kind::Read,
            // Trims and flushes stay what they are, whatever stands for reads.
            Some(_) => operation(word).unwrap_or(Kind::Write),
        };
        let bytes = |name: &'static str, column: usize, unit: u64| {
            let text = cell(column)?;
            let beyond = || LineError::Number { column: name, text: text.chars().take(40).collect() };
            number::<u64>(name, text)?.checked_mul(unit).ok_or_else(beyond)
        };
        let offset = bytes("offset", self.offset, self.offset_unit)?;
        let len = match self.size {
            Some(column) => bytes("size", column, self.size_unit)?,
            None => u64::from(ASSUMED_LEN),
        };
        let volume = self.volume.map_or(Ok(0), |column| number("volume", cell(column)?))?;
        record(at, kind, offset, len, volume)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(columns: &str, line: &str) -> Result<(u64, Kind, u64, u32, u32), String> {
        let columns: Columns = columns.parse().map_err(|error: ColumnsError| error.to_string())?;
        let record = columns.parse(line).map_err(|error| error.to_string())?.expect("it is a request");
        Ok((record.at.0, record.kind, record.offset, record.len, record.volume))
    }

    #[test]
    fn columns_stand_where_the_user_says() {
        let cases = [
            ("time=0,op=3,offset=4,size=5", "1.5,x,y,Write,4096,512", (1_500_000_000, Kind::Write, 4096, 512, 0)),
            (
                "time=4:us, op=1, offset=2:sectors, size=3:sectors, volume=0",
                "7;R;8;2;9",
                (9000, Kind::Read, 4096, 1024, 7),
            ),
            ("time=0:ms,op=1:1,offset=2:blocks", "2.9\t0\t3", (2_900_000, Kind::Write, 12288, 4096, 0)),
            ("time=0:us,op=1:R,offset=2", "5.25 D 8192", (5250, Kind::Trim, 8192, 4096, 0)),
            ("time=0:us,op=1:R,offset=2", "5 Read 8192", (5000, Kind::Read, 8192, 4096, 0)),
            ("time=0:us,op=1:R,offset=2", "5 2a 8192", (5000, Kind::Write, 8192, 4096, 0)),
            ("time=0:ns,op=1:1,offset=2", "5 1 8192", (5, Kind::Read, 8192, 4096, 0)),
            ("time=1,op=0,offset=3", "W\t1.5\ta,b\t512", (1_500_000_000, Kind::Write, 512, 4096, 0)),
            ("time=3,op=6,offset=7:sectors", "8,0 1 1 1.5 62 Q W 8 + 8", (1_500_000_000, Kind::Write, 4096, 4096, 0)),
            ("op=0,time=2,offset=3", "\"W\",\"a, b\",\"1\",\"512\"", (1_000_000_000, Kind::Write, 512, 4096, 0)),
            ("op=0,time=1,offset=2,size=3", "\"W\",\"1\",\"512\",\"512\"", (1_000_000_000, Kind::Write, 512, 512, 0)),
        ];
        for (columns, line, expect) in cases {
            assert_eq!(read(columns, line), Ok(expect), "{columns}");
        }
    }

    #[test]
    fn what_is_wrong_is_told() {
        for (columns, line, words) in [
            ("time=0,op=1", "", "there is no offset: write time=N"),
            ("time=0,op=1,offset=x", "", "\"offset=x\": the number of a column counts from 0"),
            ("time=0,op=1,offset=2,len=3", "", "\"len=3\": nothing is known by this name"),
            ("time=0,time=1", "", "\"time=1\": named twice"),
            ("time", "", "\"time\": no column"),
            ("time=0:min,op=1,offset=2", "", "\"min\" is no unit of time"),
            ("time=0,op=1,offset=2:kb", "", "\"kb\" is no unit of addresses"),
            ("time=0,op=1,offset=2,volume=3:x", "", "volumes have no unit"),
            ("time=0,op=1,offset=2", "1,R", "2 columns, 3 are needed"),
            ("time=0,op=1,offset=2:sectors", "1,R,36893488147419103", "offset:"),
            ("time=0,op=1,offset=18446744073709551615", "1,R", "2 columns"),
            ("time=0,op=1,offset=2", "1,x,3", "neither a read nor a write"),
            ("time=0,op=1,offset=2", ",R,3", "time: \"\" is not a number"),
        ] {
            let error = read(columns, line).unwrap_err();
            assert!(error.contains(words), "{columns}: {error}");
        }
    }
}
