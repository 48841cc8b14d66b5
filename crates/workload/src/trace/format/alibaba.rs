//! Alibaba block storage: `419,W,8792731648,16384,1577808144360767`.

use crate::trace::Record;
use crate::trace::line::{LineError, csv, number, operation, record, ticks};

pub(super) fn parse(line: &str) -> Result<Option<Record>, LineError> {
    let [volume, kind, offset, len, time] = csv(line)?;
    let at = ticks(time, 1000)?;
    record(at, operation(kind)?, number("offset", offset)?, number("size", len)?, number("volume", volume)?)
}
