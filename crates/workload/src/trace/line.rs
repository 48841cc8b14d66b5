//! What all line formats have in common: columns, numbers, and what can be wrong with them.

use super::{MOST_END, Record};
use crate::Kind;
use cygnus_types::Nanos;

/// Bytes of a sector, the unit of addresses in several formats.
pub(super) const SECTOR: u64 = 512;

/// Why a line is no request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// Too few columns.
    #[error("{got} columns, {wanted} are needed")]
    Columns {
        /// Columns needed at least.
        wanted: usize,
        /// Columns found.
        got: usize,
    },
    /// A column that is no number, or none that fits.
    #[error("{column}: {text:?} is not a number that fits")]
    Number {
        /// What the column holds.
        column: &'static str,
        /// What was found.
        text: String,
    },
    /// An operation nobody knows.
    #[error("operation: {0:?} is neither a read nor a write")]
    Operation(String),
    /// A read or write of nothing.
    #[error("a request of 0 bytes")]
    Empty,
    /// An address beyond 2^63 bytes or a length of 4 GiB or more.
    #[error("offset {offset} and length {len} are beyond any disk")]
    Range {
        /// First byte, as far as it could be computed.
        offset: u64,
        /// Bytes, as far as they could be computed.
        len: u64,
    },
    /// Bytes that are no text.
    #[error("not text")]
    NotText,
    /// A binary record of another version than the first ones.
    #[error("a record of version {0} among others")]
    Version(u8),
    /// The last binary record, which is cut short.
    #[error("a record that ends after {0} bytes")]
    Torn(usize),
    /// A line without an end.
    #[error("longer than {0} bytes")]
    TooLong(usize),
}

/// At most this much of an offending text is repeated to the user.
const SHOWN: usize = 40;

fn shown(text: &str) -> String {
    text.chars().take(SHOWN).collect()
}

/// The first `N` columns of a line.
pub(super) fn columns<'a, const N: usize>(mut parts: impl Iterator<Item = &'a str>) -> Result<[&'a str; N], LineError> {
    let mut columns = [""; N];
    for (got, column) in columns.iter_mut().enumerate() {
        *column = parts.next().ok_or(LineError::Columns { wanted: N, got })?.trim();
    }
    Ok(columns)
}

/// The first `N` columns of a line of comma-separated values.
pub(super) fn csv<const N: usize>(line: &str) -> Result<[&str; N], LineError> {
    columns(cells(line, ','))
}

/// The cells between separators, without blanks and quotes around them. In a cell that stands in quotes a separator is a letter
/// like others.
pub(super) fn cells(line: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let line = rest?;
        let end = quoted(line, separator).or_else(|| line.find(separator)).unwrap_or(line.len());
        rest = line.get(end + separator.len_utf8()..);
        let cell = line[..end].trim();
        Some(cell.strip_prefix('"').and_then(|cell| cell.strip_suffix('"')).unwrap_or(cell))
    })
}

/// Where a cell ends that stands in quotes at the beginning of `line`; nothing if none does. Two quotes within it are one that does
/// not end it.
fn quoted(line: &str, separator: char) -> Option<usize> {
    let is_blank = |c: char| c.is_whitespace() && c != separator;
    let within = line.trim_start_matches(is_blank).strip_prefix('"')?;
    let mut from = 0;
    loop {
        let quote = from + within[from..].find('"')?;
        let behind = &within[quote + 1..];
        if behind.starts_with('"') {
            from = quote + 2;
            continue;
        }
        let behind = behind.trim_start_matches(is_blank);
        return (behind.is_empty() || behind.starts_with(separator)).then(|| line.len() - behind.len());
    }
}

/// The first `N` words of a line.
pub(super) fn words<const N: usize>(line: &str) -> Result<[&str; N], LineError> {
    columns(line.split_ascii_whitespace())
}

fn no_number(column: &'static str, text: &str) -> LineError {
    LineError::Number { column, text: shown(text) }
}

/// A whole number.
pub(super) fn number<T: std::str::FromStr>(column: &'static str, text: &str) -> Result<T, LineError> {
    text.parse().map_err(|_| no_number(column, text))
}

/// A count of sectors as bytes.
pub(super) fn sectors(column: &'static str, text: &str) -> Result<u64, LineError> {
    number::<u64>(column, text)?.checked_mul(SECTOR).ok_or_else(|| no_number(column, text))
}

/// A time in ticks of `nanos` nanoseconds.
pub(super) fn ticks(text: &str, nanos: u64) -> Result<Nanos, LineError> {
    number::<u64>("time", text)?.checked_mul(nanos).map(Nanos).ok_or_else(|| no_number("time", text))
}

/// A time in seconds with a fraction, exact to the nanosecond; `1e-05` is read too, since some tools write it.
pub(super) fn seconds(text: &str) -> Result<Nanos, LineError> {
    decimal(text, 1_000_000_000)
}

