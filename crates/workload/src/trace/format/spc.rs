//! UMass, SPC format: `0,20941264,8192,W,0.551706`.

use crate::trace::Record;
use crate::trace::line::{LineError, csv, number, operation, record, seconds, sectors};

pub(super) fn parse(line: &str) -> Result<Option<Record>, LineError> {
    let [unit, sector, len, kind, time] = csv(line)?;
    record(seconds(time)?, operation(kind)?, sectors("sector", sector)?, number("size", len)?, number("unit", unit)?)
}
