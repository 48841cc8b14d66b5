//! Lines of a stream that may hold anything.

use std::io::{self, BufRead, Read};

/// No request is described by more; what is longer is no trace, and is not kept in memory.
pub(super) const LONGEST: usize = 4096;

/// How a line came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// Whole.
    Whole,
    /// Longer than [`LONGEST`]; the rest of it was dropped.
    TooLong,
}

/// What ends the lines of a text that begins like this: a carriage return where there is no line feed, as some spreadsheets
/// write. Where both stand, the line feed does, and the other one is a blank before it.
pub(super) fn line_end(sample: &[u8]) -> u8 {
    if sample.contains(&b'\r') && !sample.contains(&b'\n') { b'\r' } else { b'\n' }
}

/// Reads the next line, without its `end`, into `line`; `None` at the end of the stream.
pub(super) fn next_line(stream: &mut impl BufRead, line: &mut Vec<u8>, end: u8) -> io::Result<Option<Line>> {
    line.clear();
    stream.by_ref().take(LONGEST as u64 + 1).read_until(end, line)?;
    match line.last() {
        None => Ok(None),
        Some(&last) if last == end => {
            line.pop();
            Ok(Some(Line::Whole))
        }
        Some(_) if line.len() > LONGEST => stream.skip_until(end).map(|_| Some(Line::TooLong)),
        Some(_) => Ok(Some(Line::Whole)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_dropped_and_the_next_is_found() {
        let mut text = b"one\r\n\n".to_vec();
        text.extend(std::iter::repeat_n(b'x', LONGEST + 1));
        text.extend(b"\n");
        text.extend(std::iter::repeat_n(b'y', 3 * LONGEST));
        text.extend(b"\nlast");
        let (mut stream, mut line) = (io::BufReader::with_capacity(7, &text[..]), Vec::new());
        let mut lines = Vec::new();
        while let Some(how) = next_line(&mut stream, &mut line, b'\n').unwrap() {
            lines.push((how, line.len()));
        }
        let expect = [(Line::Whole, 4), (Line::Whole, 0), (Line::TooLong, LONGEST + 1), (Line::TooLong, LONGEST + 1)];
        assert_eq!(lines[..4], expect);
        assert_eq!(lines[4..], [(Line::Whole, 4)], "the last one needs no end");
    }
}
