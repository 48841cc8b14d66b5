//! FIU: `89967404439390 4892 httpd 124893136 8 W 6 0 bc4e...`. The name of the process may hold spaces.

use crate::trace::Record;
use crate::trace::line::{LineError, columns, number, operation, record, sectors, ticks};

pub(super) fn parse(line: &str) -> Result<Option<Record>, LineError> {
    const COLUMNS: usize = 8;
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let is_number = |index: usize| words.get(index).is_some_and(|word| word.bytes().all(|byte| byte.is_ascii_digit()));
    // The operation is the first R or W that has two numbers before it and two behind; four columns stand before it at
    // least: time, pid, and the process's name.
    let operation_at = (5..words.len())
        .find(|&index| {
            matches!(words[index], "R" | "W" | "r" | "w") && [2, 1].iter().all(|back| is_number(index - back))
        })
        .ok_or(LineError::Columns { wanted: COLUMNS, got: words.len() })?;
    let [sector, len, kind, major, minor] = columns(words[operation_at - 2..].iter().copied())?;
    let [time] = columns(words.iter().copied())?;
    let (major, minor): (u16, u16) = (number("major", major)?, number("minor", minor)?);
    let device = u32::from(major) << 16 | u32::from(minor);
    record(ticks(time, 1)?, operation(kind)?, sectors("sector", sector)?, sectors("sectors", len)?, device)
}
