//! SYSTOR'17: `1456095145.133076000,0.000806000,R,0,899056122368,131072`. The response time may be missing.

use crate::trace::Record;
use crate::trace::line::{LineError, csv, number, operation, record, seconds};

pub(super) fn parse(line: &str) -> Result<Option<Record>, LineError> {
    let [time, _response, kind, unit, offset, len] = csv(line)?;
    record(seconds(time)?, operation(kind)?, number("offset", offset)?, number("size", len)?, number("LUN", unit)?)
}
