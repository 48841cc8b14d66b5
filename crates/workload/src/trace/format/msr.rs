//! MSR Cambridge: `128166372003061629,usr,0,Read,7014609920,24576,41286`.

use crate::trace::Record;
use crate::trace::line::{LineError, csv, number, operation, record, ticks};

pub(super) fn parse(line: &str) -> Result<Option<Record>, LineError> {
    let [time, _host, disk, kind, offset, len] = csv(line)?;
    // Windows' file time counts 100 ns.
    record(ticks(time, 100)?, operation(kind)?, number("offset", offset)?, number("size", len)?, number("disk", disk)?)
}
