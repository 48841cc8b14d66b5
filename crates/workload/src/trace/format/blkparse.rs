//! blkparse: `  8,0    1        1     0.000000000  4162  Q   W 12345 + 8 [kworker]`, several lines for each request, a
//! summary at the end. And the extract that WiscSee and its kin use: `39949 D read 299008 4096 0.000122793 ...` with pid,
//! action, operation, offset and size in bytes, time in seconds.

use crate::Kind;
use crate::trace::Record;
use crate::trace::line::{LineError, number, operation, record, seconds, sectors, words};

/// The event that stands for the request: when it was queued if the trace has that, else when it was issued to the
/// device, else when it was completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::trace) enum Event {
    Queued,
    Issued,
    Completed,
}

impl Event {
    /// The best one that a file beginning with `sample` has.
    pub(super) fn of(sample: &str) -> Event {
        let has = |event: Event| sample.lines().any(|line| action(line) == Some(event.letter()));
        [Event::Queued, Event::Issued].into_iter().find(|&event| has(event)).unwrap_or(Event::Completed)
    }

    fn letter(self) -> &'static str {
        match self {
            Event::Queued => "Q",
            Event::Issued => "D",
            Event::Completed => "C",
        }
    }
}

/// The action of a line in either notation.
fn action(line: &str) -> Option<&str> {
    let mut parts = line.split_ascii_whitespace();
    if line.trim_start().split_ascii_whitespace().next()?.contains(',') { parts.nth(5) } else { parts.nth(1) }
}

pub(super) fn parse(line: &str, event: Event) -> Result<Option<Record>, LineError> {
    let first = line.split_ascii_whitespace().next().unwrap_or_default();
    let [major, minor] = match first.split_once(',') {
        Some((major, minor)) => [major, minor],
        // The summary, headed "CPU0 (sda):" and "Total (sda):", or WiscSee's lines, which begin with a pid.
        None if first.starts_with(|c: char| c.is_ascii_digit()) => return extract(line, event),
        None => return Ok(None),
    };
    let action = action(line).ok_or(LineError::Columns { wanted: 7, got: line.split_ascii_whitespace().count() })?;
    if action != event.letter() {
        return Ok(None);
    }
    let [_device, _cpu, _sequence, time, _pid, _action, rwbs] = words(line)?;
    let Some(kind) = rwbs_kind(rwbs)? else { return Ok(None) };
    let (major, minor): (u16, u16) = (number("major", major)?, number("minor", minor)?);
    let device = u32::from(major) << 16 | u32::from(minor);
    // A flush that carries no data has no range, whatever letter stands behind its F.
    if kind == Kind::Flush || (rwbs.starts_with('F') && !line.contains(" + ")) {
        return record(seconds(time)?, Kind::Flush, 0, 0, device);
    }
    let [.., sector, _plus, len] = words::<10>(line)?;
    record(seconds(time)?, kind, sectors("sector", sector)?, sectors("sectors", len)?, device)
}

/// What the RWBS column says: an F before the operation is a flush that comes first, one behind it is FUA.
fn rwbs_kind(rwbs: &str) -> Result<Option<Kind>, LineError> {
    let operation = rwbs.trim_start_matches('F');
    match operation.bytes().next() {
        Some(b'R') => Ok(Some(Kind::Read)),
        Some(b'W') => Ok(Some(Kind::Write)),
        Some(b'D') => Ok(Some(Kind::Trim)),
        Some(b'N' | b'S') | None if rwbs.starts_with('F') => Ok(Some(Kind::Flush)),
        // Commands that are no I/O.
        Some(b'N') => Ok(None),
        _ => Err(LineError::Operation(rwbs.chars().take(8).collect())),
    }
}

fn extract(line: &str, event: Event) -> Result<Option<Record>, LineError> {
    let [_pid, action, kind, offset, len, time] = words(line)?;
    let known = [Event::Queued, Event::Issued, Event::Completed].iter().any(|event| event.letter() == action);
    match action {
        _ if action == event.letter() => {
            record(seconds(time)?, operation(kind)?, number("offset", offset)?, number("size", len)?, 0)
        }
        _ if known => Ok(None),
        _ => Err(LineError::Operation(action.chars().take(8).collect())),
    }
}
