//! MSR Cambridge: `128166372003061629,usr,0,Read,7014609920,24576,41286`; in copies that have lost their lengths, lines end behind
//! the offset.

use crate::trace::line::{LineError, cells, csv, number, operation, record, ticks};
use crate::trace::{ASSUMED_LEN, Record};

/// Whether a file that begins with these lines says how long requests are. Where some lines do, one that does not is cut short.
pub(super) fn has_lengths(sample: &str) -> bool {
    sample.lines().any(|line| cells(line, ',').nth(5).is_some())
}

pub(super) fn parse(line: &str, lengths: bool) -> Result<Option<Record>, LineError> {
    let (time, disk, kind, offset, len) = if lengths {
        let [time, _host, disk, kind, offset, len] = csv(line)?;
        (time, disk, kind, offset, number("size", len)?)
    } else {
        let [time, _host, disk, kind, offset] = csv(line)?;
        (time, disk, kind, offset, u64::from(ASSUMED_LEN))
    };
    // Windows' file time counts 100 ns.
    record(ticks(time, 100)?, operation(kind)?, number("offset", offset)?, len, number("disk", disk)?)
}