/// A time in units of `unit` nanoseconds, a power of ten, with a fraction, likewise.
pub(super) fn decimal(text: &str, unit: u64) -> Result<Nanos, LineError> {
    let wrong = || no_number("time", text);
    if text.contains(['e', 'E']) {
        let nanos = text.parse::<f64>().map_err(|_| wrong())? * unit as f64;
        return if (0.0..1.8e19).contains(&nanos) { Ok(Nanos(nanos as u64)) } else { Err(wrong()) };
    }
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    if !fraction.bytes().all(|byte| byte.is_ascii_digit()) || text.is_empty() || text == "." {
        return Err(wrong());
    }
    let places = unit.ilog10() as usize;
    let digits = &fraction[..fraction.len().min(places)];
    let below: u64 = format!("0{digits:0<places$}").parse().map_err(|_| wrong())?;
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| wrong())? };
    whole.checked_mul(unit).and_then(|nanos| nanos.checked_add(below)).map(Nanos).ok_or_else(wrong)
}

/// An operation by its name or first letter.
pub(super) fn operation(text: &str) -> Result<Kind, LineError> {
    match text.to_ascii_lowercase().as_str() {
        "r" | "read" => Ok(Kind::Read),
        "w" | "write" => Ok(Kind::Write),
        "d" | "discard" | "trim" | "unmap" => Ok(Kind::Trim),
        "f" | "flush" => Ok(Kind::Flush),
        "z" | "writezeroes" => Ok(Kind::WriteZeroes),
        _ => Err(LineError::Operation(shown(text))),
    }
}

/// An operation by its number.
pub(super) fn numbered(text: &str, read: &str, write: &str) -> Result<Kind, LineError> {
    match text {
        _ if text == read => Ok(Kind::Read),
        _ if text == write => Ok(Kind::Write),
        _ => Err(LineError::Operation(shown(text))),
    }
}

/// A request, if its range makes sense.
pub(super) fn record(at: Nanos, kind: Kind, offset: u64, len: u64, volume: u32) -> Result<Option<Record>, LineError> {
    if kind == Kind::Flush {
        return Ok(Some(Record { at, kind, offset: 0, len: 0, volume, fua: false }));
    }
    let range = || LineError::Range { offset, len };
    match (u32::try_from(len).map_err(|_| range())?, offset.checked_add(len)) {
        (0, _) => Err(LineError::Empty),
        (len, Some(..=MOST_END)) => Ok(Some(Record { at, kind, offset, len, volume, fua: false })),
        _ => Err(range()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_exact() {
        for (text, nanos) in [
            ("1456095145.133076000", 1_456_095_145_133_076_000),
            ("0.5", 500_000_000),
            (".25", 250_000_000),
            ("7", 7_000_000_000),
            ("1.", 1_000_000_000),
            ("0.0000000019", 1),
            ("2.5e-05", 25_000),
        ] {
            assert_eq!(seconds(text), Ok(Nanos(nanos)), "{text}");
        }
        for wrong in ["", ".", "x", "-1", "1.2.3", "1.-5", "1e999", "nan", "99999999999999999"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn other_units_have_fractions_too() {
        for (text, unit, nanos) in [
            ("2.9", 1_000_000, 2_900_000),
            ("0.0000019", 1_000_000, 1),
            ("7.25", 1000, 7250),
            ("3.5", 100, 350),
            ("5.9", 1, 5),
            ("1e-3", 1_000_000, 1000),
        ] {
            assert_eq!(decimal(text, unit), Ok(Nanos(nanos)), "{text} of {unit} ns");
        }
    }

    #[test]
    fn quotes_keep_cells_together() {
        for (line, expect) in [
            ("1,a,,2", &["1", "a", "", "2"][..]),
            ("\"1\", \"a, b\" ,\"\",2", &["1", "a, b", "", "2"]),
            ("\"a \"\"b, c\"\"\",2", &["a \"\"b, c\"\"", "2"]),
            // Quotes that do not stand around a cell are letters.
            ("a\"b,c\",2", &["a\"b", "c\"", "2"]),
            ("\"a,2", &["\"a", "2"]),
            ("\"a\"b,2", &["\"a\"b", "2"]),
            ("1,\"", &["1", "\""]),
            ("", &[""]),
        ] {
            assert_eq!(cells(line, ',').collect::<Vec<_>>(), expect, "{line}");
        }
        assert_eq!(cells("\"a\tb\"\t\tc", '\t').collect::<Vec<_>>(), ["a\tb", "", "c"]);
        assert_eq!(csv("\"7\",\"x,y\",9"), Ok(["7", "x,y", "9"]));
    }

    #[test]
    fn senseless_ranges_are_refused() {
        let at = |offset, len| record(Nanos::ZERO, Kind::Write, offset, len, 0);
        assert!(at(0, 512).is_ok());
        assert_eq!(at(0, 0), Err(LineError::Empty));
        assert!(matches!(at(u64::MAX, 512), Err(LineError::Range { .. })));
        assert!(matches!(at(0, 1 << 32), Err(LineError::Range { .. })));
    }
}
